"""Functions of NumPy and Python in `agg`, which pandas 1 replaced by its own methods."""

import functools

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]

_NAMES = ["sum", "prod", "min", "max", "mean", "median", "std", "var"]
_CUMULATIVE = ["cumsum", "cumprod"]
# What NumPy called them at that time, and so the columns of their results.
_LABELS = {"max": "amax", "min": "amin"}


def install() -> None:
    """Wraps `agg`, `aggregate` and `transform`."""
    import numpy as np
    import pandas as pd

    table = {getattr(np, name): name for name in [*_NAMES, *_CUMULATIVE]}
    table.update({getattr(np, f"nan{name}"): name for name in [*_NAMES, *_CUMULATIVE]})
    builtin = {sum: "sum", max: "max", min: "min"}
    for kind in ("DataFrameGroupBy", "SeriesGroupBy", "Resampler", "BaseWindow"):
        known = {**table, **builtin} if kind != "BaseWindow" else table
        for name in ("agg", "aggregate", "apply" if kind == "Resampler" else "transform"):
            classes.replace(classes.find(kind), name, functools.partial(_translate, known, True))
    for owner in (pd.DataFrame, pd.Series):
        for name in ("agg", "aggregate"):
            classes.replace(owner, name, functools.partial(_translate, table, False))


def _translate(table, tuples, function):
    """Returns the function with names of methods in place of functions that stand for them.

    Args:
      table: function -> name.
      tuples: whether the function takes a pair of a label and a function in a list.
      function: the function.
    """

    def name(func):
        try:
            return table.get(func, func)
        except TypeError:
            return func

    def name_in_list(func):
        found = name(func)
        if tuples and found in _LABELS and callable(func) and func not in (max, min):
            return _LABELS[found], found
        return found

    def name_all(func):
        if callable(func):
            return name(func)
        if isinstance(func, list):
            return [name_in_list(one) for one in func]
        if isinstance(func, dict):
            return {key: name_all(one) for key, one in func.items()}
        return func

    @functools.wraps(function)
    def agg(self, func=None, *args, **kwargs):
        if (
            not isinstance(func, str)
            and func is not None
            and not (callable(func) and (args or kwargs))
        ):
            func = name_all(func)
        return function(self, func, *args, **kwargs)

    return agg
