"""Computes the differences of outputs, the metrics of a side, and the drift of losses."""

from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.model import Head

__all__ = [
    "Difference",
    "area_under_curve",
    "compare_losses",
    "compare_outputs",
    "encode_labels",
    "metrics_of",
    "stirling",
]

NUM_THRESHOLDS = 200
NUM_WORST = 5


class Difference(NamedTuple):
    """The difference between an output of a side and that of the checkpoint.

    Attributes:
      side: export, keras or saved_model.
      output: name of the output.
      max_abs: largest absolute difference; 1 if text or class ids differ.
      mean_abs: mean absolute difference; for text and class ids, the share that differs.
      scaled: largest difference divided by max(1, |expected value|).
      worst: row numbers from 0, the worst first.
      by_row: the largest scaled difference of each row, float64 [rows].
    """

    side: str
    output: str
    max_abs: float
    mean_abs: float
    scaled: float
    worst: list[int]
    by_row: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """Returns the figures of all rows together."""
        return {name: value for name, value in self._asdict().items() if name != "by_row"}


def compare_outputs(
    side: str, expected: dict[str, np.ndarray], found: dict[str, np.ndarray]
) -> tuple[list[Difference], list[str]]:
    """Compares the outputs of a side with those of the checkpoint.

    Args:
      side: name of the side.
      expected: outputs of the checkpoint, by name.
      found: outputs of the side, by name.

    Returns:
      The differences, and a message for each missing output.
    """
    problems = [f"{side}: output {name} is missing" for name in sorted(set(expected) - set(found))]
    return [
        _compare(side, name, expected[name], found[name])
        for name in sorted(set(expected) & set(found))
    ], problems


def _compare(side: str, name: str, expected: np.ndarray, found: np.ndarray) -> Difference:
    found = found.reshape(expected.shape)
    if expected.dtype == object or expected.dtype.kind in "iuSU":
        differs = (expected != found).astype(np.float64)
        scaled = differs
    else:
        differs = np.abs(expected.astype(np.float64) - found.astype(np.float64))
        # NaN on both sides counts as equal; NaN on one side counts as an infinite difference.
        differs = np.where(np.isnan(expected) & np.isnan(found), 0.0, differs)
        differs = np.where(np.isnan(differs), np.inf, differs)
        scaled = differs / np.maximum(1.0, np.abs(np.nan_to_num(expected)))
    by_row = scaled.reshape(len(scaled), -1).max(axis=1)
    worst = [int(row) for row in np.argsort(-by_row)[:NUM_WORST] if by_row[row] > 0]
    figures = float(differs.max()), float(differs.mean()), float(scaled.max())
    return Difference(side, name, *figures, worst, by_row)


def encode_labels(head: Head, labels: Any) -> dict[str, np.ndarray]:
    """Returns labels as numbers, and classes as their indices.

    Args:
      head: the head.
      labels: array [rows, ...], or a dict of arrays by the names of several heads.

    Returns:
      {output from which a loss is computed: array [rows, ...]}.

    Raises:
      BridgeError: a label is not a class, or the labels are not those of the head.
    """
    names = {one.name for one in head.single}
    by_head = labels if isinstance(labels, dict) else {"": labels}
    if not names <= set(by_head):
        wanted = f"a dict with the keys {', '.join(sorted(names))}" if head.parts else "a tensor"
        raise BridgeError(f"label: for this head, the labels have to be {wanted}")
    return {one.target: _encode(one, by_head[one.name]) for one in head.single}


