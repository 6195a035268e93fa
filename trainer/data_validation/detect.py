"""Detects the encoding and the field delimiter of a CSV file."""

import codecs
import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile

DELIMITERS = (",", ";", "\t", "|")
# Bytes of a file that are read to detect its encoding.
ENCODING_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
# Rows from which the delimiter is detected.
DELIMITER_ROWS = 50
# Characters of the text that contains them.
DELIMITER_CHARACTERS = 1 << 18


def detect_encoding(file: DataFile) -> str:
    """Returns the encoding of a text file: ascii, utf-8, utf-16, cp1252 or latin-1.

    Only the first 64 MiB are read. A byte order mark, or zeros in every
    second byte of the first block, mean UTF-16. Any other text counts as Windows-1252, which
    contains all printable characters of Latin-1; as Latin-1 if it has one of the five bytes that
    Windows-1252 does not define.

    Args:
        file: plain or gzipped.

    Raises:
        UserError: the file cannot be read.
    """
    is_ascii, is_utf8, is_cp1252 = True, True, True
    decoder = codecs.getincrementaldecoder("utf-8")()
    for number, block in enumerate(_read_blocks(file)):
        if number == 0:
            utf16 = _find_utf16(block)
            if utf16:
                return utf16
        is_ascii = is_ascii and block.isascii()
        if is_utf8:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_utf8 = False
        if not is_utf8:
            is_cp1252 = is_cp1252 and not any(byte in block for byte in b"\x81\x8d\x8f\x90\x9d")
    if is_utf8:
        return "ascii" if is_ascii else "utf-8"
    return "cp1252" if is_cp1252 else "latin-1"


def _find_utf16(block: bytes) -> str:
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = block[:4096]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > 0.4 * len(head) / 2:
        return "utf-16-be" if even > odd else "utf-16-le"
    return ""


def _read_blocks(file: DataFile) -> Any:
    try:
        with _open(file) as stream:
            for _ in range(ENCODING_BYTES // BLOCK_BYTES):
                block = stream.read(BLOCK_BYTES)
                if not block:
                    return
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file.path}: cannot be read: {error}; write the file again") from error


def _open(file: DataFile) -> Any:
    if file.gzipped:
        return gzip.open(file.local_path)
    # Of a large file in a bucket, only what is examined is fetched.
    is_large = file.find_size() > ENCODING_BYTES
    return storage.open_data(file.path if is_large else file.local_path)


def detect_delimiter(file: DataFile, encoding: str, known: Sequence[str]) -> str:
    """Returns the delimiter that splits the first rows into equal numbers of fields.

    A delimiter that gives the known columns in the first row wins. Of the others, one that more
    rows agree on wins, then one that gives more fields.

    Args:
        file: a CSV file, plain or gzipped.
        encoding: of its text, as `detect_encoding` returns it.
        known: names of columns that the user gave.

    Raises:
        UserError: the file cannot be read.
    """
    text = next(_read_blocks(file), b"")[: 2 * DELIMITER_CHARACTERS]
    decoded = text.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    return max(DELIMITERS, key=lambda each: _rate(decoded[:DELIMITER_CHARACTERS], each, known))


def _rate(text: str, delimiter: str, known: Sequence[str]) -> tuple[bool, float, int]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
            if row:
                rows.append([field.strip() for field in row])
            if len(rows) > DELIMITER_ROWS:
                break
    except csv.Error:
        return False, 0.0, 0
    # The text may end in the middle of a row.
    rows = rows[:-1] if len(rows) > 2 else rows
    if not rows:
        return False, 0.0, 0
    fields, agreeing = Counter(map(len, rows)).most_common(1)[0]
    if fields == 1:
        return False, 0.0, 0
    return bool(known) and set(known) <= set(rows[0]), agreeing / len(rows), fields
