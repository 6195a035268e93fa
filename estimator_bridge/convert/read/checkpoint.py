"""Reads variables of a checkpoint by their names or by the ends of their names."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from estimator_bridge.errors import BridgeError
from estimator_bridge.model_files.checkpoint_paths import with_parts

from ..plan.model import Schedule

__all__ = ["Checkpoint", "open_checkpoint", "rate_at", "shape_problem"]

# A checkpoint with the names of objects adds this to the name of a variable.
_OF_OBJECT = "/.ATTRIBUTES/VARIABLE_VALUE"
# Ends of the names of the number of steps: of Estimators, of model_to_estimator, which may save by
# objects, and of Keras's optimizers.
_STEPS = (
    "global_step",
    f"estimator_global_step{_OF_OBJECT}",
    f"global_step{_OF_OBJECT}",
    f"iter{_OF_OBJECT}",
    f"_iterations{_OF_OBJECT}",
)
# Ends of the names of all parts but the first of a slot of a partitioned variable.
_LATER_PART = re.compile(r"/(?:part|t)_[1-9]\d*/[^/]+$")
# Averages that a program adds, under names like those of slots.
_NO_SLOTS = ("ExponentialMovingAverage",)


class Checkpoint:
    """The variables of a checkpoint.

    Args:
      path: prefix of the checkpoint's files.
      reader: checkpoint reader of TensorFlow.

    Attributes:
      path: prefix of the checkpoint's files.
      names: names of all variables, sorted.
    """

    def __init__(self, path: str, reader: Any):
        self.path = path
        self._reader = reader
        self.names: list[str] = sorted(reader.get_variable_to_shape_map())

    def get(self, name: str) -> Any:
        """Returns a variable as a NumPy array.

        Args:
          name: name of the variable.

        Raises:
          BridgeError: its values are damaged.
        """
        import tensorflow as tf

        try:
            return self._reader.get_tensor(name)
        except tf.errors.UnimplementedError:
            # The parts of a partitioned variable in the format V1.
            return self._restore(name, "")
        except (tf.errors.OpError, IndexError) as error:
            raise self._unreadable(name, error) from error

    def check(self) -> None:
        """Reads all variables.

        Raises:
          BridgeError: the values of one are damaged.
        """
        for name in self.names:
            # A part of a slot has no tensor of its own; part 0 reads all of them.
            if not _LATER_PART.search(name):
                self.get_slot(name)

    def _unreadable(self, name: str, error: Exception) -> BridgeError:
        return BridgeError(
            f"checkpoint {self.path}: {name} cannot be read "
            f"({str(error).splitlines()[0][:160]}); copy the files again, or name another "
            "checkpoint with --checkpoint=PREFIX"
        )

    def get_slot(self, name: str) -> Any:
        """Returns a slot variable as a NumPy array; the parts of a partitioned one are joined.

        Args:
          name: a name from find_slots.
        """
        scope, _, stored = name.rpartition("/")
        number = 0
        while scope.endswith("/part_0") or scope.endswith("/t_0"):
            if f"{scope[:-1]}{number}/{stored}" not in self.names:
                break
            number += 1
        if number < 2:
            return self.get(name)
        # Each part is stored as a slice of a tensor that has the shape of the whole variable.
        shape = self._reader.get_variable_to_shape_map()[name]
        rows, more = divmod(shape[0], number)
        found, first = [], 0
        for index in range(number):
            length = rows + (index < more)
            found.append(self._slice(f"{scope[:-1]}{index}/{stored}", shape, first, length))
            first += length
        return np.concatenate(found)

    def _slice(self, name: str, shape: Sequence[int], first: int, length: int) -> Any:
        rest = ":".join(["-"] * (len(shape) - 1))
        where = f"{first},{length}" + (f":{rest}" if rest else "")
        return self._restore(name, f"{' '.join(map(str, shape))} {where}")

    def _restore(self, name: str, part: str) -> Any:
        import tensorflow as tf

        dtype = self._reader.get_variable_to_dtype_map()[name]
        try:
            found = tf.raw_ops.RestoreV2(
                prefix=self.path, tensor_names=[name], shape_and_slices=[part], dtypes=[dtype]
            )
        except tf.errors.OpError as error:
            raise self._unreadable(name, error) from error
        return found[0].numpy()

    @property
    def step(self) -> int:
        """The global step; 0 if the checkpoint has none."""
        return self.stored_step or 0

    @cached_property
    def stored_step(self) -> Optional[int]:
        """The number of training steps, or None if the checkpoint does not say."""
        for ending in _STEPS:
            found = [name for name in self.names if f"/{name}".endswith(f"/{ending}")]
            if found:
                return int(self.get(min(found, key=len)))
        return None

    def find(self, endings: Sequence[str]) -> str:
        """Returns the name of the variable with the first matching name or ending.

        Args:
          endings: names or ends of names, the most likely first.

        Raises:
          BridgeError: no variable matches, or more than one.
        """
        for ending in endings:
            if ending in self.names:
                return ending
            found = [name for name in self.names if name.endswith(ending)]
            if len(found) == 1:
                return found[0]
            if found:
                raise BridgeError(
                    f"checkpoint {self.path}: {ending} matches several variables: "
                    f"{', '.join(found)}"
                )
        near = [name for name in self.names if endings[0].split("/")[-1] in name][:4]
        raise BridgeError(
            f"checkpoint {self.path}: no variable {endings[0]} (it has "
            f"{', '.join(near or self.names[:4])} ...); give a checkpoint of the described model"
        )

    def find_slots(self, variable: str, version: int) -> dict[str, str]:
        """Returns the stored name of each slot of a variable -> its name in the checkpoint.

        Args:
          variable: name of the trained variable.
          version: 1 for tf.compat.v1.train, 2 for Keras 2.
        """
        # v1: <variable>/<slot>, or with t_0 or part_0 in between, for variables of several parts.
        # Keras 2: <scope>/<variable>/<slot>.
        start, more = ("(?:^|/)", r"(?:(?:t|part)_\d+/)?") if version == 1 else ("/", "")
        pattern = re.compile(rf"{start}{re.escape(variable)}/{more}([^/]+)$")
        matches = ((pattern.search(name), name) for name in self.names)
        found = {match[1]: name for match, name in reversed([*matches]) if match}
        return {slot: name for slot, name in found.items() if slot not in _NO_SLOTS}


def open_checkpoint(where: str) -> Checkpoint:
    """Opens a checkpoint.

    Args:
      where: prefix of a checkpoint, or a folder, whose newest checkpoint is opened.

    Raises:
      BridgeError: there is no checkpoint, or it cannot be read.
    """
    import tensorflow as tf

    path = tf.train.latest_checkpoint(where) or with_parts(where)
    try:
        return Checkpoint(path, tf.train.load_checkpoint(path))
    except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
        raise BridgeError(
            f"checkpoint {where}: no readable checkpoint ({str(error).splitlines()[0][:100]}); "
            "give a folder that has one, or --checkpoint=PREFIX"
        ) from error


def rate_at(rate: Union[float, Schedule], step: int) -> float:
    """Returns the value of a learning rate at a step.

    Args:
      rate: a number or a schedule.
      step: the step.
    """
    if not isinstance(rate, Schedule):
        return float(rate)
    import keras

    return float(rate.build(keras.optimizers.schedules)(step))


def shape_problem(checkpoint: Checkpoint, name: str, shape: tuple[int, ...]) -> Optional[str]:
    """Returns a message if a variable does not have the expected shape, else None.

    Args:
      checkpoint: the checkpoint.
      name: name of the variable.
      shape: the expected shape.
    """
    found = tuple(checkpoint.get(name).shape)
    if found == tuple(shape):
        return None
    return (
        f"checkpoint {checkpoint.path}: {name} is {list(found)}, but the described model has "
        f"{list(shape)}; give a checkpoint of this model"
    )
