"""Local files written whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any, Optional


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader, or a crash, sees either the old content or the new.

    Raises:
        OSError: the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
