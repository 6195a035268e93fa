"""A Saver that writes a copy of the variables while training goes on."""

import contextlib
import errno
import threading
from collections.abc import Callable, Sequence
from typing import Any, Optional

from ..private_tf import saver, session

__all__ = ["SaverBeside", "wait_for_checkpoints"]


class _Writing:
    """A checkpoint that is being written in a thread.

    Args:
      write: writes it.
    """

    def __init__(self, write: Callable[[], Any]):
        self._write = write
        self._error: Optional[BaseException] = None
        # Not a daemon: a program that ends by itself waits for its last checkpoint.
        self._thread = threading.Thread(target=self._run, name="checkpoint")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Waits until it is written, and raises what has prevented that."""
        from .. import tf

        self._thread.join()
        if isinstance(self._error, tf.errors.OutOfRangeError):
            # EFBIG, a file larger than allowed. Training would take this type of error for the end
            # of its input.
            raise OSError(errno.EFBIG, self._error.message) from self._error
        if self._error is not None:
            raise self._error


# The checkpoints of this process that are being written.
_writings: list[_Writing] = []


def wait_for_checkpoints() -> None:
    """Waits until no checkpoint of this process is being written any more.

    Raises:
      Exception: what has prevented a checkpoint from being written, as Saver.save would raise it.
    """
    for writing in tuple(_writings):
        try:
            writing.wait()
        finally:
            # Only now, so that another thread that asks meanwhile waits as well.
            with contextlib.suppress(ValueError):
                _writings.remove(writing)


class SaverBeside(saver.Saver):
    """A Saver that copies the values, and writes the copy while training goes on.

    All that Saver.save does is done in a thread, in the same order: the files of the checkpoint,
    the state file, and the removal of old checkpoints. Only one checkpoint is written at a time.
    Who reads the files calls wait_for_checkpoints before.

    Args:
      names: of the values in a checkpoint.
      tensors: the values.
      **options: of Saver, with a saver_def.
    """

    def __init__(self, names: Sequence[str], tensors: Sequence[Any], **options: Any):
        super().__init__(**options)
        self._names, self._tensors = names, list(tensors)
        self._writer: Optional[_Writer] = None

    def save(
        self, sess: Any, save_path: str, global_step: Optional[int] = None, **options: Any
    ) -> str:
        """Begins to save a checkpoint.

        Args:
          sess: the session.
          save_path: path of the checkpoints, without the step.
          global_step: the step.
          **options: of Saver.save.

        Returns:
          The path of the checkpoint, which is not complete yet.

        Raises:
          Exception: what has prevented the last checkpoint from being written.
        """
        wait_for_checkpoints()
        if self._writer is None:
            self._writer = _Writer(self._names, self._tensors)
        graph, save = sess.graph, super().save
        copy = _Copy(graph, self._writer, sess.run(self._tensors))

        def write() -> None:
            # Without a graph, TensorFlow would be eager in a new thread.
            with graph.as_default():
                save(copy, save_path, global_step, **options)

        _writings.append(_Writing(write))
        return save_path if global_step is None else f"{save_path}-{global_step}"


class _Writer:
    """Writes values as a checkpoint, in a graph and a session of its own.

    Args:
      names: of the values in a checkpoint.
      tensors: give the types of the values.
    """

    def __init__(self, names: Sequence[str], tensors: Sequence[Any]):
        from .. import tf

        with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
            self._values = [tf.compat.v1.placeholder(each.dtype, each.shape) for each in tensors]
            self._prefix = tf.compat.v1.placeholder(tf.string, [])
            self._written = tf.raw_ops.SaveV2(
                prefix=self._prefix,
                tensor_names=list(names),
                shape_and_slices=[""] * len(names),
                tensors=self._values,
            )
        self._session = session.Session(graph=graph)

    def write(self, prefix: str, values: Sequence[Any]) -> None:
        """Writes a checkpoint.

        Args:
          prefix: its path.
          values: in the order of the names.
        """
        keys = [each.name for each in self._values]
        self._session.run(self._written, {self._prefix.name: prefix, **dict(zip(keys, values))})


class _Copy(session.SessionInterface):
    """What Saver.save uses of a session: writes copied values.

    Args:
      graph: of training.
      writer: writes the values.
      values: the values.
    """

    def __init__(self, graph: Any, writer: _Writer, values: Sequence[Any]):
        self._graph, self._writer, self._values = graph, writer, values

    @property
    def graph(self) -> Any:
        return self._graph

    def run(self, fetches: Any, feed_dict: Any = None, *args: Any, **options: Any) -> Any:
        """Writes the values; `fetches` is the operation that saves, and the path is fed."""
        (prefix,) = feed_dict.values()
        self._writer.write(prefix, self._values)
        return prefix.encode()
