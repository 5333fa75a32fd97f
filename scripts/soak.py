"""Lets clients behave badly for some minutes and sees that the server takes no harm.

Thousands of idle connections stay open while others come and go, close one half, send requests in pieces or never to
their end, ask in pipelines and read nothing, read slowly, subscribe and read nothing.  All the time a connection of
its own asks PING, and every answer has to come within a bound.  At the end everybody leaves, and open files, used
memory and resident memory have to be back near where they were.

Needs a limit of open files (ulimit -n) above twice the number of connections.
"""
import argparse
import os
import random
import resource
import socket
import tempfile
import threading
import time

from measured import Server, request

PING_S_MAX = 1.0
USED_BYTES_MORE = 8 << 20
RESIDENT_BYTES_MORE = 64 << 20
BACK_S_MAX = 60
LARGE = b"x" * (64 << 10)


class Bad(threading.Thread):
    """One kind of bad behaviour, done again and again until the end."""

    def __init__(self, soak, seed):
        super().__init__(daemon=True)
        self.soak, self.chance, self.rounds, self.failure = soak, random.Random(seed), 0, None
        self.start()

    def run(self):
        while not self.soak.over.is_set():
            try:
                self.once()
                self.rounds += 1
            except OSError:
                self.rounds += 1  # cut off, as it deserves
            except AssertionError as failure:
                self.failure = failure
                return

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.soak.server.port), timeout=30)
        return connection

    def member(self):
        return f"player:{self.chance.randrange(1000):012d}"


class Churn(Bad):
    """Comes, asks one thing, goes; sometimes without a word, sometimes with a reset."""

    def once(self):
        with self.connect() as connection:
            if self.chance.random() < 0.2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return
            connection.sendall(request(["ZINCRBY", "board", 1, self.member()]))
            assert connection.recv(100).startswith(b"$"), "another reply than a score"


class HalfClosed(Bad):
    """Says that it sends no more, and wants its replies all the same."""

    def once(self):
        with self.connect() as connection:
            connection.sendall(request(["ZADD", "board", 1, self.member()]) * 100)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(1 << 16):
                answer += piece
            count = answer.count(b"\r\n")
            assert count == 100, f"{count} of 100 replies"


class Unread(Bad):
    """Asks for much in a pipeline and reads nothing."""

    def once(self):
        with self.connect() as connection:
            connection.settimeout(2)
            for _ in range(20):
                connection.sendall(request(["GET", "large"]) * 50)
                self.soak.over.wait(0.05)


class Slow(Bad):
    """Reads a little at a time."""

    def once(self):
        with self.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request(["GET", "large"]) * 8)
            for _ in range(50):
                if not connection.recv(2048):
                    return
                self.soak.over.wait(0.02)


