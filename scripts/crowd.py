"""Mixed leaderboard requests (nine of ten read) over many connections, and how long they wait under a steady load.

Two things of each server, in turns: the CPU time a command over 50 and over 1,000 connections that send one request
after the other, and the waits of requests that come at a steady rate, the same for all: 70% of what the slowest of the
servers answers over 50 connections.  The client is examples/load.rs, which charges a wait from the moment at which the
request should have been sent.
"""
import argparse
import os
import statistics
import subprocess
import tempfile

from measured import Server, machine, real_servers, table, write_section

HEADING = "Many connections, and waits"
FEW, MANY = 50, 1000
SHARE_OF_CAPACITY = 0.7


def load(options, server, connections, rate, seconds):
    """Requests a second; the 50th, 99th and 99.9th percentile and the maximum of the waits in microseconds."""
    numbers = [server.port, connections, 1, rate, seconds, options.members]
    argv = ["taskset", "-c", "1", options.load, *map(str, numbers)]
    return list(map(float, subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()))


def cost(options, server, connections):
    before_s = server.cpu_s()
    rate, *_ = load(options, server, connections, 0, options.seconds)
    return (server.cpu_s() - before_s) * 1e6 / (rate * options.seconds), rate


def medians(rounds):
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--real", required=True)
    options.add_argument("--members", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=4, help="how long each measurement takes")
    options.add_argument("--out", default="docs/BENCHMARKS.md")
    options = options.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "--example", "load"], check=True)
    options.load = os.path.join(os.path.dirname(options.rankd), "examples", "load")
    with tempfile.TemporaryDirectory() as folder:
        programs = {**real_servers(options.real), "rankd": [options.rankd]}
        servers = [Server(name, command, folder) for name, command in programs.items()]
        try:
            for server in servers:
                print(f"loading {server.name}", flush=True)
                server.load(options.members)
            costs, waits, rate = measure(options, servers)
        finally:
            for server in servers:
                server.stop()
    write_section(options.out, HEADING, page(options, [server.name for server in servers], costs, waits, rate))


def measure(options, servers):
    costs, capacity = {}, float("inf")
    for connections in (FEW, MANY):
        rounds = []
        for number in range(options.rounds):
            print(f"{connections} connections, round {number + 1} of {options.rounds}", flush=True)
            figures = [cost(options, server, connections) for server in servers]
            rounds.append([cpu_us for cpu_us, _ in figures])
            if connections == FEW:
                capacity = min([capacity, *(rate for _, rate in figures)])
        costs[connections] = medians(rounds)
    rate = int(capacity * SHARE_OF_CAPACITY)
    waits = {server.name: [] for server in servers}
    for number in range(options.rounds):
        print(f"{rate} requests a second, round {number + 1} of {options.rounds}", flush=True)
        for server in servers:
            waits[server.name].append(load(options, server, FEW, rate, options.seconds)[1:])
    return costs, {name: medians(rounds) for name, rounds in waits.items()}, rate


def page(options, names, costs, waits, rate):
    rows = []
    for connections, figures in costs.items():
        texts = [f"{figure:.2f}" for figure in figures]
        rows.append([f"CPU a request, {connections:,} connections", *texts, f"{min(figures[:-1]) / figures[-1]:.2f}"])
    for place, name in enumerate(["50th percentile", "99th percentile", "99.9th percentile"]):
        figures = [waits[server][place] for server in names]
        texts = [f"{figure:.0f}" for figure in figures]
        rows.append([f"wait, {name}", *texts, f"{min(figures[:-1]) / figures[-1]:.2f}"])
    return [
        f"Written by `scripts/bench.sh crowd` on {machine()}. One board of {options.members:,} members; ranks, scores and "
        f"top 10 in nine of ten requests, points added in one; medians of {options.rounds} rounds of {options.seconds} s "
        "that alternate between the servers; every server on one core, the client on the other. Microseconds; the waits "
        f"are those at {rate:,} requests a second over {FEW} connections; the ratio is the better of the real servers "
        "over rankd, so above 1 rankd needs less.",
        "",
        *table(["", *names, "ratio"], rows),
    ]


main()
