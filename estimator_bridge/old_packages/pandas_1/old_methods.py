"""Methods of frames, series and indexes that pandas 2 removed."""

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]

_KINDS_OF_NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")


def install() -> None:
    """Sets the missing methods."""
    import pandas as pd

    for kind in (pd.DataFrame, pd.Series):
        set_missing(
            kind,
            backfill=lambda self, *args, **kwargs: self.bfill(*args, **kwargs),
            bool=lambda self: bool(self.to_numpy().item()),
            first=_first,
            last=_last,
            mad=_mad,
            pad=lambda self, *args, **kwargs: self.ffill(*args, **kwargs),
            slice_shift=_slice_shift,
            swapaxes=lambda self, axis1, axis2, copy=True: self if axis1 == axis2 else self.T,
            tshift=_tshift,
        )
    set_missing(pd.DataFrame, applymap=_applymap, lookup=_lookup)
    set_missing(
        pd.Series,
        is_monotonic=property(lambda self: self.is_monotonic_increasing),
        ravel=lambda self, order="C": self.to_numpy(),
        view=_view,
    )
    groups = classes.find("GroupBy")
    resampler = classes.find("Resampler")
    set_missing(groups, backfill=groups.bfill, pad=groups.ffill, mad=_mad_of_groups, tshift=_tshift)
    set_missing(groups, fillna=_fill_groups)
    set_missing(resampler, backfill=resampler.bfill, pad=resampler.ffill, fillna=_fill_resampled)
    set_missing(
        pd.Index,
        format=_format,
        get_duplicates=lambda self: self[self.duplicated()].unique(),
        get_value=lambda self, series, key: series.loc[key],
        get_values=lambda self: self.to_numpy(),
        is_all_dates=property(lambda self: self.dtype.kind in "mM"),
        is_boolean=lambda self: self.inferred_type == "boolean",
        is_categorical=lambda self: self.inferred_type == "categorical",
        is_floating=lambda self: (
            self.inferred_type in ("floating", "mixed-integer-float", "integer-na")
        ),
        is_integer=lambda self: self.inferred_type == "integer",
        is_interval=lambda self: self.inferred_type == "interval",
        is_mixed=lambda self: self.inferred_type == "mixed",
        is_monotonic=property(lambda self: self.is_monotonic_increasing),
        is_numeric=lambda self: self.inferred_type in ("integer", "floating"),
        is_object=lambda self: self.dtype == object,
        holds_integer=lambda self: self.inferred_type in ("integer", "mixed-integer"),
        to_native_types=lambda self, **kwargs: self.to_series().astype(str).to_numpy(dtype=object),
    )
    set_missing(
        pd.MultiIndex,
        is_lexsorted=lambda self: self._lexsort_depth == self.nlevels,
        labels=property(lambda self: self.codes),
        set_labels=lambda self, labels, **kwargs: self.set_codes(labels, **kwargs),
    )
    set_missing(
        pd.Categorical,
        get_values=lambda self: self.to_numpy(),
        labels=property(lambda self: self.codes),
        to_dense=lambda self: self.to_numpy(),
        to_list=lambda self: self.tolist(),
    )


def _fill_groups(self, value=None, method=None, axis=0, inplace=False, limit=None, downcast=None):
    if method is not None:
        return (self.ffill if method in ("pad", "ffill") else self.bfill)(limit=limit)
    return self._obj_with_exclusions.fillna(value, limit=limit)


def _fill_resampled(self, method, limit=None):
    name = {"pad": "ffill", "backfill": "bfill"}.get(method, method)
    return getattr(self, name)(limit=limit)


def _mad(self, axis=None, skipna=None, level=None):
    """Returns the mean absolute deviation."""
    if level is not None:
        return self.groupby(level=level, sort=False).agg(lambda part: part.mad())
    skipna = True if skipna is None else skipna
    axis = 0 if axis is None else self._get_axis_number(axis)
    if self.ndim == 1:
        return (self - self.mean(skipna=skipna)).abs().mean(skipna=skipna)
    numbers = self._get_numeric_data()
    away = numbers.sub(numbers.mean(axis=axis), axis=1 - axis)
    return away.abs().mean(axis=axis, skipna=skipna)


def _mad_of_groups(self, **kwargs):
    values = self._obj_with_exclusions
    if values.ndim == 1:
        return self.agg(lambda part: part.mad(**kwargs))
    return self[list(values._get_numeric_data().columns)].agg(lambda part: part.mad(**kwargs))


def _applymap(self, func, na_action=None, **kwargs):
    return self.map(func, na_action=na_action, **kwargs)


def _lookup(self, row_labels, col_labels):
    """Returns the values at pairs of labels as an array."""
    import numpy as np

    if len(row_labels) != len(col_labels):
        raise ValueError("Row labels must have same size as column labels")
    rows = self.index.get_indexer(row_labels)
    columns = self.columns.get_indexer(col_labels)
    if (rows == -1).any():
        raise KeyError("One or more row labels was not found")
    if (columns == -1).any():
        raise KeyError("One or more column labels was not found")
    kinds = set(self.dtypes)
    if len(kinds) == 1 and self.dtypes.iloc[0].kind != "O":
        return self.to_numpy()[rows, columns]
    found = np.empty(len(rows), dtype="O")
    for place, (row, column) in enumerate(zip(rows, columns)):
        found[place] = self.iat[row, column]
    from pandas.api.types import infer_dtype

    return np.array(found.tolist()) if infer_dtype(found) in _KINDS_OF_NUMBERS else found


def _first(self, offset):
    from pandas.tseries.frequencies import to_offset

    if len(self.index) == 0:
        return self
    offset = to_offset(offset)
    end = self.index[0] + offset
    if not hasattr(offset, "nanos") and offset.is_on_offset(self.index[0]):
        end = self.index[0] - offset.base + offset
    if hasattr(offset, "nanos") and end in self.index:
        return self.iloc[: self.index.searchsorted(end, side="left")]
    return self.loc[:end]


def _last(self, offset):
    from pandas.tseries.frequencies import to_offset

    if len(self.index) == 0:
        return self
    start = self.index[-1] - to_offset(offset)
    return self.iloc[self.index.searchsorted(start, side="right") :]


def _slice_shift(self, periods=1, axis=0):
    if periods == 0:
        return self
    kept = slice(-periods) if periods > 0 else slice(-periods, None)
    labels = slice(periods, None) if periods > 0 else slice(periods)
    if axis in (1, "columns"):
        return self.T.slice_shift(periods).T
    return self.iloc[kept].set_axis(self.index[labels], axis=0)


def _tshift(self, periods=1, freq=None, axis=0):
    if hasattr(self, "index"):
        freq = (
            freq or getattr(self.index, "freq", None) or getattr(self.index, "inferred_freq", None)
        )
        if freq is None:
            raise ValueError("Freq was not given and was not set in the index")
    return self.shift(periods, freq=freq)


def _view(self, dtype=None):
    values = self.to_numpy() if dtype is None else self.to_numpy().view(dtype)
    return type(self)(values, index=self.index, name=self.name)


def _format(self, name=False, formatter=None, **kwargs):
    texts = [str(one) if formatter is None else formatter(one) for one in self]
    return [self.name or "", *texts] if name else texts