def _encode(head: Head, labels: np.ndarray) -> np.ndarray:
    dtype = np.int64 if head.task == "multiclass" else np.float32
    width = 1 if head.task in ("binary", "multiclass") else head.units
    if labels.size != len(labels) * width:
        raise BridgeError(
            f"label: the shape of the labels is {list(labels.shape)}, of which the first is the "
            f"number of rows; this {head.task} head takes {width} of each row"
        )
    if head.classes is None and labels.dtype.kind in "OSU":
        raise BridgeError(
            f"label: {_text_of(labels.ravel()[0])} in row 1 of the compared rows is a text; the "
            f"labels of this {head.task} head are numbers"
        )
    if head.task not in ("binary", "multiclass"):
        return labels.astype(dtype)
    numbers = labels
    if head.classes is not None:
        index = {text.encode(): number for number, text in enumerate(head.classes)}
        numbers = np.array([index.get(value, -1) for value in labels.ravel()])
    last = max(head.units, 2) - 1
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers <= last)).ravel())
    if len(wrong):
        known = f"0 to {last}" if head.classes is None else ", ".join(head.classes[:10])
        raise BridgeError(
            f"label: {_text_of(labels.ravel()[wrong[0]])} in row "
            f"{wrong[0] + 1} of the compared rows is not a class; the classes are {known}"
        )
    return numbers.astype(dtype)


