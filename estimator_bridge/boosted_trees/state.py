"""The variables of boosted trees, and their place in checkpoints."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from ..private_tf import resources, saver
from .ensemble import parse
from .forest import Forest, flatten

__all__ = [
    "SERIALIZED",
    "Boundaries",
    "ForestSaver",
    "ForestVariables",
    "InMemorySaver",
    "TrainingState",
    "add_array",
    "boundaries_key",
    "set_arrays",
    "variable",
]

_ENSEMBLE = "boosted_trees:0"
_QUANTILES = "boosted_trees/QuantileAccumulator:0"
# The key of the serialized ensemble in a checkpoint.
SERIALIZED = f"{_ENSEMBLE}_serialized"
_STAMP = f"{_ENSEMBLE}_stamp"

_Saveable: Any = saver.BaseSaverBuilder.SaveableObject
_SaveSpec = saver.BaseSaverBuilder.SaveSpec


def boundaries_key(stream: int) -> str:
    """Returns the key of the boundaries of a number in a checkpoint.

    Args:
      stream: counts the features that are numbers.
    """
    return f"{_QUANTILES}_bucket_boundaries_{stream}"


def variable(initial_value: Any, name: str, **options: Any) -> Any:
    """Returns a resource variable that is not trained.

    Args:
      initial_value: its first value.
      name: its name.
      **options: more arguments of tf.compat.v1.Variable.
    """
    return tf.compat.v1.Variable(
        initial_value=initial_value,
        trainable=False,
        validate_shape=False,
        name=name,
        use_resource=True,
        **options,
    )


class _Group(_Saveable):
    """Saves variables together, under keys that are no names of variables."""

    def __init__(self, name: str, keys: Sequence[str], variables: Sequence[Any]):
        specs = []
        for key, one in zip(keys, variables):
            with tf.compat.v1.colocate_with(one.handle):
                specs.append(_SaveSpec(one.read_value(), "", key))
        self._variables = variables
        super().__init__(variables[0].handle, specs, name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Returns the operation that gives the variables the values of a checkpoint."""
        del restored_shapes
        pairs = zip(self._variables, restored_tensors)
        return tf.group(*(one.assign(value, read_value=False) for one, value in pairs))


