"""Names of rows over HTTP: written with rows, told by reads, listed, and rows taken back by them.
    tests/server/test_serve_names.py [BPCN]"""
import os
import subprocess

from client import HELD, JSON, OCTETS, TRUTH, WIDTH, Server, bpcn, half, is_refused, law, make, octets, rows, run

NAMES = ["row-%02d" % i for i in range(HELD)]
PNG = {"Content-Type": "image/png"}


def of(s, path="/v1/names"):
    return [n["name"] for n in s.json("GET", path)[1]["names"]]


def writes(s):
    return s.json("GET", "/v1/info")[1]["writes"]


def written_and_told(s):
    some = [n if i % 5 else None for i, n in enumerate(NAMES)]
    status, a = s.json("POST", "/v1/write", {"rows": TRUTH, "names": some})
    law("rows are written with names, and some without", status == 200 and a["written"] == HELD, a)
    status, a = s.json("POST", "/v1/read", {"rows": [half(r) for r in TRUTH]})
    law("a read says who answered, and nothing where no name was given", [i.get("name") for i in a["info"]] == some, a["info"])
    status, a = s.json("POST", "/v1/read", {"rows": rows(1, WIDTH, 900)})
    law("a row that is new has no name", status == 200 and "name" not in a["info"][0], a["info"])
    status, a = s.json("POST", "/v1/read", {"rows": [half(TRUTH[1])], "forget": 0.001})
    law("a copy that has forgotten a little tells names as well", a["info"][0].get("name") == NAMES[1], a["info"])
    kept = [n for n in some if n]
    status, a = s.json("GET", "/v1/names")
    law("names are listed, the oldest first, with the shards they are in", status == 200 and [n["name"] for n in a["names"]] == kept
        and all(n["shard"] == 0 for n in a["names"]) and (a["first"], a["kept"], a["most"]) == (0, len(kept), 100), a)
    law("in pages", of(s, "/v1/names?first=3&n=4") == kept[3:7] and of(s, "/v1/names?first=100") == [])
    a = s.json("GET", "/v1/info")[1]
    law("info says how many are kept of how many", a["names"] == {"kept": len(kept), "most": 100}, a["names"])


def by_url(s):
    new = rows(3, WIDTH, 40)
    status, a = s.json("POST", "/v1/write?name=%C3%A9+%26.png", octets(new[:1]), OCTETS)
    law("octets have their name in the URL", status == 200 and of(s)[-1] == "é &.png", of(s)[-1])
    status, a = s.json("POST", "/v1/write?name=b&name=c", octets(new[1:]), OCTETS)
    law("one after the other", status == 200 and of(s)[-2:] == ["b", "c"], of(s)[-2:])
    a = s.json("POST", "/v1/read", {"rows": [half(r) for r in new]})[1]
    law("and each is its row's", [i.get("name") for i in a["info"]] == ["é &.png", "b", "c"], a["info"])


def refusals(s):
    before, listed, row = writes(s), of(s), rows(1, WIDTH, 60)

    def no(name, code, part, where, *request):
        status, a = s.json(*request)
        law(name, is_refused(code, part, (status, a)) and where in (a["where"], "anywhere"), (status, a))

    def write(names):
        return "POST", "/v1/write", {"rows": row, "names": names}

    no("too few names are 400", 400, "1 names for 2 rows", "names", "POST", "/v1/write", {"rows": row * 2, "names": ["a"]})
    no("too many are too", 400, "2 names for 1 rows", "names", *write(["a", "b"]))
    no("a name in the URL and one in the body are two", 400, "2 names", "names", "POST", "/v1/write?name=a", {"rows": row, "names": ["b"]})
    no("names that are no list are 400", 400, "not a list", "names", *write("a"))
    no("a number is no name", 400, "neither", "names[0]", *write([1]))
    no("a name of 64 bytes is 400", 400, "63 bytes", "names[0]", *write(["é" * 32]))
    no("an empty one is 400", 400, "63 bytes", "names[0]", *write([""]))
    no("one with a line end is 400", 400, "control", "names[0]", *write(["a\nb"]))
    no("one with a zero is 400", 400, "not JSON", "anywhere", *write(["a\0b"]))
    no("a zero in the URL is 400", 400, "escape", "URL", "POST", "/v1/write?name=a%00b", octets(row), OCTETS)
    no("bytes in the URL that are no UTF-8 are 400", 400, "UTF-8", "names[0]", "POST", "/v1/write?name=%ff", octets(row), OCTETS)
    no("a name with no text in the URL is 400", 400, "63 bytes", "names[0]", "POST", "/v1/write?name", octets(row), OCTETS)
    no("a read takes no names", 400, "written or deleted", "names", "POST", "/v1/read", {"rows": row, "names": ["a"]})
    no("nor does forgetting", 400, "does not use them", "names", "POST", "/v1/forget", {"beta": 0.5, "names": ["a"]})
    no("names beyond the limit are 413", 413, "at once", "names", "POST", "/v1/delete", {"names": ["a"] * 5000})
    no("a name that is not there is 404", 404, "no row named 'nobody'", None, "POST", "/v1/delete", {"names": ["nobody"]})
    no("where it is one of several, none goes", 404, "no row named 'nobody'", "names[1]", "POST", "/v1/delete",
       {"names": [NAMES[1], "nobody", "nothing"]})
    no("nor where one is given more often than it is there", 404, NAMES[1], "names[2]", "POST", "/v1/delete",
       {"names": [NAMES[1], NAMES[2], NAMES[1]]})
    no("null is no name to take back", 400, "not a name", "names[0]", "POST", "/v1/delete", {"names": [None]})
    no("rows and names together are 400", 400, "not by both", "names", "POST", "/v1/delete", {"rows": row, "names": ["a"]})
    no("neither of them is 400", 400, "nor names", "rows", "POST", "/v1/delete", {})
    no("to list is for GET", 405, "GET", None, "POST", "/v1/names", {})
    no("a page that begins before the first is 400", 400, "from 0", "first", "GET", "/v1/names?first=-1")
    law("none of that changed anything", writes(s) == before and of(s) == listed)
    status, a = s.json("POST", "/v1/write", {"rows": row, "names": ["é" * 31]})
    law("a name of 62 bytes is none too long", status == 200 and of(s)[-1] == "é" * 31, a)


