"""Reads and writes SavedModels, .meta files and graphs."""

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..errors import BridgeError, describe_os_error
from ..model_files.saved_models import require_whole
from ..versions import parse
from .operations import Operations, minor
from .rewrite import CannotDowngrade, rewrite_graph, rewrite_meta_graph

__all__ = ["Export", "read", "read_whole", "rewrite", "write"]

_GRAPH = "saved_model.pb"
_SAVED_MODELS = (_GRAPH, "saved_model.pbtxt")
# Describes the file that is rewritten.
_FINGERPRINT = "fingerprint.pb"


class Export(NamedTuple):
    """What is to be rewritten.

    Attributes:
      path: the SavedModel's folder, or the file.
      kind: "saved_model", "meta" or "graph".
      file: the file that is rewritten: `path`, or saved_model.pb in it.
      message: its content: a SavedModel, MetaGraphDef or GraphDef.
    """

    path: Path
    kind: str
    file: Path
    message: Any

    def written_by(self) -> Optional[str]:
        """Returns the version of TensorFlow that wrote it, or None: a graph does not say."""
        for meta_graph in self.meta_graphs():
            if meta_graph.meta_info_def.tensorflow_version:
                return str(meta_graph.meta_info_def.tensorflow_version)
        return None

    def meta_graphs(self) -> list[Any]:
        """Returns the MetaGraphDefs; none for a graph."""
        if self.kind == "saved_model":
            return list(self.message.meta_graphs)
        return [self.message] if self.kind == "meta" else []


def read(path: str) -> Export:
    """Reads a SavedModel, a .meta file or a graph.

    Args:
      path: the folder of a SavedModel; or a file *.meta, *.pbtxt or *.pb.

    Raises:
      BridgeError: there is no such file, or it is damaged.
    """
    where = Path(path)
    if "://" in path:
        raise BridgeError(f"{path}: copy it to a local folder first; addresses are not read")
    if not where.exists():
        raise BridgeError(f"no such file or folder: {path}")
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

    if where.is_dir():
        file = _saved_model_file(where)
        message = _parse(file, saved_model_pb2.SavedModel)
        export = Export(where, "saved_model", file, message)
        empty = not message.meta_graphs
    elif where.name in _SAVED_MODELS:
        raise BridgeError(f"{path}: name the folder of the SavedModel, {where.parent}")
    elif where.suffix == ".meta":
        export = Export(where, "meta", where, _parse(where, meta_graph_pb2.MetaGraphDef))
        empty = not export.message.graph_def.node
    elif where.suffix in (".pbtxt", ".pb"):
        export = Export(where, "graph", where, _parse(where, graph_pb2.GraphDef))
        empty = not export.message.node
    else:
        raise BridgeError(f"{path}: neither a SavedModel's folder nor a *.meta, *.pbtxt, *.pb file")
    if empty:
        raise BridgeError(f"{export.file}: damaged or empty: it contains no graph; copy it again")
    return export


def read_whole(path: str) -> Export:
    """Reads a SavedModel, a .meta file or a graph; of a SavedModel, the other files must be there.

    Args:
      path: as for `read`.

    Raises:
      BridgeError: there is no such file, or one is missing or damaged.
    """
    if Path(path, _GRAPH).is_file():
        require_whole(Path(path))
    return read(path)


def _saved_model_file(folder: Path) -> Path:
    found = [folder / name for name in _SAVED_MODELS if (folder / name).is_file()]
    if found:
        return found[0]
    inside = sorted(path.parent for path in folder.glob("*/saved_model.pb*"))
    hint = f"; did you mean {inside[-1]}?" if inside else ""
    raise BridgeError(f"{folder} is not a SavedModel: it contains no saved_model.pb{hint}")


def _parse(file: Path, kind: Any) -> Any:
    """Returns the message in a file, text if the name says so."""
    from google.protobuf import message, text_format

    try:
        if file.suffix == ".pbtxt":
            return text_format.Parse(file.read_text(encoding="utf-8"), kind())
        return kind.FromString(file.read_bytes())
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BridgeError(
            f"{file}: damaged, or not a {kind.__name__} ({reason}); copy it again"
        ) from error
    except OSError as error:
        raise BridgeError(f"{file}: {error.strerror}") from error


def rewrite(export: Export, target: Operations) -> Counter[str]:
    """Rewrites the content of an export.

    Args:
      export: the export; its message is changed.
      target: the operations of the older version.

    Returns:
      What was changed, in words → how many times.

    Raises:
      CannotDowngrade: the version is not older, or cannot express the graph.
    """
    writer = export.written_by()
    if writer is not None and parse(writer)[:2] <= parse(target.version)[:2]:
        raise CannotDowngrade(
            f"{export.path} was written by TensorFlow {writer}, which is not newer than "
            f"{minor(target.version)}"
        )
    changes: Counter[str] = Counter()
    try:
        if export.kind == "graph":
            return rewrite_graph(export.message, target)
        for meta_graph in export.meta_graphs():
            changes += rewrite_meta_graph(meta_graph, target)
    except CannotDowngrade as error:
        raise CannotDowngrade(f"{export.path}: {error}") from error
    return changes


def write(export: Export, output: Path, prove: Callable[[Path], None]) -> None:
    """Writes a rewritten export; nothing remains if that fails.

    Args:
      export: the export.
      output: the folder or file to write; must not exist.
      prove: called with the path of the complete result before it gets its name.

    Raises:
      BridgeError: it cannot be written, or `prove` raises it.
    """
    # The ending of a file says what is in it.
    beside = output.with_name(f".partial-{os.getpid()}-{output.name}")
    try:
        if export.kind == "saved_model":
            shutil.copytree(export.path, beside, ignore=shutil.ignore_patterns(_FINGERPRINT))
            _write_message(export, beside / export.file.name)
        else:
            _write_message(export, beside)
        prove(beside)
        beside.rename(output)
    except OSError as error:
        raise BridgeError(f"{output}: cannot be written: {describe_os_error(error)}") from error
    finally:
        if beside.is_dir():
            shutil.rmtree(beside, ignore_errors=True)
        elif beside.exists():
            beside.unlink()


def _write_message(export: Export, file: Path) -> None:
    from google.protobuf import text_format

    if file.suffix == ".pbtxt":
        file.write_text(text_format.MessageToString(export.message), encoding="utf-8")
    else:
        file.write_bytes(export.message.SerializeToString(deterministic=True))
