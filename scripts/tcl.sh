#!/usr/bin/env bash
# Plays units of Redis's own Tcl suite against rankd and holds the outcome against tests/tcl/expected.txt.
#
#   scripts/tcl.sh [--external] [--server PROGRAM] [--jobs N] [--logs FOLDER] [UNIT...]
#
# UNIT is named as the suite names it (unit/type/zset); without one, those of tests/tcl/units.txt.  Normally the suite
# starts the server itself with a configuration file, as it starts redis-server; with --external it meets a server that
# this script started.  A failing test must stand in expected.txt, and a test that stands there must fail: so the list
# stays true.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

UNIT_SECONDS_MAX=240
SERVER_PROGRAM=$RELEASE_PROGRAM
MODE=own JOBS=2 LOGS=
while [ $# -gt 0 ]; do
    case $1 in
        --external) MODE=external ;;
        --server) SERVER_PROGRAM=$(realpath "$2") && shift ;;
        --jobs) JOBS=$2 && shift ;;
        --logs) LOGS=$2 && shift ;;
        -*) fail "unknown option $1" ;;
        *) break ;;
    esac
    shift
done
[ -x "$SERVER_PROGRAM" ] || fail "there is no $SERVER_PROGRAM; build it first (cargo build --release)"
[ -f "$RANKD_TCL/tests/test_helper.tcl" ] || fail "the Tcl suite is not in $RANKD_TCL; run scripts/fetch.sh first"

WORK=$(mktemp -d)
# Cleaning up must not decide how the run ended: what is to be stopped may be gone by itself.
trap '{ jobs -p | xargs -r kill || true; rm -rf "$WORK" || true; } 2>/dev/null' EXIT
LOGS=${LOGS:-$WORK/logs}
mkdir -p "$LOGS"
# A later run of fewer units must not be judged by what an earlier one left.
rm -f "$LOGS"/*.log "$LOGS"/*.failed

if [ $# -gt 0 ]; then
    UNITS=("$@")
else
    mapfile -t UNITS < <(sed 's/#.*//; s/[[:space:]]*$//' "$ROOT/tests/tcl/units.txt" | grep .)
fi

# Tests that need a replica, a cluster or a build for debugging are about servers that rankd is not.
TAGS="-needs:repl -cluster -needs:debug-build"
# This one asks the suite for the process id of a server that it did not start, and leaves settings changed.
SKIP=(--skiptest "SRANDMEMBER with a dict containing long chain")
# Two connections send without waiting, and the test hangs unless they are read in that order.
SKIP+=(--skiptest "BRPOPLPUSH with multiple blocked clients")
# 7.2 tracks what the commands of a script read, 7.0 the script's own keys: the test would wait for ever.
SKIP+=(--skiptest "Tracking only occurs for scripts when a command calls a read-only command")
# These look at the log's file right behind a reply; without appendfsync always a thread writes it a moment later.
SKIP+=(--skiptest "GETEX should not append to AOF" --skiptest "Generate timestamp annotations in AOF")

