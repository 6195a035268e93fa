"""`tf.contrib.learn.LogisticRegressor`: a model_fn with the metrics of two classes."""

import inspect

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.head_kinds import THRESHOLDS, logistic_metrics
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys, ModelFnOps, ProblemType

__all__ = ["LogisticRegressor"]


def LogisticRegressor(
    model_fn, thresholds=None, model_dir=None, config=None, feature_engineering_fn=None
):
    """Returns an Estimator of a model that predicts probabilities, with metrics of two classes.

    Args:
      model_fn: function of (features, labels[, mode[, params[, config]]]) that returns
        (predictions, loss, train_op) or ModelFnOps; the predictions are probabilities.
      thresholds: list of probabilities from which class 1 is predicted; None for 0.5.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.

    Returns:
      tf.contrib.learn.Estimator.
    """
    known = inspect.signature(model_fn).parameters

    def with_metrics(features, labels, mode, params, config, model_dir):
        given = {"mode": mode, "params": params, "config": config, "model_dir": model_dir}
        ops = model_fn(features, labels, **{k: v for k, v in given.items() if k in known})
        if not isinstance(ops, ModelFnOps):
            ops = ModelFnOps(mode, *ops)
        if mode != ModeKeys.INFER:
            metrics = logistic_metrics(
                tf.to_float(labels), ops.predictions, None, thresholds or THRESHOLDS
            )
            ops = ops._replace(eval_metric_ops=metrics)
        alternatives = {"logistic": (ProblemType.LOGISTIC_REGRESSION, {"output": ops.predictions})}
        return ops._replace(output_alternatives=alternatives)

    return Estimator(with_metrics, model_dir, config, None, feature_engineering_fn)
