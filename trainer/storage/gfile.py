"""Data files through TensorFlow's own gs:// file system, where it has one.

The wheels of TensorFlow had it up to 2.15, took it from tensorflow-io-gcs-filesystem up to 2.20
where that was installed, and have none since.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.storage.bucket import Changed, Found
from trainer.storage.files import replaced


class FileSystem:
    """A bucket as TensorFlow sees it, with the reading half of trainer.storage.bucket.Bucket.

    Args:
        scheme: of the file system: gs://.
        bucket: its name.
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
        """All files whose names begin so, by name."""
        folder = prefix.rpartition("/")[0]
        found = []
        with self._explained("list", prefix):
            for parent, _, names in tf.io.gfile.walk(self._root + folder):
                for name in names:
                    path = os.path.join(parent, name)
                    whole = path[len(self._root) :].lstrip("/")
                    if name and whole.startswith(prefix):
                        found.append(self._stat(whole))
        return sorted(found)

    def _stat(self, name: str) -> Found:
        status = tf.io.gfile.stat(self._root + name)
        # It knows no checksum; the time of change stands for the version.
        return Found(name, int(status.length), int(status.mtime_nsec), "")

    def find(self, name: str) -> Optional[Found]:
        """A file, or None where there is none."""
        with self._explained("look up", name):
            try:
                return self._stat(name)
            except tf.errors.NotFoundError:
                return None

    def read_head(self, found: Found, size: int) -> bytes:
        """The first bytes of a file."""
        with self._explained("read", found.name), self._open(found.name) as stream:
            return stream.read(min(size, found.size))

    def _open(self, name: str):
        return tf.io.gfile.GFile(self._root + name, "rb")

    def download(self, found: Found, path: Path) -> None:
        """Fetches a file.

        Raises:
            Changed: it is no longer what was listed.
            UserError: it cannot be read.
        """
        with replaced(path) as temporary:
            with self._explained("read", found.name):
                tf.io.gfile.copy(self._root + found.name, str(temporary), overwrite=True)
            if self.find(found.name) != found or temporary.stat().st_size != found.size:
                raise Changed(found.name)

    @contextmanager
    def _explained(self, what: str, name: str) -> Iterator[None]:
        try:
            yield
        except tf.errors.OpError as error:
            words = " ".join(str(error.message).split())[:160]
            raise UserError(
                f"{self._root}{name}: TensorFlow cannot {what} it: {words}; check the address and "
                "the permission, or set --storage=auto"
            ) from error
