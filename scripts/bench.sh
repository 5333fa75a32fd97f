#!/usr/bin/env bash
# Measures rankd beside real servers on leaderboard work, in one run, and writes its section of docs/BENCHMARKS.md.
#
#   scripts/bench.sh                 CPU a command and bytes a member: a board of a million members, three rounds
#   scripts/bench.sh everyday        redis-benchmark's default set, CPU a command
#   scripts/bench.sh crowd           1,000 connections, and waits under a steady load
#   scripts/bench.sh threads         how reads of one board grow with the network threads
#   scripts/bench.sh ... --members N --rounds N --out FILE
#
# Needs two cores that are otherwise idle: the servers share one in turns, the client has the other.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
what=bench
case "${1:-}" in
threads | everyday | crowd) what=$1 && shift ;;
esac
scripts/fetch.sh
cargo build --release --bins
exec python3 "scripts/$what.py" --rankd "$RELEASE_PROGRAM" --real "$RANKD_REAL_SERVERS" "$@"
