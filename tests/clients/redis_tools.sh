#!/usr/bin/env bash
# redis-cli in its special modes and redis-benchmark against the server at 127.0.0.1:PORT: `redis_tools.sh PORT`.
set -uo pipefail

PORT=$1
SCRATCH=$(mktemp -d)
MONITOR_PID=
trap '[ -z "$MONITOR_PID" ] || kill "$MONITOR_PID" 2>/dev/null; rm -rf "$SCRATCH"' EXIT
PASSED=0 FAILED=0

cli() { redis-cli -p "$PORT" "$@" </dev/null 2>&1; }

# The output of a command must hold a pattern.
holds() { # NAME PATTERN COMMAND...
    local name=$1 pattern=$2 output
    shift 2
    output=$("$@")
    if grep -qE -- "$pattern" <<<"$output"; then
        PASSED=$((PASSED + 1))
    else
        FAILED=$((FAILED + 1))
        printf '   FAILED  %s: no "%s" in\n%s\n' "$name" "$pattern" "$(head -n 12 <<<"$output" | sed 's/^/            /')"
    fi
}

cli FLUSHALL >/dev/null
holds 'a command' '^3$' cli ZADD board 30 ann 20 bob 10 cid
holds 'a reply over RESP3' '2.*bob' cli -3 --no-raw ZRANGE board 0 -1
holds 'an error' "^ERR unknown command 'NOSUCH'" cli NOSUCH
cli SET name ann >/dev/null
cli HSET player name ann >/dev/null
cli RPUSH jobs a b c >/dev/null
cli SADD colors red green >/dev/null
holds '--bigkeys' 'Biggest +zset found .*board.* has 3 members' cli --bigkeys
holds '--memkeys' 'Biggest +zset found .*board.* has [0-9]+ bytes' cli --memkeys
holds '--scan' '^board$' cli --scan --pattern 'b*'
holds '--latency' '^[0-9]+ [0-9]+ [0-9.]+ [0-9]+' cli --latency -i 1
holds '--stat' '^5 +[0-9.]+[KMG] ' timeout 1 stdbuf -oL redis-cli -p "$PORT" --stat -i 0.2
printf 'SET piped:1 a\r\nSET piped:2 b\r\n' >"$SCRATCH/commands"
holds '--pipe' 'errors: 0, replies: 2' bash -c "redis-cli -p $PORT --pipe <'$SCRATCH/commands'"
echo "return {KEYS[1], ARGV[1]}" >"$SCRATCH/echo.lua"
holds '--eval' '^value$' cli --eval "$SCRATCH/echo.lua" key , value
holds 'inline commands' '^[+]PONG' bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT; printf 'PING\r\n' >&3; head -n 1 <&3"

redis-cli -p "$PORT" MONITOR >"$SCRATCH/monitor" </dev/null 2>&1 &
MONITOR_PID=$!
for _ in $(seq 200); do grep -q OK "$SCRATCH/monitor" && break; cli PING >/dev/null; done
cli ZINCRBY board 1 ann >/dev/null
for _ in $(seq 200); do grep -q ZINCRBY "$SCRATCH/monitor" && break; cli PING >/dev/null; done
holds 'MONITOR' '^[0-9.]+ \[0 127.0.0.1:[0-9]+\] "ZINCRBY" "board" "1" "ann"' cat "$SCRATCH/monitor"
kill "$MONITOR_PID" 2>/dev/null

BENCHMARKS=ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,zadd,zpopmin,lrange,mset
holds 'redis-benchmark' 'MSET .*requests per second' redis-benchmark -p "$PORT" -q -n 2000 -t $BENCHMARKS
holds 'redis-benchmark with a pipeline' 'ZADD: .*requests per second' redis-benchmark -p "$PORT" -q -n 5000 -P 16 -t zadd
holds 'redis-benchmark of one command' 'requests per second' redis-benchmark -p "$PORT" -q -n 2000 ZREVRANGE board 0 9 WITHSCORES

echo "redis-cli and redis-benchmark: $PASSED passed, $FAILED failed"
[ $FAILED = 0 ]
