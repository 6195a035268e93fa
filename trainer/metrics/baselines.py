"""Baselines for a model: the majority class, the mean, and one column alone."""

from typing import Callable, NamedTuple, Optional

import numpy as np

from trainer.metrics.catalogue import LOWER_IS_BETTER

# Number of equal-width bins of the score. The model's own calibration error has the same number:
# Guo et al., "On Calibration of Modern Neural Networks" (2017).
CALIBRATION_BINS = 15
# Of equal labels, rounding of the mean leaves at most this share of their mean square as variance.
EQUAL_LABELS = 1e-24
# Scores are clipped to EPSILON ... 1 - EPSILON before the logarithm, as in Keras.
EPSILON = 1e-7
# Newton's method ends when no coefficient changes by more than this, usually after 5 to 10
# iterations.
TOLERANCE = 1e-10
MAX_ITERATIONS = 50
# Ridge penalty that keeps the slope finite if the column separates the classes. Otherwise its
# effect is negligible.
RIDGE = 1e-8


class Rows(NamedTuple):
    """Rows of one split.

    Attributes:
        labels: [rows]; 0 or 1, class ids from 0, or numbers.
        column: [rows], numbers of the column for the baseline of one column alone, NaN if missing;
            None: this baseline is not measured.
        weights: [rows], not negative; None: 1 for every row.
    """

    labels: np.ndarray
    column: Optional[np.ndarray] = None
    weights: Optional[np.ndarray] = None


class Gain(NamedTuple):
    """One metric of the model in comparison with a baseline.

    Attributes:
        baseline: name of the baseline.
        metric: name of the metric.
        theirs: the metric of the baseline.
        ours: the metric of the model.
        gain: the improvement of the model over the baseline; negative if the model is worse.
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
    """Fits the baselines of a task on the training rows and measures them on the evaluation rows.

    binary: "majority class" predicts the training share of positives; "<column> alone" is a
    logistic regression on the column. Metrics: auc, auc_precision_recall, accuracy, log_loss,
    calibration_error.

    multiclass: "majority class" predicts the training share of each class. Metrics: accuracy,
    log_loss.

    regression: "mean", and "<column> alone", the least-squares line on the column. Metrics: rmse,
    mae, r2.

    Args:
        task: binary, multiclass or regression.
        train: the training rows.
        evaluation: the evaluation rows; they have a column if the training rows have one.
        column_name: name of the column.

    Returns:
        baseline → metric → value; the baseline of the column is last.
    """
    train, evaluation = _as_float(train), _as_float(evaluation)
    if task == "multiclass":
        majority = _measure_multiclass(evaluation.labels, _shares(train), evaluation.weights)
        return {"majority class": majority}
    is_binary = task == "binary"
    measure = measure_binary if is_binary else measure_regression
    constant = np.full(len(evaluation.labels), np.average(train.labels, weights=train.weights))
    name = "majority class" if is_binary else "mean"
    measured = {name: measure(evaluation.labels, constant, evaluation.weights)}
    if train.column is not None and evaluation.column is not None:
        fit = fit_logistic if is_binary else fit_line
        standardise = _make_standardiser(train.column, train.weights)
        slope, intercept = fit(standardise(train.column), train.labels, train.weights)
        logits = slope * standardise(evaluation.column) + intercept
        scores = _sigmoid(logits) if is_binary else logits
        measured[f"{column_name} alone"] = measure(evaluation.labels, scores, evaluation.weights)
    return measured


def compare(model_metrics: dict[str, float], baselines: dict[str, dict[str, float]]) -> list[Gain]:
    """Compares the metrics of a model with those of the baselines.

    Args:
        model_metrics: metric → value.
        baselines: baseline → metric → value.

    Returns:
        One row per baseline and metric that both have.
    """
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

    It uses Newton's method with step halving, that is, iteratively reweighted least squares:
    Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning", 2nd edition, section
    4.4.1.

    Args:
        column: float64 [rows], with a mean of about 0 and a standard deviation of about 1.
        labels: float64 [rows], 0 or 1.
        weights: float64 [rows] or None.

    Returns:
        Slope and intercept.
    """
    inputs = np.stack([column, np.ones_like(column)], axis=1)
    row_weights = np.ones_like(labels) if weights is None else weights
    ridge = RIDGE * max(float(row_weights.sum()), 1.0) * np.eye(2)

    def loss(betas: np.ndarray) -> float:
        logits = inputs @ betas
        likelihood = row_weights @ (np.logaddexp(0.0, logits) - labels * logits)
        return float(likelihood + 0.5 * betas @ ridge @ betas)

    betas = np.zeros(2)
    for _ in range(MAX_ITERATIONS):
        scores = _sigmoid(inputs @ betas)
        gradient = inputs.T @ (row_weights * (scores - labels)) + ridge @ betas
        curvature = inputs.T @ (inputs * (row_weights * scores * (1 - scores))[:, None]) + ridge
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
    """Fits labels = slope * column + intercept by weighted least squares.

    Args:
        column: float64 [rows].
        labels: float64 [rows].
        weights: float64 [rows] or None.

    Returns:
        Slope and intercept; the slope of a constant column is 0.
    """
    center, middle = np.average(column, weights=weights), np.average(labels, weights=weights)
    spread = np.average((column - center) ** 2, weights=weights)
    together = np.average((column - center) * (labels - middle), weights=weights)
    slope = float(together / spread) if spread > 0 else 0.0
    return slope, float(middle - slope * center)


