"""The model_fns of the Estimators of `tf.contrib.tensor_forest`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_head as _core_head
from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head, regression_head
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys, ModelFnOps
from estimator_bridge.tf1.contrib.tensor_forest.data_ops import ParseDataTensorOrDict
from estimator_bridge.tf1.contrib.tensor_forest.hooks import (
    TensorForestLossHook,
    TensorForestRunOpAtEndHook,
)
from estimator_bridge.tf1.contrib.tensor_forest.state import frozen, make_saver

__all__ = ["ModelBuilderOutputType", "get_combined_model_fn", "get_model_fn"]

EPSILON = 0.000001
VARIANCE = "prediction_variance"
ALL_SERVING_KEY = "tensorforest_all"


class ModelBuilderOutputType:
    """What a model_fn returns."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


def get_model_fn(
    params,
    graph_builder_class,
    device_assigner,
    feature_columns=None,
    weights_name=None,
    model_head=None,
    keys_name=None,
    early_stopping_rounds=100,
    early_stopping_loss_threshold=0.001,
    num_trainers=1,
    trainer_id=0,
    report_feature_importances=False,
    local_eval=False,
    head_scope=None,
    include_all_in_serving=False,
    output_type=ModelBuilderOutputType.MODEL_FN_OPS,
):
    """Returns the model_fn of a random forest.

    Args:
      params: ForestHParams, filled.
      graph_builder_class: class with the interface of RandomForestGraphs.
      device_assigner: without effect.
      feature_columns: columns of the input, or None for all features.
      weights_name: name of the feature with the weights of the rows, or None.
      model_head: head; None for the one of `params`.
      keys_name: name of a feature that is passed on to the predictions, or None.
      early_stopping_rounds: int, steps without a smaller loss after which training stops; 0 for
        never.
      early_stopping_loss_threshold: share of the loss by which it must become smaller.
      num_trainers: int, number of workers between which the trees are divided.
      trainer_id: int, the number of this one.
      report_feature_importances: whether to log the columns' importances when training ends.
      local_eval: without effect.
      head_scope: name of the head's scope, or None.
      include_all_in_serving: whether an export answers with all predictions.
      output_type: one of ModelBuilderOutputType.

    Returns:
      Function of (features, labels, mode).
    """
    del local_eval
    core = output_type == ModelBuilderOutputType.ESTIMATOR_SPEC
    head = model_head or _default_head(params, weights_name, core, head_scope)

    def model_fn(features, labels, mode):
        features, weights, keys = _take(features, weights_name, keys_name)
        data = _select(features, feature_columns, core)
        if mode == ModeKeys.TRAIN:
            builder = graph_builder_class(params, device_assigner=device_assigner)
        else:
            with frozen():
                builder = graph_builder_class(
                    params, device_assigner=device_assigner, training=False
                )
        mean, _, variance = builder.inference_graph(data)
        logits = mean if params.regression or params.num_classes != 2 else _log_odds(mean)
        tf.summary.scalar("average_tree_size", builder.average_size())

        def train(loss):
            del loss
            grow = builder.training_graph(
                data,
                labels,
                input_weights=weights,
                num_trainers=num_trainers,
                trainer_id=trainer_id,
            )
            return tf.group(grow, tf.assign_add(tf.train.get_global_step(), 1))

        given = features if isinstance(features, dict) else {"": features}
        given = given if weights is None else {**given, weights_name: weights}
        make = head.create_estimator_spec if core else head.create_model_fn_ops
        made = make(features=given, mode=mode, logits=logits, labels=labels, train_op_fn=train)
        if mode == ModeKeys.TRAIN:
            hooks = list(made.training_hooks or ())
            at_end = {}
            if report_feature_importances:
                at_end["1: feature_importances"] = builder.feature_importances()
            hooks.append(TensorForestRunOpAtEndHook(at_end))
            if early_stopping_rounds:
                hooks.append(
                    TensorForestLossHook(
                        early_stopping_rounds,
                        early_stopping_loss_threshold=early_stopping_loss_threshold,
                        loss_op=made.loss,
                    )
                )
            return made._replace(training_hooks=hooks)
        predictions = {**made.predictions, VARIANCE: variance}
        if keys is not None:
            predictions[keys_name] = keys
        made = made._replace(predictions=predictions, scaffold=_scaffold([builder.variables]))
        if include_all_in_serving and core and made.export_outputs:
            output = tf.estimator.export.PredictOutput(predictions)
            made = made._replace(
                export_outputs={ALL_SERVING_KEY: output, "serving_default": output}
            )
        return made

    return model_fn


