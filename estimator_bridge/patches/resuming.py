"""Makes resuming safe: corrupt checkpoints are put aside, and nothing is deleted elsewhere.

A checkpoint is written through to the disk before the state file names it and before older ones are
deleted: TensorFlow leaves that to the operating system, so a loss of power could tear all of them.
A resumed program saves the step that it has restored once more. This may be the only checkpoint, so
it is written beside the old files, which are replaced when it is on the disk.

TensorFlow deletes the oldest checkpoints that the file `checkpoint` names, wherever they are. In a
copied model_dir, the file may name those of the original. And if the newest checkpoint is corrupt,
as after a loss of power, TensorFlow fails at each start although an older one is intact; if the
file itself is damaged, it starts over at step 0, in the same folder.
"""

import functools
import glob
import os
import re
import uuid
from typing import Any, Optional

from ..model_files.durable import BESIDE, rename_state, sync_checkpoint
from ..private_tf import (
    checkpoint_management,
    distribute_coordinator_context,
    saver,
    session,
    session_manager,
    tf_logging,
)
from .replaced_functions import ReplacedFunctions

__all__ = ["apply"]

_REMEDY = (
    "restore one of them, or move their files and the file named checkpoint away to start over"
)


def apply() -> None:
    """Changes the Saver, the SessionManager and the writer of state files of TensorFlow."""
    manager = session_manager.SessionManager
    if hasattr(manager.prepare_session, "__wrapped__"):
        return
    manager.prepare_session = _checking(manager.prepare_session)
    cls = saver.Saver
    cls.recover_last_checkpoints = _remembering(cls.recover_last_checkpoints)
    cls.save = _forgetting(cls.save)
    checkpoint_management.update_checkpoint_state_internal = _syncing(
        checkpoint_management.update_checkpoint_state_internal
    )
    checkpoint_management.file_io = _NamingLast(checkpoint_management.file_io)


def _checking(prepare_session: Any) -> Any:
    """Returns prepare_session, which the chief calls, with a check of the checkpoints before it."""

    @functools.wraps(prepare_session)
    def prepare(self: Any, master: Any, *args: Any, **options: Any) -> Any:
        # The fourth argument of the method, after the master.
        folder = options.get("checkpoint_dir", args[2] if len(args) > 2 else None)
        if folder and _is_chief():
            _check(os.fspath(folder))
        return prepare_session(self, master, *args, **options)

    return prepare


def _is_chief() -> bool:
    """Returns whether this process alone may change the folder of the checkpoints."""
    # Under a strategy that spans processes, each of them prepares a session.
    context = distribute_coordinator_context.get_current_worker_context()
    return context is None or bool(context.is_chief)


def _check(folder: str) -> None:
    from ..model_files import checkpoints

    # A process that has trained here before has written the newest checkpoint itself.
    if "://" in folder or not os.path.isdir(folder) or checkpoints.was_checked(folder):
        return
    message = checkpoints.put_corrupt_aside(
        folder, stem=_find_stem(checkpoints.read_state(folder)), allow_nan=True, remedy=_REMEDY
    )
    if message:
        tf_logging.warning("%s: %s", folder, message)


def _find_stem(state: Optional[Any]) -> str:
    """Returns the name of the checkpoints before "-STEP"; a program may have chosen its own."""
    from ..model_files import checkpoints

    path = state.model_checkpoint_path if state else ""
    match = re.fullmatch(r"(.+)-\d+", os.path.basename(path))
    return match[1] if match else checkpoints.STEM


def _remembering(recover_last_checkpoints: Any) -> Any:
    """Returns recover_last_checkpoints, with which the Saver notes what a state file named."""

    @functools.wraps(recover_last_checkpoints)
    def recover(self: Any, checkpoint_paths: Any) -> Any:
        result = recover_last_checkpoints(self, checkpoint_paths)
        vars(self)["_bridge_recovered"] = set(self.last_checkpoints)
        return result

    return recover


def _forgetting(save: Any) -> Any:
    """Returns save, which forgets recovered checkpoints of other folders and saves safely."""

    @functools.wraps(save)
    def save_here(self: Any, sess: Any, save_path: Any, *args: Any, **options: Any) -> Any:
        recovered = vars(self).pop("_bridge_recovered", None)
        if recovered:
            _forget_outside(self, recovered, os.path.dirname(os.fspath(save_path)))
        # A Saver of no variables, as of an export without any, has nothing to run.
        if self.saver_def is not None and isinstance(sess, session.SessionInterface):
            sess = _SavingBeside(sess, self.saver_def)
        return save(self, sess, save_path, *args, **options)

    return save_here


class _SavingBeside(session.SessionInterface):
    """What Saver.save uses of a session; replaces existing files only by complete ones.

    Args:
      owner: the session that saves.
      saver_def: names of the operations that save.
    """

    def __init__(self, owner: Any, saver_def: Any):
        self._owner = owner
        self._save, self._filename = saver_def.save_tensor_name, saver_def.filename_tensor_name

    @property
    def graph(self) -> Any:
        return self._owner.graph

    def run(self, fetches: Any, feed_dict: Any = None, *args: Any, **options: Any) -> Any:
        prefix = feed_dict.get(self._filename) if feed_dict and fetches == self._save else None
        if prefix is None or "://" in prefix or not os.path.exists(f"{prefix}.index"):
            return self._owner.run(fetches, feed_dict, *args, **options)
        beside = os.path.join(os.path.dirname(prefix), f"{BESIDE}{uuid.uuid4().hex}.tmp")
        try:
            self._owner.run(fetches, {**feed_dict, self._filename: beside}, *args, **options)
            sync_checkpoint(beside)
            # First the data: the index says that they are there.
            for path in sorted(glob.glob(f"{glob.escape(beside)}.*")):
                os.replace(path, prefix + path[len(beside) :])
        finally:
            for path in glob.glob(f"{glob.escape(beside)}.*"):
                os.unlink(path)
        return os.fsencode(prefix)


def _syncing(update: Any) -> Any:
    """Returns update_checkpoint_state_internal, before which the checkpoint is on the disk."""

    @functools.wraps(update)
    def sync_and_update(
        save_dir: Any, model_checkpoint_path: Any, *args: Any, **options: Any
    ) -> Any:
        sync_checkpoint(os.fsdecode(model_checkpoint_path))
        return update(save_dir, model_checkpoint_path, *args, **options)

    return sync_and_update


class _NamingLast(ReplacedFunctions):
    """TensorFlow's file_io for the writer of state files: a guard is asked before the last step."""

    def atomic_write_string_to_file(self, filename: Any, contents: Any, **options: Any) -> None:
        path = os.fspath(filename)
        if "://" in path or options:
            self._module.atomic_write_string_to_file(filename, contents, **options)
            return
        temporary = f"{path}.tmp{uuid.uuid4().hex}"
        try:
            self._module.write_string_to_file(temporary, contents)
            rename_state(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _forget_outside(owner: Any, recovered: set[str], folder: str) -> None:
    here = os.path.realpath(folder)
    outside = {
        path
        for path in recovered
        # The Saver deletes all files that match a path.
        if os.path.realpath(os.path.dirname(path)) != here or glob.has_magic(os.path.basename(path))
    }
    if outside:
        kept = [pair for pair in owner._last_checkpoints if pair[0] not in outside]
        owner.set_last_checkpoints_with_time(kept)
        tf_logging.warning(
            "%s: the file named checkpoint named %d checkpoint(s) that are not in this folder, "
            "or patterns; they are left alone",
            *(folder, len(outside)),
        )
