"""bpcn serve in operation: several memories, a copy while it serves, replicas, signals, a file that went away, clients that
are stuck, undo and history.
    tests/server/test_serve_operation.py [BPCN]"""
import os
import signal
import socket
import time

from client import HELD, TRUTH, WIDTH, Server, bpcn, half, is_refused, law, make, near, rows, run


def soon(what, seconds=10):
    """Whether it becomes true: asked again until then."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def several():
    with Server(make("one.mem"), "second=" + make("two.mem")) as s:
        status, a = s.json("GET", "/v1/memories")
        law("memories are listed with their paths", [m["path"] for m in a["memories"]] == ["/m/one/", "/m/second/"], a)
        s.json("POST", "/m/second/v1/write", {"rows": TRUTH[:3]})
        counts = [s.json("GET", path + "v1/info")[1]["writes"] for path in ("/", "/m/one/", "/m/second/")]
        law("each has its own rows, and the first needs no name", counts == [0, 0, 3], counts)
        law("a memory that is not there is 404", s.json("GET", "/m/third/v1/info")[0] == 404)
        law("the page is there under each name", s.ask("GET", "/m/second/")[0] == 200 and s.ask("GET", "/m/second/page.js")[0] == 200)


def copies():
    with Server(make("w.mem")) as s:
        s.json("POST", "/v1/write", {"rows": TRUTH})
        status, head, data = s.ask("GET", "/v1/snapshot")
        with open("copy.mem", "wb") as f:
            f.write(data)
        law("a snapshot is a sound file", status == 200 and bpcn("check", "copy.mem").returncode == 0, status)
        with Server("copy.mem", "--read-only") as t:
            asked = {"rows": [half(r) for r in TRUTH]}
            a, b = (x.json("POST", "/v1/read", asked)[1]["rows"] for x in (s, t))
            law("that answers as the server does", all(near(x, y) for x, y in zip(a, b)))
            law("and is not written to", is_refused(403, "", t.json("POST", "/v1/write", {"rows": TRUTH[:1]})))
        with Server("w.mem", "--read-only", "--follow", 0.1) as replica:
            law("a replica opens beside the writer", replica.json("GET", "/v1/info")[1]["writes"] == HELD)
            s.json("POST", "/v1/write", {"rows": rows(1, WIDTH, 500)})
            law("and follows what it writes", soon(lambda: replica.json("GET", "/v1/info")[1]["writes"] == HELD + 1))


def undo():
    with Server(make("u.mem"), "--examples", examples()) as s:
        status, a = s.json("POST", "/v1/write", {"rows": TRUTH[:2]})
        step = a["step"]
        s.json("POST", "/v1/read", {"rows": [half(TRUTH[0])]})
        status, b = s.json("POST", "/v1/undo", {"step": step})
        law("a write is undone, also after reads", status == 200 and b["deleted"] == 2, b)
        law("and the rows are unknown again", s.json("POST", "/v1/score", {"rows": TRUTH[:1]})[1]["info"][0]["verdict"] != "known")
        law("once", is_refused(409, "", s.json("POST", "/v1/undo", {"step": step})))
        first = s.json("POST", "/v1/write", {"rows": TRUTH[:1]})[1]["step"]
        s.json("POST", "/v1/write", {"rows": TRUTH[1:2]})
        law("an older step cannot be undone", is_refused(409, "", s.json("POST", "/v1/undo", {"step": first})))
        kinds = [e["kind"] for e in s.json("GET", "/v1/history")[1]["events"]]
        law("history tells it in order", kinds == ["write", "read", "undo", "write", "write"], kinds)
        number = s.json("GET", "/v1/history")[1]["events"][-1]["number"]
        law("and from a number on", s.json("GET", "/v1/history?after=%d" % number)[1]["events"] == [])
        a = s.json("GET", "/v1/examples?first=1&n=2&seen=1")[1]
        law("examples come in pages, with what was seen", near(a["rows"][0], TRUTH[1]) and a["seen"] == [True, False], a["seen"])
        law("beyond the last there are none", s.json("GET", "/v1/examples?first=999")[1]["rows"] == [])


def examples():
    with open("e.csv", "w") as f:
        for row in TRUTH[:3]:
            f.write(",".join(map(str, row)) + "\n")
    return "e.csv"


def signals():
    with Server(make("h.mem"), "--log", "log") as s:
        os.rename("log", "log.1")
        s.process.send_signal(signal.SIGHUP)
        law("SIGHUP opens the log anew", soon(lambda: os.path.exists("log")))
        law("and serves on", s.json("POST", "/v1/write", {"rows": TRUTH[:1]})[0] == 200)
        stuck = [s.raw() for _ in range(8)]
        for k, c in enumerate(stuck):  # half a head; half a body; an answer that is not read
            c.sendall(b"GET /v1/info HTTP/1.1\r\nHo" if k % 2 else b"POST /v1/read HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\n{" % s.port)
        start = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        status = s.process.wait(timeout=30)
        law("SIGTERM ends it within 5 s, whatever clients do", status == 0 and time.monotonic() - start < 5, (status, time.monotonic() - start))
        for c in stuck:
            c.close()


def file_gone():
    for what, change in (("moved", lambda p: os.rename(p, p + ".elsewhere")), ("removed", os.unlink)):
        path = make("g-%s.mem" % what)
        with Server(path) as s:
            s.json("POST", "/v1/write", {"rows": TRUTH[:1]})
            change(path)
            law("a write to a file that was %s is no success" % what, s.json("POST", "/v1/write", {"rows": TRUTH[1:2]})[0] == 500)
            law("and health says so", soon(lambda: s.json("GET", "/health")[0] == 503), s.json("GET", "/health"))
            law("what it holds is still read", s.json("POST", "/v1/read", {"rows": [half(TRUTH[0])]})[0] == 200)
            s.process.send_signal(signal.SIGTERM)
            s.process.wait(timeout=60)


def crowds():
    with Server(make("c.mem"), "--max-connections", 8, "--timeout", 20) as s:
        idle = [s.raw() for _ in range(12)]
        law("idle connections do not lock health out", s.json("GET", "/health")[0] == 200)
        for c in idle:
            c.close()
    with Server(make("d.mem"), "--max-held", 12 << 20) as s:
        s.json("POST", "/v1/write", {"rows": TRUTH})
        unread = []
        for _ in range(12):
            c = s.raw()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            body = b'{"n":4000}'
            c.sendall(b"POST /v1/sample HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (s.port, len(body)) + body)
            unread.append(c)
        law("answers that nobody reads count for the limit of bytes", soon(lambda: s.json("POST", "/v1/sample", {"n": 4000})[0] == 503))
        law("and health is answered", s.json("GET", "/health")[0] == 200)
        for c in unread:
            c.close()
        law("when those clients are gone, it answers again", soon(lambda: s.json("POST", "/v1/sample", {"n": 4000})[0] == 200))


run(several, copies, undo, signals, file_gone, crowds)