def taken_back(s):
    left = of(s)
    status, a = s.json("POST", "/v1/delete", {"names": ["é &.png"]})
    # rows longer than layer 1 that are no pictures are only had again by luck: the library says so
    law("a row that cannot be had again exactly is 409 and stays", is_refused(409, "exactly", (status, a)) and of(s) == left, a)
    status, a = s.json("POST", "/v1/delete", {"rows": rows(1, WIDTH, 777)})
    law("a sentence that has the file's name in it by chance is told", is_refused(409, "does not hold this row", (status, a)), a)
    law("by its value it goes, with its name", s.json("POST", "/v1/delete", {"rows": rows(1, WIDTH, 40)})[0] == 200
        and of(s) == [n for n in left if n != "é &.png"], of(s))


def vectors():
    with Server(make("row", "--names", "100")) as s:  # the name of the file is in that of every row
        written_and_told(s)
        by_url(s)
        refusals(s)
        taken_back(s)
        kept = of(s)
        law("SIGTERM ends it with 0", s.stop() == 0)
    law("bpcn list has what the server listed", bpcn("list", "row").stdout.split("\n")[:-1] == kept)


def short():
    """Rows of fewer entries than layer 1 has units: those are always had again."""
    bpcn("create", "s.mem", "--dim", 12, "--hidden", "32,32", "--names", 3, "-q")
    some = rows(5, 12)
    with Server("s.mem") as s:
        s.json("POST", "/v1/write", {"rows": some, "names": ["a", "b", "b", "c", "b"]})
        law("the latest names are kept, and no more", of(s) == ["b", "c", "b"], of(s))
        status, a = s.json("POST", "/v1/delete?name=b", "", JSON)
        law("the latest row of a name is taken back", status == 200 and a == {"deleted": 1} and of(s) == ["b", "c"], (a, of(s)))
        status, a = s.json("POST", "/v1/score", {"rows": [some[2], some[4]]})
        law("and no other of that name", [i["verdict"] for i in a["info"]] == ["known", "new"], a)
        status, a = s.json("POST", "/v1/delete", {"names": ["c", "b"]})
        law("several at once", status == 200 and a == {"deleted": 2} and of(s) == [], a)
        s.json("POST", "/v1/write", {"rows": some[:2], "names": ["x", "y"]})
        s.kill()
    law("names that were acknowledged survive kill -9", bpcn("list", "s.mem").stdout == "x\ny\n")
    with Server("s.mem", "--read-only") as s:
        law("a server that only reads lists them", of(s) == ["x", "y"])
        law("and takes none back", is_refused(403, "read-only", s.json("POST", "/v1/delete", {"names": ["x"]})))


def none_kept():
    with Server(make("none.mem")) as s:
        for path in ("/v1/write", "/v1/delete"):
            body = {"rows": [TRUTH[0]], "names": ["a"]} if path == "/v1/write" else {"names": ["a"]}
            status, a = s.json("POST", path, body)
            law("where no names are kept, %s with one is 409" % path, is_refused(409, "keeps no names", (status, a)), a)
        law("and writes nothing", writes(s) == 0)
        law("there are none to list", s.json("GET", "/v1/names")[1] == {"names": [], "first": 0, "kept": 0, "most": 0})
        s.json("POST", "/v1/write", {"rows": [TRUTH[0]]})
        law("reads go on without", "name" not in s.json("POST", "/v1/read", {"rows": [half(TRUTH[0])]})[1]["info"][0])


