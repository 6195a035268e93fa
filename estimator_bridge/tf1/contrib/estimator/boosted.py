"""Boosted trees of `tf.contrib.estimator`, which are trained by all rows at once."""

import tensorflow.compat.v1 as tf

__all__ = ["boosted_trees_classifier_train_in_memory", "boosted_trees_regressor_train_in_memory"]


def _train(make, train_input_fn, train_hooks, feature_columns, options):
    def input_fn():
        rows = train_input_fn()
        # A Dataset gives its one batch again in each step.
        return rows.repeat() if isinstance(rows, tf.data.Dataset) else rows

    model = make(feature_columns, n_batches_per_layer=1, train_in_memory=True, **options)
    model.train(input_fn, hooks=train_hooks)
    return model


def boosted_trees_classifier_train_in_memory(  # noqa: PLR0913
    train_input_fn,
    feature_columns,
    model_dir=None,
    n_classes=2,
    weight_column=None,
    label_vocabulary=None,
    n_trees=100,
    max_depth=6,
    learning_rate=0.1,
    l1_regularization=0.0,
    l2_regularization=0.0,
    tree_complexity=0.0,
    min_node_weight=0.0,
    config=None,
    train_hooks=None,
    center_bias=False,
    pruning_mode="none",
    quantile_sketch_epsilon=0.01,
):
    """Trains a classifier of boosted trees by all rows at once, to its end.

    Args:
      train_input_fn: gives all rows as one batch: tensors, or a Dataset of one element.
      feature_columns: as for tf.estimator.BoostedTreesClassifier, like all that follow.
      model_dir: the folder of checkpoints.
      n_classes: the number of classes.
      weight_column: the feature with the weights of rows, or None.
      label_vocabulary: the labels, if they are strings.
      n_trees: the number of trees.
      max_depth: the number of layers of a tree.
      learning_rate: the part of each leaf that is added.
      l1_regularization: is taken from the absolute gradient of a leaf.
      l2_regularization: is added to the hessian of a leaf.
      tree_complexity: is taken from the gain of each split; needs pruning.
      min_node_weight: a node with a smaller hessian is not split.
      config: the RunConfig.
      train_hooks: session hooks of training, or None.
      center_bias: whether the first tree starts from the mean of the labels.
      pruning_mode: 'none', 'pre' or 'post'.
      quantile_sketch_epsilon: the error of the quantiles that bound the buckets of numbers.

    Returns:
      the trained tf.estimator.BoostedTreesClassifier.

    Raises:
      ValueError: an option cannot be used.
    """
    options = dict(locals())
    given = [options.pop(name) for name in ("train_input_fn", "train_hooks", "feature_columns")]
    return _train(tf.estimator.BoostedTreesClassifier, *given, options)


def boosted_trees_regressor_train_in_memory(  # noqa: PLR0913
    train_input_fn,
    feature_columns,
    model_dir=None,
    label_dimension=1,
    weight_column=None,
    n_trees=100,
    max_depth=6,
    learning_rate=0.1,
    l1_regularization=0.0,
    l2_regularization=0.0,
    tree_complexity=0.0,
    min_node_weight=0.0,
    config=None,
    train_hooks=None,
    center_bias=False,
    pruning_mode="none",
    quantile_sketch_epsilon=0.01,
):
    """Trains a regressor of boosted trees by all rows at once, to its end.

    Args:
      train_input_fn: gives all rows as one batch: tensors, or a Dataset of one element.
      feature_columns: as for tf.estimator.BoostedTreesRegressor, like all that follow.
      model_dir: the folder of checkpoints.
      label_dimension: the number of values of a label.
      weight_column: the feature with the weights of rows, or None.
      n_trees: the number of trees.
      max_depth: the number of layers of a tree.
      learning_rate: the part of each leaf that is added.
      l1_regularization: is taken from the absolute gradient of a leaf.
      l2_regularization: is added to the hessian of a leaf.
      tree_complexity: is taken from the gain of each split; needs pruning.
      min_node_weight: a node with a smaller hessian is not split.
      config: the RunConfig.
      train_hooks: session hooks of training, or None.
      center_bias: whether the first tree starts from the mean of the labels.
      pruning_mode: 'none', 'pre' or 'post'.
      quantile_sketch_epsilon: the error of the quantiles that bound the buckets of numbers.

    Returns:
      the trained tf.estimator.BoostedTreesRegressor.

    Raises:
      ValueError: an option cannot be used.
    """
    options = dict(locals())
    given = [options.pop(name) for name in ("train_input_fn", "train_hooks", "feature_columns")]
    return _train(tf.estimator.BoostedTreesRegressor, *given, options)
