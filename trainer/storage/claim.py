"""Keeps two jobs out of one job_dir: a claim, and on one machine a lock.

The claim is a small file in the job_dir that names a host and a process. The job that made the
last claim owns the folder; the other job notices this and ends. The claim needs neither locks nor a
remedy after a crash, so it works in a bucket and on every file system. The lock refuses a second
job at once. The operating system releases it when the process ends in any way.
"""

import contextlib
import datetime
import errno
import fcntl
import io
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, TextIO

from estimator_bridge.model_files import durable
from trainer import job_layout
from trainer.errors import UserError
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Conflict, Found
from trainer.storage.files import write_text

# Changes when the machine starts. All containers of a machine have the same value.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# A file server releases the locks of a machine that has crashed after at most this time (the lease
# of NFSv4 is 90 s).
LEASE_SECS = 120.0
# Seconds between two checks of a claim.
CHECK_SECS = 1.0
HELD_ERRNOS = (errno.EACCES, errno.EAGAIN)


class Claim:
    """A job's claim to its folder in a bucket: an object that names the host and the process.

    A job claims the folder only when it is about to store something. So a job that fails earlier
    does not end another job. The claim stays when the job ends. So a job that started earlier, and
    was paused, does not overwrite the result of a later one.

    Args:
        bucket: the bucket.
        address: the folder.
    """

    def __init__(self, bucket: Bucket, address: Address):
        self._bucket = bucket
        self._address = address
        self._name = address.folder + job_layout.WRITER
        self._before = 0
        self._made: Optional[Found] = None

    def note_owner(self) -> None:
        """Records the current claim to the folder; called when the job is fetched."""
        stored = self._bucket.find(self._name)
        self._before = stored.generation if stored is not None else 0

    def enforce(self) -> None:
        """Claims the folder if this job has not claimed it yet, and checks the claim.

        Raises:
            Conflict: another job has claimed the folder since `note_owner`, or since this job's
                claim.
        """
        if self._made is None:
            content = _describe_process().encode()
            with contextlib.suppress(Conflict):
                self._made = self._bucket.upload(
                    io.BytesIO(content), len(content), self._name, self._before
                )
            # A request may be repeated for minutes, during which another job may claim the folder.
            self._bucket.check_writer = self._check
        self._check()

    def _check(self) -> None:
        if self._made is None or self._bucket.find(self._name) != self._made:
            raise Conflict(_describe_conflict(str(self._address)))


