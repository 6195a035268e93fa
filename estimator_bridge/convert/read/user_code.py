"""Code of the user's: found, called, and its errors as one line."""

import importlib
import os
import sys
from typing import Any, Callable

from ...errors import BridgeError

__all__ = ["call_function", "load_function", "describe_error"]


def load_function(where: str, flag: str) -> Callable:
    """Imports MODULE:FUNCTION, the module also from the current folder.

    Raises:
      BridgeError: there is no such module or function, or importing it fails.
    """
    import estimator_bridge

    estimator_bridge.install()
    module_name, _, name = where.partition(":")
    if not module_name or not name:
        raise BridgeError(f"{flag}={where}: expected MODULE:FUNCTION, for example my_model:build")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BridgeError(
            f"{flag}={where}: module {module_name} cannot be imported: {error}"
        ) from error
    except Exception as error:  # Code of the user's.
        raise BridgeError(
            f"{flag}={where}: importing {module_name} raises {describe_error(error)}"
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise BridgeError(f"{flag}={where}: module {module_name} has no function {name!r}")
    return function


def call_function(function: Callable, what: str) -> Any:
    """Calls a function of the user's.

    Raises:
      BridgeError: it raises; says what and where.
    """
    try:
        return function()
    except Exception as error:
        raise BridgeError(f"{what} raises {describe_error(error)}") from error


def describe_error(error: Exception) -> str:
    """Type, place and message of what code of the user's raised, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    if hasattr(error, "node_def"):
        # TensorFlow's own: where in the graph it was stands before and after what is wrong.
        after = [index for index, line in enumerate(lines) if line.startswith("[[{{node")]
        return f"{type(error).__name__}: {lines[max(after[0] - 1, 0) if after else 0][:300]}"
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    where = f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    # AutoGraph puts where it was before the message.
    text = lines[-1 if lines[0] == "in user code:" else 0]
    return f"{type(error).__name__} at {where}: {text[:300]}"
