"""Prints the parameters that pandas takes by position, as JSON.

PYTHON_OF_1.1.5 list_parameters.py > native/parameters.json
"""

import inspect
import json

import pandas as pd

NAMES = [
    "DataFrame",
    "Series",
    "Index",
    "MultiIndex",
    "DataFrameGroupBy",
    "SeriesGroupBy",
    "Rolling",
    "Expanding",
    "ewm",
    "Resampler",
    "str",
    "Categorical",
    "ExcelFile",
]


def list_owners():
    """Returns name -> class, or the module for "pd"."""
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2020-01-01", periods=2))
    groups = frame.groupby("a")
    found = {
        "pd": pd,
        "DataFrameGroupBy": type(groups),
        "SeriesGroupBy": type(groups["a"]),
        "Rolling": type(frame.rolling(2)),
        "Expanding": type(frame.expanding()),
        "ewm": type(frame.ewm(1)),
        "Resampler": type(frame.resample("D")),
        "str": type(pd.Series(["x"]).str),
    }
    return {**{name: getattr(pd, name) for name in NAMES if name not in found}, **found}


def list_parameters():
    """Returns "class.method" -> the names, without self, of those by position."""
    found = {}
    for owner_name, owner in list_owners().items():
        for name in dir(owner):
            function = inspect.getattr_static(owner, name)
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            parameters = inspect.signature(function).parameters.values()
            places = [one.name for one in parameters if one.kind <= one.POSITIONAL_OR_KEYWORD]
            places = places[1:] if places[:1] == ["self"] else places
            if places:
                found[f"{owner_name}.{name}"] = places
    return found


if __name__ == "__main__":
    print(json.dumps(list_parameters(), indent=None, sort_keys=True).replace("], ", "],\n"))
