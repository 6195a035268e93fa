"""What checkpoints keep of the trees and of their training."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..boosted_trees.state import add_array, set_arrays
from ..private_tf import saver
from . import ensemble as trees
from .forest import Forest, flatten
from .learner import Accumulator, Feature, Learner
from .statistics import Sums

__all__ = ["SERIALIZED", "ForestVariables", "save_learner", "weigh"]

# The keys of the trees in a checkpoint.
_ENSEMBLE = "ensemble_model:0"
SERIALIZED = f"{_ENSEMBLE}_config"

_Saveable: Any = saver.BaseSaverBuilder.SaveableObject
_SaveSpec = saver.BaseSaverBuilder.SaveSpec


class _Entry(NamedTuple):
    """One value of a checkpoint."""

    key: str
    dtype: Any
    get: Callable[[], Any]
    set: Callable[[Any], None]


class _LearnerSaveable(_Saveable):
    """Saves the state of a Learner, and restores it."""

    def __init__(self, entries: Sequence[_Entry]):
        self._entries = entries
        specs = [_SaveSpec(self._read(entry), "", entry.key, entry.dtype) for entry in entries]
        super().__init__(specs[0].tensor, specs, _ENSEMBLE)

    @staticmethod
    def _read(entry: _Entry) -> Any:
        return tf.numpy_function(
            lambda: np.asarray(entry.get(), entry.dtype.as_numpy_dtype), [], entry.dtype
        )

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Returns the operation that gives the Learner the values of a checkpoint."""
        del restored_shapes

        def restore(*values: Any) -> np.ndarray:
            for entry, value in zip(self._entries, values):
                entry.set(value)
            return np.int64(0)

        return tf.numpy_function(restore, restored_tensors, tf.int64)


def save_learner(learner: Learner, scope: str, twin: str) -> None:
    """Adds the state of training to the graph's checkpoints.

    Args:
      learner: the state.
      scope: the scope of the training operation, which ends with a slash or is empty.
      twin: the scope of variables that are never changed, which ends with a slash, or nothing.
    """
    entries = _list_entries(learner, scope)
    if twin:
        entries += _list_twin(learner, twin)
    saveable = _LearnerSaveable(entries)
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS, saveable)


def _list_twin(learner: Learner, scope: str) -> list[_Entry]:
    """Returns the values of trees that TensorFlow made beside those that it trained."""
    return [
        _Entry(f"{scope}Variable", tf.int32, lambda: learner.max_depth, lambda value: None),
        _Entry(f"{scope}attempted_trees", tf.int64, lambda: 0, lambda value: None),
        _Entry(f"{scope}finalized_trees", tf.int64, lambda: 0, lambda value: None),
    ]


def _list_entries(learner: Learner, scope: str) -> list[_Entry]:
    def set_trees(value: bytes) -> None:
        learner.ensemble = trees.parse(value)

    def set_attribute(name: str, convert: Any) -> Callable[[Any], None]:
        return lambda value: setattr(learner, name, convert(value))

    entries = [
        # The scalar of bytes is an object: its end may be zero bytes.
        _Entry(SERIALIZED, tf.string, lambda: _wrap(learner.serialized), set_trees),
        _Entry(f"{_ENSEMBLE}_stamp", tf.int64, lambda: learner.stamp, set_attribute("stamp", int)),
        _Entry("Variable", tf.int32, lambda: learner.max_depth, set_attribute("max_depth", int)),
        _Entry(
            f"{scope}continue_centering",
            tf.bool,
            lambda: learner.centering,
            set_attribute("centering", bool),
        ),
        _Entry(
            f"{scope}num_layer_examples",
            tf.int64,
            lambda: learner.layer_examples,
            set_attribute("layer_examples", int),
        ),
        _Entry(
            f"{scope}num_layer_steps",
            tf.int64,
            lambda: learner.layer_steps,
            set_attribute("layer_steps", int),
        ),
    ]
    counts = {
        "finalized_trees": "num_trees",
        "attempted_trees": "attempted_trees",
        f"{scope}num_layers": "num_layers",
        f"{scope}active_tree": "active_tree",
        f"{scope}active_layer": "active_layer",
    }
    entries += [_count_entry(learner, key, field) for key, field in counts.items()]
    for feature in learner.features:
        entries += _list_sums(
            learner, f"{scope}StatsAccumulator{feature.name}:0", learner.sums[feature.name]
        )
        if feature.kind != "categorical":
            entries += _list_stream(learner, feature, f"{scope}QuantileAccumulator{feature.name}/")
    bias_name = f"{scope}BiasAccumulator:0"
    entries += _list_sums(learner, bias_name, learner.bias, learner.options.center_bias)
    entries += _list_sums(learner, f"{scope}StepsAccumulator:0", learner.steps)
    return entries


