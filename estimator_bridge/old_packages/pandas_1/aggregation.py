"""Functions of NumPy and Python in `agg`, which pandas 1 replaced by its own methods."""

import functools

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install", "label_columns"]

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


def label_columns(table, functions):
    """Returns a pivot table whose columns have the names that functions had then.

    Args:
      table: the table, with the names of functions in the first level of the columns.
      functions: the functions.
    """
    import numpy as np

    labels = {old: new for old, new in _LABELS.items() if getattr(np, old) in functions}
    return table.rename(columns=labels, level=0) if labels else table


def _find_name(table, func):
    try:
        return table.get(func, func)
    except TypeError:
        return func


def _translate(table, tuples, function):
    """Returns the function with names of methods in place of functions that stand for them.

    Args:
      table: function -> name.
      tuples: whether the function takes a pair of a label and a function in a list.
      function: the function.
    """

    name = functools.partial(_find_name, table)

    def is_renamed(func):
        return callable(func) and func not in (max, min) and name(func) in _LABELS

    def name_list(funcs):
        if not tuples or not any(is_renamed(func) for func in funcs):
            return [name(func) for func in funcs]
        return [
            func
            if isinstance(func, tuple)
            else (
                _LABELS[name(func)] if is_renamed(func) else getattr(func, "__name__", func),
                name(func),
            )
            for func in funcs
        ]

    def name_all(func):
        if callable(func):
            return name(func)
        if isinstance(func, list):
            return name_list(func)
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
            named = name_all(func)
            result = function(self, named, *args, **kwargs)
            if tuples or not isinstance(func, list) or not any(map(is_renamed, func)):
                return result
            labels = {name(one): _LABELS[name(one)] for one in func if is_renamed(one)}
            return result.rename(index=labels)
        return function(self, func, *args, **kwargs)

    return agg
