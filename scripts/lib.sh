# Shell functions that the scripts share: messages, the cache, and the environment the tests read.
# Sourced, never run.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RANKD_CACHE=${RANKD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankd}
export RANKD_CACHE

# What `cargo build --release` makes.
RELEASE_PROGRAM=${CARGO_TARGET_DIR:-$ROOT/target}/release/rankd

# What the tests read; each may be set by hand to use something already installed.
export RANKD_REAL_SERVERS=${RANKD_REAL_SERVERS:-$RANKD_CACHE/bin}
export RANKD_TCL=${RANKD_TCL:-$RANKD_CACHE/tcl-suite}
export RANKD_PYTHONPATH=${RANKD_PYTHONPATH:-$RANKD_CACHE/python}
export RANKD_NODE_PATH=${RANKD_NODE_PATH:-$RANKD_CACHE/node}
# One seed for all random tests, so that a run can be trusted to be the last one again; RANKD_SEED=$RANDOM explores.
export RANKD_SEED=${RANKD_SEED:-20261130}
export PATH="$RANKD_REAL_SERVERS:$PATH"

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Starts `binary args...` in a new folder below $1 with its output in $1/log, waits until it says that it accepts
# connections, and sets SERVER_PID and, if that line tells it, SERVER_PORT.
start_server() {
    local dir=$1
    shift
    mkdir -p "$dir"
    (cd "$dir" && exec "$@") >"$dir/log" 2>&1 </dev/null &
    SERVER_PID=$!
    for _ in $(seq 300); do
        if grep -q 'Ready to accept connections' "$dir/log"; then
            SERVER_PORT=$(sed -nE 's/.*Ready to accept connections.*:([0-9]+).*/\1/p' "$dir/log" | head -n 1)
            return 0
        fi
        kill -0 "$SERVER_PID" 2>/dev/null || break
        sleep 0.05
    done
    sed 's/^/    /' "$dir/log" >&2
    fail "$1 did not start"
}

# Stops one process that this script started and waits for its end.
stop_server() {
    kill "$1" 2>/dev/null || return 0
    wait "$1" 2>/dev/null || true
}

# A TCP port that was free a moment ago, for servers that cannot report the one they took.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
