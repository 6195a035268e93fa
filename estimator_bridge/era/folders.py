"""Reads the folder of a job, on this machine or in a bucket, without TensorFlow."""

import glob
import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional, Protocol

__all__ = ["Folder", "open_folder"]

_SCHEME = "gs://"
# A program that names a bucket must start within seconds, whatever the network does.
_TIMEOUT_SECS = 10
_MAX_EXPORTS, _MAX_LISTED = 100, 1000
_EXPORT = re.compile(r"export/[^/]+/[^/]+/saved_model\.pb")


class Folder(Protocol):
    """The folder of a job."""

    def __str__(self) -> str:
        """Returns its path or address."""

    def read(self, name: str, max_bytes: int) -> bytes:
        """Returns the start of a file.

        Args:
          name: of the file, relative to the folder.
          max_bytes: how much is read.

        Raises:
          OSError: it cannot be read.
        """

    def find_exports(self) -> Iterable[str]:
        """Returns the names of the files saved_model.pb of the exporters' exports."""


def open_folder(path: str) -> Optional[Folder]:
    """Returns the folder that an argument of a program names, or None.

    Args:
      path: any text.
    """
    if path.startswith(_SCHEME):
        return _open_bucket(path[len(_SCHEME) :])
    return _Local(path) if path and os.path.isdir(path) else None


class _Local:
    def __init__(self, path: str):
        self._path = path

    def __str__(self) -> str:
        return self._path

    def read(self, name: str, max_bytes: int) -> bytes:
        with open(os.path.join(self._path, name), "rb") as file:
            return file.read(max_bytes)

    def find_exports(self) -> list[str]:
        pattern = Path(glob.escape(self._path)) / "export" / "*" / "*" / "saved_model.pb"
        found = sorted(glob.glob(str(pattern)))[:_MAX_EXPORTS]
        return [os.path.relpath(path, self._path) for path in found]


class _InBucket:
    """A folder of Cloud Storage.

    Args:
      bucket: a bucket of the client.
      prefix: the folder's name in it, without a slash at its end; "" for the whole bucket.
    """

    def __init__(self, bucket: Any, prefix: str):
        self._bucket, self._prefix = bucket, prefix

    def __str__(self) -> str:
        return f"{_SCHEME}{self._bucket.name}/{self._prefix}".rstrip("/")

    def _name(self, name: str) -> str:
        return f"{self._prefix}/{name}".lstrip("/")

    def read(self, name: str, max_bytes: int) -> bytes:
        blob = self._bucket.blob(self._name(name))
        try:
            data: bytes = blob.download_as_bytes(
                start=0, end=max_bytes - 1, timeout=_TIMEOUT_SECS, retry=None
            )
        except Exception as error:  # The library's errors share no other class.
            raise OSError(str(error)) from error
        return data

    def find_exports(self) -> list[str]:
        try:
            blobs = self._bucket.client.list_blobs(
                self._bucket,
                prefix=self._name("export/"),
                max_results=_MAX_LISTED,
                timeout=_TIMEOUT_SECS,
                retry=None,
            )
            names = [str(blob.name)[len(self._name("")) :] for blob in blobs]
        except Exception as error:
            raise OSError(str(error)) from error
        return list(filter(_EXPORT.fullmatch, names))[:_MAX_EXPORTS]


def _open_bucket(address: str) -> Optional[_InBucket]:
    """Returns the folder, or None without the library or credentials."""
    name, _, prefix = address.partition("/")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from google.cloud import storage
        bucket = storage.Client(project=None).bucket(name)
    except Exception:  # What is wrong, TensorFlow reports when it opens the address.
        return None
    return _InBucket(bucket, prefix.strip("/"))
