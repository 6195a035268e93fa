"""The Estimators of boosted trees, which TensorFlow had from 1.8 to 2.8."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from ..private_tf import estimator_util
from . import columns
from .ensemble import PRUNING_MODES, Growth, parse
from .explanation import compute_importances, explain, name_contributions, sigmoid
from .forest import ForestCache
from .growing import Parameters
from .heads import build_classification_head, build_regression_head, differentiate_log_loss
from .model import BUCKETS, Model, build_spec, is_alone
from .numbered_rows import number
from .splits import Regularization
from .state import SERIALIZED

__all__ = [
    "BoostedTrees",
    "BoostedTreesClassifier",
    "BoostedTreesEstimator",
    "BoostedTreesRegressor",
]


Activation = Callable[[np.ndarray], np.ndarray]


class BoostedTrees(tf.compat.v1.estimator.Estimator):
    """What the three Estimators share.

    Args:
      model: what the Estimator is built of.
      model_dir: the folder of checkpoints.
      config: the RunConfig, or None.
      activate: makes predictions of float32 logits, or None if the head does not say how.

    Attributes:
      model: what the Estimator is built of.
    """

    def __init__(
        self, model: Model, model_dir: Optional[str], config: Any, activate: Optional[Activation]
    ):
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return build_spec(model, features, labels, mode, config)

        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
        self.model = model
        self._activate = activate
        # A column that cannot be used is refused here, and not when training starts.
        self._layout = columns.plan(model.feature_columns, model.parameters.num_quantiles)

    def _get_features_and_labels_from_input_fn(self, input_fn: Any, mode: str) -> Any:
        result = self._call_input_fn(input_fn, mode)
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        if is_training and is_alone(self.config) and not self.model.parameters.in_memory:
            found = number(result, self._layout)
            if found:
                return found
        return estimator_util.parse_input_fn_result(result)

    def _read_serialized(self, checkpoint: str) -> Any:
        return tf.train.load_checkpoint(checkpoint).get_tensor(SERIALIZED)

    def experimental_feature_importances(self, normalize: bool = False) -> Any:
        """Returns an OrderedDict: column -> the gain of all its splits, the largest first.

        Args:
          normalize: whether the gains are divided by their sum.

        Raises:
          ValueError: there is no checkpoint.
          AssertionError: normalize, but there is no split or a gain is negative.
        """
        ensemble = parse(self._read_serialized(self.model_dir))
        return compute_importances(ensemble, self._layout.names, normalize)

    def experimental_predict_with_explanations(
        self,
        input_fn: Any,
        predict_keys: Optional[Sequence[str]] = None,
        hooks: Any = None,
        checkpoint_path: Optional[str] = None,
    ) -> Iterator[dict[str, Any]]:
        """Yields for each row its predictions, and in addition 'bias' and 'dfc'.

        'dfc' is an OrderedDict: column -> by how much it moved the prediction (the probability of
        the second class, or the regressor's number) from 'bias', the largest amount first.

        Args:
          input_fn: as for predict.
          predict_keys: the predictions to keep; None for all.
          hooks: as for predict.
          checkpoint_path: a checkpoint; None for the latest.

        Raises:
          ValueError: center_bias is not set, the head is none of two classes or of one number, or
            there is no checkpoint.
        """
        if not self.model.parameters.center_bias:
            raise ValueError(
                "center_bias: experimental_predict_with_explanations needs an Estimator that was "
                "built and trained with center_bias=True"
            )
        if self._activate is None:
            raise ValueError(
                "head: experimental_predict_with_explanations needs one of two classes, or a "
                "regression head without inverse_link_fn"
            )
        checkpoint_path = checkpoint_path or tf.train.latest_checkpoint(self.model_dir)
        if not checkpoint_path:
            raise ValueError(f"model_dir: no checkpoint in {self.model_dir}; train first")
        return self._explain(input_fn, predict_keys, hooks, checkpoint_path)

    def _explain(
        self, input_fn: Any, predict_keys: Optional[Sequence[str]], hooks: Any, checkpoint: str
    ) -> Iterator[dict[str, Any]]:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return build_spec(self.model, features, labels, mode, config, predict_buckets=True)

        assert self._activate is not None
        twin = tf.compat.v1.estimator.Estimator(model_fn, self.model_dir, self.config)
        trees = ForestCache(1).read(self._read_serialized(checkpoint))
        for batch in twin.predict(
            input_fn, hooks=hooks, checkpoint_path=checkpoint, yield_single_examples=False
        ):
            bias, contributions = explain(trees, batch.pop(BUCKETS), self._activate)
            kept = [name for name in batch if predict_keys is None or name in predict_keys]
            for row in range(len(bias)):
                predictions: dict[str, Any] = {name: batch[name][row] for name in kept}
                predictions["bias"] = bias[row]
                predictions["dfc"] = name_contributions(self._layout.names, contributions[row])
                yield predictions


def _check(name: str, value: float, positive: bool) -> None:
    if value < 0 or (positive and value == 0):
        sign = ">" if positive else ">="
        raise ValueError(f"{name}: expected {sign} 0, received: {value}")


def _build_parameters(logits: int, options: dict[str, Any]) -> Parameters:
    """Returns the options of an Estimator.

    Args:
      logits: the number of logits.
      options: the arguments of the Estimator's constructor.

    Raises:
      ValueError: an option cannot be used.
    """
    for name in ("n_trees", "max_depth", "learning_rate", "quantile_sketch_epsilon"):
        _check(name, options[name], positive=True)
    for name in ("l1_regularization", "l2_regularization", "tree_complexity", "min_node_weight"):
        _check(name, options[name], positive=False)
    pruning = options["pruning_mode"]
    if pruning not in PRUNING_MODES:
        raise ValueError(f"pruning_mode: {pruning!r} is none of {', '.join(sorted(PRUNING_MODES))}")
    if (options["tree_complexity"] > 0) != (pruning != "none"):
        raise ValueError(
            "tree_complexity: give one above 0 together with pruning_mode='pre' or 'post', and "
            "none without pruning"
        )
    in_memory = options.get("train_in_memory", False)
    n_batches = options["n_batches_per_layer"]
    if in_memory and n_batches != 1:
        raise ValueError(
            f"n_batches_per_layer: {n_batches}, but with train_in_memory=True a batch is the whole "
            "data; give 1"
        )
    return Parameters(
        n_trees=options["n_trees"],
        growth=Growth(options["learning_rate"], options["max_depth"], pruning, logits),
        regularization=Regularization(
            options["l1_regularization"],
            options["l2_regularization"],
            options["tree_complexity"],
            options["min_node_weight"],
        ),
        center_bias=options["center_bias"],
        quantile_sketch_epsilon=options["quantile_sketch_epsilon"],
        n_batches_per_layer=n_batches,
        in_memory=in_memory,
    )


class BoostedTreesClassifier(BoostedTrees):
    """A classifier of boosted trees, as `tf.estimator.BoostedTreesClassifier` of TensorFlow 2.8.

    Args:
      feature_columns: numeric, bucketized, indicator or categorical columns.
      n_batches_per_layer: how many batches a layer of a tree is grown by.
      model_dir: the folder of checkpoints.
      n_classes: the number of classes.
      weight_column: the feature with the weights of rows, or None.
      label_vocabulary: the labels, if they are strings.
      n_trees: the number of trees.
      max_depth: the number of layers of a tree.
      learning_rate: the part of each leaf that is added.
      l1_regularization: is taken from the absolute gradient of a leaf; for two classes only.
      l2_regularization: is added to the hessian of a leaf.
      tree_complexity: is taken from the gain of each split; needs pruning.
      min_node_weight: a node with a smaller hessian is not split.
      config: the RunConfig.
      center_bias: whether the first tree starts from the mean of the labels.
      pruning_mode: 'none', 'pre' (splits with a negative gain are not made), or 'post' (they are
        taken back when the tree has grown).
      quantile_sketch_epsilon: the error of the quantiles that bound the buckets of numbers.
      train_in_memory: whether each batch is the whole data.

    Raises:
      ValueError: an option cannot be used.
    """

    def __init__(  # noqa: PLR0913
        self,
        feature_columns,
        n_batches_per_layer,
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
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ):
        options = dict(locals())
        if n_classes > 2 and center_bias:
            raise ValueError("center_bias: not supported with n_classes > 2")
        head = build_classification_head(n_classes, weight_column, label_vocabulary)
        plain = n_classes == 2 and weight_column is None and label_vocabulary is None
        model = Model(
            head,
            feature_columns,
            _build_parameters(head.logits_dimension, options),
            weight_column,
            differentiate_log_loss if plain else None,
        )
        super().__init__(model, model_dir, config, sigmoid if n_classes == 2 else None)


class BoostedTreesRegressor(BoostedTrees):
    """A regressor of boosted trees, as `tf.estimator.BoostedTreesRegressor` of TensorFlow 2.8.

    Args:
      feature_columns: numeric, bucketized, indicator or categorical columns.
      n_batches_per_layer: how many batches a layer of a tree is grown by.
      model_dir: the folder of checkpoints.
      label_dimension: the number of values of a label.
      weight_column: the feature with the weights of rows, or None.
      n_trees: the number of trees.
      max_depth: the number of layers of a tree.
      learning_rate: the part of each leaf that is added.
      l1_regularization: is taken from the absolute gradient of a leaf; for one value only.
      l2_regularization: is added to the hessian of a leaf.
      tree_complexity: is taken from the gain of each split; needs pruning.
      min_node_weight: a node with a smaller hessian is not split.
      config: the RunConfig.
      center_bias: whether the first tree starts from the mean of the labels.
      pruning_mode: 'none', 'pre' or 'post', as for the classifier.
      quantile_sketch_epsilon: the error of the quantiles that bound the buckets of numbers.
      train_in_memory: whether each batch is the whole data.

    Raises:
      ValueError: an option cannot be used.
    """

    def __init__(  # noqa: PLR0913
        self,
        feature_columns,
        n_batches_per_layer,
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
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ):
        options = dict(locals())
        if label_dimension > 1 and center_bias:
            raise ValueError("center_bias: not supported with label_dimension > 1")
        head = build_regression_head(label_dimension, weight_column)
        parameters = _build_parameters(head.logits_dimension, options)
        model = Model(head, feature_columns, parameters, weight_column)
        super().__init__(model, model_dir, config, np.asarray if label_dimension == 1 else None)


class BoostedTreesEstimator(BoostedTrees):
    """Boosted trees under a head, as `tf.estimator.BoostedTreesEstimator` of TensorFlow 2.8.

    Args:
      feature_columns: numeric, bucketized, indicator or categorical columns.
      n_batches_per_layer: how many batches a layer of a tree is grown by.
      head: the head, whose loss has a second derivative.
      model_dir: the folder of checkpoints.
      weight_column: not used; the head knows the weights of rows.
      n_trees: the number of trees.
      max_depth: the number of layers of a tree.
      learning_rate: the part of each leaf that is added.
      l1_regularization: is taken from the absolute gradient of a leaf; for one logit only.
      l2_regularization: is added to the hessian of a leaf.
      tree_complexity: is taken from the gain of each split; needs pruning.
      min_node_weight: a node with a smaller hessian is not split.
      config: the RunConfig.
      center_bias: whether the first tree starts from the mean of the labels.
      pruning_mode: 'none', 'pre' or 'post', as for the classifier.
      quantile_sketch_epsilon: the error of the quantiles that bound the buckets of numbers.

    Raises:
      ValueError: an option cannot be used.
    """

    def __init__(  # noqa: PLR0913
        self,
        feature_columns,
        n_batches_per_layer,
        head,
        model_dir=None,
        weight_column=None,
        n_trees=100,
        max_depth=6,
        learning_rate=0.1,
        l1_regularization=0.0,
        l2_regularization=0.0,
        tree_complexity=0.0,
        min_node_weight=0.0,
        config=None,
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
    ):
        options = dict(locals())
        parameters = _build_parameters(head.logits_dimension, options)
        model = Model(head, feature_columns, parameters)
        super().__init__(model, model_dir, config, _find_activation(head))


def _find_activation(head: Any) -> Optional[Activation]:
    if head.logits_dimension != 1:
        return None
    if isinstance(head, tf.estimator.BinaryClassHead):
        return sigmoid
    if isinstance(head, tf.estimator.RegressionHead) and head._inverse_link_fn is None:
        return np.asarray
    return None
