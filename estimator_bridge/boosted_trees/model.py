"""The model function of boosted trees: what is trained, evaluated, predicted and exported."""

from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from . import columns
from .growing import Grower, Parameters
from .heads import Derivatives, differentiate
from .numbered_rows import NumberedRows
from .prediction import sum_leaves
from .row_table import RowTable
from .state import ForestSaver, ForestVariables, InMemorySaver, TrainingState, variable
from .step import Step, look_up, look_up_rows

__all__ = ["BUCKETS", "Model", "build_spec", "is_alone"]

_NAME = "boosted_trees"
# The prediction that holds the features of rows: int32 [batch, features].
BUCKETS = "boosted_trees/buckets"


class Model(NamedTuple):
    """What an Estimator of boosted trees is built of.

    Attributes:
      head: the head.
      feature_columns: the feature columns.
      parameters: the options.
      weight_column: the feature with the weights of rows, or None.
      derivatives: computes gradients and hessians of logits and labels; None for TensorFlow's
        derivatives of the head's loss.
    """

    head: Any
    feature_columns: Any
    parameters: Parameters
    weight_column: Any = None
    derivatives: Optional[Derivatives] = None


def build_spec(
    model: Model, features: Any, labels: Any, mode: str, config: Any, predict_buckets: bool = False
) -> Any:
    """Returns the EstimatorSpec.

    Args:
      model: what the Estimator is built of.
      features: the dict of tensors of the input function.
      labels: its labels.
      mode: a key of tf.estimator.ModeKeys.
      config: the RunConfig.
      predict_buckets: whether the predictions have BUCKETS too.

    Raises:
      ValueError: a feature column, or the cluster, cannot be used.
    """
    with tf.name_scope(_NAME):
        layout = columns.plan(model.feature_columns, model.parameters.num_quantiles)
        if mode == tf.estimator.ModeKeys.TRAIN:
            return _Training(model, layout, features, labels, config).build_spec()
        forest = ForestVariables(model.head.logits_dimension, layout.num_streams)
        buckets = columns.read_buckets(features, layout, forest.boundaries)
        logits = sum_leaves(forest.forest, buckets)
        logits.set_shape([None, model.head.logits_dimension])
        spec = model.head.create_estimator_spec(
            features=features, mode=mode, labels=labels, train_op_fn=tf.no_op, logits=logits
        )
    if predict_buckets:
        spec = spec._replace(predictions={**spec.predictions, BUCKETS: tf.stack(buckets, axis=1)})
    tf.compat.v1.train.get_or_create_global_step()
    return spec._replace(scaffold=tf.compat.v1.train.Scaffold(saver=ForestSaver(forest)))


class _Cache(NamedTuple):
    """The variables that keep where the rows of data in memory are."""

    tree_ids: Any
    node_ids: Any
    logits: Any


