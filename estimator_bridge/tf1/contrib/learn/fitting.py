"""The Estimator of `tf.contrib.learn`: `fit`, MetricSpecs and exports on tf.estimator."""

import inspect

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.array_batches import arrays_input_fn
from estimator_bridge.tf1.contrib.learn.evaluating import (
    evaluate_run,
    metric_fn_from_specs,
    with_metrics,
)
from estimator_bridge.tf1.contrib.learn.log_interval import FixedLogInterval
from estimator_bridge.tf1.contrib.learn.model_spec import (
    LabelSignature,
    MetricSpec,
    ModeKeys,
    ModelFnOps,
    NotFittedError,
    PredictionKey,
    ProblemType,
)
from estimator_bridge.tf1.contrib.learn.monitors import replace_monitors_with_hooks
from estimator_bridge.tf1.contrib.learn.parameters import SettableParameters
from estimator_bridge.tf1.contrib.learn.utils import as_receiver_fn
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "Estimator",
    "FitMixin",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NotFittedError",
    "PredictionKey",
    "ProblemType",
]


def _until_constant(batches, constant):
    """Yields the batches of predictions; of a graph without a queue and a Dataset, the first."""
    for batch in batches:
        yield batch
        if constant and not constant[-1].get_collection(tf.GraphKeys.QUEUE_RUNNERS):
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


class FitMixin(FixedLogInterval, SettableParameters):
    """Adds `fit`, `evaluate` with MetricSpecs and `export_savedmodel` to an Estimator class."""

    _evaluate_run = evaluate_run
    # Arguments of ModelFnOps.estimator_spec while an export is made.
    _export_arguments = None

    def _assert_members_are_not_overridden(self):
        """Lets subclasses override all, as in 1.x."""

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
            input_fn = arrays_input_fn(x, y, batch_size, for_training=True)
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
          NotFittedError: there is no checkpoint.
          ValueError: `feed_fn` is given, or `metrics` is no dict.
        """
        del log_progress  # The progress is always logged.
        if not isinstance(metrics, (dict, type(None))):
            raise ValueError(f"metrics: expected a dict or None, got {metrics!r}")
        if feed_fn is not None:
            raise ValueError("evaluate: feed_fn is not supported; use input_fn")
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = arrays_input_fn(x, y, batch_size)
        self._check_fitted(checkpoint_path)
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

        Raises:
          NotFittedError: there is no checkpoint.
        """
        self._check_fitted(kwargs.get("checkpoint_path"))
        if callable(x):
            input_fn, x = x, None
        if input_fn is None:
            input_fn = arrays_input_fn(x, None, batch_size)
        kwargs.setdefault("predict_keys", outputs)
        kwargs["yield_single_examples"] = False
        constant = []

        def watched():
            result = input_fn()
            if not isinstance(result, tf.data.Dataset):
                constant.append(tf.get_default_graph())  # The model may add a queue.
            return result

        batches = _until_constant(super().predict(watched, **kwargs), constant)
        if not as_iterable:
            return _concatenated(list(batches))
        return batches if iterate_batches else _examples(batches)

    def _check_fitted(self, checkpoint_path):
        if not checkpoint_path and self.latest_checkpoint() is None:
            raise NotFittedError(f"there is no checkpoint in {self.model_dir}; train first")

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
          default_output_alternative_key: name of the default signature; None with a single one.
          assets_extra: {destination path: source path} of extra assets, or None.
          as_text: whether to write the SavedModel as text.
          checkpoint_path: prefix of the checkpoint, or None for the latest.
          graph_rewrite_specs: ignored; the export has the tag `serve`.
          strip_default_attrs: ignored; attributes at their default are always left out.

        Returns:
          Directory of the export.

        Raises:
          NotFittedError: there is no checkpoint.
          ValueError: the name of the default signature is missing or unknown.
        """
        self._check_fitted(checkpoint_path)
        del graph_rewrite_specs, strip_default_attrs
        self._export_arguments = (default_output_alternative_key,)
        try:
            return self.export_saved_model(
                export_dir_base,
                as_receiver_fn(serving_input_fn),
                assets_extra=assets_extra,
                as_text=as_text,
                checkpoint_path=checkpoint_path,
            )
        finally:
            self._export_arguments = None


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
        known, signature = inspect.signature(model_fn).parameters, LabelSignature()

        def make_ops(features, labels, mode, params, config):
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            given = {"mode": mode, "params": params, "config": config, "model_dir": model_dir}
            labels = signature.complete(labels, mode, self._export_arguments is not None)
            result = model_fn(features, labels, **{k: v for k, v in given.items() if k in known})
            return result if hasattr(result, "mode") else ModelFnOps(mode, *result)

        def wrapped(features, labels, mode, params, config):
            ops = make_ops(features, labels, mode, params, config)
            if isinstance(ops, tf.estimator.EstimatorSpec):
                return ops
            if self._export_arguments is None:
                return ops._replace(output_alternatives=None).estimator_spec()
            return ops.estimator_spec(*self._export_arguments)

        self._make_ops = make_ops
        super().__init__(wrapped, model_dir=model_dir, config=config, params=params or {})

    def prediction_ops(self, features):
        """Builds the model for predictions.

        Args:
          features: tensor or {feature: tensor}.

        Returns:
          ModelFnOps, or the EstimatorSpec that the model_fn has returned.
        """
        return self._make_ops(features, None, ModeKeys.INFER, self.params, self.config)

    def export_saved_model(self, *args, **kwargs):
        """Exports a checkpoint, as `tf.estimator.Estimator.export_saved_model` does.

        Args:
          *args: those of the method.
          **kwargs: those of the method.

        Returns:
          Directory of the export.
        """
        before = self._export_arguments
        self._export_arguments = before or ()
        try:
            return super().export_saved_model(*args, **kwargs)
        finally:
            self._export_arguments = before

    def _train_with_estimator_spec(self, estimator_spec, worker_hooks, *arguments):
        # tf.estimator adds a summary unless one has this name; tf.contrib.learn leaves it to heads.
        tf.add_to_collection(tf.GraphKeys.SUMMARIES, _NamedLoss())
        return super()._train_with_estimator_spec(estimator_spec, worker_hooks, *arguments)

    def _validate_features_in_predict_input(self, result):
        """Gives no warning that constant features never end: `predict` ends after one batch."""


class _NamedLoss:
    """An item of the summaries that is there until its name has been read."""

    name = "loss"

    @property
    def op(self):
        tf.get_collection_ref(tf.GraphKeys.SUMMARIES).remove(self)
        return self
