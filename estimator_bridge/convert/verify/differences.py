"""Differences of answers, metrics of both sides, and how far losses drift apart."""

from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.model import Head

__all__ = [
    "Difference",
    "area_under_curve",
    "compare_answers",
    "compare_losses",
    "encode_labels",
    "metrics_of",
    "stirling",
]

NUM_THRESHOLDS = 200
NUM_WORST = 5


class Difference(NamedTuple):
    """How one output differs from the checkpoint's.

    Attributes:
      side: export, keras or saved_model.
      output: name.
      max_abs, mean_abs: of the absolute differences; of text and class ids, the share that differs.
      scaled: the largest difference divided by max(1, size of the expected value).
      worst: row numbers, the worst first.
    """

    side: str
    output: str
    max_abs: float
    mean_abs: float
    scaled: float
    worst: list[int]


def compare_answers(side: str, expected: dict, found: dict) -> tuple[list[Difference], list[str]]:
    """Every output that both have; and a line for each that one of them lacks."""
    problems = [f"{side}: output {name} is missing" for name in sorted(set(expected) - set(found))]
    return [
        _compare(side, name, expected[name], found[name])
        for name in sorted(set(expected) & set(found))
    ], problems


def _compare(side, name, expected, found) -> Difference:
    found = found.reshape(expected.shape)
    if expected.dtype == object or expected.dtype.kind in "iuSU":
        differs = (expected != found).astype(np.float64)
        scaled = differs
    else:
        differs = np.abs(expected.astype(np.float64) - found.astype(np.float64))
        # Not a number on both sides is agreement; on one side, the worst there is.
        differs = np.where(np.isnan(expected) & np.isnan(found), 0.0, differs)
        differs = np.where(np.isnan(differs), np.inf, differs)
        scaled = differs / np.maximum(1.0, np.abs(np.nan_to_num(expected)))
    by_row = scaled.reshape(len(scaled), -1).max(axis=1)
    worst = [int(row) for row in np.argsort(-by_row)[:NUM_WORST] if by_row[row] > 0]
    return Difference(
        side, name, float(differs.max()), float(differs.mean()), float(scaled.max()), worst
    )


def encode_labels(head: Head, labels: Any) -> dict[str, np.ndarray]:
    """Labels as numbers, classes by their index: output that the loss is of -> array.

    Raises:
      BridgeError: a label is none of the classes; names its row.
    """
    given = labels if head.parts else {"": labels}
    return {one.target: _encode(one, given[one.name]) for one in head.single}


def _encode(head, labels):
    dtype = np.int64 if head.task == "multiclass" else np.float32
    if head.task not in ("binary", "multiclass"):
        return labels.astype(dtype)
    numbers = labels
    if head.classes is not None:
        index = {text.encode(): number for number, text in enumerate(head.classes)}
        numbers = np.array([index.get(value, -1) for value in labels.ravel()])
    last = max(head.units, 2) - 1
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers <= last)).ravel())
    if len(wrong):
        value = labels.ravel()[wrong[0]]
        known = f"0 to {last}" if head.classes is None else ", ".join(head.classes[:10])
        raise BridgeError(
            f"label {value.decode() if isinstance(value, bytes) else value!s} of row "
            f"{wrong[0] + 1} of those compared is none of the classes: {known}"
        )
    return numbers.astype(dtype)


def metrics_of(head: Head, answers: dict, labels: dict, weights: Any) -> dict[str, float]:
    """Loss and, by the task, AUC, accuracy or RMSE, in float64; of several heads those of each.

    Args:
      head: what the answers are of.
      answers: output -> array [rows, ...].
      labels: as encode_labels gives them.
      weights: of the rows; None: 1 each.
    """
    found = {}
    for one in head.single:
        own = {
            name: answers[one.output(name)]
            for name in ("logits", "logistic", "predictions", "probabilities")
            if one.output(name) in answers
        }
        if one.task == "multilabel":
            values = _of_answers(own, labels[one.target], weights)
        else:
            values = _metrics_of(one, own, labels[one.target], weights)
        found.update({one.output(name): value for name, value in values.items()})
    return found


