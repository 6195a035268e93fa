"""Reading files: arguments that pandas 1.3 to 3 removed, missing values and numbers."""

import datetime
import io

import numpy as np
import pandas as pd

NUMBERS = [
    "0.1",
    "0.3",
    "123.456",
    "2.675",
    "1e-7",
    "8.41",
    "-0.0",
    "1e5",
    "100000.5",
    "7",
]
DATES = "d,t,v\n2020-01-02,10:00,1\n2020-03-04,11:30,2\n"


def read(text, *args, **kwargs):
    return pd.read_csv(io.StringIO(text), *args, **kwargs)


def shown(frame):
    frame = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind == "M":
            frame[name] = [str(one) for one in frame[name]]
            frame[name] = frame[name].astype(object)
    if frame.index.dtype.kind == "M":
        frame.index = [str(one) for one in frame.index]
    return frame


def case_bad_lines():
    text = "a,b\n1,2\n3,4,5\n6,7\n"
    return [
        read(text, error_bad_lines=False),
        read(text, error_bad_lines=False, warn_bad_lines=False),
        read("a,b\n1,2\n", error_bad_lines=True, warn_bad_lines=True),
    ]


def case_squeeze():
    return [
        read("a\n1\n2\n", squeeze=True),
        read("a,b\n1,2\n", squeeze=True),
        read("k,v\n1,2\n3,4\n", index_col=0, squeeze=True),
    ]


def case_prefix():
    return [read("1,2\n3,4\n", header=None, prefix="x"), read("a,b\n1,2\n", prefix=None)]


def case_ignored():
    text = "a,b\n1,2\n"
    return read(
        text, mangle_dupe_cols=True, infer_datetime_format=True, verbose=False, low_memory=False
    )


def case_delim_whitespace():
    return [
        read("a  b\n1 2\n3   4\n", delim_whitespace=True),
        read("a  b\n1 2\n", delim_whitespace=False, sep=" ", skipinitialspace=True),
        read("1 2\n3\t4\n", delim_whitespace=True, header=None, names=["p", "q"]),
    ]


def case_read_table():
    return [
        pd.read_table(io.StringIO("a\tb\n1\t2\n")),
        pd.read_table(io.StringIO("a,b\n1,2\n"), ","),
        pd.read_table(io.StringIO("a b\n1 2\n"), delim_whitespace=True, error_bad_lines=False),
    ]


def case_parse_dates():
    return [
        shown(read(DATES, parse_dates=["d"])),
        shown(read(DATES, parse_dates=[0])),
        shown(read(DATES, parse_dates=[["d", "t"]])),
        shown(read(DATES, parse_dates=[[0, 1]])),
        shown(read(DATES, parse_dates={"when": ["d", "t"]})),
        shown(read(DATES, parse_dates={"when": [0, 1]}, keep_date_col=True)),
        shown(read(DATES, parse_dates={"when": ["d", "t"]}, index_col="when")),
        shown(read(DATES, index_col=0, parse_dates=True)),
    ]


def case_date_parser():
    def parse(text):
        return datetime.datetime.strptime(text, "%d/%m/%Y")

    text = "d,v\n02/01/2020,1\n04/03/2020,2\n"
    return [
        shown(read(text, parse_dates=["d"], date_parser=parse)),
        shown(
            read(
                text,
                parse_dates=["d"],
                date_parser=lambda one: pd.to_datetime(one, format="%d/%m/%Y"),
            )
        ),
        shown(read(text, parse_dates=["d"], date_parser=parse, index_col="d")),
        shown(
            read(
                text, parse_dates=[0], date_parser=lambda one: pd.datetime.strptime(one, "%d/%m/%Y")
            )
        ),
        shown(
            read(
                "y,m,v\n2020,1,5\n2021,2,6\n",
                parse_dates={"at": ["y", "m"]},
                date_parser=lambda one: pd.to_datetime(one, format="%Y %m"),
            )
        ),
    ]


def case_dates_in_several_formats():
    return [
        shown(read("d,v\n2020-01-02,1\nJan 5 2020,2\n", parse_dates=["d"])),
        shown(read("d,v\nx,1\ny,2\n", parse_dates=["d"])),
        shown(read("d,v\n01/02/2000,1\n,2\n", parse_dates=["d"], dayfirst=True)),
        shown(read("d,v\n20200102,1\n20200304,2\n", parse_dates=["d"])),
    ]


def case_missing_values():
    text = "a,b\nNone,1\nNA,2\nnull,3\nNULL,4\nN/A,5\nnan,6\n<NA>,7\n,8\nx,9\n"
    return [
        read(text),
        read(text, na_values=["x"]),
        read(text, keep_default_na=False),
        read("a\nNone\n1\n"),
    ]


def case_numbers():
    frame = read("v\n" + "\n".join(NUMBERS) + "\n")
    return [frame.v.tolist(), [float(one).hex() for one in frame.v]]


def case_random_numbers():
    numbers = np.random.RandomState(3).uniform(-1000, 1000, 300)
    frame = read("v\n" + "\n".join(f"{one:.2f}" for one in numbers))
    return [float(one).hex() for one in frame.v]


def case_numbers_of_other_engines():
    text = "v;w\n0.125;1\n"
    return [
        read(text, sep=";", engine="python"),
        read(text, sep="[;]", engine="python"),
        read(text, sep=";", float_precision="high"),
        read(text, sep=";", float_precision="round_trip"),
        read(text + "x;y\n", sep=";", skipfooter=1, engine="python"),
        read("v  w\n0.3  1\n", sep=r"\s+"),
        read("v  w\n0.3  1\n", sep="  "),
    ]


def case_chunks():
    text = "a,b\n1,2\n3,4\n5,6\n"
    return [
        list(read(text, chunksize=2)),
        list(read(text, chunksize=2, usecols=["a"], squeeze=True)),
        read(text, iterator=True).get_chunk(1),
        [shown(one) for one in read(DATES, chunksize=1, parse_dates=["d"])],
    ]


def case_types():
    text = "a,b,c\n1,x,1.5\n2,y,2.5\n"
    return [
        read(text, dtype={"a": float}),
        read(text, usecols=["a", "c"]),
        read(text, index_col="b"),
        read(text, dtype=str),
    ]


def case_fixed_width():
    return pd.read_fwf(io.StringIO("aa bb\n 1  2\n"), [(0, 2), (3, 5)])


def case_json():
    return [
        pd.read_json('[{"a":1,"b":"x"},{"a":2,"b":"y"}]'),
        pd.read_json('{"a":[1,2]}', "columns"),
        pd.read_json(frame().to_json()),
        pd.read_json(frame().to_json(orient="records"), orient="records"),
        pd.read_json('{"a":1}\n{"a":2}\n', lines=True),
    ]


def frame():
    return pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})


def case_normalize():
    from pandas.io.json import json_normalize

    return [json_normalize([{"a": 1, "b": {"c": 2}}]), pd.io.json.json_normalize({"a": {"b": 1}})]


def case_html():
    return frame().to_html(index=False).count("<td>")
