"""Mirrors a job's local folder in a bucket.

When the job starts, the local folder is restored from the bucket. While the job runs, changes of
the local folder are stored in a fixed order (see `outgoing`): checkpoints before the state file
that names them, then all other files, an export's files before its saved_model.pb, and removals
last. So neither a reader of the bucket nor a job that is restarted on a machine with an empty disk
ever finds a partial checkpoint.

An object is removed only if the job removed the file. A file that disappears in another way stays
in the bucket, and is fetched again when the job is restarted.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import job_layout
from trainer.errors import TemporaryError
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Changed, Found
from trainer.storage.claim import Claim
from trainer.storage.comparison import find_missing, forget_lost
from trainer.storage.files import remove
from trainer.storage.memory import Memory
from trainer.storage.objects import Objects
from trainer.storage.outgoing import Outgoing
from trainer.storage.requests import Unavailable
from trainer.storage.transfers import run_all

ATTEMPTS = 5


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
        memory: records the objects last seen in the bucket.

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
        memory: Memory,
    ):
        self.address = address
        self.folder = folder
        self.bucket = bucket
        self.claim = claim
        self._mine = division.mine
        self._theirs = division.theirs or (lambda name: not division.mine(name))
        self._memory = memory
        self._objects = Objects(bucket, address, folder, claim=claim, is_shared=division.is_shared)
        self._outgoing = Outgoing(self._objects, division.mine)
        self._is_starting_over = False
        # A lock, because a thread stores files during training.
        self._lock = threading.RLock()

    @property
    def stored_step(self) -> Optional[int]:
        """The global step of the newest checkpoint in the bucket; None if it is not known."""
        return self._outgoing.stored_step

    def check_stored(self) -> None:
        """Checks, when the job has ended, that its newest checkpoint is stored.

        Raises:
            TemporaryError: it is not, because files of it are missing.
        """
        with self._lock:
            is_lost = not (self.folder / job_layout.CHECKPOINT_STATE).exists()
            if not is_lost and not self._outgoing.is_state_stored():
                raise TemporaryError(
                    f"{self.address}: the newest checkpoint is incomplete, and is not stored; the "
                    "same command resumes from the one before it"
                )

    def check_restored(self) -> None:
        """Checks, before training, that the restored checkpoints are still there.

        Raises:
            TemporaryError: another program has removed the state file, so that training would begin
                at step 0.
        """
        with self._lock:
            is_there = (self.folder / job_layout.CHECKPOINT_STATE).exists()
            is_expected = job_layout.CHECKPOINT_STATE in self._objects.known
            if is_expected and not is_there and not self._is_starting_over:
                raise TemporaryError(
                    f"{self.folder}: another program has removed files since {self.address} was "
                    "fetched into it; the same command fetches them again. End that program, or "
                    "name another folder in --storage.cache_dir"
                )

    def start_over(self) -> None:
        """Makes the next `push` remove all objects whose files are missing in the local folder."""
        with self._lock:
            self._is_starting_over = True

    def restore(self) -> int:
        """Makes the local folder a copy of the bucket's; returns the number of fetched files.

        If the local folder is newer than the bucket, because this machine stopped before it could
        store its last changes, only files that are missing locally are fetched.

        Raises:
            UserError: the bucket cannot be read, or another job keeps changing it.
        """
        with self._lock:
            if self.claim is not None:
                self.claim.note_owner()
            memory = self._memory.load()
            listed = self._objects.list_stored()
            count = 0
            with contextlib.suppress(Changed):
                while memory is not None:
                    missing = find_missing(self._objects, memory, listed, self._memory.log)
                    if missing is None:
                        break
                    if not missing:
                        return self._finish_restore(count, listed)
                    self._download({name: listed[name] for name in missing})
                    count += len(missing)
                    # Old files may have been cleaned away while this waited for the bucket.
                    memory = self._objects.known
            return self._restore_all()

    def _restore_all(self) -> int:
        """Replaces the local folder by the bucket's; returns the number of fetched files."""
        for child in self.folder.iterdir():
            # Other processes of a cluster on this machine already use the cluster folder.
            if child.name != job_layout.CLUSTER_FOLDER:
                remove(child)
        self._objects.known = {}
        count = 0
        for _ in range(ATTEMPTS):
            fetched = self._settle(lambda name: True)
            if fetched is None:
                raise Unavailable(
                    f"{self.address}: is changed again and again while it is fetched; end the job "
                    "that still stores files there, and start this one again"
                )
            count += fetched
            # Listed before the files are looked for: a request may take long enough for a program
            # that cleans up to remove all of them.
            listed = self._objects.list_stored()
            if not forget_lost(self._objects):
                return self._finish_restore(count, listed)
        raise Unavailable(
            f"{self.folder}: another program removes files while {self.address} is fetched into "
            "it; end that program, or name another folder in --storage.cache_dir"
        )

    def _finish_restore(self, count: int, listed: Mapping[str, Found]) -> int:
        self._objects.note_leftovers(listed)
        self._memory.save(self._objects.known)
        return count

    def _download(self, listed: Mapping[str, Found]) -> None:
        """Fetches objects, several at the same time; each rank is complete before the next."""
        # The newest checkpoints first: they are removed last.
        newest = job_layout.newest_checkpoints(list(listed))
        size = sum(found.size for found in listed.values())
        with self.bucket.progress.show(f"fetching {self.address}", size):
            for rank in sorted(set(map(job_layout.rank, listed))):
                names = [*newest, *sorted({*listed} - {*newest})]
                run_all(
                    [
                        functools.partial(self._objects.download, name, listed[name])
                        for name in names
                        if job_layout.rank(name) == rank
                    ]
                )

    def pull(self) -> int:
        """Fetches the files that other processes have stored; returns how many it fetched."""
        with self._lock:
            count = self._settle(lambda name: self._theirs(name) and not job_layout.is_log(name))
            return count or 0

    def _settle(self, wanted: Callable[[str], bool]) -> Optional[int]:
        """Fetches files; returns how many, or None if other processes keep changing them."""
        for _ in range(ATTEMPTS):
            try:
                return self._fetch(wanted)
            except Changed:
                # Another process is storing files, so the list may be inconsistent: try again.
                continue
        return None

    def _fetch(self, wanted: Callable[[str], bool]) -> int:
        listed = {
            name: found for name, found in self._objects.list_stored().items() if wanted(name)
        }
        known = self._objects.known
        unfinished = job_layout.find_unfinished_exports(listed)
        # Of the first checkpoint of a job that was killed while it stored this checkpoint. No state
        # file names it.
        partial = job_layout.find_partial_checkpoints(listed)
        if job_layout.CHECKPOINT_STATE not in listed:
            # A graph shows that the checkpoint beside it is complete, if TensorFlow has written
            # both. Here they may be of two jobs.
            partial |= {name for name in listed if name.endswith(".meta")}
        changed = {}
        for name, found in listed.items():
            is_whole = job_layout.find_export(name) not in unfinished and name not in partial
            if is_whole and (name not in known or known[name].found != found):
                changed[name] = found
        self._download(changed)
        for name in [name for name in known if wanted(name) and name not in listed]:
            (self.folder / name).unlink(missing_ok=True)
            del known[name]
        self._memory.save(self._objects.known)
        return len(changed)

    def push(self) -> int:
        """Stores all changes of the local folder; returns how many objects it stored or removed.

        Raises:
            Conflict: another job has claimed the folder in the bucket, or changed the same object.
            UserError: the bucket cannot be written.
        """
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    count = self._outgoing.store(self._is_starting_over)
                except (FileNotFoundError, Changed):
                    # Training has removed a file, or another job has changed the bucket: try again.
                    continue
                self._is_starting_over = False
                if count:
                    self._memory.save(self._objects.known)
                return count
            return 0