# One unit in a tree of its own: the suite writes below tests/tmp and takes the server from src/redis-server.
play_unit() { # UNIT INDEX
    local unit=$1 name tree mode server_pid='' status=0
    name=$(tr / _ <<<"$unit")
    tree=$WORK/$name
    mkdir -p "$tree/src" "$tree/tests"
    cp -r "$RANKD_TCL/tests/." "$tree/tests/"
    mkdir -p "$tree/tests/tmp"
    # 7.2 keeps a small list in a listpack and 7.0 in a quicklist, which most tests of lists ask first of all.
    sed -i 's/^proc assert_encoding {enc key} {/&\n    if {$enc eq "quicklist"} {set enc "*list*"}/' "$tree/tests/support/test.tcl"
    # Outside of any test the unit of scripts turns the debugger on, which is refused and would end the unit.
    sed -i '/^start_server {tags {"scripting external:skip"}} {$/,/^}$/d' "$tree/tests/unit/scripting.tcl"
    local tool
    for tool in redis-cli redis-benchmark redis-check-rdb redis-check-aof; do ln -s "$(command -v "$tool")" "$tree/src/$tool"; done
    # Units that run at the same time keep to port ranges of their own; the suite passes over ports that are taken.
    local ports=$((21000 + ($$ % 80) * 100 + $2 * 40))
    if [ $MODE = own ]; then
        ln -s "$SERVER_PROGRAM" "$tree/src/redis-server"
        mode=(--clients 1 --baseport "$ports" --portcount 40)
    else
        local port
        port=$(free_port)
        start_server "$tree/server" "$SERVER_PROGRAM" --port "$port" --save "" --appendonly no --enable-debug-command yes
        server_pid=$SERVER_PID
        mode=(--host 127.0.0.1 --port "$port" --baseport "$ports")
    fi
    (cd "$tree" && LC_ALL=C.UTF-8 TERM=dumb exec timeout -k 5 $UNIT_SECONDS_MAX tclsh8.6 tests/test_helper.tcl "${mode[@]}" \
        --single "$unit" --durable --dont-clean "${SKIP[@]}" --tags "$TAGS") >"$LOGS/$name.log" 2>&1 </dev/null || status=$?
    [ -z "$server_pid" ] || stop_server "$server_pid"
    stop_leftovers "$tree"
    sed -nE 's/^\[err\]: (.*) in tests\/.*\.tcl$/\1/p' "$LOGS/$name.log" | sort -u >"$LOGS/$name.failed"
    if [ $status = 124 ] || [ $status = 137 ]; then
        echo "(the unit took more than $UNIT_SECONDS_MAX s)" >>"$LOGS/$name.failed"
    elif ! grep -q 'The End' "$LOGS/$name.log"; then
        echo "(the unit ended early)" >>"$LOGS/$name.failed"
    fi
    rm -rf "$tree"
}

# Ends what a cut-off unit left running, which is known by its working folder.
stop_leftovers() { # TREE
    local process
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd" 2>/dev/null) in
            "$1" | "$1"/*) kill "${process#/proc/}" 2>/dev/null || true ;;
        esac
    done
}

# The expected failures of a unit: lines "unit | test | reason".
expected_of() { # UNIT
    awk -F ' [|] ' -v unit="$1" '!/^#/ && $1 == unit { print $2 }' "$ROOT/tests/tcl/expected.txt" | sort -u
}

index=0
for unit in "${UNITS[@]}"; do
    [ -f "$RANKD_TCL/tests/$unit.tcl" ] || fail "the suite has no $unit"
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n || true; done
    play_unit "$unit" $index &
    index=$((index + 1))
done
wait

passed=0 wrong=0 excused=0
for unit in "${UNITS[@]}"; do
    name=$(tr / _ <<<"$unit")
    [ -f "$LOGS/$name.failed" ] || fail "$unit left no result"
    ok=$(grep -c '^\[ok\]: ' "$LOGS/$name.log" || true)
    expected_of "$unit" >"$WORK/expected"
    sort -u "$LOGS/$name.failed" >"$WORK/failed"
    comm -13 "$WORK/expected" "$WORK/failed" >"$WORK/unexpected"
    comm -23 "$WORK/expected" "$WORK/failed" >"$WORK/stale"
    # A unit that was cut off says nothing of the tests it did not reach.
    if grep -q '^(the unit' "$WORK/failed"; then : >"$WORK/stale"; fi
    known=$(comm -12 "$WORK/expected" "$WORK/failed" | wc -l)
    printf '   %-24s %4d passed, %d expected to fail\n' "$unit" "$ok" "$known"
    while read -r test; do
        say "   FAILED   $unit: $test"
        grep -F -A 3 "[err]: $test in" "$LOGS/$name.log" | sed -n '2,4s/^/            /p' || true
    done <"$WORK/unexpected"
    while read -r test; do say "   PASSED AGAINST tests/tcl/expected.txt   $unit: $test"; done <"$WORK/stale"
    if [[ -s $WORK/unexpected ]] && grep -q '^(the unit' "$WORK/unexpected"; then tail -n 12 "$LOGS/$name.log" | cut -c1-200 | sed 's/^/            /'; fi
    passed=$((passed + ok)) excused=$((excused + known))
    wrong=$((wrong + $(wc -l <"$WORK/unexpected") + $(wc -l <"$WORK/stale")))
done
say "tcl: $passed passed, $wrong failed, $excused skipped"
[ $wrong = 0 ]
