"""Stores the changes of a job's local folder in a bucket, the newest checkpoint before all else.

A job that is restarted on another machine resumes from the checkpoint that the state file in the
bucket names. So the newest checkpoint is stored first, then the state file, and only then metrics,
event files, exports and older checkpoints. While those are being stored, which may take long, a
newer checkpoint is stored in between. Removals come last.
"""

import contextlib
import functools
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, BinaryIO, Optional

from trainer import job_layout
from trainer.job_layout import CHECKPOINT_STATE, CHECKPOINT_STEM, STATE_RANK
from trainer.storage.bucket import Changed
from trainer.storage.objects import Objects
from trainer.storage.takeover import take_over
from trainer.storage.transfers import run_all

# Maximum number of files to keep open at once. Most machines allow 1,024 per process.
MOST_OPEN = 256
# Number of files that are stored before a newer checkpoint is looked for.
BATCH = 32
# Status of a stored state file that is not a local one.
NO_FILE = SimpleNamespace(st_size=-1, st_mtime_ns=-1)
# How often the state file is read again because training has removed its newest checkpoint.
ATTEMPTS = 5


class Outgoing:
    """Stores the changes of a local folder.

    Args:
        objects: the local folder and its folder in the bucket.
        mine: returns whether this process stores the file with a name.
    """

    def __init__(self, objects: Objects, mine: Callable[[str], bool]):
        self._objects = objects
        self._mine = mine
        self._num_changes = 0
        self._has_taken_over = False
        # Steps of which the bucket may have files of two checkpoints.
        self._mixed_steps: set[int] = set()
        # The steps that the stored state file names; None until it is known.
        self._stored_steps: Optional[list[int]] = None
        self._stored_state = b""

    def store(self, starts_over: bool) -> int:
        """Stores all changes, and returns how many objects it stored or removed.

        Args:
            starts_over: whether to remove all objects whose files are missing in the local folder.

        Raises:
            Changed: another job has changed objects before this job claimed the folder.
            Conflict: another job has claimed the folder in the bucket, or changed the same object.
            FileNotFoundError: a file has been removed while it was to be stored.
            UserError: the bucket cannot be written.
        """
        self._num_changes = 0
        if starts_over and self._has_lost_state():
            # Remove the old state file first, so that new files are not combined with an old
            # checkpoint.
            self._remove([CHECKPOINT_STATE])
        self._store_checkpoints()
        others = [name for name in self._list_mine() if job_layout.rank(name) > STATE_RANK]
        for batch in _split(self._find_changed(others)):
            self._store_files(batch)
            if not self.is_state_stored():
                self._store_checkpoints()
        self._store_older()
        self._remove(self._find_superseded(starts_over))
        if self._num_changes:
            # Not in a job that stores nothing else: it does not claim the folder.
            self._remove(self._find_leftovers())
        return self._num_changes

    @property
    def stored_step(self) -> Optional[int]:
        """The step of the newest checkpoint that the stored state file names; None if unknown."""
        steps = job_layout.read_state_steps(self._objects.read_state())
        if not self.is_state_stored():
            steps = self._stored_steps or []
        return steps[0] if steps else None

    def is_state_stored(self) -> bool:
        """Returns whether the stored state file is the local one."""
        status = self._stat_state()
        if status is None or not self._mine(CHECKPOINT_STATE):
            return CHECKPOINT_STATE not in self._objects.known or not self._mine(CHECKPOINT_STATE)
        return not self._objects.has_changed(CHECKPOINT_STATE, status)

    def _list_mine(self) -> list[str]:
        return [name for name in job_layout.list_names(self._objects.folder) if self._mine(name)]

    def _find_changed(self, names: Collection[str]) -> list[str]:
        """Returns those files that differ from what is stored, in the order of their ranks."""
        folder = self._objects.folder
        ordered = sorted(names, key=lambda name: (job_layout.rank(name), name))
        return [n for n in ordered if self._objects.has_changed(n, (folder / n).stat())]

    def _has_lost_state(self) -> bool:
        return (
            not self._objects.read_state()
            and CHECKPOINT_STATE in self._objects.known
            and self._mine(CHECKPOINT_STATE)
        )

    def _stat_state(self) -> Optional[os.stat_result]:
        try:
            return (self._objects.folder / CHECKPOINT_STATE).stat()
        except FileNotFoundError:
            return None

    def _store_checkpoints(self) -> None:
        """Stores the newest checkpoint and the model's description, then the state file."""
        for _ in range(ATTEMPTS):
            # Read the state file first. Later it may name a newer checkpoint, which this attempt
            # does not store.
            status, text = self._stat_state(), self._objects.read_state()
            steps = job_layout.read_state_steps(text)
            if steps:
                self._unname_replaced(steps[0], text)
            self._store_model(steps[0] if steps else None, status)
            if status is None or self.is_state_stored() or self._store_state(text, status):
                return
            if text == self._objects.read_state():
                # The newest checkpoint is incomplete. The bucket keeps the one before it.
                return

    def _unname_replaced(self, step: int, text: str) -> None:
        """Stores a state file without a checkpoint whose stored files others are about to replace.

        A job that has resumed from an older checkpoint may save this step anew before the state
        file with which it has begun is stored.
        """
        index, known = f"{CHECKPOINT_STEM}-{step}.index", self._objects.known
        is_named = self._stored_steps is None or step in self._stored_steps
        if not is_named or index not in known or CHECKPOINT_STATE not in known:
            return
        if self._is_as_stored(index) or not self._mine(CHECKPOINT_STATE):
            return
        try:
            checksum = self._objects.read_checksum(index)[1]
        except FileNotFoundError:
            # Training has removed it.
            return
        # The checkpoint from which training resumes is saved again, with the same content.
        if checksum == known[index].found.crc32c:
            return
        self._check_claim()
        whole = job_layout.find_whole_steps(known) - self._mixed_steps - {step}
        kept = whole & {*job_layout.read_state_steps(text)}
        if kept:
            others = job_layout.keep_steps(job_layout.name_newest(text, max(kept)), kept)
            self._upload_state(others, sorted(kept, reverse=True), NO_FILE)

    def _store_older(self) -> None:
        """Stores the other checkpoints, newest first, and names them in the stored state file."""
        named = job_layout.read_state_steps(self._objects.read_state()) or [-1]
        # A checkpoint that is newer than all named ones may be unfinished.
        changed = self._find_changed_steps()
        older = [step for step in changed - {named[0]} if step <= max(named)]
        for step in sorted(older, reverse=True):
            # Training may have removed it meanwhile.
            with contextlib.suppress(FileNotFoundError):
                self._store_model(step, self._stat_state())
            if not self.is_state_stored():
                self._store_checkpoints()
        status, text = self._stat_state(), self._objects.read_state()
        if status is not None and self._mine(CHECKPOINT_STATE) and self._stored_state:
            self._store_state(text, status)

    def _find_changed_steps(self, graphs: bool = True) -> set[int]:
        """Returns the steps of the checkpoints that differ from what is stored.

        Args:
            graphs: whether the graph counts, which is not needed to resume.
        """
        files = [name for name in self._list_mine() if job_layout.find_step(name) is not None]
        files = [name for name in files if graphs or not name.endswith(".meta")]
        return {job_layout.find_step(name) or 0 for name in self._find_changed(files)}

    def _store_model(self, step: Optional[int], pointed: Optional[os.stat_result]) -> None:
        """Stores the changes of one checkpoint and of the model's description."""
        names = [
            name
            for name in self._list_mine()
            if job_layout.rank(name) < STATE_RANK and job_layout.find_step(name) in (None, step)
        ]
        changed = [n for n in self._find_changed(names) if not self._is_unfinished(n, pointed)]
        if step is not None and self._list_parts(step, changed):
            self._mixed_steps.add(step)
        with contextlib.ExitStack() as held:
            # Open the checkpoints first: training may remove them before they are stored, but open
            # files stay readable.
            streams = {
                name: held.enter_context(self._objects.open(name))
                for name in job_layout.newest_checkpoints(changed)[:MOST_OPEN]
            }
            self._store_files(changed, streams)
        # An earlier attempt may have stored all its files, and then failed at another one.
        if step in self._mixed_steps and self._is_of_one_save(step, changed):
            self._mixed_steps.remove(step)

    def _is_of_one_save(self, step: int, stored: Collection[str]) -> bool:
        """Returns whether the files of a checkpoint that were not stored just now are as stored."""
        others = {*self._list_parts(step, self._objects.known)} - {*stored}
        return all(map(self._is_as_stored, others))

    @staticmethod
    def _list_parts(step: int, names: Iterable[str]) -> list[str]:
        """Returns the files of a checkpoint among names, without the graph."""
        return [n for n in names if job_layout.find_step(n) == step and not n.endswith(".meta")]

    def _is_as_stored(self, name: str) -> bool:
        """Returns whether a local file is there and has been stored."""
        try:
            return not self._objects.has_changed(name, (self._objects.folder / name).stat())
        except FileNotFoundError:
            return False

    def _is_unfinished(self, name: str, pointed: Optional[os.stat_result]) -> bool:
        """Returns whether a stored checkpoint is being saved again at this moment.

        Training does this when it resumes. It writes the state file after the checkpoint, and the
        graph, which is not needed to resume, after the state file.
        """
        if pointed is None or name not in self._objects.known or name.endswith(".meta"):
            return False
        is_checkpoint = job_layout.CHECKPOINT_FILE.fullmatch(name) is not None
        changed = (self._objects.folder / name).stat().st_mtime_ns
        return is_checkpoint and changed > pointed.st_mtime_ns

    def _store_state(self, text: str, status: os.stat_result) -> bool:
        """Stores the state file; returns False if its newest checkpoint is not stored completely.

        Checkpoints that training has removed before they could be stored are left out.
        """
        steps = job_layout.read_state_steps(text)
        whole = job_layout.find_whole_steps(self._objects.known)
        # Another job may have stored a checkpoint of a step that this job has saved differently.
        whole -= self._find_changed_steps(graphs=False) | self._mixed_steps
        if steps and steps[0] not in whole:
            return False
        self._upload_state(job_layout.keep_steps(text, whole), steps, status)
        return True

    def _upload_state(self, text: str, steps: list[int], status: Any) -> None:
        """Stores a state file, unless it is stored, with the status of the local file."""
        content = self._objects.make_portable(CHECKPOINT_STATE, text)
        if content == self._stored_state and self.is_state_stored():
            return
        self._check_claim()
        # If the answer is lost, it is not known which checkpoints the bucket needs.
        self._stored_steps = None
        self._objects.upload(CHECKPOINT_STATE, io.BytesIO(content), status)
        self._stored_steps, self._stored_state = steps, content
        self._num_changes += 1

    def _store_files(
        self, names: Sequence[str], streams: Mapping[str, BinaryIO] = MappingProxyType({})
    ) -> None:
        """Stores files, several at the same time; each rank is complete before the next begins."""
        if not names:
            return
        self._check_claim()
        objects = self._objects
        with contextlib.ExitStack() as stack:
            progress = objects.bucket.progress
            if progress.console is not None:
                size = sum((objects.folder / name).stat().st_size for name in names)
                stack.enter_context(progress.show(f"storing {objects.address}", size))
            for rank in sorted(set(map(job_layout.rank, names))):
                run_all(
                    [
                        functools.partial(self._store_file, name, streams.get(name))
                        for name in names
                        if job_layout.rank(name) == rank
                    ]
                )
        self._num_changes += len(names)

    def _store_file(self, name: str, stream: Optional[BinaryIO]) -> None:
        if stream is None:
            self._objects.upload_file(name)
        else:
            self._objects.upload(name, stream, os.fstat(stream.fileno()))

    def _check_claim(self) -> None:
        claim = self._objects.claim
        if claim is None:
            return
        claim.enforce()
        # A job that had the claim before may have stored and removed objects meanwhile. If an error
        # of the service ends this, it begins again.
        if not self._has_taken_over:
            has_changed = take_over(self._objects)
            # If a later job has done the same meanwhile, its generations have been taken for own.
            claim.enforce()
            self._has_taken_over = True
            if has_changed:
                raise Changed(str(self._objects.address))

    def _find_superseded(self, starts_over: bool) -> list[str]:
        """Returns the objects that the job no longer has."""
        # Read the state file before its status: if it changes meanwhile, it counts as not stored.
        steps = job_layout.read_state_steps(self._objects.read_state())
        if self.is_state_stored():
            self._stored_steps = steps
        local_names = set(job_layout.list_names(self._objects.folder))
        return [
            name
            for name in self._objects.known
            if self._mine(name)
            and name not in local_names
            and not (self._objects.folder / name).exists()
            and (starts_over or self._is_superseded(name, local_names))
        ]

    def _find_leftovers(self) -> list[str]:
        """Returns the objects of exports that were never completed."""
        known = self._objects.known
        folders = self._objects.find_leftovers(known)
        return [n for n in known if self._mine(n) and job_layout.find_export(n) in folders]

    def _is_superseded(self, name: str, local_names: Collection[str]) -> bool:
        # Training may have removed checkpoints that the stored state file still names.
        steps = self._stored_steps
        return steps is not None and job_layout.is_superseded(name, steps, local_names)

    def _remove(self, names: Sequence[str]) -> None:
        """Removes objects; one that names others is removed before them."""
        if not names:
            return
        self._check_claim()
        for rank in sorted(set(map(job_layout.rank, names)), reverse=True):
            removed = [name for name in names if job_layout.rank(name) == rank]
            run_all([functools.partial(self._objects.remove, name) for name in removed])
            self._num_changes += len(removed)


def _split(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), BATCH):
        yield names[start : start + BATCH]
