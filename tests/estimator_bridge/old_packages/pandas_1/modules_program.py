"""Imports from pandas as programs of the time of TensorFlow 1.x have them, in one process."""

import warnings

warnings.simplefilter("ignore")

import pandas as pd  # noqa: E402

from estimator_bridge import old_packages  # noqa: E402

old_packages.install()

IMPORTS = """
from pandas.tools.plotting import scatter_matrix, andrews_curves
from pandas.tools.merge import concat, merge
from pandas.tools.pivot import pivot_table
from pandas.tools.tile import cut
from pandas.io.json import json_normalize
from pandas.io.json.normalize import json_normalize
from pandas.util.testing import assert_frame_equal, assert_series_equal
from pandas.lib import Timestamp
from pandas.tslib import Timestamp, NaT, Timedelta
from pandas._libs.tslib import Timestamp
from pandas.tseries.index import DatetimeIndex, date_range
from pandas.tseries.tools import to_datetime
from pandas.tseries.resample import TimeGrouper
from pandas.core.index import Index, MultiIndex, Int64Index
from pandas.core.indexes.numeric import Float64Index
from pandas.core.categorical import Categorical
from pandas.core.common import SettingWithCopyWarning, isnull, is_number, is_list_like
from pandas.core.datetools import MonthEnd
from pandas.stats.moments import rolling_mean, ewma
from pandas.types.common import is_numeric_dtype
from pandas.parser import CParserError
from pandas.io.common import EmptyDataError, CParserError
from pandas.io.parsers import read_csv, TextFileReader
from pandas.compat import StringIO, range, lmap
from pandas.errors import SettingWithCopyWarning
from pandas.api.types import is_categorical, is_string_dtype
from pandas.core.frame import DataFrame
from pandas.core.series import Series
from pandas.plotting import scatter_matrix
from pandas.formats.format import DataFrameFormatter
import pandas.util.testing as tm
import pandas.core.algorithms as algos
pd.tools.plotting.scatter_matrix
pd.io.json.json_normalize
pd.core.common.SettingWithCopyWarning
pd.lib.Timestamp
pd.set_option("display.max_colwidth", -1)
pd.options.display.max_colwidth = -1
pd.set_option("display.height", 1000)
pd.set_option("max_rows", 7)
pd.set_option("precision", 3)
pd.set_option("display.max_columns", None, "display.width", 100)
pd.options.mode.chained_assignment = None
pd.option_context("display.max_rows", None).__enter__()
"""

failed = []
for line in IMPORTS.strip().splitlines():
    try:
        exec(line)
    except Exception as error:
        failed.append(f"{line}: {error!r}")
assert not failed, "\n".join(failed)
assert pd.get_option("display.precision") == 3
assert pd.get_option("display.max_colwidth") is None
try:
    pd.set_option("display.no_such_option", 1)
except Exception as error:
    assert "No such keys" in str(error)
else:
    raise AssertionError("display.no_such_option was accepted")
