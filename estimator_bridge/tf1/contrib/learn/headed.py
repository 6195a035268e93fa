"""The canned estimators of `tf.contrib.learn` whose head the program chooses."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import model_fns as _model_fns
from estimator_bridge.tf1.contrib.learn.fitting import Estimator

__all__ = ["DNNEstimator", "DNNLinearCombinedEstimator", "LinearEstimator"]


class LinearEstimator(Estimator):
    """A linear model.

    Args:
      feature_columns: columns of tf.contrib.layers.
      head: head of tf.contrib.learn.
      model_dir: directory for checkpoints and summaries, or None.
      weight_column_name: ignored, as in 1.x: the head has the weights.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Ftrl.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      _joint_weights: whether the sparse columns share one variable.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
    """

    def __init__(
        self,
        feature_columns,
        head,
        model_dir=None,
        weight_column_name=None,
        optimizer=None,
        gradient_clip_norm=None,
        _joint_weights=False,
        config=None,
        feature_engineering_fn=None,
    ):
        del weight_column_name
        model_fn = _model_fns.linear_model_fn(
            head, feature_columns, optimizer, gradient_clip_norm, _joint_weights
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)


class DNNEstimator(Estimator):
    """A model with hidden layers.

    Args:
      head: head of tf.contrib.learn.
      hidden_units: list of ints, sizes of the hidden layers.
      feature_columns: columns of tf.contrib.layers.
      model_dir: directory for checkpoints and summaries, or None.
      optimizer: tf.train.Optimizer, its name or a function that returns one; None for Adagrad.
      activation_fn: activation of the hidden layers, or its name in tf.nn.
      dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      input_layer_min_slice_size: int, smallest part of a table in bytes, or None.
    """

    def __init__(
        self,
        head,
        hidden_units,
        feature_columns,
        model_dir=None,
        optimizer=None,
        activation_fn=tf.nn.relu,
        dropout=None,
        gradient_clip_norm=None,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
    ):
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


class DNNLinearCombinedEstimator(Estimator):
    """A model with a linear part and a part with hidden layers.

    Args:
      head: head of tf.contrib.learn.
      model_dir: directory for checkpoints and summaries, or None.
      linear_feature_columns: columns of the linear part, or None.
      linear_optimizer: optimizer of the linear part; None for Ftrl.
      _joint_linear_weights: whether the sparse columns share one variable.
      dnn_feature_columns: columns of the deep part, or None.
      dnn_optimizer: optimizer of the deep part; None for Adagrad.
      dnn_hidden_units: list of ints, sizes of the hidden layers, or None.
      dnn_activation_fn: activation of the hidden layers; None for tf.nn.relu.
      dnn_dropout: probability to drop a unit in training, or None.
      gradient_clip_norm: number to which the global norm of gradients is clipped, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      embedding_lr_multipliers: {embedding column: factor of its gradients}, or None.
      fix_global_step_increment_bug: whether a step counts once; otherwise once for each part.
      input_layer_partitioner: partitioner of the tables of the deep part, or None.
    """

    def __init__(
        self,
        head,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer=None,
        _joint_linear_weights=False,
        dnn_feature_columns=None,
        dnn_optimizer=None,
        dnn_hidden_units=None,
        dnn_activation_fn=None,
        dnn_dropout=None,
        gradient_clip_norm=None,
        config=None,
        feature_engineering_fn=None,
        embedding_lr_multipliers=None,
        fix_global_step_increment_bug=False,
        input_layer_partitioner=None,
    ):
        network = (
            dnn_hidden_units,
            dnn_activation_fn or tf.nn.relu,
            dnn_dropout,
            input_layer_partitioner,
        )
        model_fn = _model_fns.combined_model_fn(
            head,
            (list(linear_feature_columns or ()), linear_optimizer, _joint_linear_weights),
            (list(dnn_feature_columns or ()), dnn_optimizer, network, embedding_lr_multipliers),
            gradient_clip_norm,
            fix_global_step_increment_bug,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
