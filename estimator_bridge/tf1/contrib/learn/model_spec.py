"""The result of a model_fn of `tf.contrib.learn`, and the metrics of its evaluation."""

import collections
import inspect

import tensorflow.compat.v1 as tf

__all__ = [
    "LOSS",
    "LOSS_METRIC",
    "LabelSignature",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NotFittedError",
    "PredictionKey",
    "ProblemType",
]

# The key of the loss among the metrics. tf.estimator has a metric of this name by itself and takes
# no other, so that of a model goes by a second name until it has been computed.
LOSS, LOSS_METRIC = "loss", "loss of the model"

_DEFAULT_OUTPUT = "default_output_alternative"
_DEFAULT_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class NotFittedError(ValueError, AttributeError):
    """An estimator without a checkpoint is to evaluate, predict or export."""


class ModeKeys:
    """The modes of a model_fn, with the values of tf.estimator.ModeKeys."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key):
        """Checks that a value is one of the modes.

        Args:
          key: the value.

        Raises:
          ValueError: it is not.
        """
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class LabelSignature:
    """The types and shapes of the labels of a training or an evaluation.

    In 1.x, the model_fn of a prediction after these gets placeholders in place of labels. Programs
    whose model_fn has no mode rely on them.
    """

    def __init__(self):
        self._seen = None

    def complete(self, labels, mode, exporting):
        """Returns the labels for a model_fn; for a prediction, placeholders that nothing reads.

        Args:
          labels: tensor or {name: tensor}, or None.
          mode: one of ModeKeys.
          exporting: whether the model_fn builds an export, which gets no labels.
        """
        if labels is not None and mode != ModeKeys.INFER:
            self._seen = tf.nest.map_structure(_type_and_shape, labels)
        if labels is not None or mode != ModeKeys.INFER or exporting or self._seen is None:
            return labels
        return tf.nest.map_structure(lambda make: make(), self._seen)


def _type_and_shape(label):
    dtype = tf.as_dtype(label.dtype)
    if isinstance(label, tf.SparseTensor):
        return lambda: tf.sparse_placeholder(dtype)
    shape = None if label.shape.ndims is None else [None, *label.shape.as_list()[1:]]
    return lambda: tf.placeholder(dtype, shape if label.shape.ndims else None)


class PredictionKey:
    """The names of predictions."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


class ProblemType:
    """The kinds of problems that a model solves."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


_Ops = collections.namedtuple(
    "_Ops",
    "mode predictions loss train_op eval_metric_ops output_alternatives training_chief_hooks "
    "training_hooks scaffold",
)


def _as_tensor(value):
    return None if value is None else tf.convert_to_tensor_or_sparse_tensor(value)


def _as_scalar(loss):
    loss = _as_tensor(loss)
    if loss is None or loss.shape.is_compatible_with([]):
        return loss
    return tf.reshape(loss, [])


class ModelFnOps(_Ops):
    """The result of a model_fn of tf.contrib.learn.

    Args:
      mode: one of ModeKeys.
      predictions: tensor, or {name: tensor}.
      loss: scalar tensor.
      train_op: operation of a training step.
      eval_metric_ops: {metric: (value, update operation)}, or None.
      output_alternatives: {name: (ProblemType, {key: tensor})}, the signatures of an export, or
        None.
      training_chief_hooks: hooks of the chief, or None.
      training_hooks: hooks of the training, or None.
      scaffold: tf.train.Scaffold, or None.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        output_alternatives=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
    ):
        # Numbers are converted, as in 1.x: `return predictions, 0.0, None` is a usual result.
        return super().__new__(
            cls,
            mode,
            tf.nest.map_structure(_as_tensor, predictions),
            _as_scalar(loss),
            train_op,
            eval_metric_ops or {},
            output_alternatives,
            training_chief_hooks,
            training_hooks,
            scaffold,
        )

    def estimator_spec(self, default_serving_output_alternative_key=None):
        """Returns the equivalent tf.estimator.EstimatorSpec.

        Args:
          default_serving_output_alternative_key: name of the default signature; None with a single
            one.

        Returns:
          tf.estimator.EstimatorSpec.

        Raises:
          ValueError: the name is not an output alternative.
        """
        outputs = None
        if self.mode == ModeKeys.INFER:
            outputs = self._export_outputs(default_serving_output_alternative_key)
        metrics = dict(self.eval_metric_ops) if self.mode == ModeKeys.EVAL else {}
        if LOSS in metrics:
            metrics[LOSS_METRIC] = metrics.pop(LOSS)
        train_op = self.train_op
        if isinstance(train_op, tf.Tensor) and train_op.shape.ndims is None:
            train_op = train_op.op
        return tf.estimator.EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=train_op if self.mode == ModeKeys.TRAIN else None,
            eval_metric_ops=metrics,
            export_outputs=outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )

    def alternatives(self, default_key=None):
        """Returns the output alternatives, and the name of the default one.

        Args:
          default_key: the name that is asked for; None with a single one.

        Returns:
          {name: (ProblemType, {key: tensor})}, name; the predictions are the only alternative if
          there is no other.

        Raises:
          ValueError: the name is not an output alternative, or there are several and none is named.
        """
        found = self.output_alternatives
        if default_key is None and len(found or ()) <= 1:
            if not found:
                only = self.predictions
                only = only if isinstance(only, dict) else {PredictionKey.GENERIC: only}
                found = {_DEFAULT_OUTPUT: (ProblemType.UNSPECIFIED, only)}
            return found, next(iter(found))
        known = sorted(map(str, found or ()))
        if default_key is None or default_key not in known:
            raise ValueError(
                f"default_output_alternative_key: {default_key!r} is unknown; use one of {known}"
            )
        return found, default_key

    def _export_outputs(self, default_key):
        found, default_key = self.alternatives(default_key)
        outputs = {key: _Signature(*one) for key, one in found.items()}
        long_names = {f"default_input_alternative:{key}": outputs[key] for key in outputs}
        return {**long_names, _DEFAULT_SIGNATURE: outputs[default_key]}


