"""Trains the trees: collects the statistics of batches, and grows a layer by enough of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from . import ensemble as trees
from . import statistics
from .forest import NO_CATEGORY, Forest, Rows, Walk, flatten, walk
from .messages import Ensemble, LearnerConfig
from .splits import MISSING, Regularization, search
from .statistics import Sums
from .stream import Stream
from .tuning import Tuner

__all__ = ["Accumulator", "Feature", "Learner", "Options"]


class Feature(NamedTuple):
    """A feature that trees may split.

    Attributes:
      name: its name in checkpoints.
      kind: 'dense', 'sparse' or 'categorical'.
      number: its number among the features of its kind.
      first: its first line in the numbers or the categories of rows.
      size: how many lines it has there.
    """

    name: str
    kind: str
    number: int
    first: int
    size: int


class Options(NamedTuple):
    """What training is told.

    Attributes:
      config: the LearnerConfig, with all that was left open filled in.
      examples_per_layer: after so many rows a layer is grown.
      center_bias: whether the first tree starts from a bias.
      num_quantiles: how many buckets a number has.
      logits: the number of logits.
      mean_loss: whether the loss of a batch is a mean over its rows.
    """

    config: Any
    examples_per_layer: int
    center_bias: bool
    num_quantiles: int
    logits: int
    mean_loss: bool = True


class Accumulator:
    """Sums of some batches.

    Args:
      gradient_shape: the shape of the gradients of one row.
      hessian_shape: the shape of its hessians.

    Attributes:
      sums: the sums.
      num_updates: how many batches they are of.
    """

    def __init__(self, gradient_shape: tuple[int, ...] = (), hessian_shape: tuple[int, ...] = ()):
        self._empty = statistics.empty(gradient_shape, hessian_shape)
        self.clear()

    def clear(self) -> None:
        """Begins anew."""
        self.sums, self.num_updates = self._empty, 0

    def add(self, rows: Optional[Sums]) -> None:
        """Adds the rows of a batch.

        Args:
          rows: a line for each row; None if the batch has none.
        """
        self.num_updates += 1
        if rows is not None:
            self.sums = statistics.add(self.sums, statistics.summarize(rows))


class Learner:
    """The state of training, and its step.

    Args:
      options: what training is told.
      features: the features, in the order in which they are tried.

    Attributes:
      options: what training is told.
      features: the features.
      ensemble: the message of the trees.
      stamp: counts the layers that were tried.
      max_depth: the number of layers of a tree.
      streams: the quantiles of the features that are numbers, by name.
      sums: the accumulators of the features, by name.
      bias: the accumulator of the bias.
      steps: the accumulator of the number of rows.
      centering: whether the bias is still moved.
      counts: how far the trees had grown after the last layer.
      layer_examples: the number of rows of this layer.
      layer_steps: the number of its batches.
    """

    def __init__(self, options: Options, features: Sequence[Feature]):
        self.options = options
        self.features = list(features)
        self._tuner = Tuner(options.config)
        self.reset()

    def reset(self) -> None:
        """Begins anew, without trees."""
        config, logits = self.options.config, self.options.logits
        shapes: tuple[tuple[int, ...], ...] = ((), ())
        if logits > 1 and config.multi_class_strategy == LearnerConfig.FULL_HESSIAN:
            shapes = (logits,), (logits, logits)
        elif logits > 1 and config.multi_class_strategy == LearnerConfig.DIAGONAL_HESSIAN:
            shapes = (logits,), (logits,)
        self._by_class = logits > 1 and not shapes[0]
        numbers = [feature for feature in self.features if feature.kind != "categorical"]
        epsilon = 1.0 / self.options.num_quantiles
        self.streams = {
            feature.name: Stream(epsilon, self.options.num_quantiles) for feature in numbers
        }
        self.sums = {feature.name: Accumulator(*shapes) for feature in self.features}
        self.bias, self.steps = Accumulator(*shapes), Accumulator()
        self.ensemble = Ensemble()
        self.stamp = 0
        self.max_depth = int(config.constraints.max_tree_depth)
        self.centering = self.options.center_bias
        self.counts = trees.count(self.ensemble)
        self.layer_examples = self.layer_steps = 0
        self._dropped: list[int] = []

    @property
    def serialized(self) -> bytes:
        """The message of the trees, as a checkpoint keeps it."""
        return bytes(self.ensemble.SerializeToString())

    def look_up(self, rows: Rows) -> Walk:
        """Returns the logits of rows that their gradients are taken at, and the nodes they are in.

        Args:
          rows: the features of a batch.
        """
        growing = trees.is_growing(self.ensemble)
        last = len(self.ensemble.trees)
        center_bias = self.options.center_bias
        counted = trees.count_predicted(self.ensemble, self.options.config, center_bias)
        self._dropped = self._tuner.drop(self.ensemble, center_bias)
        kept = [number for number in range(counted) if number not in self._dropped]
        found = walk(self._flatten(kept), rows)
        if not growing:
            return found._replace(node_ids=np.zeros_like(found.node_ids))
        if kept and kept[-1] == last - 1:
            return found
        return found._replace(node_ids=walk(self._flatten([last - 1]), rows).node_ids)

    def _flatten(self, numbers: Sequence[int]) -> Forest:
        chosen = [self.ensemble.trees[number] for number in numbers]
        weights = [self.ensemble.tree_weights[number] for number in numbers]
        sparse = [feature.first for feature in self.features if feature.kind == "sparse"]
        return flatten(chosen, weights, self.options.logits, sparse)

    def step(
        self, rows: Rows, nodes: np.ndarray, gradients: np.ndarray, hessians: np.ndarray
    ) -> None:
        """Collects the statistics of a batch, and grows a layer by enough of them.

        Args:
          rows: the features of the batch.
          nodes: int32 [batch], the node in which each row is.
          gradients: float32 [batch, logits].
          hessians: float32 [batch, logits], or [batch, logits, logits].
        """
        if self.centering:
            self._collect_bias(gradients, hessians)
        chosen = gradients, hessians
        if self._by_class:
            # One class after the other.
            class_id = self._get_class()
            chosen = gradients[:, class_id], hessians[:, class_id]
        elif self.options.logits == 1:
            chosen = gradients[:, 0], hessians.reshape(len(hessians))
        now, later = self._tuner.choose_features(self.ensemble, len(self.features))
        for feature, is_active, is_next in zip(self.features, now, later):
            self._collect(feature, is_active, is_next, rows, Sums(nodes, nodes, *chosen))
        batch = len(gradients)
        one, origin = np.zeros(1, np.int32), np.zeros((1, 2), np.int64)
        count = np.array([batch], np.float32)
        self.steps.add(Sums(one, origin, count, np.ones(1, np.float32)))
        self.layer_examples = int(self.steps.sums.gradients[0])
        self.layer_steps = int(self.steps.sums.hessians[0])
        if self.layer_examples >= self.options.examples_per_layer:
            self._end_layer()

    def _get_class(self) -> int:
        return int(self.ensemble.growing_metadata.num_trees_attempted % self.options.logits)

    def _collect_bias(self, gradients: np.ndarray, hessians: np.ndarray) -> None:
        total = np.sum(gradients, axis=0, dtype=np.float32)
        weight = np.sum(hessians, axis=0, dtype=np.float32)
        lines = np.arange(len(total), dtype=np.int32)
        origin = np.zeros((len(total), 2), np.int64)
        self.bias.add(Sums(lines, origin, total, weight.reshape(len(total))))

    def _collect(
        self, feature: Feature, is_active: bool, is_next: bool, rows: Rows, given: Sums
    ) -> None:
        """Adds a batch to the statistics of a feature; `given` has no buckets yet."""
        lines = slice(feature.first, feature.first + feature.size)
        if feature.kind == "categorical":
            table = rows.categories[lines][0]
            places = np.nonzero(table != NO_CATEGORY)
            buckets, dimensions = table[places], np.zeros_like(places[0])
        else:
            table = rows.numbers[lines].T
            exists = np.ones(table.shape, bool) if feature.kind == "dense" else ~np.isnan(table)
            places = np.nonzero(exists)
            stream, values = self.streams[feature.name], table[places]
            ready = stream.is_ready and len(stream.boundaries) > 0
            if ready and is_active:
                buckets, dimensions = stream.bucketize(values), places[1]
            is_active = is_active and ready
            if is_next:
                stream.add(values, _weigh(given.hessians)[places[0]])
        if not is_active:
            self.sums[feature.name].add(None)
            return
        bucketed = Sums(
            given.nodes[places[0]],
            np.stack([buckets, dimensions], axis=1).astype(np.int64),
            given.gradients[places[0]],
            given.hessians[places[0]],
        )
        if feature.kind != "dense":
            totals = _total(given, MISSING[feature.kind])
            bucketed = Sums(*(np.concatenate(pair) for pair in zip(bucketed, totals)))
        self.sums[feature.name].add(bucketed)

    def _end_layer(self) -> None:
        config = self.options.config
        layers, ready = [], True
        class_id = self._get_class() if self._by_class else None
        regularization = Regularization(
            config.regularization.l1,
            config.regularization.l2,
            config.regularization.tree_complexity,
            config.constraints.min_node_weight,
        )
        for handler, feature in enumerate(self.features):
            boundaries, stream = None, self.streams.get(feature.name)
            if stream is not None:
                boundaries = stream.boundaries
                ready = ready and stream.is_ready
                stream.flush()
            accumulator = self.sums[feature.name]
            batches = accumulator.num_updates if self.options.mean_loss else 1
            if len(accumulator.sums.nodes):
                splits = search(accumulator.sums, batches, boundaries, feature.kind, regularization)
                layers.append(trees.Layer(handler, feature.number, feature.kind, splits, class_id))
            accumulator.clear()
        self.stamp += 1
        if self.centering:
            self._center()
        else:
            self._tuner.grow(self.ensemble, layers if ready else [], self.max_depth, self._dropped)
        self.bias.clear()
        self.steps.clear()
        self.counts = trees.count(self.ensemble)

    def _center(self) -> None:
        gradients, hessians = self.bias.sums.gradients, self.bias.sums.hessians
        solvable = hessians > 0
        change = np.where(solvable, -gradients / np.where(solvable, hessians, 1), 0)
        self.centering = trees.center(self.ensemble, change.astype(np.float32))


def _weigh(hessians: np.ndarray) -> np.ndarray:
    """Returns the weights of rows in the quantiles: the trace of the hessians, float32 [batch]."""
    if hessians.ndim == 3:
        hessians = np.diagonal(hessians, axis1=1, axis2=2)
    return hessians if hessians.ndim == 1 else np.sum(hessians, axis=1, dtype=np.float32)


def _total(rows: Sums, bucket: int) -> Sums:
    """Returns the sums of all rows of each node, taken in float64."""
    nodes, place = np.unique(rows.nodes, return_inverse=True)
    totals = []
    for values in (rows.gradients, rows.hessians):
        total = np.zeros((len(nodes), *values.shape[1:]), np.float64)
        np.add.at(total, place, values)
        totals.append(total.astype(np.float32))
    buckets = np.zeros((len(nodes), 2), np.int64)
    buckets[:, 0] = bucket
    return Sums(nodes, buckets, *totals)
