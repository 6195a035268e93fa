"""Reads boosted trees: their feature columns, and their nodes from the checkpoint."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.columns import (
    Bucketized,
    Crossed,
    Embedding,
    Indicator,
    Numeric,
    SharedTable,
    Weighted,
    name_of,
    num_ids,
)
from ..plan.model import Plan
from ..plan.trees import NodeColumns, TreeFeatures, Trees
from .canned import InputReader, Loaded
from .checkpoint import Checkpoint
from .columns import ColumnReader
from .heads import read_head

__all__ = ["TREE_NOTES", "describe_trees", "is_boosted", "read_trees"]

# Of Plan.training_notes.
TREE_NOTES = ("Keras does not grow trees",)


def describe_trees(loaded: Loaded, checkpoint: Checkpoint, inputs: InputReader) -> Plan:
    """Returns the plan of an Estimator of boosted trees.

    Args:
      loaded: the Estimator.
      checkpoint: its checkpoint, whose trees are in the plan.
      inputs: finds the raw features of columns.

    Raises:
      BridgeError: a column or the head cannot be converted, or the checkpoint is of another model.
    """
    from estimator_bridge.boosted_trees.columns import sort

    model = loaded.estimator.model
    reader = ColumnReader(inputs.sparse)
    columns = tuple(reader.read(column) for column in sort(model.feature_columns))
    return Plan(
        kind="boosted_trees",
        inputs=inputs.read(list(columns)),
        wide=(),
        wide_combiner="sum",
        deep=columns,
        network=None,
        head=read_head(model.head),
        wide_optimizer=None,
        deep_optimizer=None,
        keys=(),
        data=None,
        training_notes=TREE_NOTES,
        trees=read_trees(columns, checkpoint, model.head.logits_dimension),
    )


def is_boosted(estimator: Any) -> bool:
    """Returns whether an Estimator is one of boosted trees.

    Args:
      estimator: the Estimator.
    """
    from estimator_bridge.boosted_trees.estimators import BoostedTrees

    return isinstance(estimator, BoostedTrees)


class _Source(NamedTuple):
    """A feature as the trees of the checkpoint number it.

    Attributes:
      boundaries: float32, with which its buckets begin or end; None for a number as it is.
      below: whether a boundary belongs to the bucket below it.
    """

    boundaries: Optional[np.ndarray]
    below: bool = True

    def find_threshold(self, bucket: int) -> float:
        """Returns the largest number whose bucket is not above a bucket."""
        if self.boundaries is None:
            return float(bucket)
        # All numbers above the last boundary of quantiles are in its bucket.
        if bucket >= len(self.boundaries) - self.below:
            return float("inf")
        boundary = self.boundaries[bucket]
        return float(boundary if self.below else np.nextafter(boundary, np.float32("-inf")))


def read_trees(columns: Sequence[Any], checkpoint: Checkpoint, logits: int) -> Trees:
    """Returns the trees of a checkpoint.

    Args:
      columns: plan columns, in the order in which the Estimator numbers its features.
      checkpoint: the checkpoint.
      logits: the number of logits.

    Raises:
      BridgeError: the checkpoint has no trees, or a column cannot be converted.
    """
    from estimator_bridge.boosted_trees import ensemble, forest, state

    for column in columns:
        _refuse(column)
    try:
        message = ensemble.parse(checkpoint.get(checkpoint.find((state.SERIALIZED,))))
        found = forest.flatten(message, logits)
    except ValueError as error:
        raise BridgeError(f"checkpoint {checkpoint.path}: {error}") from error
    sources = list(_list_sources(columns, checkpoint))
    if found.feature.max(initial=0) >= len(sources):
        raise BridgeError(
            f"checkpoint {checkpoint.path}: its trees read feature {found.feature.max()}, but the "
            f"described columns give {len(sources)}; give a checkpoint of this model"
        )
    features, numbers = _list_features(columns, found)
    return Trees(
        features, _join(found, sources, numbers), tuple(found.roots.tolist()), int(found.depth)
    )


def _refuse(column: Any) -> None:
    """Refuses a column whose numbers the written model cannot compute."""
    source = column.source if isinstance(column, Indicator) else column
    if isinstance(source, (Embedding, SharedTable, Weighted)) or isinstance(column, Crossed):
        raise BridgeError(
            f"column {name_of(column)!r}: boosted trees with it cannot be converted; --model_fn "
            "wraps them as a Keras layer"
        )


def _list_sources(columns: Sequence[Any], checkpoint: Checkpoint) -> Iterator[_Source]:
    from estimator_bridge.boosted_trees.state import boundaries_key

    stream = 0
    for column in columns:
        if isinstance(column, Numeric):
            for _ in range(column.width):
                yield _Source(checkpoint.get(checkpoint.find((boundaries_key(stream),))))
                stream += 1
        elif isinstance(column, Bucketized):
            yield _Source(np.array(column.boundaries, np.float32), below=False)
        else:
            # One 0 or 1 for each id of an indicator, and the id of a categorical column itself.
            width = num_ids(column.source) if isinstance(column, Indicator) else 1
            yield from [_Source(None)] * width


def _list_features(
    columns: Sequence[Any], found: Any
) -> tuple[tuple[TreeFeatures, ...], dict[Any, int]]:
    """Returns the numbers that the trees read, and (feature, id or None) -> number."""
    features: list[TreeFeatures] = []
    numbers: dict[Any, int] = {}
    first = 0
    for column in columns:
        used = found.is_equality & (found.feature == first)
        one = _list_numbers(column, sorted(set(found.threshold[used].tolist())))
        is_id = not isinstance(column, (Numeric, Bucketized, Indicator))
        for place in range(len(one.names)):
            key = (first, one.ids[place]) if is_id else (first + place, None)
            numbers[key] = len(numbers)
        first += 1 if is_id else len(one.names)
        features.append(one)
    if not numbers:
        raise BridgeError("the trees have no split, so there is nothing to convert")
    return tuple(features), numbers


def _list_numbers(column: Any, used: list[int]) -> TreeFeatures:
    """Returns the numbers of one column; `used` are the ids of a categorical one."""
    if isinstance(column, Numeric):
        return TreeFeatures(column, _number_names(column.key, column.width))
    if isinstance(column, Bucketized):
        return TreeFeatures(column.source, (column.source.key,), nan_is_above=True)
    if isinstance(column, Indicator):
        return TreeFeatures(column, _name_ids(column.source, range(num_ids(column.source))))
    return TreeFeatures(column, _name_ids(column, used), tuple(used))


def _number_names(key: str, width: int) -> tuple[str, ...]:
    return (key,) if width == 1 else tuple(f"{key}_{place}" for place in range(width))


def _name_ids(source: Any, ids: Any) -> tuple[str, ...]:
    values = getattr(source, "values", ())
    name = name_of(source)
    return tuple(f"{name}={values[one] if one < len(values) else one}" for one in ids)


def _join(found: Any, sources: list[_Source], numbers: dict[Any, int]) -> np.ndarray:
    """Returns Trees.nodes."""
    place = NodeColumns()
    nodes = np.zeros((len(found.feature), place.leaf + found.leaf.shape[1]), np.float32)
    if len(nodes) >= 1 << 24:
        raise BridgeError("the trees have more than 16,777,215 nodes, which float32 cannot number")
    weights = np.repeat(found.weights, np.diff([*found.roots, len(nodes)]))
    nodes[:, place.leaf :] = weights[:, np.newaxis] * found.leaf
    nodes[:, place.left], nodes[:, place.right] = found.left, found.right
    for node in np.flatnonzero(found.left != np.arange(len(nodes))):
        feature, bucket = int(found.feature[node]), int(found.threshold[node])
        if found.is_equality[node]:
            nodes[node, place.feature] = numbers[feature, bucket]
            # The number is 1 for rows with this id, which go to the left.
            nodes[node, place.threshold] = 0.5
            nodes[node, place.left], nodes[node, place.right] = found.right[node], found.left[node]
        else:
            nodes[node, place.feature] = numbers[feature, None]
            nodes[node, place.threshold] = sources[feature].find_threshold(bucket)
    return nodes
