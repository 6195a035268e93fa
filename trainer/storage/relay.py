"""Transfers heartbeat files through the bucket if a cluster's machines share no folder.

Each process has a heartbeat file in job_dir/cluster/ (see trainer.cluster.heartbeat). Every few
seconds, a thread stores the file of its process and fetches the files of the others. A status may
refer to other files, for example to a checkpoint or an export. These files are stored before the
status is published. In another process, they are fetched before the status is returned.
"""

import contextlib
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer import job_layout
from trainer.errors import TemporaryError, UserError
from trainer.storage.bucket import Bucket, Changed, Conflict, Found
from trainer.storage.files import append_lines
from trainer.storage.keeper import Keeper

# Cloud Storage accepts at most one write per second to an object.
RELAY_SECS = 3.0
# Fields of a status that refer to files in job_dir. The chief publishes "target" when it is ready,
# "step" when training has ended, and "final_step" when evaluation has ended. The evaluator
# publishes "final_step" too.
FILE_FIELDS = ("target", "step", "final_step")


class Relay:
    """Stores the heartbeat file of this process and fetches those of the others.

    Args:
        bucket: the bucket.
        keeper: stores and fetches the job's other files.
        name: name of this process: chief-0, evaluator-0, ...
        log: called with a line of text when the exchange begins to fail, and when it works again.
        secs: seconds between two rounds.
    """

    def __init__(
        self,
        bucket: Bucket,
        keeper: Keeper,
        name: str,
        log: Callable[[str], None],
        secs: float = RELAY_SECS,
    ):
        self._bucket = bucket
        self._keeper = keeper
        self._name = name
        self._secs = secs
        self._log = log
        self._is_failing = False
        self._prefix = keeper.mirror.address.folder + f"{job_layout.CLUSTER_FOLDER}/"
        self._folder = keeper.mirror.folder / job_layout.CLUSTER_FOLDER
        self._folder.mkdir(exist_ok=True)
        self._metrics_log = keeper.mirror.folder / job_layout.METRICS_LOG
        self._seen: dict[str, Found] = {}
        self._stored: dict[str, bytes] = {}
        self._fetched: set[str] = set()
        self._earlier: set[str] = set()
        self._own_lines: list[str] = []
        self._num_before = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        """Starts the thread, after fetching the files of an earlier run to recognise them later."""
        self._num_before = len(_read_lines(self._metrics_log))
        self._fetch()
        files = job_layout.find_status_files(os.listdir(self._folder))
        for name in (file for starts in files.values() for file in starts.values()):
            if name not in self._seen and not self._is_own(name):
                # It is of a cluster whose files have been removed from the bucket.
                (self._folder / name).unlink()
        self._earlier = set(files.get(self._name, {}).values())
        # Keep the lines of this process's earlier run, which the chief may not have read.
        self._own_lines = _read_lines(self._folder / self._metrics_log_name)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._secs):
            self._try_to_carry()

    def _try_to_carry(self) -> None:
        """Stores and fetches; reports the first error of several, as the next round follows soon.

        No error may end the thread: the other processes would take this one for dead.
        """
        try:
            self.carry()
        except Exception as error:
            if not self._is_failing:
                self._log(f"warning: {_describe(error)}; it is tried again")
            self._is_failing = True
            return
        if self._is_failing:
            self._log("heartbeats are exchanged again")
        self._is_failing = False

    def carry(self) -> None:
        """Stores the files of this process and fetches those of the others, at once."""
        with self._lock:
            self._carry()

    def _carry(self) -> None:
        self._store_own()
        if self._name.startswith("evaluator"):
            lines = self._own_lines + _read_lines(self._metrics_log)[self._num_before :]
            if lines:
                self._store(self._metrics_log_name, "\n".join([*lines, ""]).encode())
        self._fetch()

    def _store_own(self) -> None:
        """Stores the heartbeat file of this process, and removes those of its earlier starts."""
        files = job_layout.find_status_files(os.listdir(self._folder)).get(self._name, {})
        own = next(iter(files.values()), None)
        content = (self._folder / own).read_bytes() if own and own not in self._earlier else b""
        if not own or not content:
            # This process has no status yet.
            return
        self._store(own, content)
        for name in filter(self._is_own, list(self._seen)):
            # If it is replaced at this moment, its writer is suspended or on its way out.
            with contextlib.suppress(Conflict):
                self._bucket.remove(self._seen.pop(name))

    def _is_own(self, name: str) -> bool:
        match = job_layout.STATUS_FILE.fullmatch(name)
        return match is not None and match["name"] == self._name

    @property
    def _is_running(self) -> bool:
        return self._thread.ident is not None

    @property
    def _metrics_log_name(self) -> str:
        return f"ledger-{self._name}.jsonl"

    def _store(self, name: str, content: bytes) -> None:
        if self._stored.get(name) == content:
            return
        stored = self._bucket.find(self._prefix + name)
        generation = stored.generation if stored is not None else 0
        self._bucket.upload(io.BytesIO(content), len(content), self._prefix + name, generation)
        self._stored[name] = content

    def _fetch(self) -> None:
        listed = {one.name[len(self._prefix) :]: one for one in self._bucket.list_all(self._prefix)}
        for name in self._seen.keys() - listed.keys():
            # A process that has been started again has removed its earlier file.
            (self._folder / name).unlink(missing_ok=True)
            del self._seen[name]
        for name, found in listed.items():
            is_own = self._is_running and (name == self._metrics_log_name or self._is_own(name))
            if self._seen.get(name) == found or is_own or "/" in name:
                continue
            try:
                self._bucket.download(found, self._folder / name)
            except Changed:
                # The file has been replaced since it was listed; the next round fetches it.
                continue
            self._seen[name] = found
            if name.startswith("ledger-") and self._name.startswith("chief"):
                self._merge(self._folder / name)

    def _merge(self, path: Path) -> None:
        """Adds an evaluator's lines to the chief's metrics log, without duplicates."""
        known = set(_read_lines(self._metrics_log))
        new = [line for line in dict.fromkeys(_read_lines(path)) if line not in known]
        if new:
            append_lines(self._metrics_log, new)

    def before_publish(self, fields: dict[str, Any]) -> None:
        """Stores the files that a status refers to.

        Args:
            fields: the fields that will be published.

        Raises:
            UserError: the files cannot be stored.
        """
        if any(name in fields for name in FILE_FIELDS):
            self._keeper.synchronize()

    def after_publish(self, fields: dict[str, Any]) -> None:
        """Stores the heartbeat file at once.

        Storing must not be delayed: this process may next wait, inside TensorFlow, for a process
        that first has to read the status.

        Args:
            fields: the fields that have been published.
        """
        if fields:
            self._try_to_carry()

    def after_read(self, name: str, status: dict[str, Any]) -> None:
        """Fetches the files that a status refers to.

        Args:
            name: the process that has published the status.
            status: the status.

        Raises:
            UserError: the files cannot be fetched.
        """
        # The heartbeat thread must not wait for files, because its beats prove that this process is
        # alive.
        if name == self._name or threading.current_thread() is not threading.main_thread():
            return
        for field in FILE_FIELDS:
            key = f"{status.get('incarnation')} {field} {status.get(field)}"
            if field in status and key not in self._fetched:
                self.carry()
                self._keeper.mirror.pull()
                self._fetched.add(key)

    def end(self) -> None:
        """Ends the thread and stores the last status.

        Raises:
            UserError: the status cannot be stored.
        """
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self.carry()
        except UserError:
            raise
        except Exception as error:
            raise TemporaryError(
                f"{self._keeper.mirror.address}: {_describe(error)}; the last status is not stored"
            ) from error


def _describe(error: Exception) -> str:
    reason = " ".join(str(error).split())[:160]
    return f"heartbeats cannot be exchanged ({type(error).__name__}: {reason})"


def _read_lines(path: Path) -> list[str]:
    # A crash may have truncated a character.
    return path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []
