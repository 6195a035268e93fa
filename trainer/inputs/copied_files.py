"""Finds data files that are copies of others: their rows would have twice the weight."""

import hashlib
import zlib
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.parquet_files import count_rows
from trainer.storage.partition_names import parse_partitions

# Bytes at the start of a file that are compared before all of it is read.
_START_BYTES = 65_536


def warn_of_copies(files: Sequence[DataFile], option: str, log: Callable[[str], None]) -> None:
    """Logs a warning if files have equal content.

    Args:
        files: files of a data set.
        option: the option that names them, for the message.
        log: writes one line for the user.
    """
    if copied := describe_copies(files):
        log(f"warning: {option}: {copied}")


def describe_copies(files: Sequence[DataFile]) -> str:
    """Returns a warning if files have equal content; "" if not.

    A file is read only if another one has the same size and the same start. Files without a second
    line or row, such as empty parts of a table, and files of different partitions do not count.

    Args:
        files: files of a data set.
    """
    groups = [list(files)]
    for identify in (_identify_size, _identify_start, _identify_content):
        groups = [part for group in groups for part in _divide(group, identify)]
    if not groups:
        return ""
    original, copy = groups[0][0].path, groups[0][1].path
    number = sum(len(group) - 1 for group in groups)
    if number == 1:
        return f"{copy} is a copy of {original}, so its rows count twice; remove one of them"
    return (
        f"{number:,} of {len(files):,} files are copies of others, such as {copy} of {original}, "
        "so their rows count more than once; remove the copies"
    )


def _divide(
    files: Sequence[DataFile], identify: Callable[[DataFile], Hashable]
) -> list[list[DataFile]]:
    """Returns the groups of several files that are equal in one respect."""
    found: dict[Hashable, list[DataFile]] = {}
    for file in files:
        try:
            found.setdefault(identify(file), []).append(file)
        except (OSError, UserError):
            # Whoever reads its rows says why.
            continue
    return [group for group in found.values() if len(group) > 1]


def _identify_size(file: DataFile) -> Hashable:
    partitions = tuple(parse_partitions(file.path).items())
    if storage.is_remote(file.path):
        return partitions, *storage.identify_data(file.path)[2:]
    return partitions, file.find_size()


def _identify_start(file: DataFile) -> Hashable:
    if storage.is_remote(file.path):
        # The checksum of the service was compared.
        return None
    with open(file.path, "rb") as stream:
        start = stream.read(_START_BYTES)
    if file.format == "parquet":
        has_rows = count_rows(file) > 0
    else:
        has_rows = file.format != "csv" or file.gzipped or b"\n" in start.strip()
    return zlib.crc32(start) if has_rows else file.path


def _identify_content(file: DataFile) -> Hashable:
    if storage.is_remote(file.path):
        return None
    digest = hashlib.blake2b()
    storage.add_content(digest, Path(file.path))
    return digest.digest()
