"""Attributes of frames and series that pandas 0.18 to 1.0 removed.

A column or label of the same name comes first: programs for pandas 1.1 may have one.
"""

import functools
import inspect
from typing import Any

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.pandas_1.ix import OldIndexer

__all__ = ["install"]


def install() -> None:
    """Makes frames and series find the attributes."""
    import pandas as pd

    for kind, methods, values in (
        (pd.DataFrame, _METHODS_OF_FRAMES, _VALUES_OF_FRAMES),
        (pd.Series, _METHODS_OF_SERIES, _VALUES_OF_SERIES),
    ):
        methods = {
            name: one for name, one in {**_METHODS, **methods}.items() if not hasattr(kind, name)
        }
        values = {
            name: one for name, one in {**_VALUES, **values}.items() if not hasattr(kind, name)
        }
        kind.__getattr__ = _find_older(methods, values, kind.__getattr__)
    if hasattr(pd.DataFrame, "select"):
        pd.DataFrame.select = _select_or_today(pd.DataFrame.select)
    set_missing(
        pd.DataFrame,
        from_csv=classmethod(_frame_from_csv),
        from_items=classmethod(_from_items),
    )
    set_missing(pd.Series, from_csv=classmethod(_series_from_csv))


def _select_or_today(function):
    @functools.wraps(function)
    def select(self, *args, **kwargs):
        crit = args[0] if args else kwargs.get("crit")
        if inspect.isroutine(crit):
            return _select(self, *args, **kwargs)
        return function(self, *args, **kwargs)

    return select


def _find_older(methods, values, function):
    @functools.wraps(function)
    def find(self, name):
        try:
            return function(self, name)
        except AttributeError:
            if name in methods:
                return functools.partial(methods[name], self)
            if name in values:
                return values[name](self)
            raise

    return find


def _count_types(types):
    return types.astype(str).value_counts(sort=False).sort_index()


def _select(self, crit, axis=0):
    """Returns the rows or columns whose labels fulfil a condition."""
    labels = self._get_axis(axis)
    return self.loc(axis=axis)[[one for one in labels if crit(one)]]


def _blocks(self, copy=True):
    return {str(dtype): self.loc[:, self.dtypes == dtype] for dtype in self.dtypes.unique()}


def _convert_objects(self, convert_dates=True, convert_numeric=False, **kwargs):
    """Converts columns of objects; with `convert_numeric`, what is no number becomes NaN."""
    import pandas as pd

    def convert(values):
        if values.dtype != object:
            return values
        numbers = (
            pd.to_numeric(values, errors="coerce") if convert_numeric else values.infer_objects()
        )
        return values if numbers.isna().all() else numbers

    return self.apply(convert) if self.ndim == 2 else convert(self)


def _set_in_frame(self, index, col, value, takeable=False):
    (self.iat if takeable else self.at)[index, col] = value
    return self


def _set_in_series(self, label, value, takeable=False):
    (self.iat if takeable else self.at)[label] = value
    return self


def _sort_frame(self, columns=None, axis=0, ascending=True, inplace=False, **kwargs):
    kind, place = kwargs.get("kind", "quicksort"), kwargs.get("na_position", "last")
    given = {
        "axis": axis,
        "ascending": ascending,
        "inplace": inplace,
        "kind": kind,
        "na_position": place,
    }
    if columns is None:
        return self.sort_index(**given)
    return self.sort_values(columns, **given)


def _sort_values(
    self, na_last=None, ascending=True, kind="quicksort", na_position="last", inplace=False
):
    place = na_position if na_last is None else "last" if na_last else "first"
    return self.sort_values(ascending=ascending, kind=kind, na_position=place, inplace=inplace)


def _put(self, indices, values, mode="raise"):
    self.iloc[indices] = values


def _part(values, name):
    import numpy as np

    return type(values)(getattr(np, name)(values.to_numpy()), index=values.index, name=values.name)


