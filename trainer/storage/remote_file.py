"""Reads parts of a file in Cloud Storage, without fetching the rest."""

import io
from collections.abc import Callable

# Bytes that a request fetches at least, in a file that is read from one place on: those of the
# second request, and of later ones, because a request takes as long as some megabytes.
FIRST_AHEAD_BYTES, AHEAD_BYTES = 1 << 20, 8 << 20


class RemoteFile(io.RawIOBase):
    """A file of which only those parts are fetched that are read.

    Args:
        size: number of bytes of the file.
        fetch: returns bytes of the file, for the number of bytes before them and their number.
    """

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]):
        super().__init__()
        self._size, self._fetch = size, fetch
        self._place = self._first = self._ahead = 0
        self._held = b""

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def tell(self) -> int:
        """Returns the number of bytes before the next ones."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Chooses the next bytes; returns the number of bytes before them.

        Args:
            offset: number of bytes.
            whence: what they are counted from, as for other files.
        """
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}
        self._place = max(0, starts[whence] + offset)
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes; fewer at the end of the file.

        Args:
            size: their number; negative: all.

        Raises:
            UserError: the file cannot be read.
        """
        rest = max(0, self._size - self._place)
        wanted = rest if size < 0 else min(size, rest)
        start = self._place - self._first
        if not 0 <= start <= len(self._held) - wanted:
            follows = 0 <= start <= len(self._held) > 0
            ahead = min(AHEAD_BYTES, 2 * self._ahead or FIRST_AHEAD_BYTES) if follows else 0
            self._held = self._fetch(self._place, max(wanted, min(ahead, rest)))
            self._first, self._ahead, start = self._place, ahead, 0
        found = self._held[start : start + wanted]
        self._place += len(found)
        return found

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Reads the next bytes into a buffer; returns their number.

        Args:
            buffer: what takes them.

        Raises:
            UserError: the file cannot be read.
        """
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
