"""A server of its own for a test, a small client, and what the tests of the server share. Only Python's standard library;
loopback only."""
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

BPCN = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/bpcn")
WIDTH, HELD = 96, 20
JSON = {"Content-Type": "application/json"}
OCTETS = {"Content-Type": "application/octet-stream"}


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
        if self.process.poll() is None and self.stop() != 0:
            laws.law("a server that is told to end ends with 0", False, self.process.stderr.read())
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self):
        """Exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()

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


laws = Laws()
law = laws.law
TRUTH = rows(HELD, WIDTH)


def near(a, b, tolerance=1e-4):
    """Answers of one memory differ by rounding where rows with other gaps were read along: sigma is 0.01."""
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b))


def half(row):
    return [v if j % 2 == 0 else None for j, v in enumerate(row)]


def make(name="m.mem", *options):
    bpcn("create", name, "--dim", WIDTH, "--hidden", "32,32", "-q", *options)
    return name


def is_refused(code, part, got):
    """got: status and body. A problem document (RFC 9457) with a place, and no path of this machine."""
    status, e = got
    return (status == code and e.get("status") == code and part in e.get("detail", "") and "where" in e and "title" in e
            and os.getcwd() not in json.dumps(e))


def together(what, count):
    threads = [threading.Thread(target=what, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def run(*groups):
    """Each group of laws in a folder of their own; ends the program."""
    if b"without its server" in subprocess.run([BPCN, "serve"], capture_output=True).stderr:
        print("skip bpcn serve: it was built without its libraries\n0 passed, 0 failed")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for group in groups:
            group()
        os.chdir("/")
    sys.exit(laws.end())
