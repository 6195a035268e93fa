"""Evaluation metrics in addition to those of the heads."""

from typing import Any, Callable, NamedTuple, TypeVar

from estimator_bridge import tf
from trainer.models.heads import class_ids
from trainer.schema import Label, Schema

# Number of equal-width bins of the score, as in Guo et al., "On Calibration of Modern Neural
# Networks" (2017).
CALIBRATION_BINS = 15
# Of equal labels, rounding of the sums leaves at most this share of their mean square as variance.
EQUAL_LABELS = 1e-13
_Function = TypeVar("_Function", bound=Callable[..., Any])


def make_metric_fn(schema: Schema, threshold: float) -> Callable[..., dict[str, Any]]:
    """Makes the metric_fn of estimator.add_metrics.

    Args:
        schema: labels and weight.
        threshold: score from which a row is classified as positive.

    Returns:
        A function of features, labels and predictions that returns name → Keras metric.
    """

    def metric_fn(features: dict[str, Any], labels: Any, predictions: Any) -> dict[str, Any]:
        weights = None
        if schema.weight:
            weights = tf.reshape(tf.cast(features[schema.weight], tf.float32), [-1])
        truths = {schema.label.column: labels, **features}
        metrics = {}
        for label in schema.labels:
            make, needed = _MAKERS.get(label.task, (None, None))
            head = label.column if schema.more_labels else None
            found = predictions.get((head, needed) if head else needed)
            truth = truths[label.column]
            # A user's model may have other predictions and labels.
            if make is None or found is None or not isinstance(truth, tf.Tensor):
                continue
            rows = _Rows(tf.reshape(truth, [-1]), found, weights)
            made = make(rows, label, threshold)
            suffix = f"/{head}" if head else ""
            metrics.update({f"{name}{suffix}": metric for name, metric in made.items()})
        return metrics

    return metric_fn


class _Rows(NamedTuple):
    """A batch to evaluate.

    Attributes:
        labels: string, int64 or float32 [batch].
        predictions: float32 [batch, 1], or of several classes [batch, classes].
        weights: float32 [batch], or None.
    """

    labels: Any
    predictions: Any
    weights: Any


def _regression(rows: _Rows, label: Label, threshold: float) -> dict[str, Any]:
    truth = tf.cast(rows.labels, tf.float32)
    guess = tf.reshape(rows.predictions, [-1])
    metrics = {
        "rmse": tf.keras.metrics.RootMeanSquaredError(name="rmse"),
        "mae": tf.keras.metrics.MeanAbsoluteError(name="mae"),
        "r2": RSquared(name="r2"),
    }
    for metric in metrics.values():
        # Keras averages over the last axis before it applies the weights, so this axis must have
        # size 1.
        metric.update_state(truth[:, None], guess[:, None], sample_weight=rows.weights)
    if label.loss == "poisson":
        # McCullagh and Nelder, "Generalized Linear Models" (1989), table 2.1.
        gap = tf.math.xlogy(truth, tf.math.divide_no_nan(truth, guess)) - (truth - guess)
        metrics["deviance"] = tf.keras.metrics.Mean(name="deviance")
        metrics["deviance"].update_state(2 * gap, sample_weight=rows.weights)
    return metrics


def _binary(rows: _Rows, label: Label, threshold: float) -> dict[str, Any]:
    truth = tf.cast(class_ids(rows.labels, label), tf.float32)
    score = tf.reshape(rows.predictions, [-1])
    metrics = {
        "log_loss": tf.keras.metrics.BinaryCrossentropy(name="log_loss"),
        "calibration_error": CalibrationError(name="calibration_error"),
        f"precision_at_{threshold:g}": tf.keras.metrics.Precision(threshold, name="precision_at"),
        f"recall_at_{threshold:g}": tf.keras.metrics.Recall(threshold, name="recall_at"),
    }
    for name, metric in metrics.items():
        if name == "log_loss":
            metric.update_state(truth[:, None], score[:, None], sample_weight=rows.weights)
        else:
            metric.update_state(truth, score, sample_weight=rows.weights)
    return metrics


def _multiclass(rows: _Rows, label: Label, threshold: float) -> dict[str, Any]:
    loss = tf.keras.metrics.SparseCategoricalCrossentropy(name="log_loss")
    loss.update_state(class_ids(rows.labels, label), rows.predictions, sample_weight=rows.weights)
    return {"log_loss": loss}


