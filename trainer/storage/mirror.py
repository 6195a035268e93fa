"""A job's folder in a bucket: worked on here, kept there.

The folder on this machine is restored when the job starts. While it runs, what has changed is
stored: checkpoints before the file that names them, an export's files before its saved_model.pb,
and what is gone here is removed there last. So whoever reads the bucket, or is started again on
another machine with an empty disk, never meets half a checkpoint.
"""

import contextlib
import io
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from trainer import job_layout
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Changed, Conflict, Found, checksum
from trainer.storage.claim import Claim
from trainer.storage.files import read_json, replaced, write_json

# What this machine has last seen in the bucket.
MEMORY = "mirror.json"
ATTEMPTS = 5
# Files; a process may have 1,024 open on most machines.
MOST_OPEN = 256


class Known(NamedTuple):
    """An object as it was last seen, and the file here that has its content.

    Attributes:
        found: the object.
        size, mtime_ns: of the file.
    """

    found: Found
    size: int
    mtime_ns: int


class Mirror:
    """Keeps a folder and its place in a bucket alike.

    Args:
        bucket: the bucket.
        address: the place.
        folder: on this machine.
        mine: tells whether this process stores a file.
        theirs: tells whether other processes do; None: all but `mine`.
        shares: whether other machines store files of the same job.
        claim: of the process that works on the job; None: of one that helps.
        memory: name of the file, beside the folder, that remembers what was seen in the bucket.
    """

    def __init__(
        self,
        bucket: Bucket,
        address: Address,
        folder: Path,
        mine: Callable[[str], bool] = lambda name: True,
        theirs: Optional[Callable[[str], bool]] = None,
        shares: bool = False,
        claim: Optional[Claim] = None,
        memory: str = MEMORY,
    ):
        self.address = address
        self.folder = folder
        self.bucket = bucket
        self._mine = mine
        self._theirs = theirs or (lambda name: not mine(name))
        self._shares = shares
        self.claim = claim
        self._memory = memory
        self._known: dict[str, Known] = {}
        # Training goes on while a thread stores.
        self._lock = threading.RLock()

    # From the bucket.

    def restore(self) -> int:
        """Makes the folder what the bucket has; returns how many files were fetched.

        A folder that has gone on from what the bucket still has, because this machine stopped
        before it could store it, is kept as it is.

        Raises:
            UserError: the bucket cannot be read.
        """
        with self._lock:
            if self.claim is not None:
                self.claim.look()
            memory = read_json(self.folder.parent / self._memory)
            listed = self._list()
            if memory is not None and self._is_ahead(memory, listed):
                return 0
            for child in self.folder.iterdir():
                # The processes of a cluster on this machine are meeting there already.
                if child.name != job_layout.CLUSTER_FOLDER:
                    _remove(child)
            self._known = {}
            return self._settle(lambda name: True)

    def _is_ahead(self, memory: dict[str, Any], listed: dict[str, Found]) -> bool:
        """Whether nobody else has changed the bucket since this machine stopped."""
        if memory.get("address") != str(self.address):
            return False
        known = _read_memory(memory)
        for name in {*known, *listed}:
            there, here = listed.get(name), self.folder / name
            if there is None:
                # Ours to remove, unless it is gone there and kept here.
                if here.exists():
                    return False
                known.pop(name, None)
            elif name not in known or known[name].found != there:
                # Stored just before the end, too late to be remembered.
                if not here.is_file() or self._checksum(name) != (there.size, there.crc32c):
                    return False
                status = here.stat()
                known[name] = Known(there, status.st_size, status.st_mtime_ns)
        self._known = known
        return bool(known)

    def _checksum(self, name: str) -> tuple[int, str]:
        content = self._open(name)
        with content:
            size = content.seek(0, io.SEEK_END)
            content.seek(0)
            return size, checksum(content, size)

    def _open(self, name: str) -> BinaryIO:
        """A file as it is stored."""
        path = self.folder / name
        if name not in job_layout.PORTABLE:
            return path.open("rb")
        return io.BytesIO(self._outward(path.read_text(encoding="utf-8")))

    def pull(self) -> int:
        """Fetches what other processes have stored; returns how many files."""
        with self._lock:
            return self._settle(lambda name: self._theirs(name) and not _only_grows(name))

    def _list(self) -> dict[str, Found]:
        prefix = self.address.folder
        names = {found.name[len(prefix) :]: found for found in self.bucket.list_all(prefix)}
        return {name: found for name, found in names.items() if not job_layout.is_temporary(name)}

    def _settle(self, wanted: Callable[[str], bool]) -> int:
        for _ in range(ATTEMPTS):
            try:
                return self._fetch({n: f for n, f in self._list().items() if wanted(n)}, wanted)
            except Changed:
                # Somebody stores right now: what was listed no longer belongs together.
                continue
        return 0

    def _fetch(self, listed: dict[str, Found], wanted: Callable[[str], bool]) -> int:
        whole = {name.rpartition("/")[0] for name in listed if name.endswith("/saved_model.pb")}
        count = 0
        for name in sorted(listed, key=lambda name: (job_layout.rank(name), name)):
            found, known = listed[name], self._known.get(name)
            export = job_layout.EXPORT_FILE.match(name)
            if export and export.group().rstrip("/") not in whole:
                continue
            if known is not None and known.found == found:
                continue
            path = self.folder / name
            if name in job_layout.PORTABLE:
                with replaced(path) as temporary:
                    self.bucket.download(found, temporary)
                    _rewrite(temporary, str(self.address).rstrip("/"), str(self.folder))
            else:
                self.bucket.download(found, path)
            self._remember(name, found)
            count += 1
        for name in [name for name in self._known if wanted(name) and name not in listed]:
            (self.folder / name).unlink(missing_ok=True)
            del self._known[name]
        self._save_memory()
        return count

    # To the bucket.

    def push(self) -> int:
        """Stores what has changed here; returns how many objects were stored or removed.

        Raises:
            Conflict: another job has claimed the place, or changed the same object.
            UserError: the bucket cannot be written.
        """
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    return self._store()
                except FileNotFoundError:
                    # Training has removed something meanwhile: look again.
                    continue
            return 0

    def _store(self) -> int:
        # As it is now: by the end it may name a checkpoint that is not stored yet.
        pointer = self.folder / job_layout.CHECKPOINT_STATE
        pointed = pointer.stat() if pointer.exists() else None
        text = pointer.read_text(encoding="utf-8") if pointed else ""
        newest = max(job_layout.read_state_steps(text), default=-1)
        names = [name for name in job_layout.list_names(self.folder) if self._mine(name)]
        names = [name for name in names if pointed or name != job_layout.CHECKPOINT_STATE]
        names = [name for name in names if job_layout.is_settled(name, newest)]

        changed = [
            name
            for name in sorted(names, key=lambda name: (job_layout.rank(name), name))
            if self._has_changed(
                name,
                pointed if name == job_layout.CHECKPOINT_STATE else (self.folder / name).stat(),
            )
        ]
        first = []
        if (
            not text
            and job_layout.CHECKPOINT_STATE in self._known
            and self._mine(job_layout.CHECKPOINT_STATE)
        ):
            # The job begins anew: nothing new may be taken for part of what was there.
            first = [job_layout.CHECKPOINT_STATE]
        # A pointer goes before what it points to.
        gone = [
            name
            for name in sorted({*self._known} - {*names, *first}, key=job_layout.rank, reverse=True)
            if self._mine(name) and not (self.folder / name).exists()
        ]
        if not (first or changed or gone):
            return 0
        with contextlib.ExitStack() as held:
            # Training may remove checkpoints faster than they are stored: what is open stays.
            checkpoints = {
                name: held.enter_context(self._open(name))
                for name in job_layout.newest_checkpoints(changed)[:MOST_OPEN]
            }
            if self.claim is not None:
                self.claim.hold()
            for name in first:
                self._remove_stored(name)
            for name in changed:
                if name == job_layout.CHECKPOINT_STATE:
                    self._upload(name, io.BytesIO(self._outward(text)), pointed)
                elif name in checkpoints:
                    stream = checkpoints[name]
                    self._upload(name, stream, os.fstat(stream.fileno()))
                else:
                    # As it is by now: others were stored meanwhile.
                    status = (self.folder / name).stat()
                    with self._open(name) as stream:
                        self._upload(name, stream, status)
        for name in gone:
            self._remove_stored(name)
        self._save_memory()
        return len(first) + len(changed) + len(gone)

    def _has_changed(self, name: str, status: Any) -> bool:
        known = self._known.get(name)
        return known is None or known[1:] != (status.st_size, status.st_mtime_ns)

    def _outward(self, text: str) -> bytes:
        return text.replace(str(self.folder), str(self.address).rstrip("/")).encode("utf-8")

    def _upload(self, name: str, stream: Any, status: Any) -> None:
        size = len(stream.getbuffer()) if isinstance(stream, io.BytesIO) else status.st_size
        known = self._known.get(name)
        target = self.address.folder + name
        generation = known.found.generation if known is not None else 0
        try:
            found = self.bucket.upload(stream, size, target, generation)
        except Conflict:
            there = self.bucket.find(target) if self._may_overwrite(name) else None
            if there is None:
                raise
            found = self.bucket.upload(stream, size, target, there.generation)
        self._known[name] = Known(found, status.st_size, status.st_mtime_ns)

    def _may_overwrite(self, name: str) -> bool:
        if self.claim is not None:
            # The job that had the place before was in the middle of storing when it lost it.
            self.claim.hold()
            return True
        # An evaluator that was taken for gone, and the chief in its place, may both evaluate.
        return self._shares and (job_layout.is_evaluated(name) or job_layout.is_event_file(name))

    def _remove_stored(self, name: str) -> None:
        try:
            self.bucket.remove(self._known[name].found)
        except Conflict:
            there = self.bucket.find(self.address.folder + name)
            if there is None or not self._may_overwrite(name):
                raise
            self.bucket.remove(there)
        del self._known[name]

    # What both know.

    def _remember(self, name: str, found: Found) -> None:
        status = (self.folder / name).stat()
        self._known[name] = Known(found, status.st_size, status.st_mtime_ns)

    def _save_memory(self) -> None:
        objects = {name: [list(known.found), *known[1:]] for name, known in self._known.items()}
        memory = {"address": str(self.address), "objects": objects}
        write_json(self.folder.parent / self._memory, memory)


def _only_grows(name: str) -> bool:
    """Whether a file is for people and for the process that appends to it."""
    return job_layout.is_event_file(name) or name == job_layout.METRICS_LOG


def _read_memory(memory: dict[str, Any]) -> dict[str, Known]:
    return {
        name: Known(Found(*found), size, mtime_ns)
        for name, (found, size, mtime_ns) in memory["objects"].items()
    }


def _rewrite(path: Path, before: str, after: str) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(before.encode(), after.encode()))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
