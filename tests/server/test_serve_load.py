"""bpcn serve under load: batches, turns, a full queue, a full disk, and kill -9 amid writes.
    tests/server/test_serve_load.py [BPCN [KILLS]]"""
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading

from client import TRUTH, WIDTH, Server, bpcn, half, is_refused, law, make, near, rows, run, together

KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10


def gathering():
    """Eight clients are connected; each asks for one row, and none is answered before all have asked."""
    make("g.mem")
    with Server("g.mem", "--batch", 8, "--gather", 60000) as s:
        first = s.connect()
        s.json("POST", "/v1/write", {"rows": TRUTH}, connection=first)
        first.close()
        clients = [s.connect() for _ in range(8)]
        for c in clients:
            s.json("GET", "/health", connection=c)
        answers = [None] * 8

        def ask(i):
            answers[i] = s.json("POST", "/v1/read", {"rows": [half(TRUTH[i])]}, connection=clients[i])[1]
        together(ask, 8)
        text = s.ask("GET", "/metrics", connection=clients[0])[2]
        law("reads of eight requests are one batch", b'\nbpcn_batches_total{memory="g"} 1\n' in text, text[-900:])
        for c in clients:
            c.close()
        law("SIGTERM ends it with 0", s.stop() == 0)
    with open("q.csv", "w") as f:
        for r in TRUTH[:8]:
            f.write(",".join("%.9g" % v for v in r) + "\n")
    with open("mask.csv", "w") as f:
        f.write(",".join("1" if j % 2 == 0 else "0" for j in range(WIDTH)) + "\n")
    bpcn("read", "g.mem", "q.csv", "--mask", "mask.csv", "-o", "a.csv", "-q")
    told = [[float(v) for v in line.split(",")] for line in open("a.csv")]
    law("each gets the answer that bpcn read gives", all(near(a["rows"][0], t, 1e-5) for a, t in zip(answers, told)),
        (answers[0], told[0]))


def crowd():
    """Six clients write and read at once; every write that was answered is there, and every read is a whole answer."""
    make("w.mem", "--shards", "8")
    troubles, each = [], 8
    with Server("w.mem") as s:
        def client(i):
            c = s.connect()
            for k in range(each):
                mine = rows(1, WIDTH, 1000 + i * each + k)[0]
                status, a = s.json("POST", "/v1/write", {"rows": [mine]}, connection=c)
                if status != 200 or a["written"] != 1:
                    troubles.append((status, a))
                status, a = s.json("POST", "/v1/read", {"rows": [half(mine)]}, connection=c)
                if status != 200 or not near(a["rows"][0], mine, 0.1):
                    troubles.append((status, mine, a))
            c.close()
        together(client, 6)
        law("clients at once read what they have written", not troubles, troubles[:2])
        law("and nothing is lost between them", s.json("GET", "/v1/info")[1]["writes"] == 6 * each)
        law("SIGTERM ends it with 0 after that", s.stop() == 0)
    law("and the file is closed as it should be", bpcn("check", "w.mem").returncode == 0)


def patience():
    """A request writes many rows while readers, each with options of its own, ask without a break."""
    make("patient.mem", "--shards", "8")
    with Server("patient.mem") as s:
        s.json("POST", "/v1/write", {"rows": TRUTH})
        writing, seen = threading.Event(), []

        def client(i):
            if i == 0:
                s.json("POST", "/v1/write", {"rows": rows(200, WIDTH, 3000)})
                writing.set()
            c = s.connect()
            while not writing.is_set():
                seen.append(s.json("POST", "/v1/read", {"rows": [half(TRUTH[i])], "noise": i / 1000}, connection=c)[0])
        together(client, 6)
        text = s.ask("GET", "/metrics")[2].decode()
        waited = int(text.split("\nbpcn_changes_waited_for{")[1].split("}")[1].split()[0])
        law("no read waits for more than one turn of eight rows", 1 <= waited <= 8, waited)
        law("and many are answered meanwhile", set(seen) == {200} and len(seen) > 20, len(seen))


def full_queue():
    """A queue of one: while many ask at once, each gets an answer or a 503 that says when to come again."""
    make("f.mem")
    seen = []
    with Server("f.mem", "--queue", 1) as s:
        def client(i):
            for k in range(10):
                status, head, _ = s.ask("POST", "/v1/write", {"rows": rows(8, WIDTH, 100 * i + k)})
                seen.append((status, head["Retry-After"]))
        together(client, 6)
        law("a full queue is 503 with Retry-After, and else all is well",
            {(200, None), (503, "1")} >= set(seen) and (200, None) in seen, set(seen))
        done = sum(1 for status, _ in seen if status == 200)
        law("what was refused was not written", s.json("GET", "/v1/info")[1]["writes"] == 8 * done)


