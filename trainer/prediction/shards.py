"""The shards of a batch prediction: their names, and the fingerprints for resuming them."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.inputs.files import DataFile

# File in the output folder: shard name → input, fingerprint, rows and bytes.
MANIFEST = "_predictions.json"
# A file in the output folder that is there when all of it is, by a convention of Hadoop.
SUCCESS = "_SUCCESS"
# Number of bytes at each end of an input that are compared, in addition to its size and its time.
COMPARED_BYTES = 1 << 16


class Settings(NamedTuple):
    """The settings that all shards of a run depend on.

    Attributes:
        model: fingerprint of the export.
        outputs: outputs of the model that are kept.
        copied: columns of the input that are copied.
        format: one of FORMATS.
        data: delimiter and header of the input.
        escape_formulas: csv: whether text that a spreadsheet would run gets an apostrophe.
        rejects: whether the rows that the model cannot take are written to a file of their own.
    """

    model: str
    outputs: Sequence[str]
    copied: Sequence[str]
    format: str
    data: config_lib.DataConfig
    escape_formulas: bool
    rejects: bool


def mark_complete(folder: Path, copies: storage.Copies) -> None:
    """Writes the file that says that an output folder is complete.

    Args:
        folder: the output folder.
        copies: stores the file if the folder is in Cloud Storage.

    Raises:
        OSError: the file cannot be written.
        UserError: the file cannot be stored.
    """
    (folder / SUCCESS).touch()
    copies.store_output(folder / SUCCESS)


class Manifest:
    """The shards in an output folder that were begun and that are complete.

    Args:
        folder: the output folder.
        name: file name of the manifest.

    Attributes:
        path: the manifest's file.
    """

    def __init__(self, folder: Path, name: str = MANIFEST):
        self.path = folder / name
        found = storage.read_json(self.path) or {}
        self._shards: dict[str, dict[str, Any]] = {
            shard: storage.get_object(found, shard, self.path) for shard in found
        }

    def get(self, name: str) -> Optional[dict[str, Any]]:
        """Returns input, fingerprint, rows and bytes of a shard; None for an unknown shard.

        The bytes of a shard that was begun and is not complete are None.

        Args:
            name: file name of the shard.
        """
        return self._shards.get(name)

    def add(self, name: str, entry: dict[str, Any]) -> None:
        """Records a shard and writes the manifest.

        Args:
            name: file name of the shard.
            entry: its input, fingerprint, rows and bytes.

        Raises:
            OSError: the manifest cannot be written.
        """
        self._shards[name] = entry
        storage.write_json(self.path, self._shards)

    def count_others(self, names: Sequence[str]) -> int:
        """Returns the number of shards whose names are not in `names`.

        Args:
            names: file names of shards.
        """
        return len(set(self._shards) - set(names))


def name_manifest(index: int, count: int) -> str:
    """Returns the file name of the manifest of one of several processes.

    Args:
        index: of the process, from 0.
        count: number of processes.
    """
    stem, suffix = MANIFEST.split(".")
    return MANIFEST if count == 1 else f"{stem}-{index:05d}-of-{count:05d}.{suffix}"


def name_shards(files: Sequence[DataFile], file_format: str) -> list[str]:
    """Returns distinct file names for the predictions of the inputs, one per input.

    Args:
        files: the inputs, whole files or shares.
        file_format: one of FORMATS.
    """
    paths = dict.fromkeys(file.path for file in files)
    stems = {path: Path(path).name.split(".")[0] or "data" for path in paths}
    counts = Counter(stems.values())
    names = []
    for path, part in ((file.path, file.part) for file in files):
        name = stems[path]
        if counts[name] > 1:
            name += f"-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        if part is not None:
            name += f"-{part.number:05d}-of-{part.total:05d}"
        names.append(f"{name}.{file_format}")
    return names


def _identify(file: DataFile) -> list[Any]:
    path = Path(file.local_path)
    size = path.stat().st_size
    # The name of a fetched file contains its version. Its modification time is the time of its last
    # use, which is irrelevant here.
    version = path.stat().st_mtime_ns if str(path) == file.path else path.name
    with path.open("rb") as stream:
        head = stream.read(COMPARED_BYTES)
        stream.seek(max(0, size - COMPARED_BYTES))
        tail = stream.read()
    return [size, version, hashlib.sha256(head + tail).hexdigest()]


def fingerprint_shard(file: DataFile, settings: Settings) -> str:
    """Returns a hash of everything that the predictions for a file depend on.

    Args:
        file: the input.
        settings: the settings that all shards of the run depend on.

    Raises:
        OSError: the file cannot be read.
    """
    parts: dict[str, Any] = {
        "model": settings.model,
        "input": _identify(file) if file.part is None else list(file.part),
        "outputs": list(settings.outputs),
        "copied": list(settings.copied),
        "format": settings.format,
        "delimiter": settings.data.delimiter,
        "encoding": settings.data.encoding,
        "header": settings.data.header,
    }
    for option in ("escape_formulas", "rejects"):
        if getattr(settings, option):
            parts[option] = True
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
