"""The default set of redis-benchmark, pipelined and not: CPU a command of rankd beside the real servers, in turns.

No everyday command should cost more than on the better real server; the last column of the table says where that
holds.  As in scripts/bench.py the figure is the CPU time that the kernel charged to the server.
"""
import argparse
import statistics
import subprocess
import tempfile

from measured import Server, machine, real_servers, table, write_section

HEADING = "Everyday commands"
DEPTHS = (16, 1)
COMMANDS = {16: 200_000, 1: 50_000}
LIST_LEN = 1_000
# How redis-benchmark calls them.
NAMED = [
    "ping_inline", "ping_mbulk", "set", "get", "incr", "lpush", "rpush", "lpop", "rpop", "sadd", "hset", "spop", "zadd",
    "zpopmin", "mset",
]
# It fills the list before each of these; here the list is there. The share says how many of the commands are sent.
RANGES = [(100, 0.5), (300, 0.2), (500, 0.1), (600, 0.1)]


def cost(server, depth, commands, words):
    """CPU time a command in microseconds."""
    argv = ["taskset", "-c", "1", "redis-benchmark", "-p", str(server.port), "-n", str(commands), "-c", "50"]
    before_s = server.cpu_s()
    subprocess.run([*argv, "-P", str(depth), "-q", "-r", "100000", *words], check=True, capture_output=True)
    return (server.cpu_s() - before_s) * 1e6 / commands


def work():
    for name in NAMED:
        yield name.upper(), 1, ["-t", name]
    for rows, share in RANGES:
        yield f"LRANGE_{rows}", share, ["LRANGE", "listed", "0", str(rows - 1)]


def measure(servers, options):
    rows = []
    everything = [(depth, *one) for depth in DEPTHS for one in work()]
    for server in servers:
        server.pipeline([("RPUSH", "listed", "xxx")] * LIST_LEN)
    for number, (depth, name, share, words) in enumerate(everything, 1):
        if options.only and name.lower() not in options.only.lower().split(","):
            continue
        print(f"{number}/{len(everything)} {name}, {depth} in a pipeline", flush=True)
        commands = int(COMMANDS[depth] * share * options.scale)
        rounds = [[cost(server, depth, commands, words) for server in servers] for _ in range(options.rounds)]
        figures = [statistics.median(column) for column in zip(*rounds)]
        ratio = f"{min(figures[:-1]) / figures[-1]:.2f}"
        rows.append([f"{name}, {depth} in a pipeline", *(f"{figure:.2f}" for figure in figures), ratio])
    return rows


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--real", required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--scale", type=float, default=1.0, help="multiplies the commands of a round")
    options.add_argument("--only", help="names as in the table, with commas")
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
    heads = ["command", *(server.name for server in servers), "ratio"]
    lines = [
        f"Written by `scripts/bench.sh everyday` on {machine()}. The commands of redis-benchmark's default set, 50 "
        f"connections, 100,000 keys where it picks keys, medians of {options.rounds} rounds that alternate between the "
        "servers; every server on one core, the client on the other. Microseconds of the server's CPU time a command; "
        "the ratio is the better of the real servers over rankd, so above 1 rankd needs less.",
        "",
        *table(heads, rows),
    ]
    write_section(options.out, HEADING, lines)


main()
