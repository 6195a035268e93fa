"""Status and liveness of a cluster's processes, in small files in job_dir/cluster/.

Each process writes its status to the file <role>-<index>.<start>.json every second, with a new
beat number. A process is considered dead when its file has stopped changing. A status from another
run is ignored. A status found at start-up is used only after its file changes, because the change
proves that the writer is alive. Two statuses from this run are used at once: FINISHED, and FAILED
because of an error that a restart repeats. Each start of a process has a file of its own, and the
last start counts. So a process that was replaced while it was paused cannot overwrite what its
successor says. Only file contents are compared; clocks of different machines never are.
"""

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Optional, Protocol

from trainer import job_layout, storage
from trainer.cluster.step_timer import StepTimer

# What a process publishes: "state" (one of the constants below) and further fields.
Status = dict[str, Any]

BEAT_SECS = 1.0
# Seconds without a change of its file after which a process is considered dead.
SILENT_SECS = 20.0

RUNNING, TRAINED, FINISHED, FAILED, INTERRUPTED = (
    "running",
    "trained",
    "finished",
    "failed",
    "interrupted",
)
# The job has ended for all other processes when the chief's state is one of these.
ENDED = (FINISHED, FAILED, INTERRUPTED)
# The process ends because another process has ended, and will be restarted. Processes that do not
# depend on this incarnation wait for the next one.
LOST = "lost"
# A process in one of these states has ended or is about to.
GONE = (*ENDED, LOST)


class StatusRelay(Protocol):
    """Transfers statuses and the files they refer to between machines that share no folder."""

    def before_publish(self, fields: Status) -> None:
        """Stores the files that the fields refer to.

        Args:
            fields: the status that will be published.
        """

    def after_publish(self, fields: Status) -> None:
        """Stores the heartbeat file.

        Args:
            fields: the status that has been published.
        """

    def after_read(self, name: str, status: Status) -> None:
        """Fetches the files that another process's status refers to.

        Args:
            name: name of that process, for example worker-0.
            status: its status.
        """


class _Seen(NamedTuple):
    """The last content of a file, when it changed, and whether the content is used."""

    status: Status
    changed: float
    counts: bool


