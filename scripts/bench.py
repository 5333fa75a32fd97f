"""The comparison behind scripts/bench.sh: CPU a command and resident bytes a member, several servers in turns.

The steady figure is the CPU time that the kernel charged to the server, divided by the commands; throughput on a
shared machine is not.  Rounds alternate between the servers, so that a machine that gets slower hits all alike.
"""
import argparse
import statistics
import subprocess
import tempfile
import time

from measured import Server, machine, real_servers, table, write_section

HEADING = "CPU a command, and memory"
PLAYER = "player:__rand_int__"
# name, commands a round, pipeline, command
WORK = [
    ("PING, 16 in a pipeline", 300_000, 16, ["PING"]),
    ("PING, no pipeline", 100_000, 1, ["PING"]),
    ("score of a random member", 300_000, 16, ["ZSCORE", "board", PLAYER]),
    ("rank of a random member", 300_000, 16, ["ZREVRANK", "board", PLAYER]),
    ("add points to a random member", 300_000, 16, ["ZINCRBY", "board", "3", PLAYER]),
    ("keep the better score", 300_000, 16, ["ZADD", "board", "GT", "__rand_int__", PLAYER]),
    ("top 10 with scores", 200_000, 16, ["ZREVRANGE", "board", "0", "9", "WITHSCORES"]),
    ("top 100 with scores", 50_000, 16, ["ZREVRANGE", "board", "0", "99", "WITHSCORES"]),
    ("10 rows in the middle", 50_000, 16, ["ZRANGE", "board", "MIDDLE", "MIDDLE9", "REV", "WITHSCORES"]),
    ("one-member boards", 300_000, 16, ["ZINCRBY", "alone:__rand_int__", "1", "p"]),
]


def load(server, members):
    before_bytes = server.resident_bytes()
    cpu_us = server.load(members)
    time.sleep(11)  # allocators give memory back after some seconds
    return cpu_us, (server.resident_bytes() - before_bytes) / members


def run(server, commands, depth, words, members):
    middle = members // 2
    words = [{"MIDDLE": str(middle), "MIDDLE9": str(middle + 9)}.get(word, word) for word in words]
    argv = ["taskset", "-c", "1", "redis-benchmark", "-p", str(server.port), "-n", str(commands), "-c", "50"]
    before_s = server.cpu_s()
    subprocess.run([*argv, "-P", str(depth), "-q", "-r", str(members), *words], check=True, capture_output=True)
    return (server.cpu_s() - before_s) * 1e6 / commands


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--real", required=True)
    options.add_argument("--members", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--out", default="docs/BENCHMARKS.md")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = {**real_servers(options.real), "rankd": [options.rankd]}
        servers = [Server(name, command, folder) for name, command in programs.items()]
        try:
            rows = measure(servers, options)
        finally:
            for server in servers:
                server.stop()
    write_section(options.out, HEADING, page(rows, [server.name for server in servers], options))


def measure(servers, options):
    rows = []
    print(f"loading {options.members} members into each server", flush=True)
    loads = [load(server, options.members) for server in servers]
    rows.append(("load, a command", [cpu for cpu, _ in loads], True))
    for number, (name, commands, depth, words) in enumerate(WORK, 1):
        print(f"{number}/{len(WORK)} {name}", flush=True)
        rounds = [[run(s, commands, depth, words, options.members) for s in servers] for _ in range(options.rounds)]
        rows.append((name, [statistics.median(column) for column in zip(*rounds)], True))
    rows.append(("resident bytes a member after the load", [size for _, size in loads], False))
    return rows


def page(rows, names, options):
    shown = []
    for name, figures, is_time in rows:
        texts = [f"{figure:.2f}" if is_time else f"{figure:.0f}" for figure in figures]
        shown.append([name, *texts, f"{min(figures[:-1]) / figures[-1]:.2f}"])
    return [
        f"Written by `scripts/bench.sh` on {machine()}. One board of {options.members:,} members of 19 bytes with whole "
        f"scores, 50 connections, medians of {options.rounds} rounds that alternate between the servers; every server "
        "on one core, the client on the other. Microseconds of the server's CPU time a command; the ratio is the better "
        "of the real servers over rankd, so above 1 rankd needs less.",
        "",
        *table(["load", *names, "ratio"], shown),
    ]


main()
