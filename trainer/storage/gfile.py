"""Reads data files with TensorFlow's own gs:// file system, if this TensorFlow has one.

TensorFlow's wheels up to 2.15 contain the file system. Wheels up to 2.20 load it from
tensorflow-io-gcs-filesystem if that package is installed. Later wheels have no such file system.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from estimator_bridge import tf
from trainer.errors import TemporaryError, UserError
from trainer.storage.bucket import Changed, Found
from trainer.storage.files import replaced

# Errors that may pass by themselves.
TEMPORARY = (
    tf.errors.UnavailableError,
    tf.errors.DeadlineExceededError,
    tf.errors.AbortedError,
    tf.errors.ResourceExhaustedError,
)


class FileSystem:
    """A bucket in TensorFlow's file system; has the same methods for reading as `bucket.Bucket`.

    Args:
        scheme: scheme of the file system: gs://.
        bucket: name of the bucket.

    Raises:
        UserError: this TensorFlow has no such file system.
    """

    def __init__(self, scheme: str, bucket: str):
        self._root = f"{scheme}{bucket}/"
        scheme_name = scheme.partition(":")[0]
        try:
            known = scheme_name in tf.io.gfile.get_registered_schemes()
        except tf.errors.OpError:
            known = False
        if not known:
            raise UserError(
                f"--storage=tensorflow: TensorFlow {tf.__version__} has no file system for "
                f"{scheme}; install tensorflow-io-gcs-filesystem (TensorFlow up to 2.20), or set "
                "--storage=auto"
            )

    def list_all(self, prefix: str) -> list[Found]:
        """Returns all files whose names start with a prefix, sorted by name.

        Args:
            prefix: the prefix.

        Raises:
            UserError: the files cannot be listed.
        """
        folder = prefix.rpartition("/")[0]
        found = []
        with self._translate_errors("list", prefix):
            for parent, _, names in tf.io.gfile.walk(self._root + folder):
                for name in names:
                    path = os.path.join(parent, name)
                    whole = path[len(self._root) :].lstrip("/")
                    if name and whole.startswith(prefix):
                        found.append(self._stat(whole))
        return sorted(found)

    def _stat(self, name: str) -> Found:
        status = tf.io.gfile.stat(self._root + name)
        # This file system returns no checksum. The time of the last change is used as the version.
        return Found(name, int(status.length), int(status.mtime_nsec), "")

    def find(self, name: str) -> Optional[Found]:
        """Returns a file, or None if there is none.

        Args:
            name: its name.

        Raises:
            UserError: the file cannot be looked up.
        """
        with self._translate_errors("look up", name):
            try:
                return self._stat(name)
            except tf.errors.NotFoundError:
                return None

    def read_range(self, found: Found, start: int, size: int) -> bytes:
        """Returns some bytes of a file; fewer at its end.

        Args:
            found: the file.
            start: number of bytes before them.
            size: number of bytes.

        Raises:
            UserError: the file cannot be read.
        """
        if start >= found.size:
            return b""
        with self._translate_errors("read", found.name), self._open(found.name) as stream:
            stream.seek(start)
            return bytes(stream.read(min(size, found.size - start)))

    def _open(self, name: str) -> Any:
        return tf.io.gfile.GFile(self._root + name, "rb")

    def download(self, found: Found, path: Path) -> None:
        """Fetches a file.

        Args:
            found: the file.
            path: the local path to write.

        Raises:
            Changed: the file has changed since it was listed.
            UserError: the file cannot be read.
        """
        with replaced(path) as temporary:
            with self._translate_errors("read", found.name):
                tf.io.gfile.copy(self._root + found.name, str(temporary), overwrite=True)
            if self.find(found.name) != found or temporary.stat().st_size != found.size:
                raise Changed(found.name)

    @contextmanager
    def _translate_errors(self, action: str, name: str) -> Iterator[None]:
        try:
            yield
        except tf.errors.OpError as error:
            message = " ".join(str(error.message).split())[:160]
            if isinstance(error, TEMPORARY):
                raise TemporaryError(
                    f"{self._root}{name}: TensorFlow cannot {action} it: {message}; try again later"
                ) from error
            raise UserError(
                f"{self._root}{name}: TensorFlow cannot {action} it: {message}; check the address "
                "and the permission, or set --storage=auto"
            ) from error
