"""A bucket of Cloud Storage in memory, and a network in front of it that fails as the seed says.

`Session` takes the place of the HTTP session of google-cloud-storage. A request waits, is carried
out, and waits again for its answer. So others are carried out in between, and a process may end
while its request is on its way.
"""

import base64
import errno
import json
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import google_crc32c
import requests
import urllib3
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage as cloud

from simulation.kernel import current

KINDS = (
    "429", "500", "502", "503", "504", "408", "reset", "timeout", "lost", "lost", "lost-timeout",
    "broken-body", "short-body", "damaged-body",
)  # fmt: skip


class Stored(NamedTuple):
    content: bytes
    generation: int
    crc32c: str
    writer: str  # name of the process


class Service:
    """The objects of one bucket.

    Args:
        world: the World.
        on_change: called after each change with the process's name, the object's name, the object
            before and the object now; None for none.
    """

    def __init__(self, world, on_change):
        self.world, self._on_change = world, on_change
        self.objects = {}
        self.sessions = {}
        self.generation = 100
        self.error_rate = 0.0
        self.slow_rate = 0.02
        self.outages = []  # (begin, end)
        self.kinds = KINDS
        self.page = 1000
        self.noted = {}  # process -> when it last looked for a claim, before its own claim
        self.sent = 0.0  # when the request was sent that is carried out

    def make_client(self):
        """Returns a client of Cloud Storage whose requests this service answers."""
        credentials = AnonymousCredentials()
        client = cloud.Client(project="p", credentials=credentials, _http=Session(self))
        # The client would look up the bucket's properties in threads of its own.
        client._bucket_metadata_cache = None
        return client

    def is_out(self):
        return any(begin <= self.world.now < end for begin, end in self.outages)

    def put(self, name, content, writer):
        self.generation += 1
        before = self.objects.get(name)
        crc = google_crc32c.Checksum(content).digest()
        found = Stored(content, self.generation, base64.b64encode(crc).decode(), writer)
        self.objects[name] = found
        self.world.note(f"{writer} stores {name} ({len(content)} bytes)")
        self._on_change(writer, name, before, found)
        return self._describe(name)

    def _describe(self, name):
        one = self.objects[name]
        return {
            "name": name,
            "size": str(len(one.content)),
            "generation": str(one.generation),
            "crc32c": one.crc32c,
        }

    def handle(self, writer, method, url, data, headers):
        """Carries out a request; returns (status, headers, body)."""
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "upload_id" in query:
            return self._receive(query["upload_id"], writer, data, headers)
        if "/copyTo/" in parts.path:
            return self._copy(writer, parts.path, query)
        name = unquote(parts.path.partition("/o/")[2])
        if parts.path.startswith("/upload/"):
            return self._begin(writer, query, data)
        if not name:
            if query.get("prefix", "").endswith("writer.json"):
                self.noted[writer] = self.world.now
            return self._list(query)
        one = self.objects.get(name)
        wanted = query.get("ifGenerationMatch")
        if one is None:
            return _error(404)
        if wanted is not None and int(wanted) != one.generation:
            return _error(412)
        if method == "DELETE":
            del self.objects[name]
            self.world.note(f"{writer} removes {name}")
            self._on_change(writer, name, one, None)
            return 204, {}, b""
        assert method == "GET" and query.get("alt") == "media", (method, url)
        return 200, {"X-Goog-Hash": f"crc32c={one.crc32c}"}, one.content

    def _copy(self, writer, path, query):
        source, _, target = path.partition("/copyTo/")
        one = self.objects.get(unquote(source.partition("/o/")[2]))
        name = unquote(target.partition("/o/")[2])
        taken = self.objects.get(name)
        if one is None:
            return _error(404)
        if int(query["ifSourceGenerationMatch"]) != one.generation:
            return _error(412)
        if int(query["ifGenerationMatch"]) != (taken.generation if taken else 0):
            return _error(412)
        return _json(self.put(name, one.content, writer))

    def _list(self, query):
        names = sorted(name for name in self.objects if name.startswith(query.get("prefix", "")))
        names = [name for name in names if name > query.get("pageToken", "")]
        page = {"items": [self._describe(name) for name in names[: self.page]]}
        if len(names) > self.page:
            page["nextPageToken"] = names[self.page - 1]
        return _json(page)

    def _begin(self, writer, query, data):
        wanted = int(query["ifGenerationMatch"])
        if query["uploadType"] == "resumable":
            key = f"session-{len(self.sessions)}"
            self.sessions[key] = [json.loads(data)["name"], wanted, b""]
            return 200, {"Location": f"https://storage/upload?upload_id={key}"}, b""
        boundary = data[: data.index(b"\r\n")]
        meta, content = data[len(boundary) :].split(boundary)[:2]
        name = json.loads(meta.partition(b"\r\n\r\n")[2])["name"]
        return self._finish(writer, name, wanted, content.partition(b"\r\n\r\n")[2][:-2])

    def _finish(self, writer, name, wanted, content):
        one = self.objects.get(name)
        if wanted != (one.generation if one else 0):
            return _error(412)
        return _json(self.put(name, content, writer))

    def _receive(self, key, writer, data, headers):
        if key not in self.sessions:
            return _error(404)
        if self.world.random.random() < self.error_rate / 4:
            del self.sessions[key]
            return _error(self.world.random.choice((404, 410)))
        name, wanted, content = self.sessions[key]
        span, _, total = headers["content-range"].partition(" ")[2].partition("/")
        if not span.startswith("*"):
            begin = int(span.partition("-")[0])
            content = content[:begin] + data
            self.sessions[key][2] = content
        if total != "*" and len(content) == int(total):
            del self.sessions[key]
            return self._finish(writer, name, wanted, content)
        seen = {"Range": f"bytes=0-{len(content) - 1}"} if content else {}
        return 308, seen, b""


