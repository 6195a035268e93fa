"""Finds data files in Cloud Storage and fetches them when they are read.

A whole file is fetched when it is first opened, and verified with its checksum. It is kept in a
folder of bounded size. To make space, the least recently used files are removed from this folder. A
file may be removed while it is being read: POSIX keeps its content until all processes close it.
"""

import contextlib
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional, cast

from trainer.console import Console
from trainer.environment.variables import find_cache_home
from trainer.errors import TemporaryError, UserError
from trainer.storage.addresses import (
    MOUNT,
    SCHEME,
    Address,
    fits_pattern,
    is_data,
    is_remote,
    literal_prefix,
    parse_address,
)
from trainer.storage.bucket import Bucket, Changed, Found
from trainer.storage.files import checksum, make_private_folder
from trainer.storage.remote_file import RemoteFile

GIB = 2**30
ATTEMPTS = 3
_AGAIN = "give the command again"


class Settings(NamedTuple):
    """How gs:// paths are accessed.

    Attributes:
        reader: how data files are read: auto, mount, client or tensorflow.
        cache_dir: folder for fetched files; None: a folder in the user's cache folder.
        cache_gib: maximum total size of the fetched data files, in GiB.
        timeout_secs: the longest wait for one response.
        patience_secs: how long a failing request is repeated.
        mount: the folder in which buckets are mounted.
    """

    reader: str = "auto"
    cache_dir: Optional[str] = None
    cache_gib: float = 20.0
    timeout_secs: float = 60.0
    patience_secs: float = 300.0
    mount: str = MOUNT

    @property
    def folder(self) -> Path:
        """The folder for fetched files; each user of a machine has a separate one."""
        if self.cache_dir:
            return Path(self.cache_dir)
        # Not in the system's temporary folder, whose old files some systems delete.
        return find_cache_home() / f"trainer-storage-{os.getuid()}"

    def make_folder(self, *parts: str) -> Path:
        """Creates and returns a folder in `folder` that other users may not read.

        Args:
            *parts: path of the new folder, relative to `folder`.

        Raises:
            UserError: the folder cannot be created, is a link, or belongs to another user.
        """
        folder = self.folder.joinpath(*parts)
        try:
            if self.cache_dir:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if self.folder.stat().st_uid != os.getuid():
                    raise PermissionError(1, "it belongs to another user")
            else:
                make_private_folder(self.folder)
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"storage.cache_dir {self.folder}: {error.strerror}; name another folder in "
                "--storage.cache_dir"
            ) from error
        return folder

    def open_bucket(self, name: str) -> Bucket:
        """Returns the bucket with a name.

        Args:
            name: the name.

        Raises:
            UserError: there are no credentials, or google-cloud-storage is not installed.
        """
        return Bucket(name, self.timeout_secs, self.patience_secs)


