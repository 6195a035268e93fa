"""The evaluation of `tf.contrib.learn` Estimators, as one run of a session."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_estimator as _estimator
from estimator_bridge.private_tf import evaluation as _evaluation
from estimator_bridge.tf1.contrib.learn.model_spec import LOSS, LOSS_METRIC, MetricSpec

__all__ = ["evaluate_run", "metric_fn_from_specs", "with_metrics"]


def evaluate_run(
    estimator, checkpoint_path, scaffold, update_op, eval_dict, all_hooks, output_dir
):  # The arguments are those of the method that it replaces.  # noqa: PLR0913
    """Evaluates a checkpoint and writes its metrics, and not its path, which 1.x does not write.

    Args:
      estimator: the Estimator.
      checkpoint_path: prefix of the checkpoint, or None.
      scaffold: tf.train.Scaffold.
      update_op: operation that is run for each batch.
      eval_dict: {metric: tensor}, read at the end.
      all_hooks: list of tf.train.SessionRunHook.
      output_dir: folder of the summaries.

    Returns:
      {metric: value}.
    """
    if LOSS_METRIC in eval_dict:
        eval_dict = dict(eval_dict)
        eval_dict[LOSS] = eval_dict.pop(LOSS_METRIC)
    results = _evaluation._evaluate_once(
        checkpoint_path=checkpoint_path,
        master=estimator.config.evaluation_master,
        scaffold=scaffold,
        eval_ops=update_op,
        final_ops=eval_dict,
        hooks=all_hooks,
        config=estimator._session_config,
    )
    _estimator._write_dict_to_summary(output_dir, results, results[tf.GraphKeys.GLOBAL_STEP])
    return results


def with_metrics(estimator, metric_fn):
    """Returns an Estimator that evaluates further metrics.

    Args:
      estimator: the Estimator.
      metric_fn: function of features, labels and predictions, as in tf.estimator.add_metrics.
    """
    found = tf.estimator.add_metrics(estimator, metric_fn)
    found._evaluate_run = functools.partial(evaluate_run, found)
    return found


def metric_fn_from_specs(metrics):
    """Returns a function that computes MetricSpecs.

    Args:
      metrics: {name: MetricSpec}; a key may be a tuple of name and prediction.

    Returns:
      Function of (features, labels, predictions) that returns {name: (value, update operation)}. It
      raises ValueError if a metric does not say which prediction it is of.
    """

    def metric_fn(features, labels, predictions):
        found = {}
        for name, metric in metrics.items():
            if isinstance(name, tuple):
                name, key = name
                metric = MetricSpec(metric, prediction_key=key)
            elif not isinstance(metric, MetricSpec) and isinstance(predictions, dict):
                raise ValueError(
                    f"metrics: {name!r} does not say which of the predictions "
                    f"{sorted(predictions)} it is of; use a MetricSpec"
                )
            if not isinstance(metric, MetricSpec):
                metric = MetricSpec(metric)
            found[name] = metric.create_metric_ops(features, labels, predictions)
        return found

    return metric_fn
