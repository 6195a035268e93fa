"""Mirrors a job's local folder in a bucket.

When the job starts, the local folder is restored from the bucket. While the job runs, changes of
the local folder are stored in a fixed order: checkpoints before the state file that names them, an
export's files before its saved_model.pb, and removals last. So neither a reader of the bucket nor a
job that is restarted on a machine with an empty disk ever finds a partial checkpoint.

An object is removed only if the job removed the file. A file that disappears in another way stays
in the bucket, and is fetched again when the job is restarted.
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
from trainer.storage.addresses import Address, replace_path
from trainer.storage.bucket import Bucket, Changed, Conflict, Found
from trainer.storage.claim import Claim
from trainer.storage.files import checksum, read_json, replaced, write_json

# Name of the file that records which objects this machine has last seen in the bucket.
MEMORY = "mirror.json"
ATTEMPTS = 5
# Maximum number of files to keep open at once. Most machines allow 1,024 per process.
MOST_OPEN = 256


class Known(NamedTuple):
    """An object as it was last seen, and the state of the local file with the same content.

    Attributes:
        found: the object.
        size: size of the local file in bytes.
        mtime_ns: time of the last change of the local file.
    """

    found: Found
    size: int
    mtime_ns: int


class Division(NamedTuple):
    """Which processes store which files of a job.

    Attributes:
        mine: returns whether this process stores the file with a name.
        theirs: returns whether other processes store the file with a name; None: they store all
            files that this process does not store.
        is_shared: whether other machines store files of the same job.
    """

    mine: Callable[[str], bool] = lambda name: True
    theirs: Optional[Callable[[str], bool]] = None
    is_shared: bool = False


# This process stores all files.
WHOLE = Division()


class Mirror:
    """Keeps a local folder and a folder in a bucket synchronised.

    Args:
        bucket: the bucket.
        address: the folder in the bucket.
        folder: the folder on this machine.
        division: which files this process stores; all of them by default.
        claim: the job's claim to the folder in the bucket; None in processes that make no claim.
        memory: name of the file, in the local folder's parent folder, that records the objects last
            seen in the bucket.

    Attributes:
        bucket: the same.
        address: the same.
        folder: the same.
        claim: the same.
    """

    def __init__(
        self,
        bucket: Bucket,
        address: Address,
        folder: Path,
        division: Division = WHOLE,
        *,
        claim: Optional[Claim] = None,
        memory: str = MEMORY,
    ):
        self.address = address
        self.folder = folder
        self.bucket = bucket
        self._mine = division.mine
        self._theirs = division.theirs or (lambda name: not division.mine(name))
        self._is_shared = division.is_shared
        self.claim = claim
        self._memory = memory
        self._known: dict[str, Known] = {}
        self._is_starting_over = False
        # A lock, because a thread stores files during training.
        self._lock = threading.RLock()

    def start_over(self) -> None:
        """Makes the next `push` remove all objects whose files are missing in the local folder."""
        with self._lock:
            self._is_starting_over = True

    def restore(self) -> int:
        """Makes the local folder a copy of the bucket's; returns the number of fetched files.

        If the local folder is newer than the bucket, because this machine stopped before it could
        store its last changes, only files that are missing locally are fetched.

        Raises:
            UserError: the bucket cannot be read.
        """
        with self._lock:
            if self.claim is not None:
                self.claim.note_owner()
            memory = read_json(self.folder.parent / self._memory)
            listed = self._list()
            missing = None if memory is None else self._find_missing(memory, listed)
            if missing is not None:
                with contextlib.suppress(Changed):
                    for name in missing:
                        self._download(name, listed[name])
                    self._save_memory()
                    return len(missing)
                listed = self._list()
            for child in self.folder.iterdir():
                # Other processes of a cluster on this machine already use the cluster folder.
                if child.name != job_layout.CLUSTER_FOLDER:
                    _remove(child)
            self._known = {}
            return self._settle(lambda name: True)

    def _find_missing(
        self, memory: dict[str, Any], listed: dict[str, Found]
    ) -> Optional[list[str]]:
        """Returns the objects that the local folder lacks and the job did not remove.

        Returns:
            Their names; None if another machine has changed the bucket since `memory` was written,
            or if the local folder has lost the state file.
        """
        if memory.get("address") != str(self.address):
            return None
        known = _read_memory(memory)
        local_names = set(job_layout.list_names(self.folder))
        state = job_layout.CHECKPOINT_STATE
        if state in listed and state not in local_names:
            return None
        steps = self._read_steps()
        missing = []
        for name in {*known, *listed}:
            stored, local = listed.get(name), self.folder / name
            if stored is None:
                # The object was removed. If the local file still exists, another machine did that.
                if local.exists():
                    return None
                known.pop(name, None)
            elif name in known and known[name].found == stored:
                if not local.exists() and not job_layout.is_superseded(name, steps, local_names):
                    missing.append(name)
            else:
                # This machine may have stored the object just before it stopped, too late to record
                # it. Then the local file has the same content.
                if not local.is_file() or self._checksum(name) != (stored.size, stored.crc32c):
                    return None
                status = local.stat()
                known[name] = Known(stored, status.st_size, status.st_mtime_ns)
        self._known = known
        return missing if known else None

    def _read_steps(self) -> list[int]:
        state = self.folder / job_layout.CHECKPOINT_STATE
        return job_layout.read_state_steps(state.read_text("utf-8")) if state.exists() else []

    def _checksum(self, name: str) -> tuple[int, str]:
        content = self._open(name)
        with content:
            size = content.seek(0, io.SEEK_END)
            content.seek(0)
            return size, checksum(content, size)

    def _open(self, name: str) -> BinaryIO:
        """Opens a stream of the content with which a local file is stored in the bucket."""
        path = self.folder / name
        if name not in job_layout.PORTABLE:
            return path.open("rb")
        return io.BytesIO(self._outward(path.read_text(encoding="utf-8")))

    def pull(self) -> int:
        """Fetches the files that other processes have stored; returns how many it fetched."""
        with self._lock:
            return self._settle(lambda name: self._theirs(name) and not job_layout.is_log(name))

    def _list(self) -> dict[str, Found]:
        names = self.bucket.list_folder(self.address)
        return {name: found for name, found in names.items() if not job_layout.is_temporary(name)}

    def _settle(self, wanted: Callable[[str], bool]) -> int:
        for _ in range(ATTEMPTS):
            try:
                return self._fetch({n: f for n, f in self._list().items() if wanted(n)}, wanted)
            except Changed:
                # Another process is storing files, so the list may be inconsistent: try again.
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
            self._download(name, found)
            count += 1
        for name in [name for name in self._known if wanted(name) and name not in listed]:
            (self.folder / name).unlink(missing_ok=True)
            del self._known[name]
        self._save_memory()
        return count

    def _download(self, name: str, found: Found) -> None:
        path = self.folder / name
        if name in job_layout.PORTABLE:
            with replaced(path) as temporary:
                self.bucket.download(found, temporary)
                text = temporary.read_text("utf-8", "surrogateescape")
                text = replace_path(text, str(self.address).rstrip("/"), str(self.folder))
                temporary.write_text(text, "utf-8", "surrogateescape")
        else:
            self.bucket.download(found, path)
        self._remember(name, found)

    def push(self) -> int:
        """Stores all changes of the local folder; returns how many objects it stored or removed.

        Raises:
            Conflict: another job has claimed the folder in the bucket, or changed the same object.
            UserError: the bucket cannot be written.
        """
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    return self._store()
                except FileNotFoundError:
                    # Training has removed a file in the meantime: try again.
                    continue
            return 0

    def _store(self) -> int:
        # Read the state file first. Later it may name a newer checkpoint, which this call will not
        # store.
        pointer = self.folder / job_layout.CHECKPOINT_STATE
        pointed = pointer.stat() if pointer.exists() else None
        text = pointer.read_text(encoding="utf-8") if pointed else ""
        steps = job_layout.read_state_steps(text)
        newest = max(steps, default=-1)
        local_names = set(job_layout.list_names(self.folder))
        names = [name for name in local_names if self._mine(name)]
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
            self._is_starting_over
            and not text
            and job_layout.CHECKPOINT_STATE in self._known
            and self._mine(job_layout.CHECKPOINT_STATE)
        ):
            # Remove the old state file first, so that new files are not combined with an old
            # checkpoint.
            first = [job_layout.CHECKPOINT_STATE]
        # A file that names other files is removed before those files.
        gone = [
            name
            for name in sorted({*self._known} - {*names, *first}, key=job_layout.rank, reverse=True)
            if self._mine(name)
            and not (self.folder / name).exists()
            and (self._is_starting_over or job_layout.is_superseded(name, steps, local_names))
        ]
        if not (first or changed or gone):
            return 0
        with contextlib.ExitStack() as held:
            # Open the checkpoints first: training may remove them before they are stored, but open
            # files stay readable.
            checkpoints = {
                name: held.enter_context(self._open(name))
                for name in job_layout.newest_checkpoints(changed)[:MOST_OPEN]
            }
            if self.claim is not None:
                self.claim.enforce()
            for name in first:
                self._remove_stored(name)
            for name in changed:
                if name == job_layout.CHECKPOINT_STATE:
                    self._upload(name, io.BytesIO(self._outward(text)), pointed)
                elif name in checkpoints:
                    stream = checkpoints[name]
                    self._upload(name, stream, os.fstat(stream.fileno()))
                else:
                    # Read the status again: the file may have changed since.
                    status = (self.folder / name).stat()
                    with self._open(name) as stream:
                        self._upload(name, stream, status)
        for name in gone:
            self._remove_stored(name)
        self._is_starting_over = False
        self._save_memory()
        return len(first) + len(changed) + len(gone)

    def _has_changed(self, name: str, status: Any) -> bool:
        known = self._known.get(name)
        return known is None or known[1:] != (status.st_size, status.st_mtime_ns)

    def _outward(self, text: str) -> bytes:
        return replace_path(text, str(self.folder), str(self.address).rstrip("/")).encode("utf-8")

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
            # The job with the previous claim may have stored this object while this job made its
            # claim.
            self.claim.enforce()
            return True
        # If the chief takes over from a silent evaluator, both may store the same evaluation.
        return self._is_shared and (job_layout.is_evaluated(name) or job_layout.is_event_file(name))

    def _remove_stored(self, name: str) -> None:
        try:
            self.bucket.remove(self._known[name].found)
        except Conflict:
            there = self.bucket.find(self.address.folder + name)
            if there is None or not self._may_overwrite(name):
                raise
            self.bucket.remove(there)
        del self._known[name]

    def _remember(self, name: str, found: Found) -> None:
        status = (self.folder / name).stat()
        self._known[name] = Known(found, status.st_size, status.st_mtime_ns)

    def _save_memory(self) -> None:
        objects = {name: [list(known.found), *known[1:]] for name, known in self._known.items()}
        memory = {"address": str(self.address), "objects": objects}
        write_json(self.folder.parent / self._memory, memory)


def _read_memory(memory: dict[str, Any]) -> dict[str, Known]:
    return {
        name: Known(Found(*found), size, mtime_ns)
        for name, (found, size, mtime_ns) in memory["objects"].items()
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
