"""What programs of 2016 to 2021 do with tables before they train: joins, dates, columns by loc."""

import datetime
import io
import random

import numpy as np
import pandas as pd


def mixed():
    return pd.DataFrame(
        {
            "n": [3, 1, 2, 1],
            "f": [1.0, 2.0, 3.0, 4.0],
            "t": ["x", "y", "x", "z"],
            "k": [7, 8, 9, 10],
        }
    )


def case_standardized_columns_are_set_by_loc():
    frame = mixed()
    for name in ["n", "k"]:
        frame.loc[:, name] = (frame[name] - frame[name].mean()) / frame[name].std()
    return frame


def case_numbers_for_texts_are_set_by_loc():
    frame = mixed()
    frame.loc[:, "t"] = frame["t"].map({"x": 0, "y": 1, "z": 2})
    frame.loc[:, "f"] = frame["f"].astype(int)
    return frame


def case_columns_of_one_type_are_set_by_loc():
    frame = mixed()[["n", "k"]]
    frame.loc[:, "n"] = frame["n"] / 2
    texts = pd.DataFrame({"t": ["1", "2"], "u": ["a", "b"]})
    texts.loc[:, "t"] = texts["t"].astype(float)
    return [frame, texts]


def case_several_columns_are_set_by_loc():
    frame = mixed()
    frame.loc[:, ["n", "k"]] = frame[["n", "k"]] / 3
    frame.loc[:, ["f", "t"]] = frame[["n", "k"]].values
    return frame


def case_a_number_is_set_in_whole_columns():
    frame = mixed()
    frame.loc[:, "f"] = 0
    frame.loc[:, "t"] = np.nan
    frame.loc[:, "n"] = "a"
    return frame


def case_columns_are_set_by_iloc():
    frame = mixed()
    frame.iloc[:, 0] = frame.iloc[:, 0] / frame.iloc[:, 0].max()
    frame.iloc[:, 2] = np.arange(4)
    frame.iloc[0:4, 3] = [0.5, 1.5, 2.5, 3.5]
    for place in range(2):
        frame.iloc[:, place] = frame.iloc[:, place].fillna(frame.iloc[:, place].mean())
    return frame


def case_values_of_the_same_type_are_set_by_loc():
    frame = mixed()
    column = frame["f"]
    frame.loc[:, "f"] = np.array([9.0, 8.0, 7.0, 6.0])
    frame.loc[:, "n"] = [4, 5, 6, 7]
    return [frame, column]


def case_categories_and_times_are_set_by_loc():
    frame = mixed()
    frame.loc[:, "t"] = frame["t"].astype("category")
    frame.loc[:, "n"] = pd.to_datetime(frame["n"], unit="s")
    return frame


def case_labels_of_another_frame_are_set_by_loc():
    frame = mixed()
    frame.loc[:, "n"] = pd.Series([1.5, 2.5], index=[2, 0])
    return frame


def case_activities_of_segments():
    from scipy import stats

    activities = pd.DataFrame({"activity": list("wwjjjws")})["activity"]
    texts = activities.values.astype(str).reshape(-1, 1)
    return [
        stats.mode(activities[0:5])[0][0],
        stats.mode(activities[5:7])[1][0],
        list(stats.mode(activities.values)),
        list(stats.mode(texts)),
        list(stats.mode(np.array([["a", "b"], ["a", "c"]], dtype=object), axis=1)),
    ]


def case_columns_are_dropped_with_an_axis():
    return [mixed().drop(columns=["n"], axis=1), mixed().drop(index=[0], axis=1)]


HOURS = "no,year,month,day,hour,v\n1,2010,1,1,0,5\n2,2010,1,1,1,6\n3,2010,1,2,0,7\n"


def parse_hour(text):
    return datetime.datetime.strptime(text, "%Y %m %d %H")


def case_the_first_of_combined_columns_is_the_index():
    dates = [["year", "month", "day", "hour"]]
    return [
        pd.read_csv(io.StringIO(HOURS), parse_dates=dates, index_col=0, date_parser=parse_hour),
        pd.read_csv(io.StringIO(HOURS), parse_dates=dates, index_col=1, date_parser=parse_hour),
        pd.read_csv(io.StringIO(HOURS), parse_dates=dates, date_parser=parse_hour),
    ]


