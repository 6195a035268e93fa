"""Random sequences of changes of frames and of columns that were taken from them.

Each case returns all frames and columns at its end: who shares memory with whom shows in them.
"""

import random

import numpy as np
import pandas as pd

CASES, CHANGES = 150, 16


def make(rng):
    rows = 4
    return pd.DataFrame(
        {
            "a": [rng.choice([1.0, 2.0, np.nan]) for _ in range(rows)],
            "b": [float(rng.randrange(9)) for _ in range(rows)],
            "n": [rng.randrange(9) for _ in range(rows)],
            "t": [rng.choice(["x", "y", None]) for _ in range(rows)],
        }
    )


def choose_value(rng, values):
    if values.dtype == object:
        return rng.choice(["u", "v", "w"])
    return rng.randrange(10, 99) * (1 if values.dtype == np.int64 else 1.5)


def choose_place(rng, frame):
    name = rng.choice(list(frame.columns))
    return name, rng.randrange(len(frame)), choose_value(rng, frame[name])


def derive(rng, frame):
    kind = rng.randrange(7)
    if kind == 0 and frame.shape[1] > 2:
        return frame.drop(frame.columns[-1], axis=1)
    if kind == 1:
        return frame.rename(columns={"a": "c"})
    if kind == 2:
        return frame[list(frame.columns[:2])]
    if kind == 3:
        return frame.reset_index(drop=True)
    if kind == 4:
        return frame.fillna({frame.columns[0]: choose_value(rng, frame[frame.columns[0]])})
    if kind == 5:
        return pd.concat([frame, frame], ignore_index=True)
    return frame.copy()


def change(rng, frames, columns):
    frame = rng.choice(frames)
    name, row, value = choose_place(rng, frame)
    kind = rng.randrange(16)
    if kind == 0:
        frame[name][np.arange(len(frame)) % 2 == 0] = value
    elif kind == 1:
        frame[name].fillna(value, inplace=True)
    elif kind == 2:
        frame.loc[np.arange(len(frame)) % 2 == 1, name] = value
    elif kind == 3:
        if frame[name].notnull().any():
            frame[name].replace(frame[name].dropna().iloc[0], value, inplace=True)
    elif kind == 4:
        columns.append(frame[name])
    elif kind == 5 and columns:
        column = rng.choice(columns)
        column[rng.randrange(len(column))] = choose_value(rng, column)
    elif kind == 6 and columns:
        column = rng.choice(columns)
        column.fillna(choose_value(rng, column), inplace=True)
    elif kind in (7, 8):
        frames.append(derive(rng, frame))
    elif kind == 9:
        frame[name].values[row] = value
    elif kind == 10:
        frame.at[row, name] = value
    elif kind == 11:
        frame[name] = [value] * len(frame)
    elif kind == 13:
        frame.iloc[row, list(frame.columns).index(name)] = value
    elif kind == 14:
        np.asarray(frame[name])[row] = value
    elif kind == 15:
        frame[name].loc[row:] = value
    elif kind == 12 and columns:
        column = rng.choice(columns)
        column.iloc[0] = choose_value(rng, column)


def run(seed):
    rng = random.Random(seed)
    frames, columns = [make(rng)], []
    for _ in range(CHANGES):
        change(rng, frames, columns)
    return [*frames, *columns]


def make_case(seed):
    return lambda: run(seed)


for number in range(CASES):
    globals()[f"case_{number:03}"] = make_case(number)
