"""Arguments by position that pandas 2 and 3 want by name, and arguments that have another name."""

import functools
import inspect

from estimator_bridge.old_packages.pandas_1 import classes
from estimator_bridge.old_packages.pandas_1.orders import ORDERS

__all__ = ["install", "parse_orders"]

# Arguments without effect, or that tell what pandas does now in any case.
_IGNORED = """
DataFrame Series.align: fill_axis broadcast_axis
Series.apply: convert_dtype
DataFrame Series.astype: raise_on_error
DataFrame Series.describe: datetime_is_numeric
DataFrame Series.groupby: squeeze
DataFrame Series.mask: errors try_cast raise_on_error
DataFrame Series.where: errors try_cast raise_on_error
DataFrame Series.rolling: how freq
DataFrame Series.expanding: center freq
DataFrame Series.ewm: how freq
DataFrame Series.resample: kind
DataFrame Series.take: is_copy
DataFrame Series.to_csv: engine tupleize_cols encoding_errors
DataFrame Series.to_excel: encoding verbose
DataFrame Series.to_latex: col_space
DataFrame Series.to_sql: flavor
DataFrame.to_html: tupleize_cols
Index MultiIndex.fillna: downcast
Index MultiIndex.copy: dtype
DataFrameGroupBy SeriesGroupBy.pct_change: axis
Resampler.interpolate: downcast inplace
pd.infer_freq: warn
pd.lreshape: label
pd.read_excel: convert_float mangle_dupe_cols has_index_names
ExcelFile.parse: convert_float mangle_dupe_cols has_index_names
pd.read_html: tupleize_cols infer_types
pd.read_json: numpy
pd.read_stata: encoding
pd.to_timedelta: box
"""
# old=new
_RENAMED = """
DataFrame.drop_duplicates: cols=subset
DataFrame.duplicated: cols=subset
DataFrame.info: null_counts=show_counts
DataFrame.pivot_table: rows=index cols=columns
pd.pivot_table: rows=index cols=columns
pd.crosstab: rows=index cols=columns
DataFrame.sort_values: columns=by
DataFrame.to_dict: outtype=orient
DataFrame Series.to_csv: line_terminator=lineterminator cols=columns path=path_or_buf nanRep=na_rep
DataFrame Series.to_excel: sheetname=sheet_name cols=columns
Series.map: arg=func
Rolling Expanding.quantile: quantile=q
pd.read_excel: sheetname=sheet_name skip_footer=skipfooter parse_cols=usecols
ExcelFile.parse: sheetname=sheet_name skip_footer=skipfooter parse_cols=usecols
"""


def parse_orders(text: str) -> dict:
    """Returns (class, method) -> names.

    Args:
      text: lines of the form of `ORDERS`.
    """
    found = {}
    for line in text.replace("\n  ", " ").strip().splitlines():
        names, _, values = line.partition(":")
        owners, _, method = names.rpartition(".")
        found.update({(owner, method): values.split() for owner in owners.split()})
    return found


def install() -> None:
    """Wraps the functions whose arguments differ."""
    orders, ignored, renamed = map(parse_orders, (ORDERS, _IGNORED, _RENAMED))
    for owner, method in sorted({*orders, *ignored, *renamed}):
        key = owner, method
        pairs = dict(pair.split("=") for pair in renamed.get(key, ()))
        wrap = functools.partial(_wrap, orders.get(key, []), ignored.get(key, []), pairs)
        classes.replace(classes.find(owner), method, wrap)


def _wrap(order, ignored, renamed, function):
    """Returns the function with the order of parameters and the names of that time."""
    today = list(inspect.signature(function).parameters.values())
    if today and today[0].name == "self":
        order = ["self", *order]
    known = {one.name for one in today}
    renamed = {old: new for old, new in renamed.items() if old not in known and new in known}
    places = [one.name for one in today if one.kind <= one.POSITIONAL_OR_KEYWORD]
    order = [renamed.get(name, name) for name in order]
    same = 0
    while same < min(len(order), len(places)) and order[same] == places[same]:
        same += 1
    # What today's function takes by position beyond the order of then stays as it is.
    count = len(order) if same == len(order) else same
    ignored = frozenset(ignored) - known
    differing = ignored | set(renamed)
    if same == len(order) and not differing:
        return function
    by_place = order[count:]

    @functools.wraps(function)
    def call(*args, **kwargs):
        extra = args[count:]
        # Too many arguments, and those given twice, are left to pandas, which raises the error.
        if extra and len(extra) <= len(by_place) and not set(by_place[: len(extra)]) & set(kwargs):
            args = args[:count]
            kwargs.update(zip(by_place, extra))
        if kwargs and not differing.isdisjoint(kwargs):
            kwargs = {
                renamed.get(name, name): value
                for name, value in kwargs.items()
                if name not in ignored
            }
        return function(*args, **kwargs)

    return call