class HeartbeatFile:
    """The heartbeat file of this process, and the contents of the other processes' files.

    Args:
        job_dir: the folder that all processes share.
        name: name of this process: chief-0, worker-1, ...
        clock: returns seconds.
        run_id: the launcher's ID of this run of the cluster; None if there is none.
        relay: transfers files between machines that share no folder; None if they share one.

    Attributes:
        folder: the folder of the heartbeat files.
        incarnation: unique ID of this process; a restarted process of the same name has another.
        started: when this object was created, by `clock`.
        start_number: how many processes of this name have been started, up to this one.
        status: what this process publishes now.
        steps: times the current training step of this process, or its current pause between steps.
        previous_status: content of this process's file when it started; {} if there was no file or
            the file is known to be from another run.
    """

    def __init__(
        self,
        job_dir: str,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        run_id: Optional[str] = None,
        relay: Optional[StatusRelay] = None,
    ):
        self.folder = Path(job_dir) / job_layout.CLUSTER_FOLDER
        self._name = name
        self._clock = clock
        self._run_id = run_id
        self._relay = relay
        self.steps = StepTimer(clock)
        self.incarnation = uuid.uuid4().hex
        self.status: Status = {"state": RUNNING}
        self._beat = 0
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._ended = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._after_refresh: Callable[[], None] = lambda: None
        self.folder.mkdir(parents=True, exist_ok=True)
        self._refresh(first=True)
        self.started = clock()
        before = self.last_status(name)
        self.previous_status: Status = {} if self._is_of_another_run(before) else before
        # The files of earlier processes of this name, until this one has a status.
        self._earlier = list(self._find_files().get(name, {}).items())
        self.start_number = self._reserve_number()

    def withdraw(self) -> None:
        """Gives up the number of this start, of which nothing has been published."""
        self._path(self.start_number).unlink(missing_ok=True)

    def _find_files(self) -> dict[str, dict[int, str]]:
        try:
            return job_layout.find_status_files(os.listdir(self.folder))
        except OSError:
            return {}

    def _reserve_number(self) -> int:
        """Returns the number of this start; its file, still empty, keeps others from taking it."""
        number = 1 + max((start for start, _ in self._earlier), default=0)
        # If the disk is full, the first status creates the file.
        with contextlib.suppress(OSError):
            while not self._reserve(self._path(number)):
                number += 1
        return number

    @staticmethod
    def _reserve(path: Path) -> bool:
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _path(self, start: int) -> Path:
        return self.folder / job_layout.status_file(self._name, start)

    def publish(self, state: str, **fields: Any) -> None:
        """Publishes a new state of this process, and adds fields to its status.

        Args:
            state: one of the state constants of this module.
            **fields: values that can be written as JSON.
        """
        if self._relay is not None:
            self._relay.before_publish(fields)
        with self._lock:
            self.status = {**self.status, "state": state, **fields}
            self._write()
        if self._relay is not None:
            self._relay.after_publish(fields)

    def _write(self) -> None:
        self._beat += 1
        content = {
            **self.status,
            "num_steps": self.steps.num_steps,
            "in_step": self.steps.step_began is not None,
            "run": self._run_id,
            "incarnation": self.incarnation,
            "start": self.start_number,
            "beat": self._beat,
            "pid": os.getpid(),
        }
        path, text = self._path(self.start_number), json.dumps(content) + "\n"
        # If neither can be written, the next beat tries again. Until then this process is silent.
        with contextlib.suppress(OSError):
            try:
                storage.write_text(path, text)
            except OSError:
                _overwrite(path, text)
            while self._earlier:
                (self.folder / self._earlier.pop()[1]).unlink(missing_ok=True)

    def refresh(self) -> None:
        """Reads all heartbeat files once."""
        self._refresh(first=False)

    def _refresh(self, first: bool) -> None:
        # Two threads may refresh at once. The lock keeps old content from replacing newer content.
        with self._refreshing:
            now = self._clock()
            for name, files in self._find_files().items():
                status = _read_status(self.folder / file for file in files.values())
                if status is None:
                    continue
                before = self._seen.get(name)
                if before is None or before.status != status:
                    self._seen[name] = _Seen(status, now, self._counts(status, first))

    def _counts(self, status: Status, first: bool) -> bool:
        if self._is_of_another_run(status):
            return False
        is_known = self._run_id is not None and status.get("run") == self._run_id
        # Nothing restarts a process of this run after one of these.
        has_failed = status.get("state") == FAILED and status.get("awaited_secs") == 0
        return not first or is_known and (status.get("state") == FINISHED or has_failed)

    def _is_of_another_run(self, status: Status) -> bool:
        theirs = status.get("run")
        return None not in (theirs, self._run_id) and theirs != self._run_id

    def read(self, name: str) -> Status:
        """Returns the last status of another process of this run; {} before its first status.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        status = seen.status if seen is not None and seen.counts else {}
        if self._relay is not None:
            self._relay.after_read(name, status)
        return status

    def last_status(self, name: str) -> Status:
        """Returns the content of a process's file, from any run; {} if there is no file.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        return seen.status if seen is not None else {}

    def silent_secs(self, name: str) -> float:
        """Returns the seconds since another process's file changed or, if later, since `started`.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        if seen is None or not seen.counts:
            return self._clock() - self.started
        return self._clock() - max(seen.changed, self.started)

    def now(self) -> float:
        """Returns the current time of this object's clock, in seconds."""
        return self._clock()

    def is_replaced(self) -> bool:
        """Returns whether a process of the same name and run has been started after this one."""
        return bool(self.read(self._name).get("start", 0) > self.start_number)

    def is_alive(self, name: str) -> bool:
        """Returns whether a process's file changed within SILENT_SECS and its state is not in GONE.

        Args:
            name: name of the process.
        """
        status = self.read(name)
        return bool(status) and status["state"] not in GONE and self.silent_secs(name) < SILENT_SECS

    def may_be_alive(self, name: str) -> bool:
        """Returns whether a process is alive or, soon after the start, not yet known to be dead.

        The file of a live process that was found at the start may still have to change.

        Args:
            name: name of the process.
        """
        status = self.last_status(name)
        is_known = not status or status["state"] in GONE or self._is_of_another_run(status)
        return self.is_alive(name) or not is_known and self.silent_secs(name) < SILENT_SECS

    def start(self, after_refresh: Callable[[], None]) -> None:
        """Starts a thread that writes this process's file and reads all others every second.

        Args:
            after_refresh: called by that thread after each refresh.
        """
        self._after_refresh = after_refresh
        self.publish(RUNNING)
        self._thread = threading.Thread(target=self._run_thread, name="heartbeat", daemon=True)
        self._thread.start()

    def _run_thread(self) -> None:
        while not self._ended.wait(BEAT_SECS):
            with self._lock:
                self._write()
            self.refresh()
            self._after_refresh()

    def end(self, state: str, **fields: Any) -> None:
        """Stops the heartbeat and publishes the last status.

        Args:
            state: the last state.
            **fields: as in `publish`.
        """
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.publish(state, **fields)


def _overwrite(path: Path, text: str) -> None:
    """Writes into the file itself: it has space on a full disk, where a new file has none."""
    with path.open("r+", encoding="utf-8") as stream:
        stream.write(text)
        stream.truncate()


def _read_status(paths: Iterable[Path]) -> Optional[Status]:
    """Returns the status of a process; None if it has none, or its file cannot be read now.

    Args:
        paths: the files of its starts, the last one first. One that has just started may have
            written nothing yet.
    """
    try:
        text = next(filter(None, (path.read_text(encoding="utf-8") for path in paths)), "")
        status = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    return status if _is_status(status) else None


def _is_status(value: Any) -> bool:
    """Returns whether the content of a file may be the status of a process.

    The thread that reads it must not die: the other processes would take this one for dead.
    """
    return (
        isinstance(value, dict)
        and isinstance(value.get("state"), str)
        and isinstance(value.get("message", ""), str)
        and isinstance(value.get("awaited_secs", 0), (int, float))
        and isinstance(value.get("start", 0), int)
        and isinstance(value.get("lineup", {}), dict)
    )