def _wrap(serialized: bytes) -> np.ndarray:
    scalar = np.empty((), object)
    scalar[()] = serialized
    return scalar


def _count_entry(learner: Learner, key: str, field: str) -> _Entry:
    def set_count(value: Any) -> None:
        learner.counts = learner.counts._replace(**{field: int(value)})

    return _Entry(key, tf.int64, lambda: getattr(learner.counts, field), set_count)


def _list_sums(
    learner: Learner, name: str, accumulator: Accumulator, has_stamp: bool = True
) -> list[_Entry]:
    def set_updates(value: Any) -> None:
        accumulator.num_updates = int(value)

    def make(key: str, dtype: Any, field: str) -> _Entry:
        def set_field(value: Any) -> None:
            accumulator.sums = accumulator.sums._replace(**{field: np.array(value)})

        return _Entry(key, dtype, lambda: getattr(accumulator.sums, field), set_field)

    fields = (
        ("_partition_ids", tf.int32),
        ("_feature_ids", tf.int64),
        ("_gradients", tf.float32),
        ("hessians", tf.float32),
    )
    return [
        # All accumulators that are used have the stamp of the trees.
        _Entry(
            f"{name}_stamp",
            tf.int64,
            lambda: learner.stamp if has_stamp else 0,
            lambda value: None,
        ),
        _Entry(f"{name}_num_updates", tf.int64, lambda: accumulator.num_updates, set_updates),
        *(
            make(name + ending, dtype, field)
            for (ending, dtype), field in zip(fields, Sums._fields)
        ),
    ]


def _list_stream(learner: Learner, feature: Feature, name: str) -> list[_Entry]:
    stream = learner.streams[feature.name]

    def set_attribute(attribute: str, convert: Any) -> Callable[[Any], None]:
        return lambda value: setattr(stream, attribute, convert(value))

    return [
        _Entry(f"{name}_stamp", tf.int64, lambda: learner.stamp, lambda value: None),
        _Entry(
            f"{name}_state", tf.string, lambda: _wrap(stream.state), set_attribute("state", bytes)
        ),
        _Entry(
            f"{name}_are_buckets_ready",
            tf.bool,
            lambda: stream.is_ready,
            set_attribute("is_ready", bool),
        ),
        _Entry(
            f"{name}buckets",
            tf.float32,
            lambda: stream.boundaries,
            set_attribute("boundaries", np.array),
        ),
    ]


class ForestVariables:
    """The trees as variables of standard operations, for evaluation, prediction and exports.

    Args:
      logits: the number of logits.
      config: the LearnerConfig.
      center_bias: whether the first tree is the bias.
      features: the features.
    """

    key = SERIALIZED

    def __init__(self, logits: int, config: Any, center_bias: bool, features: Sequence[Feature]):
        self._logits, self._config, self._center_bias = logits, config, center_bias
        self._sparse = [feature.first for feature in features if feature.kind == "sparse"]
        empty = flatten([], [], logits, self._sparse)
        with tf.name_scope("forest"):
            self.variables = [add_array(array, name) for name, array in empty._asdict().items()]

    @property
    def forest(self) -> Forest:
        """The trees, as tensors instead of arrays."""
        return Forest(*(array.read_value() for array in self.variables))

    def load(self, session: Any, reader: Any) -> None:
        """Sets the variables from a checkpoint of training.

        Args:
          session: the session.
          reader: the checkpoint's reader.
        """
        ensemble = trees.parse(reader.get_tensor(self.key))
        count = trees.count_predicted(ensemble, self._config, self._center_bias)
        weights = weigh(ensemble.tree_weights[:count], self._config)
        values = flatten(ensemble.trees[:count], weights, self._logits, self._sparse)
        set_arrays(session, self.variables, list(values))


def weigh(tree_weights: Sequence[float], config: Any) -> list[float]:
    """Returns what each tree is multiplied by in predictions.

    With an averaging_config, predictions are the mean over the ensembles of the last trees: a tree
    counts for those ensembles in which it already was.

    Args:
      tree_weights: the weights of the trees.
      config: the LearnerConfig.
    """
    weights = list(tree_weights)
    kind = config.averaging_config.WhichOneof("config")
    if kind is None or not weights:
        return weights
    last = getattr(config.averaging_config, kind)
    if kind == "average_last_percent_trees":
        last *= len(weights)
    last = max(1, min(int(last), len(weights)))
    return [
        float(np.float32(weight) * np.float32(min(last, len(weights) - number) / last))
        for number, weight in enumerate(weights)
    ]
