"""Local files written whole or not at all."""

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
    """Gives a name beside a file's, for what takes its place when the block ends without an error.

    Raises:
        OSError: the folder cannot be written.
    """
    # Not the process' number: in containers that share a folder it may well be the same.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader, or a crash, sees either the old content or the new.

    Raises:
        OSError: the folder cannot be written.
    """
    with replaced(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, value: Any) -> None:
    """The same for a value as JSON, NaN and infinity refused."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Optional[Any]:
    """The value in a JSON file; None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def list_export(folder: Path) -> list[str]:
    """The files of a SavedModel, relative to its folder; saved_model.pb is the last."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return sorted(names, key=lambda name: (name == "saved_model.pb", name))


def checksum_files(paths: Iterable[Path]) -> str:
    """SHA-256 of the names and contents of files, as hexadecimal text."""
    joined = hashlib.sha256()
    for path in sorted(paths):
        joined.update(path.name.encode() + path.read_bytes())
    return joined.hexdigest()
