"""Who may ask bpcn serve, how much, and for how long: hosts, origins, tokens, limits, addresses.
    tests/server/test_serve_access.py [BPCN [TURNS]]"""
import json
import os
import shutil
import socket
import subprocess
import sys

from client import BPCN, JSON, OCTETS, TRUTH, WIDTH, Server, bpcn, is_refused, law, make, octets, rows, run

FILE = os.path.abspath(__file__)
TURNS = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2] != "beyond" else 1000


def visitors():
    with Server(make()) as s:
        from_elsewhere(s)


def from_elsewhere(s):
    def status(path="/v1/info", **headers):
        return s.json("GET", path, None, {k.replace("_", "-"): v for k, v in headers.items()})

    law("another Host is 421", is_refused(421, "name", status(Host="evil.example:%d" % s.port)))
    law("a Host with another port is 421", status(Host="127.0.0.1:1")[0] == 421)
    law("localhost is the server's name", status(Host="localhost:%d" % s.port)[0] == 200)
    law("health is told whatever the Host", status("/health", Host="probe")[0] == 200)
    law("a page from elsewhere is 403", status(Origin="http://evil.example")[0] == 403)
    law("the server's own page is not", status(Origin="http://127.0.0.1:%d" % s.port)[0] == 200)
    law("CORS is off", "Access-Control-Allow-Origin" not in s.ask("GET", "/v1/info")[1])
    law("a preflight gets nothing", s.ask("OPTIONS", "/v1/read", None, {"Origin": "http://evil.example"})[0] == 403)


def with_token():
    token = "correct-horse"
    with open("token", "w") as f:
        f.write("# ours\n" + token + "\nanother-token\n")
    with Server(make("t.mem"), "--token-file", "token", "--allow-origin", "http://friend.example") as s:
        good = {"Authorization": "Bearer " + token}
        status, a = s.json("GET", "/v1/info")
        law("without the token 401", is_refused(401, "requires a token", (status, a)), a)
        for wrong in (token[:-1], token + "x", "x" + token[1:], ""):
            law("a wrong token is 401: %r" % wrong,
                s.json("GET", "/v1/info", None, {"Authorization": "Bearer " + wrong})[0] == 401)
        status, head, _ = s.ask("GET", "/v1/info")
        law("and it says what is wanted", head["WWW-Authenticate"] == "Bearer")
        law("any token of the file will do", s.json("GET", "/v1/info", None, {"Authorization": "Bearer another-token"})[0] == 200)
        law("with it 200", s.json("GET", "/v1/info", None, good)[0] == 200)
        law("metrics want it too", s.ask("GET", "/metrics")[0] == 401 and s.ask("GET", "/metrics", None, good)[0] == 200)
        law("health does not, so that a bad token is no dead server", s.json("GET", "/health")[0] == 200)
        law("nor does the page, which holds nothing", s.ask("GET", "/")[0] == 200)
        friend = {"Origin": "http://friend.example"}
        status, head, _ = s.ask("OPTIONS", "/v1/read", None, friend)
        law("an origin that was allowed may ask", status == 204 and head["Access-Control-Allow-Origin"] == friend["Origin"])
        law("with the token", s.ask("GET", "/v1/info", None, {**friend, **good})[0] == 200)


def limits():
    with Server(make("l.mem"), "--max-body", 2000, "--max-rows", 3, "--timeout", 1) as s:
        law("a body beyond the limit is 413", is_refused(413, "longer", s.json("POST", "/v1/write", " " * 3000, JSON)))
        law("rows beyond the limit are 413",
            is_refused(413, "at once", s.json("POST", "/v1/write", octets(rows(4, WIDTH)), OCTETS)))
        raw = s.raw()
        raw.sendall(b"POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 99999999999\r\n\r\n" % s.port)
        law("a body that claims to be huge is 413 at once", b" 413 " in raw.recv(4096))
        raw.close()
        raw = s.raw()
        raw.sendall(b"POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n" % s.port)
        for _ in range(40):
            raw.sendall(b"64\r\n" + b" " * 100 + b"\r\n")
        raw.sendall(b"0\r\n\r\n")
        law("a chunked body beyond the limit is 413", b" 413 " in raw.recv(4096))
        raw.close()
        law("headers beyond the limit are refused", s.ask("GET", "/health", None, {"X": "y" * 100000})[0] in (413, 431))
        late = trickle(s)
        law("a request that trickles in is 408", b" 408 " in late and json.loads(late.split(b"\r\n\r\n")[1])["status"] == 408
            and b"Content-Length: %d" % len(late.split(b"\r\n\r\n")[1]) in late, late)
        raw = s.raw()
        raw.sendall(b"POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 100\r\n\r\n{" % s.port)
        raw.shutdown(socket.SHUT_WR)
        raw.settimeout(60)
        while raw.recv(4096):
            pass
        raw.close()
        law("a body that ends early changes nothing", s.json("GET", "/v1/info")[1]["writes"] == 0)
        raw = s.raw()
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        raw.sendall(one * 3)
        got = b""
        while got.count(b'{"ok":1}') < 3:
            more = raw.recv(4096)
            if not more:
                break
            got += more
        raw.close()
        law("requests in a row on one connection are all answered", got.count(b'{"ok":1}') == 3, got)
        for _ in range(TURNS):
            s.json("GET", "/health")
        law("%d connections in turn leave nothing behind" % TURNS, s.json("GET", "/health")[0] == 200)


def trickle(s):
    """Sends a header byte by byte until the server has had enough; a byte is sent whenever nothing has come for 0.2 s."""
    raw = s.raw()
    raw.sendall(b"GET /health HTTP/1.1\r\nX: ")
    raw.settimeout(0.2)
    for _ in range(150):
        try:
            return raw.recv(4096)
        except socket.timeout:
            try:
                raw.sendall(b"y")
            except OSError:
                continue
        except OSError:
            break
    raw.close()
    return b""


