"""What bpcn serve answers: every endpoint, what it refuses, pictures, columns, folders. Every law prints one line.
    tests/server/test_serve.py [BPCN]"""
import math

from client import HELD, JSON, OCTETS, TRUTH, WIDTH, Server, bpcn, floats, half, is_refused, law, make, near, octets, rows, run


def endpoints(s):
    status, a = s.json("POST", "/v1/write", {"rows": TRUTH})
    law("rows are written", status == 200 and a["written"] == HELD and len(a["info"]) == HELD, a)
    law("a row of which nothing like it was written is new", a["info"][-1]["verdict"] == "new", a["info"][-1])
    status, a = s.json("POST", "/v1/read", {"rows": [half(r) for r in TRUTH]})
    law("rows come back from their halves", status == 200 and all(near(x, y, 0.05) for x, y in zip(a["rows"], TRUTH)), a)
    law("and are known", all(i["verdict"] == "known" and i["known"] == WIDTH // 2 for i in a["info"]), a["info"][0])
    by_json = a["rows"]
    status, head, data = s.ask("POST", "/v1/read", octets([half(r) for r in TRUTH]),
                               {**OCTETS, "Accept": "application/octet-stream"})
    law("octets give the same answers as JSON", status == 200 and near(floats(data), [v for r in by_json for v in r]), data)
    law("and their familiarity in a header", len(head["Bpcn-Familiarity"].split(",")) == HELD, head)
    status, a = s.json("POST", "/v1/read", {"rows": [half(TRUTH[3])], "spread": True})
    law("the spread is 0 where it is known and not where it is not",
        all((v == 0) == (j % 2 == 0) for j, v in enumerate(a["spread"][0])), a.get("spread"))
    status, a = s.json("POST", "/v1/read", {"rows": [half(TRUTH[3]), half(TRUTH[4])], "trace": True})
    law("a trace falls to the energy of each answer", status == 200 and len(a["trace"]) == 2 and all(
        len(t) <= i["evaluations"] and t[0] > i["energy"] and abs(min(t) - i["energy"]) < 1e-3 * abs(i["energy"])
        for t, i in zip(a["trace"], a["info"])), a.get("trace"))
    law("which is told only when it is asked for", "trace" not in s.json("POST", "/v1/read", {"rows": [TRUTH[3]]})[1])
    status, a = s.json("POST", "/v1/score", {"rows": [TRUTH[0], rows(1, WIDTH, 900)[0]]})
    law("scores tell known from new", [i["verdict"] for i in a["info"]] == ["known", "new"], a)
    law("with a typicality", all(0 <= i["typicality"] <= 1 for i in a["info"]), a)
    status, a = s.json("POST", "/v1/sample", {"n": 3, "draw": 7})
    b = s.json("POST", "/v1/sample", {"n": 3, "draw": 7})[1]
    law("samples are drawn, the same for the same draw", status == 200 and len(a["rows"]) == 3 and a == b, a)
    status, a = s.json("GET", "/v1/info")
    law("info tells what it is", status == 200 and a["entries"] == WIDTH and a["writes"] == HELD
        and sum(a["shards"]["rows"]) == HELD and a["read_only"] is False, a)
    status, _, text = s.ask("GET", "/metrics")
    law("metrics count requests and rows", b'bpcn_requests_total{endpoint="/v1/write",status="200"} 1' in text
        and b'bpcn_rows_total{endpoint="/v1/write"} 20' in text and b'bpcn_memory_writes{memory="m"} 20' in text, text)
    law("and tell of the build and the process", b"bpcn_build_info{" in text and b"process_resident_memory_bytes" in text
        and b"process_open_fds" in text and b"process_cpu_seconds_total" in text, text)
    status, a = s.json("GET", "/openapi.json")
    law("the description names every endpoint", {"/v1/" + n for n in "write read score sample forget delete info".split()}
        | {"/health", "/metrics"} <= set(a.get("paths", {})), a.keys())
    status, head, page = s.ask("GET", "/")
    law("the page asks nobody else", status == 200 and b"<html" in page and b"src=\"http" not in page and b"<script>" not in page
        and "default-src 'none'" in head["Content-Security-Policy"], page[:200])
    status, _, data = s.ask("HEAD", "/")
    law("HEAD has no body", status == 200 and data == b"")


def forgetting(s):
    whole = {"rows": [half(TRUTH[0])]}
    before = s.json("POST", "/v1/read", whole)[1]["rows"][0]
    faded = s.json("POST", "/v1/read", {**whole, "forget": 0.9})[1]
    law("a read as if something were forgotten is another", not near(faded["rows"][0], before, 0.05), faded)
    law("and forgets nothing", s.json("POST", "/v1/read", whole)[1]["rows"][0] == before
        and s.json("GET", "/v1/info")[1]["forgets"] == 0)
    status, a = s.json("POST", "/v1/forget", {"beta": 0.9})
    after = s.json("POST", "/v1/read", whole)[1]["rows"][0]
    law("to forget does what was foreseen", status == 200 and near(after, faded["rows"][0]), after)
    status, a = s.json("POST", "/v1/write", {"rows": [rows(1, WIDTH, 50)[0]]})
    status, a = s.json("POST", "/v1/delete", {"rows": rows(1, WIDTH, 50)})
    law("a row is taken back", status == 200 and a == {"deleted": 1}, a)


def refusals(s):
    def no(name, code, part, *request):
        status, a = s.json(*request)
        law(name, is_refused(code, part, (status, a)), (status, a))

    no("an unknown path is 404", 404, "no such path", "GET", "/etc/passwd")
    no("a path with dots is 404", 404, "no such path", "GET", "/../../etc/passwd")
    no("the wrong method is 405", 405, "POST", "GET", "/v1/read")
    no("a body of no kind is 415", 415, "say what the body is", "POST", "/v1/read", "x", {"Content-Type": "text/plain"})
    no("a form is 415", 415, "say what", "POST", "/v1/read", "a=1", {"Content-Type": "application/x-www-form-urlencoded"})
    no("what is not JSON is 400", 400, "not JSON", "POST", "/v1/read", "{", JSON)
    no("NaN is not JSON", 400, "not JSON", "POST", "/v1/read", '{"rows": [[NaN]]}', JSON)
    no("a number beyond all is 400", 400, "", "POST", "/v1/read", '{"rows": [[1e999]]}', JSON)
    no("deep JSON is 400", 400, "not JSON", "POST", "/v1/read", '{"rows": ' + "[" * 100000, JSON)
    no("a member twice is 400", 400, "not JSON", "POST", "/v1/read", '{"rows": [], "rows": []}', JSON)
    no("bytes that are no UTF-8 are 400", 400, "not JSON", "POST", "/v1/read", b'{"\xff": 1}', JSON)
    no("a list instead of an object is 400", 400, "not an object", "POST", "/v1/read", "[1]", JSON)
    no("no rows are 400", 400, "none", "POST", "/v1/read", {"rows": []})
    no("an empty body is 400", 400, "none", "POST", "/v1/write", "", JSON)
    no("a row of another length is 400", 400, "instead of 96", "POST", "/v1/read", {"rows": [[1, 2]]})
    no("a word is no entry", 400, "neither", "POST", "/v1/read", {"rows": [["a"] * WIDTH]})
    no("a row that knows nothing is 400", 400, "nothing", "POST", "/v1/read", {"rows": [[None] * WIDTH]})
    no("an entry beyond 1e15 is 422", 422, "plausible", "POST", "/v1/write", {"rows": [[1e16] + [0] * (WIDTH - 1)]})
    no("infinite octets are 422", 422, "plausible", "POST", "/v1/write", octets([[math.inf] * WIDTH]), OCTETS)
    no("octets that are no whole rows are 400", 400, "whole rows", "POST", "/v1/read", b"12345", OCTETS)
    no("a picture where rows are none is 415", 415, "no pictures", "POST", "/v1/read", b"\x89PNG", {"Content-Type": "image/png"})
    no("a damaged array is 400", 400, "", "POST", "/v1/read", b"\x93NUMPY\x01\x00", {"Content-Type": "application/x-npy"})
    no("an unknown option is 400", 400, "not an option", "POST", "/v1/read", {"rows": [TRUTH[0]], "nose": 1})
    no("an option out of bounds is 400", 400, "0 to 1", "POST", "/v1/forget", {"beta": 2})
    no("to forget needs a beta", 400, "missing", "POST", "/v1/forget", {})
    no("an option in the URL is looked at too", 400, "from 0", "POST", "/v1/read?noise=-3", {"rows": [TRUTH[0]]})
    no("too many samples are 413", 413, "at once", "POST", "/v1/sample", {"n": 100000})
    no("there are no examples", 404, "no examples", "GET", "/v1/examples")
    no("a row that is not held cannot be taken back", 409, "", "POST", "/v1/delete", {"rows": rows(1, WIDTH, 777)})
    no("nor can part of one", 400, "whole", "POST", "/v1/delete", {"rows": [half(TRUTH[0])]})
    where = s.json("POST", "/v1/read", {"rows": [TRUTH[0], TRUTH[1][:-1] + ["x"]]})[1]["where"]
    law("an error says where", where == "rows[1][95]", where)
    law("after all that it still answers", s.json("POST", "/v1/read", {"rows": [TRUTH[0]]})[0] == 200)


def pictures():
    bpcn("create", "p.mem", "--image", "8x8", "--hidden", "32,32", "-q")
    with open("p.pgm", "w") as f:
        f.write("P2\n8 8\n255\n" + "\n".join(str((i * 37) % 256) for i in range(64)) + "\n")
    with Server("p.mem", "--examples", "p.pgm") as s:
        x = floats(s.ask("GET", "/v1/examples", None, {"Accept": "application/octet-stream"})[2])
        law("examples are given as rows", len(x) == 64 and abs(x[1] - (2 * 37 / 255 - 1)) < 1e-6, x[:3])
        s.ask("POST", "/v1/write", octets([x]), OCTETS)
        status, head, png = s.ask("POST", "/v1/read", octets([x]), {**OCTETS, "Accept": "image/png"})
        law("the answer may be a picture", status == 200 and png[:4] == b"\x89PNG" and head["Content-Type"] == "image/png")
        status, a = s.json("POST", "/v1/score", png, {"Content-Type": "image/png"})
        law("a picture may be asked", status == 200 and a["info"][0]["verdict"] == "known", a)
        status, a = s.json("POST", "/v1/read", png[:40], {"Content-Type": "image/png"})
        law("a damaged one is 400", is_refused(400, "", (status, a)), a)
        status, head, npy = s.ask("POST", "/v1/read", octets([x]), {**OCTETS, "Accept": "application/x-npy"})
        law("the answer may be an array", npy[:6] == b"\x93NUMPY")
        status, a = s.json("POST", "/v1/score", npy, {"Content-Type": "application/x-npy"})
        law("and an array asked", status == 200 and a["info"][0]["verdict"] == "known", a)


def columns():
    with open("t.csv", "w") as f:
        f.write("age,job,income\n")
        for i in range(60):
            job = ("clerk", "baker", "pilot")[i % 3]
            f.write("%d,%s,%d\n" % (20 + i, job, 1000 * (i % 3 + 1) + 10 * i))
    done = bpcn("create", "table.mem", "--like", "t.csv", "-q", check=False)
    if done.returncode != 0:
        print("skip columns: " + done.stderr.strip())
        return
    bpcn("write", "table.mem", "t.csv", "-q")
    with Server("table.mem") as s:
        status, a = s.json("GET", "/v1/info")
        law("info lists the columns", [c["name"] for c in a["columns"]] == ["age", "job", "income"], a["columns"])
        status, a = s.json("POST", "/v1/read", {"rows": [{"job": "pilot", "age": 40, "income": None}], "spread": True})
        row = a["rows"][0]
        law("a row by name is answered by name", status == 200 and row["job"] == "pilot" and abs(row["age"] - 40) < 0.1
            and 2000 < row["income"] < 4500, a)
        law("with its spread", a["spread"][0]["income"] > 0 and a["spread"][0]["age"] == 0, a["spread"])
        status, a = s.json("POST", "/v1/score", {"rows": [{"job": "pilot", "age": 40, "income": 1000}]})
        law("a score says which column is to blame", status == 200 and "income" in [b["column"] for b in a["info"][0]["blame"]], a)
        status, a = s.json("POST", "/v1/read", {"rows": [{"jbo": "pilot"}]})
        law("a column that is not there is 400", is_refused(400, "no such column", (status, a)), a)
        status, a = s.json("POST", "/v1/read", {"rows": [{"job": "poet"}]})
        law("a word that was never seen is 422", is_refused(422, "words", (status, a)), a)
        status, a = s.json("POST", "/v1/write", {"rows": [{"job": "baker", "age": 33}]})
        law("a row with a gap is written", status == 200 and a["written"] == 1, a)
        status, a = s.json("POST", "/v1/write", {"rows": [{"job": "baker", "age": 1e9}]})
        law("a value from elsewhere is 422", is_refused(422, "plausible", (status, a)), a)


def folder():
    bpcn("create", "parts", "--dim", WIDTH, "--hidden", "32,32", "--shards", "4", "--files", "2", "-q")
    with Server("parts") as s:
        s.json("POST", "/v1/write", {"rows": TRUTH})
        status, a = s.json("POST", "/v1/read", {"rows": [half(TRUTH[5])], "spread": True})
        law("a folder of files is served too", status == 200 and near(a["rows"][0], TRUTH[5], 0.05), a)
        status, a = s.json("POST", "/v1/read", {"rows": [half(TRUTH[5])], "forget": 0.5})
        law("but not as if it had forgotten", is_refused(409, "folder", (status, a)), a)


def vectors():
    with Server(make()) as s:
        endpoints(s)
        refusals(s)
        forgetting(s)
        law("SIGTERM ends the first server with 0", s.stop() == 0)


if __name__ == "__main__":
    run(vectors, pictures, columns, folder)
