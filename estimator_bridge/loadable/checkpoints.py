"""Reads what a checkpoint contains, and which versions read it."""

from pathlib import Path
from typing import Any, NamedTuple

from ..downgrade.operations import find, known_versions
from ..errors import BridgeError
from ..model_files.checkpoint_index import count_shards, read_values
from ..model_files.checkpoint_paths import with_parts

__all__ = ["Contents", "read_checkpoint"]

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SHOWN = 3
# Ends of the names of values that only an operation of TensorFlow understands.
_OPAQUE = (
    ("_serialized", "trees, which `tf.estimator.BoostedTrees...` reads under the bridge"),
    ("opaque_kernel", "weights in the order of a GPU's library, which only CudnnRNN reads"),
)


class Contents(NamedTuple):
    """What a checkpoint contains.

    Attributes:
      size: the number of variables.
      layout: how it names them, in words.
      notes: what is special about values, one line each.
      types: data type that not every version knows → the versions that do.
    """

    size: int
    layout: str
    notes: list[str]
    types: dict[str, list[str]]


def read_checkpoint(prefix: Path) -> Contents:
    """Reads the names and types of a checkpoint.

    Args:
      prefix: the path of its files without their endings.

    Raises:
      BridgeError: it cannot be read.
    """
    reader: Any
    try:
        from tensorflow import train

        reader = train.load_checkpoint(with_parts(str(prefix)))
        types = dict(reader.get_variable_to_dtype_map())
        fault = _find_short_file(prefix)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BridgeError(f"{prefix}: no checkpoint, or a damaged one: {reason}") from error
    if fault:
        raise BridgeError(f"{prefix}: a damaged checkpoint: {fault}")
    by_objects = _OBJECTS in types
    types.pop(_OBJECTS, None)
    notes = []
    for end, text in _OPAQUE:
        names = sorted(name for name in types if name.endswith(end))
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            notes.append(f"{', '.join(names[:_SHOWN])}{more}: {text}")
    versions = known_versions()
    limited = {}
    for dtype in sorted({one.as_datatype_enum for one in types.values()}):
        knowing = [version for version in versions if dtype in find(version).types]
        if knowing != versions:
            name = next(one.name for one in types.values() if one.as_datatype_enum == dtype)
            limited[name] = knowing
    one_file = not Path(f"{prefix}.index").is_file()
    layout = "names of objects" if by_objects else "names of variables"
    return Contents(
        len(types), layout + (", without an index (V1)" if one_file else ""), notes, limited
    )


def _find_short_file(prefix: Path) -> str:
    """Returns which data file is missing, or shorter than the index says; "" for none."""
    index = Path(f"{prefix}.index")
    count = count_shards(index) if index.is_file() else None
    if count is None:
        return ""
    files: list[Path] = []
    for shard in range(count):
        files.append(Path(f"{prefix}.data-{shard:05d}-of-{count:05d}"))
        if not files[-1].is_file():
            return f"{files[-1].name} is missing"
    for value in read_values(index):
        found, needed = files[value.shard].stat().st_size, value.offset + value.num_bytes
        if found < needed:
            return f"{files[value.shard].name} has {found:,} bytes, but needs {needed:,}"
    return ""