class Boundaries(_Saveable):
    """The boundaries of the buckets of all numbers.

    Two variables hold them: a step passes its variables through each of its branches.

    Args:
      values: the variable of all boundaries, float32, those of one number after the other's.
      sizes: the variable of how many each number has, int32 [numbers].
    """

    def __init__(self, values: Any, sizes: Any):
        self._values, self._sizes = values, sizes
        count = int(sizes.shape[0])
        with tf.compat.v1.colocate_with(values.handle):
            parts = tf.split(values.read_value(), sizes.read_value(), num=count)
            keys = [boundaries_key(stream) for stream in range(count)]
            specs = [_SaveSpec(part, "", key) for key, part in zip(keys, parts)]
        super().__init__(values.handle, specs, _QUANTILES)

    def assign(self, values: Any, sizes: Any) -> Any:
        """Returns the operation that changes all boundaries.

        Args:
          values: float32 [boundaries].
          sizes: int32 [numbers].
        """
        return tf.group(
            self._values.assign(values, read_value=False),
            self._sizes.assign(sizes, read_value=False),
        )

    def read(self) -> tuple[Any, Any]:
        """Returns the boundaries and their sizes, as tensors."""
        return self._values.read_value(), self._sizes.read_value()

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Returns the operation that sets the boundaries of a checkpoint.

        Args:
          restored_tensors: float32 [n] for each number.
          restored_shapes: not used.
        """
        del restored_shapes
        sizes = [tf.size(one) for one in restored_tensors]
        return self.assign(tf.concat(restored_tensors, axis=0), tf.stack(sizes))


class TrainingState:
    """What training changes: the ensemble, its stamp, and the boundaries of the buckets.

    The variables are in no collection, because checkpoints have keys of their own for them.

    Args:
      num_streams: how many features are numbers.

    Attributes:
      serialized: the variable of the ensemble, a string.
      stamp: the variable of the number of changes, int64.
      boundaries: None if no feature is a number.
    """

    def __init__(self, num_streams: int):
        self.serialized = self._add(b"", "ensemble", [])
        self.stamp = self._add(np.int64(0), "stamp", [])
        _save(_Group(_ENSEMBLE, [_STAMP, SERIALIZED], [self.stamp, self.serialized]))
        self.boundaries: Optional[Boundaries] = None
        if num_streams:
            self.boundaries = Boundaries(
                self._add(np.zeros(0, np.float32), "boundaries", [None]),
                self._add(np.zeros(num_streams, np.int32), "num_boundaries", [num_streams]),
            )
            _save(self.boundaries)

    @staticmethod
    def _add(value: Any, name: str, shape: list[Any]) -> Any:
        one = variable(value, name, collections=[], shape=tf.TensorShape(shape))
        resources.register_resource(
            one.handle, one.initializer, tf.compat.v1.is_variable_initialized(one)
        )
        return one


def _save(saveable: Any) -> None:
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS, saveable)


def add_array(array: np.ndarray, name: str) -> Any:
    """Returns a variable that `set_arrays` sets.

    Args:
      array: its first value; the first dimension may change.
      name: its name.
    """
    shape = [None, *array.shape[1:]] if array.ndim else []
    # A checkpoint's value is fed for the initial one: no operation is added for it.
    initial = tf.compat.v1.placeholder_with_default(array, shape)
    return variable(initial, name, shape=tf.TensorShape(shape))


def set_arrays(session: Any, variables: Sequence[Any], values: Sequence[np.ndarray]) -> None:
    """Sets variables of `add_array`.

    Args:
      session: the session.
      variables: the variables.
      values: their values.
    """
    for one, value in zip(variables, values):
        session.run(one.initializer, {one.initializer.inputs[1]: value})


class ForestVariables:
    """The trees as variables of standard operations, for evaluation, prediction and exports.

    Args:
      logits: the number of logits.
      num_streams: how many features are numbers.

    Attributes:
      key: one that only checkpoints of training have.
    """

    key = SERIALIZED

    def __init__(self, logits: int, num_streams: int):
        self._logits = logits
        empty = flatten(parse(b""), logits)
        with tf.name_scope("forest"):
            self._arrays = [add_array(array, name) for name, array in empty._asdict().items()]
            self.boundaries = [
                add_array(np.zeros(0, np.float32), f"boundaries_{stream}")
                for stream in range(num_streams)
            ]

    @property
    def variables(self) -> list[Any]:
        """All variables."""
        return [*self._arrays, *self.boundaries]

    @property
    def forest(self) -> Forest:
        """The trees, as tensors instead of arrays."""
        return Forest(*(array.read_value() for array in self._arrays))

    def load(self, session: Any, reader: Any) -> None:
        """Sets the variables from a checkpoint of training.

        Args:
          session: the session.
          reader: the checkpoint's reader.
        """
        values = list(flatten(parse(reader.get_tensor(SERIALIZED)), self._logits))
        values += [reader.get_tensor(boundaries_key(n)) for n in range(len(self.boundaries))]
        set_arrays(session, self.variables, values)


class ForestSaver(tf.compat.v1.train.Saver):
    """Reads the trees of a checkpoint into the variables that an export saves.

    Args:
      forest: ForestVariables, or other trees with `variables`, `key` and `load`.
    """

    def __init__(self, forest: Any):
        super().__init__(sharded=True)
        self._forest = forest
        own = {id(one) for one in forest.variables}
        keys = tf.compat.v1.GraphKeys
        saved = [
            *tf.compat.v1.get_collection(keys.GLOBAL_VARIABLES),
            *tf.compat.v1.get_collection(keys.SAVEABLE_OBJECTS),
        ]
        others = [one for one in saved if id(one) not in own]
        self._others = tf.compat.v1.train.Saver(others, sharded=True)

    def restore(self, sess: Any, save_path: str) -> None:
        """Restores a checkpoint of training, or what an export saved.

        Args:
          sess: the session.
          save_path: the checkpoint's prefix.
        """
        if not tf.compat.v1.train.checkpoint_exists(save_path):
            super().restore(sess, save_path)
            return
        reader = tf.train.load_checkpoint(save_path)
        if reader.has_tensor(self._forest.key):
            self._others.restore(sess, save_path)
            self._forest.load(sess, reader)
        else:
            super().restore(sess, save_path)


class _NotCached(_Saveable):
    """Saves that no features are cached, under the keys that TensorFlow's own operations restore.

    TensorFlow then caches them in its first step.

    Args:
      num_features: how many features there are.
    """

    def __init__(self, num_features: int):
        prefix = "boosted_trees/"
        nothing = tf.zeros([0, 1], tf.int32)
        specs = [_SaveSpec(tf.constant(False), "", f"{prefix}are_features_cached")]
        for number in range(num_features):
            specs.append(_SaveSpec(nothing, "", f"{prefix}cached_feature_{number}"))
        super().__init__(nothing, specs, f"{prefix}features_cache")

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Returns an operation that does nothing: buckets are computed anew in each session."""
        del restored_tensors, restored_shapes
        return tf.no_op()


class InMemorySaver(tf.compat.v1.train.Saver):
    """Saves what training in memory restores, and in addition what TensorFlow would restore.

    Checkpoints of earlier versions lack the addition. It is not read, so they are restored too.

    Args:
      num_features: how many features there are.
      config: the RunConfig, which says how many checkpoints are kept.
    """

    def __init__(self, num_features: int, config: Any):
        keys = tf.compat.v1.GraphKeys
        saved = [
            *tf.compat.v1.get_collection(keys.GLOBAL_VARIABLES),
            *tf.compat.v1.get_collection(keys.SAVEABLE_OBJECTS),
        ]
        super().__init__(
            [*saved, _NotCached(num_features)],
            sharded=True,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            save_relative_paths=True,
        )
        self._own = tf.compat.v1.train.Saver(saved, sharded=True)

    def restore(self, sess: Any, save_path: str) -> None:
        """Restores a checkpoint of training in memory.

        Args:
          sess: the session.
          save_path: the checkpoint's prefix.
        """
        self._own.restore(sess, save_path)