def _of_answers(answers, labels, weights):
    """Of several answers: the mean loss, and the area under the curve of all of them together."""
    weight = np.ones(len(labels)) if weights is None else weights.astype(np.float64).ravel()
    truth, logits = labels.astype(np.float64), answers["logits"].astype(np.float64)
    losses = np.maximum(logits, 0) - logits * truth + np.log1p(np.exp(-np.abs(logits)))
    each = np.repeat(weight, truth.shape[1])
    score = answers["probabilities"].ravel()
    areas = {
        f"auc ({rule})": area_under_curve(truth.ravel(), score, each, "auc", rule)
        for rule in ("trapezoidal", "interpolation")
    }
    return {"loss": float((losses.mean(axis=1) * weight).sum() / weight.sum()), **areas}


def _metrics_of(head, answers, labels, weights):
    truth = labels.astype(np.float64).ravel()
    weight = np.ones_like(truth) if weights is None else weights.astype(np.float64).ravel()

    def mean(values):
        return float((values * weight).sum() / weight.sum())

    if head.task == "binary":
        logits = answers["logits"].astype(np.float64).ravel()
        losses = np.maximum(logits, 0) - logits * truth + np.log1p(np.exp(-np.abs(logits)))
        score = answers["logistic"].ravel()
        rules = ("trapezoidal", "interpolation")
        areas = {
            f"{curve} ({rule})": area_under_curve(truth, score, weight, curve, rule)
            for curve in ("auc", "auc_precision_recall")
            for rule in rules
        }
        return {"loss": mean(losses), "accuracy": mean((score > 0.5) == (truth > 0.5)), **areas}
    if head.task == "multiclass":
        logits = answers["logits"].astype(np.float64)
        top = logits.max(axis=1)
        size = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        losses = size - logits[np.arange(len(truth)), labels.ravel()]
        return {"loss": mean(losses), "accuracy": mean(logits.argmax(axis=1) == labels.ravel())}
    guess = answers["predictions"].astype(np.float64).ravel()
    if guess.shape != truth.shape:
        return {}
    if head.task == "poisson":
        return {"loss": mean(guess - truth * np.log(guess) + stirling(truth))}
    squares = mean((guess - truth) ** 2)
    return {"loss": squares, "rmse": squares**0.5}


def stirling(truth: np.ndarray) -> np.ndarray:
    """The part of the Poisson loss that Estimators add and Keras leaves out; it has no gradient."""
    safe = np.maximum(truth.astype(np.float64), 1.0)
    value = safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe)
    return np.where(truth > 1, value, 0.0)


def area_under_curve(truth, score, weight, curve: str, rule: str) -> float:
    """AUC from 200 thresholds, as tf.metrics and Keras compute it.

    Args:
      truth, score, weight: arrays [rows]: 0/1, 0 … 1, any.
      curve: "auc" (ROC) or "auc_precision_recall".
      rule: "trapezoidal", tf.metrics' default, or "interpolation", Keras' (Davis and Goadrich, "The
        Relationship Between Precision-Recall and ROC Curves", 2006; it is the same for ROC).
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
    called = true_positives + false_positives
    if rule == "trapezoidal":
        recall = (true_positives + 1e-6) / (ranked[-1] + 1e-6)
        precision = (true_positives + 1e-6) / (called + 1e-6)
        middle = (precision[:-1] + precision[1:]) / 2
        return float(((recall[:-1] - recall[1:]) * middle).sum())
    gained, more = true_positives[:-1] - true_positives[1:], called[:-1] - called[1:]
    slope = np.divide(gained, more, out=np.zeros_like(gained), where=more > 0)
    intercept = true_positives[1:] - slope * called[1:]
    both = (called[:-1] > 0) & (called[1:] > 0)
    ratio = np.divide(called[:-1], called[1:], out=np.ones_like(called[:-1]), where=both)
    increments = slope * (gained + intercept * np.log(ratio))
    return float(increments.sum() / max(ranked[-1], 1e-12))


def compare_losses(expected: list[float], found: list[float]) -> Optional[dict[str, Any]]:
    """Where two loss curves are furthest apart, relative to the expected loss."""
    if not expected or len(expected) != len(found):
        return None
    first, second = np.array(expected), np.array(found)
    apart = np.abs(first - second) / np.maximum(np.abs(first), 1e-12)
    worst = int(apart.argmax())
    return {
        "steps": len(expected),
        "max_relative": float(apart[worst]),
        "at_step": worst + 1,
        "max_abs": float(np.abs(first - second).max()),
        "mean_relative": float(apart.mean()),
        "estimator": [float(value) for value in first],
        "keras": [float(value) for value in second],
    }
