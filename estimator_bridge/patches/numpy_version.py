"""Compares NumPy's version once instead of at every call.

Since it supports NumPy 2, TensorFlow converts each value of a py_func, of a generator and of a feed
with functions that parse NumPy's version and compare it: 5 µs, where the conversion takes 0.5. An
array or a number of NumPy that a py_func returns is not converted at all.
"""

import functools
import sys
import types
from typing import Any

import numpy as np

from ..private_tf import script_ops

__all__ = ["apply"]

# Of the versions that support NumPy 2; imported with them.
_MODULE = "tensorflow.python.util.numpy_compat"
# Types that TensorFlow takes as they are; texts and objects are not among them.
_NUMBERS = frozenset(np.typecodes["All"]) - frozenset("SUVOMm")


class _Version(np.lib.NumpyVersion):
    """NumPy's version, which remembers the comparisons with other versions."""

    @functools.cache  # noqa: B019 - there is one object
    def __ge__(self, other):
        return super().__ge__(other)

    __hash__ = object.__hash__


def apply() -> None:
    """Makes TensorFlow compare NumPy's version once, and not at all for NumPy's own numbers."""
    if _MODULE in sys.modules:
        _replace()
    convert = script_ops.FuncRegistry._convert

    @functools.wraps(convert)
    def convert_others(value: Any, dtype: Any = None) -> Any:
        kept = dtype is None and isinstance(value, (np.ndarray, np.generic))
        if kept and value.dtype.char in _NUMBERS:
            return np.asarray(value, order="C")
        return convert(value, dtype)

    script_ops.FuncRegistry._convert = staticmethod(convert_others)


def _replace() -> None:
    version = _Version(np.__version__)
    lib = types.ModuleType("numpy.lib")
    vars(lib).update(vars(np.lib), NumpyVersion=lambda _: version)
    numpy = types.ModuleType("numpy")
    vars(numpy).update(vars(np), lib=lib)
    numpy.__getattr__ = lambda name: getattr(np, name)  # type: ignore[method-assign]
    sys.modules[_MODULE].np = numpy  # type: ignore[attr-defined]
