"""What bpcn serve makes of HTTP as it stands on the wire: a table of requests, asked directly and through the proxy of
contrib/nginx-bpcn.conf, and which of them end the connection.
    tests/server/test_serve_http.py [BPCN]"""
import json
import os
import re
import shutil
import socket
import ssl
import subprocess

from client import WIDTH, Server, law, make, run

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../contrib/nginx-bpcn.conf")
BODY = json.dumps({"rows": [[0] * WIDTH]}).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
JSON = b"Content-Type: application/json\r\n"
READ, HEALTH = b"POST /v1/read HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"

# Name, request (HOST stands for the field of that name), status, whether the connection ends, statuses of the proxy:
# nginx answers some of them itself, and drops a Content-Length beside chunks.
TABLE = [
    ("a plain request", HEALTH + b"HOST\r\n", 200, False, (200,)),
    ("the absolute form", b"GET http://NAME/health HTTP/1.1\r\nHOST\r\n", 200, False, (200,)),
    ("HTTP/1.0", b"GET /health HTTP/1.0\r\nHOST\r\n", 200, True, (200,)),
    ("HEAD", b"HEAD /v1/info HTTP/1.1\r\nHOST\r\n", 200, False, (200,)),
    ("OPTIONS", b"OPTIONS /v1/read HTTP/1.1\r\nHOST\r\n", 204, False, (204,)),
    ("a body in chunks", READ + b"HOST" + JSON + CHUNKED + b"\r\n%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n", 200, False, (200,)),
    ("two lengths", READ + b"HOST" + JSON + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY, 400, True, (400,)),
    ("two equal lengths", READ + b"HOST" + JSON + LENGTH + LENGTH + b"\r\n" + BODY, 400, True, (400,)),
    ("a length with a sign", READ + b"HOST" + JSON + b"Content-Length: +5\r\n\r\n12345", 400, True, (400,)),
    ("a length beside chunks", READ + b"HOST" + JSON + LENGTH + CHUNKED + b"\r\n" + BODY, 400, True, (400,)),
    ("a coding that is not read", READ + b"HOST" + JSON + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, True, (400, 501)),
    ("chunks without a length", READ + b"HOST" + JSON + CHUNKED + b"\r\nzz\r\n", 400, True, (400,)),
    ("a body that is packed", READ + b"HOST" + JSON + b"Content-Encoding: gzip\r\n" + LENGTH + b"\r\n" + BODY, 415, None, (415,)),
    ("two hosts", HEALTH + b"HOSTHOST\r\n", 400, True, (400,)),
    ("no host", HEALTH + b"\r\n", 400, True, (400,)),
    ("no host, and no such path", b"GET /nowhere HTTP/1.1\r\n\r\n", 400, True, (400,)),
    ("a NUL byte", HEALTH + b"HOSTX: a\0b\r\n\r\n", 400, True, (400,)),
    ("a bare carriage return", HEALTH + b"HOSTX: a\rb\r\n\r\n", 400, True, (400,)),
    ("a folded field", HEALTH + b"HOSTX: a\r\n b\r\n\r\n", 400, True, None),  # nginx drops it
    ("a space before the colon", HEALTH + b"HOSTX : a\r\n\r\n", 400, True, None),
    ("lines without a carriage return", b"GET /health HTTP/1.1\nHost: NAME\n\n", 400, True, None),
    ("another version", b"GET /health HTTP/9.1\r\nHOST\r\n", 505, True, (505,)),
    ("no HTTP at all", b"\x16\x03\x01\x02\r\n\r\n", 400, True, (400,)),
]


def exchange(connection, request, name):
    """Head, body, and whether the other side ended the connection within a second."""
    request = request.replace(b"HOST", b"Host: " + name + b"\r\n").replace(b"NAME", name)
    connection.sendall(request)
    connection.settimeout(1)
    answer, ended = b"", False
    try:
        while not ended:
            part = connection.recv(65536)
            answer, ended = answer + part, part == b""
    except (TimeoutError, ConnectionResetError):
        pass
    connection.close()
    return *answer.partition(b"\r\n\r\n")[::2], ended


def status_of(head):
    found = re.match(rb"HTTP/1\.[01] (\d+) ", head)
    return int(found[1]) if found else 0


def directly():
    with Server(make()) as s:
        name = b"127.0.0.1:%d" % s.port
        for what, request, status, ends, _ in TABLE:
            head, body, ended = exchange(s.raw(), request, name)
            law("%s: %d%s" % (what, status, ", and the connection ends" if ends else ""),
                status_of(head) == status and (ends is None or ended == ends), (head, ended))
            if status >= 400:
                problem = json.loads(body or b"{}")
                law("with a problem document", b"application/problem+json" in head and problem.get("status") == status, body)
        twice = HEALTH + b"HOST\r\n" + HEALTH + b"HOST\r\n"
        head, body, _ = exchange(s.raw(), twice, name)
        law("two requests in one go have two answers", (head + body).count(b"HTTP/1.1 200") == 2)
        over = READ + b"HOST" + JSON + b"Content-Length: 3\r\n\r\n{}x" + HEALTH + b"HOST\r\n"
        head, body, _ = exchange(s.raw(), over, name)
        law("a body has as many bytes as it says", b"HTTP/1.1 200" in body)


def by_proxy():
    if not shutil.which("nginx") or not shutil.which("openssl"):
        print("skip laws about a proxy: there is no nginx or no openssl")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem",
                    "-subj", "/CN=memory.example.org", "-addext", "subjectAltName=DNS:memory.example.org"], check=True, capture_output=True)
    with Server(make("x.mem"), "--allow-host", "memory.example.org") as s, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, here = free.getsockname()[1], os.getcwd()
        free.close()
        with open(CONF) as f:
            conf = f.read()
        for old, new in (("listen 443 ssl", "listen 127.0.0.1:%d ssl" % port), ("127.0.0.1:8765", "127.0.0.1:%d" % s.port),
                         ("/etc/ssl/certs/memory.example.org.pem", here + "/cert.pem"), ("/etc/ssl/private/memory.example.org.key", here + "/key.pem")):
            law("the configuration has %s" % old, old in conf)
            conf = conf.replace(old, new)
        paths = "".join("%s_temp_path %s/%s;\n" % (k, here, k) for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open("nginx.conf", "w") as f:
            f.write("daemon off; pid %s/pid; error_log %s/error.log;\nevents {}\nhttp { access_log off;\n%s%s}\n" % (here, here, paths, conf))
        os.chmod(here, 0o755)
        nginx = subprocess.Popen(["nginx", "-p", here, "-e", here + "/error.log", "-c", here + "/nginx.conf"])
        trust = ssl.create_default_context(cafile="cert.pem")

        def connect():
            for _ in range(200):
                try:
                    return trust.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10), server_hostname="memory.example.org")
                except ConnectionRefusedError:
                    if nginx.poll() is not None:
                        raise
                    os.sched_yield()
                    select_nothing()
            raise TimeoutError("nginx does not listen")

        try:
            for what, request, _, _, statuses in TABLE:
                if statuses:
                    head, _, _ = exchange(connect(), request, b"memory.example.org")
                    law("through the proxy, %s: %s" % (what, statuses), status_of(head) in statuses or (head == b"" and 400 in statuses), head)
        finally:
            nginx.terminate()
            nginx.wait()


def select_nothing():
    """Waits for a moment, for a program that begins to listen."""
    import select
    select.select([], [], [], 0.05)


run(directly, by_proxy)
