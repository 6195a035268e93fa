"""Divides large CSV files and JSON lines at the ends of rows.

Whether a line end of a CSV file is inside of quotes depends on all quotes before it. Several
workers therefore examine a part of the file each, for both cases; together, their findings tell
which of them holds. Of JSON lines, the cases are whether the line that goes on is blank so far.
"""

import gzip
import io
import sys
from typing import BinaryIO, NamedTuple, Optional, Union, cast

import numpy as np

from trainer import config as config_lib
from trainer import storage
from trainer.inputs.files import DataFile, Stretch

# Bytes that are examined at once.
PIECE_BYTES = 1 << 22
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_IS_BLANK = np.isin(np.arange(256), list(b" \t\n\r\x0b\x0c"))


class Dialect(NamedTuple):
    """How CSV files are read.

    Attributes:
        delimiter: text between fields.
        encoding: of the text.
        block_bytes: bytes of text that are parsed at once.
    """

    delimiter: str
    encoding: str
    block_bytes: int

    @property
    def can_be_divided(self) -> bool:
        """Whether the ends of rows can be found in the bytes of a file."""
        is_plain = len(self.delimiter) == 1 and self.delimiter.isascii()
        return self.encoding == "utf-8" and is_plain and self.delimiter not in '\r\n"'


class JsonLines(NamedTuple):
    """How JSON lines are read.

    Attributes:
        block_bytes: bytes of text that are parsed at once.
    """

    block_bytes: int


class Case(NamedTuple):
    """What a part of a file is like, in one of two cases: it begins outside or inside of quotes.

    Attributes:
        is_regular: whether each quote begins or ends a field, or is one of two in a field.
        rows: number of rows that end here, without empty lines.
        end: bytes of the file up to the end of the last of them; None: no row ends here.
    """

    is_regular: bool
    rows: int
    end: Optional[int]


class Findings(NamedTuple):
    """What a part of a file is like.

    Attributes:
        ends: the case in which the next part begins, for each of both.
        cases: if it begins outside, and if it begins inside of quotes.
    """

    ends: tuple[int, int]
    cases: tuple[Case, Case]

    def join(self, later: "Findings") -> "Findings":
        """Returns what this part and the next are like together.

        Args:
            later: of the part that follows.
        """
        first, second = self.ends
        return Findings(
            (later.ends[first], later.ends[second]),
            (
                _join(self.cases[0], later.cases[first]),
                _join(self.cases[1], later.cases[second]),
            ),
        )


NOTHING = Findings((0, 1), (Case(True, 0, None), Case(True, 0, None)))


def _join(first: Case, second: Case) -> Case:
    end = first.end if second.end is None else second.end
    return Case(first.is_regular and second.is_regular, first.rows + second.rows, end)


def describe_dialect(data: config_lib.DataConfig) -> Dialect:
    """Returns how CSV files are read.

    Args:
        data: delimiter, encoding and longest row.
    """
    return Dialect(data.delimiter, data.encoding, data.max_row_mib << 20)


def examine(path: str, start: int, end: int, dialect: Union[Dialect, JsonLines]) -> Findings:
    """Returns what a part of a file is like. A row belongs to the part in which its end begins.

    Args:
        path: of the file, which is plain text.
        start: bytes of the file before the part.
        end: bytes of the file up to its end.
        dialect: how it is read.

    Raises:
        OSError: the file cannot be read.
        UserError: an object cannot be read.
    """
    found = NOTHING
    with storage.open_data(path) as stream:
        # The begin of the file is like that of a line.
        before = b"\n"
        if start:
            stream.seek(start - 1)
            before = stream.read(1)
        elif stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
            start = len(BYTE_ORDER_MARK)
        stream.seek(start)
        after = stream.read(1)
        while start < end and after:
            piece = after + stream.read(min(PIECE_BYTES, end - start) - 1)
            after = stream.read(1)
            if isinstance(dialect, JsonLines):
                found = found.join(_examine_lines(piece, start))
            else:
                found = found.join(_examine(before, piece, after, start, dialect))
            before, start = piece[-1:], start + len(piece)
    return found


