"""What the measuring scripts share: servers under test, requests as bytes, and the sections of docs/BENCHMARKS.md."""
import datetime
import os
import platform
import random
import socket
import subprocess
import time


class Server:
    """A server of its own, on a port that was free a moment ago."""

    def __init__(self, name, command, folder, cores="0"):
        self.name = name
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        argv = ["taskset", "-c", cores, *command, "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=300)
                self.wait_until_loaded()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{name} did not listen")

    def wait_until_loaded(self):
        while True:
            self.socket.sendall(b"PING\r\n")
            if self.socket.recv(1000).startswith(b"+PONG"):
                return
            time.sleep(0.05)

    def cpu_s(self):
        """CPU time that the kernel charged to all threads so far."""
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
        self.socket.sendall(b"".join(map(request, commands)))
        missing = len(commands)
        while missing:
            missing -= self.socket.recv(1 << 20).count(b"\r\n")

    def load(self, members):
        """Fills the board in random order; CPU time a command in microseconds."""
        before_s = self.cpu_s()
        chance = random.Random(7)
        order = list(range(members))
        chance.shuffle(order)
        for start in range(0, members, 500):
            part = order[start:start + 500]
            self.pipeline([("ZADD", "board", chance.randrange(1_000_000), f"player:{n:012d}") for n in part])
        return (self.cpu_s() - before_s) * 1e6 / members

    def stop(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)


def request(words):
    """One request in bytes."""
    out = bytearray(b"*%d\r\n" % len(words))
    for word in words:
        data = str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(data), data)
    return bytes(out)


def real_servers(folder):
    return {"Redis 8.2.3": [f"{folder}/redis-server-8.2.3"], "Valkey 9.1.2": [f"{folder}/valkey-server-9.1.2"]}


def machine():
    """Where and when: for the head of a section."""
    processor = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    return f"{datetime.date.today()}: {processor}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def write_section(path, heading, lines):
    """Puts a section in place of the one with the same heading, or at the end; other sections stay."""
    try:
        with open(path) as file:
            parts = file.read().split("\n## ")
    except FileNotFoundError:
        parts = ["# Benchmarks\n"]
    section = heading + "\n\n" + "\n".join(lines)
    headings = [part.split("\n", 1)[0] for part in parts]
    if heading in headings:
        parts[headings.index(heading)] = section
    else:
        parts.append(section)
    with open(path, "w") as file:
        file.write("\n\n## ".join(part.strip() for part in parts) + "\n")
    print(f"wrote {path}: {heading}")