class _Signature(tf.estimator.export.ExportOutput):
    """The signature of an output alternative: of its kind if the input is serialized examples."""

    def __init__(self, problem, tensors):
        self._problem, self._tensors = problem, tensors

    def as_signature_def(self, receiver_tensors):
        """Returns the signature.

        Args:
          receiver_tensors: {input: tensor}.

        Returns:
          SignatureDef.
        """
        inputs, tensors = list(receiver_tensors.values()), self._tensors
        make = tf.saved_model.signature_def_utils
        if len(inputs) == 1 and inputs[0].dtype == tf.string:
            if self._problem == ProblemType.LINEAR_REGRESSION:
                if len(tensors) == 1:
                    (only,) = tensors.values()
                    return make.regression_signature_def(inputs[0], only)
            elif self._problem in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
                classes = tensors.get(PredictionKey.CLASSES)
                classes = None if classes is None or classes.dtype != tf.string else classes
                scores = tensors.get(PredictionKey.SCORES, tensors.get(PredictionKey.PROBABILITIES))
                if classes is not None or scores is not None:
                    return make.classification_signature_def(inputs[0], classes, scores)
        return make.predict_signature_def(receiver_tensors, tensors)


class MetricSpec:
    """A metric of evaluate(metrics=...).

    Args:
      metric_fn: function of predictions, labels and optionally weights that returns (value,
        update).
      prediction_key: name of the prediction, or None if there is only one.
      label_key: name of the label, or None if there is only one.
      weight_key: name of the feature with the weights, or None.
    """

    def __init__(self, metric_fn, prediction_key=None, label_key=None, weight_key=None):
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    @staticmethod
    def _pick(kind, values, key):
        if isinstance(values, dict):
            if key is None and len(values) == 1:
                return next(iter(values.values()))
            if key not in values:
                raise ValueError(f"MetricSpec: no {kind} {key!r} among {sorted(values)}")
            return values[key]
        return values

    def create_metric_ops(self, inputs, labels, predictions):
        """Builds the metric.

        Args:
          inputs: {feature: tensor}.
          labels: tensor or {label: tensor}.
          predictions: tensor or {prediction: tensor}.

        Returns:
          (value, update operation).

        Raises:
          ValueError: a prediction or a label is missing.
        """
        predictions = self._pick("prediction", predictions, self.prediction_key)
        labels = self._pick("label", labels, self.label_key)
        names = list(inspect.signature(self.metric_fn).parameters)
        weights = {} if self.weight_key is None else {"weights": inputs[self.weight_key]}
        if "labels" in names and "predictions" in names:
            return self.metric_fn(labels=labels, predictions=predictions, **weights)
        if names[1:2] == ["weights"]:  # A metric of one tensor, such as tf.metrics.mean.
            return self.metric_fn(predictions, **weights)
        return self.metric_fn(predictions, labels, **weights)