# Task → function that builds its metrics, and name of the prediction that the function uses.
_MAKERS: dict[str, tuple[Callable[[_Rows, Label, float], dict[str, Any]], str]] = {
    "regression": (_regression, "predictions"),
    "binary": (_binary, "logistic"),
    "multiclass": (_multiclass, "probabilities"),
}


def _without_autograph(function: _Function) -> _Function:
    """Excludes graph code from AutoGraph, because its conversion takes a tenth of a second."""
    excluded: _Function = tf.autograph.experimental.do_not_convert(function)
    return excluded


class CalibrationError(tf.keras.metrics.Metric):
    """Expected calibration error: the mean over bins of |mean score - share of positives|.

    Each bin is weighted by the weight of its rows. The result is in 0 … 1.

    Args:
        name: of the metric.

    Attributes:
        rows: weight of the rows of each bin, float32 [CALIBRATION_BINS].
        gaps: weighted sum of score - label of each bin, float32 [CALIBRATION_BINS].
    """

    def __init__(self, name: str = "calibration_error") -> None:
        super().__init__(name=name)
        shape = (CALIBRATION_BINS,)
        self.rows = self.add_weight("rows", shape, initializer="zeros")
        self.gaps = self.add_weight("gaps", shape, initializer="zeros")

    @_without_autograph
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Adds a batch; returns the operation.

        Args:
            y_true: labels 0 or 1, float32 [batch].
            y_pred: scores in 0 … 1, float32 [batch].
            sample_weight: float32 [batch]; unset: 1 for each row.
        """
        weight = tf.ones_like(y_pred) if sample_weight is None else sample_weight
        bins = tf.cast(y_pred * CALIBRATION_BINS, tf.int32)
        bins = tf.clip_by_value(bins, 0, CALIBRATION_BINS - 1)
        rows = tf.math.unsorted_segment_sum(weight, bins, CALIBRATION_BINS)
        gaps = tf.math.unsorted_segment_sum(weight * (y_pred - y_true), bins, CALIBRATION_BINS)
        with tf.control_dependencies([self.gaps.assign_add(gaps)]):
            return self.rows.assign_add(rows)

    @_without_autograph
    def result(self) -> Any:
        """Returns the error of all batches so far, a float32 scalar."""
        return tf.math.divide_no_nan(tf.reduce_sum(tf.abs(self.gaps)), tf.reduce_sum(self.rows))


class RSquared(tf.keras.metrics.Metric):
    """Coefficient of determination, 1 - residual / total sum of squares, summed in float64.

    Args:
        name: of the metric.

    Attributes:
        sums: weighted sums of 1, label, label² and squared error, float64 [4].
    """

    def __init__(self, name: str = "r2") -> None:
        super().__init__(name=name, dtype=tf.float64)
        self.sums = self.add_weight("sums", (4,), initializer="zeros", dtype=tf.float64)

    @_without_autograph
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Adds a batch; returns the operation.

        Args:
            y_true: labels, float32 [batch, 1] or [batch].
            y_pred: predictions, float32 [batch, 1] or [batch].
            sample_weight: float32 [batch]; unset: 1 for each row.
        """
        truth = tf.cast(tf.reshape(y_true, [-1]), tf.float64)
        guess = tf.cast(tf.reshape(y_pred, [-1]), tf.float64)
        weight = tf.ones_like(truth)
        if sample_weight is not None:
            weight = tf.cast(sample_weight, tf.float64)
        terms = tf.stack([tf.ones_like(truth), truth, truth**2, (truth - guess) ** 2])
        return self.sums.assign_add(tf.reduce_sum(terms * weight, axis=1))

    @_without_autograph
    def result(self) -> Any:
        """Returns R² of all batches so far, a float32 scalar; 0 if all labels are equal."""
        rows, total, squares, residual = tf.unstack(self.sums)
        spread = squares - tf.math.divide_no_nan(total**2, rows)
        has_spread = spread > EQUAL_LABELS * squares
        r2 = tf.where(has_spread, 1 - tf.math.divide_no_nan(residual, spread), 0.0)
        return tf.cast(r2, tf.float32)
