#!/usr/bin/env python3
"""Measures how long a writer stands still while a snapshot is written, and what the snapshot takes of memory.

    scripts/stalls.py [--members N] [--rate N] [--rounds N] NAME=PROGRAM...

Each program is started in turn in a folder of its own, on a free port, without save points and without a log.  It gets
one board of N members, then a writer that sends ZADDs of random members at the given rate: every millisecond the share
of that millisecond, and the time until all of them are answered counts as the stall of that moment.  After some
seconds of that alone, BGSAVE is called, and the writer goes on until it has ended.  Memory is that of the process and its
children with shared pages counted once (Pss), at its highest during the snapshot less what it was before.
"""

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

LOAD_BATCH = 1000
BEFORE_S = 4
SNAPSHOT_S_MAX = 300


def command(*words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        line = self.file.readline()
        if line[:1] == b"$":
            return self.file.read(int(line[1:]) + 2)[:-2]
        return line[1:-2]

    def call(self, *words):
        self.send(command(*words))
        return self.reply()

    def info(self, name):
        for line in self.call("INFO").decode().splitlines():
            if line.startswith(name + ":"):
                return line.split(":", 1)[1]
        return ""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(program, folder):
    port = free_port()
    words = [program, "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            return process, Connection(port), port
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{program} does not answer")


def load(connection, members):
    for first in range(0, members, LOAD_BATCH):
        words = ["ZADD", "board"]
        for number in range(first, min(first + LOAD_BATCH, members)):
            words += [random.randrange(10_000_000), f"player:{number:012d}"]
        connection.call(*words)


def own_bytes(process_id):
    """Memory of a process and its children, with shared pages counted once."""
    total = 0
    try:
        children = open(f"/proc/{process_id}/task/{process_id}/children").read().split()
        for one in [str(process_id), *children]:
            for line in open(f"/proc/{one}/smaps_rollup"):
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    except OSError:
        pass  # A child that ended meanwhile.
    return total


class Writer(threading.Thread):
    """Writes at a steady rate and keeps when each batch was sent and how long it took."""

    def __init__(self, port, members, rate):
        super().__init__(daemon=True)
        self.connection = Connection(port)
        self.batch = max(1, rate // 1000)
        self.step_s = self.batch / rate
        self.batches = []
        pool = (random.randrange(members) for _ in range(self.batch * 2000))
        self.requests = []
        for _ in range(2000):
            part = [command("ZADD", "board", random.randrange(10_000_000), f"player:{next(pool):012d}")
                    for _ in range(self.batch)]
            self.requests.append(b"".join(part))
        self.ended = threading.Event()

    def run(self):
        due = time.perf_counter()
        turn = 0
        while not self.ended.is_set():
            now = time.perf_counter()
            if now < due:
                time.sleep(due - now)
            sent = time.perf_counter()
            self.connection.send(self.requests[turn % len(self.requests)])
            for _ in range(self.batch):
                self.connection.file.readline()
            self.batches.append((sent, time.perf_counter() - sent))
            turn += 1
            # What could not be sent in time is not made up for: a stall counts once.
            due = max(due + self.step_s, time.perf_counter() - self.step_s)

    def times(self, begin, end):
        return sorted(took for sent, took in list(self.batches) if begin <= sent <= end)


def percentile(times, share):
    return times[min(len(times) - 1, int(len(times) * share))] * 1000 if times else float("nan")


def measure(program, members, rate):
    with tempfile.TemporaryDirectory() as folder:
        process, connection, port = start(program, folder)
        try:
            load(connection, members)
            writer = Writer(port, members, rate)
            writer.start()
            begin = time.perf_counter()
            time.sleep(BEFORE_S)
            before = own_bytes(process.pid)
            called = time.perf_counter()
            connection.call("BGSAVE")
            most = before
            while connection.info("rdb_bgsave_in_progress") == "1":
                most = max(most, own_bytes(process.pid))
                time.sleep(0.02)
                if time.perf_counter() - called > SNAPSHOT_S_MAX:
                    sys.exit("the snapshot does not end")
            ended = time.perf_counter()
            status = connection.info("rdb_last_bgsave_status")
            writer.ended.set()
            writer.join()
            alone, during = writer.times(begin, called), writer.times(called, ended)
            return {
                "alone_max_ms": percentile(alone, 1),
                "during_p99_ms": percentile(during, 0.99),
                "during_max_ms": percentile(during, 1),
                "writes_per_s": len(during) * writer.batch / (ended - called),
                "snapshot_s": ended - called,
                "memory_mib": (most - before) / 2**20,
                "data_mib": before / 2**20,
                "status": status,
            }
        finally:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=5_000_000)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("servers", nargs="+", metavar="NAME=PROGRAM")
    options = parser.parse_args()
    print("| server | longest stall before, ms | p99 during, ms | longest stall during, ms | writes/s during | snapshot, s | memory for it, MiB | data, MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for _ in range(options.rounds):
        for server in options.servers:
            name, program = server.split("=", 1)
            got = measure(os.path.abspath(program), options.members, options.rate)
            if got["status"] != "ok":
                sys.exit(f"{name}: the snapshot failed")
            print(f"| {name} | {got['alone_max_ms']:.1f} | {got['during_p99_ms']:.1f} | {got['during_max_ms']:.1f} | "
                  f"{got['writes_per_s']:.0f} | {got['snapshot_s']:.1f} | {got['memory_mib']:.0f} | {got['data_mib']:.0f} |",
                  flush=True)


main()
