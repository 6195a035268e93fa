"""Variables on parameter servers, in the graph of a process that trains."""

from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_bridge import tf
from trainer.models.fused.sharing import SharedVariables


class Remote:
    """A variable on the parameter servers.

    Args:
        variable: of the graph, without memory.
        initial: its initial value, a tensor.
        home: gives access to the servers.
    """

    def __init__(self, variable: Any, initial: Any, home: "Home"):
        self._variable, self._initial, self._home = variable, initial, home
        self.shape, self.dtype, self.op = variable.shape, variable.dtype, variable.op

    def ref(self) -> Any:
        """Returns a key for dicts."""
        return self._variable.ref()

    def read_value(self) -> Any:
        """Returns the value, a tensor."""
        name, dtype, home = self.op.name, self.dtype, self._home

        def read() -> np.ndarray:
            return home.variables.get(name, dtype.as_numpy_dtype)

        return tf.reshape(tf.numpy_function(read, [], dtype), self.shape)

    def assign(self, value: Any, read_value: bool = False) -> Any:
        """Returns the operation that sets the variable; only the chief sets it.

        Args:
            value: a tensor.
            read_value: False.
        """
        assert not read_value
        if not self._home.loads:
            return tf.no_op()
        name, home = self.op.name, self._home

        def write(array: np.ndarray) -> None:
            home.variables.set(name, array)

        # Without its shape, a value of another shape would not be noticed.
        return tf.numpy_function(write, [tf.ensure_shape(value, self.shape)], [])

    def initialize(self) -> Any:
        """Returns the operation that sets the initial value."""
        return self.assign(self._initial)


class Home:
    """The servers, and the variables of the graph that they hold.

    Args:
        loads: whether this process sets the variables.

    Attributes:
        loads: the same.
        remote: all variables.
        variables: gives access to their values.
    """

    variables: SharedVariables

    def __init__(self, loads: bool):
        self.loads = loads
        self.remote: list[Remote] = []

    def create(self, getter: Callable[..., Any], name: str, *args: Any, **options: Any) -> Any:
        """Creates a variable; a custom getter of a variable scope.

        Args:
            getter: creates the variable of the graph.
            name: of the variable.
            *args: of the getter.
            **options: of the getter; the initializer is a tensor.
        """
        variable = getter(name, *args, **options)
        self.remote.append(Remote(variable, options["initializer"], self))
        return self.remote[-1]
