"""Hidden layers and gradient boosted trees together: Classifier and Regressor."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.combined import (
    DeepArguments,
    make_combined_model_fn,
)
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.estimator import (
    build_class_head,
    check_classes,
)
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.instead import INSTEAD
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.model_fns import TreeArguments
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.heads import regression_head
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = ["DNNBoostedTreeCombinedClassifier", "DNNBoostedTreeCombinedRegressor"]

__getattr__, _advice_for = _unsupported_names(globals(), INSTEAD)

_NUM_QUANTILES = 100


def _make_model_fn(head, given):
    """Returns the model_fn for the arguments of a constructor."""
    if given["dnn_to_tree_distillation_param"] is not None:
        raise ValueError(
            "dnn_to_tree_distillation_param: not supported; train the trees without distillation"
        )
    deep = DeepArguments(**{name: given[name] for name in DeepArguments._fields})
    trees = TreeArguments(
        given["tree_learner_config"],
        given["tree_examples_per_layer"],
        given["num_trees"],
        given["tree_feature_columns"],
        given["weight_column_name"],
        None,
        given["tree_center_bias"],
        False,
        given["override_global_step_value"],
        _NUM_QUANTILES,
    )
    return make_combined_model_fn(head, deep, trees)


class DNNBoostedTreeCombinedClassifier(Estimator):
    """A classifier of hidden layers, whose logits gradient boosted trees correct.

    Args:
      dnn_hidden_units: list of ints, sizes of the hidden layers.
      dnn_feature_columns: columns of the hidden layers.
      tree_learner_config: the LearnerConfig.
      num_trees: the number of trees.
      tree_examples_per_layer: after so many rows a layer of a tree is grown.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      label_name: not used.
      label_keys: list of the strings that labels are, with three or more classes; or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      dnn_optimizer: tf.train.Optimizer, its name, or a function that returns one.
      dnn_activation_fn: activation of the hidden layers.
      dnn_dropout: probability to drop a unit in training, or None.
      dnn_input_layer_partitioner: partitioner of the input layer, or None.
      dnn_input_layer_to_tree: whether the trees split the input layer too.
      dnn_steps_to_train: the steps of the hidden layers, after which the trees grow.
      predict_with_tree_only: whether evaluation and predictions leave the hidden layers out.
      tree_feature_columns: columns of the trees; None to take each tensor as it is.
      tree_center_bias: whether the first tree starts from a bias.
      dnn_to_tree_distillation_param: not supported; must be None.
      use_core_versions: whether the columns are those of tf.feature_column; both work in any case.
      override_global_step_value: the global step after the last tree, or None.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        dnn_hidden_units,
        dnn_feature_columns,
        tree_learner_config,
        num_trees,
        tree_examples_per_layer,
        n_classes=2,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_name=None,
        label_keys=None,
        feature_engineering_fn=None,
        dnn_optimizer="Adagrad",
        dnn_activation_fn=tf.nn.relu,
        dnn_dropout=None,
        dnn_input_layer_partitioner=None,
        dnn_input_layer_to_tree=True,
        dnn_steps_to_train=10000,
        predict_with_tree_only=False,
        tree_feature_columns=None,
        tree_center_bias=False,
        dnn_to_tree_distillation_param=None,
        use_core_versions=False,
        override_global_step_value=None,
    ):
        given = dict(locals())
        check_classes(n_classes, tree_learner_config)
        head = build_class_head(n_classes, weight_column_name, label_keys)
        model_fn = _make_model_fn(head, given)
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNBoostedTreeCombinedRegressor(Estimator):
    """A regressor of hidden layers, whose values gradient boosted trees correct.

    Args:
      dnn_hidden_units: list of ints, sizes of the hidden layers.
      dnn_feature_columns: columns of the hidden layers.
      tree_learner_config: the LearnerConfig.
      num_trees: the number of trees.
      tree_examples_per_layer: after so many rows a layer of a tree is grown.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      label_name: not used.
      label_dimension: int, number of labels of an example.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      dnn_optimizer: tf.train.Optimizer, its name, or a function that returns one.
      dnn_activation_fn: activation of the hidden layers.
      dnn_dropout: probability to drop a unit in training, or None.
      dnn_input_layer_partitioner: partitioner of the input layer, or None.
      dnn_input_layer_to_tree: whether the trees split the input layer too.
      dnn_steps_to_train: the steps of the hidden layers, after which the trees grow.
      predict_with_tree_only: whether evaluation and predictions leave the hidden layers out.
      tree_feature_columns: columns of the trees; None to take each tensor as it is.
      tree_center_bias: whether the first tree starts from a bias.
      dnn_to_tree_distillation_param: not supported; must be None.
      use_core_versions: whether the columns are those of tf.feature_column; both work in any case.
      override_global_step_value: the global step after the last tree, or None.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        dnn_hidden_units,
        dnn_feature_columns,
        tree_learner_config,
        num_trees,
        tree_examples_per_layer,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_name=None,
        label_dimension=1,
        feature_engineering_fn=None,
        dnn_optimizer="Adagrad",
        dnn_activation_fn=tf.nn.relu,
        dnn_dropout=None,
        dnn_input_layer_partitioner=None,
        dnn_input_layer_to_tree=True,
        dnn_steps_to_train=10000,
        predict_with_tree_only=False,
        tree_feature_columns=None,
        tree_center_bias=False,
        dnn_to_tree_distillation_param=None,
        use_core_versions=False,
        override_global_step_value=None,
    ):
        given = dict(locals())
        head = regression_head(None, weight_column_name, label_dimension)
        model_fn = _make_model_fn(head, given)
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