def case_the_first_column_is_parsed_and_is_the_index():
    text = "month,v\n1949-01,112\n1949-02,118\n"

    def parse(one):
        return datetime.datetime.strptime(one, "%Y-%m")

    return pd.read_csv(
        io.StringIO(text), parse_dates=[0], index_col=0, squeeze=True, date_parser=parse
    )


def case_the_format_of_dates_is_inferred():
    text = "d;t;v\n16/12/2006;17:24:00;1\n01/02/2007;00:00:00;2\n"
    days = pd.Series(["16/12/2006", "01/02/2007"])
    return [
        pd.read_csv(
            io.StringIO(text),
            sep=";",
            parse_dates={"dt": ["d", "t"]},
            infer_datetime_format=True,
            index_col="dt",
        ),
        pd.to_datetime(days, infer_datetime_format=True),
        pd.to_datetime(days),
    ]


def case_ratings_with_users_and_films():
    ratings = pd.DataFrame({"user": [2, 1, 2, 3, 1], "film": [5, 6, 6, 5, 5], "r": range(5)})
    users = pd.DataFrame({"user": [1, 2, 3], "sex": list("MFM")})
    films = pd.DataFrame({"film": [6, 5], "title": ["six", "five"]})
    return pd.merge(pd.merge(ratings, users), films)


def case_joins_of_indices():
    left = pd.DataFrame({"a": range(4), "k": [2, 1, 2, 1]}, index=list("yxyz"))
    right = pd.DataFrame({"b": range(3)}, index=list("xyy"))
    numbers = pd.DataFrame({"c": [10, 20]}, index=[1, 2])
    return [
        left.join(right),
        left.join(right, how="inner"),
        left.join(right, how="outer"),
        left.join(right, how="right"),
        left.join(numbers, on="k"),
        left.join(numbers, on="k", how="inner"),
        left.merge(numbers, left_on="k", right_index=True),
        numbers.merge(left, left_index=True, right_on="k", how="inner"),
    ]


def draw_keys(rng, kind, count):
    values = {
        "number": [3, 1, 2, 7],
        "float": [0.5, np.nan, 2.0, 1.0],
        "text": ["c", "a", "b", None],
    }[kind]
    return [rng.choice(values) for _ in range(count)]


def merge(seed):
    rng = random.Random(seed)
    kinds = [rng.choice(["number", "float", "text"]) for _ in range(rng.choice([1, 1, 2]))]
    frames = []
    for number in range(2):
        rows = rng.randrange(1, 7)
        keys = {f"k{place}": draw_keys(rng, kind, rows) for place, kind in enumerate(kinds)}
        frames.append(pd.DataFrame({**keys, f"v{number}": np.arange(rows)}))
    on = [f"k{place}" for place in range(len(kinds))]
    sort = rng.random() < 0.2
    return [
        frames[0].merge(frames[1], on=on, how=how, sort=sort)
        for how in ("inner", "left", "right", "outer")
    ]


def join(seed):
    rng = random.Random(seed)
    kind = rng.choice(["number", "text"])
    frames = []
    for number in range(2):
        rows = rng.randrange(1, 5)
        labels = draw_keys(rng, kind, rows)
        labels = ["d" if one is None else one for one in labels]
        labels = list(dict.fromkeys(labels)) if rng.random() < 0.4 else labels
        frames.append(pd.DataFrame({f"v{number}": range(len(labels))}, index=labels))
    joined = [frames[0].join(frames[1], how=how) for how in ("left", "inner", "right", "outer")]
    return [*joined, frames[0].v0 + frames[1].v1]


def make_case(run, seed):
    return lambda: run(seed)


for number in range(80):
    globals()[f"case_merge_{number:02}"] = make_case(merge, number)
    globals()[f"case_join_{number:02}"] = make_case(join, number)


def case_a_suffix_may_repeat_the_name_of_a_column():
    frame = pd.DataFrame({"k": [1, 2], "p": [3, 4]})
    joined = frame.merge(frame, on="k").merge(frame, on="k").merge(frame, on="k")
    taken = frame.assign(p_x=5).merge(frame, on="k")
    return [
        list(joined.columns),
        joined.values.tolist(),
        list(taken.columns),
        taken.values.tolist(),
    ]
