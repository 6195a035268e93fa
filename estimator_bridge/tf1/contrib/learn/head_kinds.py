"""The kinds of heads of `tf.contrib.learn`: their losses, predictions and metrics."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.head_base import SingleHead
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey, ProblemType

__all__ = [
    "THRESHOLDS",
    "BinaryHead",
    "MultiClassHead",
    "MultiLabelHead",
    "PoissonHead",
    "RegressionHead",
    "SvmHead",
    "logistic_metrics",
]

THRESHOLDS = (0.5,)


def _dense(labels, rank):
    """Returns dense labels with one more dimension if theirs is missing.

    Raises:
      ValueError: they are sparse, or of another rank.
    """
    if isinstance(labels, tf.SparseTensor):
        raise ValueError("labels: a SparseTensor is not supported by this head")
    labels = tf.convert_to_tensor(labels)
    if labels.shape.ndims == 1 and rank == 2:
        labels = tf.expand_dims(labels, 1)
    labels.shape.with_rank_at_most(2)
    return labels


def _by_row(weights):
    """Returns weights as [batch], or None."""
    return None if weights is None else tf.reshape(weights, [-1])


def _spread(weights, values):
    """Returns weights in the shape of values [batch, size], or None."""
    return None if weights is None else tf.reshape(weights, [-1, 1]) * tf.ones_like(values)


def _first(metric):
    return tuple(tf.squeeze(part) for part in metric)


class RegressionHead(SingleHead):
    """A regression with the mean squared error."""

    scope_name = "regression_head"
    problem = ProblemType.LINEAR_REGRESSION
    link_fn = staticmethod(tf.identity)

    def _labels(self, labels):
        labels = tf.to_float(_dense(labels, 2))
        labels.shape.assert_is_compatible_with([None, self.logits_dimension])
        return labels

    def _losses(self, labels, logits):
        return tf.square(logits - labels)

    def _predictions(self, logits):
        scores = tf.squeeze(logits, [1]) if self.logits_dimension == 1 else logits
        return {PredictionKey.SCORES: self.link_fn(scores)}


class PoissonHead(RegressionHead):
    """A regression of counts, whose logarithms are the logits."""

    link_fn = staticmethod(tf.exp)

    def _losses(self, labels, logits):
        return tf.nn.log_poisson_loss(labels, logits, compute_full_loss=True)


class _ClassHead(SingleHead):
    """A head with the names of the classes, or None for their numbers."""

    problem = ProblemType.CLASSIFICATION
    number = 2
    label_keys = None
    thresholds = THRESHOLDS
    metric_class_ids = ()

    def _alternatives(self, predictions):
        probabilities = predictions[PredictionKey.PROBABILITIES]
        names = self.label_keys or [str(place) for place in range(self.number)]
        rows = tf.tile(tf.constant([names]), [tf.shape(probabilities)[0], 1])
        return {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: rows}


class BinaryHead(_ClassHead):
    """Two classes, with one logit."""

    scope_name = "binary_logistic_head"
    problem = ProblemType.LOGISTIC_REGRESSION

    def _labels(self, labels):
        labels = _dense(labels, 2)
        labels.shape.assert_is_compatible_with([None, 1])
        return tf.to_float(labels)

    def _losses(self, labels, logits):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits):
        both = tf.concat([tf.zeros_like(logits), logits], 1)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.LOGISTIC: tf.sigmoid(logits),
            PredictionKey.PROBABILITIES: tf.nn.softmax(both),
            PredictionKey.CLASSES: tf.argmax(both, 1),
        }

    def _metrics(self, labels, predictions, weights):
        return logistic_metrics(
            tf.squeeze(labels, [1]),
            tf.squeeze(predictions[PredictionKey.LOGISTIC], [1]),
            _by_row(weights),
            self.thresholds,
            predictions[PredictionKey.CLASSES],
        )


def logistic_metrics(labels, logistic, weights, thresholds, classes=None):
    """Returns the metrics of two classes.

    Args:
      labels: float32 tensor [batch], 0 or 1.
      logistic: float32 tensor [batch], probabilities of class 1.
      weights: float32 tensor [batch], or None.
      thresholds: list of probabilities from which class 1 is predicted.
      classes: int64 tensor [batch], predictions; None without the metrics that need them.

    Returns:
      {metric: (value, update)}.
    """
    metrics, found = tf.metrics, {}
    if classes is not None:
        found["accuracy"] = metrics.accuracy(labels, classes, weights)
    found["labels/prediction_mean"] = metrics.mean(logistic, weights)
    found["labels/actual_label_mean"] = metrics.mean(labels, weights)
    found["accuracy/baseline_label_mean"] = metrics.mean(labels, weights)
    found["auc"] = metrics.auc(labels, logistic, weights)
    if classes is not None:
        found["auc_precision_recall"] = metrics.auc(labels, logistic, weights, curve="PR")
    for threshold in thresholds:
        at, above = f"threshold_{threshold:f}_mean", tf.to_float(logistic >= threshold)
        found[f"accuracy/{at}"] = metrics.accuracy(labels, above, weights)
        found[f"precision/positive_{at}"] = _first(
            metrics.precision_at_thresholds(labels, logistic, [threshold], weights)
        )
        found[f"recall/positive_{at}"] = _first(
            metrics.recall_at_thresholds(labels, logistic, [threshold], weights)
        )
    return found


class MultiClassHead(_ClassHead):
    """Three or more classes."""

    scope_name = "multi_class_head"

    def _labels(self, labels):
        labels = _dense(labels, 1)
        if labels.shape.ndims == 2:
            labels = tf.squeeze(labels, [1])
        if self.label_keys is not None:
            table = tf.lookup.StaticVocabularyTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(self.label_keys),
                    tf.range(len(self.label_keys), dtype=tf.int64),
                ),
                num_oov_buckets=1,
            )
            labels = table.lookup(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"labels: integers expected, got {labels.dtype.name}")
        return labels

    def _losses(self, labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits):
        classes = tf.argmax(logits, 1)
        if self.label_keys is not None:
            classes = tf.gather(tf.constant(self.label_keys), classes)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: tf.nn.softmax(logits),
            PredictionKey.CLASSES: classes,
        }

    def _metrics(self, labels, predictions, weights):
        weights, logits = _by_row(weights), predictions[PredictionKey.LOGITS]
        classes = tf.argmax(logits, 1)
        found = {"accuracy": tf.metrics.accuracy(labels, classes, weights)}
        for one in self.metric_class_ids:
            mean = {
                "labels/prediction_mean": tf.to_float(tf.equal(classes, one)),
                "labels/actual_label_mean": tf.to_float(tf.equal(tf.to_int64(labels), one)),
                "labels/probability_mean": predictions[PredictionKey.PROBABILITIES][:, one],
                "labels/logits_mean": logits[:, one],
            }
            for key, value in mean.items():
                found[f"{key}/class{one}"] = tf.metrics.mean(value, weights)
        return found


class MultiLabelHead(_ClassHead):
    """Any number of classes in each example."""

    scope_name = "multi_label_head"

    def _labels(self, labels):
        if isinstance(labels, tf.SparseTensor):
            labels = tf.sparse_to_indicator(labels, self.number)
        labels = tf.to_float(_dense(labels, 2))
        labels.shape.assert_is_compatible_with([None, self.number])
        return labels

    def _losses(self, labels, logits):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits):
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: tf.sigmoid(logits),
            PredictionKey.CLASSES: tf.to_int64(logits > 0),
        }

    def _metrics(self, labels, predictions, weights):
        metrics, weights = tf.metrics, _spread(weights, labels)
        classes = tf.to_float(predictions[PredictionKey.CLASSES])
        probabilities = predictions[PredictionKey.PROBABILITIES]
        found = {
            "accuracy": metrics.accuracy(labels, classes, weights),
            "auc": metrics.auc(labels, probabilities, weights),
            "auc_precision_recall": metrics.auc(labels, probabilities, weights, curve="PR"),
        }
        for one in self.metric_class_ids:
            actual, probability = labels[:, one], probabilities[:, one]
            row = None if weights is None else weights[:, one]
            mean = {
                "labels/prediction_mean": classes[:, one],
                "labels/actual_label_mean": actual,
                "labels/probability_mean": probability,
                "labels/logits_mean": predictions[PredictionKey.LOGITS][:, one],
            }
            for key, value in mean.items():
                found[f"{key}/class{one}"] = metrics.mean(value, row)
            found[f"auc/class{one}"] = metrics.auc(actual, probability, row)
            found[f"auc_precision_recall/class{one}"] = metrics.auc(
                actual, probability, row, curve="PR"
            )
        return found


class SvmHead(BinaryHead):
    """Two classes, with the hinge loss."""

    scope_name = "binary_svm_head"

    def _losses(self, labels, logits):
        return tf.losses.hinge_loss(labels, logits, reduction=tf.losses.Reduction.NONE)

    def _predictions(self, logits):
        both = tf.concat([tf.zeros_like(logits), logits], 1)
        return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: tf.argmax(both, 1)}

    def _metrics(self, labels, predictions, weights):
        classes = predictions[PredictionKey.CLASSES]
        labels = tf.squeeze(labels, [1])
        return {"accuracy": tf.metrics.accuracy(labels, classes, _by_row(weights))}

    def _alternatives(self, predictions):
        return predictions