def measure_binary(
    labels: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray] = None
) -> dict[str, float]:
    """Returns the metrics of a binary classification.

    auc and auc_precision_recall (average precision, without interpolation) are exact. Those of an
    Estimator use 200 thresholds and differ in the third or fourth digit. Both are NaN if all labels
    are equal.

    Args:
        labels: float64 [rows], 0 or 1.
        scores: float64 [rows], from 0 to 1.
        weights: float64 [rows] or None.

    Returns:
        metric → value.
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
    """Returns rmse, mae and r2; r2 is 0 if all labels are equal.

    Args:
        labels: float64 [rows].
        predictions: float64 [rows].
        weights: float64 [rows] or None.

    Returns:
        metric → value.
    """
    errors = predictions - labels
    residual = float(np.average(errors**2, weights=weights))
    middle = np.average(labels, weights=weights)
    spread = float(np.average((labels - middle) ** 2, weights=weights))
    return {
        "rmse": residual**0.5,
        "mae": float(np.average(np.abs(errors), weights=weights)),
        "r2": 1 - residual / spread if spread > EQUAL_LABELS * np.mean(labels**2) else 0.0,
    }


def _measure_multiclass(
    labels: np.ndarray, shares: np.ndarray, weights: Optional[np.ndarray]
) -> dict[str, float]:
    ids = labels.astype(np.int64)
    # A class that is not in the training rows has the share 0.
    inside = ids < len(shares)
    predicted = np.where(inside, shares[np.where(inside, ids, 0)], 0.0)
    return {
        "accuracy": float(np.average(ids == np.argmax(shares), weights=weights)),
        "log_loss": _log_loss(predicted, weights),
    }


def _as_float(rows: Rows) -> Rows:
    def convert(array: np.ndarray) -> np.ndarray:
        return np.asarray(array, np.float64).reshape(-1)

    return Rows(
        convert(rows.labels),
        None if rows.column is None else convert(rows.column),
        None if rows.weights is None else convert(rows.weights),
    )


def _shares(train: Rows) -> np.ndarray:
    ids = train.labels.astype(np.int64)
    counts: np.ndarray = np.bincount(ids, weights=train.weights).astype(np.float64)
    return np.asarray(counts / counts.sum())


def _make_standardiser(
    column: np.ndarray, row_weights: Optional[np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function for (value - mean) / std of the training rows; a missing value is 0."""
    present = ~np.isnan(column)
    if row_weights is not None:
        present &= row_weights > 0
    values = column[present]
    weights = None if row_weights is None else row_weights[present]
    center = np.average(values, weights=weights) if values.size else 0.0
    scale = np.average((values - center) ** 2, weights=weights) ** 0.5 if values.size else 0.0
    scale = scale if scale > 0 else 1.0
    return lambda numbers: np.nan_to_num((numbers - center) / scale, nan=0.0)


def _measure_ranking(
    labels: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Returns the area under the ROC curve and the average precision; ties are one threshold."""
    order = np.argsort(-scores, kind="stable")
    last_of_score = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum((weights * labels)[order])[last_of_score]
    false_alarms = np.cumsum((weights * (1 - labels))[order])[last_of_score]
    if not (hits[-1] > 0 and false_alarms[-1] > 0):
        return float("nan"), float("nan")
    recall = hits / hits[-1]
    fall_out = false_alarms / false_alarms[-1]
    # The trapezoidal rule counts a tie as one half.
    heights = recall + np.append(0.0, recall[:-1])
    auc = float(np.sum(np.diff(fall_out, prepend=0.0) * heights) / 2)
    # The precision of leading rows with weight 0 is undefined. Its value does not matter, because
    # recall does not change there.
    precision = hits / np.maximum(hits + false_alarms, np.finfo(np.float64).tiny)
    return auc, float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _measure_calibration(labels: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """Returns the mean over bins of |mean score - share of positives|, weighted by bin weight."""
    bins = np.clip((scores * CALIBRATION_BINS).astype(np.int64), 0, CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, weights=weights * (scores - labels), minlength=CALIBRATION_BINS)
    return float(np.abs(gaps).sum()) / float(weights.sum())


def _log_loss(predicted: np.ndarray, weights: Optional[np.ndarray]) -> float:
    """Returns the mean of -ln(p), where p is the predicted probability of the true class."""
    return float(np.average(-np.log(np.clip(predicted, EPSILON, 1 - EPSILON)), weights=weights))


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    # 1 / (1 + exp(-x)) without overflow.
    scores: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return scores
