"""Cloud Storage on this machine: an emulator, and before it a server that can fail like a network.

The emulator (gcp-storage-emulator) stores, lists and serves. What it does not do is done in front
of it: preconditions on generations are enforced, and requests fail when a test says so.
"""

import http.client
import json
import os
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

from trainer import storage

BUCKET = "a-bucket"


class Fault:
    """Makes requests fail.

    Args:
        how: status (an HTTP status), reset (the connection breaks in the middle of the request's
            body), lost (the request is carried out and its answer lost), hang (no answer for
            `secs`), damage (a byte of the answer is another).
        method, path, body: what a request must have for it; a text that must be in its path.
        times: how many requests fail.
    """

    def __init__(self, how, method=None, path="", times=1, status=503, secs=0.0, skip=0):
        self.how, self.method, self.path = how, method, path
        self.times, self.status, self.secs, self.skip = times, status, secs, skip
        self.met = 0

    def takes(self, method, path):
        if self.times <= self.met - self.skip or (self.method or method) != method:
            return False
        if self.path not in unquote(path):
            return False
        self.met += 1
        return self.met > self.skip


class Cloud:
    """The address of the service, its faults, and its content seen from behind."""

    def __init__(self, backend):
        self.backend = backend
        self.faults = []
        self.requests = []
        self.lock = threading.RLock()
        self.uploads = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def environment(self):
        return {"STORAGE_EMULATOR_HOST": self.url}

    def fail(self, how, **options):
        self.faults.append(Fault(how, **options))
        return self.faults[-1]

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.backend, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def generation(self, bucket, name):
        status, _, body = self.ask("GET", f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}")
        return int(json.loads(body)["generation"]) if status == 200 else 0

    def make_bucket(self, name):
        self.ask(
            "POST",
            "/storage/v1/b?project=p",
            json.dumps({"name": name}),
            {"Content-Type": "application/json"},
        )

    def names(self, prefix="", bucket=BUCKET):
        _, _, body = self.ask("GET", f"/storage/v1/b/{bucket}/o?prefix={quote(prefix, safe='')}")
        return sorted(item["name"] for item in json.loads(body).get("items", []))

    def read(self, name, bucket=BUCKET):
        status, _, body = self.ask(
            "GET", f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}?alt=media"
        )
        assert status == 200, name
        return body

    def write(self, name, content, bucket=BUCKET):
        status, _, _ = self.ask(
            "POST",
            f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}",
            content,
            {"Content-Type": "application/octet-stream"},
        )
        assert status == 200

    def wipe(self):
        self.faults.clear()
        self.requests.clear()
        self.ask("GET", "/wipe")
        self.make_bucket(BUCKET)


def _make_handler(cloud):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is sent in two parts; the second would wait 40 ms for the receipt of the first.
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def _serve(self):
            method, path = self.command, self.path
            length = int(self.headers.get("Content-Length") or 0)
            cloud.requests.append((method, unquote(path)))
            fault = next((fault for fault in cloud.faults if fault.takes(method, path)), None)
            how = fault.how if fault else None
            if how == "reset":
                self.rfile.read(length // 2)
                self._break()
                return
            body = self.rfile.read(length) if length else None
            if body is not None and len(body) < length:
                # The client was killed; the backend would wait for the rest, and serve no one else.
                self._break()
                return
            if how == "hang":
                time.sleep(fault.secs)
                self._break()
                return
            if how == "status":
                self._answer(fault.status, {"Content-Type": "application/json"}, json.dumps(
                    {"error": {"code": fault.status, "message": "the test says so"}}
                ).encode())  # fmt: skip
                return
            with cloud.lock:
                status, headers, answer = self._forward(method, path, body)
            if how == "lost":
                self._break()
                return
            if how == "damage" and answer:
                answer = bytes([answer[0] ^ 1]) + answer[1:]
            self._answer(status, headers, answer)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

        def _forward(self, method, path, body):
            parts = urlsplit(path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            pieces = parts.path.split("/")
            bucket = pieces[pieces.index("b") + 1] if "b" in pieces else ""
            name = "/".join(pieces[pieces.index("o") + 1 :]) if "o" in pieces else ""
            name = unquote(name) or query.get("name", "")
            if method == "POST" and not name and body:
                name = _name_in(body)
            wanted = query.get("ifGenerationMatch")
            if "/copyTo/" in name:
                name, _, target = name.partition("/copyTo/")
                source = query.get("ifSourceGenerationMatch")
                if source is not None and int(source) != cloud.generation(bucket, name):
                    wanted = -1
                name = target.partition("/o/")[2]
            upload = query.get("upload_id")
            if upload in cloud.uploads:
                bucket, name, wanted = cloud.uploads[upload]
            if wanted is not None and int(wanted) != cloud.generation(bucket, name):
                message = b'{"error": {"code": 412, "message": "conditionNotMet"}}'
                return 412, {"Content-Type": "application/json"}, message
            headers = {
                key: value
                for key, value in self.headers.items()
                if key.lower() not in ("connection", "accept-encoding", "transfer-encoding")
            }
            status, answered, answer = cloud.ask(method, path, body, headers)
            location = parse_qs(urlsplit(answered.get("Location", "")).query).get("upload_id")
            if location:
                cloud.uploads[location[0]] = (bucket, name, wanted)
            return status, answered, answer

        def _answer(self, status, headers, body):
            self.send_response(status)
            for key, value in headers.items():
                lowered = key.lower()
                if lowered not in ("content-length", "connection", "date", "server"):
                    self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _break(self):
            # Without lingering: the other side sees a reset, not an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    return Handler


def _name_in(body):
    """The object's name in the JSON of an upload's first part, or of a resumable upload's start."""
    start = body.find(b"{")
    try:
        return json.JSONDecoder().raw_decode(body[start:].decode("latin-1"))[0].get("name", "")
    except (ValueError, AttributeError):
        return ""


@pytest.fixture(scope="session")
def _service():
    from gcp_storage_emulator.server import create_server

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    emulator = create_server("127.0.0.1", port, in_memory=True)
    emulator.start()
    cloud = Cloud(port)
    yield cloud
    cloud.server.shutdown()
    cloud.server.server_close()
    emulator.stop()


@pytest.fixture
def cloud(_service, monkeypatch, tmp_path):
    """An empty bucket `a-bucket`, for this process and for those that it starts."""
    _service.wipe()
    monkeypatch.setitem(os.environ, "STORAGE_EMULATOR_HOST", _service.url)
    # One folder for what is kept locally: "another machine" is another one.
    monkeypatch.setitem(os.environ, "XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(os.environ, "TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    # Nor is there a connection to the server of other tests in this process.
    storage.configure(storage.Settings())
    return _service
