"""Imports and calls functions of the user, and reports their errors in one line."""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, Callable

from estimator_bridge.command_line import current_folder
from estimator_bridge.errors import BridgeError

__all__ = ["call_function", "describe_error", "hidden_arguments", "load_function"]


@contextlib.contextmanager
def hidden_arguments() -> Iterator[None]:
    """Hides the arguments of this command from code of the user, which reads flags of its own."""
    arguments = sys.argv
    sys.argv = arguments[:1]
    try:
        yield
    finally:
        sys.argv = arguments


def load_function(where: str, flag: str) -> Callable[..., Any]:
    """Imports a function; its module may also be in the current folder.

    Args:
      where: MODULE:FUNCTION.
      flag: the command-line option with this value, for messages.

    Returns:
      The function.

    Raises:
      BridgeError: there is no such module or function, or the import fails.
    """
    import estimator_bridge

    estimator_bridge.install()
    module_name, _, name = where.partition(":")
    if not module_name or not name:
        raise BridgeError(f"{flag}={where}: expected MODULE:FUNCTION, for example my_model:build")
    current_folder.prepend()
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BridgeError(
            f"{flag}={where}: module {module_name} cannot be imported: {error}{_advice(error)}"
        ) from error
    except (Exception, SystemExit) as error:  # User code may raise anything.
        raise BridgeError(
            f"{flag}={where}: importing {module_name} raises {describe_error(error)}"
            f"{_advice(error)}"
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise BridgeError(f"{flag}={where}: module {module_name} has no function {name!r}")
    return function


def call_function(function: Callable[[], Any], what: str) -> Any:
    """Calls a function of the user and returns its result.

    Args:
      function: a function without arguments.
      what: the option that names the function, for messages.

    Raises:
      BridgeError: the function raises.
    """
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise BridgeError(f"{what} raises {describe_error(error)}{_advice(error)}") from error


def _advice(error: BaseException) -> str:
    """Returns the option for a program that needs an older TensorFlow, else ''."""
    from estimator_bridge.era import advice
    from estimator_bridge.tf1 import imports

    if advice.find_new_class(error):
        return "; name the TensorFlow of the program, for example --as=2.8"
    # A missing attribute is reported in quotes, a missing module without them.
    is_name = isinstance(error, (AttributeError, ImportError)) and "tensorflow" in str(error)
    return "; add --tf1 for a TensorFlow 1.x program" if is_name and not imports.installed() else ""


def describe_error(error: BaseException) -> str:
    """Returns type, source line and message of an error of user code, in one line.

    Args:
      error: the error.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    if hasattr(error, "node_def"):
        # For an error of a TensorFlow operation, the message is the line before the node.
        nodes = [index for index, line in enumerate(lines) if line.startswith("[[{{node")]
        return f"{type(error).__name__}: {lines[max(nodes[0] - 1, 0) if nodes else 0][:300]}"
    # AutoGraph writes the stack before the message.
    text = lines[-1 if lines[0] == "in user code:" else 0]
    last = error.__traceback__
    if last is None:
        return f"{type(error).__name__}: {text[:300]}"
    while last.tb_next is not None:
        last = last.tb_next
    where = f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    return f"{type(error).__name__} at {where}: {text[:300]}"
