"""Finds the files of a folder whose name looks like a pattern, in all TensorFlow versions.

TensorFlow takes the path of a checkpoint for a pattern: in `units=[64,32]`, it finds none, so each
training starts over at step 0 and an evaluation gets initial values. It also deletes the old
checkpoints of all folders that match, such as those of another job, `units=6`, and compares
with the evaluations there. Here such a folder is opened once, and TensorFlow gets the name of the
open folder, which has no such characters.
"""

import functools
import importlib
import os
import re
from typing import Any

from ..private_tf import checkpoint_management, checkpoint_utils, saver, session
from ..process.importing import call_when_imported
from .replaced_functions import ReplacedFunctions

__all__ = ["apply"]

_ESTIMATOR = "tensorflow_estimator.python.estimator"

# Characters of TensorFlow's patterns.
_MAGIC = re.compile(r"[*?[\\]")
# Real path of a folder -> its descriptor. It stays open: readers open files when values are read.
_descriptors: dict[str, int] = {}


def apply() -> None:
    """Changes what finds, restores and reads checkpoints by their paths."""
    if getattr(saver.Saver.restore, "_bridged", False):
        return
    saver.Saver.restore = _restoring(saver.Saver.restore)
    checkpoint_utils._get_checkpoint_filename = _finding(checkpoint_utils._get_checkpoint_filename)
    checkpoint_management.file_io = _FilesOfFolder(checkpoint_management.file_io)
    call_when_imported(f"{_ESTIMATOR}.early_stopping", _read_evaluations)
    call_when_imported(f"{_ESTIMATOR}.exporter", _read_best)


def _read_evaluations() -> None:
    module: Any = importlib.import_module(f"{_ESTIMATOR}.early_stopping")
    read = module._summaries
    module._summaries = lambda eval_dir: read(_open(os.fsdecode(eval_dir)))


def _read_best() -> None:
    exporter = importlib.import_module(f"{_ESTIMATOR}.exporter").BestExporter
    read = exporter._get_best_eval_result

    def _get_best_eval_result(self: Any, event_files: Any) -> Any:
        return read(self, event_files and _open_in(os.fsdecode(event_files)))

    exporter._get_best_eval_result = _get_best_eval_result


def _open(folder: str) -> str:
    """Returns a path of a folder without characters of patterns, or the same one.

    Args:
      folder: its path. It stays as it is if it has no such characters, is on a file system of
        TensorFlow or does not exist, and on systems other than Linux.
    """
    if not _MAGIC.search(folder) or "://" in folder or not hasattr(os, "O_PATH"):
        return folder
    if not os.path.isdir(folder):
        return folder
    real = os.path.realpath(folder)
    descriptor = _descriptors.get(real)
    # The folder may have been removed and made again.
    if descriptor is None or not os.path.samestat(os.fstat(descriptor), os.stat(real)):
        descriptor = _descriptors[real] = os.open(real, os.O_PATH | os.O_DIRECTORY)
    return f"/proc/self/fd/{descriptor}"


def _open_in(path: str) -> str:
    """Returns a path whose folder has no characters of patterns."""
    folder, name = os.path.split(path)
    return os.path.join(_open(folder), name)


class _FilesOfFolder(ReplacedFunctions):
    """TensorFlow's file_io for checkpoints: only the names of files are patterns."""

    def get_matching_files(self, pattern: Any) -> list[str]:
        folder, name = os.path.split(os.fsdecode(pattern))
        opened = _open(folder)
        found: list[str] = self._module.get_matching_files(os.path.join(opened, name))
        if opened == folder:
            return found
        return [os.path.join(folder, os.path.basename(path)) for path in found]


def _finding(find: Any) -> Any:
    """Returns _get_checkpoint_filename, whose result TensorFlow's readers can open."""

    @functools.wraps(find)
    def find_literally(ckpt_dir_or_file: Any) -> Any:
        path = find(ckpt_dir_or_file)
        return path and _open_in(os.fsdecode(path))

    return find_literally


def _restoring(restore: Any) -> Any:
    """Returns Saver.restore, whose operations get a path that they can open."""

    @functools.wraps(restore)
    def restore_literally(self: Any, sess: Any, save_path: Any) -> Any:
        if save_path is not None and self.saver_def is not None:
            path = os.fsdecode(save_path)
            if _open_in(path) != path:
                sess = _Restoring(sess, self.saver_def.filename_tensor_name)
        return restore(self, sess, save_path)

    vars(restore_literally)["_bridged"] = True
    return restore_literally


class _Restoring(session.SessionInterface):
    """What Saver.restore uses of a session.

    Args:
      owner: the session that restores.
      filename: name of the tensor that is fed the path of the checkpoint.
    """

    def __init__(self, owner: Any, filename: str):
        self._owner, self._filename = owner, filename

    @property
    def graph(self) -> Any:
        return self._owner.graph

    def run(self, fetches: Any, feed_dict: Any = None, *args: Any, **options: Any) -> Any:
        if feed_dict and self._filename in feed_dict:
            path = _open_in(os.fsdecode(feed_dict[self._filename]))
            feed_dict = {**feed_dict, self._filename: path}
        return self._owner.run(fetches, feed_dict, *args, **options)
