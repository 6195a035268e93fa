"""The indexer `ix`, which takes labels, and positions where the labels are no numbers."""

__all__ = ["OldIndexer"]


class OldIndexer:
    """What `frame.ix` and `series.ix` return."""

    def __init__(self, values):
        self._values = values

    def __getitem__(self, key):
        indexer, keys = self._find(key)
        return indexer[keys]

    def __setitem__(self, key, value):
        indexer, keys = self._find(key)
        indexer[keys] = value

    def _find(self, key):
        """Returns an indexer and the key for it."""
        values = self._values
        axes = values.axes
        if callable(key):
            key = key(values)
        of_axes = values.ndim == 2 and isinstance(key, tuple) and values.index.nlevels == 1
        keys = key if of_axes else (key,)
        if values.ndim == 2 and isinstance(key, tuple) and not of_axes and len(key) == 2:
            # The labels of rows have several levels.
            keys = key if _is_of(axes[1], key[1]) else (key,)
        places = [_is_place(axis, one) for axis, one in zip(axes, keys)]
        if not any(places):
            return values.loc, keys if len(keys) > 1 else keys[0]
        if all(places) or all(place or _is_all(one) for place, one in zip(places, keys)):
            return values.iloc, keys if len(keys) > 1 else keys[0]
        named = [axis[one] if place else one for axis, one, place in zip(axes, keys, places)]
        return values.loc, tuple(named)


def _is_of(axis, key):
    return _is_all(key) or _is_place(axis, key) or (isinstance(key, str) and key in axis)


def _is_all(key):
    return isinstance(key, slice) and key == slice(None)


def _is_place(axis, key):
    """Tells whether a key is a position: an integer where the labels are no numbers."""
    import numpy as np

    if axis.dtype.kind in "iuf" or axis.inferred_type in ("integer", "mixed-integer"):
        return axis.inferred_type == "mixed-integer" and _is_integer(key) and key not in axis
    if isinstance(key, slice):
        ends = [one for one in (key.start, key.stop) if one is not None]
        return bool(ends) and all(_is_integer(one) for one in ends)
    if _is_integer(key):
        return True
    if isinstance(key, (list, np.ndarray)) or hasattr(key, "dtype"):
        return len(key) > 0 and all(_is_integer(one) for one in key)
    return False


def _is_integer(value):
    import numpy as np

    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
