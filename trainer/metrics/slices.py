"""Metrics of a model's predictions, over all rows and per slice."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.errors import UserError, require_column
from trainer.inputs.shuffle import Chunk
from trainer.metrics import baselines
from trainer.metrics.grouping import Grouping
from trainer.schema import Schema

# Maximum number of slices of one column that are measured. The largest slices are chosen.
MAX_SLICES = 1_000


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


def join_predictions(parts: Sequence[Predictions]) -> Predictions:
    """Returns the rows of several parts, in their order.

    Args:
        parts: at least one; all have weights, or none.
    """
    weights = [part.weights for part in parts if part.weights is not None]
    return Predictions(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate(weights) if weights else None,
    )


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
                    grouping.names[int(code)],
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
        require_column(name, schema.columns, "--by")
        if schema.hides(name):
            raise UserError(f"--by: column {name} is private; the report would contain its values")
    return parsed


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