class FolderClaim:
    """A job's claim to its folder on this machine or a shared file system.

    Args:
        folder: the job_dir.
        stop: called once, from a thread, when another job has claimed the folder; must end this job
            without writing to the folder.

    Attributes:
        error: the error that ends the job; None while the claim holds.
    """

    def __init__(self, folder: Path, stop: Callable[[], None]):
        self._folder = folder
        self._path = folder / job_layout.WRITER
        self._text = ""
        self._stop = stop
        self.error: Optional[UserError] = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Claims the folder and watches the claim while a `with` statement runs.

        Raises:
            UserError: another job has claimed the folder meanwhile.
            OSError: the folder cannot be written.
        """
        self._text = _describe_process()
        found = self._list_names()
        write_text(self._path, self._text)
        self._remove_unnamed()
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), name="claim", daemon=True)
        thread.start()
        try:
            try:
                with durable.guarded(str(self._folder), self._refuse):
                    yield
            finally:
                ended.set()
                thread.join()
        except BaseException as error:
            if self.error is None:
                self._withdraw(found)
            elif error is not self.error:
                raise self.error from error
            raise
        self._refuse()

    def _list_names(self) -> set[str]:
        return {path.name for path in self._folder.iterdir()}

    def _remove_unnamed(self) -> None:
        """Removes state files to which a suspended job, when it goes on, would give their name."""
        for path in self._folder.glob(f"{job_layout.CHECKPOINT_STATE}.tmp*"):
            path.unlink(missing_ok=True)

    def _withdraw(self, found: set[str]) -> None:
        """Removes the first claim to a folder if the job has added nothing to what it found."""
        with contextlib.suppress(OSError):
            if self._list_names() == found | {job_layout.WRITER} != found:
                self._path.unlink()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(CHECK_SECS):
            self._check()
            if self.error is not None:
                self._stop()
                return

    def _refuse(self) -> None:
        self._check()
        if self.error is not None:
            raise self.error

    def _check(self) -> None:
        try:
            # To open the file makes NFS ask its server for the current content.
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            # Removed by hand, or the file system is away for a moment.
            return
        if text != self._text:
            self.error = UserError(_describe_conflict(str(self._folder)))


@contextmanager
def locked(
    path: Path, shown: str, log: Callable[[str], None], lease_secs: float = LEASE_SECS
) -> Iterator[None]:
    """Locks a job while a `with` statement runs, so that no second process works on it.

    If the file system has no locks, nothing is locked.

    Args:
        path: the lock file; it is removed at the end of the statement.
        shown: the job_dir as the user knows it.
        log: called with a line of text.
        lease_secs: how long a process of another machine may keep the lock before this process is
            refused: the file server may not know yet that the machine has crashed.

    Raises:
        UserError: another process holds the lock.
    """
    try:
        stream = path.open("a+", encoding="utf-8", errors="replace")
    except OSError:
        yield
        return
    # The lock belongs to the process. A lock of flock would also belong to processes that user code
    # forks, and these may survive this process.
    with stream:
        if not _acquire(stream):
            _await_lock(stream, shown, log, lease_secs)
        if not _is_at(path, stream):
            # The process that held the lock has removed the file at its end.
            with locked(path, shown, log, lease_secs):
                yield
            return
        with contextlib.suppress(OSError):
            stream.truncate(0)
            stream.write(_describe_process())
            stream.flush()
        try:
            yield
        finally:
            if _is_at(path, stream):
                path.unlink(missing_ok=True)


def _is_at(path: Path, stream: TextIO) -> bool:
    """Returns whether a path leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    except OSError:
        return False


def _await_lock(stream: TextIO, shown: str, log: Callable[[str], None], lease_secs: float) -> None:
    """Waits for a lock of another machine; refuses at once if its process is on this machine."""
    holder = _read_holder(stream)
    if holder and holder.get("boot") != _read_boot_id():
        log(
            f"job_dir {shown}: {_name_holder(holder)} is at work on it; waiting up to "
            f"{lease_secs:.0f} s, in case that machine has crashed"
        )
        deadline = time.monotonic() + lease_secs
        while time.monotonic() < deadline:
            time.sleep(min(1.0, lease_secs / 10))
            if _acquire(stream):
                return
    raise UserError(
        f"job_dir {shown}: {_name_holder(_read_holder(stream))} is at work on it; "
        "end that process, or give this one another --job_dir"
    )


def _acquire(stream: TextIO) -> bool:
    try:
        fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Any other error means that the file system has no locks.
        return error.errno not in HELD_ERRNOS
    return True


def _read_holder(stream: TextIO) -> dict[str, Any]:
    stream.seek(0)
    try:
        holder = json.loads(stream.read())
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _name_holder(holder: dict[str, Any]) -> str:
    if not holder:
        return "another process"
    pid, host, since = (holder.get(key) for key in ("pid", "host", "since"))
    return f"process {pid} on host {host}, started at {since},"


def _describe_process() -> str:
    """Returns JSON that names this process; two texts are never equal."""
    return json.dumps(
        {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "since": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "boot": _read_boot_id(),
            "id": uuid.uuid4().hex,
        }
    )


def _read_boot_id() -> Optional[str]:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _describe_conflict(shown: str) -> str:
    return (
        f"{shown}: another writer has begun to work there meanwhile (its host and process are in "
        f"{job_layout.WRITER}); two jobs must not share a job_dir: end one of them, or give it "
        "another --job_dir"
    )