class _Training:
    """The graph of training."""

    def __init__(
        self, model: Model, layout: columns.Layout, features: Any, labels: Any, config: Any
    ):
        self._model = model
        self._parameters = model.parameters
        self._layout = layout
        self._features, self._labels = features, labels
        self._config = config
        self._table = None
        if isinstance(features, NumberedRows):
            self._table = RowTable(
                len(layout.names), features.count, model.head.logits_dimension, layout.dtype
            )
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        if self._parameters.in_memory:
            _check_one_process(config)
        self._state = TrainingState(layout.num_streams)
        has_numbers = layout.num_streams > 0
        self._ready = variable(not has_numbers, "are_boundaries_ready")
        self._buckets = self._read_buckets()
        self._cache = self._build_cache()
        self._step = self._look_up()
        self._bias_needed = variable(self._parameters.center_bias, "center_bias_needed")

    def _read_features(self) -> Any:
        """Returns the features, for the branch in which it is called."""
        features = self._features
        return features.read() if isinstance(features, NumberedRows) else features

    def _compute_buckets(self) -> Any:
        boundaries = self._state.boundaries
        limits = () if boundaries is None else boundaries.read()
        return columns.read_table(self._read_features(), self._layout, limits)

    def _read_buckets(self) -> Any:
        """Returns the buckets of the features, [features, batch]; with a table, the rows."""
        if self._table is not None:
            return self._features.rows
        if not self._parameters.in_memory:
            return self._compute_buckets()
        # The same rows come in each step: their buckets are computed once in a session.
        local = [tf.compat.v1.GraphKeys.LOCAL_VARIABLES]
        nothing = np.zeros([len(self._layout.names), 0], self._layout.dtype)
        shape = tf.TensorShape([len(self._layout.names), None])
        table = variable(nothing, "buckets", collections=local, shape=shape)
        is_kept = variable(False, "are_buckets_kept", collections=local)

        def keep() -> Any:
            # Read before the boundaries, which may change in this step.
            are_final = self._ready.read_value()
            with tf.control_dependencies([are_final]):
                buckets = self._compute_buckets()
            changes = [
                table.assign(buckets, read_value=False),
                is_kept.assign(are_final, read_value=False),
            ]
            with tf.control_dependencies(changes):
                return tf.identity(buckets)

        return tf.cond(is_kept, table.read_value, keep)

    def _build_cache(self) -> Optional[_Cache]:
        if not self._parameters.in_memory:
            return None
        dimension, batch = self._model.head.logits_dimension, tf.shape(self._labels)[0]
        return _Cache(
            variable(tf.zeros([batch], tf.int32), "tree_ids_cache"),
            variable(-tf.ones([batch], tf.int32), "node_ids_cache"),
            variable(tf.zeros([batch, dimension]), "logits_cache"),
        )

    def _look_up(self) -> Step:
        logits = self._model.head.logits_dimension
        if self._table is not None:
            # Before there are boundaries, no row has a place.
            compute, are_final = self._compute_buckets, self._ready.read_value()
            step, self._labels = look_up_rows(
                self._state, self._table, self._features, compute, are_final, logits
            )
            return step
        places = [self._cache.tree_ids, self._cache.node_ids] if self._cache else []
        return look_up(self._state, self._buckets, places, logits)

    def build_spec(self) -> Any:
        """Returns the EstimatorSpec."""
        step, head = self._step, self._model.head
        self._logits = step.logits + (self._cache.logits if self._cache else 0.0)
        self._grower = Grower(
            self._state,
            self._parameters,
            self._layout.groups,
            step,
            self._config.is_chief,
            is_alone(self._config),
            self._table,
        )
        scalar = tf.compat.v1.summary.scalar
        scalar("ensemble/num_trees", step.num_trees)
        scalar("ensemble/num_finalized_trees", step.num_finalized_trees)
        scalar("ensemble/num_attempted_layers", step.num_attempted_layers)
        spec = head.create_estimator_spec(
            features=self._features,
            mode=tf.estimator.ModeKeys.TRAIN,
            labels=self._labels,
            train_op_fn=self._train,
            logits=self._logits,
        )
        stop = _StopHook(step, self._parameters)
        chief_hooks = [_StartHook(self._grower.start()), *spec.training_chief_hooks]
        if self._cache:
            kept = InMemorySaver(len(self._layout.names), self._config)
            spec = spec._replace(scaffold=tf.compat.v1.train.Scaffold(saver=kept))
        return spec._replace(
            training_hooks=[*spec.training_hooks, stop], training_chief_hooks=chief_hooks
        )

    def _train(self, loss: Any) -> Any:
        if not self._layout.num_streams:
            return self._grow(loss)
        derivatives = self._differentiate(loss)
        return _choose(
            self._ready,
            lambda: self._grow(loss, derivatives),
            self._collect_quantiles,
        )

    def _differentiate(self, loss: Any) -> tuple[Any, Any]:
        if self._model.derivatives:
            return self._model.derivatives(self._logits, self._labels)
        return differentiate(loss, self._logits, self._model.head.logits_dimension)

    def _collect_quantiles(self) -> Any:
        numbers = columns.read_numbers(self._read_features(), self._layout)
        return self._grower.collect_quantiles(numbers, self._read_weights(), self._ready)

    def _read_weights(self) -> Any:
        column = self._model.weight_column
        if column is None:
            return tf.ones([1])
        if isinstance(column, str):
            column = tf.feature_column.numeric_column(column)
        weights = columns.plan([column], self._parameters.num_quantiles)
        return columns.read_numbers(self._features, weights)[0]

    def _grow(self, loss: Any, derivatives: Optional[tuple[Any, Any]] = None) -> Any:
        gradients, hessians = derivatives or self._differentiate(loss)

        def grow() -> Any:
            grown = self._grower.grow(self._buckets, gradients, hessians)
            return tf.group(grown, *self._keep_places())

        changes = [
            _choose(
                self._bias_needed,
                lambda: self._grower.center_bias(self._bias_needed, gradients, hessians),
                grow,
            )
            if self._parameters.center_bias
            else grow()
        ]
        with tf.control_dependencies(changes):
            changes.append(self._global_step.assign_add(1, read_value=False))
        return tf.group(*changes, name="grow_op")

    def _keep_places(self) -> list[Any]:
        """Returns the operations that keep where the rows were in this step."""
        if not self._cache:
            return []
        step = self._step
        return [
            self._cache.tree_ids.assign(step.tree_ids, read_value=False),
            self._cache.node_ids.assign(step.node_ids, read_value=False),
            self._cache.logits.assign(self._logits, read_value=False),
        ]


def is_alone(config: Any) -> bool:
    """Returns whether one process does everything.

    Args:
      config: the RunConfig.
    """
    return bool(config.is_chief and config.num_worker_replicas <= 1 and config.num_ps_replicas == 0)


def _check_one_process(config: Any) -> None:
    if not is_alone(config):
        raise ValueError("train_in_memory: one process trains data in memory, not a cluster")


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    """Returns the operation that does one of two things."""

    def done(action: Any) -> Any:
        with tf.control_dependencies([action()]):
            return tf.constant(True)

    return tf.group(tf.cond(condition, lambda: done(yes), lambda: done(no)))


class _StartHook(tf.compat.v1.train.SessionRunHook):
    """Prepares the accumulators of a new session."""

    def __init__(self, operation: Any):
        self._operation = operation

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the operation."""
        del coord
        session.run(self._operation)


class _StopHook(tf.compat.v1.train.SessionRunHook):
    """Ends training when all trees have grown, or when too many layers did not."""

    def __init__(self, step: Step, parameters: Parameters):
        self._counts = [step.num_finalized_trees, step.num_attempted_layers]
        self._later_counts = step.later_counts
        self._max_trees = parameters.n_trees
        self._max_layers = 2 * parameters.n_trees * parameters.growth.max_depth

    def before_run(self, run_context: Any) -> Any:
        """Asks for the counts of before the step."""
        del run_context
        return tf.compat.v1.train.SessionRunArgs(self._counts)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops when the end is reached."""
        trees, layers = run_values.results
        if trees >= self._max_trees - 1 or layers > self._max_layers - 1:
            # Close to the end, the counts of after the step are needed.
            trees, layers = run_context.session.run(self._later_counts)
        if trees >= self._max_trees or layers > self._max_layers:
            run_context.request_stop()