class Partial(Bad):
    """Begins requests that it never ends, or ends them byte by byte, or announces what never comes."""

    def once(self):
        with self.connect() as connection:
            kind = self.chance.randrange(4)
            if kind == 0:
                connection.sendall(b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$500000000\r\n" + LARGE)
                self.soak.over.wait(0.5)
            elif kind == 1:
                connection.sendall(b"*1000000000\r\n")
                self.soak.over.wait(0.5)
            elif kind == 2:
                connection.sendall(self.chance.randbytes(300))
                connection.recv(1000)
            else:
                for byte in request(["ECHO", "whole"]):
                    connection.sendall(bytes([byte]))
                assert connection.recv(100) == b"$5\r\nwhole\r\n", "another echo"


class Subscriber(Bad):
    """Listens to what is said and reads nothing."""

    def once(self):
        with self.connect() as connection:
            connection.sendall(request(["SUBSCRIBE", "news"]) + request(["PSUBSCRIBE", "n*"]))
            self.soak.over.wait(3)


class Publisher(Bad):
    def once(self):
        with self.connect() as connection:
            for _ in range(100):
                connection.sendall(request(["PUBLISH", "news", "x" * 20_000]))
                connection.recv(100)
                self.soak.over.wait(0.01)


class Waiter(Bad):
    """Waits for what does not come, or watches a key, and leaves."""

    def once(self):
        with self.connect() as connection:
            words = [["BZPOPMIN", "nothing", "0"], ["WATCH", "board"], ["MULTI"], ["MONITOR"]]
            connection.sendall(request(self.chance.choice(words)))
            self.soak.over.wait(0.2)


class Soak:
    def __init__(self, options, folder):
        settings = ["--client-output-buffer-limit", "normal 16mb 0 0 pubsub 4mb 1mb 5", "--maxclients", "30000"]
        self.server = Server("rankd", [options.rankd, *settings], folder, cores=options.cores)
        self.over = threading.Event()
        self.worst_s = 0.0

    def info(self, section, name):
        self.server.socket.sendall(request(["INFO", section]))
        answer = b""
        while b"\r\n" not in answer or len(answer) < int(answer[1:answer.index(b"\r\n")]):
            answer += self.server.socket.recv(1 << 16)
        line = next(line for line in answer.decode().splitlines() if line.startswith(name + ":"))
        return int(line.split(":")[1])

    def files(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def state(self):
        return self.files(), self.info("memory", "used_memory"), self.server.resident_bytes()

    def ask(self, seconds):
        """PING all the time; the longest wait for its answer."""
        end = time.monotonic() + seconds
        while (start := time.monotonic()) < end:
            self.server.socket.sendall(b"PING\r\n")
            assert self.server.socket.recv(100) == b"+PONG\r\n"
            self.worst_s = max(self.worst_s, time.monotonic() - start)
            time.sleep(0.02)

    def run(self, options):
        self.server.socket.settimeout(30)
        self.server.pipeline([("SET", "large", "x" * 1_000_000)])
        self.server.pipeline([("ZADD", "board", n, f"player:{n:012d}") for n in range(1000)])
        before = self.state()
        print(f"before: {shown(before)}", flush=True)
        idle = []
        for _ in range(options.connections):
            connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=30)
            connection.sendall(b"PING\r\n")
            answer = connection.recv(100)
            assert answer == b"+PONG\r\n", f"{answer} from idle connection {len(idle)}"
            idle.append(connection)
        print(f"{options.connections} idle connections: {shown(self.state())}", flush=True)
        kinds = [Churn, Churn, HalfClosed, Unread, Slow, Partial, Partial, Subscriber, Subscriber, Publisher, Waiter]
        bad = [kind(self, seed) for seed, kind in enumerate(kinds)]
        self.ask(options.seconds)
        print(f"under load: {shown(self.state())}, longest PING {self.worst_s * 1000:.0f} ms", flush=True)
        self.over.set()
        for thread in bad:
            thread.join(60)
            assert not thread.is_alive(), f"{type(thread).__name__} hangs"
            assert thread.failure is None, f"{type(thread).__name__}: {thread.failure}"
            print(f"  {type(thread).__name__}: {thread.rounds} rounds", flush=True)
        # The idle ones were there all the time, and are served.
        for connection in idle:
            connection.sendall(b"PING\r\n")
            assert connection.recv(100) == b"+PONG\r\n", "an idle connection was cut off"
            connection.close()
        self.check_back(before)
        assert self.worst_s < PING_S_MAX, f"a PING waited {self.worst_s:.2f} s"

    def check_back(self, before):
        most = before[0], before[1] + USED_BYTES_MORE, before[2] + RESIDENT_BYTES_MORE
        end = time.monotonic() + BACK_S_MAX
        while any(now > bound for now, bound in zip(self.state(), most)):
            assert time.monotonic() < end, f"{shown(self.state())} does not come back to {shown(most)}"
            self.ask(1)
        print(f"after: {shown(self.state())}, longest PING {self.worst_s * 1000:.0f} ms", flush=True)


def shown(state):
    return f"{state[0]} open files, {state[1] / 1e6:.1f} MB used, {state[2] / 1e6:.1f} MB resident"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rankd", required=True)
    options.add_argument("--connections", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=180)
    options.add_argument("--cores", default="0-%d" % (os.cpu_count() - 1))
    options = options.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(options, folder)
        try:
            soak.run(options)
        finally:
            soak.server.stop()
    print("the server took no harm")


main()
