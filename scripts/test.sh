#!/usr/bin/env bash
# All tests in one command.
#
#   scripts/test.sh             every step
#   scripts/test.sh tests tcl   only these steps
#
# Steps: fetch (what the tests compare with, into a cache outside the tree; see scripts/fetch.sh), format, lint,
# build (release), tests (cargo), clients (redis-cli, redis-benchmark, redis-py, node-redis, ioredis), tcl (Redis's
# own suite).  It needs cargo, python3 with pip, and node; nothing else has to be installed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

STEPS=("$@")
[ $# -gt 0 ] || STEPS=(fetch format lint build tests clients tcl)
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT

# Files open at the same time: a thousand test clients and more.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true

step_fetch() { scripts/fetch.sh; }

step_format() { cargo fmt --all --check; }

step_lint() {
    cargo clippy --quiet --all-targets -- -D warnings
    # What the tests may do and the server may not.
    cargo clippy --quiet --lib --bins -- -D clippy::unwrap_used -D clippy::panic -D clippy::todo -D clippy::unimplemented
}

step_build() { cargo build --release --bins; }

step_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --no-fail-fast --status-level fail --final-status-level fail --hide-progress-bar
        cargo test --quiet --doc
    else
        cargo test --no-fail-fast
    fi
}

step_clients() {
    local ended=0
    start_server "$SCRATCH/server" "$RELEASE_PROGRAM" --port 0 --save "" --appendonly no
    # A step is a subshell: this ends the server however the step ends.
    trap 'stop_server "$SERVER_PID"' EXIT
    say "   server on port $SERVER_PORT"
    tests/clients/redis_tools.sh "$SERVER_PORT" || ended=1
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$RANKD_PYTHONPATH python3 tests/clients/redis_py.py "$SERVER_PORT" || ended=1
    node tests/clients/node.mjs "$SERVER_PORT" || ended=1
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$RANKD_PYTHONPATH python3 tests/clients/readme.py "$SERVER_PORT" || ended=1
    kill -0 "$SERVER_PID" || { say "   the server ended during the step"; ended=1; }
    return $ended
}

step_tcl() { scripts/tcl.sh; }

passed=0 failed=()
for step in "${STEPS[@]}"; do
    declare -F "step_$step" >/dev/null || fail "there is no step $step"
done
for index in "${!STEPS[@]}"; do
    step=${STEPS[$index]}
    started=$SECONDS
    say "== step $((index + 1))/${#STEPS[@]}: $step"
    # A subshell with its own `set -e`, so that a failing step ends there and the others still run.
    set +e
    (
        set -e
        "step_$step"
    )
    ended=$?
    set -e
    if [ $ended = 0 ]; then
        passed=$((passed + 1))
        say "== $step: done in $((SECONDS - started)) s"
    else
        failed+=("$step")
        say "== $step: FAILED after $((SECONDS - started)) s"
        # Nothing after these two can say anything without them.
        case $step in fetch | build) break ;; esac
    fi
done
say "== $passed of ${#STEPS[@]} steps passed in $SECONDS s${failed[*]:+; failed: ${failed[*]}}"
[ ${#failed[@]} = 0 ]
