"""The table of the order of parameters has all functions whose order has changed since 1.1.5."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd  # noqa: F401, which `classes` looks at

from estimator_bridge.old_packages.pandas_1 import classes
from estimator_bridge.old_packages.pandas_1.arguments import parse_orders
from estimator_bridge.old_packages.pandas_1.orders import ORDERS

FOLDER = Path(__file__).parent
# They are wrapped with another signature, or had parameters that programs do not use.
ELSEWHERE = {
    "DataFrame": "reindex rename filter",
    "Series": "filter",
    "Index": "copy get_loc get_slice_bound slice_indexer slice_locs",
    "MultiIndex": "copy get_loc get_slice_bound slice_indexer slice_locs all any",
    "Categorical": "take fillna argsort repeat",
    "DataFrameGroupBy": "nth cummax cummin cumprod cumsum",
    "SeriesGroupBy": "nth cummax cummin cumprod cumsum",
    "pd": "eval infer_freq bdate_range",
}


def test_table_is_complete():
    command = [sys.executable, str(FOLDER / "list_parameters.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    today = json.loads(done.stdout)
    native = json.loads((FOLDER / "native" / "parameters.json").read_text(encoding="utf-8"))
    table = parse_orders(ORDERS)
    missing = []
    for name, then in native.items():
        owner, _, method = name.rpartition(".")
        known = [*ELSEWHERE.get(owner, "").split(), "factorize"]
        if (owner, method) in table or method in known:
            continue
        if not hasattr(classes.find(owner), method) or then[0] == "_method":
            continue
        now = today.get(name, [])
        if now[: len(then)] != then[: len(now)] or len(then) > len(now):
            missing.append(f"{name}: {' '.join(then)} | {' '.join(now)}")
    assert not missing, missing


def test_table_has_the_order_of_that_time():
    native = json.loads((FOLDER / "native" / "parameters.json").read_text(encoding="utf-8"))
    # 1.1 knew these names by position, and refused them; 0.23 did not.
    different = {
        f"{owner}.{method}": (order, native[f"{owner}.{method}"])
        for (owner, method), order in parse_orders(ORDERS).items()
        if native.get(f"{owner}.{method}") != order and method != "rename_axis"
    }
    assert different == {}
