"""The Estimator of `tf.contrib.learn`:

`fit`, ModelFnOps and MetricSpec on a tf.estimator.Estimator.
"""

import collections
import inspect

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.monitors import replace_monitors_with_hooks

__all__ = [
    "Estimator",
    "FitMixin",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "ProblemType",
    "SKCompat",
]

_DEFAULT_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class ModeKeys:
    """The values are those of tf.estimator.ModeKeys."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


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
    """What a model answers."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


_Ops = collections.namedtuple(
    "ModelFnOps",
    "mode predictions loss train_op eval_metric_ops output_alternatives training_chief_hooks "
    "training_hooks scaffold",
)


class ModelFnOps(_Ops):
    """What a model_fn of tf.contrib.learn returns.

    `output_alternatives`, {name: (ProblemType, {key: tensor})}, become the signatures of an export.
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
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            eval_metric_ops or {},
            output_alternatives,
            training_chief_hooks,
            training_hooks,
            scaffold,
        )

    def estimator_spec(self, default_serving_output_alternative_key=None):
        """Returns the same as a tf.estimator.EstimatorSpec."""
        outputs = None
        if self.mode == ModeKeys.INFER:
            outputs = self._export_outputs(default_serving_output_alternative_key)
        train_op = self.train_op
        if isinstance(train_op, tf.Tensor) and train_op.shape.ndims is None:
            train_op = train_op.op
        return tf.estimator.EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=train_op if self.mode == ModeKeys.TRAIN else None,
            eval_metric_ops=self.eval_metric_ops,
            export_outputs=outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )

    def _export_outputs(self, default_key):
        predict = tf.estimator.export.PredictOutput
        if not self.output_alternatives:
            found = self.predictions
            return {
                _DEFAULT_SIGNATURE: predict(found if isinstance(found, dict) else {"output": found})
            }
        outputs = {key: predict(tensors) for key, (_, tensors) in self.output_alternatives.items()}
        if len(outputs) == 1:
            default_key = next(iter(outputs))
        if default_key not in outputs:
            known = sorted(map(str, outputs))
            raise ValueError(
                f"default_output_alternative_key {default_key!r}: expected one of {known}"
            )
        outputs[_DEFAULT_SIGNATURE] = outputs[default_key]
        return {key or _DEFAULT_SIGNATURE: output for key, output in outputs.items()}


class MetricSpec:
    """A metric of evaluate(metrics=...): the function, and which prediction, label and weight go
    into it.
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
        """Returns (value, update)."""
        predictions = self._pick("prediction", predictions, self.prediction_key)
        labels = self._pick("label", labels, self.label_key)
        names = list(inspect.signature(self.metric_fn).parameters)
        weights = {} if self.weight_key is None else {"weights": inputs[self.weight_key]}
        if "labels" in names and "predictions" in names:
            return self.metric_fn(labels=labels, predictions=predictions, **weights)
        return self.metric_fn(predictions, labels, **weights)


def _arrays_input_fn(x, y, batch_size, num_epochs, shuffle):
    """An input_fn over arrays in memory, the whole of them at once if no batch size is given."""
    features = x if isinstance(x, dict) else {"": np.asarray(x)}
    rows = len(next(iter(features.values())))
    read = tf.estimator.inputs.numpy_input_fn(
        {key: np.asarray(value) for key, value in features.items()},
        None if y is None else np.asarray(y),
        batch_size=batch_size or rows,
        num_epochs=num_epochs,
        shuffle=shuffle,
    )

    def input_fn():
        result = read()
        given = result if y is None else result[0]
        given = given if isinstance(x, dict) else given[""]
        return given if y is None else (given, result[1])

    return input_fn


