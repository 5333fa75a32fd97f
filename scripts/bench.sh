#!/usr/bin/env bash
# Compares rankd with real servers on leaderboard work, side by side in one run, and writes docs/BENCHMARKS.md.
#
#   scripts/bench.sh                 a board of a million members, three rounds
#   scripts/bench.sh --members N --rounds N --out FILE
#
# Needs two cores that are otherwise idle: the servers share one in turns, the client has the other.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
scripts/fetch.sh
cargo build --release --bins
exec python3 scripts/bench.py --rankd "$RELEASE_PROGRAM" --real "$RANKD_REAL_SERVERS" "$@"
