"""Arrays are made and written as in NumPy 1, where NumPy 1.24 and 2 raise an error."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_bridge.old_packages.special_methods import can_set, set_method

__all__ = ["install", "is_caught"]

# They catch the errors of arrays that cannot be made.
_CATCHING = ("tensorflow", "keras", "tf_keras", "jax", "numpy", "pandas", "sklearn", "scipy")


def install() -> None:
    """Restores how arrays are made, stacked, and converted to numbers."""
    for name in ("array", "asarray", "asanyarray"):
        setattr(np, name, _make(getattr(np, name)))
    np.full = _full(np.full)
    for name in ("vstack", "row_stack", "hstack", "dstack", "column_stack", "stack"):
        setattr(np, name, _stack(getattr(np, name)))
    # NumPy 1.25 warns about arrays of one value, and 2.5 does not take them for numbers.
    if np.lib.NumpyVersion(np.__version__) < "1.25.0" or not can_set(np.ndarray):
        return
    array: Any = np.ndarray
    for name in ("__float__", "__int__", "__complex__"):
        set_method(array, name, _convert(getattr(array, name)))
    set_method(array, "__setitem__", _set_item(array.__setitem__))


def is_caught() -> bool:
    """Tells whether code that knows NumPy 2 makes the array."""
    name = sys._getframe(2).f_globals.get("__name__", "")
    return name.partition(".")[0] in _CATCHING


def _make(original: Callable[..., Any]) -> Callable[..., Any]:
    is_new = np.lib.NumpyVersion(np.__version__) >= "2.0.0"

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except ValueError as error:
            if is_caught():
                raise
            if is_new and kwargs.get("copy") is False:
                # It copied where it had to.
                return make(*args, **{**kwargs, "copy": None})
            if "inhomogeneous" not in str(error) or _read_type(args, kwargs) is not None:
                raise
            # Lists of different lengths are objects.
            return original(*args[:1], **{**kwargs, "dtype": object})
        except OverflowError:
            kind = _read_type(args, kwargs)
            if is_caught() or kind is None or np.dtype(kind).kind not in "iu":
                raise
            return _wrap_around(original(*args[:1]), kind)

    return make


def _read_type(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("dtype")


def _wrap_around(values: np.ndarray, kind: Any) -> np.ndarray:
    """Returns integers modulo the size of a type, as C converts them.

    Raises:
      OverflowError: they have more than 64 bits.
    """
    if values.dtype.kind not in "iu":
        raise OverflowError("Python int too large to convert to C long")
    return values.astype(kind)


def _full(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(shape, fill_value, dtype, *args, **kwargs)
        except OverflowError:
            if dtype is None or np.dtype(dtype).kind not in "iu":
                raise
            value = _wrap_around(np.array(fill_value), dtype)
            return original(shape, value, dtype, *args, **kwargs)

    return full


def _stack(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def stack(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        # An iterator has no length.
        if not hasattr(arrays, "__getitem__"):
            arrays = list(arrays)
        return original(arrays, *args, **kwargs)

    return stack


def _convert(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that makes a number of an array of one value, whatever its shape."""

    @functools.wraps(original)
    def convert(self: np.ndarray) -> Any:
        if self.ndim and self.size == 1:
            return original(self.reshape(()))
        return original(self)

    return convert


# NumPy took a longer list for an array.
_MAX_INDICES = 31


def _has_several_indices(key: list) -> bool:
    """Tells whether a list had one index for each dimension, as a tuple has, before NumPy 1.23."""
    return len(key) <= _MAX_INDICES and any(
        part is None or part is Ellipsis or isinstance(part, (slice, list, tuple, np.ndarray))
        for part in key
    )


def _set_item(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __setitem__(self: np.ndarray, key: Any, value: Any) -> None:
        if type(key) is list and _has_several_indices(key) and not is_caught():
            key = tuple(key)
        try:
            original(self, key, value)
        except ValueError:
            # An element can be set to an array of one value.
            if not isinstance(value, np.ndarray) or value.size != 1 or not value.ndim:
                raise
            original(self, key, value.reshape(()))
        except OverflowError:
            if self.dtype.kind not in "iu":
                raise
            original(self, key, _wrap_around(np.asarray(value), self.dtype))

    return __setitem__
