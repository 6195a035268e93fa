"""The debugger tfdbg with the arguments and names of 1.15.

TensorFlow 2 has removed `log_usage`, which had no effect outside of Google, and the user interface
`curses`, and has renamed the lists of what is watched.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, Optional

from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]

_PACKAGE = "tensorflow.python.debug"

# Class -> the position of `log_usage`, after self; None if it had none.
_CLASSES: dict[str, Optional[int]] = {
    "DumpingDebugHook": 3,
    "DumpingDebugWrapperSession": 5,
    "GrpcDebugHook": 3,
    "GrpcDebugWrapperSession": 4,
    "LocalCLIDebugWrapperSession": 2,
    "TensorBoardDebugHook": 3,
    "TensorBoardDebugWrapperSession": 4,
    "WatchOptions": None,
}
# Function of 1.15 -> its present name.
_FUNCTIONS = {
    "watch_graph": "watch_graph",
    "watch_graph_with_blacklists": "watch_graph_with_denylists",
}


def install() -> None:
    """Restores the arguments and names when the debugger is imported."""
    call_when_imported(_PACKAGE, _restore)


def _restore() -> None:
    package = importlib.import_module(_PACKAGE)
    if hasattr(package, "watch_graph_with_blacklists"):
        return
    for name, position in _CLASSES.items():
        cls = getattr(package, name)
        cls.__init__ = _accept(cls.__init__, None if position is None else position + 1)
    utils = importlib.import_module(f"{_PACKAGE}.lib.debug_utils")
    for name, present in _FUNCTIONS.items():
        function = _accept(getattr(package, present), None)
        for module in (package, utils):
            setattr(module, name, function)
    factory: Any = importlib.import_module(f"{_PACKAGE}.cli.ui_factory")
    factory.get_ui = _choose_interface(factory.get_ui, factory.SUPPORTED_UI_TYPES)


def _accept(function: Callable[..., Any], position: Optional[int]) -> Callable[..., Any]:
    takes_log_usage = "log_usage" in inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not takes_log_usage and position is not None:
            kwargs.pop("log_usage", None)
            args = (*args[:position], *args[position + 1 :])
        renamed = {
            name.replace("whitelist", "allowlist").replace("blacklist", "denylist"): value
            for name, value in kwargs.items()
        }
        return function(*args, **renamed)

    return call


def _choose_interface(get_ui: Callable[..., Any], supported: list[str]) -> Callable[..., Any]:
    @functools.wraps(get_ui)
    def get(ui_type, *args, **kwargs):
        # 1.15 fell back to this one too, where the module curses is missing.
        is_missing = ui_type == "curses" and ui_type not in supported
        return get_ui("readline" if is_missing else ui_type, *args, **kwargs)

    return get
