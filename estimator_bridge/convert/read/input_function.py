"""Reads rows for a comparison from an input function, and what features it has."""

from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input
from ..plan.model import Head
from .rows import Rows
from .user_code import call_function, describe_error

__all__ = ["Feature", "read_features", "read_input_fn"]

_NO_ROWS = "--input_fn: it returned no rows; the first batch must not be empty"


class Feature(NamedTuple):
    """What an input function says of a feature.

    Attributes:
      shape: its dimensions; the first one, and those that differ between batches, are None.
      dtype: name of the type, for example "string".
      sparse: whether it is a SparseTensor.
      ragged_rank: of a RaggedTensor, the number of its dimensions whose size differs between rows;
        0 for another tensor.
      splits_dtype: of a RaggedTensor, the name of the type of its row splits.
    """

    shape: tuple[Optional[int], ...]
    dtype: str
    sparse: bool
    ragged_rank: int = 0
    splits_dtype: str = "int64"


def read_features(function: Callable[[], Any]) -> dict[str, Feature]:
    """Returns name -> feature, from the shapes that the input function declares.

    The first batch is read only if a tensor has no shape.

    Args:
      function: returns a tf.data.Dataset of (features, labels), or the two as tensors.

    Raises:
      BridgeError: the function raises, has no dict of features, or reading the first batch fails.
    """
    from estimator_bridge import tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        features, _ = _call(function, tf)
        unknown = {name: one for name, one in features.items() if one.shape.rank is None}
        sample = {}
        if unknown:
            session.run(_initializers(tf))
            sample = _run(session, unknown, 0, tf)
            if sample is None:
                raise BridgeError(_NO_ROWS)
        return {name: _feature(one, sample.get(name), tf) for name, one in features.items()}


def _feature(tensor: Any, sample: Any, tf: Any) -> Feature:
    sparse = isinstance(tensor, tf.SparseTensor)
    if sample is None:
        shape = tensor.shape.as_list()
    else:
        shape = [None] * len(sample.dense_shape) if sparse else list(np.shape(sample))
    feature = Feature((None, *shape[1:]), tensor.dtype.base_dtype.name, sparse)
    if not isinstance(tensor, tf.RaggedTensor):
        return feature
    splits = tensor.row_splits.dtype.name
    return feature._replace(ragged_rank=tensor.ragged_rank, splits_dtype=splits)


def read_input_fn(
    function: Callable[[], Any],
    inputs: Optional[tuple[Input, ...]],
    limit: int,
    head: Optional[Head] = None,
) -> Rows:
    """Returns the first rows of an input function; sparse features are padded.

    Sparse labels become one number for each class, 0 or 1.

    Args:
      function: returns a tf.data.Dataset of (features, labels), or the two as tensors.
      inputs: the features that the model reads; others are dropped. None keeps all.
      limit: number of rows.
      head: the head that the labels and the weights of the rows are for; None leaves labels out.

    Raises:
      BridgeError: the function raises, returns no rows, or lacks a feature.
    """
    fillers = {feature.name: feature.filler for feature in inputs or ()}
    fillers = {name: filler for name, filler in fillers.items() if filler is not None}
    batches, sparse = _read_batches(function, fillers, limit, head)
    if not batches:
        raise BridgeError(_NO_ROWS)
    names = set(batches[0][0])
    weights = () if head is None else head.weights
    wanted = names if inputs is None else {*weights, *(feature.name for feature in inputs)}
    missing = sorted(wanted - names)
    if missing:
        raise BridgeError(f"--input_fn: it did not return the features {', '.join(missing)}")
    features = {
        name: _join([batch[0][name] for batch in batches], fillers.get(name))[:limit]
        for name in batches[0][0]
        if name in wanted
    }
    labels = _join_labels([batch[1] for batch in batches], limit)
    return Rows(features, labels, tuple(name for name in sparse if name in wanted), fillers)


