"""Exports at an address such as gs://bucket/export/1700000000, with local copies of them."""

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BridgeError

__all__ = ["Places"]

_SCHEME_END = "://"
# Whoever waits for an export looks for it.
_LAST = "saved_model.pb"


class Places:
    """Local folders in the place of those at addresses.

    Args:
      folder: an empty folder, which is removed by the caller.
    """

    def __init__(self, folder: str):
        self._folder = Path(folder).resolve()
        # Local folder → the address that it stands for.
        self._addresses: dict[Path, str] = {}

    def find(self, path: str) -> Path:
        """Returns a local path for a path or an address; nothing is there yet for an address.

        Args:
          path: the path or address of a file or folder.

        Raises:
          BridgeError: the address names a whole bucket.
        """
        scheme, end, rest = path.partition(_SCHEME_END)
        if not end:
            return Path(path)
        parent, slash, name = rest.rstrip("/").rpartition("/")
        if not slash or not parent:
            raise BridgeError(f"{path}: name a file or folder in it")
        local = self._folder / str(len(self._addresses))
        local.mkdir()
        self._addresses[local] = f"{scheme}{end}{parent}"
        return local / name

    def fetch(self, path: str) -> Path:
        """Returns the path of an export, whose files are copied to this machine from an address.

        Args:
          path: the path or address of a file or folder.

        Raises:
          BridgeError: the address does not exist, or cannot be read.
        """
        local = self.find(path)
        address = self._address(local)
        if address:
            with _errors_of(address, "read") as files:
                if not files.exists(address):
                    raise BridgeError(f"no such file or folder: {address}")
                _copy(files, address, str(local))
        return local

    def exists(self, path: Path) -> bool:
        """Returns whether there is something at a path, or at the address that it stands for.

        Args:
          path: a path on this machine.

        Raises:
          BridgeError: the address cannot be read.
        """
        address = self._address(path)
        if not address:
            return path.exists()
        with _errors_of(address, "read") as files:
            return bool(files.exists(address))

    def store(self, path: Path) -> None:
        """Copies a file or folder to the address that it stands for, if it stands for one.

        Args:
          path: a path on this machine.

        Raises:
          BridgeError: the address cannot be written.
        """
        address = self._address(path)
        if address:
            with _errors_of(address, "written") as files:
                _copy(files, str(path), address)

    def show(self, text: str) -> str:
        """Returns a text with the addresses in place of the local paths.

        Args:
          text: a message that may contain paths.
        """
        for local, address in self._addresses.items():
            text = text.replace(str(local), address)
        return text

    def _address(self, path: Path) -> str:
        parent = self._addresses.get(path.parent)
        return f"{parent}/{path.name}" if parent else ""


@contextlib.contextmanager
def _errors_of(address: str, done: str) -> Iterator[Any]:
    """Yields tf.io.gfile; its errors become one line."""
    tensorflow = importlib.import_module("tensorflow")
    try:
        yield tensorflow.io.gfile
    except tensorflow.errors.OpError as error:
        raise BridgeError(f"{address}: cannot be {done}: {error.message}") from error


def _copy(files: Any, source: str, target: str) -> None:
    """Copies a file, or a folder with all that it contains."""
    if not files.isdir(source):
        files.copy(source, target)
        return
    files.makedirs(target)
    names = sorted(files.listdir(source), key=lambda name: (name == _LAST, name))
    for name in (one.rstrip("/") for one in names):
        _copy(files, f"{source}/{name}", f"{target}/{name}")
