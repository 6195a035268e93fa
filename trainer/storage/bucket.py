"""Lists, reads, writes and removes objects in a bucket of Cloud Storage.

Every write and removal request contains the generation with which the object was last seen. So two
writers cannot overwrite each other unnoticed, and a request can be repeated if its response is
lost. The content of a fetched object is verified with the CRC-32C from the service.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from trainer.errors import UserError
from trainer.storage.addresses import Address, check_local_names
from trainer.storage.client import make_client
from trainer.storage.files import checksum, replaced
from trainer.storage.requests import Repeatable, Requests, understood
from trainer.storage.transfer_progress import TransferProgress

# Larger uploads are sent in chunks of this size. Each chunk can be repeated separately.
CHUNK_BYTES = 8 * 2**20


class Conflict(UserError):
    """Another writer has changed an object since it was last seen."""


class Changed(Exception):
    """An object was replaced or removed after it was listed and before it was fetched."""


class Found(NamedTuple):
    """The properties of a listed object.

    Attributes:
        name: its name in the bucket.
        size: number of bytes.
        generation: version number of its content.
        crc32c: CRC-32C of its content, base64 of 4 bytes, most significant byte first.
    """

    name: str
    size: int
    generation: int
    crc32c: str

    def has_content_of(self, other: "Found") -> bool:
        """Returns whether two objects have the same size and checksum.

        Args:
            other: the other object.
        """
        return (self.size, self.crc32c) == (other.size, other.crc32c)


class Bucket:
    """A bucket in Cloud Storage.

    Args:
        name: name of the bucket.
        timeout_secs: the longest wait for one response.
        patience_secs: how long a failing request is repeated.
        client: a google.cloud.storage.Client; None creates one.
        sleep: waits for some seconds; replaced in tests.

    Attributes:
        name: the same.
        progress: shows how far transfers are.
        check_writer: called before a failed write or removal is repeated; raises Conflict if this
            process must not write any more. None: it always may.
    """

    def __init__(
        self,
        name: str,
        timeout_secs: float = 60.0,
        patience_secs: float = 300.0,
        client: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.name = name
        self.progress = TransferProgress()
        self.check_writer: Optional[Callable[[], None]] = None
        self._timeout = timeout_secs
        self._patience = patience_secs
        self._requests = Requests(name, patience_secs, sleep)
        self._client = client or make_client()
        self._bucket = self._client.bucket(name)

    def list_all(self, prefix: str) -> list[Found]:
        """Returns all objects whose names start with a prefix, sorted by name.

        Args:
            prefix: the prefix.

        Raises:
            UserError: there is no such bucket, or no permission.
        """
        with self._requests.translate_errors("list", prefix):
            return self._requests.retry(lambda: self._list(prefix))

    def _list(self, prefix: str) -> list[Found]:
        with understood():
            blobs = self._client.list_blobs(
                self._bucket, prefix=prefix, timeout=self._timeout, retry=None
            )
            # A name that ends with a slash is the marker of an empty folder.
            return sorted(_to_found(blob) for blob in blobs if not blob.name.endswith("/"))

    def list_folder(self, address: Address) -> dict[str, Found]:
        """Returns all objects of a folder that is kept as a local folder.

        Args:
            address: the folder.

        Returns:
            Name relative to the folder → object.

        Raises:
            UserError: there is no such bucket or no permission, or no local file can have the name
                of an object.
        """
        start = len(address.folder)
        found = {one.name[start:]: one for one in self.list_all(address.folder)}
        check_local_names(address, found)
        return found

    def find(self, name: str) -> Optional[Found]:
        """Returns an object, or None if there is none.

        Args:
            name: its name.

        Raises:
            UserError: there is no such bucket, or no permission.
        """
        return next((found for found in self.list_all(name) if found.name == name), None)

    def read_range(self, found: Found, start: int, size: int) -> bytes:
        """Returns some bytes of an object, without fetching the rest; fewer at its end.

        Args:
            found: the object.
            start: number of bytes before them.
            size: number of bytes.

        Raises:
            Changed: the object has changed since it was listed.
            UserError: the object cannot be read.
        """
        if start >= found.size:
            return b""
        end = min(start + size, found.size) - 1
        with self._requests.translate_errors("read", found.name):
            return self._requests.retry(lambda: self._read_range(found, start, end))

    def _read_range(self, found: Found, start: int, end: int) -> bytes:
        from google.api_core import exceptions

        blob = self._bucket.blob(found.name)
        options = {"raw_download": True, "checksum": None, "timeout": self._timeout, "retry": None}
        options["if_generation_match"] = found.generation
        try:
            return bytes(blob.download_as_bytes(start=start, end=end, **options))
        except (exceptions.NotFound, exceptions.PreconditionFailed) as error:
            raise Changed(found.name) from error

    def download(self, found: Found, path: Path) -> None:
        """Fetches an object into a file; replaces the file only if the content is complete.

        Args:
            found: the object.
            path: the file.

        Raises:
            Changed: the object has changed since it was listed.
            UserError: there is no permission or no disk space, or the service does not respond.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary, self._requests.translate_errors("read", found.name):
            self._requests.retry(lambda: self._download(found, temporary))

    def _download(self, found: Found, path: Path) -> None:
        from google.api_core import exceptions

        blob = self._bucket.blob(found.name)
        try:
            with path.open("wb") as stream:
                # raw_download: the checksum refers to the content as it is stored, which may be
                # compressed.
                blob.download_to_file(
                    self.progress.count(stream),
                    raw_download=True,
                    checksum=None,
                    timeout=self._timeout,
                    retry=None,
                    if_generation_match=found.generation,
                )
        except (exceptions.NotFound, exceptions.PreconditionFailed) as error:
            raise Changed(found.name) from error
        except exceptions.RequestRangeNotSatisfiable:
            path.write_bytes(b"")
        with path.open("rb") as stream:
            crc32c = checksum(stream, found.size)
        if path.stat().st_size != found.size or crc32c != found.crc32c:
            if self.find(found.name) != found:
                raise Changed(found.name)
            raise Repeatable(f"{found.name} was fetched damaged")

    def upload(self, stream: BinaryIO, size: int, name: str, generation: int) -> Found:
        """Stores the first bytes of a stream.

        Args:
            stream: the content; must be seekable, because it may be read several times.
            size: number of bytes to store.
            name: name of the object.
            generation: generation of the object to replace; 0 for a new object.

        Returns:
            The stored object.

        Raises:
            Conflict: the object now has another generation and different content.
            UserError: there is no such bucket or no permission, or the service does not respond.
        """
        stream.seek(0)
        crc32c = checksum(stream, size)
        with self._requests.translate_errors("write", name):
            return self._requests.retry(
                lambda: self._upload(stream, size, crc32c, name, generation), self.check_writer
            )

    def _upload(
        self, stream: BinaryIO, size: int, crc32c: str, name: str, generation: int
    ) -> Found:
        from google.api_core import exceptions
        from google.cloud.storage.retry import DEFAULT_RETRY

        stream.seek(0)
        blob = self._bucket.blob(name, chunk_size=CHUNK_BYTES if size > CHUNK_BYTES else None)
        try:
            with understood():
                blob.upload_from_file(
                    self.progress.count(stream),
                    size=size,
                    content_type="application/octet-stream",
                    checksum="crc32c",
                    timeout=self._timeout,
                    # This repeats single chunks of a large object. _retry repeats whole requests.
                    retry=DEFAULT_RETRY.with_timeout(self._patience) if blob.chunk_size else None,
                    if_generation_match=generation,
                )
                return Found(name, size, int(blob.generation), crc32c)
        except exceptions.GoogleAPICallError as error:
            if blob.chunk_size and error.code in (404, 410):
                self._list(name)  # Raises NotFound if there is no such bucket.
                raise Repeatable(f"the session of the upload of {name} is lost") from error
            if error.code != 412:
                raise
            # An earlier request may have succeeded although its response was lost.
            stored = self.find(name)
            if stored is not None and (stored.size, stored.crc32c) == (size, crc32c):
                return stored
            raise self._conflict(name) from error

    def copy(self, found: Found, name: str) -> None:
        """Copies an object within the bucket, unless it has changed or the copy's name is taken.

        Args:
            found: the object.
            name: name of the copy.

        Raises:
            Changed: the object has been replaced or removed.
            Conflict: there is already another object with this name.
            UserError: there is no permission, or the service does not respond.
        """
        with self._requests.translate_errors("write", name):
            self._requests.retry(lambda: self._copy(found, name, 0), self.check_writer)

    def renew(self, found: Found) -> Found:
        """Gives an object a new generation, and returns it; its content stays as it is.

        Args:
            found: the object.

        Raises:
            Changed: the object has been removed, or has other content.
            UserError: there is no permission, or the service does not respond.
        """
        with self._requests.translate_errors("write", found.name):
            return self._requests.retry(
                lambda: self._copy(found, found.name, found.generation), self.check_writer
            )

    def _copy(self, found: Found, name: str, generation: int) -> Found:
        from google.api_core import exceptions

        try:
            with understood():
                blob = self._bucket.copy_blob(
                    self._bucket.blob(found.name),
                    self._bucket,
                    name,
                    timeout=self._timeout,
                    retry=None,
                    if_generation_match=generation,
                    if_source_generation_match=found.generation,
                )
                return found._replace(name=name, generation=int(blob.generation))
        except (exceptions.NotFound, exceptions.PreconditionFailed) as error:
            # An earlier request may have succeeded although its response was lost.
            stored = self.find(name)
            if stored is not None and stored.has_content_of(found):
                return stored
            if stored is None or name == found.name:
                raise Changed(found.name) from error
            raise Conflict(f"{Address(self.name, name)}: is there already") from error

    def remove(self, found: Found) -> None:
        """Removes an object, if it has not been removed already.

        Args:
            found: the object.

        Raises:
            Conflict: the object has been replaced.
            UserError: there is no permission, or the service does not respond.
        """
        from google.api_core import exceptions

        blob = self._bucket.blob(found.name)
        with self._requests.translate_errors("delete", found.name):
            try:
                self._requests.retry(
                    lambda: blob.delete(
                        timeout=self._timeout, retry=None, if_generation_match=found.generation
                    ),
                    self.check_writer,
                )
            except exceptions.NotFound:
                return
            except exceptions.PreconditionFailed as error:
                if self.find(found.name) is None:
                    return
                raise self._conflict(found.name) from error

    def _conflict(self, name: str) -> Conflict:
        return Conflict(
            f"{Address(self.name, name)}: another writer has changed it meanwhile; two jobs "
            "must not share a job_dir: end one of them, or give it another --job_dir"
        )


def _to_found(blob: Any) -> Found:
    return Found(blob.name, int(blob.size), int(blob.generation), blob.crc32c)
