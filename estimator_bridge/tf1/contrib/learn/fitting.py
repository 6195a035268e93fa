"""The Estimator of `tf.contrib.learn`: `fit`, MetricSpecs and exports on tf.estimator."""

import inspect

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.evaluating import evaluate_run, with_metrics
from estimator_bridge.tf1.contrib.learn.model_spec import (
    MetricSpec,
    ModeKeys,
    ModelFnOps,
    PredictionKey,
    ProblemType,
)
from estimator_bridge.tf1.contrib.learn.monitors import replace_monitors_with_hooks
from estimator_bridge.tf1.contrib.learn.utils import as_receiver_fn
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "Estimator",
    "FitMixin",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "ProblemType",
    "SKCompat",
    "metric_fn_from_specs",
]


def _arrays_input_fn(x, y, batch_size, num_epochs, shuffle):
    """Returns an input_fn over arrays in memory, in one batch without a batch size."""
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


def _until_constant(batches, constant):
    """Yields the batches of predictions; of a constant input, the first one."""
    for batch in batches:
        yield batch
        if constant[-1]:
            batches.close()
            return


def _examples(batches):
    """Yields the predictions of single examples."""
    for batch in batches:
        if isinstance(batch, dict):
            rows = len(next(iter(batch.values())))
            for row in range(rows):
                yield {name: values[row] for name, values in batch.items()}
        else:
            yield from batch


def _concatenated(batches):
    """Returns the predictions of all batches as arrays."""
    if batches and isinstance(batches[0], dict):
        return {name: np.concatenate([one[name] for one in batches]) for name in batches[0]}
    return np.concatenate(batches) if batches else np.array([])


class FitMixin:
    """Adds `fit`, `evaluate` with MetricSpecs and `export_savedmodel` to an Estimator class."""

    _evaluate_run = evaluate_run

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
        """Trains the model.

        Args:
          x: array or {feature: array}, or None.
          y: array of labels, or None.
          input_fn: input_fn in place of arrays.
          steps: number of steps; None until the input ends.
          batch_size: int, examples per batch of arrays; None for all at once.
          monitors: list of hooks or of monitors of tf.contrib.learn, or None.
          max_steps: global step at which training ends, or None.

        Returns:
          self.
        """
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
        """Evaluates a checkpoint.

        Args:
          x: array or {feature: array}; or the input_fn itself, as in tf.estimator.
          y: array of labels, or None.
          input_fn: input_fn in place of arrays.
          feed_fn: not supported; must be None.
          batch_size: int, examples per batch of arrays; None for all at once.
          steps: number of batches; None for all.
          metrics: {name: MetricSpec}, or None.
          name: name of the evaluation, or None.
          checkpoint_path: prefix of the checkpoint, or None for the latest.
          hooks: list of tf.train.SessionRunHook, or None.
          log_progress: ignored.

        Returns:
          {metric: value}.

        Raises:
          ValueError: `feed_fn` is given.
        """
        del log_progress  # The progress is always logged.
        if feed_fn is not None:
            raise ValueError("evaluate: feed_fn is not supported; use input_fn")
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = _arrays_input_fn(x, y, batch_size, num_epochs=1, shuffle=False)
        evaluator = super().evaluate
        if metrics:
            evaluator = with_metrics(self, metric_fn_from_specs(metrics)).evaluate
        return evaluator(
            input_fn, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name
        )

    def predict(
        self,
        x=None,
        input_fn=None,
        batch_size=None,
        outputs=None,
        as_iterable=True,
        iterate_batches=False,
        **kwargs,
    ):
        """Returns the predictions of a checkpoint.

        An input_fn whose tensors come from no queue, and which returns no Dataset, is constant: it
        gives one batch, as in 1.x.

        Args:
          x: array or {feature: array}; or the input_fn itself, as in tf.estimator.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          outputs: list of names of predictions; None for all.
          as_iterable: whether to return an iterator; else arrays of all examples.
          iterate_batches: whether the iterator has a value per batch, not per example.
          **kwargs: further arguments of tf.estimator.Estimator.predict.

        Returns:
          Iterator of dicts or arrays; or a dict or an array of all examples.
        """
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = _arrays_input_fn(x, None, batch_size, num_epochs=1, shuffle=False)
        kwargs.setdefault("predict_keys", outputs)
        kwargs["yield_single_examples"] = False
        constant = []

        def watched():
            result = input_fn()
            queues = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
            constant.append(not queues and not isinstance(result, tf.data.Dataset))
            return result

        batches = _until_constant(super().predict(watched, **kwargs), constant)
        if not as_iterable:
            return _concatenated(list(batches))
        return batches if iterate_batches else _examples(batches)

    def partial_fit(self, x=None, y=None, input_fn=None, steps=1, batch_size=None, monitors=None):
        """Trains the model further; `fit` does too.

        Args:
          x: array or {feature: array}, or None.
          y: array of labels, or None.
          input_fn: input_fn in place of arrays.
          steps: number of steps.
          batch_size: int, examples per batch of arrays; None for all at once.
          monitors: list of hooks or of monitors of tf.contrib.learn, or None.

        Returns:
          self.
        """
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def export(self, export_dir, *args, **kwargs):
        """Is refused: the format of session bundles left TensorFlow.

        Args:
          export_dir: not used.
          *args: not used.
          **kwargs: not used.

        Raises:
          NotSuppliedError: always.
        """
        raise NotSuppliedError(
            advise(f"tf.contrib.learn.{type(self).__name__}.export", "use export_savedmodel")
        )

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_fn,
        default_output_alternative_key=None,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        graph_rewrite_specs=None,
        strip_default_attrs=False,
    ):
        """Exports a checkpoint as a SavedModel.

        Args:
          export_dir_base: base directory of the exports.
          serving_input_fn: function that returns InputFnOps or a ServingInputReceiver.
          default_output_alternative_key: ignored; a client selects the signature.
          assets_extra: {destination path: source path} of extra assets, or None.
          as_text: whether to write the SavedModel as text.
          checkpoint_path: prefix of the checkpoint, or None for the latest.
          graph_rewrite_specs: ignored; the export has the tag `serve`.
          strip_default_attrs: ignored; attributes at their default are always left out.

        Returns:
          Directory of the export.
        """
        # Clients select a signature instead.
        del default_output_alternative_key, graph_rewrite_specs, strip_default_attrs
        return self.export_saved_model(
            export_dir_base,
            as_receiver_fn(serving_input_fn),
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
        )