def _examine(before: bytes, piece: bytes, after: bytes, start: int, dialect: Dialect) -> Findings:
    """Returns what some bytes are like, of which the bytes before and after are known."""
    # Places are counted from the byte before.
    text = np.frombuffer(before + piece + after, np.uint8)
    quotes = _find(text, _QUOTE, 1, len(piece))
    returns = _find(text, _RETURN, 1, len(piece))
    newlines = _find(text, _NEWLINE, 1, len(piece) + 1)
    follows_return = text[newlines - 1] == _RETURN
    ends = newlines - follows_return
    inside = (ends >= 1) & (ends <= len(piece))
    ends, lengths = ends[inside], 1 + follows_return[inside]
    is_row = text[ends - 1] != _NEWLINE
    # Of an odd number of quotes, the last has begun a field.
    quoted = np.searchsorted(quotes, ends) % 2 == 1
    is_regular = len(returns) == int(follows_return[inside].sum())
    starters = (ord(dialect.delimiter), _NEWLINE, _QUOTE)
    cases = []
    for is_inside in (False, True):
        opening = text[quotes[int(is_inside) :: 2] - 1]
        chosen = np.flatnonzero((quoted == is_inside) & is_row)
        last = chosen[-1] if len(chosen) else None
        cases.append(
            Case(
                is_regular and bool(np.isin(opening, starters).all()),
                len(chosen),
                None if last is None else int(start - 1 + ends[last] + lengths[last]),
            )
        )
    changes = len(quotes) % 2
    return Findings((changes, 1 - changes), (cases[0], cases[1]))


def _examine_lines(piece: bytes, start: int) -> Findings:
    """Returns what some bytes of JSON lines are like; second, if a line with text goes on."""
    text = np.frombuffer(piece, np.uint8)
    is_text = ~_IS_BLANK[text]
    ends = np.flatnonzero(text == _NEWLINE)
    if not len(ends):
        return Findings((int(is_text.any()), 1), NOTHING.cases)
    is_row = np.logical_or.reduceat(is_text[: ends[-1] + 1], np.append(0, ends[:-1] + 1))
    rows, end = int(is_row.sum()), start + int(ends[-1]) + 1
    begins = int(is_text[ends[-1] + 1 :].any())
    cases = Case(True, rows, end), Case(True, rows + (not is_row[0]), end)
    return Findings((begins, begins), cases)


def _find(text: np.ndarray, byte: int, first: int, last: int) -> np.ndarray:
    """Returns the places of a byte from first to last, int64 [found]."""
    return np.flatnonzero(text[first : last + 1] == byte) + first


def cut(size: int, findings: list[Findings]) -> list[Stretch]:
    """Returns the rows of each part of a file; no part is without rows, but for one of its header.

    Args:
        size: of the file in bytes.
        findings: of its parts, in their order.

    Returns:
        one stretch if the file cannot be divided.
    """
    whole = NOTHING
    starts, rows = [0], [0]
    for found in findings:
        whole = whole.join(found)
        case = whole.cases[0]
        if case.end is not None and case.rows > rows[-1] and found is not findings[-1]:
            starts.append(case.end)
            rows.append(case.rows)
    if len(starts) > 1 and whole.cases[0].rows == rows[-1]:
        # Only empty lines follow, or a line without an end.
        starts.pop()
        rows.pop()
    if not whole.cases[0].is_regular:
        return [Stretch(0, size, 0)]
    return [Stretch(*one) for one in zip(starts, [*starts[1:], size], rows)]


def find_stretch(file: DataFile) -> Stretch:
    """Returns the rows of a file of text that are read.

    Args:
        file: whole, or a share.
    """
    stretch = file.part.stretch if file.part is not None else None
    return stretch or Stretch(0, sys.maxsize, 0)


def open_bytes(file: DataFile) -> BinaryIO:
    """Opens a file of text; of a share in a bucket, only what is read is fetched.

    Args:
        file: whole, or a share.

    Raises:
        OSError: there is no such file.
        UserError: an object cannot be read.
    """
    if file.gzipped:
        return cast(BinaryIO, gzip.open(file.local_path))
    if file.part is None:
        return open(file.local_path, "rb")
    return storage.open_data(file.path)


class StretchReader(io.RawIOBase):
    """Reads a stretch in the blocks in which the whole file is read.

    So its rows are in the same batches as those of the whole file.

    Args:
        stream: the file.
        stretch: its rows.
        block_bytes: bytes of text that are parsed at once.
    """

    def __init__(self, stream: BinaryIO, stretch: Stretch, block_bytes: int):
        super().__init__()
        self._stream = stream
        self._place, self._end = stretch.start, stretch.end
        self._block_bytes = block_bytes
        stream.seek(stretch.start)

    def readable(self) -> bool:
        """Returns True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Returns the next block; no bytes at the end.

        Args:
            size: at least block_bytes.

        Raises:
            UserError: the file cannot be read.
        """
        block_end = (self._place // self._block_bytes + 1) * self._block_bytes
        found = self._stream.read(max(0, min(block_end, self._end) - self._place))
        self._place += len(found)
        return found

    def close(self) -> None:
        """Closes the file, too."""
        self._stream.close()
        super().close()
