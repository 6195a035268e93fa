"""Functions of NumPy with the arguments and results of NumPy 1."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_bridge.old_packages.renaming import rename_arguments

__all__ = ["install"]

_QUANTILES = ("percentile", "quantile", "nanpercentile", "nanquantile")


def install() -> None:
    """Restores the arguments and results that the installed NumPy lacks."""
    renamed = dict.fromkeys(_QUANTILES, ("interpolation", "method"))
    renamed.update(reshape=("newshape", "shape"), histogram=("normed", "density"))
    for name, (old, new) in renamed.items():
        function = getattr(np, name)
        if new in inspect.signature(function).parameters:
            setattr(np, name, rename_arguments(function, **{old: new}))
    np.delete = _ignore_missing(np.delete)
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return
    np.unique = _flatten_inverse(np.unique)
    np.cross = _of_two(np.cross)
    # They gave bytes to converters, and returned texts as bytes.
    for name in ("genfromtxt", "loadtxt"):
        setattr(np, name, _read_bytes(getattr(np, name)))


def _ignore_missing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
        try:
            return original(arr, obj, axis)
        except IndexError:
            places = np.asarray(obj)
            # It warned about places of a list beyond the end, and left them out.
            if not places.ndim:
                raise
            size = np.asarray(arr).size if axis is None else np.asarray(arr).shape[axis]
            return original(arr, places[(places >= -size) & (places < size)], axis)

    return delete


def _flatten_inverse(original: Callable[..., Any]) -> Callable[..., Any]:
    """The inverse of an array of several dimensions was flat."""

    @functools.wraps(original)
    def unique(ar: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(ar, *args, **kwargs)
        return_index = args[0] if args else kwargs.get("return_index", False)
        return_inverse = args[1] if len(args) > 1 else kwargs.get("return_inverse", False)
        if not return_inverse:
            return found
        number = 1 + bool(return_index)
        return (*found[:number], found[number].reshape(-1), *found[number + 1 :])

    return unique


def _of_two(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cross(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or np.shape(a)[-1:] != (2,) or np.shape(b)[-1:] != (2,):
            return original(a, b, *args, **kwargs)
        one, other = np.asarray(a), np.asarray(b)
        return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])

    return cross


def _read_bytes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(*args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("encoding", "bytes")
        return original(*args, **kwargs)

    return read