def metric_fn_from_specs(metrics):
    """Returns a function that computes MetricSpecs.

    Args:
      metrics: {name: MetricSpec}; a key may be a tuple of name and prediction.

    Returns:
      Function of (features, labels, predictions) that returns {name: (value, update operation)}.
    """

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
    """An Estimator with a model_fn in any of the forms of tf.contrib.learn.

    Args:
      model_fn: function of (features, labels[, mode[, params[, config]]]) that returns ModelFnOps,
        an EstimatorSpec or (predictions, loss, train_op).
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      params: dict or HParams for the model_fn, or None.
      feature_engineering_fn: function from (features, labels) to the same, applied first, or None.
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
    """An estimator with methods only for arrays, as in scikit-learn.

    Args:
      estimator: tf.contrib.learn.Estimator.
    """

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
        """Trains the model.

        Args:
          x: array or {feature: array}.
          y: array of labels.
          batch_size: int, examples per batch.
          steps: number of steps; None until the input ends.
          max_steps: global step at which training ends, or None.
          monitors: list of hooks or of monitors of tf.contrib.learn, or None.

        Returns:
          self.
        """
        read = _arrays_input_fn(x, y, batch_size, num_epochs=None, shuffle=True)
        hooks = replace_monitors_with_hooks(monitors, self._estimator)
        self._estimator.train(read, hooks=hooks, steps=steps, max_steps=max_steps)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
        """Evaluates the model.

        Args:
          x: array or {feature: array}.
          y: array of labels.
          batch_size: int, examples per batch.
          steps: number of steps; None until the input ends.
          metrics: {name: MetricSpec}, or None.
          name: name of the evaluation, or None.

        Returns:
          {metric: value}.
        """
        read = _arrays_input_fn(x, y, batch_size, num_epochs=1, shuffle=False)
        evaluated = self._estimator
        if metrics:
            evaluated = tf.estimator.add_metrics(evaluated, metric_fn_from_specs(metrics))
        return tf.estimator.Estimator.evaluate(evaluated, read, steps=steps, name=name)

    def predict(self, x, batch_size=128, outputs=None):
        """Returns the predictions for arrays.

        Args:
          x: array or {feature: array}.
          batch_size: int, examples per batch.
          outputs: list of names of predictions; None for all.

        Returns:
          {prediction: array}, or one array.
        """
        read = _arrays_input_fn(x, None, batch_size, num_epochs=1, shuffle=False)
        found = list(tf.estimator.Estimator.predict(self._estimator, read, predict_keys=outputs))
        if not found or not isinstance(found[0], dict):
            return np.array(found)
        return {name: np.array([one[name] for one in found]) for name in found[0]}
