"""Groups, windows, resampling and counts with the arguments and defaults of pandas 1.1."""

import functools
import inspect

from estimator_bridge.old_packages.pandas_1 import classes
from estimator_bridge.old_packages.pandas_1.aggregation import label_columns
from estimator_bridge.old_packages.pandas_1.reductions import restore_types

__all__ = ["install"]


def install() -> None:
    """Wraps the functions that differ."""
    import pandas as pd

    for kind in (pd.DataFrame, pd.Series):
        classes.replace(kind, "groupby", _group)
        classes.replace(kind, "resample", _resample)
        for name in ("rolling", "expanding", "ewm"):
            classes.replace(kind, name, _roll)
        classes.replace(kind, "pct_change", _pct_change)
    for owner in (pd.DataFrame, pd):
        classes.replace(owner, "pivot_table", _observe)
    for kind in (pd.Series, pd.Index):
        classes.replace(kind, "value_counts", _name_counts(lambda self: self.name, clear=True))
    classes.replace(pd.DataFrame, "value_counts", _name_counts(lambda self: None))
    groups = classes.find("DataFrameGroupBy")
    classes.replace(groups, "value_counts", _name_counts(lambda self: None))
    classes.replace(groups, "__getitem__", _select)
    classes.replace(groups, "apply", _apply)
    for name in ("agg", "aggregate"):
        classes.replace(groups, name, _aggregate_frame)
        classes.replace(classes.find("SeriesGroupBy"), name, _aggregate_values)
    for kind in ("DataFrameGroupBy", "SeriesGroupBy"):
        classes.replace(classes.find(kind), "__iter__", _iterate)
        classes.replace(classes.find(kind), "get_group", _get_group)
    for kind in ("DataFrameGroupBy", "SeriesGroupBy"):
        _label_nth(classes.find(kind))
    of_values = _name_counts(lambda self: self._obj_with_exclusions.name)
    classes.replace(classes.find("SeriesGroupBy"), "value_counts", of_values)
    classes.replace(classes.find("GroupBy"), "_concat_objects", _concat_objects)
    resampler = classes.find("Resampler")
    resampler._wrap_result = _finish_resampled(resampler._wrap_result)


class _Across:
    """Groups or windows of columns: those of the transposed frame, with results transposed."""

    def __init__(self, groups):
        self._groups = groups

    def __getattr__(self, name):
        value = getattr(self._groups, name)
        if not callable(value):
            return value

        def call(*args, **kwargs):
            if name == "apply" and args and callable(args[0]):
                args = (functools.partial(_apply_across, args[0]), *args[1:])
            result = value(*args, **kwargs)
            return result.T.infer_objects() if getattr(result, "ndim", 0) == 2 else result

        return call

    def __iter__(self):
        return ((key, part.T) for key, part in self._groups)

    def __len__(self):
        return len(self._groups)


def _apply_across(func, part, *args, **kwargs):
    result = func(part.T, *args, **kwargs)
    return result.T if getattr(result, "ndim", 0) == 2 else result


def _is_across(self, axis):
    return self.ndim == 2 and axis in (1, "columns")


def _group(function):
    parameters = inspect.signature(function).parameters
    observed, names = parameters["observed"].default, list(parameters)[1:]

    @functools.wraps(function)
    def groupby(self, *args, **kwargs):
        kwargs.update(zip(names, args))
        by = kwargs.pop("by", None)
        if observed is not False:
            kwargs.setdefault("observed", False)
        if "axis" in kwargs:
            axis = kwargs.pop("axis")
            if _is_across(self, axis):
                return _Across(function(self.T, by=_across_keys(self, by), **kwargs))
        return function(self, by=by, **kwargs)

    return groupby


def _across_keys(frame, by):
    """Returns a list with a key for each column as an array."""
    import numpy as np

    if isinstance(by, list) and len(by) == frame.shape[1] and not set(by) <= set(frame.columns):
        return np.array(by)
    return by


def _observe(function):
    @functools.wraps(function)
    def pivot_table(*args, **kwargs):
        if len(args) < 10:
            kwargs.setdefault("observed", False)
        table = function(*args, **kwargs)
        func = kwargs.get("aggfunc")
        return label_columns(table, func) if isinstance(func, list) else table

    return pivot_table


def _roll(function):
    @functools.wraps(function)
    def roll(self, *args, **kwargs):
        if "axis" in kwargs and _is_across(self, kwargs.pop("axis")):
            return _Across(function(self.T, *args, **kwargs))
        return function(self, *args, **kwargs)

    return roll


