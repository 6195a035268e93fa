"""Finds the classes and modules of pandas whose functions are wrapped."""

import importlib
import sys
from typing import Any

__all__ = ["find", "replace"]

_MODULES = {
    "DataFrameGroupBy": "pandas.core.groupby",
    "SeriesGroupBy": "pandas.core.groupby",
    "GroupBy": "pandas.core.groupby",
    "BaseWindow": "pandas.core.window.rolling",
    "Rolling": "pandas.core.window.rolling",
    "Expanding": "pandas.core.window.expanding",
    "ExponentialMovingWindow": "pandas.core.window.ewm",
    "Resampler": "pandas.core.resample",
    "StringMethods": "pandas.core.strings.accessor",
    "CategoricalAccessor": "pandas.core.arrays.categorical",
    "DatetimeProperties": "pandas.core.indexes.accessors",
    "TimedeltaProperties": "pandas.core.indexes.accessors",
    "PeriodProperties": "pandas.core.indexes.accessors",
}
_SHORT = {"str": "StringMethods", "ewm": "ExponentialMovingWindow"}


def find(name: str) -> Any:
    """Returns the class of this name, or the module pandas for "pd".

    Args:
      name: the name, or "str" or "ewm" for what these attributes of a Series return.
    """
    pandas = sys.modules["pandas"]
    if name == "pd":
        return pandas
    name = _SHORT.get(name, name)
    return getattr(importlib.import_module(_MODULES[name]) if name in _MODULES else pandas, name)


def replace(owner: Any, name: str, wrap: Any) -> None:
    """Replaces a function of a class and of its subclasses, or of the module.

    Args:
      owner: the class or module.
      name: name of the function. Nothing is done if there is none.
      wrap: is called with the function, and returns the new one.
    """
    if not hasattr(owner, name):
        return
    setattr(owner, name, wrap(getattr(owner, name)))
    if isinstance(owner, type):
        kinds: list[Any] = owner.__subclasses__()
        for kind in kinds:
            if kind.__module__.startswith("pandas."):
                _replace_own(kind, name, wrap)


def _replace_own(kind, name, wrap):
    if name in vars(kind):
        setattr(kind, name, wrap(vars(kind)[name]))
    for other in kind.__subclasses__():
        _replace_own(other, name, wrap)
