"""`tf.contrib.estimator`; most of its names moved to tf.estimator(.experimental)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_early_stopping as _early_stopping
from estimator_bridge.private_tf import estimator_export as _export
from estimator_bridge.private_tf import estimator_saved_model as _saved_model_estimator
from estimator_bridge.tf1.contrib.estimator import annotated as _annotated
from estimator_bridge.tf1.contrib.estimator import boosted as _boosted
from estimator_bridge.tf1.contrib.estimator import extenders as _extenders
from estimator_bridge.tf1.contrib.estimator import heads as _heads
from estimator_bridge.tf1.contrib.estimator import rnn as _rnn
from estimator_bridge.tf1.contrib.estimator import towers as _towers
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

_experimental = tf.estimator.experimental

add_metrics = tf.estimator.add_metrics
InMemoryEvaluatorHook = _experimental.InMemoryEvaluatorHook
make_early_stopping_hook = _experimental.make_early_stopping_hook
make_stop_at_checkpoint_step_hook = _experimental.make_stop_at_checkpoint_step_hook
read_eval_metrics = _early_stopping.read_eval_metrics
stop_if_higher_hook = _experimental.stop_if_higher_hook
stop_if_lower_hook = _experimental.stop_if_lower_hook
stop_if_no_decrease_hook = _experimental.stop_if_no_decrease_hook
stop_if_no_increase_hook = _experimental.stop_if_no_increase_hook
build_raw_supervised_input_receiver_fn = _experimental.build_raw_supervised_input_receiver_fn
build_supervised_input_receiver_fn_from_input_fn = (
    _export.build_supervised_input_receiver_fn_from_input_fn
)
call_logit_fn = _experimental.call_logit_fn
dnn_logit_fn_builder = _experimental.dnn_logit_fn_builder
linear_logit_fn_builder = _experimental.linear_logit_fn_builder

DNNEstimator = tf.estimator.DNNEstimator
LinearEstimator = tf.estimator.LinearEstimator
DNNLinearCombinedEstimator = tf.estimator.DNNLinearCombinedEstimator
BaselineEstimator = tf.estimator.BaselineEstimator
SavedModelEstimator = _saved_model_estimator.SavedModelEstimator

DNNClassifierWithLayerAnnotations = _annotated.DNNClassifierWithLayerAnnotations
DNNRegressorWithLayerAnnotations = _annotated.DNNRegressorWithLayerAnnotations

boosted_trees_classifier_train_in_memory = _boosted.boosted_trees_classifier_train_in_memory
boosted_trees_regressor_train_in_memory = _boosted.boosted_trees_regressor_train_in_memory

binary_classification_head = _heads.binary_classification_head
logistic_regression_head = _heads.logistic_regression_head
multi_class_head = _heads.multi_class_head
multi_head = _heads.multi_head
multi_label_head = _heads.multi_label_head
poisson_regression_head = _heads.poisson_regression_head
regression_head = _heads.regression_head

RNNClassifier = _rnn.RNNClassifier
RNNEstimator = _rnn.RNNEstimator
TowerOptimizer = _towers.TowerOptimizer
replicate_model_fn = _towers.replicate_model_fn

clip_gradients_by_norm = _extenders.clip_gradients_by_norm
forward_features = _extenders.forward_features


def export_saved_model_for_mode(
    estimator,
    export_dir_base,
    input_receiver_fn,
    assets_extra=None,
    as_text=False,
    checkpoint_path=None,
    mode=tf.estimator.ModeKeys.PREDICT,
):
    """Exports the graph of one mode as a SavedModel.

    Args:
      estimator: tf.estimator.Estimator.
      export_dir_base: base directory of the exports.
      input_receiver_fn: function that returns the receiver of the mode.
      assets_extra: {destination path: source path} of extra assets, or None.
      as_text: whether to write the SavedModel as text.
      checkpoint_path: prefix of the checkpoint, or None for the latest.
      mode: one of tf.estimator.ModeKeys.

    Returns:
      Directory of the export.
    """
    return estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
        experimental_mode=mode,
    )


def export_all_saved_models(
    estimator,
    export_dir_base,
    input_receiver_fn_map,
    assets_extra=None,
    as_text=False,
    checkpoint_path=None,
):
    """Exports the graphs of several modes as one SavedModel.

    Args:
      estimator: tf.estimator.Estimator.
      export_dir_base: base directory of the exports.
      input_receiver_fn_map: {mode: function that returns its receiver}.
      assets_extra: {destination path: source path} of extra assets, or None.
      as_text: whether to write the SavedModel as text.
      checkpoint_path: prefix of the checkpoint, or None for the latest.

    Returns:
      Directory of the export.
    """
    return estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