def pictures():
    """Two pictures in a folder, written by the program; the server is given the folder as examples, with one of another size."""
    os.mkdir("photos")
    for k, name in enumerate(("cat.pgm", "dog.pgm")):
        with open("photos/" + name, "w") as f:
            f.write("P2\n8 8\n255\n" + "\n".join(str((i * i * (37 + 20 * k)) % 256) for i in range(64)) + "\n")
    with open("photos/large.ppm", "w") as f:
        f.write("P3\n16 12\n255\n" + "\n".join(str(i * 7 % 256) for i in range(16 * 12 * 3)) + "\n")
    bpcn("create", "p.mem", "--image", "8x8", "--hidden", "32,32", "-q")
    bpcn("write", "p.mem", "photos/cat.pgm", "photos/dog.pgm", "-q")
    with Server("p.mem", "--examples", "photos") as s:
        examples = s.json("GET", "/v1/examples")[1]
        law("examples come with the names of their files", examples["names"] == ["cat.pgm", "dog.pgm", "large.ppm"], examples["names"])
        law("and in the memory's size and colours", all(len(row) == 64 for row in examples["rows"]), examples["rows"][2])
        cat = examples["rows"][0]
        a = s.json("POST", "/v1/read", {"rows": [cat[:40] + [None] * 24]})[1]
        law("a fragment of a picture has the name of its file", a["info"][0].get("name") == "cat.pgm", a["info"])
        png = s.ask("POST", "/v1/read", octets([cat]), {**OCTETS, "Accept": "image/png"})[2]
        status, a = s.json("POST", "/v1/delete", {"names": ["cat.pgm"]})
        law("a picture is taken back by its name", status == 200 and of(s) == ["dog.pgm"], a)
        status, a = s.json("POST", "/v1/write?name=cat.png", png, PNG)
        law("a picture is written with the name of the URL", status == 200 and of(s) == ["dog.pgm", "cat.png"], a)
        law("by curl as in the documents", subprocess.run(
            ["curl", "-sS", "-H", "Content-Type: image/png", "--data-binary", "@-", s.url + "v1/write?name=again.png"],
            input=png, capture_output=True).stdout.startswith(b'{"written":1') and of(s)[-1] == "again.png", of(s))


def folder():
    """A folder of two files: each keeps the names of its rows."""
    bpcn("create", "parts", "--dim", WIDTH, "--hidden", "128,32", "--shards", 4, "--files", 2, "--names", 20, "-q")
    some = TRUTH[:10]
    with Server("parts") as s:
        s.json("POST", "/v1/write", {"rows": some, "names": NAMES[:10]})
        law("of a folder all names are listed", sorted(of(s)) == NAMES[:10], of(s))
        a = s.json("GET", "/v1/info")[1]["names"]
        law("and counted", a["kept"] == 10 and a["most"] >= 10, a)
        status, a = s.json("POST", "/v1/read", {"rows": some})
        law("reads of a folder say who answered", [i.get("name") for i in a["info"]] == NAMES[:10], a["info"])
        status, a = s.json("POST", "/v1/delete", {"names": [NAMES[3], NAMES[4]]})
        law("rows of a folder are taken back by name", status == 200 and a == {"deleted": 2}
            and sorted(of(s)) == NAMES[:3] + NAMES[5:10], a)
        status, a = s.json("POST", "/v1/delete", {"names": [NAMES[0], NAMES[3]]})
        law("one that is not there is 404 here too, and none goes", is_refused(404, NAMES[3], (status, a)) and len(of(s)) == 8, a)


def columns():
    with open("t.csv", "w") as f:
        f.write("who,age,job,income\n")
        for i in range(60):
            f.write("p%d,%d,%s,%d\n" % (i, 20 + i, ("clerk", "baker", "pilot")[i % 3], 1000 * (i % 3 + 1) + 10 * i))
    bpcn("create", "table.mem", "--like", "t.csv", "--ignore", "who", "-q")
    bpcn("write", "table.mem", "t.csv", "--name", "who", "-q")
    with Server("table.mem") as s:
        law("names of a table's rows are listed", of(s) == ["p%d" % i for i in range(60)], of(s))
        status, a = s.json("POST", "/v1/write", {"rows": [{"age": 33, "job": "baker", "income": 2222}], "names": ["new"]})
        law("a row by columns has a name as well", status == 200 and of(s)[-1] == "new", a)
        status, a = s.json("POST", "/v1/delete", {"names": ["new", "p7"]})
        law("and goes by it", status == 200 and len(of(s)) == 59 and "p7" not in of(s), a)


if __name__ == "__main__":
    run(vectors, short, none_kept, pictures, folder, columns)
