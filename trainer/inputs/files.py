"""Finds the data files that patterns match, and their formats."""

import functools
import glob
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import storage
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.split import Split
from trainer.storage.addresses import is_hidden
from trainer.storage.partition_names import is_partition

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
# The first bytes of files that are compressed in other ways.
COMPRESSED = {
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(rb"PK\x03\x04"),
}
# The first bytes of files of other formats.
OTHER_FORMATS = {
    "an old Excel workbook": re.compile(rb"\xd0\xcf\x11\xe0"),
    "an Arrow or Feather file": re.compile(rb"ARROW1\0\0"),
    "an Avro file": re.compile(rb"Obj\x01"),
    "a NumPy file": re.compile(rb"\x93NUMPY"),
    "an HDF5 file": re.compile(rb"\x89HDF"),
    "an SQLite database": re.compile(rb"SQLite form"),
}
WORKBOOKS = {".xlsx": "an Excel workbook", ".xlsm": "an Excel workbook", ".ods": "a workbook"}
# TFRecordWriter with ZLIB: two bytes of zlib, whereas the length of a record is seldom as large.
ZLIB = re.compile(rb"x[\x01^\x9c\xda]..(?!\0\0\0\0)", re.S)
SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
SUFFIXES.update(dict.fromkeys(JSON_SUFFIXES, "jsonl"))
# The first 8 bytes of a TFRecord file are the length of the first record. The upper 4 bytes of that
# length are zero; CSV text contains no zero bytes.
TFRECORD_LENGTH = slice(4, 8)
# Files about the data, which people put beside them, and files that are being written.
NO_DATA = re.compile(
    r"(.*(\.(md|rst|tmp)|~)|(readme|license|licence|changelog|notice)(\.(txt|html|pdf))?)", re.I
)


class Stretch(NamedTuple):
    """Whole rows of a text file that follow one another.

    Attributes:
        start: bytes of the file before them.
        end: bytes of the file up to their end.
        rows: number of rows before them, with the header and without empty lines.
    """

    start: int
    end: int
    rows: int


class FilePart(NamedTuple):
    """A share of a large file, which several workers read.

    Attributes:
        number: of the share, from 0.
        total: number of shares of the file.
        version: of the file when it was divided, as `find_version` returns it.
        stretch: the rows of the share; None: the file has row groups.
    """

    number: int
    total: int
    version: str
    stretch: Optional[Stretch] = None


class DataFile(NamedTuple):
    """One file to read.

    Attributes:
        path: local path or gs:// address.
        format: csv, jsonl, tfrecord or parquet.
        gzipped: whether the file as a whole is compressed.
        split: which of its rows are read; None for all.
        part: which share of it is read; None for all.
    """

    path: str
    format: str
    gzipped: bool
    split: Optional[Split] = None
    part: Optional[FilePart] = None

    @property
    def local_path(self) -> str:
        """Local path of the file; a file in Cloud Storage is fetched first."""
        return storage.fetch_data(self.path)

    def choose_begin(self) -> "DataFile":
        """Returns the whole text file of which this is a share; only what is read is fetched."""
        if self.part is None:
            return self
        return self._replace(part=self.part._replace(stretch=Stretch(0, sys.maxsize, 0)))

    def find_size(self) -> int:
        """Returns the number of bytes of the file.

        Raises:
            OSError: there is no such file.
            UserError: an object cannot be looked up.
        """
        if storage.is_remote(self.path):
            return int(storage.identify_data(self.path)[2])
        return os.path.getsize(self.path)

    def find_version(self) -> str:
        """Returns a text that differs for two contents of the file.

        Raises:
            OSError: there is no such file.
            UserError: an object cannot be looked up.
        """
        if storage.is_remote(self.path):
            return str(storage.identify_data(self.path)[1])
        status = os.stat(self.path)
        return f"{status.st_size} {status.st_mtime_ns}"

    def require_version(self) -> None:
        """Raises if the file has changed since it was divided.

        Raises:
            UserError: it has changed, or cannot be looked up.
        """
        if self.part is not None and self.find_version() != self.part.version:
            raise UserError(
                f"{self.path}: has changed while the files were read; give the command again when "
                "it is complete"
            )


def find_files(patterns: Sequence[str], file_format: str, option: str) -> list[DataFile]:
    """Returns the files that match paths, globs and directories, without duplicates.

    The files of each pattern are sorted.

    Args:
        patterns: paths, globs and directories; local or gs://.
        file_format: csv, jsonl, tfrecord, parquet, or auto to detect the format of each file.
        option: name of the option, for messages.

    Raises:
        UserError: there is no pattern, a pattern matches nothing, a file is unreadable or empty.
    """
    if not patterns:
        raise UserError(f"{option}: no data given; set --{option}=FILES")
    paths: list[str] = []
    for pattern in patterns:
        is_remote = storage.is_remote(pattern)
        found = list_paths(pattern, option)
        if not found and is_remote:
            raise UserError(
                f"{option}: no object matches {pattern!r}; check the name, for instance with "
                f"gcloud storage ls"
            )
        if not found:
            _refuse_no_file(pattern, option)
            raise UserError(
                f"{option}: no file matches {pattern!r} (looked from {os.getcwd()}); check the path"
            )
        paths += found
    return [_inspect(path, file_format, option) for path in dict.fromkeys(paths)]


