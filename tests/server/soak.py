"""A soak of bpcn serve: readers, a writer, clients that are stuck or go away in the middle of a request, and now and then a
kill -9, after which every acknowledged row must be there. The server's memory in use must stay flat.
    tests/server/soak.py [BPCN [SECONDS]]        make soak: ten minutes"""
import random
import sys
import threading
import time

from client import WIDTH, Server, bpcn, half, law, rows, run

SECONDS = float(sys.argv[2]) if sys.argv[2:] else 600
TURNS, WARM = 4, 0.35  # kills; share of a turn after which memory in use counts


def resident(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


class Crowd:
    """Threads that ask one server until they are told to end."""

    def __init__(self, server, written):
        self.server, self.written, self.over = server, written, threading.Event()
        self.reads, self.wrong = 0, []
        kinds = [self.read] * 3 + [self.write, self.stuck, self.leave]
        self.threads = [threading.Thread(target=self.keep, args=(kind, k)) for k, kind in enumerate(kinds)]
        for t in self.threads:
            t.start()

    def keep(self, kind, number):
        dice = random.Random(number)
        while not self.over.is_set():
            try:
                kind(dice)
            except (OSError, ValueError) as e:
                if not self.over.is_set():
                    self.wrong.append(repr(e))
                    self.over.wait(0.2)

    def read(self, dice):
        c = self.server.connect()
        for _ in range(50):
            if self.over.is_set():
                break
            status, a = self.server.json("POST", "/v1/read", {"rows": [half(r) for r in rows(dice.randrange(1, 9), WIDTH, dice.randrange(20))]}, connection=c)
            self.reads += status == 200
            self.over.wait(0.005)
        c.close()

    def write(self, dice):
        first = self.written[0]
        if self.server.json("POST", "/v1/write", {"rows": rows(1, WIDTH, first)})[0] == 200:
            self.written[0] = first + 1
        self.over.wait(0.02)

    def stuck(self, dice):
        connections = [self.server.raw() for _ in range(4)]
        for c in connections:
            c.sendall(b"POST /v1/sample HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"n\": 900}" % self.server.port)
        self.over.wait(dice.uniform(0.5, 2))
        for c in connections:
            c.close()

    def leave(self, dice):
        c = self.server.raw()
        c.sendall(b"POST /v1/read HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{\"rows\": [[" % self.server.port)
        self.over.wait(dice.uniform(0, 0.1))
        c.close()

    def end(self):
        self.over.set()


def soak():
    bpcn("create", "s.mem", "--dim", WIDTH, "--hidden", "32,32", "--shards", 8, "--when-full", "recycle", "-q")
    written, reads = [0], 0
    for turn in range(TURNS):
        with Server("s.mem", "--timeout", 5) as s:
            law("after %d kills every acknowledged row is there" % turn, s.json("GET", "/v1/info")[1]["writes"] >= written[0])
            written[0] = s.json("GET", "/v1/info")[1]["writes"]
            crowd, seen, start = Crowd(s, written), [], time.monotonic()
            while time.monotonic() - start < SECONDS / TURNS:
                crowd.over.wait(SECONDS / TURNS / 40)
                seen.append(resident(s))
            healthy = s.json("GET", "/health")[0] == 200
            crowd.end()
            s.kill()
            for t in crowd.threads:
                t.join()
        warm = seen[int(WARM * len(seen)):]
        # What a leak raises is the highest point; below it a turn goes up and down by a shard that begins anew.
        early, late = max(warm[:len(warm) // 2]), max(warm[len(warm) // 2:])
        print("%d reads, %d rows, memory in use %.1f to %.1f MiB" % (crowd.reads, written[0], min(warm), max(warm)))
        law("turn %d: memory in use is flat" % turn, late < 1.05 * early + 1, (early, late, seen))
        law("and health was told to the end", healthy and crowd.reads > 0)
        law("and nobody was failed", not crowd.wrong, crowd.wrong[:3])
        reads += crowd.reads
    law("there was work", reads > 0 and written[0] > 0)


run(soak)
