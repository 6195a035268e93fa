"""A folder of numbered versions of a model in Cloud Storage; see `versions`.

The saved_model.pb of a version is first stored under another name. When all other files are there,
the service copies it to its place, on condition that nobody has removed the first one. So a process
that was stopped for a while cannot complete a version that another one has discarded.
"""

import functools
import io
import json
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Changed, Conflict, Found
from trainer.storage.files import GRAPH, VERSIONS_STATE, describe_damage, list_export
from trainer.storage.transfers import run_all
from trainer.storage.versions import Superseded, describe_conflict

_STAGED = ".push/"


class BucketVersions:
    """A folder of versions in a bucket; see `versions.VersionFolder`.

    Args:
        bucket: the bucket.
        address: the folder in it.
    """

    def __init__(self, bucket: Bucket, address: Address):
        self._bucket = bucket
        self._address = address

    def read_state(self) -> tuple[dict[str, Any], int]:
        """See VersionFolder."""
        content, generation = self._read(VERSIONS_STATE)
        if content is None:
            return {}, 0
        try:
            state = json.loads(content)
        except ValueError:
            state = None
        if not isinstance(state, dict):
            raise describe_damage(str(self._address.join(VERSIONS_STATE)), "no JSON object")
        return state, generation

    def write_state(self, state: dict[str, Any], generation: int) -> None:
        """See VersionFolder."""
        self._write(VERSIONS_STATE, json.dumps(state, indent=1, allow_nan=False) + "\n", generation)

    def list_versions(self) -> dict[int, bool]:
        """See VersionFolder."""
        versions: dict[int, bool] = {}
        for name in self._list(""):
            number, _, inner = name.partition("/")
            if number.isdecimal() and inner:
                versions[int(number)] = versions.get(int(number), False) or inner == GRAPH
        return versions

    def _list(self, folder: str) -> dict[str, Found]:
        """Returns name relative to the folder of versions → object."""
        start = len(self._address.folder)
        found = self._bucket.list_all(self._address.folder + folder)
        return {one.name[start:]: one for one in found}

    def stage(self, export: Path) -> str:
        """See VersionFolder."""
        stored = self._upload(export / GRAPH, f"{_STAGED}{uuid.uuid4().hex}")
        return f"{stored.name.rpartition('/')[2]}@{stored.generation}"

    def _upload(self, path: Path, name: str) -> Found:
        target = self._address.join(name).name
        try:
            with path.open("rb") as stream:
                return self._bucket.upload(stream, path.stat().st_size, target, 0)
        except Conflict as error:
            raise Superseded(describe_conflict(str(self._address))) from error

    def fill(self, token: str, version: int, export: Path) -> None:
        """See VersionFolder."""
        names = [name for name in list_export(export) if name != GRAPH]
        run_all(
            [functools.partial(self._upload, export / name, f"{version}/{name}") for name in names]
        )

    def publish(self, token: str, version: int) -> None:
        """See VersionFolder."""
        staged = self._find_staged(token)
        try:
            if staged is None:
                raise Changed(token)
            self._bucket.copy(staged, self._address.join(f"{version}/{GRAPH}").name)
        except (Changed, Conflict) as error:
            raise Superseded(describe_conflict(str(self._address))) from error

    def _find_staged(self, token: str) -> Optional[Found]:
        name, _, generation = token.partition("@")
        found = self._list(f"{_STAGED}{name}").get(f"{_STAGED}{name}")
        return found if found is not None and found.generation == int(generation) else None

    def discard(self, token: str) -> None:
        """See VersionFolder."""
        staged = self._find_staged(token)
        if staged is not None:
            self._bucket.remove(staged)

    def sweep(self, kept: Optional[str]) -> None:
        """See VersionFolder."""
        for name, found in self._list(_STAGED).items():
            if f"{name[len(_STAGED) :]}@{found.generation}" != kept:
                self._bucket.remove(found)

    def remove(self, version: int) -> None:
        """See VersionFolder."""
        found = self._list(f"{version}/")
        # First what makes it complete.
        for name in sorted(found, key=lambda name: (name != f"{version}/{GRAPH}", name)):
            self._bucket.remove(found[name])

    def read_text(self, name: str) -> Optional[str]:
        """See VersionFolder."""
        content, _ = self._read(name)
        return None if content is None else content.decode("utf-8", "replace")

    def update_text(self, name: str, render: Callable[[], str]) -> None:
        """See VersionFolder."""
        while True:
            # First the generation, then the state: an older state never replaces a newer file.
            _, generation = self._read(name)
            try:
                self._write(name, render(), generation)
                return
            except Superseded:
                continue

    def _read(self, name: str) -> tuple[Optional[bytes], int]:
        """Returns the content of an object, None if there is none, and its generation."""
        with tempfile.TemporaryDirectory(prefix="versions-") as folder:
            path = Path(folder, "object")
            while True:
                found = self._bucket.find(self._address.join(name).name)
                if found is None:
                    return None, 0
                try:
                    self._bucket.download(found, path)
                    return path.read_bytes(), found.generation
                except Changed:
                    continue

    def _write(self, name: str, text: str, generation: int) -> None:
        content = text.encode()
        target = self._address.join(name).name
        try:
            self._bucket.upload(io.BytesIO(content), len(content), target, generation)
        except Conflict as error:
            raise Superseded(describe_conflict(str(self._address))) from error
