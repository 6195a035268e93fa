"""Metrics of a model's predictions, over all rows and over slices of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.config import nearest
from trainer.errors import UserError
from trainer.inputs.shuffle import Chunk
from trainer.metrics import baselines
from trainer.schema import Range, Schema

# Slices of one column that are measured, the largest first.
MAX_SLICES = 1_000
# Different numbers up to which each is a slice of its own.
FEW_NUMBERS = 12
MISSING = "(missing)"


class Predictions(NamedTuple):
    """What was predicted of some rows.

    Attributes:
        labels: [rows]; 0 or 1, class ids from 0, or numbers.
        scores: [rows], or [rows, classes] for more than two classes.
        weights: [rows] or None.
    """

    labels: np.ndarray
    scores: np.ndarray
    weights: Optional[np.ndarray]


class Slice(NamedTuple):
    """One slice.

    Attributes:
        by: column, or columns joined by *.
        value: what it is there.
        rows: how many.
        few: whether they are too few for their metrics to be trusted.
        metrics: name → value, NaN where it cannot be told of these rows.
    """

    by: str
    value: str
    rows: int
    few: bool
    metrics: dict[str, float]


class Grouping(NamedTuple):
    """Which slice each row is in.

    Attributes:
        names: of the slices.
        codes: int64 [rows], places in names.
        ordered: whether the names have an order of their own.
    """

    names: list[str]
    codes: np.ndarray
    ordered: bool = False


def measure(task: str, predictions: Predictions, threshold: float) -> dict[str, float]:
    """The metrics of a task: those of trainer.metrics.baselines; of a classifier's threshold, more.

    Args:
        task: binary, multiclass or regression.
        predictions: one row or more.
        threshold: score from which a row is called positive.
    """
    labels = predictions.labels.astype(np.float64)
    scores, weights = predictions.scores.astype(np.float64), predictions.weights
    if weights is not None:
        weights = weights.astype(np.float64)
        if not weights.sum() > 0:
            return {}
    if task == "regression":
        return baselines.measure_regression(labels, scores, weights)
    if task == "multiclass":
        ids = labels.astype(np.int64)
        answered = scores[np.arange(len(ids)), ids]
        losses = -np.log(np.clip(answered, baselines.EPSILON, 1 - baselines.EPSILON))
        return {
            "accuracy": float(np.average(scores.argmax(axis=1) == ids, weights=weights)),
            "log_loss": float(np.average(losses, weights=weights)),
        }
    metrics = baselines.measure_binary(labels, scores, weights)
    weight = np.ones_like(labels) if weights is None else weights
    called = scores > threshold
    hits = float((weight * labels)[called].sum())
    metrics[f"precision_at_{threshold:g}"] = _share(hits, float(weight[called].sum()))
    metrics[f"recall_at_{threshold:g}"] = _share(hits, float((weight * labels).sum()))
    metrics["positives"] = _share(float((weight * labels).sum()), float(weight.sum()))
    return metrics


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def measure_slices(
    task: str,
    predictions: Predictions,
    groupings: dict[str, Grouping],
    threshold: float,
    min_rows: int,
) -> list[Slice]:
    """Measures every slice: numbers in their order, else the largest of each column first."""
    slices = []
    for by, grouping in groupings.items():
        order = np.argsort(grouping.codes, kind="stable")
        rows = np.bincount(grouping.codes, minlength=len(grouping.names))
        ends = np.cumsum(rows)
        largest = [code for code in np.argsort(-rows, kind="stable") if rows[code]][:MAX_SLICES]
        for code in sorted(largest) if grouping.ordered else largest:
            index = order[ends[code] - rows[code] : ends[code]]
            part = Predictions(*(None if array is None else array[index] for array in predictions))
            slices.append(
                Slice(
                    by,
                    grouping.names[code],
                    int(rows[code]),
                    bool(rows[code] < min_rows),
                    measure(task, part, threshold),
                )
            )
    return slices


def parse_by(by: Sequence[str], schema: Schema) -> list[list[str]]:
    """The columns of each slicing: "a" alone, "a*b" every pair of values of the two.

    Raises:
        UserError: no such column.
    """
    parsed = [[name.strip() for name in spec.split("*")] for spec in by]
    for name in (name for names in parsed for name in names):
        if name not in schema.columns:
            raise UserError(
                f"--by: no column {name!r}{nearest(name, schema.columns)} in the schema"
            )
    return parsed


def group(
    chunks: Sequence[Chunk], by: Sequence[Sequence[str]], schema: Schema, ranges: dict[str, Range]
) -> dict[str, Grouping]:
    """Sorts rows into slices.

    Args:
        chunks: the columns that are sliced by.
        by: names of the columns of each slicing.
        schema: their types and buckets.
        ranges: statistics of the training data, for the bins of a number without buckets.
    """
    single = {
        name: _group_column(name, [chunk[name] for chunk in chunks], schema, ranges.get(name))
        for name in dict.fromkeys(name for names in by for name in names)
    }
    groupings = {}
    for names in by:
        labels, codes, ordered = single[names[0]]
        for name in names[1:]:
            other = single[name]
            labels = [f"{label}, {more}" for label in labels for more in other.names]
            codes = codes * len(other.names) + other.codes
        groupings["*".join(names)] = Grouping(labels, codes, ordered and len(names) == 1)
    return groupings


def _group_column(name, arrays, schema: Schema, trained: Optional[Range]) -> Grouping:
    column = schema.columns[name]
    if column.raw_type == "string":
        pieces = [pa.array(array, pa.binary()).dictionary_encode() for array in arrays]
        joined = pa.chunked_array(pieces).unify_dictionaries().combine_chunks()
        if isinstance(joined, pa.ChunkedArray):
            joined = joined.chunk(0)
        words = [word.decode(errors="replace") or MISSING for word in joined.dictionary.to_pylist()]
        return Grouping(words, joined.indices.to_numpy().astype(np.int64))
    values = np.concatenate(arrays)
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    distinct = np.unique(values[present])
    if column.is_categorical or (len(distinct) <= FEW_NUMBERS and not column.buckets):
        names = [f"{value:g}" if values.dtype.kind == "f" else str(value) for value in distinct]
        codes = np.searchsorted(distinct, np.where(present, values, distinct[0]))
    else:
        edges = _choose_edges(column, trained, distinct)
        names = _name_bins(name, edges)
        codes = np.searchsorted(edges, np.where(present, values, 0), side="right")
    codes = np.where(present, codes, len(names)).astype(np.int64)
    return Grouping([*names, MISSING], codes, ordered=True)


def _choose_edges(column, trained: Optional[Range], distinct: np.ndarray) -> np.ndarray:
    if column.buckets:
        return np.asarray(column.buckets, np.float64)
    if trained is not None and trained.bins is not None:
        return np.asarray(trained.bins.edges, np.float64)
    return np.unique(np.quantile(distinct, np.arange(0.1, 1, 0.1)))


def _name_bins(name: str, edges: np.ndarray) -> list[str]:
    shown = [f"{edge:.6g}" for edge in edges.tolist()]
    if not shown:
        return ["all"]
    between = [f"{low} <= {name} < {high}" for low, high in zip(shown, shown[1:])]
    return [f"{name} < {shown[0]}", *between, f"{name} >= {shown[-1]}"]


def read_labels(chunk: Chunk, schema: Schema) -> np.ndarray:
    """Labels [rows] as class ids, or as numbers for a regression."""
    values: Any = chunk[schema.label.column]
    vocabulary = schema.label.vocabulary
    if vocabulary is None:
        return values
    if schema.columns[schema.label.column].type == "string":
        known = pa.array([str(word).encode() for word in vocabulary], pa.binary())
        return pc.index_in(pa.array(values, pa.binary()), known).to_numpy()
    order = np.argsort(vocabulary)
    return order[np.searchsorted(np.asarray(vocabulary)[order], values)]