def _resample(function):
    @functools.wraps(function)
    def resample(self, rule, *args, **kwargs):
        import pandas as pd

        if not {"axis", "how", "fill_method", "loffset", "base", "kind"} & set(kwargs):
            return function(self, rule, *args, **kwargs)
        across = _is_across(self, kwargs.pop("axis", 0))
        how, fill = kwargs.pop("how", None), kwargs.pop("fill_method", None)
        limit = kwargs.pop("limit", None) if fill or how else None
        loffset, base, kind = (kwargs.pop(name, None) for name in ("loffset", "base", "kind"))
        offset = pd.tseries.frequencies.to_offset(rule)
        if base:
            kwargs["offset"] = pd.Timedelta(base * offset.nanos // offset.n)
        found = function(self.T if across else self, rule, *args, **kwargs)
        found._loffset = None if loffset is None else pd.tseries.frequencies.to_offset(loffset)
        found._to_periods = kind == "period"
        result = found
        if how is not None:
            result = found.agg(how)
        if fill is not None:
            result = getattr(result if how is not None else found, fill)(limit=limit)
        return result if not across else result.T if how or fill else _Across(result)

    return resample


def _finish_resampled(function):
    @functools.wraps(function)
    def finish(self, result):
        result = function(self, result)
        changes = vars(self)
        if changes.get("_loffset") is not None:
            result.index = result.index + self._loffset
        if changes.get("_to_periods"):
            result.index = result.index.to_period(self.freq)
        return result

    return finish


def _pct_change(function):
    @functools.wraps(function)
    def pct_change(self, periods=1, fill_method="pad", limit=None, **kwargs):
        values = self
        if fill_method is not None:
            fill = self.ffill if fill_method in ("pad", "ffill") else self.bfill
            values = fill(axis=kwargs.get("axis", 0), limit=limit)
        return function(values, periods, fill_method=None, **kwargs)

    return pct_change


def _name_counts(name_of, clear=False):
    """Returns a wrapper for counts that were named like what is counted, not "count"."""

    def wrap(function):
        @functools.wraps(function)
        def value_counts(self, *args, **kwargs):
            counts = function(self, *args, **kwargs)
            if counts.ndim == 1 and counts.name in ("count", "proportion"):
                counts.name = name_of(self)
                if clear and counts.index.nlevels == 1:
                    counts.index.name = None
            return counts

        return value_counts

    return wrap


def _select(function):
    @functools.wraps(function)
    def select(self, key):
        return function(self, list(key) if isinstance(key, tuple) and len(key) > 1 else key)

    return select


def _keys(groups):
    grouper = getattr(groups, "_grouper", None) or getattr(groups, "grouper", None)
    return len(getattr(grouper, "groupings", (0, 0)))


def _iterate(function):
    """A list of one key gives keys that are no tuples."""

    @functools.wraps(function)
    def iterate(self):
        parts = function(self)
        if isinstance(self.keys, list) and _keys(self) == 1:
            return (
                (key[0] if isinstance(key, tuple) and len(key) == 1 else key, part)
                for key, part in parts
            )
        return parts

    return iterate


def _label_nth(kind):
    """`nth` gives rows that have the keys as labels, and no columns of keys."""
    select = kind.nth.fget if isinstance(kind.nth, property) else None
    if select is None:
        return

    def nth(self):
        find = select(self)

        @functools.wraps(find)
        def call(n, dropna=None):
            rows = find(n, dropna)
            index = self.obj.index
            if not getattr(self, "as_index", True) or not index.is_unique:
                return rows
            found = rows if rows.ndim == 1 else rows.drop(columns=list(self.exclusions))
            grouper = getattr(self, "_grouper", None) or self.grouper
            codes = grouper.ids if hasattr(grouper, "ids") else grouper.group_info[0]
            codes = codes[index.get_indexer(rows.index)]
            found = found.set_axis(grouper.result_index[codes], axis=0)
            return found.sort_index() if self.sort else found

        return call

    kind.nth = property(nth, doc=kind.nth.__doc__)


def _get_group(function):
    @functools.wraps(function)
    def get_group(self, name, *args, **kwargs):
        if isinstance(self.keys, list) and _keys(self) == 1 and not isinstance(name, tuple):
            name = (name,)
        return function(self, name, *args, **kwargs)

    return get_group


def _apply(function):
    """The function gets the columns that the rows are grouped by, too."""

    @functools.wraps(function)
    def apply(self, func, *args, **kwargs):
        if not callable(func) or "include_groups" in kwargs:
            return function(self, func, *args, **kwargs)
        given = functools.partial(func, *args, **kwargs) if args or kwargs else func
        try:
            return self._python_apply_general(given, self._selected_obj)
        except TypeError:
            return function(self, func, *args, **kwargs)

    return apply


def _concat_objects(function):
    """Results with the rows of the groups get no keys of groups, whatever `group_keys` is."""

    @functools.wraps(function)
    def concat(self, values, not_indexed_same=False, is_transform=False):
        return function(self, values, not_indexed_same, is_transform or not not_indexed_same)

    return concat


def _aggregate_values(function):
    """`agg` of a column takes a dictionary: new name -> function."""

    @functools.wraps(function)
    def agg(self, func=None, *args, **kwargs):
        func = list(func.items()) if isinstance(func, dict) else func
        result = function(self, func, *args, **kwargs)
        return restore_types(self, result) if callable(func) else result

    return agg


def _aggregate_frame(function):
    """`agg` of a frame takes a dictionary: column -> dictionary: new name -> function."""

    @functools.wraps(function)
    def agg(self, func=None, *args, **kwargs):
        if isinstance(func, dict) and any(isinstance(one, dict) for one in func.values()):
            func = {
                column: list(one.items()) if isinstance(one, dict) else one
                for column, one in func.items()
            }
        if not isinstance(func, list) or args or kwargs:
            return function(self, func, *args, **kwargs)
        try:
            return function(self, func)
        except (TypeError, ValueError):
            columns = self._obj_with_exclusions.columns
            kept = [one for one in columns if _has_aggregates(self[one], func)]
            if not kept or len(kept) == len(columns):
                raise
        return function(self[kept], func)

    return agg


def _has_aggregates(group, func):
    try:
        group.agg(func)
    except (TypeError, ValueError):
        return False
    return True
