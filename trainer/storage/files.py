"""Writes local files atomically: completely or not at all."""

import base64
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Optional, Union

from trainer.errors import UserError
from trainer.job_layout import (
    BEST_STATE,
    INPUTS,
    METRICS,
    SCHEMA,
    STATISTICS,
    STUDY,
)

READ_BYTES = 2**20
# The file of a SavedModel that is written last.
GRAPH = "saved_model.pb"
# The file that makes a folder one of versions.
VERSIONS_STATE = "push.json"
_DESCRIBED = "a job and its exports (in assets.extra) have the same one"
# File → what helps beside a copy. A file is removed on our advice only if it is written again
# without a loss.
_REMEDIES = {
    SCHEMA: f"; {_DESCRIBED}",
    STATISTICS: f"; {_DESCRIBED}",
    VERSIONS_STATE: "; do not remove it: the labels and the history of the versions would be lost",
    BEST_STATE: "; without it, the next export counts as the best",
    STUDY: ", or name another --study_dir",
    INPUTS: ", or remove it: only the history of the job's runs is lost",
    METRICS: ", or remove it: the next run of the job writes it again",
    "gate.json": ", or remove it and run trainer.gate again",
    "sandbox.json": ", or remove it and run trainer.sandbox again",
}


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


def make_private_folder(path: Path) -> None:
    """Creates a folder that only this user may enter, or checks that an existing one is safe.

    Others may write to the folder for temporary files, and could create a folder of a known name
    there first.

    Args:
        path: the folder.

    Raises:
        OSError: the folder cannot be created, is a link, or belongs to another user.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is a link or a file, not a folder")
    if status.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o700)


def remove(path: Path, *, ignore_errors: bool = False) -> None:
    """Removes a file, or a folder with everything in it; of a link, only the link.

    Args:
        path: what to remove.
        ignore_errors: whether what is missing or cannot be removed is left out.

    Raises:
        OSError: it cannot be removed.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=ignore_errors)
    else:
        path.unlink(missing_ok=ignore_errors)


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


def read_json(path: Path) -> Optional[dict[str, Any]]:
    """Returns the object in a JSON file; None if there is no such file.

    Args:
        path: the file.

    Raises:
        UserError: the file cannot be read, is not UTF-8, not JSON, or contains no object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); make it readable") from error
    except (ValueError, RecursionError) as error:
        raise describe_damage(path, " ".join(str(error).split())[:100]) from error
    if not isinstance(value, dict):
        raise describe_damage(path, "no JSON object")
    return value


def get_object(values: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """Returns an object inside the content of a file; {} if it is missing or null.

    Args:
        values: the content.
        name: of the object.
        path: the file.

    Raises:
        UserError: there is a value of another type.
    """
    value = values.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise describe_damage(path, f"{name}: got {value!r:.60}")
    return value


def describe_damage(path: Union[Path, str], reason: str) -> UserError:
    """Returns the error for a file with a content that no program of ours has written.

    Args:
        path: the file, on this machine or gs://.
        reason: what is wrong, a few words.
    """
    remedy = _REMEDIES.get(str(path).rpartition("/")[2], "")
    return UserError(f"{path}: damaged ({reason}); restore the file from a copy{remedy}")


def list_export(folder: Path) -> list[str]:
    """Returns the files of a SavedModel, relative to its folder; saved_model.pb is the last.

    Args:
        folder: the SavedModel.
    """
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return sorted(names, key=lambda name: (name == GRAPH, name))


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Appends lines to a file to which other processes may append, too.

    If a crash has truncated the last line of the file, the new lines begin on a line of their own.

    Args:
        path: the file; created if there is none.
        lines: the lines, without line breaks.

    Raises:
        OSError: the file cannot be written; the error names it.
    """
    content = "".join(f"{line}\n" for line in lines).encode()
    try:
        with path.open("ab+", buffering=0) as stream:
            # Some file systems have no locks; there, one write appends to the end all the same.
            with contextlib.suppress(OSError):
                fcntl.flock(stream, fcntl.LOCK_EX)
            size = stream.seek(0, os.SEEK_END)
            if size:
                stream.seek(size - 1)
                if stream.read(1) != b"\n":
                    content = b"\n" + content
            while content:
                content = content[stream.write(content) :]
    except OSError as error:
        # Errors of open files do not.
        error.filename = error.filename or str(path)
        raise


def add_content(digest: Any, path: Path) -> None:
    """Adds the content of a file to a hash, piece by piece.

    Args:
        digest: an object of hashlib.
        path: the file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        while piece := stream.read(READ_BYTES):
            digest.update(piece)


def checksum(stream: BinaryIO, size: int) -> str:
    """Returns the CRC-32C of the next bytes of a stream, in the format of Cloud Storage.

    Args:
        stream: the content.
        size: number of bytes.
    """
    import google_crc32c

    crc = google_crc32c.Checksum()
    while size > 0:
        piece = stream.read(min(size, READ_BYTES))
        if not piece:
            break
        crc.update(piece)
        size -= len(piece)
    return base64.b64encode(crc.digest()).decode()


def checksum_files(paths: Iterable[Path]) -> str:
    """Returns the SHA-256 of the names and contents of files, as hexadecimal text.

    Args:
        paths: the files.
    """
    joined = hashlib.sha256()
    for path in sorted(paths):
        joined.update(path.name.encode() + path.read_bytes())
    return joined.hexdigest()
