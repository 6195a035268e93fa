"""A py_func may return arrays of a wider type than it declares: arithmetic of NumPy 2 makes them.

An array of float32 times a float64 of NumPy is float32 in NumPy 1 and float64 in NumPy 2 (see
numpy_1/promotion.py). TensorFlow refuses such a result of a py_func that declares float32.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np

__all__ = ["install"]

# Kind of a declared type -> the kinds of what may be narrowed to it.
_KINDS = {"i": "iu", "u": "iu", "f": "f", "c": "c"}


def install() -> None:
    """Makes py_func convert arrays to the types that it declares, where NumPy 1 kept these."""
    from estimator_bridge.private_tf import script_ops

    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return
    original = script_ops.py_func_common

    @functools.wraps(original)
    def make(func: Any, inp: Any, Tout: Any, *args: Any, **kwargs: Any) -> Any:
        return original(_narrow(func, Tout) if callable(func) else func, inp, Tout, *args, **kwargs)

    script_ops.py_func_common = make


def _narrow(function: Callable[..., Any], declared: Any) -> Callable[..., Any]:
    """Returns the function of a py_func with arrays of the declared types.

    Args:
      function: the program's.
      declared: type of its result, or a list of the types of its results.
    """
    several = isinstance(declared, (list, tuple))
    types = [_read_type(one) for one in (declared if several else [declared])]
    if not any(types):
        return function

    @functools.wraps(function)
    def narrowed(*args: Any) -> Any:
        results = function(*args)
        if isinstance(results, (list, tuple)):
            return _convert_all(results, types)
        return _convert(results, types[0]) if len(types) == 1 else results

    if inspect.isfunction(function):
        # TensorFlow ties what it calls to the program's function, which may outlive the graph.
        vars(function)["_narrowed"] = narrowed
    return narrowed


def _read_type(declared: Any) -> Optional[np.dtype]:
    """Returns a type of numbers, to which there are wider ones; None for others."""
    found = np.dtype(getattr(declared, "as_numpy_dtype", declared))
    return found if found.kind in _KINDS and found not in (np.int64, np.float64) else None


def _convert_all(results: Sequence[Any], types: Sequence[Optional[np.dtype]]) -> Sequence[Any]:
    if len(results) != len(types):
        return results
    return [_convert(one, kind) for one, kind in zip(results, types)]


def _convert(value: Any, kind: Optional[np.dtype]) -> Any:
    # A number of NumPy decided on the type in NumPy 1, too.
    if kind is None or not isinstance(value, np.ndarray) or not value.ndim:
        return value
    if value.dtype.kind in _KINDS[kind.kind] and value.dtype.itemsize > kind.itemsize:
        return value.astype(kind)
    return value
