"""How the processes of a cluster know of each other: small files in job_dir/cluster/.

Each process keeps one, <role>-<index>.json, which says its state and changes every second. A file
that no longer changes is of a process that is gone. Words belong to an incarnation of a process,
and to a run of the cluster where its launcher names one:

- what another run said is not heard;
- what stood there when this process began is heard once it changes, for then its writer lives;
  So a last word that stood there already is not heard once its writer is gone: this process waits
  for the incarnation that follows. FINISHED is heard where it is known to be of this run.

Only the content counts: clocks of different machines are never compared.
"""

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import job_layout, storage
from trainer.cluster.step_timer import StepClock

BEAT_SECS = 1.0
# A process whose file has not changed for so long is taken for dead.
SILENT_SECS = 20.0

RUNNING, TRAINED, FINISHED, FAILED, INTERRUPTED = (
    "running",
    "trained",
    "finished",
    "failed",
    "interrupted",
)
# After these the job is over for the others, if they are the chief's.
ENDED = (FINISHED, FAILED, INTERRUPTED)
# It ends because another one is gone, to be started again: who does not depend on this very
# incarnation waits for the next.
LOST = "lost"
# After these the process is gone, or about to be.
GONE = (*ENDED, LOST)


class _Seen(NamedTuple):
    content: dict[str, Any]
    changed: float
    is_heard: bool


class Board:
    """This process's file, and its view of the others'.

    Args:
        job_dir: the folder that all processes share.
        name: of this process: chief-0, worker-1, ...
        clock: gives seconds.
        run_id: what the launcher calls this run of the cluster; None where it says nothing.

    Attributes:
        incarnation: tells this process from those of the same name before and after it.
        posted: what this process says now.
        carrier: brings files that words speak of to and from other machines, where these share no
            folder: see trainer.storage.relay; else None.
        steps: how long the step takes that this process is in.
        previous: what this process's own file said before it began, of the same run so far as is
            known; {} where it said nothing.
    """

    def __init__(
        self,
        job_dir: str,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        run_id: Optional[str] = None,
    ):
        self.carrier: Any = None
        self.folder = Path(job_dir) / job_layout.CLUSTER_FOLDER
        self._name = name
        self._clock = clock
        self.steps = StepClock(clock)
        self._run_id = run_id
        self.incarnation = uuid.uuid4().hex
        self._beat = 0
        self.posted: dict[str, Any] = {"state": RUNNING}
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._watch: Callable[[], None] = lambda: None
        self.folder.mkdir(parents=True, exist_ok=True)
        self._look(first=True)
        self.started = clock()
        before = self.last_word(name)
        self.previous = {} if self._is_of_another_run(before) else before

    def post(self, state: str, **facts: Any) -> None:
        """Says the state of this process, and more."""
        if self.carrier is not None:
            self.carrier.before_post(facts)
        with self._lock:
            self.posted = {**self.posted, "state": state, **facts}
            self._write()
        if self.carrier is not None:
            self.carrier.after_post(facts)

    def _write(self) -> None:
        self._beat += 1
        content = {
            **self.posted,
            "in_step": self.steps.began is not None,
            "run": self._run_id,
            "incarnation": self.incarnation,
            "beat": self._beat,
            "pid": os.getpid(),
        }
        # Where the disk is full the next beat tries again; the others then take this process for
        # what it is, silent.
        with contextlib.suppress(OSError):
            storage.write_text(self.folder / f"{self._name}.json", json.dumps(content) + "\n")

    def look(self) -> None:
        """Reads all files once."""
        self._look(first=False)

    def _look(self, first: bool) -> None:
        # Two threads may look: what one has read must not be overwritten by something older.
        with self._looking:
            now = self._clock()
            for path in self.folder.glob("[!.]*.json"):
                try:
                    content = json.loads(path.read_text(encoding="utf-8"))
                except (OSError, ValueError):
                    # Being replaced; the next look sees it.
                    continue
                before = self._seen.get(path.stem)
                if before is None or before.content != content:
                    is_heard = self._is_heard(content, first)
                    self._seen[path.stem] = _Seen(content, now, is_heard)

    def _is_heard(self, content: dict[str, Any], first: bool) -> bool:
        if self._is_of_another_run(content):
            return False
        is_known = self._run_id is not None and content.get("run") == self._run_id
        return not first or is_known and content.get("state") == FINISHED

    def _is_of_another_run(self, content: dict[str, Any]) -> bool:
        theirs = content.get("run")
        return None not in (theirs, self._run_id) and theirs != self._run_id

    def read(self, name: str) -> dict[str, Any]:
        """What another process of this run last said; {} while it has said nothing."""
        seen = self._seen.get(name)
        content = seen.content if seen is not None and seen.is_heard else {}
        if self.carrier is not None:
            self.carrier.after_read(name, content)
        return content

    def last_word(self, name: str) -> dict[str, Any]:
        """What a process's file says, whether it is of this run or not; {} where there is none."""
        seen = self._seen.get(name)
        return seen.content if seen is not None else {}

    def silence(self, name: str) -> float:
        """Seconds since another process was last heard of; since the start where it never was."""
        seen = self._seen.get(name)
        heard = seen is not None and seen.is_heard
        return self._clock() - (max(seen.changed, self.started) if heard else self.started)

    def now(self) -> float:
        """Seconds by this board's clock."""
        return self._clock()

    def is_alive(self, name: str) -> bool:
        """Whether another process has been heard of lately and has not said that it ends."""
        content = self.read(name)
        return bool(content) and content["state"] not in GONE and self.silence(name) < SILENT_SECS

    def start(self, watch: Callable[[], None]) -> None:
        """Begins to beat, and to call `watch` after each look, in a thread of its own."""
        self._watch = watch
        self.post(RUNNING)
        self._thread = threading.Thread(target=self._run_thread, name="board", daemon=True)
        self._thread.start()

    def _run_thread(self) -> None:
        while not self._ended.wait(BEAT_SECS):
            with self._lock:
                self._write()
            self.look()
            self._watch()

    def end(self, state: str, **facts: Any) -> None:
        """Stops beating; the last word is `state`."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.post(state, **facts)
