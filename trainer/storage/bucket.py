"""One bucket of Cloud Storage: list, fetch, store, remove; checked, repeated, and told in one line.

Every object that is stored or removed is named with the generation that it was last seen at, so
that two writers cannot overwrite each other unnoticed, and a request whose answer got lost can be
sent again. What is fetched is held against the CRC-32C that the service keeps.
"""

import base64
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from trainer.errors import UserError
from trainer.storage.addresses import SCHEME, Address
from trainer.storage.files import replaced

# Uploads of more go in pieces of this size, each of which can be sent again by itself.
CHUNK_BYTES = 8 * 2**20
READ_BYTES = 2**20
FIRST_WAIT_SECS, LONGEST_WAIT_SECS = 0.5, 30.0


class Unavailable(UserError):
    """The service could not be reached, or did not answer, for as long as we are patient."""


class Conflict(UserError):
    """Another writer has changed an object since it was last seen."""


class Changed(Exception):
    """An object was replaced or removed between being listed and being fetched."""


class Found(NamedTuple):
    """An object as it was listed.

    Attributes:
        name: in the bucket.
        size: bytes.
        generation: its version.
        crc32c: CRC-32C of its bytes, base64 of 4 bytes, high byte first.
    """

    name: str
    size: int
    generation: int
    crc32c: str


class Bucket:
    """A bucket.

    Args:
        name: of the bucket.
        timeout_secs: how long one answer may take.
        patience_secs: how long a request is repeated.
        client: a google.cloud.storage.Client; None makes one.
        sleep: waits; a test hands in its own.
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
        self._timeout = timeout_secs
        self._patience = patience_secs
        self._sleep = sleep
        self._client = client or _make_client()
        self._bucket = self._client.bucket(name)

    def list_all(self, prefix: str) -> list[Found]:
        """All objects whose names begin so, by name.

        Raises:
            UserError: no such bucket, or no permission.
        """
        with self._explained("list", prefix):
            return self._again(lambda: self._list(prefix))

    def _list(self, prefix: str) -> list[Found]:
        blobs = self._client.list_blobs(
            self._bucket, prefix=prefix, timeout=self._timeout, retry=None
        )
        # A name that ends in a slash stands for an empty folder.
        return sorted(_to_found(blob) for blob in blobs if not blob.name.endswith("/"))

    def find(self, name: str) -> Optional[Found]:
        """An object, or None where there is none."""
        return next((found for found in self.list_all(name) if found.name == name), None)

    def read_head(self, found: Found, size: int) -> bytes:
        """The first bytes of an object, without fetching the rest."""
        blob = self._bucket.blob(found.name)
        with self._explained("read", found.name):
            return self._again(
                lambda: (
                    blob.download_as_bytes(
                        start=0,
                        end=min(size, found.size) - 1,
                        raw_download=True,
                        checksum=None,
                        timeout=self._timeout,
                        retry=None,
                    )
                    if found.size
                    else b""
                )
            )

    def download(self, found: Found, path: Path) -> None:
        """Fetches an object; `path` has its content whole, or is not touched.

        Raises:
            Changed: the object is no longer what was listed.
            UserError: no permission, no disk, the service does not answer.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary, self._explained("read", found.name):
            self._again(lambda: self._download(found, temporary))

    def _download(self, found: Found, path: Path) -> None:
        from google.api_core import exceptions

        blob = self._bucket.blob(found.name)
        try:
            with path.open("wb") as stream:
                # As it is stored: unpacking on the way would not fit the checksum.
                blob.download_to_file(
                    stream,
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
            raise _Damaged(found.name)

    def upload(self, stream: BinaryIO, size: int, name: str, generation: int) -> Found:
        """Stores the first `size` bytes of a stream that can be read again.

        Args:
            stream: the content.
            size: bytes of it.
            name: of the object.
            generation: that of the object which it replaces; 0 for a new one.

        Raises:
            Conflict: the object is of another generation, and other content, by now.
            UserError: no such bucket, no permission, the service does not answer.
        """
        stream.seek(0)
        crc32c = checksum(stream, size)
        with self._explained("write", name):
            return self._again(lambda: self._upload(stream, size, crc32c, name, generation))

    def _upload(self, stream, size, crc32c, name, generation) -> Found:
        from google.api_core import exceptions
        from google.cloud.storage.retry import DEFAULT_RETRY

        stream.seek(0)
        blob = self._bucket.blob(name, chunk_size=CHUNK_BYTES if size > CHUNK_BYTES else None)
        try:
            blob.upload_from_file(
                stream,
                size=size,
                content_type="application/octet-stream",
                checksum="crc32c",
                timeout=self._timeout,
                # A piece of a large one is repeated by itself; the whole is repeated by _again.
                retry=DEFAULT_RETRY.with_timeout(self._patience) if blob.chunk_size else None,
                if_generation_match=generation,
            )
        except exceptions.PreconditionFailed as error:
            # The answer to a request of ours that had been carried out may have been lost.
            there = self.find(name)
            if there is not None and (there.size, there.crc32c) == (size, crc32c):
                return there
            raise Conflict(
                f"{Address(self.name, name)}: another writer has changed it meanwhile; two jobs "
                "must not share a job_dir: end one of them, or give it another --job_dir"
            ) from error
        return Found(name, size, int(blob.generation), crc32c)

    def remove(self, found: Found) -> None:
        """Removes an object; that it is gone already is no error.

        Raises:
            Conflict: it is another one by now.
            UserError: no permission, the service does not answer.
        """
        from google.api_core import exceptions

        blob = self._bucket.blob(found.name)
        with self._explained("delete", found.name):
            try:
                self._again(
                    lambda: blob.delete(
                        timeout=self._timeout, retry=None, if_generation_match=found.generation
                    )
                )
            except exceptions.NotFound:
                return
            except exceptions.PreconditionFailed as error:
                if self.find(found.name) is None:
                    return
                raise Conflict(
                    f"{Address(self.name, found.name)}: another writer has changed it meanwhile; "
                    "two jobs must not share a job_dir"
                ) from error

    def _again(self, ask: Callable[[], Any]) -> Any:
        """Asks until the answer is one, waiting longer each time."""
        deadline = time.monotonic() + self._patience
        wait = FIRST_WAIT_SECS
        while True:
            try:
                return ask()
            except _passing_errors() as error:
                if time.monotonic() + wait > deadline:
                    raise Unavailable(
                        f"{SCHEME}{self.name}: no answer from Cloud Storage for "
                        f"{self._patience:g} s ({_words(error)}); try again later, or raise "
                        "--storage.patience_secs"
                    ) from error
            self._sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECS)

    @contextmanager
    def _explained(self, what: str, name: str) -> Iterator[None]:
        """Turns the service's refusals into lines for people."""
        from google.api_core import exceptions
        from google.auth import exceptions as auth

        place = Address(self.name, name)
        try:
            yield
        except exceptions.NotFound as error:
            if what == "delete":
                raise
            raise UserError(
                f"{place}: there is no bucket {self.name!r}; check its name, or make it with "
                f"gcloud storage buckets create {SCHEME}{self.name}"
            ) from error
        except (exceptions.Forbidden, exceptions.Unauthorized) as error:
            roles = {"list": "objectViewer", "read": "objectViewer"}
            raise UserError(
                f"{place}: no permission to {what} ({_words(error)}); grant the job's account "
                f"roles/storage.{roles.get(what, 'objectUser')} on the bucket"
            ) from error
        except (auth.DefaultCredentialsError, auth.RefreshError) as error:
            raise UserError(_no_credentials(error)) from error
        except exceptions.PreconditionFailed:
            raise
        except exceptions.ClientError as error:
            raise UserError(f"{place}: cannot {what} it: {_words(error)}") from error
        except OSError as error:
            raise UserError(
                f"{place}: cannot {what} it: {error.strerror or _words(error)}"
                f"{' on ' + str(error.filename) if error.filename else ''}; free some disk, or "
                "name another folder in --storage.cache_dir"
            ) from error


