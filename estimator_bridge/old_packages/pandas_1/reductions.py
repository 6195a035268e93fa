"""Reductions that leave out the columns that they cannot reduce, and reduce rows for axis=None."""

import functools
import inspect

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install", "restore_types"]

_REDUCTIONS = [
    "sum",
    "prod",
    "product",
    "min",
    "max",
    "mean",
    "median",
    "std",
    "var",
    "sem",
    "skew",
    "kurt",
    "kurtosis",
]
_WITHOUT_DATES = {"mean", "median", "std", "var", "sem"}
_OF_TEXTS = {"sum", "prod", "product", "min", "max"}
# Their `numeric_only` was true by default.
_NUMERIC_OF_GROUPS = {"sum", "prod", "mean", "median", "std", "var", "sem"}
_DROPPING_OF_GROUPS = ["min", "max", "first", "last", "skew", "quantile", "corr", "cov"]
_OF_WINDOWS = [
    "sum",
    "mean",
    "median",
    "std",
    "var",
    "sem",
    "min",
    "max",
    "skew",
    "kurt",
    "quantile",
    "corr",
    "cov",
    "first",
    "last",
]


def install() -> None:
    """Wraps the reductions."""
    import pandas as pd

    for name in _REDUCTIONS:
        classes.replace(pd.DataFrame, name, functools.partial(_reduce_frame, name))
        classes.replace(pd.Series, name, _reduce_values)
    for kind in (pd.DataFrame, pd.Series):
        for name in ("any", "all", "count"):
            classes.replace(kind, name, _reduce_levels)
    for name in ("corr", "cov", "corrwith", "quantile"):
        classes.replace(pd.DataFrame, name, _numeric_only)
    classes.replace(pd.DataFrame, "rank", _numeric_if_refused)
    classes.replace(pd.DataFrame, "interpolate", _interpolate)
    for name in ("agg", "aggregate"):
        classes.replace(pd.DataFrame, name, _aggregate)
    _install_of_groups()


def _install_of_groups():
    for name in ("sum", "prod", "mean", "median", "var"):
        classes.replace(
            classes.find("SeriesGroupBy"), name, functools.partial(_reduce_groups, name)
        )
    for kind in ("DataFrameGroupBy", "Resampler"):
        for name in sorted(_NUMERIC_OF_GROUPS):
            classes.replace(classes.find(kind), name, functools.partial(_reduce_groups, name))
        for name in _DROPPING_OF_GROUPS:
            classes.replace(classes.find(kind), name, _numeric_if_refused)
    for kind in ("Rolling", "Expanding", "ExponentialMovingWindow"):
        for name in _OF_WINDOWS:
            if name in vars(classes.find(kind)):
                classes.replace(classes.find(kind), name, _numeric_if_refused)


def _errors():
    """Returns the errors of a column that has no such reduction."""
    from pandas.errors import DataError

    return TypeError, ValueError, NotImplementedError, DataError


def _reduce_frame(name, function):
    @functools.wraps(function)
    def reduce(self, axis=0, skipna=True, *, level=None, numeric_only=None, **kwargs):
        if level is not None:
            return _reduce_by_level(self, name, level, axis, skipna, numeric_only, kwargs)
        axis = 0 if axis is None else axis
        skipna = True if skipna is None else skipna
        if numeric_only is not None:
            kwargs["numeric_only"] = numeric_only
            result = function(self, axis=axis, skipna=skipna, **kwargs)
            return result.astype("float64") if numeric_only and result.dtype == object else result
        values = self
        # Asking the blocks takes 1 µs; `dtypes` takes 20.
        kinds = {getattr(block.dtype, "kind", "O") for block in self._mgr.blocks}
        if "M" in kinds and name in _WITHOUT_DATES:
            values = self.loc[:, [getattr(dtype, "kind", "O") != "M" for dtype in self.dtypes]]
        if "O" in kinds and name in _OF_TEXTS and axis in (0, "index"):
            refused = [_is_refused(values.iloc[:, place]) for place in range(values.shape[1])]
            if any(refused):
                same = len(set(values.dtypes)) == 1
                values = values.loc[:, [not (same or one) for one in refused]]
        try:
            return function(values, axis=axis, skipna=skipna, **kwargs)
        except _errors():
            kinds = set(values.dtypes)
            if len(kinds) > 1 and axis in (0, "index") and len(values):
                return _reduce_each(function, values, skipna=skipna, **kwargs)
            if not any(str(kind) in ("object", "str", "string") for kind in kinds):
                raise
        return function(values._get_numeric_data(), axis=axis, skipna=skipna, **kwargs)

    return reduce


