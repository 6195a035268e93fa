"""Finds the models at or below a path."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from ..model_files.checkpoint_paths import with_parts

__all__ = ["Model", "find_models", "kind_of"]

SAVED_MODEL = "SavedModel"
MODULE = "TF-Hub 1.x module"
TRANSFORM = "Transform graph"
FROZEN = "graph"
META = "graph of a checkpoint"
CHECKPOINT = "checkpoint"
_HIDDEN = (".", "__pycache__")
# The file of a checkpoint of TensorFlow 0.x and of SaverDef.V1, which has no index, or one of its
# parts; other programs also write files *.ckpt.
_V1 = re.compile(r"(.+?\.ckpt(?:-\d+)?)(-\d{5}-of-\d{5})?")
# The last bytes of such a file.
_V1_END = bytes.fromhex("57fb808b247547db")


class Model(NamedTuple):
    """A model.

    Attributes:
      kind: what it is, in words.
      path: its folder or file; the prefix of a checkpoint.
      others: how many older checkpoints are beside it.
    """

    kind: str
    path: Path
    others: int = 0


def _has_graph(folder: Path) -> bool:
    return any((folder / f"saved_model.{end}").is_file() for end in ("pb", "pbtxt"))


def kind_of(path: Path) -> Optional[Model]:
    """Returns the model that a path names, or None.

    Args:
      path: a folder, a file, or the prefix of a checkpoint's files.
    """
    if path.is_dir():
        if (path / "tfhub_module.pb").is_file():
            return Model(MODULE, path)
        if _has_graph(path):
            return Model(SAVED_MODEL, path)
        if _has_graph(path / "transform_fn"):
            return Model(TRANSFORM, path)
        return None
    if path.name in ("saved_model.pb", "saved_model.pbtxt"):
        return kind_of(path.parent)
    if path.suffix == ".index":
        return Model(CHECKPOINT, path.with_suffix(""))
    if path.is_file() and path.suffix == ".meta":
        return Model(META, path)
    if path.is_file() and path.suffix in (".pb", ".pbtxt"):
        return Model(FROZEN, path)
    if Path(f"{path}.index").is_file() or (path.is_file() and ".ckpt" in path.name):
        return Model(CHECKPOINT, path)
    return Model(CHECKPOINT, path) if with_parts(str(path)) != str(path) else None


def _prefixes(folder: Path, files: Iterable[str]) -> Iterator[tuple[float, str]]:
    """Yields (time of a file, prefix) of the checkpoints of a folder; some several times."""
    for name in files:
        path = folder / name
        if name.endswith(".index"):
            yield path.stat().st_mtime, str(path)[: -len(".index")]
        elif (match := _V1.fullmatch(name)) and _is_v1(path):
            yield path.stat().st_mtime, str(folder / match[1])


def _is_v1(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - len(_V1_END), 0))
        return file.read() == _V1_END


def find_models(path: Path) -> list[Model]:
    """Returns the model that a path names, or those below it.

    Of the checkpoints of a folder, the newest is taken.

    Args:
      path: a folder, a file, or the prefix of a checkpoint's files.
    """
    own = kind_of(path)
    if own is not None:
        return [own]
    found = []
    for name, folders, files in os.walk(path):
        folder = Path(name)
        own = kind_of(folder)
        if own is not None:
            found.append(own)
            folders.clear()
            continue
        folders[:] = sorted(one for one in folders if not one.startswith(_HIDDEN))
        prefixes = list(_prefixes(folder, files))
        if prefixes:
            others = len({prefix for _, prefix in prefixes}) - 1
            found.append(Model(CHECKPOINT, Path(max(prefixes)[1]), others))
        found += [Model(FROZEN, folder / one) for one in sorted(files) if one.endswith(".pb")]
    return found
