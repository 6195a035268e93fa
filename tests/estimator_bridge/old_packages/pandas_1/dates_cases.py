"""Dates: names of frequencies, units, weeks, texts in several formats."""

import numpy as np
import pandas as pd

OLD_NAMES = [
    "M",
    "Q",
    "A",
    "Y",
    "H",
    "2H",
    "T",
    "15T",
    "S",
    "L",
    "U",
    "N",
    "BM",
    "BQ",
    "BA",
    "AS",
    "QS",
    "MS",
    "W",
    "W-MON",
    "B",
    "BMS",
    "BQS",
    "BAS",
    "SM",
    "SMS",
    "A-JAN",
    "AS-APR",
]


def days(count=3, freq="D"):
    return pd.Series(range(count), index=pd.date_range("2020-01-01", periods=count, freq=freq))


def dates():
    return pd.Series(pd.to_datetime(["2020-01-01 10:20:30", "2019-12-30", "2021-01-03 23:59"]))


def texts(values):
    return [str(one) for one in values]


def case_ranges():
    return {
        name: texts(pd.date_range("2020-01-15", periods=3, freq=name))
        for name in [*OLD_NAMES, "D", "2H30T", "1D12H", "BH"]
    }


def case_offsets():
    found = [pd.tseries.frequencies.to_offset(name) for name in OLD_NAMES]
    return [[type(one).__name__, one.n] for one in found]


def case_resample():
    values = days(40)
    names = ["M", "Q", "A", "W", "12H", "BM", "AS", "D", "MS", "2W"]
    return {name: values.resample(name).sum().tolist() for name in names}


def case_grouper():
    values = days(40)
    frame = values.rename("v").rename_axis("day").reset_index()
    return [
        values.groupby(pd.Grouper(freq="M")).sum().tolist(),
        frame.groupby(pd.Grouper(key="day", freq="Q")).v.sum().tolist(),
    ]


def case_other_uses():
    values = days(4)
    return [
        values.asfreq("12H").tolist(),
        texts(values.shift(1, freq="H").index),
        values.rolling("48H").sum().tolist(),
        texts(values.asfreq("M", how="end").index),
        texts(pd.timedelta_range("0 days", periods=2, freq="H")),
        values.first("2D").tolist(),
        values.last("2D").tolist(),
        texts(values.tshift(1).index),
        texts(pd.bdate_range("2020-01-01", periods=2, freq="B")),
    ]


def case_rounding():
    one = pd.Timestamp("2020-01-01 10:20:30")
    return [
        str(one.floor("H")),
        str(one.ceil("T")),
        str(one.round("15T")),
        str(pd.Timedelta("10:20:30").floor("H")),
        texts(dates().dt.floor("H")),
        texts(dates().dt.round("30T")),
        texts(pd.DatetimeIndex(dates()).ceil("H")),
        texts(pd.to_timedelta(["10:20:30"]).floor("T")),
    ]


def case_periods():
    return [
        str(pd.Period("2020-01-01 10:20", freq="H").start_time),
        str(pd.Period("2020", freq="A").end_time)[:19],
        str(pd.Period("2020-03", freq="M").asfreq("D", "end")),
        str(pd.Period("2020-03", freq="M").asfreq("A")),
        texts(pd.period_range("2020", periods=2, freq="A")),
        texts(dates().dt.to_period("A")),
        texts(dates().dt.to_period("Q")),
        texts(dates().dt.to_period("M")),
        texts(dates().dt.to_period("H").dt.start_time),
        texts(days().to_period("A").index),
        texts(pd.PeriodIndex(["2020", "2021"], freq="A")),
        texts(pd.PeriodIndex(["2020", "2021"], freq="A").to_timestamp(how="end")),
        texts(dates().dt.to_period("M").dt.end_time),
        texts(pd.period_range("2020-01", periods=2, freq="M").to_timestamp("D")),
        str(pd.Timestamp("2020-05-05").to_period("A")),
    ]


def case_units():
    names = ["H", "T", "S", "L", "U", "N", "D", "h", "m", "s", "ms", "us", "W", "days", "hours"]
    found = {name: str(pd.Timedelta(90, name)) for name in names}
    found["to"] = {name: texts(pd.to_timedelta([1, 2], unit=name)) for name in names}
    found["texts"] = texts([pd.Timedelta("2T"), pd.Timedelta("1H30T"), pd.Timedelta("3S")])
    found["lists"] = texts(pd.to_timedelta(["1H", "2T 3S", "5L"]))
    found["series"] = texts(pd.to_timedelta(pd.Series([1, 2]), unit="T"))
    return found


def case_parts():
    values = dates()
    return [
        values.dt.week,
        values.dt.weekofyear,
        values.rename("n").dt.week,
        pd.DatetimeIndex(values).week,
        pd.Timestamp("2020-12-31").week,
        values.dt.dayofweek,
        values.dt.day_name(),
        pd.Series(pd.to_datetime(["2020-01-01", None])).dt.week,
    ]


def case_differences():
    values = dates() - pd.Timestamp("2019-12-01")
    missing = pd.Series(pd.to_timedelta(["1 days 12:00:00", None]))
    return [
        values.astype("timedelta64[D]"),
        values.astype("timedelta64[h]"),
        values.astype("timedelta64[s]"),
        values.astype("<m8[m]"),
        values.astype(np.dtype("m8[D]")),
        missing.astype("timedelta64[D]"),
        values / np.timedelta64(1, "h"),
        values.dt.days,
        values.dt.total_seconds(),
    ]


def case_cut():
    return [texts(dates().astype(f"datetime64[{unit}]")) for unit in ("D", "M", "Y", "h", "m", "s")]


def case_several_formats():
    mixed = ["2020-01-01", "Jan 3 2020", "20200105", "2020/02/01 10:00"]
    return [
        texts(pd.to_datetime(mixed)),
        texts(pd.to_datetime(pd.Series(mixed))),
        texts(pd.to_datetime([*mixed, "x"], errors="coerce")),
        texts(pd.to_datetime(["13/01/2000", "01/02/2000"])),
        texts(pd.to_datetime(["01/02/2000", "13/01/2000"])),
        texts(pd.to_datetime(["13/01/2000", "01/02/2000"], dayfirst=True)),
        texts(pd.to_datetime(["2020-01-01", None, "2020-01-02 05:00"])),
        texts(pd.to_datetime(["2020-01-01", "2020-01-02"], infer_datetime_format=True)),
        texts(pd.to_datetime(["2020-01-01", "2020-01-02"], format="%Y-%m-%d")),
        texts(pd.to_datetime(["01-Feb-2020", "2020.03.01"])),
    ]


def case_ignored_errors():
    words = pd.Series(["2020-01-01", "x"], dtype=object)
    return [
        pd.to_datetime(words, errors="ignore"),
        pd.to_datetime("x", errors="ignore"),
        list(pd.to_datetime(["x", "y"], errors="ignore")),
        texts(pd.to_datetime(["2020-01-01"], errors="ignore")),
        pd.to_datetime(words, "ignore"),
        list(pd.to_timedelta(["x"], errors="ignore")),
    ]


def case_numbers():
    return [
        texts(pd.to_datetime([1, 2], unit="D")),
        texts(pd.to_datetime([1577836800], unit="s")),
        texts(pd.to_datetime([20200101, 20200102], format="%Y%m%d")),
        texts(pd.to_datetime(pd.DataFrame({"year": [2020], "month": [1], "day": [2]}))),
        str(pd.to_datetime("2020-01-02")),
        str(pd.to_datetime("3/4/2020")),
    ]