class _Damaged(Exception):
    """What has arrived does not fit the checksum."""


def _passing_errors() -> tuple:
    """What may be gone when asked again."""
    import requests
    from google.api_core import exceptions
    from google.auth import exceptions as auth

    return (
        exceptions.ServerError,
        exceptions.TooManyRequests,
        exceptions.RetryError,
        requests.exceptions.ConnectionError,
        requests.exceptions.Timeout,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
        auth.TransportError,
        ConnectionError,
        _Damaged,
    )


def _make_client() -> Any:
    try:
        with warnings.catch_warnings():
            # On older Pythons it announces that they will be old one day.
            warnings.simplefilter("ignore", FutureWarning)
            from google.auth import exceptions as auth
            from google.cloud import storage
    except ImportError as error:
        raise UserError(
            f"gs:// paths need the package google-cloud-storage ({error}); "
            "run pip install google-cloud-storage"
        ) from error
    try:
        # Objects belong to buckets; a project is only needed to make those.
        return storage.Client(project=None)
    except (auth.DefaultCredentialsError, OSError) as error:
        raise UserError(_no_credentials(error)) from error


def _no_credentials(error: Exception) -> str:
    return (
        f"gs://: no credentials ({_words(error)}); run gcloud auth application-default login, or "
        "name a service account's key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


def _to_found(blob: Any) -> Found:
    return Found(blob.name, int(blob.size), int(blob.generation), blob.crc32c)


def checksum(stream: BinaryIO, size: int) -> str:
    """CRC-32C of the next `size` bytes, as the service writes it."""
    import google_crc32c

    sum_ = google_crc32c.Checksum()
    while size > 0:
        piece = stream.read(min(size, READ_BYTES))
        if not piece:
            break
        sum_.update(piece)
        size -= len(piece)
    return base64.b64encode(sum_.digest()).decode()


def _words(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", None) or error or repr(error)).split())[:160]
