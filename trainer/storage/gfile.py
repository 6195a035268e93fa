"""Reads data files through TensorFlow's own gs:// file system, where it has one.

TensorFlow's wheels contained it up to 2.15, loaded it from tensorflow-io-gcs-filesystem up to 2.20
if that was installed, and have none since.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.storage.bucket import Changed, Found
from trainer.storage.files import replaced


class FileSystem:
    """A bucket in TensorFlow's file system, with the reading methods of `bucket.Bucket`.

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
            prefix: the start of the names.

        Raises:
            UserError: they cannot be listed.
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
        # There is no checksum; the time of the last change serves as the version.
        return Found(name, int(status.length), int(status.mtime_nsec), "")

    def find(self, name: str) -> Optional[Found]:
        """Returns a file, or None if there is none.

        Args:
            name: its name.

        Raises:
            UserError: it cannot be looked up.
        """
        with self._translate_errors("look up", name):
            try:
                return self._stat(name)
            except tf.errors.NotFoundError:
                return None

    def read_head(self, found: Found, size: int) -> bytes:
        """Returns the first bytes of a file.

        Args:
            found: the file.
            size: number of bytes.

        Raises:
            UserError: it cannot be read.
        """
        with self._translate_errors("read", found.name), self._open(found.name) as stream:
            return bytes(stream.read(min(size, found.size)))

    def _open(self, name: str) -> Any:
        return tf.io.gfile.GFile(self._root + name, "rb")

    def download(self, found: Found, path: Path) -> None:
        """Fetches a file.

        Args:
            found: the file.
            path: where to.

        Raises:
            Changed: it has changed since it was listed.
            UserError: it cannot be read.
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
            raise UserError(
                f"{self._root}{name}: TensorFlow cannot {action} it: {message}; check the address "
                "and the permission, or set --storage=auto"
            ) from error