def _json(value):
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _error(status):
    body = {"error": {"code": status, "message": "the schedule says so"}}
    return status, *_json(body)[1:]


class _Body:
    """The body of an answer, which may break off, or be written to a disk that is full."""

    def __init__(self, content, fault, is_full):
        self._content, self._fault, self._is_full = content, fault, is_full

    def read(self, *_, **__):
        return b"".join(self.stream())

    def stream(self, *_, **__):
        half = len(self._content) // 2
        yield self._content[:half]
        current().world.wait(0.01)
        if self._is_full():
            raise OSError(errno.ENOSPC, "No space left on device")
        if self._fault == "broken-body":
            raise urllib3.exceptions.ProtocolError("Connection broken", ConnectionResetError(104))
        if self._fault == "short-body":
            return
        if self._fault == "damaged-body" and self._content:
            yield bytes([self._content[half] ^ 1]) + self._content[half + 1 :]
            return
        yield self._content[half:]

    def close(self):
        pass

    release_conn = close


class Session:
    """The HTTP session of all processes; the process is that of the running thread."""

    is_mtls = False

    def __init__(self, service):
        self._service = service

    def request(self, method, url, data=None, headers=None, timeout=60.0, **_):
        service, world, process = self._service, self._service.world, current().process
        draw = world.random.random
        if hasattr(data, "read"):
            data = data.read()
        timeout = timeout[-1] if isinstance(timeout, tuple) else timeout
        fault = None
        if service.is_out() or draw() < service.error_rate:
            fault = world.random.choice(service.kinds)
        answer = []

        def carry_out():
            is_waiting.clear()
            service.sent = sent
            answer.append(service.handle(process.name, method, url, data, headers or {}))

        is_waiting, sent = [True], world.now

        def arrive_late():
            if is_waiting:
                carry_out()

        process.requests.append(arrive_late)
        try:
            world.wait(draw() * (20 if draw() < service.slow_rate else 0.1))
            if fault == "timeout":
                world.wait(timeout or 60)
                raise requests.exceptions.ReadTimeout("Read timed out.")
            if fault == "reset":
                raise requests.exceptions.ConnectionError("Connection aborted.")
            if fault and fault.isdigit():
                answer.append(_error(int(fault)))
            else:
                carry_out()
        finally:
            if process.is_alive:
                process.requests.remove(arrive_late)
        world.wait(draw() * 0.05)
        if fault in ("lost", "lost-timeout"):
            if fault == "lost-timeout":
                world.wait(timeout or 60)
            raise requests.exceptions.ConnectionError("Remote end closed connection.")
        response = self._respond(url, process, fault, *answer[0])
        response.request = SimpleNamespace(method=method, url=url)
        return response

    def _respond(self, url, process, fault, status, headers, body):
        response = requests.Response()
        response.url = url
        response.status_code = status
        response.headers.update(headers)
        response.headers["Content-Length"] = str(len(body))
        if status == 200 and "alt=media" in url and fault and fault.endswith("body"):
            response.raw = _Body(body, fault, lambda: process.machine.is_full)
        elif status == 200 and "alt=media" in url:
            response.raw = _Body(body, None, lambda: process.machine.is_full)
        else:
            response._content = body
        return response
