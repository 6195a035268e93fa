"""The graph of gradient trees: logits in all modes, the training operation, and hooks."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ..boosted_trees.heads import differentiate
from ..boosted_trees.state import ForestSaver
from .features import Batch, read
from .forest import Rows
from .learner import Learner, Options
from .messages import LearnerConfig
from .prediction import find_leaves, sum_leaves
from .state import ForestVariables, save_learner

__all__ = ["End", "GradientTrees", "complete"]

_DEFAULT_DEPTH, _DEFAULT_RATE = 6, 0.1


def complete(config: Any, logits: int) -> Any:
    """Returns a LearnerConfig in which all that was left open is filled in.

    Args:
      config: the LearnerConfig, or one with the same fields.
      logits: the number of logits.

    Raises:
      ValueError: a field cannot be used.
    """
    filled = LearnerConfig.FromString(config.SerializeToString())
    if not filled.constraints.max_tree_depth:
        filled.constraints.max_tree_depth = _DEFAULT_DEPTH
    tuner = filled.learning_rate_tuner
    if tuner.WhichOneof("tuner") is None:
        tuner.fixed.learning_rate = _DEFAULT_RATE
    if tuner.WhichOneof("tuner") == "line_search":
        raise ValueError("Line search learning rate is not yet supported.")
    if filled.weak_learner_type:
        raise ValueError(
            "weak_learner_type: oblivious trees are predicted, but not trained; use "
            "NORMAL_DECISION_TREE"
        )
    if not filled.pruning_mode:
        filled.pruning_mode = LearnerConfig.POST_PRUNE
    if not filled.growing_mode:
        filled.growing_mode = LearnerConfig.LAYER_BY_LAYER
    if not filled.multi_class_strategy:
        filled.multi_class_strategy = (
            LearnerConfig.DIAGONAL_HESSIAN if logits > 1 else LearnerConfig.TREE_PER_CLASS
        )
    return filled


class End(NamedTuple):
    """When training ends.

    Attributes:
      num_trees: after so many trees; None until the input ends.
      last_step: the global step that is set then, or None.
    """

    num_trees: Optional[int]
    last_step: Optional[int]


class GradientTrees:
    """The trees in a graph.

    Args:
      features: the dict of tensors of the input function.
      feature_columns: the columns, or None.
      options: what training is told; its config is complete.
      mode: a key of tf.estimator.ModeKeys.
      end: when training ends.
      more: names and dense tensors [batch, n] that come before the features.

    Attributes:
      logits: float32 [batch, logits].
      leaves: int32 [batch, trees], the leaf of each tree; None in training.
      saver: what restores checkpoints of training; None in training.
      hooks: the hooks of training.
    """

    def __init__(
        self,
        features: Any,
        feature_columns: Optional[Sequence[Any]],
        options: Options,
        mode: str,
        end: End,
        more: Sequence[tuple[str, Any]] = (),
    ):
        self._options, self._feature_columns = options, feature_columns
        with tf.name_scope("gbdt"):
            self._batch = read(features, feature_columns, more)
            self.hooks: list[Any] = []
            self.leaves = self.forest = None
            if mode == tf.estimator.ModeKeys.TRAIN:
                self._learner = Learner(options, self._batch.features)
                self.logits, self._nodes, self._state = self._look_up(self._batch)
                if end.num_trees is not None:
                    target = end.num_trees + options.center_bias
                    self.hooks.append(_StopHook(self._learner, target, end.last_step))
                return
            forest = ForestVariables(
                options.logits, options.config, options.center_bias, self._batch.features
            )
            arrays = forest.forest
            leaves = find_leaves(arrays, self._batch)
            self.logits = sum_leaves(arrays, leaves)
            self.logits.set_shape([None, options.logits])
            self.leaves = tf.transpose(leaves - arrays.roots[:, tf.newaxis])
            self.forest = forest

    def build_saver(self) -> Any:
        """Returns what restores checkpoints of training, after all variables were made."""
        return ForestSaver(self.forest)

    def apply(self, features: Any) -> Any:
        """Returns the logits of other rows: float32 [batch, logits].

        Args:
          features: a dict with the features of those that the trees were built with.
        """
        with tf.name_scope("gbdt"):
            batch = read(features, self._feature_columns)
            if self.forest is None:
                return self._look_up(batch)[0]
            arrays = self.forest.forest
            return sum_leaves(arrays, find_leaves(arrays, batch))

    def _look_up(self, batch: Batch) -> tuple[Any, Any, Any]:
        """Returns logits, nodes, and what the summaries show."""

        def look_up(numbers: np.ndarray, categories: np.ndarray) -> Any:
            learner = self._learner
            found = learner.look_up(Rows(numbers, categories))
            state = (
                learner.layer_examples,
                learner.layer_steps,
                learner.counts.active_tree,
                learner.counts.active_layer,
            )
            return found.logits, found.node_ids, np.array(state, np.int64)

        logits, nodes, state = tf.numpy_function(
            look_up, [batch.numbers, batch.categories], [tf.float32, tf.int32, tf.int64]
        )
        logits.set_shape([None, self._options.logits])
        nodes.set_shape([None])
        state.set_shape([4])
        return logits, nodes, state

    def train(self, loss: Any, twin: str = "") -> Any:
        """Returns the operation of a training step, without that of the global step.

        The names of the state in checkpoints begin with the current scope.

        Args:
          loss: the loss of the batch.
          twin: the scope of the second trees that TensorFlow made and did not train, or nothing.
        """
        scope = tf.compat.v1.get_default_graph().get_name_scope()
        save_learner(self._learner, f"{scope}/" if scope else "", twin)
        names = ["layer_stats/num_examples", "layer_stats/num_steps"]
        names += ["ensemble_stats/active_tree", "ensemble_stats/active_layer"]
        for name, value in zip(names, tf.unstack(self._state)):
            tf.compat.v1.summary.scalar(name, value)
        gradients, hessians = self._differentiate(loss)

        def step(*given: np.ndarray) -> np.ndarray:
            numbers, categories, nodes, gradients, hessians = given
            self._learner.step(Rows(numbers, categories), nodes, gradients, hessians)
            return np.int64(self._learner.stamp)

        given = [self._batch.numbers, self._batch.categories, self._nodes, gradients, hessians]
        return tf.numpy_function(step, given, tf.int64).op

    def _differentiate(self, loss: Any) -> tuple[Any, Any]:
        logits, config = self._options.logits, self._options.config
        gradients, hessians = differentiate(loss, self.logits, logits)
        matrices = tf.reshape(hessians, [-1, logits, logits])
        if logits == 1 or config.multi_class_strategy == LearnerConfig.FULL_HESSIAN:
            return gradients, tf.reshape(hessians, [-1, 1]) if logits == 1 else matrices
        return gradients, tf.linalg.diag_part(matrices)


class _StopHook(tf.compat.v1.train.SessionRunHook):
    """Ends training when all trees have grown."""

    def __init__(self, learner: Learner, num_trees: int, last_step: Optional[int]):
        self._learner = learner
        self._num_trees = num_trees
        self._last_step = last_step
        self._set_step: Any = None

    def begin(self) -> None:
        """Adds the operation that sets the last step."""
        if self._last_step is not None:
            step = tf.compat.v1.train.get_global_step()
            self._set_step = tf.compat.v1.assign(step, self._last_step).op

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops when the end is reached."""
        del run_values
        if self._learner.counts.num_trees >= self._num_trees:
            if self._set_step is not None:
                run_context.session.run(self._set_step)
            run_context.request_stop()