def _frame_from_csv(  # noqa: PLR0913
    cls, path, header=0, sep=",", index_col=0, parse_dates=True, encoding=None, **kwargs
):
    import pandas as pd

    kwargs = {"header": header, "sep": sep, "index_col": index_col, "encoding": encoding}
    return pd.read_csv(path, parse_dates=parse_dates, **kwargs)


def _series_from_csv(  # noqa: PLR0913
    cls, path, sep=",", parse_dates=True, header=None, index_col=0, encoding=None, **kwargs
):
    frame = _frame_from_csv(cls, path, header, sep, index_col, parse_dates, encoding)
    values = frame.iloc[:, 0]
    if header is None:
        values.name = values.index.name = None
    return values


def _from_items(cls, items, columns=None, orient="columns"):
    import pandas as pd

    items = list(items)
    if orient == "columns":
        return pd.DataFrame(dict(items), columns=columns or [key for key, _ in items])
    return pd.DataFrame.from_dict(dict(items), orient="index", columns=columns)


_METHODS: dict[str, Any] = {
    "as_blocks": _blocks,
    "clip_lower": lambda self, threshold, axis=None, inplace=False: self.clip(
        threshold, None, axis=axis, inplace=inplace
    ),
    "clip_upper": lambda self, threshold, axis=None, inplace=False: self.clip(
        None, threshold, axis=axis, inplace=inplace
    ),
    "consolidate": lambda self, inplace=False: self,
    "convert_objects": _convert_objects,
    "iterkv": lambda self: self.items(),
    "reindex_axis": lambda self, labels, axis=0, **kwargs: self.reindex(
        labels, axis=axis, **kwargs
    ),
    "select": _select,
}
_VALUES: dict[str, Any] = {"blocks": _blocks, "is_copy": lambda self: None, "ix": OldIndexer}
_METHODS_OF_FRAMES: dict[str, Any] = {
    "get_dtype_counts": lambda self: _count_types(self.dtypes),
    "get_ftype_counts": lambda self: _count_types(self.ftypes),
    "icol": lambda self, i: self.iloc[:, i],
    "irow": lambda self, i, copy=False: self.iloc[i],
    "iget_value": lambda self, i, j: self.iat[i, j],
    "set_value": _set_in_frame,
    "sort": _sort_frame,
    "sortlevel": lambda self, level=0, axis=0, ascending=True, **kwargs: self.sort_index(
        level=level, axis=axis, ascending=ascending, **kwargs
    ),
}
_VALUES_OF_FRAMES: dict[str, Any] = {
    "ftypes": lambda self: self.dtypes.map(lambda dtype: f"{dtype}:dense"),
}
_METHODS_OF_SERIES: dict[str, Any] = {
    "compress": lambda self, condition, *args, **kwargs: self[condition],
    "get_value": lambda self, label, takeable=False: (self.iat if takeable else self.at)[label],
    "iget": lambda self, i: self.iloc[i],
    "iget_value": lambda self, i: self.iloc[i],
    "irow": lambda self, i: self.iloc[i],
    "nonzero": lambda self: self.to_numpy().nonzero(),
    "order": _sort_values,
    "ptp": lambda self, *args, **kwargs: self.max() - self.min(),
    "put": _put,
    "set_value": _set_in_series,
    "sort": lambda self, axis=0, ascending=True, inplace=True, **kwargs: self.sort_values(
        ascending=ascending, inplace=inplace
    ),
    "sortlevel": lambda self, level=0, ascending=True, sort_remaining=True: self.sort_index(
        level=level, ascending=ascending, sort_remaining=sort_remaining
    ),
    "valid": lambda self, inplace=False, **kwargs: self.dropna(inplace=inplace),
}
_VALUES_OF_SERIES: dict[str, Any] = {
    "asobject": lambda self: self.astype(object).to_numpy(),
    "ftype": lambda self: f"{self.dtype}:dense",
    "imag": lambda self: _part(self, "imag"),
    "real": lambda self: _part(self, "real"),
}
