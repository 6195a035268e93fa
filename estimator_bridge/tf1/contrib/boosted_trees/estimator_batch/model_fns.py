"""The model_fn of gradient boosted trees, under a head of `tf.contrib.learn` or of tf.estimator."""

from typing import NamedTuple, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.gradient_trees.learner import Options
from estimator_bridge.gradient_trees.model import End, GradientTrees, complete
from estimator_bridge.tf1.contrib.learn.model_spec import ModelFnOps

__all__ = [
    "LEAF_INDEX",
    "TreeArguments",
    "build_options",
    "make_model_fn",
    "replace_fields",
]

# The prediction with the leaf of each tree.
LEAF_INDEX = "leaf_index"


class TreeArguments(NamedTuple):
    """The arguments of an Estimator that its trees need.

    Attributes:
      learner_config: the LearnerConfig.
      examples_per_layer: after so many rows a layer is grown.
      num_trees: the number of trees, or None.
      feature_columns: the columns, or None.
      weight_column_name: the feature with the weights of rows, or None.
      logits_modifier_function: function of logits, features and mode, or None.
      center_bias: whether the first tree starts from a bias.
      output_leaf_index: whether the predictions have the leaf of each tree.
      override_global_step_value: the global step after the last tree, or None.
      num_quantiles: how many buckets a number has.
      is_core: whether the Estimator is one of tf.estimator.
      ranking_model_pair_keys: the prefixes of the features of two rows that are compared, or None.
    """

    learner_config: object
    examples_per_layer: int
    num_trees: Optional[int]
    feature_columns: object
    weight_column_name: Optional[str]
    logits_modifier_function: object
    center_bias: bool
    output_leaf_index: bool
    override_global_step_value: Optional[int]
    num_quantiles: int
    is_core: bool = False
    ranking_model_pair_keys: object = None


def make_model_fn(head, arguments):
    """Returns the model_fn of trees.

    Args:
      head: a head of tf.contrib.learn or of tf.estimator.
      arguments: the arguments of the Estimator, as TreeArguments.
    """

    def model_fn(features, labels, mode, config):
        options = build_options(head, arguments, mode, config)
        given, other = _select(features, mode, arguments)
        end = End(arguments.num_trees, arguments.override_global_step_value)
        trees = GradientTrees(given, arguments.feature_columns, options, mode, end)
        changed = trees.logits if other is None else trees.logits - trees.apply(other)
        if arguments.logits_modifier_function:
            changed = arguments.logits_modifier_function(changed, features, mode)
        # Of two trees in the graph, TensorFlow trained the first and saved both.
        twin = "" if other is None else "gbdt_1/" if arguments.feature_columns else "gbdt/"

        def step(loss):
            with tf.control_dependencies([trees.train(loss, twin)]):
                return tf.assign_add(tf.train.get_global_step(), 1).op

        spec = _apply_head(head, features, mode, changed, labels, step)
        if mode == tf.estimator.ModeKeys.TRAIN:
            return replace_fields(spec, training_hooks=[*(spec.training_hooks or ()), *trees.hooks])
        # In 1.14 it is in the predictions of the Core... Estimators only.
        if (
            arguments.output_leaf_index
            and arguments.is_core
            and mode == tf.estimator.ModeKeys.PREDICT
        ):
            predictions = {**spec.predictions, LEAF_INDEX: trees.leaves}
            spec = replace_fields(spec, predictions=predictions)
        tf.train.get_or_create_global_step()
        return replace_fields(spec, scaffold=tf.train.Scaffold(saver=trees.build_saver()))

    return model_fn


def build_options(head, arguments, mode, config):
    """Returns what the training of trees is told, as Options.

    Args:
      head: the head.
      arguments: the arguments of the Estimator, as TreeArguments.
      mode: a key of tf.estimator.ModeKeys.
      config: RunConfig.

    Raises:
      ValueError: an argument cannot be used.
    """
    _check_one_process(config)
    logits = head.logits_dimension
    if mode == tf.estimator.ModeKeys.TRAIN and arguments.center_bias and logits > 1:
        raise ValueError("Center bias should be False for multiclass.")
    return Options(
        complete(arguments.learner_config, logits),
        arguments.examples_per_layer,
        arguments.center_bias,
        arguments.num_quantiles,
        logits,
    )


def _check_one_process(config):
    if config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError(
            "tf.contrib.boosted_trees: one process trains the trees, not a cluster; use "
            "tf.estimator.BoostedTreesClassifier or its relatives in a cluster"
        )


def _select(features, mode, arguments):
    """Returns the features of the trees, and those of the row that is compared, or None."""
    keys = arguments.ranking_model_pair_keys
    if keys is not None and mode != tf.estimator.ModeKeys.PREDICT:
        return tuple(
            {
                name[len(key) + 1 :]: value
                for name, value in features.items()
                if name.startswith(f"{key}.")
            }
            for key in keys
        )
    if arguments.feature_columns:
        return features, None
    return {k: v for k, v in features.items() if k != arguments.weight_column_name}, None


def _apply_head(head, features, mode, logits, labels, step):
    if hasattr(head, "create_model_fn_ops"):
        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=step, logits=logits
        )
    return head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=step, logits=logits
    )


def replace_fields(spec, **fields):
    """Returns a spec with other values of some fields.

    Args:
      spec: EstimatorSpec or ModelFnOps.
      **fields: the values.
    """
    if isinstance(spec, ModelFnOps):
        # Its own _replace would call the constructor's checks with all fields by position.
        return ModelFnOps(**{**spec._asdict(), **fields})
    return spec._replace(**fields)
