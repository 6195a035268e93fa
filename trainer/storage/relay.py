"""How the machines of a cluster hear of each other where they share no folder: through the bucket.

Each process keeps a small file in job_dir/cluster/ (see trainer.cluster.heartbeat). A thread
carries its own file to the bucket, and the others' from there, every few seconds. What one process
says may speak of files: a checkpoint that is there, an export that is made. Those are stored before
the word is said, and fetched before it is heard.
"""

import contextlib
import io
import threading
from pathlib import Path
from typing import Any

from trainer import job_layout
from trainer.errors import UserError
from trainer.storage.bucket import Bucket, Changed, Found
from trainer.storage.keeper import Keeper

# An object may be written once a second at most.
RELAY_SECS = 3.0
# Facts that speak of files in job_dir: the chief's, when it is ready, has trained and has ended,
# and the evaluator's.
TELLING = ("target", "step", "final_step")


class Relay:
    """Carries the files of a heartbeat.

    Args:
        bucket: where to.
        keeper: stores and fetches the job's other files.
        name: of this process: chief-0, evaluator-0, ...
        secs: between two looks.
    """

    def __init__(self, bucket: Bucket, keeper: Keeper, name: str, secs: float = RELAY_SECS):
        self._bucket = bucket
        self._keeper = keeper
        self._name = name
        self._secs = secs
        self._prefix = keeper.mirror.address.folder + f"{job_layout.CLUSTER_FOLDER}/"
        self._folder = keeper.mirror.folder / job_layout.CLUSTER_FOLDER
        self._folder.mkdir(exist_ok=True)
        self._metrics_log = keeper.mirror.folder / job_layout.METRICS_LOG
        self._seen: dict[str, Found] = {}
        self._stored: dict[str, bytes] = {}
        self._told: set[str] = set()
        self._own_lines: list[str] = []
        self._num_before = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        """Fetches what there is, so that an earlier run is known for one, and begins."""
        self._num_before = len(_read_lines(self._metrics_log))
        self._fetch()
        # Of this process's earlier run: the chief may not have had it.
        self._own_lines = _read_lines(self._folder / self._metrics_log_name)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._secs):
            # The next look is soon, and silence is told by the others' watchdogs.
            with contextlib.suppress(UserError):
                self.carry()

    def carry(self) -> None:
        """Stores this process's files and fetches the others'."""
        with self._lock:
            self._carry()

    def _carry(self) -> None:
        own = self._folder / f"{self._name}.json"
        if own.exists():
            self._store(own.name, own.read_bytes())
        if self._name.startswith("evaluator"):
            lines = self._own_lines + _read_lines(self._metrics_log)[self._num_before :]
            if lines:
                self._store(self._metrics_log_name, "\n".join([*lines, ""]).encode())
        self._fetch()

    @property
    def _is_running(self) -> bool:
        return self._thread.ident is not None

    @property
    def _metrics_log_name(self) -> str:
        return f"ledger-{self._name}.jsonl"

    def _store(self, name: str, content: bytes) -> None:
        if self._stored.get(name) == content:
            return
        there = self._bucket.find(self._prefix + name)
        generation = there.generation if there is not None else 0
        self._bucket.upload(io.BytesIO(content), len(content), self._prefix + name, generation)
        self._stored[name] = content

    def _fetch(self) -> None:
        for found in self._bucket.list_all(self._prefix):
            name = found.name[len(self._prefix) :]
            is_own = (
                name == f"{self._name}.json" or name == self._metrics_log_name and self._is_running
            )
            if self._seen.get(name) == found or is_own or "/" in name:
                continue
            try:
                self._bucket.download(found, self._folder / name)
            except Changed:
                # It lives: the next look brings what it says by then.
                continue
            self._seen[name] = found
            if name.startswith("ledger-") and self._name.startswith("chief"):
                self._merge(self._folder / name)

    def _merge(self, path: Path) -> None:
        """Adds an evaluator's lines to the chief's metrics log, each once."""
        known = set(_read_lines(self._metrics_log))
        new = [line for line in dict.fromkeys(_read_lines(path)) if line not in known]
        if new:
            with self._metrics_log.open("a", encoding="utf-8") as stream:
                stream.write("\n".join([*new, ""]))

    def before_publish(self, facts: dict[str, Any]) -> None:
        """Stores the files that a word speaks of, before it is said."""
        if any(name in facts for name in TELLING):
            self._keeper.synchronize()

    def after_publish(self, facts: dict[str, Any]) -> None:
        """Carries a word at once: this process may now wait, in TensorFlow, for who hears it."""
        if facts:
            with contextlib.suppress(UserError):
                self.carry()

    def after_read(self, name: str, content: dict[str, Any]) -> None:
        """Fetches the files that a word speaks of, before it is heard."""
        # The heartbeat's own thread must not wait: it shows that this process is alive.
        if name == self._name or threading.current_thread() is not threading.main_thread():
            return
        for fact in TELLING:
            status = f"{content.get('incarnation')} {fact} {content.get(fact)}"
            if fact in content and status not in self._told:
                self.carry()
                self._keeper.mirror.pull()
                self._told.add(status)

    def end(self) -> None:
        """Carries the last word."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.carry()


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
