"""The model_fn of linear models that SDCAOptimizer trains."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn import model_parts as _parts

__all__ = ["is_sdca", "sdca_model_fn"]

# The bias is the weight of a column of ones; its name gives the place among the columns.
_BIAS = "tf_virtual_bias_column"


def is_sdca(optimizer, refused):
    """Returns whether an optimizer is an SDCAOptimizer.

    Args:
      optimizer: what a program gave as optimizer.
      refused: {message: whether the model has what SDCA cannot train}.

    Raises:
      AssertionError: the model has what SDCA cannot train.
    """
    # By an attribute: the package of SDCAOptimizer imports this one.
    if not hasattr(optimizer, "example_id_column"):
        return False
    for message, found in refused.items():
        if found:
            raise AssertionError(message)
    return True


def sdca_model_fn(head, columns, optimizer, weight_column_name, loss_type):
    """Returns the model_fn.

    Args:
      head: head of the model, with one logit.
      columns: list of feature columns.
      optimizer: SDCAOptimizer.
      weight_column_name: name of the feature with the examples' weights, or None.
      loss_type: as in SdcaModel.

    Returns:
      The model_fn.
    """

    def model_fn(features, labels, mode):
        hooks = []

        def step(loss):
            del loss
            ones = tf.ones(tf.stack([tf.shape(labels)[0], 1]))
            model, train_op = optimizer.get_train_step(
                {**variables, tf.feature_column.numeric_column(_BIAS): [bias]},
                weight_column_name,
                loss_type,
                {**features, _BIAS: ones},
                labels,
                tf.train.get_global_step(),
            )
            hooks.append(_UpdateWeights(model, train_op))
            return train_op

        with tf.variable_scope(
            _parts.LINEAR, values=tuple(features.values()), partitioner=optimizer.partitioner
        ):
            logits, variables, bias = layers.weighted_sum_from_feature_columns(
                columns_to_tensors=features,
                feature_columns=columns,
                num_outputs=1,
                weight_collections=[_parts.LINEAR],
                scope=tf.get_variable_scope(),
            )
        made = head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=step, logits=logits
        )
        return made._replace(training_chief_hooks=hooks) if hooks else made

    return model_fn


class _UpdateWeights(tf.train.SessionRunHook):
    """Copies the solver's weights to the model after each step, as the chief does."""

    def __init__(self, model, train_op):
        self._model, self._train_op = model, train_op
        self._update = None

    def begin(self):
        self._update = self._model.update_weights(self._train_op)

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._update)
