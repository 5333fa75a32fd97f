"""The comparison behind scripts/bench.sh: CPU a command and resident bytes a member, several servers in turns.

The steady figure is the CPU time that the kernel charged to the server, divided by the commands; throughput on a
shared machine is not.  Rounds alternate between the servers, so that a machine that gets slower hits all alike.
"""
import argparse
import datetime
import os
import platform
import random
import socket
import statistics
import subprocess
import tempfile
import time

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


class Server:
    def __init__(self, name, command, folder):
        self.name = name
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        argv = ["taskset", "-c", "0", *command, "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=300)
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{name} did not listen")

    def cpu_s(self):
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def pipeline(self, commands):
        """Sends all, and waits for one reply each; the replies are single lines here."""
        out = bytearray()
        for words in commands:
            out += b"*%d\r\n" % len(words)
            for word in words:
                data = str(word).encode()
                out += b"$%d\r\n%s\r\n" % (len(data), data)
        self.socket.sendall(out)
        missing = len(commands)
        while missing:
            missing -= self.socket.recv(1 << 20).count(b"\r\n")

    def load(self, members):
        before_bytes, before_s = self.resident_bytes(), self.cpu_s()
        chance = random.Random(7)
        order = list(range(members))
        chance.shuffle(order)
        for start in range(0, members, 500):
            part = order[start:start + 500]
            self.pipeline([("ZADD", "board", chance.randrange(1_000_000), f"player:{n:012d}") for n in part])
        cpu_us = (self.cpu_s() - before_s) * 1e6 / members
        time.sleep(11)  # allocators give memory back after some seconds
        return cpu_us, (self.resident_bytes() - before_bytes) / members

    def run(self, commands, depth, words, members):
        middle = members // 2
        words = [{"MIDDLE": str(middle), "MIDDLE9": str(middle + 9)}.get(word, word) for word in words]
        argv = ["taskset", "-c", "1", "redis-benchmark", "-p", str(self.port), "-n", str(commands), "-c", "50"]
        before_s = self.cpu_s()
        subprocess.run([*argv, "-P", str(depth), "-q", "-r", str(members), *words], check=True, capture_output=True)
        return (self.cpu_s() - before_s) * 1e6 / commands

    def stop(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--real", required=True)
    options.add_argument("--members", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--out", default="docs/BENCHMARKS.md")
    options = options.parse_args()
    real = {
        "Redis 8.2.3": f"{options.real}/redis-server-8.2.3",
        "Valkey 9.1.2": f"{options.real}/valkey-server-9.1.2",
    }
    with tempfile.TemporaryDirectory() as folder:
        servers = [Server(name, [program], folder) for name, program in {**real, "rankd": options.rankd}.items()]
        try:
            table = measure(servers, options)
        finally:
            for server in servers:
                server.stop()
    with open(options.out, "w") as file:
        file.write(page(table, [server.name for server in servers], options))
    print(f"wrote {options.out}")


def measure(servers, options):
    table = []
    print(f"loading {options.members} members into each server", flush=True)
    loads = [server.load(options.members) for server in servers]
    table.append(("load, a command", [cpu for cpu, _ in loads], True))
    for number, (name, commands, depth, words) in enumerate(WORK, 1):
        print(f"{number}/{len(WORK)} {name}", flush=True)
        rounds = [[s.run(commands, depth, words, options.members) for s in servers] for _ in range(options.rounds)]
        table.append((name, [statistics.median(column) for column in zip(*rounds)], True))
    table.append(("resident bytes a member after the load", [size for _, size in loads], False))
    return table


def page(table, names, options):
    processor = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    lines = [
        "# Benchmarks",
        "",
        f"Written by `scripts/bench.sh` on {datetime.date.today()}: {processor}, {os.cpu_count()} cores, "
        f"Linux {platform.release().split('-')[0]}. One board of {options.members:,} members of 19 bytes with whole "
        f"scores, 50 connections, medians of {options.rounds} rounds that alternate between the servers; every server "
        "on one core, the client on the other. Microseconds of the server's CPU time a command; the ratio is the better "
        "of the real servers over rankd, so above 1 rankd needs less.",
        "",
        "| load | " + " | ".join(names) + " | ratio |",
        "|---" * (len(names) + 2) + "|",
    ]
    for name, figures, is_time in table:
        ratio = min(figures[:-1]) / figures[-1]
        shown = [f"{figure:.2f}" if is_time else f"{figure:.0f}" for figure in figures]
        lines.append(f"| {name} | " + " | ".join(shown) + f" | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


main()
