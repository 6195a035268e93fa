"""Variables of a checkpoint, by name or by the end of their names."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

__all__ = ["Checkpoint", "open_checkpoint"]


class Checkpoint:
    """A checkpoint's variables.

    Attributes:
      path: prefix of the checkpoint's files.
      names: of all variables.
    """

    def __init__(self, path: str, reader: Any):
        self.path = path
        self._reader = reader
        self.names: list[str] = sorted(reader.get_variable_to_shape_map())

    def get(self, name: str) -> Any:
        """The variable called `name`, a NumPy array."""
        return self._reader.get_tensor(name)

    def get_slot(self, name: str) -> Any:
        """A slot found by find_slot; of a partitioned variable the parts, put together."""
        scope, stored = name.rsplit("/", 1)
        number = 0
        while scope.endswith("/part_0") or scope.endswith("/t_0"):
            if f"{scope[:-1]}{number}/{stored}" not in self.names:
                break
            number += 1
        if number < 2:
            return self.get(name)
        # Each part is stored as a slice of a tensor that has the whole variable's shape.
        shape = self._reader.get_variable_to_shape_map()[name]
        rows, more = divmod(shape[0], number)
        found, first = [], 0
        for index in range(number):
            length = rows + (index < more)
            found.append(self._slice(f"{scope[:-1]}{index}/{stored}", shape, first, length))
            first += length
        return np.concatenate(found)

    def _slice(self, name, shape, first, length):
        import tensorflow as tf

        rest = ":".join(["-"] * (len(shape) - 1))
        where = f"{first},{length}" + (f":{rest}" if rest else "")
        spec = f"{' '.join(map(str, shape))} {where}"
        dtype = self._reader.get_variable_to_dtype_map()[name]
        return tf.raw_ops.RestoreV2(
            prefix=self.path, tensor_names=[name], shape_and_slices=[spec], dtypes=[dtype]
        )[0].numpy()

    @property
    def step(self) -> int:
        """The global step; 0 if there is none."""
        return int(self.get("global_step")) if "global_step" in self.names else 0

    def find(self, endings: Sequence[str]) -> str:
        """The name of the one variable that is called so, or whose name ends so.

        Raises:
          BridgeError: there is none, or more than one.
        """
        for ending in endings:
            if ending in self.names:
                return ending
            found = [name for name in self.names if name.endswith(ending)]
            if len(found) == 1:
                return found[0]
            if found:
                raise BridgeError(
                    f"checkpoint {self.path}: {ending} may be any of {', '.join(found)}"
                )
        near = [name for name in self.names if endings[0].split("/")[-1] in name][:4]
        raise BridgeError(
            f"checkpoint {self.path} has no variable {endings[0]}: it is of another "
            f"model than the description "
            f"(there are {', '.join(near or self.names[:4])} ...)"
        )

    def find_slot(self, variable: str, stored: str, version: int) -> Optional[str]:
        """The name of an optimizer's slot of a variable; None if that optimizer has not been
        saved.
        """
        # v1 puts it below the variable, perhaps a level deeper ("t_0"); Keras 2 below a scope.
        if version == 1:
            names = [
                name
                for name in self.names
                if f"/{variable}/" in f"/{name}" and name.endswith(f"/{stored}")
            ]
        else:
            names = [name for name in self.names if name.endswith(f"/{variable}/{stored}")]
        return names[0] if names else None


def open_checkpoint(where: str) -> Checkpoint:
    """Opens a checkpoint: a prefix, or a folder whose newest is taken.

    Raises:
      BridgeError: there is none, or it cannot be read.
    """
    import tensorflow as tf

    path = tf.train.latest_checkpoint(where) or where
    try:
        return Checkpoint(path, tf.train.load_checkpoint(path))
    except (tf.errors.OpError, ValueError) as error:
        raise BridgeError(
            f"checkpoint {where}: none can be read there ({str(error).splitlines()[0][:100]}); "
            "give a folder that has one, or --checkpoint=PREFIX"
        ) from error


def rate_at(code_or_number: Any, step: int) -> float:
    """A learning rate, or the value of a schedule's Keras code, at a step."""
    if not isinstance(code_or_number, str):
        return float(code_or_number)
    import keras

    return float(eval(code_or_number, {"keras": keras})(step))  # The code is ours, from numbers.


def shapes_differ(checkpoint: Checkpoint, name: str, shape: tuple[int, ...]) -> Optional[str]:
    """What is wrong if the variable is not of this shape; None if it is."""
    found = tuple(checkpoint.get(name).shape)
    if found == tuple(shape):
        return None
    return (
        f"checkpoint {checkpoint.path}: {name} is {list(found)}, the description makes it "
        f"{list(shape)}"
    )