class DataFiles:
    """Finds and fetches data files.

    Args:
        settings: how gs:// paths are accessed.
        console: shows progress.

    Attributes:
        settings: the same.
    """

    def __init__(self, settings: Settings, console: Console):
        self.settings = settings
        self._console = console
        self._stores: dict[str, Any] = {}
        self._found: dict[str, Found] = {}
        # Local files whose content this process has fetched or checked.
        self._checked: set[Path] = set()
        # A lock, because training and evaluation read in different threads.
        self._lock = threading.RLock()

    def find(self, pattern: str, option: str) -> list[str]:
        """Returns the files that match a gs:// path, pattern or folder, sorted.

        Args:
            pattern: the path, pattern or folder.
            option: the option that contains it, for messages.

        Returns:
            Local paths if the bucket is mounted, else gs:// addresses; empty if no file matches.

        Raises:
            UserError: the address is wrong, or there is no such bucket or no permission.
        """
        address = parse_address(pattern, option)
        mounted = self._find_mounted(address, option)
        if mounted is not None:
            return mounted
        store = self._store(address.bucket)
        if address.has_magic:
            listed = store.list_all(literal_prefix(address.name))
            found = [one for one in listed if fits_pattern(one.name, address.name)]
        else:
            folder = address.folder
            listed = store.list_all(address.name.rstrip("/"))
            found = [one for one in listed if one.name == address.name]
            found = found or [
                one
                for one in listed
                if one.name.startswith(folder) and is_data(one.name[len(folder) :])
            ]
        paths = {str(Address(address.bucket, one.name)): one for one in found}
        self._found.update(paths)
        return sorted(paths)

    def _find_mounted(self, address: Address, option: str) -> Optional[list[str]]:
        if self.settings.reader not in ("auto", "mount"):
            return None
        path = address.mounted(self.settings.mount)
        if path is None:
            if self.settings.reader == "auto":
                return None
            raise UserError(
                f"{option}: {address}: storage.reader is mount, and there is no "
                f"{self.settings.mount}/{address.bucket}; mount the bucket, or set --storage=auto"
            )
        return [str(path)]

    def _store(self, bucket: str) -> Any:
        with self._lock:
            if bucket not in self._stores:
                if self.settings.reader == "tensorflow":
                    from trainer.storage.gfile import FileSystem

                    self._stores[bucket] = FileSystem(SCHEME, bucket)
                else:
                    opened = self.settings.open_bucket(bucket)
                    opened.progress.console = self._console
                    self._stores[bucket] = opened
            return self._stores[bucket]

    def _look_up(self, path: str) -> Found:
        if path not in self._found:
            address = parse_address(path, "data")
            found = self._store(address.bucket).find(address.name)
            if found is None:
                raise UserError(f"{path}: no such object; check its name")
            self._found[path] = found
        return self._found[path]

    def read_head(self, path: str, size: int) -> bytes:
        """Returns the first bytes of a file.

        Args:
            path: the file, on this machine or gs://.
            size: number of bytes.

        Raises:
            UserError: a gs:// file cannot be read.
        """
        with self.open(path) as stream:
            return stream.read(size)

    def open(self, path: str) -> BinaryIO:
        """Returns a file, of which only those parts are fetched that are read.

        Args:
            path: the file, on this machine or gs://.

        Raises:
            UserError: a gs:// file cannot be read.
        """
        if not is_remote(path):
            return open(path, "rb")
        with self._lock:
            found = self._look_up(path)
            store = self._store(parse_address(path, "data").bucket)

        def fetch(start: int, size: int) -> bytes:
            try:
                return bytes(store.read_range(found, start, size))
            except Changed as error:
                self._found.pop(path, None)
                raise TemporaryError(f"{path}: was replaced while it was read; {_AGAIN}") from error

        return cast(BinaryIO, RemoteFile(found.size, fetch))

    def identify(self, path: str) -> list[Any]:
        """Returns values that differ for two contents of a gs:// file; does not fetch the file.

        Args:
            path: the gs:// file.

        Returns:
            Its address, generation, size in bytes and CRC-32C. After `fetch`, they are those of the
            fetched content.

        Raises:
            UserError: there is no such object, or it cannot be looked up.
        """
        with self._lock:
            found = self._look_up(path)
        return [path, found.generation, found.size, found.crc32c]

    def fetch(self, path: str) -> str:
        """Returns the local path of a file; fetches the file if necessary.

        Args:
            path: the file, on this machine or gs://.

        Raises:
            UserError: the file cannot be fetched, is larger than the cache, or keeps changing.
        """
        if not is_remote(path):
            return path
        with self._lock:
            for _ in range(ATTEMPTS):
                found = self._look_up(path)
                try:
                    return str(self._fetch(path, found))
                except Changed:
                    del self._found[path]
        raise TemporaryError(f"{path}: is replaced again and again while it is read; copy it first")

    def _fetch(self, path: str, found: Found) -> Path:
        folder = self.settings.make_folder("data")
        key = hashlib.sha256(f"{path} {found.generation}".encode()).hexdigest()[:24]
        # Keep the end of the name, because some readers infer the format from it.
        end = re.sub(r"[^\w.\-]", "_", path.rpartition("/")[2][-40:])
        local = folder / f"{key}-{end}"
        if local.is_file() and self._is_intact(local, found):
            os.utime(local)
            return local
        limit = int(self.settings.cache_gib * GIB)
        if found.size > limit:
            raise UserError(
                f"{path}: {found.size / GIB:.2f} GiB, more than the {limit / GIB:.2f} GiB that may "
                "be kept here; raise --storage.cache_gib, or write smaller files"
            )
        _make_room(folder, limit - found.size)
        store = self._store(parse_address(path, "data").bucket)
        with contextlib.ExitStack() as stack:
            if isinstance(store, Bucket):
                stack.enter_context(store.progress.show(f"fetching {path}", found.size))
            store.download(found, local)
        self._checked.add(local)
        return local

    def _is_intact(self, local: Path, found: Found) -> bool:
        if local.stat().st_size != found.size:
            return False
        # TensorFlow's file system knows no checksums.
        if local not in self._checked and found.crc32c:
            with local.open("rb") as stream:
                if checksum(stream, found.size) != found.crc32c:
                    return False
        self._checked.add(local)
        return True


def _make_room(folder: Path, limit: int) -> None:
    """Removes the least recently used files until the total size is within a limit."""
    kept = []
    for file in folder.iterdir():
        # Another process may remove files at the same time.
        with contextlib.suppress(FileNotFoundError):
            status = file.stat()
            kept.append((status.st_mtime_ns, status.st_size, file))
    used = sum(size for _, size, _ in kept)
    for _, size, file in sorted(kept):
        if used <= limit:
            return
        file.unlink(missing_ok=True)
        used -= size


_files = DataFiles(Settings(), Console())


def configure(settings: Settings, console: Optional[Console] = None) -> None:
    """Sets how this process accesses gs:// data.

    Args:
        settings: the settings.
        console: shows progress; None: one that is not quiet.
    """
    global _files
    _files = DataFiles(settings, console or Console())


def current_settings() -> Settings:
    """Returns how this process accesses gs:// data."""
    return _files.settings


def find_data(pattern: str, option: str) -> list[str]:
    """Returns the files that match a gs:// path, pattern or folder; see `DataFiles.find`.

    Args:
        pattern: the path, pattern or folder.
        option: the option that contains it, for messages.
    """
    return _files.find(pattern, option)


def read_head(path: str, size: int) -> bytes:
    """Returns the first bytes of a file; see `DataFiles.read_head`.

    Args:
        path: the file, on this machine or gs://.
        size: number of bytes.
    """
    return _files.read_head(path, size)


def open_data(path: str) -> BinaryIO:
    """Returns a file, of which only those parts are fetched that are read; see `DataFiles.open`.

    Args:
        path: the file, on this machine or gs://.
    """
    return _files.open(path)


def identify_data(path: str) -> list[Any]:
    """Returns values that differ for two contents of a gs:// file; see `DataFiles.identify`.

    Args:
        path: the gs:// file.
    """
    return _files.identify(path)


def fetch_data(path: str) -> str:
    """Returns the local path of a file; fetches the file if necessary; see `DataFiles.fetch`.

    Args:
        path: the file, on this machine or gs://.
    """
    return _files.fetch(path)
