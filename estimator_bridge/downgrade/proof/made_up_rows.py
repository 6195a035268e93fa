"""Makes up requests for the signatures of a SavedModel."""

import base64
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from ..files import Export

__all__ = ["Signature", "make_requests"]

_ROWS = 32
# Length of a dimension that the signature leaves open, after the first.
_OPEN_DIMENSION = 3
_MAX_WORDS = 1000
_NUMERALS = [b"0", b"1", b"2"]
# Operations between a placeholder and the operation that parses its strings.
_PASSED = {"Identity", "Reshape", "ExpandDims", "Squeeze", "PlaceholderWithDefault"}
# Meta graphs with these tags need such a device.
_DEVICE_TAGS = {"tpu", "gpu"}


class Signature(NamedTuple):
    """Requests for one signature.

    Attributes:
      name: its name.
      attempts: requests for answers.py, with various values first, then with integers of 0 and 1
        only, and then also with strings that are numbers, for models that refuse others; none if an
        input is not a dense tensor.
    """

    name: str
    attempts: list[Any]


def make_requests(export: Export) -> list[Signature]:
    """Makes up rows for every signature.

    Args:
      export: the export, before it is rewritten.

    Returns:
      The requests for each signature; none for a .meta file or a graph.
    """
    if export.kind != "saved_model":
        return []
    requests = []
    for meta_graph in export.meta_graphs():
        tags = list(meta_graph.meta_info_def.tags)
        if _DEVICE_TAGS & set(tags):
            continue
        rows = _Rows(meta_graph, export.path)
        for name, signature in sorted(meta_graph.signature_def.items()):
            if name.startswith("__"):
                # The initialiser and the list of operations of TensorFlow 2.
                continue
            attempts = []
            for highest, words in ((4, rows.words), (2, rows.words), (2, _NUMERALS)):
                rows.restart(highest, words)
                inputs = {key: rows.tensor(info) for key, info in sorted(signature.inputs.items())}
                if None not in inputs.values():
                    attempts.append({"tags": tags, "signature": name, "inputs": inputs})
            requests.append(Signature(name, attempts))
    return requests


