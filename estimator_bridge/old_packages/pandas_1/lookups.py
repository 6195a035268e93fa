"""Looks up the values of a Series by position where its labels are no numbers, as pandas 1 did."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["install"]


def install() -> None:
    """Restores lookups by position, which pandas 3 removed."""
    import pandas as pd

    series: Any = pd.Series
    series.__getitem__ = _get(series.__getitem__)
    series.__setitem__ = _set(series.__setitem__)
    series.get = _get_or_default(series.get)


def _get(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __getitem__(self: Any, key: Any) -> Any:
        try:
            return original(self, key)
        except KeyError:
            if not _are_positions(self, key):
                raise
        return self.iloc[key]

    return __getitem__


def _set(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __setitem__(self: Any, key: Any, value: Any) -> None:
        # Today a label that is missing adds a value.
        if type(key) is int and _are_positions(self, key) and key not in self.index:
            self.iloc[key] = value
        else:
            original(self, key, value)

    return __setitem__


def _get_or_default(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get(self: Any, key: Any, default: Any = None) -> Any:
        found = original(self, key, _MISSING)
        if found is not _MISSING:
            return found
        if _are_positions(self, key) and isinstance(key, (int, np.integer)):
            position = key + len(self) if key < 0 else key
            if 0 <= position < len(self):
                return self.iloc[position]
        return default

    return get


_MISSING = object()


def _are_positions(series: Any, key: Any) -> bool:
    """Tells whether a key is an integer, or a list of them, and the labels are of another kind."""
    if isinstance(key, (list, np.ndarray)):
        if not len(key) or not all(_is_integer(one) for one in key):
            return False
    elif not _is_integer(key):
        return False
    index = series.index
    # The first level decides.
    labels = index.levels[0] if index.nlevels > 1 else getattr(index, "categories", index)
    return labels.inferred_type not in _NUMBERS


_NUMBERS = {"integer", "floating", "mixed-integer", "mixed-integer-float", "boolean", "interval"}


def _is_integer(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))
