"""Names the first layers or columns in which an Estimator and its Keras model differ.

Both sides compute the values at the same places: the columns of each part, hidden layers, logits.
A side also shows its weights, which are compared with those of the checkpoint.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..plan.columns import (
    Bucketized,
    Embedding,
    Indicator,
    Numeric,
    SharedTable,
    name_of,
    num_ids,
)
from ..plan.model import Plan
from ..read.checkpoint import Checkpoint
from ..write.columns import Table
from ..write.trees import NODES
from .differences import compare_outputs

__all__ = [
    "Tap",
    "Weight",
    "compare_places",
    "compare_weights",
    "describe_first",
    "list_taps",
    "list_weights",
]

# How many layers, columns or weights one line names.
_MAX_NAMED = 5


class Tap(NamedTuple):
    """Where to read one array of a model; each part of the array belongs to a place.

    Attributes:
      key: name of the array.
      layer: name of the Keras layer.
      take: input or output of the layer; sum for the output of the operation that adds up its
        output and others, term for the input of that operation with the given number.
      term: number of the input of that operation.
      names: possible ends of the name of the layer's variable in the Estimator's graph.
      places: (place, its numbers) in the order of the array: (("column age", 1), ...).
      stage: places of a smaller stage are computed first.
    """

    key: str
    layer: str
    take: str
    term: int
    names: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    stage: int


class Weight(NamedTuple):
    """A weight of a Keras layer.

    Attributes:
      layer: name of the layer.
      attribute: path of the weight below the layer: kernel, cell.cells.0.bias.
      stored: its name in the checkpoint.
      value: its value in the checkpoint.
    """

    layer: str
    attribute: str
    stored: str
    value: np.ndarray

    @property
    def name(self) -> str:
        """The layer and the attribute."""
        return f"{self.layer}/{self.attribute}"


def list_taps(plan: Plan, tables: Iterable[Table]) -> list[Tap]:
    """Returns the arrays to compare; none for boosted trees and baselines, which have no layers.

    Args:
      plan: the model.
      tables: the variables of its layers, with their names in the checkpoint.
    """
    names = {(table.layer, table.attribute): table.names for table in tables}
    units, taps = plan.head.units, []
    if plan.recurrent is not None:
        taps += [
            _tap("state", "rnn_logits", "input", names, "the recurrent layers or their columns", 1),
            _tap("recurrent_logits", "rnn_logits", "output", names, "layer rnn_logits", 2),
        ]
    elif plan.deep:
        taps += _list_deep(plan, names)
    if plan.wide:
        layers = {stored: layer for (layer, _), (stored, *_) in names.items()}
        for index, column in enumerate(plan.wide):
            layer = layers[f"linear/linear_model/{name_of(column)}/weights"]
            place = f"column {name_of(column)} of the linear part"
            stored = names.get((layer, "embeddings")) or names[layer, "kernel"]
            taps.append(
                Tap(f"wide/{index}", "linear_bias", "term", index, stored, ((place, units),), 0)
            )
        taps.append(_tap("wide_logits", "linear_bias", "sum", names, "layer linear_bias", 1))
    return taps


def _tap(
    key: str,
    layer: str,
    take: str,
    names: dict[tuple[str, str], tuple[str, ...]],
    place: str,
    stage: int,
) -> Tap:
    return Tap(key, layer, take, 0, names[layer, "kernel"], ((place, -1),), stage)


def _list_deep(plan: Plan, names: dict[tuple[str, str], tuple[str, ...]]) -> list[Tap]:
    count = len(plan.network.hidden_units) if plan.network is not None else 0
    layers = [*(f"dnn_hidden_{index}" for index in range(count)), "dnn_logits"]
    columns = sorted(plan.deep, key=name_of)
    places = tuple((f"column {name_of(one)} of the deep part", _width(one)) for one in columns)
    first = names[layers[0], "kernel"]
    taps = [Tap("deep_input", layers[0], "input", 0, first, places, 0)]
    for index, (before, after) in enumerate(zip(layers, layers[1:])):
        place = f"layer {before}"
        if (f"dnn_batchnorm_{index}", "gamma") in names:
            place += f" with dnn_batchnorm_{index}"
        taps.append(_tap(f"hidden/{index}", after, "input", names, place, index + 1))
    last = _tap("deep_logits", "dnn_logits", "output", names, "layer dnn_logits", count + 1)
    return [*taps, last]


def _width(column: Any) -> int:
    """Returns how many numbers a dense column has in each row."""
    if isinstance(column, Numeric):
        return column.width
    if isinstance(column, SharedTable):
        return column.dimension * len(column.sources)
    if isinstance(column, Embedding):
        return column.dimension
    assert isinstance(column, (Bucketized, Indicator))
    return num_ids(column if isinstance(column, Bucketized) else column.source)


def list_weights(plan: Plan, tables: Iterable[Table], checkpoint: Checkpoint) -> list[Weight]:
    """Returns the weights that the layers of a converted model have.

    Args:
      plan: the model.
      tables: the variables of its layers, with their names in the checkpoint.
      checkpoint: checkpoint of the Estimator.
    """
    found = []
    for table in tables:
        stored = checkpoint.find(table.names)
        value = np.asarray(checkpoint.get(stored))
        if table.layer.endswith("_bias"):
            value = value.reshape(1, -1)
        found.append(Weight(table.layer, table.attribute, stored, value))
    if plan.trees is not None:
        found.append(Weight(NODES, "embeddings", "the trees", plan.trees.nodes))
    return found


def compare_places(
    taps: Iterable[Tap],
    expected: dict[str, np.ndarray],
    found: dict[str, np.ndarray],
    rows: np.ndarray,
) -> list[dict[str, Any]]:
    """Compares the values of two sides at each place that both sides show.

    Args:
      taps: the arrays.
      expected: key of a tap -> array [rows, numbers] of the Estimator.
      found: the same of the Keras model.
      rows: the number of each row, from 0.

    Returns:
      A dict with place, stage, max_abs, scaled and row (the number of the worst) for each place, in
      the order of computation.
    """
    places = []
    for tap in taps:
        if tap.key not in expected or tap.key not in found:
            continue
        first = 0
        wanted = expected[tap.key].reshape(len(expected[tap.key]), -1)
        given = found[tap.key].reshape(len(wanted), -1)
        for place, width in tap.places:
            end = first + width if width > 0 else wanted.shape[1]
            part = {place: wanted[:, first:end]}
            (one,), _ = compare_outputs("keras", part, {place: given[:, first:end]})
            places.append(
                {
                    "place": place,
                    "stage": tap.stage,
                    "max_abs": one.max_abs,
                    "scaled": one.scaled,
                    "row": int(rows[one.worst[0]]) if one.worst else None,
                }
            )
            first = end
    return sorted(places, key=lambda one: one["stage"])


def compare_weights(
    weights: Iterable[Weight], found: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Returns the weights of a side that are not those of the checkpoint, the largest first.

    Args:
      weights: the weights in the checkpoint.
      found: "LAYER/ATTRIBUTE" -> array of the side; missing ones are not compared.

    Returns:
      A dict with weight, stored, max_abs and count (of numbers that differ) for each.
    """
    differing = []
    for weight in weights:
        value = found.get(weight.name)
        if value is None or np.array_equal(value, weight.value, equal_nan=True):
            continue
        is_same_shape = value.shape == weight.value.shape
        apart = np.abs(value - weight.value) if is_same_shape else np.array([np.inf])
        differing.append(
            {
                "weight": weight.name,
                "stored": weight.stored,
                "max_abs": float(np.nan_to_num(apart, nan=np.inf).max()),
                "count": int((apart != 0).sum()),
                "size": int(weight.value.size),
            }
        )
    return sorted(differing, key=lambda one: -one["max_abs"])