class FitMixin:
    """`fit`, `evaluate` with MetricSpecs, and `export_savedmodel`, for any Estimator."""

    def fit(
        self,
        x=None,
        y=None,
        input_fn=None,
        steps=None,
        batch_size=None,
        monitors=None,
        max_steps=None,
    ):
        """Trains; returns self. `monitors` are hooks, or monitors of tf.contrib.learn."""
        if input_fn is None:
            input_fn = _arrays_input_fn(x, y, batch_size, num_epochs=None, shuffle=True)
        hooks = replace_monitors_with_hooks(monitors, self)
        return self.train(input_fn, hooks=hooks, steps=steps, max_steps=max_steps)

    def evaluate(
        self,
        x=None,
        y=None,
        input_fn=None,
        feed_fn=None,
        batch_size=None,
        steps=None,
        metrics=None,
        name=None,
        checkpoint_path=None,
        hooks=None,
        log_progress=True,
    ):
        """Evaluates; returns {metric: value}.

        The first argument may be the input_fn, as in tf.estimator.
        """
        del log_progress  # The log shows it anyway.
        if feed_fn is not None:
            raise ValueError("evaluate: feed_fn is not taken; use input_fn")
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = _arrays_input_fn(x, y, batch_size, num_epochs=1, shuffle=False)
        evaluator = super().evaluate
        if metrics:
            evaluator = tf.estimator.add_metrics(self, _metric_fn(metrics)).evaluate
        return evaluator(
            input_fn, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name
        )

    def predict(
        self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True, **kwargs
    ):
        """Yields predictions, dicts or arrays.

        The first argument may be the input_fn, as in tf.estimator.
        """
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = _arrays_input_fn(x, None, batch_size, num_epochs=1, shuffle=False)
        kwargs.setdefault("predict_keys", outputs)
        found = super().predict(input_fn, **kwargs)
        return found if as_iterable else list(found)

    def predict_classes(self, x=None, input_fn=None, **kwargs):
        """Yields the predicted class ids."""
        return (p["class_ids"][0] for p in self.predict(x, input_fn, **kwargs))

    def predict_proba(self, x=None, input_fn=None, **kwargs):
        """Yields the classes' probabilities."""
        return (p["probabilities"] for p in self.predict(x, input_fn, **kwargs))

    def predict_scores(self, x=None, input_fn=None, **kwargs):
        """Yields the predicted values."""
        return (p["predictions"] for p in self.predict(x, input_fn, **kwargs))

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_fn,
        default_output_alternative_key=None,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        **kwargs,
    ):
        """Exports; returns the export's directory. `serving_input_fn` may return InputFnOps."""
        from estimator_bridge.tf1.contrib.learn.utils import as_receiver_fn

        del default_output_alternative_key  # Chosen by the signature when it is asked.
        return self.export_saved_model(
            export_dir_base,
            as_receiver_fn(serving_input_fn),
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            **kwargs,
        )


def _metric_fn(metrics):
    def metric_fn(features, labels, predictions):
        found = {}
        for name, metric in metrics.items():
            if isinstance(name, tuple):
                name, key = name
                metric = MetricSpec(metric, prediction_key=key)
            if not isinstance(metric, MetricSpec):
                metric = MetricSpec(metric)
            found[name] = metric.create_metric_ops(features, labels, predictions)
        return found

    return metric_fn


class Estimator(FitMixin, tf.estimator.Estimator):
    """An Estimator of a model_fn(features, labels[, mode[, params[, config]]]) that returns
    ModelFnOps, an EstimatorSpec or (predictions, loss, train_op).
    """

    def __init__(
        self, model_fn=None, model_dir=None, config=None, params=None, feature_engineering_fn=None
    ):
        known = inspect.signature(model_fn).parameters

        def wrapped(features, labels, mode, params, config):
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            given = {"mode": mode, "params": params, "config": config, "model_dir": model_dir}
            result = model_fn(features, labels, **{k: v for k, v in given.items() if k in known})
            if isinstance(result, tf.estimator.EstimatorSpec):
                return result
            if not isinstance(result, ModelFnOps):
                result = ModelFnOps(mode, *result)
            return result.estimator_spec()

        super().__init__(wrapped, model_dir=model_dir, config=config, params=params or {})


class SKCompat:
    """An estimator whose methods take arrays only, in the manner of scikit-learn."""

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
        """Trains; returns self."""
        read = _arrays_input_fn(x, y, batch_size, num_epochs=None, shuffle=True)
        hooks = replace_monitors_with_hooks(monitors, self._estimator)
        self._estimator.train(read, hooks=hooks, steps=steps, max_steps=max_steps)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
        """Evaluates; returns {metric: value}."""
        read = _arrays_input_fn(x, y, batch_size, num_epochs=1, shuffle=False)
        evaluated = self._estimator
        if metrics:
            evaluated = tf.estimator.add_metrics(evaluated, _metric_fn(metrics))
        return tf.estimator.Estimator.evaluate(evaluated, read, steps=steps, name=name)

    def predict(self, x, batch_size=128, outputs=None):
        """Returns {name: array} of the predictions, or one array."""
        read = _arrays_input_fn(x, None, batch_size, num_epochs=1, shuffle=False)
        found = list(tf.estimator.Estimator.predict(self._estimator, read, predict_keys=outputs))
        if not found or not isinstance(found[0], dict):
            return np.array(found)
        return {name: np.array([one[name] for one in found]) for name in found[0]}
