"""Evaluation metrics beyond those of the canned heads."""

from typing import Any, Callable

from estimator_bridge import tf
from trainer.models.heads import class_ids
from trainer.schema import Label, Schema

# Equal-width bins of the score, and their number, as in Guo et al., "On Calibration of Modern
# Neural Networks" (2017).
CALIBRATION_BINS = 15
# Plain graph code, that AutoGraph would look through and translate for a tenth of a second.
_as_written = tf.autograph.experimental.do_not_convert

# What the heads measure, by task.
_HEAD_METRICS = {
    "regression": ("average_loss", "label/mean", "loss", "prediction/mean"),
    "multiclass": ("accuracy", "average_loss", "loss"),
    "multilabel": ("auc", "auc_precision_recall", "average_loss", "loss"),
    "binary": (
        "accuracy",
        "accuracy_baseline",
        "auc",
        "auc_precision_recall",
        "average_loss",
        "label/mean",
        "loss",
        "precision",
        "prediction/mean",
        "recall",
    ),
}


def list_metrics(schema: Schema, threshold: float) -> list[str]:
    """Names of every metric of our models' evaluations, the heads' own and those of this module.

    With several heads each metric has the head's name, its label's column, behind a slash.
    """
    if not schema.more_labels:
        return sorted(_list_label_metrics(schema.label, threshold))
    names = [
        f"{name}/{label.column}"
        for label in schema.labels
        for name in _list_label_metrics(label, threshold)
    ]
    return sorted([*names, "loss"])


def _list_label_metrics(label: Label, threshold: float) -> list[str]:
    ours = {
        "regression": ["rmse", "mae", "r2", *(["deviance"] if label.loss == "poisson" else [])],
        "multiclass": ["log_loss"],
        "multilabel": [],
        "binary": [
            "log_loss",
            "calibration_error",
            f"precision_at_{threshold:g}",
            f"recall_at_{threshold:g}",
        ],
    }
    return [*_HEAD_METRICS[label.task], *ours[label.task]]


def make_metric_fn(schema: Schema, threshold: float) -> Callable:
    """Makes the metric_fn for add_metrics.

    Args:
        schema: the task, the classes, the weight column.
        threshold: score from which a row is called positive.

    Returns:
        a function (features, labels, predictions) → name → Keras metric.
    """

    def metric_fn(features, labels, predictions) -> dict[str, Any]:
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
            # A model of the user's own may take and predict something else.
            if make is None or found is None or not isinstance(truth, tf.Tensor):
                continue
            made = make(tf.reshape(truth, [-1]), found, weights, label, threshold)
            suffix = f"/{head}" if head else ""
            metrics.update({f"{name}{suffix}": metric for name, metric in made.items()})
        return metrics

    return metric_fn


def _regression(labels, predictions, weights, label, threshold):
    truth = tf.cast(labels, tf.float32)
    guess = tf.reshape(predictions, [-1])
    metrics = {
        "rmse": tf.keras.metrics.RootMeanSquaredError(name="rmse"),
        "mae": tf.keras.metrics.MeanAbsoluteError(name="mae"),
        "r2": RSquared(name="r2"),
    }
    for metric in metrics.values():
        # Keras averages over the last axis: one column, so that a row's weight is its own.
        metric.update_state(truth[:, None], guess[:, None], sample_weight=weights)
    if label.loss == "poisson":
        # McCullagh and Nelder, "Generalized Linear Models" (1989), table 2.1.
        gap = tf.math.xlogy(truth, tf.math.divide_no_nan(truth, guess)) - (truth - guess)
        metrics["deviance"] = tf.keras.metrics.Mean(name="deviance")
        metrics["deviance"].update_state(2 * gap, sample_weight=weights)
    return metrics


def _binary(labels, predictions, weights, label, threshold):
    truth = tf.cast(class_ids(labels, label), tf.float32)
    score = tf.reshape(predictions, [-1])
    metrics = {
        "log_loss": tf.keras.metrics.BinaryCrossentropy(name="log_loss"),
        "calibration_error": CalibrationError(name="calibration_error"),
        f"precision_at_{threshold:g}": tf.keras.metrics.Precision(threshold, name="precision_at"),
        f"recall_at_{threshold:g}": tf.keras.metrics.Recall(threshold, name="recall_at"),
    }
    for name, metric in metrics.items():
        if name == "log_loss":
            metric.update_state(truth[:, None], score[:, None], sample_weight=weights)
        else:
            metric.update_state(truth, score, sample_weight=weights)
    return metrics


def _multiclass(labels, predictions, weights, label, threshold):
    loss = tf.keras.metrics.SparseCategoricalCrossentropy(name="log_loss")
    loss.update_state(class_ids(labels, label), predictions, sample_weight=weights)
    return {"log_loss": loss}


# Task → what makes its metrics, and the prediction that they are of.
_MAKERS = {
    "regression": (_regression, "predictions"),
    "binary": (_binary, "logistic"),
    "multiclass": (_multiclass, "probabilities"),
}


class CalibrationError(tf.keras.metrics.Metric):
    """Expected calibration error: the mean over bins of |mean score - share of positives|.

    Bins are weighted by the rows in them; the result lies in 0 … 1.
    """

    def __init__(self, name: str = "calibration_error"):
        super().__init__(name=name)
        shape = (CALIBRATION_BINS,)
        self.rows = self.add_weight("rows", shape, initializer="zeros")
        self.gaps = self.add_weight("gaps", shape, initializer="zeros")

    @_as_written
    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds rows: labels 0/1, scores and weights, each float32 [batch]."""
        weight = tf.ones_like(y_pred) if sample_weight is None else sample_weight
        bins = tf.cast(y_pred * CALIBRATION_BINS, tf.int32)
        bins = tf.clip_by_value(bins, 0, CALIBRATION_BINS - 1)
        rows = tf.math.unsorted_segment_sum(weight, bins, CALIBRATION_BINS)
        gaps = tf.math.unsorted_segment_sum(weight * (y_pred - y_true), bins, CALIBRATION_BINS)
        with tf.control_dependencies([self.gaps.assign_add(gaps)]):
            return self.rows.assign_add(rows)

    @_as_written
    def result(self):
        """The error so far, a float32 scalar."""
        return tf.math.divide_no_nan(tf.reduce_sum(tf.abs(self.gaps)), tf.reduce_sum(self.rows))


class RSquared(tf.keras.metrics.Metric):
    """Coefficient of determination, 1 - residual / total sum of squares, summed in float64."""

    def __init__(self, name: str = "r2"):
        super().__init__(name=name, dtype=tf.float64)
        self.sums = self.add_weight("sums", (4,), initializer="zeros", dtype=tf.float64)

    @_as_written
    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds rows: labels and predictions, float32 [batch, 1] or [batch], and weights [batch]."""
        truth = tf.cast(tf.reshape(y_true, [-1]), tf.float64)
        guess = tf.cast(tf.reshape(y_pred, [-1]), tf.float64)
        weight = tf.ones_like(truth)
        if sample_weight is not None:
            weight = tf.cast(sample_weight, tf.float64)
        terms = tf.stack([tf.ones_like(truth), truth, truth**2, (truth - guess) ** 2])
        return self.sums.assign_add(tf.reduce_sum(terms * weight, axis=1))

    @_as_written
    def result(self):
        """R² so far, a float32 scalar; 0 while all labels are the same."""
        rows, total, squares, residual = tf.unstack(self.sums)
        spread = squares - tf.math.divide_no_nan(total**2, rows)
        return tf.cast(
            tf.where(spread > 0, 1 - tf.math.divide_no_nan(residual, spread), 0.0), tf.float32
        )
