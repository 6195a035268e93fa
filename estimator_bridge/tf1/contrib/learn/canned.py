"""The canned estimators of `tf.contrib.learn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import model_fns as _model_fns
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head, regression_head
from estimator_bridge.tf1.contrib.learn.predicting import Classifier, Regressor
from estimator_bridge.tf1.contrib.learn.sdca import is_sdca, sdca_model_fn

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]


class LinearClassifier(Classifier):
    """A linear classifier.

    Args:
      feature_columns: columns of tf.contrib.layers.
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Ftrl.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      _joint_weight: whether the sparse columns share one variable.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      label_keys: list of the strings that labels are, with three or more classes; or None.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        optimizer=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        _joint_weight=False,
        config=None,
        feature_engineering_fn=None,
        label_keys=None,
    ):
        head = multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        refused = {
            "_joint_weight is incompatible with the SDCAOptimizer": _joint_weight,
            "SDCA only applies to binary classification.": n_classes != 2,
        }
        if is_sdca(optimizer, {}) and enable_centered_bias:
            raise ValueError("enable_centered_bias is not supported with SDCA")
        if is_sdca(optimizer, refused):
            model_fn = sdca_model_fn(
                head, list(feature_columns), optimizer, weight_column_name, "logistic_loss"
            )
        else:
            model_fn = _model_fns.linear_model_fn(
                head, feature_columns, optimizer, gradient_clip_norm, _joint_weight
            )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class LinearRegressor(Regressor):
    """A linear regressor.

    Args:
      feature_columns: columns of tf.contrib.layers.
      model_dir: directory for checkpoints and summaries, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Ftrl.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      label_dimension: int, number of labels of an example.
      _joint_weights: whether the sparse columns share one variable.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        weight_column_name=None,
        optimizer=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        label_dimension=1,
        _joint_weights=False,
        config=None,
        feature_engineering_fn=None,
    ):
        refused = {
            "SDCA only applies for label_dimension=1.": label_dimension != 1,
            "_joint_weights is incompatible with SDCAOptimizer.": _joint_weights,
        }
        if is_sdca(optimizer, refused):
            # Without a centered bias, as in 1.x.
            head = regression_head(None, weight_column_name, label_dimension)
            model_fn = sdca_model_fn(
                head, list(feature_columns), optimizer, weight_column_name, "squared_loss"
            )
        else:
            head = regression_head(None, weight_column_name, label_dimension, enable_centered_bias)
            model_fn = _model_fns.linear_model_fn(
                head, feature_columns, optimizer, gradient_clip_norm, _joint_weights
            )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNClassifier(Classifier):
    """A classifier with hidden layers.

    Args:
      hidden_units: list of ints, sizes of the hidden layers.
      feature_columns: columns of tf.contrib.layers.
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Adagrad.
      activation_fn: activation of the hidden layers.
      dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      input_layer_min_slice_size: int, smallest part of a table in bytes, or None.
      label_keys: list of the strings that labels are, with three or more classes; or None.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        optimizer=None,
        activation_fn=tf.nn.relu,
        dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        label_keys=None,
    ):
        head = multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        network = (hidden_units, activation_fn, dropout, input_layer_min_slice_size)
        model_fn = _model_fns.deep_model_fn(
            head,
            list(feature_columns),
            network,
            optimizer,
            gradient_clip_norm,
            embedding_lr_multipliers,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNRegressor(Regressor):
    """A regressor with hidden layers.

    Args:
      hidden_units: list of ints, sizes of the hidden layers.
      feature_columns: columns of tf.contrib.layers.
      model_dir: directory for checkpoints and summaries, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Adagrad.
      activation_fn: activation of the hidden layers.
      dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      label_dimension: int, number of labels of an example.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      input_layer_min_slice_size: int, smallest part of a table in bytes, or None.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        weight_column_name=None,
        optimizer=None,
        activation_fn=tf.nn.relu,
        dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        label_dimension=1,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
    ):
        head = regression_head(None, weight_column_name, label_dimension, enable_centered_bias)
        network = (hidden_units, activation_fn, dropout, input_layer_min_slice_size)
        model_fn = _model_fns.deep_model_fn(
            head,
            list(feature_columns),
            network,
            optimizer,
            gradient_clip_norm,
            embedding_lr_multipliers,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNLinearCombinedClassifier(Classifier):
    """A classifier with a linear part and a part with hidden layers.

    Args:
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      linear_feature_columns: columns of the linear part, or None.
      linear_optimizer: optimizer of the linear part; None for Ftrl.
      _joint_linear_weights: whether the sparse columns share one variable.
      dnn_feature_columns: columns of the deep part, or None.
      dnn_optimizer: optimizer of the deep part; None for Adagrad.
      dnn_hidden_units: list of ints, sizes of the hidden layers, or None.
      dnn_activation_fn: activation of the hidden layers.
      dnn_dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      input_layer_min_slice_size: int, smallest part of a table in bytes, or None.
      label_keys: list of the strings that labels are, with three or more classes; or None.
      fix_global_step_increment_bug: whether a step counts once; otherwise once for each part.
    """

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        linear_feature_columns=None,
        linear_optimizer=None,
        _joint_linear_weights=False,
        dnn_feature_columns=None,
        dnn_optimizer=None,
        dnn_hidden_units=None,
        dnn_activation_fn=tf.nn.relu,
        dnn_dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        label_keys=None,
        fix_global_step_increment_bug=False,
    ):
        head = multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        network = (
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_min_slice_size,
        )
        model_fn = _model_fns.combined_model_fn(
            head,
            (list(linear_feature_columns or ()), linear_optimizer, _joint_linear_weights),
            (list(dnn_feature_columns or ()), dnn_optimizer, network, embedding_lr_multipliers),
            gradient_clip_norm,
            fix_global_step_increment_bug,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNLinearCombinedRegressor(Regressor):
    """A regressor with a linear part and a part with hidden layers.

    Args:
      model_dir: directory for checkpoints and summaries, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      linear_feature_columns: columns of the linear part, or None.
      linear_optimizer: optimizer of the linear part; None for Ftrl.
      _joint_linear_weights: whether the sparse columns share one variable.
      dnn_feature_columns: columns of the deep part, or None.
      dnn_optimizer: optimizer of the deep part; None for Adagrad.
      dnn_hidden_units: list of ints, sizes of the hidden layers, or None.
      dnn_activation_fn: activation of the hidden layers.
      dnn_dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      label_dimension: int, number of labels of an example.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      input_layer_min_slice_size: int, smallest part of a table in bytes, or None.
      fix_global_step_increment_bug: whether a step counts once; otherwise once for each part.
    """

    def __init__(
        self,
        model_dir=None,
        weight_column_name=None,
        linear_feature_columns=None,
        linear_optimizer=None,
        _joint_linear_weights=False,
        dnn_feature_columns=None,
        dnn_optimizer=None,
        dnn_hidden_units=None,
        dnn_activation_fn=tf.nn.relu,
        dnn_dropout=None,
        gradient_clip_norm=None,
        enable_centered_bias=False,
        label_dimension=1,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
        fix_global_step_increment_bug=False,
    ):
        head = regression_head(None, weight_column_name, label_dimension, enable_centered_bias)
        network = (
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_min_slice_size,
        )
        model_fn = _model_fns.combined_model_fn(
            head,
            (list(linear_feature_columns or ()), linear_optimizer, _joint_linear_weights),
            (list(dnn_feature_columns or ()), dnn_optimizer, network, embedding_lr_multipliers),
            gradient_clip_norm,
            fix_global_step_increment_bug,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


def infer_real_valued_columns_from_input_fn(input_fn):
    """Returns a numeric column for each feature of an input_fn.

    Args:
      input_fn: function that returns (features, labels); a single tensor gets the name "".

    Returns:
      List of numeric columns, sorted by name.
    """
    with tf.Graph().as_default():
        features, _ = input_fn()
        if not isinstance(features, dict):
            features = {"": features}
        return [
            tf.feature_column.numeric_column(
                name, shape=[int(dim) for dim in tensor.shape[1:]] or (1,), dtype=tensor.dtype
            )
            for name, tensor in sorted(features.items())
        ]


def infer_real_valued_columns_from_input(x):
    """Returns a numeric column for the columns of an array.

    Args:
      x: array [rows, columns].

    Returns:
      List of one numeric column, named "".
    """
    return [tf.feature_column.numeric_column("", shape=x.shape[1:] or (1,))]
