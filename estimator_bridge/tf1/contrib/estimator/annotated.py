"""The estimators with layer annotations of `tf.contrib.estimator`.

In 1.15.5 they annotate nothing: neither graphs nor exports have the collections of annotations.
"""

import tensorflow.compat.v1 as tf

__all__ = ["DNNClassifierWithLayerAnnotations", "DNNRegressorWithLayerAnnotations"]


def DNNClassifierWithLayerAnnotations(
    hidden_units,
    feature_columns,
    model_dir=None,
    n_classes=2,
    weight_column=None,
    label_vocabulary=None,
    optimizer="Adagrad",
    activation_fn=tf.nn.relu,
    dropout=None,
    input_layer_partitioner=None,
    config=None,
    warm_start_from=None,
    loss_reduction=tf.losses.Reduction.SUM,
):
    """Returns a tf.estimator.DNNClassifier, as 1.15.5 does in effect.

    Args:
      hidden_units: list of ints, sizes of the hidden layers.
      feature_columns: dense columns of tf.feature_column.
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column: name or numeric column of the examples' weights, or None.
      label_vocabulary: list of the strings that labels are, or None.
      optimizer: tf.train.Optimizer, or its name.
      activation_fn: activation of the hidden layers.
      dropout: probability to drop a unit in training, or None.
      input_layer_partitioner: partitioner of the input layer, or None.
      config: RunConfig, or None.
      warm_start_from: checkpoint or WarmStartSettings, or None.
      loss_reduction: one of tf.losses.Reduction, except NONE.

    Returns:
      tf.estimator.DNNClassifier.
    """
    return tf.estimator.DNNClassifier(
        hidden_units,
        feature_columns,
        model_dir=model_dir,
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        optimizer=optimizer,
        activation_fn=activation_fn,
        dropout=dropout,
        input_layer_partitioner=input_layer_partitioner,
        config=config,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
    )


def DNNRegressorWithLayerAnnotations(
    hidden_units,
    feature_columns,
    model_dir=None,
    label_dimension=1,
    weight_column=None,
    optimizer="Adagrad",
    activation_fn=tf.nn.relu,
    dropout=None,
    input_layer_partitioner=None,
    config=None,
    warm_start_from=None,
    loss_reduction=tf.losses.Reduction.SUM,
):
    """Returns a tf.estimator.DNNRegressor, as 1.15.5 does in effect.

    Args:
      hidden_units: list of ints, sizes of the hidden layers.
      feature_columns: dense columns of tf.feature_column.
      model_dir: directory for checkpoints and summaries, or None.
      label_dimension: int, number of labels of an example.
      weight_column: name or numeric column of the examples' weights, or None.
      optimizer: tf.train.Optimizer, or its name.
      activation_fn: activation of the hidden layers.
      dropout: probability to drop a unit in training, or None.
      input_layer_partitioner: partitioner of the input layer, or None.
      config: RunConfig, or None.
      warm_start_from: checkpoint or WarmStartSettings, or None.
      loss_reduction: one of tf.losses.Reduction, except NONE.

    Returns:
      tf.estimator.DNNRegressor.
    """
    return tf.estimator.DNNRegressor(
        hidden_units,
        feature_columns,
        model_dir=model_dir,
        label_dimension=label_dimension,
        weight_column=weight_column,
        optimizer=optimizer,
        activation_fn=activation_fn,
        dropout=dropout,
        input_layer_partitioner=input_layer_partitioner,
        config=config,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
    )
