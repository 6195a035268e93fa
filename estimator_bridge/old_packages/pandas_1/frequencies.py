"""Names of frequencies and units of time that pandas 2.2 and 3 replaced, such as "M" and "2H"."""

import functools
import re
import sys

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]

# Those of periods have no E.
_OF_OFFSETS = {
    "M": "ME",
    "Q": "QE",
    "A": "YE",
    "Y": "YE",
    "BM": "BME",
    "BQ": "BQE",
    "BA": "BYE",
    "BY": "BYE",
    "CBM": "CBME",
    "SM": "SME",
    "AS": "YS",
    "BAS": "BYS",
}
_OF_PERIODS = {"A": "Y", "BM": "M", "BQ": "Q", "BA": "Y", "MS": "M", "QS": "Q", "AS": "Y"}
_OF_CLOCKS = {
    "H": "h",
    "BH": "bh",
    "CBH": "cbh",
    "T": "min",
    "S": "s",
    "L": "ms",
    "U": "us",
    "N": "ns",
}
_NAME = re.compile(r"(?<![A-Za-z-])([A-Za-z]+)")
_UNITS = {"T": "min", "L": "ms", "U": "us", "N": "ns", "H": "h", "S": "s"}
# Mean seconds, as NumPy has them.
_SECONDS = {"Y": 31556952, "M": 2629746}


def install() -> None:
    """Makes pandas read the names."""
    import pandas as pd
    from pandas._libs.tslibs import offsets, timedeltas

    _replace_everywhere("to_offset", offsets.to_offset, _read_offset)
    if hasattr(timedeltas, "get_unit_for_round"):
        rounding = timedeltas.get_unit_for_round
        _replace_everywhere("get_unit_for_round", rounding, _retry(_to_offset))
    for owner in (pd.Timestamp, pd.Timedelta):
        for name in ("floor", "ceil", "round"):
            classes.replace(owner, name, _retry(_to_offset))
    for owner, name in (
        (pd.Timestamp, "to_period"),
        (pd.Period, "asfreq"),
        (pd.Period, "to_timestamp"),
    ):
        classes.replace(owner, name, _retry(_to_period))
    pd.Period._maybe_convert_freq = staticmethod(_read_period(pd.Period._maybe_convert_freq))
    pd.Period.__new__ = staticmethod(_retry(_to_period)(pd.Period.__new__))
    pd.Timedelta.__new__ = staticmethod(_read_timedelta(pd.Timedelta.__new__))
    pd.to_timedelta = _read_timedeltas(pd.to_timedelta)


def _replace_everywhere(name, function, wrap):
    """Replaces a function in all modules that imported it."""
    new = wrap(function)
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("pandas.") and vars(module).get(name) is function:
            setattr(module, name, new)


def _or_raise(error, function, *args, **kwargs):
    """Calls the function, and raises the error of the first call if this one fails too."""
    try:
        return function(*args, **kwargs)
    except ValueError:
        raise error from None


def _translate(table, freq):
    def replace(match):
        name = match[1]
        return table.get(name) or table.get(name.upper()) or name

    return _NAME.sub(replace, freq) if isinstance(freq, str) else freq


_to_offset = functools.partial(_translate, {**_OF_CLOCKS, **_OF_OFFSETS})
_to_period = functools.partial(_translate, {**_OF_CLOCKS, **_OF_PERIODS})


def _read_offset(function):
    @functools.wraps(function)
    def to_offset(freq, is_period=False):
        try:
            return function(freq, is_period)
        except ValueError as error:
            failure = error
            new = (_to_period if is_period else _to_offset)(freq)
            if new == freq:
                raise
        return _or_raise(failure, function, new, is_period)

    return to_offset


def _read_period(find):
    def convert(freq):
        try:
            return find(freq)
        except ValueError as error:
            new = _to_period(freq)
            if new == freq:
                raise
            return _or_raise(error, find, new)

    return convert


def _retry(translate):
    """Returns a wrapper that translates texts among the arguments, if they are refused."""

    def wrap(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except ValueError as error:
                failure = error
                others = [args[0], *map(translate, args[1:])] if args else []
                named = {
                    name: translate(value) if name == "freq" else value
                    for name, value in kwargs.items()
                }
                if [*others] == [*args] and named == kwargs:
                    raise
            return _or_raise(failure, function, *others, **named)

        return call

    return wrap


def _translate_unit(value, unit):
    """Returns a number and a unit that pandas reads."""
    if unit in _SECONDS or unit == "y":
        seconds = _SECONDS[unit.upper()]
        return [one * seconds for one in value] if isinstance(value, list) else value * seconds, "s"
    return value, _UNITS.get(unit.upper(), unit) if isinstance(unit, str) else unit


def _translate_text(text):
    # Texts as in ISO 8601 begin with P.
    if not isinstance(text, str) or text.lstrip("+-").startswith("P"):
        return text
    return _NAME.sub(lambda match: _UNITS.get(match[1].upper(), match[1]), text)


def _read_timedelta(function):
    @functools.wraps(function)
    def new(cls, *args, **kwargs):
        try:
            return function(cls, *args, **kwargs)
        except ValueError as error:
            failure = error
            value, unit = (*args, None, None)[:2]
            unit = kwargs.get("unit", unit)
            changed = _translate_unit(value, unit) if unit else (_translate_text(value), None)
            if not args or len(args) > 2 or changed == (value, unit):
                raise
        return _or_raise(failure, function, cls, *(one for one in changed if one is not None))

    return new


def _read_timedeltas(function):
    @functools.wraps(function)
    def to_timedelta(arg, unit=None, errors="raise", box=True):
        strict = "raise" if errors == "ignore" else errors
        try:
            try:
                found = function(arg, unit, strict)
            except ValueError as error:
                found = _or_raise(error, function, *_translate_all(arg, unit), strict)
        except ValueError:
            if errors == "ignore":
                return arg
            raise
        return found if box else found.to_numpy()

    return to_timedelta


def _translate_all(arg, unit):
    if unit is not None:
        return _translate_unit(arg, unit)
    if isinstance(arg, str):
        return _translate_text(arg), None
    if hasattr(arg, "map"):
        return arg.map(_translate_text), None
    listed = isinstance(arg, (list, tuple)) or getattr(arg, "ndim", 0) == 1
    return [_translate_text(one) for one in arg] if listed else arg, None
