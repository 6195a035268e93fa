"""Joined frames have the rows and the columns that they had in pandas 1.

The rows of a key stand together, in the order in which the keys first occur. Since pandas 2.2, an
inner join keeps the order of the left frame, and an outer join sorts the keys, so that a part of
the rows (`data[:1000]`, or a split with a seed) is another one. Columns may get equal names.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["install"]


def install() -> None:
    """Restores the order of the rows, and repeated names of columns."""
    import pandas as pd
    import pandas.core.reshape.merge as merge

    module: Any = merge
    module.get_join_indexers = _group(module.get_join_indexers)
    module._items_overlap_with_suffix = _repeat_names(module._items_overlap_with_suffix)
    operation: Any = merge._MergeOperation
    operation.__init__ = _keep_sort(operation.__init__)
    index: Any = pd.Index
    index._join_non_unique = _sort(index._join_non_unique)


def _keep_sort(original: Callable[..., Any]) -> Callable[..., Any]:
    """An outer join sorts the keys only if the program says so."""
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        given = parameters.bind(self, *args, **kwargs).arguments
        if given.get("how") == "outer":
            self.sort = given.get("sort", True)

    return __init__


def _repeat_names(original: Callable[..., Any]) -> Callable[..., Any]:
    """Names that occur again once they have a suffix are no error, as until pandas 2.0."""

    @functools.wraps(original)
    def add_suffixes(left: Any, right: Any, suffixes: Any) -> tuple[Any, Any]:
        import pandas as pd

        try:
            return original(left, right, suffixes)
        except pd.errors.MergeError:
            common = left.intersection(right)

        def rename(name: Any, suffix: Any) -> Any:
            return f"{name}{suffix}" if name in common and suffix is not None else name

        return tuple(
            labels._transform_index(functools.partial(rename, suffix=suffix))
            for labels, suffix in zip((left, right), suffixes)
        )

    return add_suffixes


def _sort(original: Callable[..., Any]) -> Callable[..., Any]:
    """Labels of which some are equal are sorted."""

    @functools.wraps(original)
    def _join_non_unique(self: Any, other: Any, how: str = "left", **kwargs: Any) -> Any:
        kwargs["sort"] = True
        return original(self, other, how=how, **kwargs)

    return _join_non_unique


def _group(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that finds the places of the joined rows in both frames."""

    @functools.wraps(original)
    def get_join_indexers(
        left_keys: Any, right_keys: Any, sort: bool = False, how: str = "inner", **kwargs: Any
    ) -> Any:
        import numpy as np

        places = original(left_keys, right_keys, sort=sort, how=how, **kwargs)
        if sort or how not in ("inner", "right", "outer"):
            return places
        sides = zip(places, (left_keys, right_keys))
        left, right = (np.arange(len(keys[0])) if one is None else one for one, keys in sides)
        if how == "outer":
            codes = _number([_append(*keys) for keys in zip(left_keys, right_keys)])
            codes = codes[np.where(left < 0, len(left_keys[0]) + right, left)]
        elif how == "right":
            codes = _number(right_keys)[right]
        else:
            codes = _number(left_keys)[left]
        minor, major = (left, right) if how == "right" else (right, left)
        # pandas 3.0 may return the rows of a key in the opposite order.
        order = np.lexsort((minor, major, codes))
        if (order[1:] > order[:-1]).all():
            return places
        return left[order], right[order]

    return get_join_indexers


def _number(keys: Any) -> Any:
    """Returns a number for each row: equal keys have the same, in the order of their occurrence."""
    import pandas as pd

    codes = None
    for key in keys:
        found, known = pd.factorize(key, use_na_sentinel=False)
        codes = found if codes is None else pd.factorize(codes * len(known) + found)[0]
    return codes


def _append(left: Any, right: Any) -> Any:
    import pandas as pd

    return pd.concat([pd.Series(left), pd.Series(right)], ignore_index=True)
