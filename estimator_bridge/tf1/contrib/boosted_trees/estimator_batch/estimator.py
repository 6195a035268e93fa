"""Gradient boosted trees: Classifier, Regressor, Estimator and Ranker."""

from estimator_bridge.boosted_trees.heads import compute_log_loss
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.instead import INSTEAD
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.model_fns import (
    TreeArguments,
    make_model_fn,
)
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head, regression_head
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "GradientBoostedDecisionTreeClassifier",
    "GradientBoostedDecisionTreeEstimator",
    "GradientBoostedDecisionTreeRanker",
    "GradientBoostedDecisionTreeRegressor",
    "build_class_head",
    "check_classes",
]

__getattr__, _advice_for = _unsupported_names(globals(), INSTEAD)


def _pick(given):
    """Returns the arguments of a constructor that its trees need."""
    return TreeArguments(**{name: given[name] for name in TreeArguments._fields if name in given})


def check_classes(n_classes, learner_config):
    """Refuses a LearnerConfig for another number of classes.

    Args:
      n_classes: int, number of classes.
      learner_config: the LearnerConfig.

    Raises:
      ValueError: the numbers differ.
    """
    # As in 1.14, which names the two numbers the other way round.
    if learner_config.num_classes not in (0, n_classes):
        raise ValueError(
            f"n_classes ({learner_config.num_classes}) doesn't match learner_config ({n_classes})."
        )


def build_class_head(n_classes, weight_column_name, label_keys):
    """Returns the head of a classifier, whose loss TensorFlow can differentiate twice.

    Args:
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      label_keys: list of the strings that labels are, or None.
    """
    head = multi_class_head(n_classes, None, weight_column_name, label_keys=label_keys)
    if n_classes > 2:
        head._losses = lambda labels, logits: compute_log_loss(labels, logits, n_classes)
    return head


class GradientBoostedDecisionTreeClassifier(Estimator):
    """A classifier of gradient boosted trees.

    Args:
      learner_config: the LearnerConfig.
      examples_per_layer: after so many rows a layer is grown.
      n_classes: int, number of classes.
      num_trees: the number of trees; None to train until the input ends.
      feature_columns: real-valued and sparse columns; None to take each tensor as it is.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      label_keys: list of the strings that labels are, with three or more classes; or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      logits_modifier_function: function of logits, features and mode, or None.
      center_bias: whether the first tree starts from a bias; for two classes only.
      use_core_libs: whether the columns are those of tf.feature_column; both work in any case.
      output_leaf_index: whether the predictions have `leaf_index`, the leaf of each tree.
      override_global_step_value: the global step after the last tree, or None.
      num_quantiles: how many buckets a number has.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        n_classes=2,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        arguments = _pick(locals())
        check_classes(n_classes, learner_config)
        head = build_class_head(n_classes, weight_column_name, label_keys)
        model_fn = make_model_fn(head, arguments)
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class GradientBoostedDecisionTreeRegressor(Estimator):
    """A regressor of gradient boosted trees.

    Args:
      learner_config: the LearnerConfig.
      examples_per_layer: after so many rows a layer is grown.
      label_dimension: int, number of labels of an example.
      num_trees: the number of trees; None to train until the input ends.
      feature_columns: real-valued and sparse columns; None to take each tensor as it is.
      label_name: not used.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      logits_modifier_function: function of logits, features and mode, or None.
      center_bias: whether the first tree starts from a bias; for one label only.
      use_core_libs: whether the columns are those of tf.feature_column; both work in any case.
      output_leaf_index: whether the predictions have `leaf_index`, the leaf of each tree.
      override_global_step_value: the global step after the last tree, or None.
      num_quantiles: how many buckets a number has.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        label_dimension=1,
        num_trees=None,
        feature_columns=None,
        label_name=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        arguments = _pick(locals())
        head = regression_head(None, weight_column_name, label_dimension)
        model_fn = make_model_fn(head, arguments)
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class GradientBoostedDecisionTreeEstimator(Estimator):
    """Gradient boosted trees under a head.

    Args:
      learner_config: the LearnerConfig.
      examples_per_layer: after so many rows a layer is grown.
      head: a head of tf.contrib.learn or of tf.estimator, whose loss has a second derivative.
      num_trees: the number of trees; None to train until the input ends.
      feature_columns: real-valued and sparse columns; None to take each tensor as it is.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      logits_modifier_function: function of logits, features and mode, or None.
      center_bias: whether the first tree starts from a bias; for one logit only.
      use_core_libs: whether columns and head are those of tf.estimator; both work in any case.
      output_leaf_index: whether the predictions have `leaf_index`, the leaf of each tree.
      override_global_step_value: the global step after the last tree, or None.
      num_quantiles: how many buckets a number has.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        model_fn = make_model_fn(head, _pick(locals()))
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class GradientBoostedDecisionTreeRanker(Estimator):
    """Gradient boosted trees that learn which of two rows comes first.

    In training and evaluation, the features of both rows have their key and a dot before their
    names, and the logits are those of the first row less those of the second. As in 1.14, the trees
    learn from the first row alone. Predictions are of single rows, whose features have plain names.

    Args:
      learner_config: the LearnerConfig.
      examples_per_layer: after so many pairs a layer is grown.
      head: a head of tf.contrib.learn or of tf.estimator, whose loss has a second derivative.
      ranking_model_pair_keys: the two keys.
      num_trees: the number of trees; None to train until the input ends.
      feature_columns: real-valued and sparse columns; None to take each tensor as it is.
      weight_column_name: name of the feature with the pairs' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      label_keys: not used.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      logits_modifier_function: function of logits, features and mode, or None.
      center_bias: whether the first tree starts from a bias.
      use_core_libs: whether columns and head are those of tf.estimator; both work in any case.
      output_leaf_index: as in 1.14, changes nothing here.
      override_global_step_value: the global step after the last tree, or None.
      num_quantiles: how many buckets a number has.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        ranking_model_pair_keys,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=False,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        model_fn = make_model_fn(head, _pick(locals()))
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
