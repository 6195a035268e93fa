"""Writes files through to the disk, so that a loss of power leaves no torn checkpoint or export.

TensorFlow renames the state file, and an export's folder, when the files that they stand for may
still be in the memory of the operating system only. After a loss of power, the name is there and
the files are empty or cut.
"""

import contextlib
import errno
import glob
import os
import threading
from collections.abc import Callable, Iterable, Iterator

__all__ = ["BESIDE", "guarded", "rename_state", "sync_checkpoint", "sync_files", "sync_folder"]

# Start of the names of files that replace those of a checkpoint when they are complete.
BESIDE = ".saving-"
# Calls of several threads wait for one write of the file system's journal instead of one each.
THREADS = 8
# Errors of file systems that have no such call.
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
# Folder -> what is called before a checkpoint in it is named.
_guards: dict[str, Callable[[], None]] = {}


@contextlib.contextmanager
def guarded(folder: str, check: Callable[[], None]) -> Iterator[None]:
    """Keeps checkpoints of a folder from being named unless a check allows it.

    A process may be suspended while it writes a checkpoint. When it goes on, another one may have
    taken its place, whose state file it would replace.

    Args:
      folder: path of the folder.
      check: called before the state file is written and before it is renamed, and before files of a
        checkpoint are replaced; its exception ends the saving.
    """
    key = os.path.realpath(folder)
    _guards[key] = check
    try:
        yield
    finally:
        del _guards[key]


def sync_checkpoint(prefix: str) -> None:
    """Writes the files of a checkpoint, and their names, through to the disk.

    Args:
      prefix: path of the checkpoint. Nothing is done if it is on a file system of TensorFlow, such
        as gs://.

    Raises:
      OSError: the disk is full or fails.
      Exception: that of the check of `guarded`.
    """
    if "://" not in prefix:
        folder = os.path.dirname(prefix) or "."
        sync_files([*glob.glob(f"{glob.escape(prefix)}.*"), folder])
        _check(folder)


def rename_state(temporary: str, path: str) -> None:
    """Gives a state file that has been written beside its place its name.

    A process that takes the place of this one removes the files that wait for their name. So a
    process that is suspended after its check cannot replace the state file of the other.

    Args:
      temporary: path of the written file.
      path: path of the state file.

    Raises:
      OSError: the file cannot be renamed.
      Exception: that of the check of `guarded`.
    """
    folder = os.path.dirname(path) or "."
    _check(folder)
    try:
        os.replace(temporary, path)
    except FileNotFoundError:
        _check(folder)
        raise


def _check(folder: str) -> None:
    check = _guards.get(os.path.realpath(folder))
    if check is not None:
        check()


def sync_folder(folder: str) -> None:
    """Writes a folder with everything in it through to the disk.

    Args:
      folder: path of the folder.

    Raises:
      OSError: the disk is full or fails.
    """
    tree = [
        (parent, [os.path.join(parent, name) for name in names])
        for parent, _, names in os.walk(folder)
    ]
    sync_files([path for parent, files in tree for path in (*files, parent)])


def sync_files(paths: Iterable[str]) -> None:
    """Writes files and folders through to the disk, several at the same time.

    Args:
      paths: their paths. One that does not exist any more is left out.

    Raises:
      OSError: the disk is full or fails.
    """
    waiting = list(paths)
    errors: list[OSError] = []

    def work() -> None:
        while waiting:
            try:
                _sync(waiting.pop())
            except IndexError:
                # Another thread has taken the last one.
                return
            except OSError as error:
                errors.append(error)

    threads = [
        threading.Thread(target=work, daemon=True) for _ in range(min(THREADS, len(waiting)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