def connections():
    """Two connections are allowed. Clients that are silent make room; those that are being answered do not."""
    with Server(make("c.mem"), "--max-connections", 2) as s:
        silent = [s.raw() for _ in range(2)]
        law("health is told beside as many idle connections as are allowed", s.json("GET", "/health")[0] == 200)
        idle = [s.connect() for _ in range(30)]
        for c in idle:
            c.connect()
        law("and beside many more", s.json("GET", "/health")[0] == 200)
        for c in [*silent, *idle]:
            c.close()


def long_bodies():
    """Twenty-four clients have each sent the longest body but for its last byte: that may be more than it holds at once."""
    most = 1 << 20
    make("h.mem")
    with Server("h.mem", "--max-body", most) as s:
        head = b"POST /v1/read HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        held = [s.raw() for _ in range(24)]
        for raw in held:
            raw.sendall(head % (s.port, most) + b" " * (most - 1))
        for raw in held:
            raw.sendall(b" ")
        status = [raw.recv(4096)[9:12] for raw in held]
        law("many long bodies at once are looked at or 503", set(status) <= {b"503", b"400"} and b"400" in status, status)
        for raw in held:
            raw.close()
        after = {s.json("POST", "/v1/read", " " * (most - 1), JSON)[0] for _ in range(20)}
        law("and their room is free again", after == {400}, after)


def read_only_and_beyond():
    make("r.mem")
    with Server("r.mem", "--read-only") as s:
        law("a server that only reads refuses writes", is_refused(403, "read-only", s.json("POST", "/v1/write", {"rows": [TRUTH[0]]})))
        law("and forgetting", s.json("POST", "/v1/forget", {"beta": 0.5})[0] == 403)
        law("and reads", s.json("POST", "/v1/read", {"rows": [TRUTH[0]]})[0] == 200)
        done = bpcn("serve", "r.mem", "--listen", "127.0.0.1:%d" % s.port, check=False)
        law("a port in use is an error", done.returncode == 1 and "in use" in done.stderr, done.stderr)
    for listen, part in (("0.0.0.0:0", "token"), ("[::]:0", "token"), ("nowhere", "ADDRESS:PORT"), ("host:1", "numeric")):
        done = bpcn("serve", "r.mem", "--listen", listen, check=False)
        law("--listen %s is refused" % listen, done.returncode == 2 and part in done.stderr, done.stderr)
    for text, part in (("short\n", "line 1"), ("# none\n\n", "holds no token"), ("good-token\nbad token\n", "line 2")):
        with open("bad-token", "w") as f:
            f.write(text)
        done = bpcn("serve", "r.mem", "--listen", "127.0.0.1:0", "--token-file", "bad-token", check=False)
        law("a token file of %r is refused" % text, done.returncode == 1 and part in done.stderr, done.stderr)
    law("a file that is not there is an error", bpcn("serve", "nothing.mem", check=False).returncode == 1)
    make("b.mem")
    with Server("b.mem"):
        done = bpcn("serve", "b.mem", "--listen", "127.0.0.1:0", check=False)
        law("a memory that another serves is an error", done.returncode == 1 and "b.mem" in done.stderr, done.stderr)


def beyond_loopback():
    """In a network of its own, where an address that is not loopback's leads nowhere else."""
    alone = ["unshare", "-rn", "sh", "-c", "ip link set lo up && ip addr add 10.9.8.7/32 dev lo && exec \"$@\"", "sh"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        print("skip a server beyond loopback: no network of our own can be made here")
        return
    done = subprocess.run([*alone, sys.executable, FILE, BPCN, "beyond"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(("ok   ", "FAIL ")):
            law(line[5:], line.startswith("ok"), done.stdout)
    law("all of the laws beyond loopback were looked at", len(lines) == 6, (lines, done.stderr))


def beyond():
    with open("token", "w") as f:
        f.write("correct-horse\n")
    with Server(make("n.mem"), "--token-file", "token", listen="10.9.8.7:0") as s:
        good = {"Authorization": "Bearer correct-horse"}
        law("with a token it listens beyond loopback", "10.9.8.7" in s.url, s.url)
        law("asks for it there", s.json("GET", "/v1/info")[0] == 401)
        law("lets in who has it", s.json("GET", "/v1/info", None, good)[0] == 200)
        law("goes by its own address and no other", s.json("GET", "/v1/info", None, {**good, "Host": "10.9.8.6:%d" % s.port})[0] == 421)
    done = bpcn("serve", "n.mem", "--listen", "10.9.8.7:0", check=False)
    law("and without a token does not start", done.returncode == 2 and "token" in done.stderr, done.stderr)


def unit():
    """systemd's own opinion of the unit, with the program where it is."""
    text = open(os.path.join(os.path.dirname(FILE), "../../contrib/bpcn-serve.service")).read()
    with open("bpcn-serve.service", "w") as f:
        f.write(text.replace("/usr/local/bin/bpcn", BPCN))
    if shutil.which("systemd-analyze") is None:
        print("skip the unit for systemd: there is no systemd-analyze")
        return
    done = subprocess.run(["systemd-analyze", "verify", "./bpcn-serve.service"], capture_output=True, text=True)
    law("systemd finds nothing wrong with the unit", done.returncode == 0 and "bpcn-serve" not in done.stderr, done.stderr)


if __name__ == "__main__":
    if sys.argv[2:] == ["beyond"]:
        run(beyond)
    run(visitors, with_token, limits, connections, long_bodies, read_only_and_beyond, beyond_loopback, unit)