def _refuse_no_file(pattern: str, option: str) -> None:
    """Raises if a pattern names what is no file: a pipe or the address of a server."""
    if re.match(r"[a-z][a-z0-9+.-]*://", pattern, re.I):
        raise UserError(
            f"{option}: {pattern}: only local files and gs:// can be read; fetch the file first"
        )
    if pattern == "-" or (os.path.exists(pattern) and not os.path.isdir(pattern)):
        raise UserError(
            f"{option}: {pattern} is a pipe or a device, which can be read only once; write its "
            "content to a file first"
        )


def refuse_inputs(outputs: Iterable[str], files: Sequence[DataFile], option: str) -> None:
    """Refuses to write over a file that is read.

    Args:
        outputs: the files to write, on this machine or gs://.
        files: the files that are read.
        option: names these, for the message.

    Raises:
        UserError: a file is both.
    """
    inputs = {_find_place(file.path) for file in files}
    for output in outputs:
        if _find_place(output) in inputs:
            raise UserError(f"--output: {output} is one of {option}; name another")


def _find_place(path: str) -> str:
    return path if storage.is_remote(path) else os.path.realpath(path)


def list_paths(pattern: str, option: str) -> list[str]:
    """Returns the data files that a path, glob or folder matches, sorted.

    Args:
        pattern: local or gs://.
        option: name of the option, for messages.

    Raises:
        UserError: the bucket cannot be read.
    """
    found = _expand_remote(pattern, option) if storage.is_remote(pattern) else _expand(pattern)
    return _skip_others(found, pattern)


def _skip_others(paths: list[str], pattern: str) -> list[str]:
    """Leaves out files of a folder or a glob that are not data; a file that is named is kept."""
    others = [
        path for path in paths if path != pattern and NO_DATA.fullmatch(os.path.basename(path))
    ]
    if not others or len(others) == len(paths):
        return paths
    _warn_once(f"{pattern}: skipped, since it is no data: {', '.join(others[:5])}")
    return [path for path in paths if path not in others]


@functools.cache
def _warn_once(text: str) -> None:
    """Warns; a process that lists the same files again and again says it once."""
    Console().warn(text)


def _expand_remote(pattern: str, option: str) -> list[str]:
    found = storage.find_data(pattern, option)
    # If the bucket is mounted, find_data returns local patterns, which are expanded here.
    return [path for one in found for path in ([one] if storage.is_remote(one) else _expand(one))]


def _expand(pattern: str) -> list[str]:
    path = Path(pattern).expanduser()
    if path.is_file():
        return [str(path)]
    names = [str(path)] if path.is_dir() else glob.glob(str(path), recursive=True)
    named = {name for name in names if os.path.isfile(name)}
    folders = [name for name in names if path.is_dir() or is_partition(os.path.basename(name))]
    walked = {file for folder in folders if folder not in named for file in _walk(Path(folder))}
    # A pattern such as _*.csv asks for hidden files.
    hidden = set(filter(is_hidden, walked if is_hidden(path.name) else named | walked))
    # Markers and checksums, which have other suffixes, are expected there.
    data = [name for name in sorted(hidden) if Path(name.removesuffix(".gz")).suffix in SUFFIXES]
    if data:
        _warn_once(
            f"{pattern}: skipped, since a name that begins with . or _ is hidden: "
            f"{', '.join(data[:5])}"
        )
    return sorted((named | walked) - hidden)


def _walk(folder: Path) -> list[str]:
    """Returns the files of a folder, also hidden ones, and those of its visible partitions."""
    found: list[str] = []
    for child in folder.iterdir():
        if child.is_file():
            found.append(str(child))
        elif is_partition(child.name) and not is_hidden(child.name):
            found += _walk(child)
    return found


def _inspect(path: str, file_format: str, option: str) -> DataFile:
    try:
        head = storage.read_head(path, 12)
    except OSError as error:
        raise UserError(f"{option}: {path}: {error.strerror}; check its permissions") from error
    if not head:
        raise UserError(f"{option}: {path} is empty; remove it or write it again")
    _refuse_format(path, head, option)
    for name, begin in COMPRESSED.items():
        if begin.match(head):
            raise UserError(
                f"{option}: {path}: {name} is not supported; unpack it, or compress it with gzip"
            )
    gzipped = head.startswith(GZIP)
    if file_format == "auto":
        file_format = _guess_format(path, head, gzipped)
    if file_format == "tfrecord" and ZLIB.match(head):
        raise UserError(
            f"{option}: {path}: TFRecord with zlib is not supported; write it with GZIP, or "
            "without compression"
        )
    if file_format == "parquet" and not head.startswith(PARQUET):
        raise UserError(
            f"{option}: {path} is not a Parquet file (it does not begin with PAR1); "
            "write it again, or name its format in --data.format"
        )
    return DataFile(path, file_format, gzipped)


def _refuse_format(path: str, head: bytes, option: str) -> None:
    named = WORKBOOKS.get(Path(path.lower()).suffix)
    if named and COMPRESSED["zip"].match(head):
        found = [named]
    else:
        found = [name for name, begin in OTHER_FORMATS.items() if begin.match(head)]
    if found:
        raise UserError(
            f"{option}: {path} is {found[0]}, which is not supported; write it as CSV or Parquet"
        )


def _guess_format(path: str, head: bytes, gzipped: bool) -> str:
    if head.startswith(PARQUET):
        return "parquet"
    name = Path(path.lower())
    suffix = Path(name.stem).suffix if gzipped and name.suffix == ".gz" else name.suffix
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if "tfrecord" in name.name:
        return "tfrecord"
    if head.lstrip().startswith(b'{"'):
        return "jsonl"
    binary = len(head) == 12 and head[TFRECORD_LENGTH] == b"\0\0\0\0"
    return "tfrecord" if binary else "csv"
