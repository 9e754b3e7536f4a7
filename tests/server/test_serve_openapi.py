"""The description of the interface: every endpoint is in it, it is sound, and its examples are what a server takes and
answers as it says.
    tests/server/test_serve_openapi.py [BPCN]"""
import json
import os
import re

from client import Server, bpcn, law, run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../server/endpoints.c")


def operations(doc):
    return [(method, path, o) for path, item in doc["paths"].items() for method, o in item.items()]


def resolve(doc, node):
    while "$ref" in node:
        at = node["$ref"]
        node = doc
        for key in at.lstrip("#/").split("/"):
            node = node[key]
    return node


def mismatch(doc, schema, value, where="$"):
    """What of the value is not as the schema says, or None; the keywords that this description uses."""
    schema = resolve(doc, schema)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int, "null": type(None)}
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, kinds[k]) and (k == "boolean" or not isinstance(value, bool)) for k in wanted):
        return "%s: %r is no %s" % (where, value, wanted)
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        return "%s: %r is not allowed" % (where, value)
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        return "%s: %r is out of range" % (where, value)
    if "oneOf" in schema and sum(mismatch(doc, s, value) is None for s in schema["oneOf"]) != 1:
        return "%s: %r is not one of the forms" % (where, value)
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                return "%s: %s is missing" % (where, key)
        for key, part in value.items():
            found = mismatch(doc, schema["properties"][key], part, where + "." + key) if key in schema.get("properties", {}) else None
            if found:
                return found
    if isinstance(value, list) and "items" in schema:
        for i, part in enumerate(value):
            found = mismatch(doc, schema["items"], part, "%s[%d]" % (where, i))
            if found:
                return found
    return None


def description():
    bpcn("create", "m.mem", "--dim", 4, "--hidden", "8,8", "--names", 8, "-q")
    with open("e.csv", "w") as f:
        f.write("0.5,-0.25,-1,0.25\n")
    with Server("m.mem", "--examples", "e.csv") as s:
        doc = s.json("GET", "/openapi.json")[1]
        with open(SOURCE) as f:
            served = set(re.findall(r'\{"(GET|POST)", "([^"]+)"', f.read()))
        files = {("GET", p) for _, p in served if re.search(r"\.(js|css)$", p)}
        law("every endpoint is described, and no other", {(m.upper(), p) for m, p, _ in operations(doc)} == served - files)
        ids = [o.get("operationId") for _, _, o in operations(doc)]
        law("every operation has an id of its own", all(ids) and len(set(ids)) == len(ids), ids)
        law("every operation has a summary and describes its errors", all(o["summary"].endswith(".") and "default" in o["responses"] for _, _, o in operations(doc)))
        law("there are servers, a licence and a way to authorise", doc["servers"] and doc["info"]["license"] and doc["security"])
        refs = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(doc)))
        law("every reference leads somewhere", all(resolve(doc, {"$ref": r}) is not None for r in refs))
        used = {r.rsplit("/", 1)[1] for r in refs}
        law("and every part is used", all(name in used for part in ("schemas", "parameters", "responses") for name in doc["components"][part]))
        step = 0
        for method, path, o in operations(doc):
            example = None
            if "requestBody" in o:
                content = resolve(doc, o["requestBody"])["content"]["application/json"]
                example = dict(content["example"])
                law("%s: the example is what the schema says" % path, mismatch(doc, content["schema"], example) is None)
            if path == "/v1/undo":
                step = s.json("POST", "/v1/write", {"rows": [[1, 1, -1, 0]]})[1]["step"]
                example["step"] = step
            status, _, data = s.ask(method.upper(), path, example)
            law("%s: the example is taken" % path, status == 200, (status, data[:200]))
            answer = o["responses"]["200"]["content"].get("application/json")
            if answer and status == 200:
                found = mismatch(doc, answer["schema"], json.loads(data))
                law("%s: the answer is what the schema says" % path, found is None, found)
        status, _, data = s.ask("POST", "/v1/read", {"rows": []})
        problem = doc["components"]["responses"]["Error"]["content"]["application/problem+json"]["schema"]
        law("so is an error", status == 400 and mismatch(doc, problem, json.loads(data)) is None, data)
        law("this test sees what is wrong", mismatch(doc, problem, {"title": "x", "status": "400"}) is not None)


run(description)