def _read_batches(
    function: Callable[[], Any], fillers: dict[str, Any], limit: int, head: Optional[Head]
) -> tuple[list[tuple[dict[str, np.ndarray], Any]], list[str]]:
    """Returns the batches (features, labels or {}), and the names of the sparse features."""
    from estimator_bridge import tf

    sparse: dict[str, None] = {}
    batches: list[tuple[dict[str, np.ndarray], Any]] = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        features, labels = _call(function, tf)
        features = {
            name: one.to_sparse() if isinstance(one, tf.RaggedTensor) else one
            for name, one in features.items()
        }
        session.run(_initializers(tf))
        fetched = (features, {} if labels is None or head is None else labels)
        rows = 0
        while rows < limit:
            batch = _run(session, fetched, rows, tf)
            if batch is None:
                break
            dense = {}
            for name, value in batch[0].items():
                if isinstance(value, tf.compat.v1.SparseTensorValue):
                    sparse[name] = None
                dense[name] = _pad(value, fillers.get(name), tf)
            batches.append((dense, _dense_labels(batch[1], head, tf)))
            rows += len(next(iter(dense.values())))
    return batches, list(sparse)


def _call(function: Callable[[], Any], tf: Any) -> tuple[dict[str, Any], Any]:
    """Returns the tensors of the next batch: features, and labels or None."""
    result = call_function(function, "--input_fn")
    if isinstance(result, tf.data.Dataset):
        result = tf.compat.v1.data.make_one_shot_iterator(result).get_next()
    features, labels = result if isinstance(result, tuple) else (result, None)
    if not isinstance(features, dict):
        raise BridgeError("--input_fn: the features must be a dict of tensors by name")
    return features, labels


def _initializers(tf: Any) -> list[Any]:
    return [tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()]


def _run(session: Any, fetched: Any, rows: int, tf: Any) -> Any:
    """Returns the next batch, or None at the end; `rows` have been read before."""
    try:
        return session.run(fetched)
    except tf.errors.OutOfRangeError:
        return None
    except tf.errors.OpError as error:
        raise BridgeError(
            f"--input_fn: reading fails after {rows} rows: {describe_error(error)}"
        ) from error


def _dense_labels(labels: Any, head: Optional[Head], tf: Any) -> Any:
    """Returns the labels of a batch, with those that are sparse as 0 or 1 for each class."""
    if isinstance(labels, dict):
        parts = {one.name: one for one in head.single} if head else {}
        return {name: _dense_labels(one, parts.get(name), tf) for name, one in labels.items()}
    if not isinstance(labels, tf.compat.v1.SparseTensorValue):
        return labels
    if head is None or head.task != "multilabel":
        raise BridgeError("--input_fn: only the labels of a multi-label head may be sparse")
    names = range(head.units) if head.classes is None else map(str.encode, head.classes)
    index = {name: number for number, name in enumerate(names)}
    dense = np.zeros((labels.dense_shape[0], head.units), np.int64)
    for (row, *_), value in zip(labels.indices, labels.values):
        if value not in index:
            raise BridgeError(f"--input_fn: the label {value!r} is not a class of the head")
        dense[row, index[value]] = 1
    return dense


def _join_labels(batches: list[Any], limit: int) -> Any:
    if not isinstance(batches[0], dict):
        return np.concatenate(batches)[:limit]
    if not batches[0]:
        return None
    return {name: np.concatenate([batch[name] for batch in batches])[:limit] for name in batches[0]}


def _padding(dtype: np.dtype, filler: Any) -> Any:
    if dtype.kind == "O":
        return b""
    if filler is not None:
        return filler
    return -1 if dtype.kind == "i" else 0


def _pad(value: Any, filler: Any, tf: Any) -> np.ndarray:
    if not isinstance(value, tf.compat.v1.SparseTensorValue):
        return np.asarray(value)
    dtype = value.values.dtype
    dense = np.full(tuple(value.dense_shape), _padding(dtype, filler), dtype)
    dense[tuple(value.indices.T)] = value.values
    return dense


def _join(batches: list[np.ndarray], filler: Any) -> np.ndarray:
    sizes = np.max([batch.shape for batch in batches], axis=0)[1:]
    return np.concatenate([_widen(batch, sizes, filler) for batch in batches])


def _widen(batch: np.ndarray, sizes: np.ndarray, filler: Any) -> np.ndarray:
    more = [(0, 0), *((0, size - own) for size, own in zip(sizes, batch.shape[1:]))]
    return np.pad(batch, more, constant_values=_padding(batch.dtype, filler))