def _is_refused(column):
    """Tells whether a column has texts and missing values, which have no sum and no order."""
    if column.dtype != object:
        return False
    missing = column.isna()
    return missing.any() and any(isinstance(one, str) for one in column[~missing])


def _reduce_each(function, frame, **kwargs):
    """Returns the reductions of the columns that have one."""
    import pandas as pd

    found, kept = [], []
    for place in range(frame.shape[1]):
        try:
            found.append(function(frame.iloc[:, [place]], axis=0, **kwargs).iloc[0])
        except _errors():
            continue
        kept.append(place)
    return pd.Series(found, index=frame.columns[kept], dtype=None if found else "float64")


def _reduce_values(function):
    name = function.__name__

    @functools.wraps(function)
    def reduce(self, *args, **kwargs):
        if kwargs:
            level = kwargs.pop("level", None)
            if level is not None:
                return _reduce_by_level(
                    self, name, level, 0, kwargs.pop("skipna", True), None, kwargs
                )
            for one in ("skipna", "numeric_only"):
                if kwargs.get(one, one) is None:
                    del kwargs[one]
        return function(self, *args, **kwargs)

    return reduce


def _reduce_levels(function):
    name = function.__name__

    @functools.wraps(function)
    def reduce(self, *args, **kwargs):
        level = kwargs.pop("level", None) if kwargs else None
        if level is None:
            return function(self, *args, **kwargs)
        axis = kwargs.pop("axis", args[0] if args else 0)
        skipna = kwargs.pop("skipna", True)
        return _reduce_by_level(self, name, level, axis, skipna, None, kwargs)

    return reduce


def _reduce_by_level(values, name, level, axis, skipna, numeric_only, kwargs):  # noqa: PLR0913
    across = values.ndim == 2 and axis in (1, "columns")
    frame = values.T if across else values
    # Those of `count` are sorted.
    groups = frame.groupby(level=level, sort=name == "count")
    if numeric_only is not None:
        kwargs = {**kwargs, "numeric_only": numeric_only}
    if hasattr(groups, name) and skipna in (None, True):
        result = getattr(groups, name)(**kwargs)
    else:
        result = groups.agg(lambda part: getattr(part, name)(skipna=skipna, **kwargs))
    return result.T if across else result


def _numeric_only(function):
    place = list(inspect.signature(function).parameters).index("numeric_only") - 1

    @functools.wraps(function)
    def reduce(self, *args, **kwargs):
        if "numeric_only" not in kwargs and len(args) <= place:
            kwargs["numeric_only"] = True
            truths = [
                name for name, dtype in self.dtypes.items() if getattr(dtype, "kind", "O") == "b"
            ]
            if truths and function.__name__ == "quantile":
                self = self.astype(dict.fromkeys(truths, float))
        return function(self, *args, **kwargs)

    return reduce


def _numeric_if_refused(function):
    @functools.wraps(function)
    def reduce(self, *args, **kwargs):
        try:
            return function(self, *args, **kwargs)
        except _errors():
            if "numeric_only" in kwargs or getattr(self, "ndim", 2) == 1:
                raise
            try:
                if function.__name__ == "quantile" and hasattr(self, "_obj_with_exclusions"):
                    kinds = self._obj_with_exclusions.dtypes
                    kept = [one for one, dtype in kinds.items() if dtype.kind != "O"]
                    return function(self[kept], *args, **kwargs)
                return function(self, *args, numeric_only=True, **kwargs)
            except _errors():
                pass
            raise

    return reduce


