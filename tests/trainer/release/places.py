"""Places of versions: a folder, and a bucket in memory whose requests can be interrupted."""

import fcntl
import io
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import requests
import urllib3

sys.path.insert(0, str(Path(__file__).parents[2]))
from simulation.service import Service  # noqa: E402

FILES = ("assets/words.txt", "saved_model.pb")
KILLED = 99


class Killed(BaseException):
    """The process of this thread is gone."""


class Folder:
    """A folder of versions on this machine, as a reader sees it."""

    def __init__(self, path):
        self.path = path
        self.place = str(path)

    def read(self):
        """name → content of all files."""
        found = {}
        for path in sorted(self.path.rglob("*")):
            if path.is_file():
                found[path.relative_to(self.path).as_posix()] = path.read_text()
        return found

    def list_names(self):
        """The names of all files."""
        return [path.relative_to(self.path).as_posix() for path in self.path.rglob("*")]

    def write(self, files):
        shutil.rmtree(self.path, ignore_errors=True)
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def list_numbers(self):
        """A reader of a folder takes every subfolder whose name is a number."""
        names = os.listdir(self.path) if self.path.is_dir() else []
        return {int(name) for name in names if name.isdecimal()}

    def _is_locked(self):
        try:
            with (self.path / ".push.lock").open("ab") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True

    def _fork(self, action, step, on_step):
        """Runs an action in a fork that calls on_step before an operation on the folder."""
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            steps = iter(range(10**6))

            def watch(event, args):
                known = event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir")
                paths = [str(arg) for arg in args if isinstance(arg, (str, Path))] if known else []
                if any(path.startswith(self.place) for path in paths) and next(steps) == step:
                    on_step()

            sys.addaudithook(watch)
            action()
            status = 0
        except Exception as error:
            status = getattr(error, "status", 1)
        finally:
            os._exit(status)

    def kill_at(self, step, action):
        """Runs an action that is killed before a step; returns whether it was."""
        status = wait_for(self._fork(action, step, lambda: os._exit(KILLED)))
        assert status in (0, KILLED)
        return status == KILLED

    def stop_at(self, step, action, meanwhile):
        """Runs an action that is stopped before a step while another runs.

        Returns (whether the step was reached, its exit status). Who is stopped while it holds the
        lock would stop the other one for as long.
        """
        (stopped, stop), (resumed, resume) = os.pipe(), os.pipe()

        def wait():
            os.write(stop, b"l" if self._is_locked() else b"x")
            os.read(resumed, 1)

        child = self._fork(action, step, wait)
        os.close(stop)
        answer = os.read(stopped, 1)
        if answer == b"x":
            meanwhile()
        os.write(resume, b"x")
        for descriptor in (stopped, resumed, resume):
            os.close(descriptor)
        return bool(answer), wait_for(child)


def wait_for(pid):
    """Returns the exit status of a child."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class _World:
    def note(self, line):
        pass


class MemoryBucket:
    """A folder of versions in the simulated bucket, as a reader sees it."""

    is_mtls = False
    place = "gs://a-bucket/models/shop"
    _prefix = "models/shop/"

    def __init__(self):
        self.service = Service(_World(), lambda *_: None)
        self._steps, self._on_step = None, None

    def read(self):
        return {
            name[len(self._prefix) :]: one.content.decode()
            for name, one in sorted(self.service.objects.items())
        }

    def write(self, files):
        self.service.objects.clear()
        for name, text in files.items():
            self.service.put(self._prefix + name, text.encode(), "the test")

    def list_numbers(self):
        """A version in a bucket is there when its saved_model.pb is."""
        parts = [name.split("/") for name in self.read()]
        return {int(first) for first, *rest in parts if rest == ["saved_model.pb"]}

    def request(self, method, url, data=None, headers=None, **_):
        """Takes the place of the HTTP session of google-cloud-storage."""
        if self._steps is not None:
            self._on_step(next(self._steps))
        if hasattr(data, "read"):
            data = data.read()
        status, answered, body = self.service.handle("x", method, url, data, headers or {})
        response = requests.Response()
        response.url, response.status_code = url, status
        response.headers.update(answered)
        response.request = SimpleNamespace(method=method, url=url)
        if "alt=media" in url:
            response.raw = urllib3.HTTPResponse(io.BytesIO(body), preload_content=False)
        else:
            response._content = body
        return response

    def kill_at(self, step, action):
        """Runs an action that is killed before a request; returns whether it was."""

        def on_step(number):
            # Nor does it send any further request.
            if number >= step:
                raise Killed

        self._steps, self._on_step = iter(range(10**6)), on_step
        try:
            action()
            return False
        except Killed:
            return True
        finally:
            self._steps = None

    def stop_at(self, step, action, meanwhile):
        """Runs an action; before a request of it, another one runs from begin to end."""
        stopped = []

        def on_step(number):
            if number == step:
                steps, self._steps = self._steps, None
                meanwhile()
                stopped.append(True)
                self._steps = steps

        self._steps, self._on_step = iter(range(10**6)), on_step
        try:
            action()
            status = 0
        except Exception as error:
            status = getattr(error, "status", 1)
        finally:
            self._steps = None
        return bool(stopped), status


class ServedBucket:
    """A folder of versions in the storage server, as a reader sees it."""

    place = "gs://a-bucket/models/shop"

    def __init__(self, cloud):
        self.cloud = cloud

    def list_names(self):
        return [name[len("models/shop/") :] for name in self.cloud.names("models/shop/")]

    def read(self):
        return {name: self.cloud.read(f"models/shop/{name}").decode() for name in self.list_names()}

    def write(self, files):
        self.cloud.wipe()
        for name, text in files.items():
            self.cloud.write(f"models/shop/{name}", text.encode())

    def list_numbers(self):
        names = [name.split("/")[2:] for name in self.cloud.names("models/shop/")]
        return {int(parts[0]) for parts in names if parts[1:] == ["saved_model.pb"]}


def read_state(place):
    """The content of push.json."""
    return json.loads(place.read()["push.json"])
