"""Metrics of a model's predictions, over all rows and per slice."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.config import nearest
from trainer.errors import UserError
from trainer.inputs.shuffle import Chunk
from trainer.metrics import baselines
from trainer.schema import Column, Range, Schema

# Maximum number of slices of one column that are measured. The largest slices are chosen.
MAX_SLICES = 1_000
# A numeric column with at most this many different values has one slice per value.
FEW_NUMBERS = 12
MISSING = "(missing)"


class Predictions(NamedTuple):
    """Predictions for some rows.

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
        value: value of the column, or values joined by commas.
        rows: number of rows.
        few: whether there are too few rows for reliable metrics.
        metrics: name → value; NaN if the metric is not defined for these rows.
    """

    by: str
    value: str
    rows: int
    few: bool
    metrics: dict[str, float]


class Grouping(NamedTuple):
    """The slice of each row.

    Attributes:
        names: names of the slices.
        codes: int64 [rows], indices into names.
        ordered: whether the names have a natural order.
    """

    names: list[str]
    codes: np.ndarray
    ordered: bool = False


def measure(task: str, predictions: Predictions, threshold: float) -> dict[str, float]:
    """Returns the metrics of a task; those of a binary task include precision and recall.

    Args:
        task: binary, multiclass or regression.
        predictions: at least one row.
        threshold: decision threshold of the scores.

    Returns:
        metric → value; empty if all weights are 0.
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
        predicted = scores[np.arange(len(ids)), ids]
        losses = -np.log(np.clip(predicted, baselines.EPSILON, 1 - baselines.EPSILON))
        return {
            "accuracy": float(np.average(scores.argmax(axis=1) == ids, weights=weights)),
            "log_loss": float(np.average(losses, weights=weights)),
        }
    metrics = baselines.measure_binary(labels, scores, weights)
    weight = np.ones_like(labels) if weights is None else weights
    positive = scores > threshold
    hits = float((weight * labels)[positive].sum())
    metrics[f"precision_at_{threshold:g}"] = _share(hits, float(weight[positive].sum()))
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
    """Measures every slice.

    Args:
        task: binary, multiclass or regression.
        predictions: all rows.
        groupings: column, or columns joined by * → slice of each row.
        threshold: decision threshold of the scores.
        min_rows: slices with fewer rows are marked as `few`.

    Returns:
        The slices of each column; in natural order if there is one, else the largest first.
    """
    slices = []
    for by, grouping in groupings.items():
        order = np.argsort(grouping.codes, kind="stable")
        rows = np.bincount(grouping.codes, minlength=len(grouping.names))
        ends = np.cumsum(rows)
        largest = [code for code in np.argsort(-rows, kind="stable") if rows[code]][:MAX_SLICES]
        for code in sorted(largest) if grouping.ordered else largest:
            index = order[ends[code] - rows[code] : ends[code]]
            part = Predictions(
                predictions.labels[index],
                predictions.scores[index],
                None if predictions.weights is None else predictions.weights[index],
            )
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
    """Returns the columns of each slicing.

    Args:
        by: "a" for the values of a column, "a*b" for all pairs of values of two columns.
        schema: the columns.

    Raises:
        UserError: there is no such column, or it is private.
    """
    parsed = [[name.strip() for name in spec.split("*")] for spec in by]
    for name in (name for names in parsed for name in names):
        if name not in schema.columns:
            raise UserError(
                f"--by: no column {name!r}{nearest(name, schema.columns)} in the schema"
            )
        if schema.hides(name):
            raise UserError(f"--by: column {name} is private; the report would contain its values")
    return parsed


def group(
    chunks: Sequence[Chunk], by: Sequence[Sequence[str]], schema: Schema, ranges: dict[str, Range]
) -> dict[str, Grouping]:
    """Assigns rows to slices.

    Args:
        chunks: the columns to slice by.
        by: names of the columns of each slicing.
        schema: types and buckets of the columns.
        ranges: statistics of the training data. Their bins are the slices of a numeric column
            without buckets.

    Returns:
        Column, or columns joined by * → slice of each row.
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
            # Only the pairs that occur: the others may be many times more.
            pairs, codes = np.unique(codes * len(other.names) + other.codes, return_inverse=True)
            places = zip(*(each.tolist() for each in np.divmod(pairs, len(other.names))))
            labels = [f"{labels[first]}, {other.names[second]}" for first, second in places]
        groupings["*".join(names)] = Grouping(labels, codes, ordered and len(names) == 1)
    return groupings


def _group_column(
    name: str, arrays: Sequence[np.ndarray], schema: Schema, trained: Optional[Range]
) -> Grouping:
    column = schema.columns[name]
    if column.raw_type == "string":
        encoded = [pa.array(array, pa.binary()).dictionary_encode() for array in arrays]
        joined = pa.chunked_array(encoded).unify_dictionaries().combine_chunks()
        if isinstance(joined, pa.ChunkedArray):
            joined = joined.chunk(0)
        words = [word.decode(errors="replace") or MISSING for word in joined.dictionary.to_pylist()]
        return Grouping(words, joined.indices.to_numpy().astype(np.int64))
    values = np.concatenate(arrays)
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    distinct = np.unique(values[present])
    if column.is_categorical or (len(distinct) <= FEW_NUMBERS and not column.buckets):
        names = [f"{value:g}" if values.dtype.kind == "f" else str(value) for value in distinct]
        filler = distinct[0] if len(distinct) else 0
        codes = np.searchsorted(distinct, np.where(present, values, filler))
    else:
        edges = _choose_edges(column, trained, distinct)
        names = _name_bins(name, edges)
        codes = np.searchsorted(edges, np.where(present, values, 0), side="right")
    codes = np.where(present, codes, len(names)).astype(np.int64)
    return Grouping([*names, MISSING], codes, ordered=True)


def _choose_edges(column: Column, trained: Optional[Range], distinct: np.ndarray) -> np.ndarray:
    if column.buckets:
        return np.asarray(column.buckets, np.float64)
    if trained is not None and trained.bins is not None:
        return np.asarray(trained.bins.edges, np.float64)
    return np.unique(np.quantile(distinct, np.arange(0.1, 1, 0.1)))


def _name_bins(name: str, edges: np.ndarray) -> list[str]:
    texts = [f"{edge:.6g}" for edge in edges.tolist()]
    if not texts:
        return ["all"]
    between = [f"{low} <= {name} < {high}" for low, high in zip(texts, texts[1:])]
    return [f"{name} < {texts[0]}", *between, f"{name} >= {texts[-1]}"]


def read_labels(chunk: Chunk, schema: Schema) -> np.ndarray:
    """Returns the labels, [rows]: class ids, or numbers for a regression.

    Args:
        chunk: rows that contain the column of the label.
        schema: defines the label.
    """
    values: np.ndarray = chunk[schema.label.column]
    vocabulary = schema.label.vocabulary
    if vocabulary is None:
        return values
    if schema.columns[schema.label.column].type == "string":
        known = pa.array([str(word).encode() for word in vocabulary], pa.binary())
        ids: np.ndarray = pc.index_in(pa.array(values, pa.binary()), known).to_numpy()
        return ids
    order = np.argsort(np.asarray(vocabulary))
    ids = order[np.searchsorted(np.asarray(vocabulary)[order], values)]
    return ids
