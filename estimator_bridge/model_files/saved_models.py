"""Finds what is damaged or missing in the files of a SavedModel, without TensorFlow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from ..errors import BridgeError
from .index_table import read_entries, read_number

__all__ = ["REMEDY", "find_damage", "require_whole"]

_GRAPH, _VARIABLES, _ASSETS = "saved_model.pb", "variables/variables", "assets"
# The fields of messages that are read, by their numbers, which never change.
_META_GRAPHS = 2
_COLLECTIONS, _ASSET_FILES, _OBJECTS = 4, 6, 7
_COLLECTION_NAME, _COLLECTION = 1, 2
# From a collection to the messages that it holds, and from an asset to its name.
_COLLECTED, _ASSET_NAME = (5, 1, 2), 2
# From the objects of TensorFlow 2 to their variables.
_OBJECT_VARIABLES = (1, 7)
_NUM_SHARDS = 1
_SHARD, _OFFSET, _SIZE, _SLICES = 3, 4, 5, 7
# What a user can do about any damage.
REMEDY = "copy the whole export again, or export anew"
_DAMAGED = "damaged, or cut off"
# What reading such a message raises.
_ERRORS = (IndexError, TypeError, ValueError)
# Kind of a field of fixed length -> its bytes.
_LENGTHS = {1: 8, 5: 4}

# Number and value of each field: a number, or the bytes of a text or message.
_Fields = list[tuple[int, Any]]


def find_damage(folder: Path) -> Optional[str]:
    """Returns which file is damaged or missing, and the remedy; None if none is.

    Of variables and assets, the files are examined, but not what is in them. The text begins with
    the path of the file within the folder.

    Args:
      folder: of a SavedModel with the file saved_model.pb.

    Raises:
      OSError: a file cannot be read.
    """
    content = memoryview((folder / _GRAPH).read_bytes())
    try:
        graphs = [list(_read(one)) for one in _follow(content, _META_GRAPHS)]
        fault = None if graphs else f"{_GRAPH}: {_DAMAGED}"
        fault = fault or _find_missing_asset(folder, graphs) or _find_variables(folder, graphs)
    except _ERRORS:
        fault = f"{_GRAPH}: {_DAMAGED}"
    return fault and f"{fault}; {REMEDY}"


def require_whole(folder: Path) -> None:
    """Checks that the files of a SavedModel are there, and whole.

    Args:
      folder: of the SavedModel.

    Raises:
      BridgeError: one is damaged or missing.
    """
    if not (folder / _GRAPH).is_file():
        raise BridgeError(f"{folder / _GRAPH}: missing; name the folder of a SavedModel")
    damage = find_damage(folder)
    if damage is not None:
        raise BridgeError(f"{folder}/{damage}")


def _find_missing_asset(folder: Path, graphs: list[_Fields]) -> Optional[str]:
    for graph in graphs:
        assets = _list(graph, _ASSET_FILES)
        for collection in _find_collection(graph, b"saved_model_assets"):
            assets += _follow(collection, *_COLLECTED)
        for asset in assets:
            for name in _follow(asset, _ASSET_NAME):
                path = f"{_ASSETS}/{bytes(name).decode()}"
                if not (folder / path).is_file():
                    return f"{path}: missing"
    return None


def _find_variables(folder: Path, graphs: list[_Fields]) -> Optional[str]:
    """Returns the fault of the files of the variables, or None."""
    index = f"{_VARIABLES}.index"
    if not (folder / index).is_file():
        # A graph without variables has no checkpoint.
        return f"{index}: missing" if any(map(_has_variables, graphs)) else None
    try:
        lengths = _read_lengths(folder / index)
    except _ERRORS:
        return f"{index}: {_DAMAGED}"
    for shard, length in enumerate(lengths):
        path = f"{_VARIABLES}.data-{shard:05d}-of-{len(lengths):05d}"
        if not (folder / path).is_file():
            return f"{path}: missing"
        found = (folder / path).stat().st_size
        if found < length:
            return f"{path}: cut off, {found:,} of {length:,} bytes"
    return None


def _has_variables(graph: _Fields) -> bool:
    """Returns whether a MetaGraphDef has variables: a collection of 1.x names them, or objects."""
    return any(_find_collection(graph, b"variables")) or any(
        _follow(objects, *_OBJECT_VARIABLES) for objects in _list(graph, _OBJECTS)
    )


def _find_collection(graph: _Fields, name: bytes) -> list[Any]:
    entries = [dict(_read(entry)) for entry in _list(graph, _COLLECTIONS)]
    return [
        entry.get(_COLLECTION, memoryview(b""))
        for entry in entries
        if entry.get(_COLLECTION_NAME) == name
    ]


def _read_lengths(index: Path) -> list[int]:
    """Returns the bytes that each data file of a checkpoint has at least."""
    lengths: list[int] = []
    for key, content in read_entries(index.read_bytes()):
        entry = dict(_read(memoryview(content)))
        if not key:
            lengths = [0] * entry.get(_NUM_SHARDS, 0)
        elif _SLICES not in entry:
            end = entry.get(_OFFSET, 0) + entry.get(_SIZE, 0)
            shard = entry.get(_SHARD, 0)
            lengths[shard] = max(lengths[shard], end)
    return lengths


def _follow(message: memoryview, *path: int) -> list[Any]:
    """Returns the values at a path of field numbers through a message."""
    found = [message]
    for wanted in path:
        found = [value for one in found for value in _list(_read(one), wanted)]
    return found


def _list(fields: Any, wanted: int) -> list[Any]:
    """Returns the values of a field that may be there several times."""
    return [value for number, value in fields if number == wanted]


def _read(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yields the fields of a protocol buffer message.

    Raises:
      IndexError: it is cut off within a number.
      ValueError: it is cut off elsewhere, or is no message.
    """
    place = 0
    while place < len(message):
        tag, place = read_number(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, place = read_number(message, place)
            yield number, value
            continue
        if kind == 2:
            length, place = read_number(message, place)
        elif kind in _LENGTHS:
            length = _LENGTHS[kind]
        else:
            raise ValueError("no protocol buffer message")
        if place + length > len(message):
            raise ValueError("cut off")
        yield number, message[place : place + length]
        place += length
