"""What a model has to beat: the majority, the mean, and one column alone."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

from trainer.metrics.catalogue import LOWER_IS_BETTER

# Equal-width bins of the score, as many as the model's own calibration error has: Guo et al.,
# "On Calibration of Modern Neural Networks" (2017).
CALIBRATION_BINS = 15
# Scores are kept so far from 0 and 1 in logarithms, as Keras keeps them.
EPSILON = 1e-7
# Newton's method ends when no coefficient moves by more; it needs five to ten iterations.
TOLERANCE = 1e-10
MAX_ITERATIONS = 50
# Keeps the slope finite where the column separates the classes; next to nothing otherwise.
RIDGE = 1e-8


class Rows(NamedTuple):
    """Rows of one split.

    Attributes:
        labels: [rows]; 0 or 1, class ids from 0, or numbers to be predicted.
        column: [rows], the numbers of the column that is tried alone, NaN where missing; None
            where there is none.
        weights: [rows], not negative; None counts every row once.
    """

    labels: np.ndarray
    column: Optional[np.ndarray] = None
    weights: Optional[np.ndarray] = None


class Gain(NamedTuple):
    """One metric of the model against that of a baseline.

    Attributes:
        baseline, metric: names.
        theirs, ours: the metric of the baseline and of the model.
        gain: by how much ours is better; negative where it is worse.
    """

    baseline: str
    metric: str
    theirs: float
    ours: float
    gain: float


# The tasks that have baselines.
TASKS = ("binary", "multiclass", "regression")


def measure_baselines(
    task: str, train: Rows, evaluation: Rows, column_name: Optional[str] = None
) -> dict[str, dict[str, float]]:
    """Fits the baselines of a task on the training rows and measures them on the others.

    binary: "majority class" always answers the training share of positives; "<column> alone" is a
    logistic regression on the column. Measured: auc, auc_precision_recall, accuracy, log_loss,
    calibration_error. multiclass: "majority class" answers the training share of each class;
    accuracy, log_loss. regression: "mean" and the least-squares line on the column; rmse, mae, r2.

    Args:
        task: binary, multiclass or regression.
        train, evaluation: the rows; a column in both or in neither.
        column_name: what the column is called.

    Returns:
        baseline → metric → value, the column's last.
    """
    train, evaluation = _as_float(train), _as_float(evaluation)
    fit, predict, measure, name = {
        "binary": (fit_logistic, _sigmoid, measure_binary, "majority class"),
        "regression": (fit_line, _identity, measure_regression, "mean"),
        "multiclass": (None, None, _measure_multiclass, "majority class"),
    }[task]
    if task == "multiclass":
        return {name: measure(evaluation.labels, _shares(train), evaluation.weights)}
    constant = np.full(len(evaluation.labels), np.average(train.labels, weights=train.weights))
    measured = {name: measure(evaluation.labels, constant, evaluation.weights)}
    if train.column is not None:
        standardise = _make_standardiser(train)
        slope, intercept = fit(standardise(train.column), train.labels, train.weights)
        scores = predict(slope * standardise(evaluation.column) + intercept)
        measured[f"{column_name} alone"] = measure(evaluation.labels, scores, evaluation.weights)
    return measured


def compare(model_metrics: dict[str, float], baselines: dict[str, dict[str, float]]) -> list[Gain]:
    """Holds a model's metrics against each baseline's: one row for each metric that both have."""
    return [
        Gain(
            baseline=name,
            metric=metric,
            theirs=theirs,
            ours=model_metrics[metric],
            gain=(theirs - model_metrics[metric]) * (1 if metric in LOWER_IS_BETTER else -1),
        )
        for name, metrics in baselines.items()
        for metric, theirs in metrics.items()
        if metric in model_metrics
    ]


def fit_logistic(
    column: np.ndarray, labels: np.ndarray, weights: Optional[np.ndarray] = None
) -> tuple[float, float]:
    """Fits P(label = 1) = sigmoid(slope * column + intercept) by maximum likelihood.

    Newton's method with step halving, which is iteratively reweighted least squares: Hastie,
    Tibshirani and Friedman, "The Elements of Statistical Learning", 2nd edition, section 4.4.1.

    Args:
        column: float64 [rows], of mean about 0 and deviation about 1.
        labels: float64 [rows], 0 or 1.
        weights: float64 [rows] or None.

    Returns:
        slope and intercept.
    """
    inputs = np.stack([column, np.ones_like(column)], axis=1)
    weights = np.ones_like(labels) if weights is None else weights
    ridge = RIDGE * max(weights.sum(), 1.0) * np.eye(2)

    def loss(betas):
        logits = inputs @ betas
        likelihood = weights @ (np.logaddexp(0.0, logits) - labels * logits)
        return likelihood + 0.5 * betas @ ridge @ betas

    betas = np.zeros(2)
    for _ in range(MAX_ITERATIONS):
        scores = _sigmoid(inputs @ betas)
        gradient = inputs.T @ (weights * (scores - labels)) + ridge @ betas
        curvature = inputs.T @ (inputs * (weights * scores * (1 - scores))[:, None]) + ridge
        step = np.linalg.solve(curvature, gradient)
        now = loss(betas)
        while loss(betas - step) > now and np.abs(step).max() > TOLERANCE:
            step /= 2
        betas = betas - step
        if np.abs(step).max() <= TOLERANCE:
            break
    return float(betas[0]), float(betas[1])


def fit_line(
    column: np.ndarray, labels: np.ndarray, weights: Optional[np.ndarray] = None
) -> tuple[float, float]:
    """Fits labels = slope * column + intercept by weighted least squares; all float64 [rows].

    Returns:
        slope and intercept; a constant column has slope 0.
    """
    center, middle = np.average(column, weights=weights), np.average(labels, weights=weights)
    spread = np.average((column - center) ** 2, weights=weights)
    together = np.average((column - center) * (labels - middle), weights=weights)
    slope = float(together / spread) if spread > 0 else 0.0
    return slope, float(middle - slope * center)


def measure_binary(
    labels: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray] = None
) -> dict[str, float]:
    """Metrics of scores in 0 … 1 for labels 0 and 1, all float64 [rows].

    auc and auc_precision_recall (average precision, without interpolation) are exact, those of an
    Estimator go by 200 thresholds: they differ in the third or fourth digit. NaN where the labels
    are all alike.
    """
    weights = np.ones_like(labels) if weights is None else weights
    auc, average_precision = _measure_ranking(labels, scores, weights)
    return {
        "auc": auc,
        "auc_precision_recall": average_precision,
        "accuracy": float(np.average((scores >= 0.5) == (labels > 0.5), weights=weights)),
        "log_loss": _log_loss(np.where(labels > 0.5, scores, 1 - scores), weights),
        "calibration_error": _measure_calibration(labels, scores, weights),
    }


def measure_regression(
    labels: np.ndarray, predictions: np.ndarray, weights: Optional[np.ndarray] = None
) -> dict[str, float]:
    """rmse, mae and r2 (0 where the labels are all the same), of float64 [rows]."""
    errors = predictions - labels
    residual = float(np.average(errors**2, weights=weights))
    middle = np.average(labels, weights=weights)
    spread = float(np.average((labels - middle) ** 2, weights=weights))
    return {
        "rmse": residual**0.5,
        "mae": float(np.average(np.abs(errors), weights=weights)),
        "r2": 1 - residual / spread if spread > 0 else 0.0,
    }


def _measure_multiclass(labels, shares, weights) -> dict[str, float]:
    ids = labels.astype(np.int64)
    # A class that training never showed has no share at all.
    inside = ids < len(shares)
    answered = np.where(inside, shares[np.where(inside, ids, 0)], 0.0)
    return {
        "accuracy": float(np.average(ids == np.argmax(shares), weights=weights)),
        "log_loss": _log_loss(answered, weights),
    }


def _as_float(rows: Rows) -> Rows:
    return Rows(
        *(None if array is None else np.asarray(array, np.float64).reshape(-1) for array in rows)
    )


def _shares(train: Rows) -> np.ndarray:
    counts = np.bincount(train.labels.astype(np.int64), weights=train.weights)
    return counts / counts.sum()


def _make_standardiser(train: Rows):
    """(value - mean) / deviation of the training rows; a missing value becomes their mean, 0."""
    present = ~np.isnan(train.column)
    values = train.column[present]
    weights = None if train.weights is None else train.weights[present]
    center = np.average(values, weights=weights) if values.size else 0.0
    scale = np.average((values - center) ** 2, weights=weights) ** 0.5 if values.size else 0.0
    scale = scale if scale > 0 else 1.0
    return lambda column: np.nan_to_num((column - center) / scale, nan=0.0)


def _measure_ranking(labels, scores, weights) -> tuple[float, float]:
    """Area under the ROC curve and average precision, rows of one score taken together."""
    order = np.argsort(-scores, kind="stable")
    last_of_score = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum((weights * labels)[order])[last_of_score]
    false_alarms = np.cumsum((weights * (1 - labels))[order])[last_of_score]
    if not (hits[-1] > 0 and false_alarms[-1] > 0):
        return float("nan"), float("nan")
    recall = hits / hits[-1]
    fall_out = false_alarms / false_alarms[-1]
    # Trapezoids: half of a tie counts.
    heights = recall + np.append(0.0, recall[:-1])
    auc = float(np.sum(np.diff(fall_out, prepend=0.0) * heights) / 2)
    # Rows of weight 0 at the top have no precision, and no share in the sum either.
    precision = hits / np.maximum(hits + false_alarms, np.finfo(np.float64).tiny)
    return auc, float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _measure_calibration(labels, scores, weights) -> float:
    """Mean over bins of |mean score - share of positives|, each bin by the rows in it."""
    bins = np.clip((scores * CALIBRATION_BINS).astype(np.int64), 0, CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, weights=weights * (scores - labels), minlength=CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / weights.sum())


def _log_loss(answered: np.ndarray, weights: Optional[Sequence[float]]) -> float:
    """Mean of -ln of the share that was given to the class that came."""
    return float(np.average(-np.log(np.clip(answered, EPSILON, 1 - EPSILON)), weights=weights))


def _sigmoid(logits):
    # 1 / (1 + exp(-x)) without overflow.
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def _identity(predictions):
    return predictions