def describe_first(
    side: str, places: list[dict[str, Any]], weights: list[dict[str, Any]], tolerance: float
) -> list[str]:
    """Returns what differs first, and which weights differ, one line each.

    Args:
      side: keras, saved_model or export.
      places: result of compare_places.
      weights: result of compare_weights.
      tolerance: from which difference, divided by max(1, |value|), a place counts as different.
    """
    lines = []
    # Not `<=`: NaN is a difference.
    differing = [one for one in places if not one["scaled"] <= tolerance]
    if differing:
        stage = differing[0]["stage"]
        first = sorted(
            (one for one in differing if one["stage"] == stage), key=lambda one: -one["scaled"]
        )
        named = [
            f"{one['place']} (by {one['max_abs']:.3g} in row {one['row'] + 1})" for one in first
        ]
        lines.append(f"{side}: the first to differ: {_join(named)}")
    elif places:
        lines.append(f"{side}: no column and no layer differs; only what is computed of the logits")
    named = [
        f"{one['weight']} (by {one['max_abs']:.3g}; {one['count']:,} of {one['size']:,} numbers of "
        f"{one['stored']})"
        for one in weights
    ]
    if named:
        lines.append(f"{side}: weights that are not those of the checkpoint: {_join(named)}")
    return lines


def _join(names: list[str]) -> str:
    rest = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