def _interpolate(function):
    @functools.wraps(function)
    def interpolate(self, *args, **kwargs):
        texts = [str(dtype) in ("object", "str", "string") for dtype in self.dtypes]
        if not any(texts) or all(texts):
            return function(self, *args, **kwargs)
        numbers = self.loc[:, [not one for one in texts]]
        inplace = kwargs.pop("inplace", False)
        done = function(numbers, *args, **kwargs)
        places = [place for place, text in enumerate(texts) if not text]
        result = self if inplace else self.copy()
        for place, number in zip(places, range(len(places))):
            result.isetitem(place, done.iloc[:, number])
        return None if inplace else result

    return interpolate


def _aggregate(function):
    """Several functions are those of the columns that have them."""

    @functools.wraps(function)
    def agg(self, func=None, axis=0, *args, **kwargs):
        import pandas as pd

        try:
            return function(self, func, axis, *args, **kwargs)
        except _errors():
            if not isinstance(func, (list, tuple)) or axis not in (0, "index") or args or kwargs:
                raise
        parts = []
        for place in range(self.shape[1]):
            column = self.iloc[:, place]
            found = {}
            for one in func:
                try:
                    found.update(column.agg([one]))
                except _errors():
                    continue
            if found:
                parts.append(pd.Series(found, name=column.name))
        return pd.concat(parts, axis=1)

    return agg


def _reduce_groups(name, function):
    @functools.wraps(function)
    def reduce(self, *args, **kwargs):
        given = "numeric_only" in kwargs or (args and name not in ("std", "var", "sem"))
        if given or self.ndim == 1:
            return _finish(self, name, function(self, *args, **kwargs))
        try:
            result = function(self, *args, numeric_only=True, **kwargs)
        except _errors():
            return function(self, *args, **kwargs)
        if result.shape[1] == 0 and name in ("sum", "prod"):
            result = function(self, *args, **kwargs)
        return _finish(self, name, result)

    return reduce


def _finish(groups, name, result):
    if name in ("sum", "prod"):
        result = _blank(groups, result)
    if name in ("mean", "median", "var", "prod"):
        result = restore_types(groups, result)
    return result


def restore_types(groups, result):
    """Returns columns of integers, where their means are, and of booleans as such.

    Args:
      groups: the groups.
      result: a frame or series with a row for each group.
    """
    values = groups._obj_with_exclusions
    if values.ndim == 1:
        if result.ndim == 2:
            # The keys are columns, too.
            column = result[values.name]
            new = _restore_type(values.dtype, column)
            return result if new is column else result.assign(**{values.name: new})
        return _restore_type(values.dtype, result)
    if not values.columns.is_unique:
        return result
    kinds = {name: dtype for name, dtype in values.dtypes.items() if name in result}
    changed = {name: _restore_type(dtype, result[name]) for name, dtype in kinds.items()}
    different = {
        name: one.dtype for name, one in changed.items() if one.dtype != result[name].dtype
    }
    return result.astype(different) if different else result


def _restore_type(dtype, values):
    kind = dtype.kind if type(dtype).__module__.startswith("numpy") else "O"
    if kind not in "iub" or values.dtype == dtype or values.dtype.kind not in "iuf":
        return values
    same = len(values) and not values.isna().any() and (values == values.astype(dtype)).all()
    return values.astype(dtype) if same else values


def _blank(groups, result):
    """Returns the sums without those of combinations of categories that have no rows."""
    grouper = getattr(groups, "_grouper", None) or getattr(groups, "grouper", None)
    if grouper is None or getattr(groups, "observed", True):
        return result
    keys = getattr(grouper, "groupings", ())
    if len(keys) < 2 or not any(getattr(key, "_passed_categorical", False) for key in keys):
        return result
    sizes = groups.size()
    rows = (sizes["size"] if sizes.ndim == 2 else sizes).to_numpy() != 0
    if rows.all() or len(rows) != len(result):
        return result
    if result.ndim == 1:
        return result.where(rows)
    names = set(grouper.names) if not groups.as_index else ()
    return result.apply(lambda column: column if column.name in names else column.where(rows))
