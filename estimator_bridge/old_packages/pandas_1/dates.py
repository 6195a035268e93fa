"""Dates of pandas 1: texts in several formats, days as numbers, and removed attributes."""

import functools
import re
import sys
import warnings

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]

_UNIT = re.compile(r"[<>=]?(timedelta64|m8|datetime64|M8)\[(\w+)\]")
_PARTS = [
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "microsecond",
    "nanosecond",
    "weekday",
    "dayofweek",
    "day_of_week",
    "dayofyear",
    "day_of_year",
    "quarter",
    "days_in_month",
    "daysinmonth",
    "days",
    "seconds",
    "microseconds",
    "nanoseconds",
]


def install() -> None:
    """Restores what differs."""
    import pandas as pd

    warnings.filterwarnings("ignore", message="Parsing dates in .* format when dayfirst")
    pd.to_datetime = _read_dates(pd.to_datetime)
    for kind in (pd.Series, pd.DatetimeIndex, pd.TimedeltaIndex):
        classes.replace(kind, "astype", _convert)
    for kind, make in (
        (pd.DatetimeIndex, pd.date_range),
        (pd.TimedeltaIndex, pd.timedelta_range),
        (pd.PeriodIndex, pd.period_range),
    ):
        kind.__new__ = staticmethod(_make_range(make, kind.__new__))
    for kind in (classes.find("DatetimeProperties"), classes.find("TimedeltaProperties")):
        _count_in_int64(kind)
    for kind in (pd.DatetimeIndex, pd.TimedeltaIndex):
        _count_in_int64(kind)
    classes.replace(pd.arrays.PeriodArray, "to_timestamp", _start_or_end)
    weeks = property(lambda self: _weeks(self))
    names = property(lambda self: self.day_name())
    for kind in (classes.find("DatetimeProperties"), pd.DatetimeIndex):
        set_missing(kind, week=weeks, weekofyear=weeks, weekday_name=names)
    set_missing(
        pd.Timestamp,
        weekday_name=names,
        to_datetime=lambda self, warn=True: self.to_pydatetime(warn),
    )
    set_missing(pd.DatetimeIndex, to_datetime=lambda self, dayfirst=False: self)


def _count_in_int64(kind):
    """Makes the parts of dates int64, which are int32 since pandas 2."""
    for name in _PARTS:
        part = getattr(kind, name, None)
        if isinstance(part, property):
            setattr(kind, name, property(_widen(part.fget), doc=part.__doc__))


def _widen(read):
    @functools.wraps(read)
    def part(self):
        values = read(self)
        return values.astype("int64") if values.dtype == "int32" else values

    return part


def _start_or_end(function):
    """Periods end one nanosecond, not one microsecond, before the next one begins."""

    @functools.wraps(function)
    def to_timestamp(self, freq=None, how="start"):
        import pandas as pd

        if str(how).upper() in ("E", "END", "FINISH") and "B" not in (freq, self.freq.name):
            return (self + self.freq).to_timestamp(how="start") - pd.Timedelta(1, "ns")
        try:
            return function(self, freq, how)
        except AssertionError:
            # pandas 3.0 requires microseconds here, but all times are in nanoseconds.
            starts = [one.to_timestamp(freq, how) for one in self]
            return pd.array(starts, dtype="datetime64[ns]")._with_freq("infer")

    return to_timestamp


def _weeks(dates):
    weeks = dates.isocalendar().week
    weeks = weeks.astype("float64" if weeks.isna().any() else "int64")
    if hasattr(dates, "_parent"):
        return weeks.rename(dates._parent.name)
    return _index(weeks.to_numpy(), dates.name)


def _index(values, name):
    import pandas as pd

    return pd.Index(values, name=name)