class _Scaffold(tf.train.Scaffold):
    """A Scaffold whose Saver is made when the graph is complete."""

    def __init__(self, forests):
        super().__init__()
        self.forests = forests

    def finalize(self):
        if self._saver is None:
            self._saver = make_saver(self.forests)
        return super().finalize()

    @property
    def saver(self):
        if self._saver is None:
            self._saver = make_saver(self.forests)
        return self._saver


def _scaffold(forests):
    return _Scaffold(forests)


def get_combined_model_fn(model_fns):
    """Returns a model_fn that combines several, each for a column of the labels.

    Args:
      model_fns: list of functions from `get_model_fn`.
    """

    def combined(features, labels, mode):
        made = []
        for number, model_fn in enumerate(model_fns):
            with tf.variable_scope(f"label_{number}"), tf.name_scope(f"label_{number}/"):
                label = None if labels is None else tf.slice(labels, [0, number], [-1, 1])
                label = None if label is None else tf.squeeze(label, [1])
                made.append(model_fn(features, label, mode))
        loss = train_op = None
        if mode != ModeKeys.INFER:
            losses = [one.loss for one in made]
            for number, one in enumerate(losses):
                tf.summary.scalar(f"loss/head{number}", one)
            loss = tf.add_n(losses) / len(losses)
        if mode == ModeKeys.TRAIN:
            train_op = tf.group(*(one.train_op for one in made))
        predictions = {}
        if mode != ModeKeys.TRAIN:
            predictions = {
                "probabilities": tf.concat([one.predictions["probabilities"] for one in made], 1),
                "classes": tf.stack([one.predictions["classes"] for one in made], 1),
            }
        forests = [forest for one in made if one.scaffold for forest in one.scaffold.forests]
        return ModelFnOps(
            mode,
            predictions,
            loss,
            train_op,
            training_hooks=[hook for one in made for hook in one.training_hooks or ()],
            scaffold=_scaffold(forests) if forests else None,
        )

    return combined


def _take(features, weights_name, keys_name):
    """Returns the features without weights and keys, the weights, and the keys."""
    weights = keys = None
    if isinstance(features, dict):
        features = dict(features)
        weights = None if weights_name is None else features.pop(weights_name)
        keys = None if keys_name is None else features.pop(keys_name, None)
    return features, weights, keys


def _select(features, feature_columns, core):
    """Returns the input of the forest: all features, or columns.

    In an Estimator of tf.contrib.learn, 1.x takes the features beside their columns.
    """
    if not feature_columns:
        return features
    columns = list(feature_columns)
    if core:
        return tf.feature_column.input_layer(features, columns)
    found = layers.input_from_feature_columns(features, columns)
    return tf.concat([found, ParseDataTensorOrDict(features)[0]], 1)


def _log_odds(mean):
    """Returns the logit of the second class, float32 [batch, 1]."""
    share = tf.slice(mean, [0, 1], [-1, 1])
    return tf.log(tf.maximum(share / tf.maximum(1.0 - share, EPSILON), EPSILON))


def _default_head(params, weights_name, core, name):
    if core:
        if params.regression:
            return _core_head._regression_head(
                weight_column=weights_name,
                label_dimension=params.num_outputs,
                loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
                name=name,
            )
        make = (
            _core_head._binary_logistic_head_with_sigmoid_cross_entropy_loss
            if params.num_classes == 2
            else _core_head._multi_class_head_with_softmax_cross_entropy_loss
        )
        classes = {} if params.num_classes == 2 else {"n_classes": params.num_classes}
        return make(
            weight_column=weights_name,
            loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
            name=name,
            **classes,
        )
    if params.regression:
        head = regression_head(None, weights_name, params.num_outputs)
    else:
        head = multi_class_head(params.num_classes, None, weights_name)
    if name:
        head.scope_name = name
    return head
