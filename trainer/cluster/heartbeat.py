"""Status and liveness of a cluster's processes, in small files in job_dir/cluster/.

Each process keeps the file <role>-<index>.json, which contains its status and changes every second.
A process whose file has stopped changing is dead. Messages from other runs are ignored; one found
at start-up counts once it changes, which shows that its writer is alive. The exception is FINISHED
of this run, which counts at once. Only the content counts: clocks of different machines are never
compared.
"""

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional, Protocol

from trainer import job_layout, storage
from trainer.cluster.step_timer import StepTimer

# What a process publishes: "state", one of those below, and further fields.
Status = dict[str, Any]

BEAT_SECS = 1.0
# A process whose file has not changed for this long is taken for dead.
SILENT_SECS = 20.0

RUNNING, TRAINED, FINISHED, FAILED, INTERRUPTED = (
    "running",
    "trained",
    "finished",
    "failed",
    "interrupted",
)
# The job is over for the others when the chief's state is one of these.
ENDED = (FINISHED, FAILED, INTERRUPTED)
# The process ends because another one is gone, and will be started again. Processes that do not
# depend on this incarnation wait for the next one.
LOST = "lost"
# A process in one of these states has ended or is about to.
GONE = (*ENDED, LOST)


class StatusRelay(Protocol):
    """Carries status, and the files it refers to, between machines that share no folder."""

    def before_publish(self, fields: Status) -> None:
        """Stores the files that the fields refer to."""

    def after_publish(self, fields: Status) -> None:
        """Stores the heartbeat file."""

    def after_read(self, name: str, status: Status) -> None:
        """Fetches the files that another process's status refers to."""


class _Seen(NamedTuple):
    """The last content of a file, when it changed, and whether it counts."""

    status: Status
    changed: float
    counts: bool


class HeartbeatFile:
    """The heartbeat file of this process, and what the others' contain.

    Args:
        job_dir: the folder that all processes share.
        name: name of this process: chief-0, worker-1, ...
        clock: returns seconds.
        run_id: the launcher's name for this run of the cluster; None where it gives none.
        relay: carries files between machines that share no folder; else None.

    Attributes:
        folder: the folder of the heartbeat files.
        incarnation: unique to this process among those of its name, before and after it.
        started: when this object was made, by `clock`.
        status: what this process publishes now.
        steps: times the training step, or the pause between two, that this process is in.
        previous_status: what the file contained when this process started, if it was of the same
            run as far as is known; else {}.
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

    def publish(self, state: str, **fields: Any) -> None:
        """Publishes a new state of this process, and adds fields to its status.

        Args:
            state: one of the states above.
            **fields: values that JSON can hold.
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
            "in_step": self.steps.step_began is not None,
            "run": self._run_id,
            "incarnation": self.incarnation,
            "beat": self._beat,
            "pid": os.getpid(),
        }
        # Where the disk is full the next beat tries again; until then this process is silent.
        with contextlib.suppress(OSError):
            storage.write_text(self.folder / f"{self._name}.json", json.dumps(content) + "\n")

    def refresh(self) -> None:
        """Reads all heartbeat files once."""
        self._refresh(first=False)

    def _refresh(self, first: bool) -> None:
        # Two threads may refresh: an older content must not replace a newer one.
        with self._refreshing:
            now = self._clock()
            for path in self.folder.glob("[!.]*.json"):
                try:
                    status = json.loads(path.read_text(encoding="utf-8"))
                except (OSError, ValueError):
                    # It is being replaced; the next refresh reads it.
                    continue
                before = self._seen.get(path.stem)
                if before is None or before.status != status:
                    self._seen[path.stem] = _Seen(status, now, self._counts(status, first))

    def _counts(self, status: Status, first: bool) -> bool:
        if self._is_of_another_run(status):
            return False
        is_known = self._run_id is not None and status.get("run") == self._run_id
        return not first or is_known and status.get("state") == FINISHED

    def _is_of_another_run(self, status: Status) -> bool:
        theirs = status.get("run")
        return None not in (theirs, self._run_id) and theirs != self._run_id

    def read(self, name: str) -> Status:
        """Returns the last status of another process of this run; {} before its first.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        status = seen.status if seen is not None and seen.counts else {}
        if self._relay is not None:
            self._relay.after_read(name, status)
        return status

    def last_status(self, name: str) -> Status:
        """Returns the content of a process's file, of whichever run; {} if there is none.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        return seen.status if seen is not None else {}

    def silent_secs(self, name: str) -> float:
        """Returns the seconds since another process's file changed, at most since the start.

        Args:
            name: name of the process.
        """
        seen = self._seen.get(name)
        if seen is None or not seen.counts:
            return self._clock() - self.started
        return self._clock() - max(seen.changed, self.started)

    def now(self) -> float:
        """Returns the seconds of this object's clock."""
        return self._clock()

    def is_alive(self, name: str) -> bool:
        """Returns whether another process's file has changed lately and its state is not GONE.

        Args:
            name: name of the process.
        """
        status = self.read(name)
        return bool(status) and status["state"] not in GONE and self.silent_secs(name) < SILENT_SECS

    def start(self, after_refresh: Callable[[], None]) -> None:
        """Starts a thread that writes this process's file and reads the others' every second.

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