def _read_dates(function):
    """Dates without a format may be in several formats; `errors` may be "ignore"."""

    @functools.wraps(function)
    def to_datetime(arg, errors="raise", *args, **kwargs):
        if kwargs.pop("box", True) is False:
            return to_datetime(arg, errors, *args, **kwargs).to_numpy()
        if kwargs.pop("coerce", False):
            errors = "coerce"
        # All dates are then in the format of the first one.
        inferred = kwargs.pop("infer_datetime_format", False)
        # format is the fourth argument after errors.
        free = len(args) < 4 and not kwargs.get("format") and kwargs.get("unit") is None
        free = free and _has_texts(arg)
        failure = None
        strict = "raise" if errors == "ignore" else errors
        try:
            if not free or inferred or not _is_day_first(arg, args, kwargs):
                found = function(arg, strict, *args, **kwargs)
                if errors != "coerce" or not free or not _lost(arg, found):
                    return found
        except (ValueError, TypeError, OverflowError) as error:
            failure = error
            if not free and errors != "ignore":
                raise
        try:
            if free:
                return function(arg, strict, *args, **{**kwargs, "format": "mixed"})
        except (ValueError, TypeError, OverflowError):
            if errors != "ignore":
                raise (failure or sys.exc_info()[1]) from None
        return _index(arg, None).astype(object) if isinstance(arg, (list, tuple)) else arg

    return to_datetime


def _has_texts(arg):
    import pandas as pd

    if isinstance(arg, (list, tuple)):
        return any(isinstance(one, str) for one in arg)
    dtype = getattr(arg, "dtype", None)
    if dtype is None or getattr(arg, "ndim", 1) != 1:
        return False
    return dtype.kind == "U" or (dtype.kind == "O" and not isinstance(dtype, pd.CategoricalDtype))


def _is_day_first(arg, args, kwargs):
    """Tells whether the first text looks like day and month, so that pandas reads all like it.

    pandas 1 read each of them for itself: the month came first, if it could.
    """
    from pandas.tseries.api import guess_datetime_format

    if kwargs.get("dayfirst") or (args and args[0]):
        return False
    first = next((one for one in arg if isinstance(one, str)), None)
    found = guess_datetime_format(first) if first and first[:1].isdigit() else None
    return found is not None and found.startswith("%d")


def _lost(arg, found):
    """Tells whether some texts were not read."""
    import pandas as pd

    return int(found.isna().sum()) > int(pd.isna(pd.Series(arg, dtype=object)).sum())


def _convert(function):
    """Differences of times become numbers of a unit, and times are cut to it."""

    @functools.wraps(function)
    def astype(self, dtype, *args, **kwargs):
        if self.dtype.kind in "mM" and isinstance(dtype, (str, _dtype())):
            match = _UNIT.fullmatch(str(dtype))
            kind = "" if match is None else "m" if match[1] in ("m8", "timedelta64") else "M"
            if kind == "m" == self.dtype.kind and match[2] != "ns" and dtype != self.dtype:
                return _like(self, _count_units(self.to_numpy(), match[2]))
            if kind == "M" == self.dtype.kind and match[2] in ("Y", "M", "W", "D", "h", "m"):
                cut = self.to_numpy().astype(f"M8[{match[2]}]")
                return _like(self, cut.astype("M8[ns]"))
        return function(self, dtype, *args, **kwargs)

    return astype


def _dtype():
    import numpy as np

    return np.dtype


def _count_units(values, unit):
    import numpy as np

    numbers = values.astype(f"m8[{unit}]").astype("float64")
    numbers[np.isnat(values)] = np.nan
    return numbers


def _like(values, new):
    import pandas as pd

    if values.ndim == 1 and hasattr(values, "index"):
        return pd.Series(new, index=values.index, name=values.name)
    return pd.Index(new, name=values.name)


def _make_range(make, function):
    """An index of dates takes `start`, `end` and `periods`, like the function for ranges."""

    @functools.wraps(function)
    def new(cls, *args, **kwargs):
        if kwargs and not args and not {"start", "end", "periods"}.isdisjoint(kwargs):
            return make(**{name: one for name, one in kwargs.items() if name != "data"})
        return function(cls, *args, **kwargs)

    return new