def write_until_refused(s):
    """How many rows were written, and the answer to the one that was not."""
    for written in range(1000):
        status, a = s.json("POST", "/v1/write", {"rows": rows(1, WIDTH, written)})
        if status != 200:
            break
    return written, (status, a)


def lost_file():
    """A file that is removed, moved or replaced under the server takes no more rows, and health says so."""
    def remove():
        os.remove("l.mem")

    def replace():
        shutil.copy("l.mem", "backup.mem")
        os.rename("backup.mem", "l.mem")

    def move():
        os.rename("l.mem", "moved.mem")

    for what, act, part in (("removed", remove, "was removed"), ("replaced", replace, "was replaced"),
                            ("moved", move, "its rows are in")):
        if os.path.exists("l.mem"):
            os.remove("l.mem")
        make("l.mem")
        with Server("l.mem") as s:
            before = s.json("GET", "/health")[0], s.json("POST", "/v1/write", {"rows": rows(1, WIDTH)})[0]
            act()
            refused = s.json("POST", "/v1/write", {"rows": rows(1, WIDTH, 1)})
            law("a file that is %s under a server takes no more rows" % what,
                before == (200, 200) and is_refused(500, "moved, removed or replaced", refused), (before, refused))
            law("and health says so", s.json("GET", "/health")[0] == 503)
            again = s.json("POST", "/v1/write", {"rows": rows(1, WIDTH, 2)})
            law("and it stays so", again[0] >= 500 and s.json("GET", "/health")[0] == 503, again)
            s.kill()
            log = s.process.stderr.read()
            law("the log has what happened, once", part in log and len(log.splitlines()) == 1, log)


def full_disk():
    """The file may grow by 4 KiB (sh counts blocks of 512 bytes): what is refused is 507, and what was written stays."""
    make("d.mem", "--shards", "4")
    quota = "trap '' XFSZ; ulimit -f %d; exec \"$@\"" % ((os.path.getsize("d.mem") + 4096) // 512)
    with Server("d.mem", before=["sh", "-c", quota, "sh"]) as s:
        written, refused = write_until_refused(s)
        law("a file that may not grow is 507", written > 0 and is_refused(507, "the disk is full", refused), (written, refused))
        status, a = s.json("POST", "/v1/read", {"rows": [half(rows(1, WIDTH)[0])]})
        law("and reads go on", status == 200, a)
        for _ in range(5):
            s.json("POST", "/v1/write", {"rows": rows(1, WIDTH, 900)})
        s.kill()
        log = s.process.stderr.read()
        law("the log has the file and what was wrong with it, once", "d.mem" in log and len(log.splitlines()) == 1, log)
    count = json.loads(bpcn("info", "d.mem", "--json").stdout)["writes"]
    law("what was acknowledged before is there", count >= written, (count, written))
    os.mkdir("disk")
    disk = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=256k none disk && cp d.mem disk && { cat /dev/zero >disk/rest; exec \"$@\"; }", "sh"]
    if shutil.which("unshare") is None or subprocess.run([*disk, "true"], capture_output=True).returncode != 0:
        print("skip a full disk: no small one can be made here")
        return
    with Server("disk/d.mem", before=disk) as s:
        written, refused = write_until_refused(s)
        law("a full disk is 507", is_refused(507, "the disk is full", refused), (written, refused))


def killed():
    """kill -9 amid writes: what was acknowledged is in the file, whatever else is."""
    make("k.mem", "--shards", "64")
    acknowledged, lost = 0, []
    for round_ in range(KILLS):
        with Server("k.mem") as s:
            had = s.json("GET", "/v1/info")[1]["writes"]
            if had < acknowledged:
                lost.append((round_, had, acknowledged))
            acknowledged = had
            enough = threading.Event()
            counts = [0] * 3

            def client(i):
                try:
                    c = s.connect()
                    while True:
                        status, a = s.json("POST", "/v1/write", {"rows": rows(2, WIDTH, round_ * 100 + counts[i])}, connection=c)
                        counts[i] += a["written"]
                        if sum(counts) > 4 + round_ % 5:
                            enough.set()
                except (OSError, ValueError, http.client.HTTPException):
                    enough.set()
            threads = [threading.Thread(target=client, args=(i,)) for i in range(3)]
            for t in threads:
                t.start()
            enough.wait(60)
            s.kill()
            for t in threads:
                t.join()
            acknowledged += sum(counts)
    head = json.loads(bpcn("info", "k.mem", "--json").stdout)
    if head["writes"] < acknowledged:
        lost.append(("end", head["writes"], acknowledged))
    law("%d times killed amid writes, nothing acknowledged is lost" % KILLS, not lost, lost)


if __name__ == "__main__":
    run(gathering, crowd, patience, full_queue, lost_file, full_disk, killed)
