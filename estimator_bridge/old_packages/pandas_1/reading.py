"""Readers of files with the arguments, missing values and numbers of pandas 1.1."""

import datetime
import functools
import io

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]

_REMOVED = {
    "squeeze",
    "prefix",
    "mangle_dupe_cols",
    "infer_datetime_format",
    "keep_date_col",
    "date_parser",
    "error_bad_lines",
    "warn_bad_lines",
    "delim_whitespace",
    "verbose",
    "skip_footer",
    "tupleize_cols",
    "compact_ints",
    "use_unsigned",
    "buffer_lines",
    "as_recarray",
}


def install() -> None:
    """Wraps the readers."""
    import pandas as pd
    from pandas._libs.parsers import STR_NA_VALUES

    # pandas 2 added it. All readers look into this set.
    STR_NA_VALUES.discard("None")
    for name in ("read_csv", "read_table", "read_fwf"):
        classes.replace(pd, name, _read_table)
    for owner, name in ((pd, "read_excel"), (pd.ExcelFile, "parse")):
        classes.replace(owner, name, _read_sheet)
    classes.replace(pd, "read_json", _read_text("{["))
    classes.replace(pd, "read_html", _read_text("<"))


def _read_table(function):
    # pandas 3.1 has one algorithm only.
    legacy = function.__name__ != "read_fwf" and _version() < (3, 1)

    @functools.wraps(function)
    def read(path, **kwargs):
        if legacy and _takes_precision(kwargs, function.__name__):
            kwargs["float_precision"] = "legacy"
        dates = kwargs.get("parse_dates")
        if not dates and _REMOVED.isdisjoint(kwargs):
            return function(path, **kwargs)
        given = {name: kwargs.pop(name) for name in _REMOVED if name in kwargs}
        _rename(given, kwargs)
        finish = [_Dates(kwargs, given)] if dates else []
        if given.get("prefix") is not None:
            prefix = given["prefix"]
            finish.append(lambda frame: frame.rename(columns=lambda one: f"{prefix}{one}"))
        if given.get("squeeze"):
            finish.append(_squeeze)
        return _then(function(path, **kwargs), finish)

    return read


def _version():
    import pandas as pd

    return tuple(int(one) for one in pd.__version__.split(".")[:2])


def _takes_precision(kwargs, name):
    """Tells whether the reader in C reads the file: it had a less exact algorithm."""
    if kwargs.get("float_precision") is not None or kwargs.get("engine") not in (None, "c"):
        return False
    sep = kwargs.get("sep", kwargs.get("delimiter", "\t" if name == "read_table" else ","))
    if kwargs.get("skipfooter") or kwargs.get("skip_footer") or not isinstance(sep, str):
        return False
    return len(sep) == 1 or sep == r"\s+" or bool(kwargs.get("delim_whitespace"))


def _rename(given, kwargs):
    """Sets the arguments of today for those of then."""
    if given.get("delim_whitespace"):
        kwargs["sep"] = r"\s+"
        kwargs.pop("delimiter", None)
    if given.get("error_bad_lines") is False:
        kwargs["on_bad_lines"] = "skip" if given.get("warn_bad_lines") is False else "warn"
    if given.get("skip_footer"):
        kwargs["skipfooter"] = given["skip_footer"]


def _then(result, finish):
    """Returns a frame, or a reader of chunks, whose frames the functions have changed."""
    import pandas as pd

    def change(frame):
        for one in finish:
            frame = one(frame)
        return frame

    if isinstance(result, pd.DataFrame):
        return change(result)
    read = result.read
    result.read = lambda nrows=None: change(read(nrows))
    return result


def _squeeze(frame):
    return frame.iloc[:, 0] if frame.shape[1] == 1 else frame


def _read_sheet(function):
    @functools.wraps(function)
    def read(*args, squeeze=False, date_parser=None, **kwargs):
        if date_parser is not None:
            raise TypeError("date_parser: convert the column after reading it")
        sheet = function(*args, **kwargs)
        return _squeeze(sheet) if squeeze else sheet

    return read


def _read_text(starts):
    """Returns a wrapper for a reader that takes the text itself, too."""

    def wrap(function):
        @functools.wraps(function)
        def read(source, *args, **kwargs):
            if isinstance(source, str) and source.lstrip()[:1] in tuple(starts):
                source = io.StringIO(source)
            return function(source, *args, **kwargs)

        return read

    return wrap


