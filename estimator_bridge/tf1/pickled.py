"""Functions and classes of the API as pickle finds them: by the name of a module.

TensorFlow replaces functions in their modules after the API was filled, so that the module has
another object than the API, which pickle refuses. And 1.x had functions in modules of tf.contrib
that pickle must import.
"""

import sys
import types
from collections.abc import Iterator
from typing import Any

from estimator_bridge.tf1 import private_keras

__all__ = ["supply", "use_own_modules"]

_API = "tensorflow._api.v2.compat.v1"
# The messages whose module cannot be imported by the name that they give, and where 1.x had them.
_MESSAGES = {"HistogramProto": "tensorflow.core.framework.summary_pb2"}


def use_own_modules(v1: Any) -> None:
    """Puts the functions into the API that their modules have now.

    Args:
      v1: `tensorflow.compat.v1`.
    """
    for name, home in _MESSAGES.items():
        getattr(v1, name).__module__ = home
    below = [
        module
        for name, module in sys.modules.items()
        if name.startswith(f"{_API}.") and not name.startswith(f"{_API}.compat")
    ]
    for module in [v1, *below]:
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType):
                present = _find_present(value)
                if present is not value:
                    setattr(module, name, present)


def _find_present(function: Any) -> Any:
    """Returns what the module of a function has under its name, if one of them wraps the other."""
    module = sys.modules.get(function.__module__)
    present = vars(module).get(function.__qualname__) if module else None
    if isinstance(present, types.FunctionType):
        if any(one is function for one in _unwrap(present)):
            return present
        if any(one is present for one in _unwrap(function)):
            return present
    return function


def _unwrap(function: Any) -> Iterator[Any]:
    while function is not None:
        yield function
        function = vars(function).get("__wrapped__")


def supply(name: str, module: types.ModuleType) -> None:
    """Lets pickle find a module and its names in `sys.modules`.

    Args:
      name: the full name in 1.x.
      module: what a program gets for it.
    """
    own = sys.modules.setdefault(name, module)
    for lost in private_keras.NAMES.get(name, ()):
        # TensorFlow's module would load a part of Keras that Keras 2 does not have.
        vars(own).setdefault(lost, getattr(module, lost))
