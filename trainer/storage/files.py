"""Writes local files atomically: completely or not at all."""

import hashlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Replaces a file by a temporary one when the `with` statement ends without an error.

    Args:
        path: the file to replace.

    Yields:
        Path of a temporary file in the same folder. The body must write this file.

    Raises:
        OSError: the folder cannot be written.
    """
    # The name is random. It does not contain the process ID, because processes in containers that
    # share a folder may have the same process ID.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file atomically: after a crash it has either the old or the new content.

    Args:
        path: the file.
        text: its content.

    Raises:
        OSError: the folder cannot be written.
    """
    with replaced(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file atomically.

    Args:
        path: the file.
        value: its content, without NaN and infinity.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Optional[Any]:
    """Returns the value of a JSON file; None if there is no such file.

    Args:
        path: the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def list_export(folder: Path) -> list[str]:
    """Returns the files of a SavedModel, relative to its folder; saved_model.pb is the last.

    Args:
        folder: the SavedModel.
    """
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return sorted(names, key=lambda name: (name == "saved_model.pb", name))


def checksum_files(paths: Iterable[Path]) -> str:
    """Returns the SHA-256 of the names and contents of files, as hexadecimal text.

    Args:
        paths: the files.
    """
    joined = hashlib.sha256()
    for path in sorted(paths):
        joined.update(path.name.encode() + path.read_bytes())
    return joined.hexdigest()
