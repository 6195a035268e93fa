"""The model_fn of hidden layers whose logits trees correct."""

from typing import NamedTuple

import tensorflow.compat.v1 as tf

from estimator_bridge.gradient_trees.model import End, GradientTrees
from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.boosted_trees.estimator_batch.model_fns import (
    build_options,
    replace_fields,
)
from estimator_bridge.tf1.contrib.learn import model_parts as _parts
from estimator_bridge.tf1.contrib.learn.model_spec import ModelFnOps

__all__ = ["DeepArguments", "make_combined_model_fn"]

_LEARNING_RATE = 0.001
_SLICE_BYTES = 64 << 20


class DeepArguments(NamedTuple):
    """The arguments of an Estimator that its hidden layers need.

    Attributes:
      dnn_hidden_units: sizes of the hidden layers.
      dnn_feature_columns: their columns.
      dnn_optimizer: tf.train.Optimizer, its name, or a function that returns one.
      dnn_activation_fn: activation of the hidden layers.
      dnn_dropout: probability to drop a unit in training, or None.
      dnn_input_layer_partitioner: partitioner of the input layer, or None.
      dnn_input_layer_to_tree: whether the trees split the input layer too.
      dnn_steps_to_train: the steps of the hidden layers, after which the trees grow.
      predict_with_tree_only: whether evaluation and predictions leave the hidden layers out.
    """

    dnn_hidden_units: object
    dnn_feature_columns: object
    dnn_optimizer: object
    dnn_activation_fn: object
    dnn_dropout: object
    dnn_input_layer_partitioner: object
    dnn_input_layer_to_tree: bool
    dnn_steps_to_train: int
    predict_with_tree_only: bool


def make_combined_model_fn(head, deep, arguments):
    """Returns the model_fn of hidden layers and trees.

    Args:
      head: a head of tf.contrib.learn.
      deep: the arguments of the hidden layers, as DeepArguments.
      arguments: the arguments of the trees, as TreeArguments.
    """

    def model_fn(features, labels, mode, config):
        options = build_options(head, arguments, mode, config)
        training = mode == tf.estimator.ModeKeys.TRAIN
        layer, deep_logits = _build_deep(features, deep, head.logits_dimension, config, training)
        trees = GradientTrees(
            features,
            arguments.feature_columns,
            options,
            mode,
            End(arguments.num_trees, arguments.override_global_step_value),
            [("dnn_input_layer", layer)] if deep.dnn_input_layer_to_tree else [],
        )
        both = deep_logits + trees.logits
        if not training:
            logits = trees.logits if deep.predict_with_tree_only else both
            spec = head.create_model_fn_ops(features, mode, labels=labels, logits=logits)
            tf.train.get_or_create_global_step()
            return replace_fields(spec, scaffold=tf.train.Scaffold(saver=trees.build_saver()))

        def deep_step(loss):
            return layers.optimize_loss(
                loss=loss,
                global_step=tf.train.get_global_step(),
                learning_rate=_LEARNING_RATE,
                optimizer=_parts.make_optimizer(
                    deep.dnn_optimizer, tf.train.AdagradOptimizer, _LEARNING_RATE
                ),
                variables=tf.get_collection(_parts.DEEP),
                name=_parts.DEEP,
                summaries=[],
            )

        def tree_step(loss):
            with tf.control_dependencies([trees.train(loss)]):
                return tf.assign_add(tf.train.get_global_step(), 1).op

        # As in 1.14: the loss that is shown, and one for each part.
        kinds = ((both, lambda loss: tf.no_op()), (deep_logits, deep_step), (both, tree_step))
        shown, of_deep, of_trees = (
            head.create_model_fn_ops(features, mode, labels, step, logits) for logits, step in kinds
        )
        steps = of_deep.train_op, of_trees.train_op
        switch = _SwitchHook(steps, deep.dnn_steps_to_train, layer)
        return ModelFnOps(
            mode,
            shown.predictions,
            shown.loss,
            shown.train_op,
            training_hooks=[switch, *trees.hooks],
        )

    return model_fn


def _build_deep(features, deep, dimension, config, training):
    """Returns the input layer and the logits of the hidden layers."""
    values = tuple(features.values())
    partitioner = _parts.make_partitioner(config)
    with tf.variable_scope(_parts.DEEP, values=values, partitioner=partitioner):
        of_input = deep.dnn_input_layer_partitioner or _parts.make_partitioner(config, _SLICE_BYTES)
        layer = _parts.build_deep_input(features, list(deep.dnn_feature_columns), of_input)
        network = (deep.dnn_hidden_units, deep.dnn_activation_fn, deep.dnn_dropout)
        return layer, _parts.build_deep_layers(layer, dimension, network, "{}_{}", training)


class _SwitchHook(tf.train.SessionRunHook):
    """Runs the step of the hidden layers, and after enough of them that of the trees."""

    def __init__(self, steps, num_steps, batch):
        self._deep, self._trees = steps
        self._num_steps = num_steps
        self._batch = batch
        self._step = 0

    def begin(self):
        """Finds the global step."""
        self._global_step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        """Reads how many steps were done."""
        del coord
        # As in 1.14, a session leaves its first batch out.
        self._step, _ = session.run([self._global_step, self._batch])

    def before_run(self, run_context):
        """Chooses the step."""
        del run_context
        chosen = self._deep if self._step < self._num_steps else self._trees
        self._step += 1
        return tf.train.SessionRunArgs(chosen)
