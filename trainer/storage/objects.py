"""The objects of a job's folder in a bucket, and the local files with the same content."""

import io
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Optional

from trainer import job_layout
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Conflict, Found
from trainer.storage.claim import Claim
from trainer.storage.files import checksum, replaced
from trainer.storage.memory import Known
from trainer.storage.portable import replace_job_dir


class Objects:
    """Transfers single files between a local folder and a folder in a bucket.

    Several threads may transfer different files at the same time.

    Args:
        bucket: the bucket.
        address: the folder in the bucket.
        folder: the folder on this machine.
        claim: the job's claim to the folder in the bucket; None in processes that make no claim.
        is_shared: whether other machines store files of the same job.

    Attributes:
        bucket: the same.
        address: the same.
        folder: the same.
        claim: the same.
        known: name → the object as it was last seen in the bucket.
    """

    def __init__(
        self,
        bucket: Bucket,
        address: Address,
        folder: Path,
        *,
        claim: Optional[Claim],
        is_shared: bool,
    ):
        self.bucket = bucket
        self.address = address
        self.folder = folder
        self.claim = claim
        self.known: dict[str, Known] = {}
        self._is_shared = is_shared

    def list_stored(self) -> dict[str, Found]:
        """Returns the objects of the folder in the bucket, except temporary ones.

        Raises:
            UserError: the bucket cannot be read.
        """
        names = self.bucket.list_folder(self.address)
        return {name: found for name, found in names.items() if not job_layout.is_temporary(name)}

    def has_changed(self, name: str, status: Any) -> bool:
        """Returns whether a local file differs from the object that was last seen.

        Args:
            name: of the file.
            status: its os.stat_result.
        """
        known = self.known.get(name)
        return known is None or known[1:] != (status.st_size, status.st_mtime_ns)

    def read_checksum(self, name: str) -> tuple[int, str]:
        """Returns size and CRC-32C that the object of a local file has, if it is stored.

        Args:
            name: of the file.
        """
        with self.open(name) as content:
            size = content.seek(0, io.SEEK_END)
            content.seek(0)
            return size, checksum(content, size)

    def open(self, name: str) -> BinaryIO:
        """Opens a stream of the content with which a local file is stored in the bucket.

        Args:
            name: of the file.
        """
        path = self.folder / name
        if name not in job_layout.PORTABLE:
            return path.open("rb")
        return io.BytesIO(self.make_portable(name, path.read_text("utf-8", "surrogateescape")))

    def make_portable(self, name: str, text: str) -> bytes:
        """Returns a file's content with the address in the bucket as the path of the job_dir.

        Args:
            name: of the file.
            text: its local content.
        """
        address = str(self.address).rstrip("/")
        return replace_job_dir(name, text, str(self.folder), address).encode(
            "utf-8", "surrogateescape"
        )

    def download(self, name: str, found: Found) -> None:
        """Fetches an object into its local file.

        Args:
            name: of the file.
            found: the object.

        Raises:
            Changed: the object has changed since it was listed.
            UserError: the object cannot be fetched.
        """
        path = self.folder / name
        if name in job_layout.PORTABLE:
            with replaced(path) as temporary:
                self.bucket.download(found, temporary)
                text = temporary.read_text("utf-8", "surrogateescape")
                address = str(self.address).rstrip("/")
                text = replace_job_dir(name, text, address, str(self.folder))
                temporary.write_text(text, "utf-8", "surrogateescape")
        else:
            self.bucket.download(found, path)
        try:
            status = path.stat()
        except FileNotFoundError:
            # A program that cleans up has removed it already.
            self.known[name] = Known(found, -1, -1)
        else:
            self.known[name] = Known(found, status.st_size, status.st_mtime_ns)

    def upload(self, name: str, stream: BinaryIO, status: Any) -> None:
        """Stores the content of a local file, unless the object already has this content.

        Args:
            name: of the file.
            stream: the content to store.
            status: os.stat_result of the file when the content was read.

        Raises:
            Conflict: another writer has changed the object.
            UserError: the object cannot be written.
        """
        size = len(stream.getbuffer()) if isinstance(stream, io.BytesIO) else status.st_size
        known = self.known.get(name)
        if known is not None and known.found.size == size:
            stream.seek(0)
            if checksum(stream, size) == known.found.crc32c:
                # Training saves the checkpoint from which it resumes again.
                self.known[name] = Known(known.found, status.st_size, status.st_mtime_ns)
                return
        target = self.address.folder + name
        generation = known.found.generation if known is not None else 0
        try:
            found = self.bucket.upload(stream, size, target, generation)
        except Conflict:
            # Found before the claim is checked: a later job gives objects new generations.
            there = self.bucket.find(target)
            if not self._may_overwrite(name):
                raise
            found = self.bucket.upload(stream, size, target, there.generation if there else 0)
        self.known[name] = Known(found, status.st_size, status.st_mtime_ns)

    def upload_file(self, name: str) -> None:
        """Stores a local file in its present state.

        Args:
            name: of the file.

        Raises:
            Conflict: another writer has changed the object.
            FileNotFoundError: the file has been removed.
            UserError: the object cannot be written.
        """
        status = (self.folder / name).stat()
        with self.open(name) as stream:
            self.upload(name, stream, status)

    def _may_overwrite(self, name: str) -> bool:
        if self.claim is not None:
            # The job with the previous claim may have stored this object while this job made its
            # claim.
            self.claim.enforce()
            return True
        # If the chief takes over from a silent evaluator, both may store the same evaluation.
        return self._is_shared and (job_layout.is_evaluated(name) or job_layout.is_event_file(name))

    def remove(self, name: str) -> None:
        """Removes an object.

        Args:
            name: of the object.

        Raises:
            Conflict: another writer has changed the object.
            UserError: the object cannot be removed.
        """
        try:
            self.bucket.remove(self.known[name].found)
        except Conflict:
            there = self.bucket.find(self.address.folder + name)
            if there is None or not self._may_overwrite(name):
                raise
            self.bucket.remove(there)
        del self.known[name]

    def note_leftovers(self, listed: Mapping[str, Found]) -> None:
        """Records incomplete exports and checkpoints in `known`, so that they are removed.

        Does nothing in a process without a claim. If other machines store files of the same job,
        one of them may be storing a recent export at this moment; it is not recorded.

        Args:
            listed: the objects in the bucket.
        """
        unfinished = self.find_leftovers(listed)
        partial = job_layout.find_partial_checkpoints(listed) if self.claim is not None else set()
        for name, found in listed.items():
            is_leftover = job_layout.find_export(name) in unfinished
            if name in partial or is_leftover and not (self.folder / name).exists():
                self.known[name] = Known(found, -1, -1)

    def find_leftovers(self, names: Collection[str]) -> set[str]:
        """Returns the folders of incomplete exports that no process completes any more.

        Args:
            names: of the objects in the bucket.
        """
        if self.claim is None:
            return set()
        return {
            folder
            for folder in job_layout.find_unfinished_exports(names)
            if not (self.folder / folder).exists()
            and (not self._is_shared or job_layout.is_abandoned(folder, time.time()))
        }

    def read_state(self) -> str:
        """Returns the local checkpoint state file; "" if there is none."""
        return job_layout.read_state(self.folder)
