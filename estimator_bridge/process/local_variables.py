"""`locals()` and `vars()` as before Python 3.13, where a function has one dictionary of its locals.

Since Python 3.13, each call returns a new dictionary. `locals().update(defaults())` followed by
`return locals()`, as configurations were written, then loses the defaults without an error.
"""

import builtins
import functools
import inspect
import sys
from types import FrameType
from typing import Any

__all__ = ["install"]

# The name under which a frame keeps its dictionary. No variable can have it.
_KEPT = "<locals>"
_NO_OBJECT = object()


def install() -> None:
    """Replaces both functions; does nothing before Python 3.13."""
    if sys.version_info >= (3, 13):
        builtins.locals = _locals
        builtins.vars = _vars


@functools.wraps(builtins.locals)
def _locals() -> dict[str, Any]:
    return _locals_of(sys._getframe(1))


def _vars(given: Any = _NO_OBJECT, /, _original: Any = builtins.vars) -> dict[str, Any]:
    return _locals_of(sys._getframe(1)) if given is _NO_OBJECT else _original(given)


def _locals_of(frame: FrameType) -> dict[str, Any]:
    """Returns the dictionary of a frame: its variables, and what the program has added to it."""
    variables: Any = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return variables
    kept: dict[str, Any] = variables.get(_KEPT, {})
    now = dict(variables)
    now.pop(_KEPT, None)
    code = frame.f_code
    for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        if name not in now:
            kept.pop(name, None)
    kept.update(now)
    variables[_KEPT] = kept
    return kept
