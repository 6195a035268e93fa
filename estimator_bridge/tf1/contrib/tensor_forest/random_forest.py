"""The Estimators of `tf.contrib.tensor_forest`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.tensor_forest import hooks as _hooks
from estimator_bridge.tf1.contrib.tensor_forest import model as _model
from estimator_bridge.tf1.contrib.tensor_forest.tensor_forest import RandomForestGraphs

__all__ = [
    "CoreTensorForestEstimator",
    "MultiForestMultiHeadEstimator",
    "TensorForestEstimator",
    "TensorForestLossHook",
    "TensorForestRunOpAtEndHook",
    "get_combined_model_fn",
    "get_model_fn",
]

EPSILON = _model.EPSILON
LOSS_NAME = _hooks.LOSS_NAME
KEYS_NAME = "keys"
TREE_PATHS_PREDICTION_KEY = "tree_paths"
VARIANCE_PREDICTION_KEY = _model.VARIANCE
ALL_SERVING_KEY = _model.ALL_SERVING_KEY
ModelBuilderOutputType = _model.ModelBuilderOutputType
TensorForestLossHook = _hooks.TensorForestLossHook
TensorForestRunOpAtEndHook = _hooks.TensorForestRunOpAtEndHook
get_combined_model_fn = _model.get_combined_model_fn
get_model_fn = _model.get_model_fn


def _check_one_process(config):
    if config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError(
            "tf.contrib.tensor_forest: one process grows the forest, on all its processors, not a "
            "cluster; start it alone, without TF_CONFIG"
        )


class TensorForestEstimator(Estimator):
    """A random forest as an Estimator of `tf.contrib.learn`.

    Args:
      params: ForestHParams.
      device_assigner: without effect.
      model_dir: directory for checkpoints and summaries, or None.
      feature_columns: columns of the input, or None for all features.
      graph_builder_class: class with the interface of RandomForestGraphs.
      config: RunConfig, or None.
      weight_column: name of the feature with the weights of the rows, or None.
      keys_column: name of a feature that is passed on to the predictions, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      early_stopping_rounds: int, steps without a smaller loss after which training stops.
      early_stopping_loss_threshold: share of the loss by which it must become smaller.
      num_trainers: int, number of workers between which the trees are divided.
      trainer_id: int, the number of this one.
      report_feature_importances: whether to log the columns' importances when training ends.
      local_eval: without effect.
      version: without effect.
      head: head of tf.contrib.learn; None for the one of `params`.
      include_all_in_serving: whether an export answers with all predictions.
    """

    def __init__(
        self,
        params,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
        version=None,
        head=None,
        include_all_in_serving=False,
    ):
        del version
        model_fn = get_model_fn(
            params.fill(),
            graph_builder_class,
            device_assigner,
            feature_columns=feature_columns,
            weights_name=weight_column,
            model_head=head,
            keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds,
            early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=num_trainers,
            trainer_id=trainer_id,
            report_feature_importances=report_feature_importances,
            local_eval=local_eval,
            include_all_in_serving=include_all_in_serving,
        )
        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
        _check_one_process(self.config)


class MultiForestMultiHeadEstimator(Estimator):
    """Several random forests on the same features, each with a label of its own.

    Args:
      params_list: list of ForestHParams.
      device_assigner: without effect.
      model_dir: directory for checkpoints and summaries, or None.
      feature_columns: columns of the input, or None for all features.
      graph_builder_class: class with the interface of RandomForestGraphs.
      config: RunConfig, or None.
      weight_column: name of the feature with the weights of the rows, or None.
      keys_column: name of a feature that is left out of the input, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      early_stopping_rounds: int, steps without a smaller loss after which training stops.
      num_trainers: int, number of workers between which the trees are divided.
      trainer_id: int, the number of this one.
      report_feature_importances: whether to log the columns' importances when training ends.
      local_eval: without effect.
    """

    def __init__(
        self,
        params_list,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
    ):
        model_fns = [
            get_model_fn(
                params.fill(),
                graph_builder_class,
                device_assigner,
                feature_columns=feature_columns,
                weights_name=weight_column,
                keys_name=keys_column,
                early_stopping_rounds=early_stopping_rounds,
                num_trainers=num_trainers,
                trainer_id=trainer_id,
                report_feature_importances=report_feature_importances,
                local_eval=local_eval,
                head_scope=f"output{number}",
            )
            for number, params in enumerate(params_list)
        ]
        super().__init__(
            get_combined_model_fn(model_fns), model_dir, config, None, feature_engineering_fn
        )
        _check_one_process(self.config)


class CoreTensorForestEstimator(tf.estimator.Estimator):
    """A random forest as an Estimator of `tf.estimator`.

    Args:
      params: ForestHParams.
      device_assigner: without effect.
      model_dir: directory for checkpoints and summaries, or None.
      feature_columns: columns of the input, or None for all features.
      graph_builder_class: class with the interface of RandomForestGraphs.
      config: RunConfig, or None.
      weight_column: name of the feature with the weights of the rows, or None.
      keys_column: name of a feature that is passed on to the predictions, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      early_stopping_rounds: int, steps without a smaller loss after which training stops.
      early_stopping_loss_threshold: share of the loss by which it must become smaller.
      num_trainers: int, number of workers between which the trees are divided.
      trainer_id: int, the number of this one.
      report_feature_importances: whether to log the columns' importances when training ends.
      local_eval: without effect.
      version: without effect.
      head: head of tf.estimator; None for the one of `params`.
      include_all_in_serving: whether an export answers with all predictions.
    """

    def __init__(
        self,
        params,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
        version=None,
        head=None,
        include_all_in_serving=False,
    ):
        del version
        built = get_model_fn(
            params.fill(),
            graph_builder_class,
            device_assigner,
            feature_columns=feature_columns,
            weights_name=weight_column,
            model_head=head,
            keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds,
            early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=num_trainers,
            trainer_id=trainer_id,
            report_feature_importances=report_feature_importances,
            local_eval=local_eval,
            include_all_in_serving=include_all_in_serving,
            output_type=ModelBuilderOutputType.ESTIMATOR_SPEC,
        )

        def model_fn(features, labels, mode):
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            return built(features, labels, mode)

        super().__init__(model_fn, model_dir=model_dir, config=config)
        _check_one_process(self.config)
