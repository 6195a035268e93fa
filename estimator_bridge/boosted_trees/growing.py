"""Collects the statistics of batches and grows the trees by them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from . import quantiles
from .columns import Group
from .ensemble import Growth, center_bias, grow, parse
from .histograms import LayerSums
from .quantile_columns import summarize_columns
from .row_table import RowTable
from .splits import Regularization, find_best_splits
from .state import TrainingState
from .step import Step

__all__ = ["Grower", "Parameters"]


class Parameters(NamedTuple):
    """The options of an Estimator of boosted trees.

    Attributes:
      n_trees: the number of trees after which training ends.
      growth: how trees grow.
      regularization: what makes leaves smaller and splits rarer.
      center_bias: whether the first tree starts from the mean of the labels.
      quantile_sketch_epsilon: the error of the quantiles that bound buckets.
      n_batches_per_layer: how many batches a layer is grown by.
      in_memory: whether a batch is the whole data.
    """

    n_trees: int
    growth: Growth
    regularization: Regularization
    center_bias: bool
    quantile_sketch_epsilon: float
    n_batches_per_layer: Any
    in_memory: bool

    @property
    def num_quantiles(self) -> int:
        """How many buckets a number has."""
        return int(1.0 / self.quantile_sketch_epsilon)

    @property
    def max_splits(self) -> int:
        """How many nodes of a tree can be split."""
        return (1 << self.growth.max_depth) - 1


class Grower:
    """Makes the operations that collect statistics and grow the ensemble by a layer.

    Args:
      state: the variables.
      parameters: the options.
      groups: the features by their number of buckets.
      step: where the rows of the batch are.
      is_chief: whether this process grows the trees; the others only collect.
      is_alone: whether no other process collects.
      table: keeps the rows, if they have numbers.
    """

    def __init__(  # noqa: PLR0913
        self,
        state: TrainingState,
        parameters: Parameters,
        groups: Sequence[Group],
        step: Step,
        is_chief: bool,
        is_alone: bool,
        table: Optional[RowTable] = None,
    ):
        self._state = state
        self._parameters = parameters
        self._groups = groups
        self._step = step
        self._is_chief = is_chief
        self._is_alone = is_alone
        self._table = table
        self._layer = LayerSums(groups)
        self._sums: list[Any] = []
        self._bias: list[Any] = []
        self._quantiles: Any = None
        if parameters.in_memory:
            return
        logits = parameters.growth.logits
        for number, group in enumerate([] if is_alone else groups):
            shape = [len(group.feature_ids), parameters.max_splits, 1]
            shape += [group.num_buckets + 1, logits + logits**2]
            name = f"numeric_stats_summary_accumulator_{number}"
            self._sums.append(_accumulate(shape, name))
        if parameters.center_bias:
            self._bias.append(_accumulate([2, 1], "bias_accumulator"))
        if state.boundaries is not None:
            self._quantiles = tf.queue.FIFOQueue(
                # More summaries than one layer needs may wait while the chief is away.
                1 << 20,
                [tf.string],
                [[]],
                shared_name="quantile_summaries",
            )

    def start(self) -> Any:
        """Returns the operation with which the chief prepares a session."""
        accumulators = [*self._sums, *self._bias]

        def forget() -> None:
            self._layer.clear()
            if self._table is not None:
                self._table.clear()

        clear = tf.numpy_function(forget, [], [])
        return tf.group(clear, *(one.set_global_step(self._step.stamp) for one in accumulators))

    def collect_quantiles(self, numbers: Sequence[Any], weights: Any, ready: Any) -> Any:
        """Returns the operation that collects quantiles, and sets the boundaries by enough.

        Args:
          numbers: float32 [batch] tensors, the features that are numbers.
          weights: float32 [batch] or [1].
          ready: the variable that tells that there are boundaries.
        """
        epsilon = self._parameters.quantile_sketch_epsilon

        def summarize(weights: np.ndarray, *numbers: np.ndarray) -> bytes:
            return _join(summarize_columns(numbers, weights, epsilon))

        summary = tf.numpy_function(summarize, [weights, *numbers], tf.string)
        summary.set_shape([])
        if self._parameters.in_memory:
            return self._set_boundaries(summary[tf.newaxis], ready)
        queue = self._quantiles
        added = queue.enqueue(summary)
        if not self._is_chief:
            return added
        with tf.control_dependencies([added]):
            size = queue.size()
        return _if(
            tf.cast(size, tf.int64) >= tf.cast(self._parameters.n_batches_per_layer, tf.int64),
            lambda: self._set_boundaries(queue.dequeue_many(size), ready),
        )

    def _set_boundaries(self, summaries: Any, ready: Any) -> Any:
        parameters = self._parameters
        boundaries = self._state.boundaries
        assert boundaries is not None

        def compute(batches: np.ndarray) -> list[np.ndarray]:
            found = [
                quantiles.compute_boundaries(
                    list(stream), parameters.quantile_sketch_epsilon, parameters.num_quantiles
                )
                for stream in zip(*map(_split, batches))
            ]
            return [np.concatenate(found), np.array([len(one) for one in found], np.int32)]

        values, sizes = tf.numpy_function(compute, [summaries], [tf.float32, tf.int32])
        with tf.control_dependencies([boundaries.assign(values, sizes)]):
            return ready.assign(True, read_value=False)

    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        """Returns the operation that moves the root of the first tree to the mean.

        Args:
          needed: the variable that tells that the bias is not centered yet.
          gradients: float32 [batch, 1].
          hessians: float32 [batch, 1].
        """
        means = tf.reduce_mean(tf.stack([gradients, hessians]), axis=1)
        if self._parameters.in_memory:
            return self._center(needed, means)
        accumulator = self._bias[0]
        applied = accumulator.apply_grad(means, self._step.stamp)
        if not self._is_chief:
            return applied
        with tf.control_dependencies([applied]):
            enough = self._has_enough(accumulator.num_accumulated())
            return _if(enough, lambda: self._center(needed, accumulator.take_grad(1)))

    def _center(self, needed: Any, means: Any) -> Any:
        parameters = self._parameters
        l1, l2 = parameters.regularization.l1, parameters.regularization.l2

        def center(serialized: bytes, means: np.ndarray) -> tuple[Any, Any]:
            ensemble = parse(serialized)
            goes_on = center_bias(ensemble, means[0], means[1], l1, l2)
            return ensemble.SerializeToString(), np.bool_(goes_on)

        serialized, goes_on = tf.numpy_function(
            center, [self._state.serialized.read_value(), means], [tf.string, tf.bool]
        )
        goes_on.set_shape([])
        stamp = self._step.stamp + 1
        changed = [*self._change(serialized, stamp), needed.assign(goes_on, read_value=False)]
        if not self._sums:
            return tf.group(*changed)
        with tf.control_dependencies(changed):
            # The sums of batches from before the last change do not count.
            return _if(
                tf.logical_not(goes_on),
                lambda: tf.group(*(one.set_global_step(stamp) for one in self._sums)),
            )

    def grow(self, buckets: Any, gradients: Any, hessians: Any) -> Any:
        """Returns the operation that collects gradients, and grows a layer by enough of them.

        Args:
          buckets: int [features, batch]; with a table, the numbers of the rows, int64 [batch].
          gradients: float32 [batch, logits].
          hessians: float32 [batch, logits * logits].
        """
        step = self._step
        inputs = [step.node_ids, step.node_range, gradients, hessians, buckets]
        if not self._is_alone:
            return self._grow_together(inputs)

        def add(*arrays: np.ndarray) -> np.int64:
            nodes, node_range, *statistics, features = arrays
            if self._table is not None:
                features = self._table.read(features)
            return self._layer.add(nodes, node_range, statistics, features)

        count = tf.numpy_function(add, inputs, tf.int64)
        count.set_shape([])
        return _if(self._has_enough(count), lambda: self._grow_layer([]))

    def _grow_together(self, inputs: Sequence[Any]) -> Any:
        """Returns the operation that collects in accumulators, to which other processes add too."""
        all_nodes = np.array([0, self._parameters.max_splits])

        def add_up(nodes: np.ndarray, _: Any, *others: np.ndarray) -> list[np.ndarray]:
            *statistics, features = others
            layer = LayerSums(self._groups)
            layer.add(nodes, all_nodes, statistics, features)
            return [one[:, :, np.newaxis] for one in layer.take()]

        sums = tf.numpy_function(add_up, inputs, [tf.float32] * len(self._groups))
        for one, accumulator in zip(sums, self._sums):
            one.set_shape(accumulator._shape)
        applied = [
            accumulator.apply_grad(one, self._step.stamp)
            for one, accumulator in zip(sums, self._sums)
        ]
        if not self._is_chief:
            return tf.group(*applied)
        with tf.control_dependencies(applied):
            fewest = tf.reduce_min([one.num_accumulated() for one in self._sums])
            return _if(
                self._has_enough(fewest),
                lambda: self._grow_layer([one.take_grad(1) for one in self._sums]),
            )

    def _grow_layer(self, sums: Sequence[Any]) -> Any:
        parameters = self._parameters

        def grow_layer(serialized: bytes, nodes: np.ndarray, *sums: np.ndarray) -> bytes:
            ensemble = parse(serialized)
            first, end = nodes.tolist()
            # Without accumulators, this process has the sums.
            layer = [one[:, first:end, 0] for one in sums] or self._layer.take()
            splits = [
                find_best_splits(
                    one,
                    first,
                    np.array(group.feature_ids),
                    group.split_types,
                    parameters.growth.logits,
                    parameters.regularization,
                )
                for one, group in zip(layer, self._groups)
            ]
            grow(ensemble, splits, parameters.growth)
            return ensemble.SerializeToString()

        serialized = tf.numpy_function(
            grow_layer,
            [self._state.serialized.read_value(), self._step.node_range, *sums],
            tf.string,
        )
        return tf.group(*self._change(serialized, self._step.stamp + 1))

    def _change(self, serialized: Any, stamp: Any) -> list[Any]:
        serialized.set_shape([])
        return [
            self._state.serialized.assign(serialized, read_value=False),
            self._state.stamp.assign(stamp, read_value=False),
        ]

    def _has_enough(self, accumulated: Any) -> Any:
        wanted = tf.cast(self._parameters.n_batches_per_layer, tf.int64)
        return tf.cast(accumulated, tf.int64) >= wanted


def _accumulate(shape: list[int], name: str) -> Any:
    return tf.compat.v1.ConditionalAccumulator(tf.float32, shape=shape, shared_name=name)


def _if(condition: Any, action: Any) -> Any:
    """Returns the operation that does something if a condition holds."""

    def act() -> Any:
        with tf.control_dependencies([action()]):
            return tf.constant(True)

    return tf.group(tf.cond(condition, act, lambda: tf.constant(False)))


def _join(summaries: Sequence[np.ndarray]) -> bytes:
    """Returns the summaries of all features as one string, for a queue."""
    sizes = np.array([len(summaries), *(len(one) for one in summaries)], np.int32)
    return sizes.tobytes() + b"".join(one.tobytes() for one in summaries)


def _split(joined: bytes) -> list[np.ndarray]:
    count = int(np.frombuffer(joined, np.int32, 1)[0])
    sizes = np.frombuffer(joined, np.int32, count, offset=4)
    table = np.frombuffer(joined, np.float32, offset=4 * (count + 1)).reshape(-1, 4)
    return np.split(table, np.cumsum(sizes)[:-1])