class _Dates:
    """Reads columns as dates after the file has been read."""

    def __init__(self, kwargs, given):
        """Takes the arguments for dates out, if pandas does not know them.

        Args:
          kwargs: arguments of the reader, which this changes.
          given: removed arguments.
        """
        self._parse = given.get("date_parser")
        self._keep = given.get("keep_date_col", False)
        self._options = {
            "dayfirst": kwargs.get("dayfirst", False),
            "infer_datetime_format": given.get("infer_datetime_format", False),
        }
        dates = kwargs["parse_dates"]
        nested = isinstance(dates, dict) or (
            isinstance(dates, (list, tuple))
            and any(isinstance(one, (list, tuple)) for one in dates)
        )
        self._own = nested or self._parse is not None
        if isinstance(dates, (str, int)) and not isinstance(dates, bool):
            dates = kwargs["parse_dates"] = [dates]
        self._dates = dates
        self._index = None
        if self._own and dates is not True:
            del kwargs["parse_dates"]
            self._index = kwargs.pop("index_col", None)
            converters = dict(kwargs.get("converters") or {})
            converters.update((one, str) for one in self._list_columns())
            kwargs["converters"] = converters

    def _list_columns(self):
        specs = self._dates.values() if isinstance(self._dates, dict) else self._dates
        for spec in specs:
            yield from spec if isinstance(spec, (list, tuple)) else [spec]

    def __call__(self, frame):
        if not self._own:
            return self._read_again(frame)
        if self._dates is True:
            frame.index = frame.index.__class__(self._read([frame.index]), name=frame.index.name)
            return frame
        columns = list(frame.columns)

        def find(one):
            return one if one in columns else columns[one]

        if isinstance(self._dates, dict):
            specs = [(name, [find(one) for one in spec]) for name, spec in self._dates.items()]
        else:
            specs = [
                ("_".join(str(find(one)) for one in spec), [find(one) for one in spec])
                if isinstance(spec, (list, tuple))
                else (find(spec), [find(spec)])
                for spec in self._dates
            ]
        made = {}
        for name, sources in specs:
            values = self._read([frame[one] for one in sources])
            if sources == [name]:
                frame[name] = values
            else:
                made[name] = values
        used = {one for name, sources in specs if sources != [name] for one in sources}
        rest = frame if self._keep else frame.drop(columns=list(used))
        for place, (name, values) in enumerate(made.items()):
            rest.insert(place, name, values)
        if self._index is None or self._index is False:
            return rest
        listed = self._index if isinstance(self._index, list) else [self._index]
        columns = list(rest.columns)
        return rest.set_index([find(one) for one in listed])

    def _read_again(self, frame):
        """Reads texts in several formats, of which pandas 2 and 3 read none."""
        import pandas as pd

        if self._dates is True:
            if frame.index.dtype == object and frame.index.nlevels == 1:
                frame.index = self._convert(frame.index)
            return frame
        for one in self._dates:
            name = one if one in frame.columns or not isinstance(one, int) else None
            if name is None and one < frame.shape[1] and not isinstance(frame.index, pd.MultiIndex):
                name = frame.columns[one]
            if name in frame.columns and frame[name].dtype == object:
                frame[name] = self._convert(frame[name])
        return frame

    def _convert(self, values):
        import pandas as pd

        return pd.to_datetime(values, errors="ignore", **self._options)

    def _read(self, columns):
        """Returns the dates of columns of texts, as the function of the program reads them."""
        texts = [column.to_numpy(dtype=object) for column in columns]
        joined = [" ".join(row) for row in zip(*texts)]
        if self._parse is None:
            return self._convert(_without_empty(joined, columns[0]))
        for read in (
            lambda: self._parse(*texts),
            lambda: [self._parse(one) if one else None for one in joined],
            lambda: [self._parse(*row) for row in zip(*texts)],
        ):
            try:
                found = read()
                if isinstance(found, datetime.datetime):
                    continue
                return _without_empty(self._convert(found), columns[0])
            except Exception as error:
                failure = error
        raise failure


def _without_empty(values, like):
    import pandas as pd

    values = pd.Series(values)
    values.index = like.index if hasattr(like, "index") else values.index
    return values.where(values != "", None) if values.dtype == object else values