class _Rows:
    """Makes up values for the inputs of one meta graph.

    Args:
      meta_graph: the MetaGraphDef.
      folder: the folder of the SavedModel, which contains the vocabulary files.
    """

    def __init__(self, meta_graph: Any, folder: Path):
        self.nodes = {node.name: node for node in meta_graph.graph_def.node}
        self.users: dict[str, list[Any]] = {}
        for node in self.nodes.values():
            for name in node.input:
                self.users.setdefault(name.lstrip("^").partition(":")[0], []).append(node)
        self.words = [b"a", b"b", b"", *self._words(folder)]
        self.restart(4, self.words)

    def restart(self, highest: int, words: list[bytes]) -> None:
        """Begins again, with integers below a number, and words."""
        self.random = np.random.default_rng(0)
        self.highest = highest
        self.used_words = words

    def _words(self, folder: Path) -> Iterator[bytes]:
        """Yields words of the vocabularies of the model."""
        for node in self.nodes.values():
            # Constants of one string are keys, formats and paths.
            if node.op == "Const" and len(node.attr["value"].tensor.string_val) > 1:
                yield from node.attr["value"].tensor.string_val[:_MAX_WORDS]
        for path in sorted(folder.glob("assets/*")):
            with path.open("rb") as stream:
                yield from (line.rstrip(b"\r\n") for line in itertools.islice(stream, _MAX_WORDS))

    def tensor(self, info: Any) -> Optional[Any]:
        """Returns a made-up value for an input (a TensorInfo), or None if it is not a tensor."""
        if info.WhichOneof("encoding") != "name" or info.tensor_shape.unknown_rank:
            shape = [_ROWS]
        else:
            sizes = [dim.size for dim in info.tensor_shape.dim]
            shape = [
                size if size >= 0 else (_OPEN_DIMENSION if number else _ROWS)
                for number, size in enumerate(sizes)
            ]
        if info.WhichOneof("encoding") != "name":
            return None
        count = int(np.prod(shape, dtype=np.int64))
        if info.dtype == 7:
            make = self._strings(info.name.partition(":")[0])
            values = [base64.b64encode(make()).decode() for _ in range(count)]
            return {"dtype": "bytes", "shape": shape, "values": values}
        from tensorflow import as_dtype

        dtype = as_dtype(info.dtype)
        if dtype.is_floating:
            values = self.random.normal(size=count).astype(np.float32).tolist()
        else:
            highest = 2 if dtype.is_bool else self.highest
            values = self.random.integers(0, highest, count).tolist()
        return {"dtype": dtype.name, "shape": shape, "values": values}

    def _strings(self, placeholder: str) -> Callable[[], bytes]:
        """Returns what makes up a string for a placeholder: an Example, a line of CSV or a word."""
        waiting, seen = deque([placeholder]), set()
        while waiting:
            name = waiting.popleft()
            for node in self.users.get(name, ()):
                if node.op in ("ParseExampleV2", "ParseExample"):
                    try:
                        features = list(self._features(node))
                    except (LookupError, TypeError, ValueError):
                        # The keys are computed, or the graph is damaged.
                        return self._word
                    return lambda: self._example(features)
                if node.op == "DecodeCSV":
                    return lambda: self._csv_line(node)  # noqa: B023 - returned at once
                if node.op in _PASSED and node.name not in seen:
                    seen.add(node.name)
                    waiting.append(node.name)
        return self._word

    def _word(self) -> bytes:
        return self.used_words[int(self.random.integers(len(self.used_words)))]

    def _constant(self, name: str) -> Any:
        from tensorflow import make_ndarray

        node = self.nodes[name.partition(":")[0]]
        return make_ndarray(node.attr["value"].tensor)

    def _features(self, node: Any) -> Iterator[tuple[str, int, Optional[int]]]:
        """Yields (key, type, length) of what a node parses; length None: any number of values."""
        sparse_types = list(node.attr["sparse_types"].list.type)
        dense_types = list(node.attr["Tdense"].list.type)
        ragged_types = list(node.attr["ragged_value_types"].list.type)
        if node.op == "ParseExampleV2":
            keys = [self._constant(name).ravel() for name in node.input[2:5]]
            sparse, dense, ragged = [[key.decode() for key in part] for part in keys]
        else:
            names = list(node.input[2 : 2 + len(sparse_types) + len(dense_types)])
            keys = [self._constant(name).item().decode() for name in names]
            sparse, dense, ragged = keys[: len(sparse_types)], keys[len(sparse_types) :], []
        for key, dtype in [*zip(sparse, sparse_types), *zip(ragged, ragged_types)]:
            yield key, dtype, None
        for key, dtype, shape in zip(dense, dense_types, node.attr["dense_shapes"].list.shape):
            sizes = [dim.size for dim in shape.dim]
            yield key, dtype, int(np.prod([abs(size) for size in sizes], dtype=np.int64))

    def _example(self, features: list[tuple[str, int, Optional[int]]]) -> bytes:
        from tensorflow import train

        example = train.Example()
        for key, dtype, length in features:
            count = int(self.random.integers(0, 4)) if length is None else length
            feature = example.features.feature[key]
            if dtype == 7:
                feature.bytes_list.value.extend(self._word() for _ in range(count))
            elif dtype == 1:
                feature.float_list.value.extend(self.random.normal(size=count).tolist())
            else:
                feature.int64_list.value.extend(
                    self.random.integers(0, self.highest, count).tolist()
                )
        serialized: bytes = example.SerializeToString(deterministic=True)
        return serialized

    def _csv_line(self, node: Any) -> bytes:
        delimiter = node.attr["field_delim"].s or b","
        types = list(node.attr["OUT_TYPE"].list.type)
        columns = list(node.attr["select_cols"].list.i) or list(range(len(types)))
        cells = [b"0"] * (max(columns) + 1)
        for column, dtype in zip(columns, types):
            if dtype == 7:
                word = self._word()
                cells[column] = b'"' + word.replace(b'"', b'""') + b'"'
            elif dtype in (1, 2):
                cells[column] = b"%.6g" % self.random.normal()
            else:
                cells[column] = b"%d" % self.random.integers(0, self.highest)
        return delimiter.join(cells)