def _text_of(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def metrics_of(
    head: Head,
    outputs: dict[str, np.ndarray],
    labels: dict[str, np.ndarray],
    features: dict[str, np.ndarray],
) -> dict[str, float]:
    """Returns the metrics of each head in float64: the loss, and by task AUC, accuracy or RMSE.

    Args:
      head: the head.
      outputs: output -> array [rows, ...].
      labels: labels as returned by encode_labels.
      features: name -> array [rows, ...], with the weights of the rows that the heads read.
    """
    found = {}
    for one in head.single:
        weight = one.weight or head.weight
        weights = None if weight is None else features[weight]
        own = {
            name: outputs[one.output(name)]
            for name in ("logits", "logistic", "predictions", "probabilities")
            if one.output(name) in outputs
        }
        if one.task == "multilabel":
            values = _multilabel_metrics(own, labels[one.target], weights)
        else:
            values = _metrics_of(one, own, labels[one.target], weights)
        found.update({one.output(name): value for name, value in values.items()})
    return found


def _multilabel_metrics(
    outputs: dict[str, np.ndarray], labels: np.ndarray, weights: Optional[np.ndarray]
) -> dict[str, float]:
    """Returns the mean loss, and the area under a single curve of all labels."""
    weight = np.ones(len(labels)) if weights is None else weights.astype(np.float64).ravel()
    truth, logits = labels.astype(np.float64), outputs["logits"].astype(np.float64)
    losses = np.maximum(logits, 0) - logits * truth + np.log1p(np.exp(-np.abs(logits)))
    each = np.repeat(weight, truth.shape[1])
    score = outputs["probabilities"].ravel()
    areas = {
        f"auc ({rule})": area_under_curve(truth.ravel(), score, each, "auc", rule)
        for rule in ("trapezoidal", "interpolation")
    }
    return {"loss": float((losses.mean(axis=1) * weight).sum() / weight.sum()), **areas}


def _metrics_of(
    head: Head,
    outputs: dict[str, np.ndarray],
    labels: np.ndarray,
    weights: Optional[np.ndarray],
) -> dict[str, float]:
    truth = labels.astype(np.float64).ravel()
    weight = np.ones_like(truth) if weights is None else weights.astype(np.float64).ravel()
    # A row with several labels has one weight.
    weight = np.repeat(weight, len(truth) // len(weight))

    def mean(values: np.ndarray) -> float:
        return float((values * weight).sum() / weight.sum())

    if head.task == "binary":
        logits = outputs["logits"].astype(np.float64).ravel()
        losses = np.maximum(logits, 0) - logits * truth + np.log1p(np.exp(-np.abs(logits)))
        score = outputs["logistic"].ravel()
        areas = {
            f"{curve} ({rule})": area_under_curve(truth, score, weight, curve, rule)
            for curve in ("auc", "auc_precision_recall")
            for rule in ("trapezoidal", "interpolation")
        }
        return {"loss": mean(losses), "accuracy": mean((score > 0.5) == (truth > 0.5)), **areas}
    if head.task == "multiclass":
        logits = outputs["logits"].astype(np.float64)
        top = logits.max(axis=1)
        normalizers = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        losses = normalizers - logits[np.arange(len(truth)), labels.ravel()]
        return {"loss": mean(losses), "accuracy": mean(logits.argmax(axis=1) == labels.ravel())}
    predictions = outputs["predictions"].astype(np.float64).ravel()
    if predictions.shape != truth.shape:
        return {}
    if head.task == "poisson":
        logs = np.log(np.maximum(predictions, np.finfo(np.float64).tiny))
        return {"loss": mean(predictions - truth * logs + stirling(truth))}
    squares = mean((predictions - truth) ** 2)
    return {"loss": squares, "rmse": squares**0.5}


def stirling(truth: np.ndarray) -> np.ndarray:
    """Returns Stirling's term of the Poisson loss. Keras omits it; its gradient is 0.

    Args:
      truth: labels, of any shape.
    """
    safe = np.maximum(truth.astype(np.float64), 1.0)
    value = safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe)
    return np.where(truth > 1, value, 0.0)


def area_under_curve(
    truth: np.ndarray, score: np.ndarray, weight: np.ndarray, curve: str, rule: str
) -> float:
    """Returns the area under a curve with 200 thresholds, as computed by tf.metrics and Keras.

    Args:
      truth: labels 0 or 1, [rows].
      score: probabilities, [rows].
      weight: weights of the rows, [rows].
      curve: "auc" (ROC) or "auc_precision_recall".
      rule: "trapezoidal", the default of tf.metrics, or "interpolation", the default of Keras
        (Davis and Goadrich, "The Relationship Between Precision-Recall and ROC Curves", 2006). For
        ROC the two give the same result.
    """
    inner = [(index + 1) / (NUM_THRESHOLDS - 1) for index in range(NUM_THRESHOLDS - 2)]
    thresholds = np.array([-1e-7, *inner, 1 + 1e-7], np.float32)
    positive, order = truth > 0.5, np.argsort(score)
    ranked = np.concatenate([[0.0], np.cumsum((weight * positive)[order])])
    negative = np.concatenate([[0.0], np.cumsum((weight * ~positive)[order])])
    below = np.searchsorted(score[order], thresholds, side="right")
    true_positives = ranked[-1] - ranked[below]
    false_positives = negative[-1] - negative[below]
    if curve == "auc":
        x, y = false_positives / max(negative[-1], 1e-12), true_positives / max(ranked[-1], 1e-12)
        return float(((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2).sum())
    predicted = true_positives + false_positives
    if rule == "trapezoidal":
        recall = (true_positives + 1e-6) / (ranked[-1] + 1e-6)
        precision = (true_positives + 1e-6) / (predicted + 1e-6)
        middle = (precision[:-1] + precision[1:]) / 2
        return float(((recall[:-1] - recall[1:]) * middle).sum())
    gained, more = true_positives[:-1] - true_positives[1:], predicted[:-1] - predicted[1:]
    slope = np.divide(gained, more, out=np.zeros_like(gained), where=more > 0)
    intercept = true_positives[1:] - slope * predicted[1:]
    both = (predicted[:-1] > 0) & (predicted[1:] > 0)
    ratio = np.divide(predicted[:-1], predicted[1:], out=np.ones_like(predicted[:-1]), where=both)
    increments = slope * (gained + intercept * np.log(ratio))
    return float(increments.sum() / max(ranked[-1], 1e-12))


def compare_losses(expected: list[float], found: list[float]) -> Optional[dict[str, Any]]:
    """Compares two loss curves, relative to the expected losses.

    Args:
      expected: losses of the Estimator, by step.
      found: losses of the other side.

    Returns:
      The differences and both curves; None if the curves are empty or differ in length.
    """
    if not expected or len(expected) != len(found):
        return None
    first, second = np.array(expected), np.array(found)
    relative = np.abs(first - second) / np.maximum(np.abs(first), 1e-12)
    worst = int(relative.argmax())
    return {
        "steps": len(expected),
        "max_relative": float(relative[worst]),
        "at_step": worst + 1,
        "max_abs": float(np.abs(first - second).max()),
        "mean_relative": float(relative.mean()),
        "estimator": [float(value) for value in first],
        "keras": [float(value) for value in second],
    }
