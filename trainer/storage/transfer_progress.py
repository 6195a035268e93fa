"""Shows how far transfers to and from a bucket are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Optional

from trainer.console import BYTES, Console, Progress


class TransferProgress:
    """Counts the bytes of all streams that are transferred, and shows them while somebody waits.

    Attributes:
        console: where they are shown; None while nobody waits for the transfers, for instance
            while training goes on beside them.
    """

    def __init__(self) -> None:
        self.console: Optional[Console] = None
        self._progress: Optional[Progress] = None

    @contextmanager
    def show(self, what: str, num_bytes: int) -> Iterator[None]:
        """Shows the transfers that are made while a `with` statement runs.

        Args:
            what: the transfers, for instance "fetching gs://bucket/data.csv".
            num_bytes: of all of them.
        """
        if self.console is None:
            yield
            return
        with Progress(self.console, what, BYTES, num_bytes) as self._progress:
            try:
                yield
            finally:
                self._progress = None

    def count(self, stream: BinaryIO) -> Any:
        """Returns a stream that counts what is read from it or written to it.

        Args:
            stream: the content of an object.
        """
        return _Counted(stream, self._progress) if self._progress is not None else stream


class _Counted:
    """A binary stream whose bytes are counted when they are read or written."""

    def __init__(self, stream: BinaryIO, progress: Progress):
        self._stream = stream
        self._progress = progress

    def read(self, *size: int) -> bytes:
        content = self._stream.read(*size)
        self._progress.add(len(content))
        return content

    def write(self, content: bytes) -> int:
        self._progress.add(len(content))
        return self._stream.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
