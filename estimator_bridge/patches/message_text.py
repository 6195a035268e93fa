"""Writes a graph as text in less time. Slow in all TensorFlow versions.

An Estimator writes its graph as text before it trains (graph.pbtxt), and Python's protocol buffers
visit each field of each node: 0.06 ms a node. Most attributes of a graph are equal to those of
other nodes, also of nodes in functions, so each text is computed once. Of constants each byte is
escaped by itself, 34 nanoseconds a byte.
"""

import functools
import re
from typing import Any

__all__ = ["apply"]

# With fewer bytes, NumPy is not faster.
_FEWEST_BYTES = 1_000
_CHUNK_BYTES = 1 << 20
# An attribute with more bytes is a constant, which seldom has an equal.
_MOST_ATTRIBUTE_BYTES = 1_000
# A text that needs no escape; how others are escaped depends on the version of protocol buffers.
_PLAIN = re.compile(r"[A-Za-z0-9_./:^>@#\[\]=+ -]*")


def apply() -> None:
    """Has long strings of bytes escaped by NumPy, and each equal attribute written once."""
    _escape_by_numpy()
    _write_graphs_by_node()


def _escape_by_numpy() -> None:
    from google.protobuf import text_encoding

    original = text_encoding.CEscape
    if getattr(original, "_bridged", False):
        return

    @functools.wraps(original)
    def escape(text: Any, as_utf8: bool) -> str:
        if as_utf8 or not isinstance(text, bytes) or len(text) < _FEWEST_BYTES:
            return str(original(text, as_utf8))
        return _escape(text, tuple(original(bytes([byte]), False) for byte in range(256)))

    vars(escape)["_bridged"] = True
    text_encoding.CEscape = escape


def _write_graphs_by_node() -> None:
    from google.protobuf import text_format

    original = text_format.MessageToString
    if getattr(original, "_bridged", False):
        return

    @functools.wraps(original)
    def write(message: Any, *given: Any, **options: Any) -> str:
        # `float_format` is what TensorFlow 2.15 gives.
        kind = getattr(getattr(message, "DESCRIPTOR", None), "full_name", None)
        if kind != "tensorflow.GraphDef" or given or set(options) - {"float_format"}:
            return str(original(message, *given, **options))
        return _GraphWriter(original, options).write(message)

    vars(write)["_bridged"] = True
    text_format.MessageToString = write


class _GraphWriter:
    """Writes one graph.

    Args:
      original: MessageToString of protocol buffers.
      options: its options.
    """

    def __init__(self, original: Any, options: dict[str, Any]) -> None:
        self._original = original
        self._options = options
        self._attributes: dict[tuple[str, int, bytes], str] = {}

    def write(self, graph: Any) -> str:
        """Returns what MessageToString returns for a GraphDef."""
        parts = []
        for field, value in graph.ListFields():
            if field.name == "node":
                parts += [self._write_node(node, "node", 0) for node in value]
            elif field.name == "library":
                parts.append(self._write_library(value))
            else:
                parts.append(self._write_field(graph, field.name, value, 0))
        return "".join(parts)

    def _write_library(self, library: Any) -> str:
        parts = ["library {\n"]
        for field, value in library.ListFields():
            if field.name != "function":
                parts.append(self._write_field(library, field.name, value, 2))
                continue
            for function in value:
                parts.append("  function {\n")
                for part, content in function.ListFields():
                    if part.name == "node_def":
                        parts += [self._write_node(node, "node_def", 4) for node in content]
                    else:
                        parts.append(self._write_field(function, part.name, content, 4))
                parts.append("  }\n")
        return "".join([*parts, "}\n"])

    def _write_node(self, node: Any, name: str, indent: int) -> str:
        space = " " * indent
        lines = [f"{space}{name} {{\n"]
        for field, value in node.ListFields():
            if field.name == "attr":
                lines += [self._write_attribute(node, key, indent + 2) for key in sorted(value)]
                continue
            texts = [value] if isinstance(value, str) else value
            if not field.message_type and all(map(_PLAIN.fullmatch, texts)):
                lines += [f'{space}  {field.name}: "{text}"\n' for text in texts]
            else:
                lines.append(self._write_field(node, field.name, value, indent + 2))
        return "".join([*lines, f"{space}}}\n"])

    def _write_field(self, message: Any, name: str, value: Any, indent: int) -> str:
        holder = type(message)()
        if isinstance(value, (int, str)):
            setattr(holder, name, value)
        else:
            getattr(holder, name).MergeFrom(value)
        return str(self._original(holder, indent=indent, **self._options))

    def _write_attribute(self, node: Any, key: str, indent: int) -> str:
        value = node.attr[key]
        equal = (key, indent, value.SerializeToString(deterministic=True))
        text = self._attributes.get(equal)
        if text is None:
            holder = type(node)()
            holder.attr[key].CopyFrom(value)
            text = self._original(holder, indent=indent, **self._options)
            if len(equal[-1]) <= _MOST_ATTRIBUTE_BYTES:
                self._attributes[equal] = text
        return text


def _escape(text: bytes, escapes: tuple[str, ...]) -> str:
    """Returns the escapes of all bytes, one after the other.

    Args:
      text: the bytes.
      escapes: the escape of each byte, ASCII.
    """
    import numpy as np

    # Each escape has a row of bytes, of which zeros are left out: none of them contains one.
    width = max(map(len, escapes))
    table = np.array([one.encode("ascii") for one in escapes], f"S{width}")
    parts = []
    for start in range(0, len(text), _CHUNK_BYTES):
        chunk = np.frombuffer(text, np.uint8, min(_CHUNK_BYTES, len(text) - start), start)
        wide = table.take(chunk).view(np.uint8)
        parts.append(wide[wide != 0].tobytes().decode("ascii"))
    return "".join(parts)
