"""A folder of numbered versions of a model on this machine; every visible version is complete.

A version is copied into a hidden folder and then renamed. The state file says what the versions
are; each write names the state that it replaces. `bucket_versions` does the same in Cloud Storage.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Optional, Protocol

from estimator_bridge.model_files.durable import sync_files
from trainer.errors import TemporaryError, UserError
from trainer.storage.files import (
    GRAPH,
    VERSIONS_STATE,
    describe_damage,
    list_export,
    read_json,
    remove,
    write_json,
    write_text,
)

_LOCK = ".push.lock"
# The lock is held for a few file operations only.
LOCK_SECS = 30.0
_STAGED, _REMOVED = ".push-", ".removed-"


class Superseded(TemporaryError):
    """Another process has changed the folder meanwhile, so this one gives up."""


class VersionFolder(Protocol):
    """A folder of versions, each a SavedModel in a folder whose name is its number.

    A version is complete if it contains saved_model.pb. The methods raise UserError if the folder
    cannot be read or written.
    """

    def read_state(self) -> tuple[dict[str, Any], int]:
        """Returns the content of the state file, {} if there is none, and its generation."""

    def write_state(self, state: dict[str, Any], generation: int) -> None:
        """Replaces the state file.

        Args:
            state: the new content.
            generation: of the content that it replaces.

        Raises:
            Superseded: the state file has been replaced meanwhile.
        """

    def list_versions(self) -> dict[int, bool]:
        """Returns the number of each version → whether it is complete."""

    def stage(self, export: Path) -> str:
        """Begins a version and returns its token; no reader sees it.

        Args:
            export: the SavedModel to push.
        """

    def fill(self, token: str, version: int, export: Path) -> None:
        """Stores all files of a version that has been begun; it is still not complete.

        Args:
            token: of the version.
            version: its number.
            export: the SavedModel.

        Raises:
            Superseded: another process has discarded it.
        """

    def publish(self, token: str, version: int) -> None:
        """Completes a version in one step.

        Args:
            token: of the version.
            version: its number.

        Raises:
            Superseded: another process has discarded it, or there is already such a version.
        """

    def discard(self, token: str) -> None:
        """Makes sure that a version that has been begun is not completed from now on.

        Args:
            token: of the version.
        """

    def sweep(self, kept: Optional[str]) -> None:
        """Removes what other processes have begun and not completed.

        Args:
            kept: token of the only one that may still be completed.
        """

    def remove(self, version: int) -> None:
        """Removes a version, complete or not; a reader sees all of it or nothing.

        Args:
            version: its number.
        """

    def read_text(self, name: str) -> Optional[str]:
        """Returns the content of a file of the folder; None if there is none.

        Args:
            name: its name.
        """

    def update_text(self, name: str, render: Callable[[], str]) -> None:
        """Replaces a file; of several processes, the one that renders last wins.

        Args:
            name: its name.
            render: reads the state and returns the content.
        """


class LocalVersions:
    """A folder of versions on this machine; see `VersionFolder`.

    Args:
        folder: the folder; created by the first write.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def read_state(self) -> tuple[dict[str, Any], int]:
        """See VersionFolder."""
        state = read_json(self._folder / VERSIONS_STATE) or {}
        generation = state.pop("generation", 0)
        if not isinstance(generation, int):
            raise describe_damage(self._folder / VERSIONS_STATE, "generation")
        return state, generation

    def write_state(self, state: dict[str, Any], generation: int) -> None:
        """See VersionFolder."""
        with self._translate_errors(), self._lock():
            if self.read_state()[1] != generation:
                raise Superseded(describe_conflict(str(self._folder)))
            write_json(self._folder / VERSIONS_STATE, {"generation": generation + 1, **state})

    def list_versions(self) -> dict[int, bool]:
        """See VersionFolder."""
        return {
            int(name): (self._folder / name / GRAPH).is_file()
            for name in self._list_names()
            if name.isdecimal()
        }

    def _list_names(self) -> list[str]:
        with self._translate_errors():
            return sorted(os.listdir(self._folder)) if self._folder.is_dir() else []

    def stage(self, export: Path) -> str:
        """See VersionFolder."""
        token = uuid.uuid4().hex
        self._create()
        with self._translate_errors():
            self._staged(token).mkdir()
        return token

    def _create(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            # It may be a folder above.
            place = Path(error.filename or self._folder)
            where = "" if place == self._folder else f"{place}: "
            raise UserError(
                f"{self._folder}: cannot be created: {where}{error.strerror or error}; name "
                "another folder"
            ) from error

    def _staged(self, token: str) -> Path:
        return self._folder / f"{_STAGED}{token}"

    def fill(self, token: str, version: int, export: Path) -> None:
        """See VersionFolder."""
        staged = self._staged(token)
        with self._translate_errors():
            for name in list_export(export):
                for parent in reversed(list(Path(name).parents)[:-1]):
                    # Not with its parents: a discarded version must not come back.
                    (staged / parent).mkdir(exist_ok=True)
                _copy(export / name, staged / name)

    def publish(self, token: str, version: int) -> None:
        """See VersionFolder."""
        with self._translate_errors():
            # A folder that is not empty cannot be replaced.
            os.rename(self._staged(token), self._folder / str(version))
            sync_files([str(self._folder)])

    def discard(self, token: str) -> None:
        """See VersionFolder."""
        self._remove(self._staged(token))

    def sweep(self, kept: Optional[str]) -> None:
        """See VersionFolder."""
        for name in self._list_names():
            if name.startswith(_REMOVED):
                remove(self._folder / name, ignore_errors=True)
            elif name.startswith(_STAGED) and name != f"{_STAGED}{kept}":
                self._remove(self._folder / name)
        # Files are replaced under the lock, so nobody writes these now.
        with self._translate_errors(), self._lock():
            for path in self._folder.glob(".*.tmp"):
                path.unlink()

    def remove(self, version: int) -> None:
        """See VersionFolder."""
        self._remove(self._folder / str(version))

    def _remove(self, path: Path) -> None:
        hidden = self._folder / f"{_REMOVED}{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError), self._raw_errors():
            os.rename(path, hidden)
            remove(hidden, ignore_errors=True)

    def read_text(self, name: str) -> Optional[str]:
        """See VersionFolder."""
        with self._translate_errors():
            path = self._folder / name
            return path.read_text(encoding="utf-8") if path.exists() else None

    def update_text(self, name: str, render: Callable[[], str]) -> None:
        """See VersionFolder."""
        with self._translate_errors(), self._lock():
            write_text(self._folder / name, render())

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Holds the lock of the folder; the operating system releases that of a killed process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / _LOCK).open("ab") as stream:
            _wait_for_lock(stream, str(self._folder))
            yield

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            with self._raw_errors():
                yield
        except FileNotFoundError as error:
            raise Superseded(describe_conflict(str(self._folder))) from error

    @contextmanager
    def _raw_errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise Superseded(describe_conflict(str(self._folder))) from error
            raise UserError(
                f"{self._folder}: cannot be written: {error.strerror or error}; make room or name "
                "another folder"
            ) from error


def describe_conflict(folder: str) -> str:
    """Returns the message of a process that has lost against another.

    Args:
        folder: the folder of versions.
    """
    return (
        f"{folder}: another push or rollback has changed it meanwhile; this one has changed "
        "nothing that is served: look at --list, and give the command again if it is still needed"
    )


def _wait_for_lock(stream: BinaryIO, folder: str) -> None:
    deadline = time.monotonic() + LOCK_SECS
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TemporaryError(
                    f"{folder}: locked for {LOCK_SECS:g} s by another push, which is perhaps "
                    "stopped; end that process or wait for it"
                ) from None
            time.sleep(0.01)
        except OSError:
            # A file system without locks: there, state files written at the same time are not
            # told apart.
            return


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("xb") as writing:
        shutil.copyfileobj(reading, writing)
        writing.flush()
        os.fsync(writing.fileno())
