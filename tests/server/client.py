"""A server of its own for a test, and a small client. Only Python's standard library; loopback only."""
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys

BPCN = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/bpcn")


def bpcn(*args, check=True):
    done = subprocess.run([BPCN, *map(str, args)], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError("bpcn %s: %s" % (" ".join(map(str, args)), done.stderr))
    return done


def rows(count, width, first=0):
    """Values in -1 .. 1 that depend on their place alone."""
    out = []
    for i in range(first, first + count):
        state, row = i * 2654435761 + 12345, []
        for _ in range(width):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            row.append(round((state >> 33) / 2**30 - 1, 6))
        out.append(row)
    return out


def octets(some):
    flat = [float("nan") if v is None else v for row in some for v in row]
    return struct.pack("<%df" % len(flat), *flat)


def floats(data):
    return struct.unpack("<%df" % (len(data) // 4), data)


class Server:
    def __init__(self, memory, *options, listen="127.0.0.1:0", before=()):
        """before: a command that runs the one after it."""
        self.process = subprocess.Popen([*before, BPCN, "serve", str(memory), "--listen", listen, *map(str, options)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError("no server: " + self.process.stderr.read())
        self.host, port = self.url.rstrip("/")[len("http://"):].rsplit(":", 1)
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self):
        """Exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def raw(self):
        return socket.create_connection((self.host, self.port), timeout=60)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """Status, headers, bytes."""
        c = connection or self.connect()
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if body is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        c.request(method, path, body, {k: v for k, v in headers.items() if v is not None})
        answer = c.getresponse()
        data = answer.read()
        if connection is None:
            c.close()
        return answer.status, answer.headers, data

    def json(self, method, path, body=None, headers=None, connection=None):
        status, _, data = self.ask(method, path, body, headers, connection)
        return status, json.loads(data)


class Laws:
    def __init__(self):
        self.passed = self.failed = 0

    def law(self, name, holds, got=""):
        if holds:
            self.passed += 1
            print("ok   " + name)
        else:
            self.failed += 1
            print("FAIL %s\n       got %s" % (name, str(got)[:600]))
        sys.stdout.flush()

    def end(self):
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0
