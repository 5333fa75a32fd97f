"""How the work of one hot board grows with the network threads of rankd: the same load at 1 and at 2 threads.

The client is one thread that sends requests made beforehand and only counts the lines of the replies, so that it
needs little of the two cores that it shares with the server.  How much it needs, and how much the server used, stands
beside the throughput: where the two together use both cores, more threads could not have done more.
"""
import argparse
import random
import resource
import selectors
import socket
import statistics
import tempfile
import time

from measured import Server, machine, request, table, write_section

HEADING = "Reads on several threads"
CONNECTIONS = 16
BATCH = 64
BATCHES = 64
ROUND_S = 3.0
# name, lines of one reply, words
WORK = [
    ("top 10 with scores", 41, ["ZREVRANGE", "board", "0", "9", "WITHSCORES"]),
    ("rank of a random member", 1, ["ZREVRANK", "board", "PLAYER"]),
    ("score of a random member", 2, ["ZSCORE", "board", "PLAYER"]),
    ("add points to a random member", 2, ["ZINCRBY", "board", "3", "PLAYER"]),
]


def batches(words, members):
    chance = random.Random(11)
    player = lambda word: f"player:{chance.randrange(members):012d}" if word == "PLAYER" else word
    return [b"".join(request(list(map(player, words))) for _ in range(BATCH)) for _ in range(BATCHES)]


def client_cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(server, sent, lines):
    """Throughput, and how many cores the server and the client used."""
    selector = selectors.EpollSelector()
    for index in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ, [connection, 0, index])
    missing_at_start = BATCH * lines
    room = memoryview(bytearray(1 << 20))
    whole = room.obj
    for key in selector.get_map().values():
        key.data[1] = missing_at_start
        key.data[0].sendall(sent[key.data[2] % BATCHES])
    done, start = 0, time.monotonic()
    server_s, client_s = server.cpu_s(), client_cpu_s()
    while time.monotonic() - start < ROUND_S:
        for key, _ in selector.select():
            state = key.data
            state[1] -= whole.count(b"\n", 0, state[0].recv_into(room))
            if state[1] == 0:
                done += BATCH
                state[1] = missing_at_start
                state[2] += 1
                state[0].sendall(sent[state[2] % BATCHES])
    took_s = time.monotonic() - start
    used = (server.cpu_s() - server_s) / took_s, (client_cpu_s() - client_s) / took_s
    for key in list(selector.get_map().values()):
        key.data[0].close()
    selector.close()
    return done / took_s, *used


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--real")
    options.add_argument("--members", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--out", default="docs/BENCHMARKS.md")
    options = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        start = lambda threads: Server(f"{threads}", [options.rankd, "--io-threads", str(threads)], folder, "0,1")
        servers = [start(threads) for threads in (1, 2)]
        try:
            for server in servers:
                server.load(options.members)
            for name, lines, words in WORK:
                print(name, flush=True)
                sent = batches(words, options.members)
                rounds = [[run(server, sent, lines) for server in servers] for _ in range(options.rounds)]
                rows.append([name, *row(rounds)])
        finally:
            for server in servers:
                server.stop()
    heads = ["load", "1 thread, k/s", "server + client cores", "2 threads, k/s", "server + client cores", "gain"]
    write_section(options.out, HEADING, [
        f"Written by `scripts/bench.sh threads` on {machine()}. One board of {options.members:,} members, {CONNECTIONS} "
        f"connections with {BATCH} requests in a pipeline each, thousands of commands in a second, medians of "
        f"{options.rounds} rounds of {ROUND_S:.0f} s that alternate. Server and client share the two cores; the columns "
        "between say how much of them each used.",
        "",
        *table(heads, rows),
    ])


def row(rounds):
    medians = [[statistics.median(figures) for figures in zip(*column)] for column in zip(*rounds)]
    for rate, server, client in medians:
        yield f"{rate / 1000:.0f}"
        yield f"{server:.2f} + {client:.2f}"
    yield f"{medians[1][0] / medians[0][0]:.2f}"


main()
