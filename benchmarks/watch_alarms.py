"""Measures how often trainer.watch raises a false alarm, and how often it sees a planted change.

    python benchmarks/watch_alarms.py --data=../shared/data --flights=DIR --write=docs/watch.md

Training data of each set are its training files. A period is a random sample of its evaluation
files, which is unchanged data; of the flights, whose evaluation files are other days with other
weather, a sample of the training files. --flights is a folder of `python -m trainer.demo.flights`.
The tables replace the text between the two comments in --write.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.console import Console
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.inputs.tables import read_batches
from trainer.schema import load_schema
from trainer.watching.findings import GREEN, RED, describe_training, find_quantile, judge_column
from trainer.watching.intake import make_plans
from trainer.watching.sketches import sketch

SIZES = (100, 300, 1_000, 3_000)
REPETITIONS = 300
REFERENCE_PERIODS = 7
# Periods that are compared with the same first ones.
SAME_REFERENCE = 30
BEGIN, END = "<!-- alarms: written by benchmarks/watch_alarms.py -->", "<!-- end of alarms -->"


class DataSet:
    """A data set: statistics of its training files, and rows of its evaluation files."""

    def __init__(self, name, schema, train, evaluation):
        self.name, self.schema = name, load_schema(schema)
        data, files = config_lib.DataConfig(), find_files([str(train)], "auto", "data")
        statistics = scan_files(files, self.schema, data, Console()).statistics
        self.plans = make_plans(self.schema, statistics, [], 1, None)
        self.trained = describe_training(self.plans)
        self.first, self.rows = (self._read(place) for place in (train, evaluation))

    def _read(self, place):
        names = list(self.plans.columns)
        batches = [
            _decode(batch.columns)
            for file in find_files([str(place)], "auto", "data")
            for batch in read_batches(file, self.schema, names, config_lib.DataConfig())
        ]
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]

    def refer(self, rng, size):
        """Column → what it is compared with: training, or the first seven periods."""
        places = rng.integers(0, self.first.num_rows, REFERENCE_PERIODS * size)
        first = self.first.take(pa.array(places))
        return {
            name: sketch(first.column(name), plan) if plan.kind == "hash" else self.trained[name]
            for name, plan in self.plans.columns.items()
            if plan.kind == "hash" or name in self.trained
        }

    def judge(self, rows, reference):
        """Column → status of a period."""
        plans = self.plans.columns
        normal = find_quantile(2 * len(plans))
        return {
            name: judge_column(
                name, sketch(rows.column(name), plans[name]), plans[name], then, normal
            )[0]
            for name, then in reference.items()
        }

    def sample(self, rng, size):
        return self.rows.take(pa.array(rng.choice(self.rows.num_rows, size, replace=False)))


def _decode(batch):
    columns = {
        name: array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        for name, array in zip(batch.schema.names, batch.columns)
    }
    return pa.RecordBatch.from_pydict(columns)


def replace(rows, name, array):
    place = rows.schema.names.index(name)
    columns = [array if number == place else one for number, one in enumerate(rows.columns)]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def scale(name, factor):
    return lambda rows, rng: replace(
        rows, name, pc.multiply(rows.column(name).cast("float64"), factor)
    )


def shift(name, stds):
    def change(rows, rng):
        numbers = rows.column(name).cast("float64")
        return replace(rows, name, pc.add(numbers, stds * pc.stddev(numbers).as_py()))

    return change


def rename(name, old, new):
    def change(rows, rng):
        words = rows.column(name)
        return replace(rows, name, pc.if_else(pc.equal(words, old).fill_null(False), new, words))

    return change


def empty(name, share):
    def change(rows, rng):
        keep = pa.array(rng.random(rows.num_rows) >= share)
        column = rows.column(name)
        return replace(rows, name, pc.if_else(keep, column, pa.scalar(None, column.type)))

    return change


CHANGES = {
    "census": {
        "age in months (times 12)": ("age", scale("age", 12.0)),
        "age half a standard deviation higher": ("age", shift("age", 0.5)),
        "education HS-grad is called hs (32% of the rows)": (
            "education", rename("education", "HS-grad", "hs")),
        "relationship Wife is called wife (5% of the rows)": (
            "relationship", rename("relationship", "Wife", "wife")),
        "occupation Sales is called sales (11%, hashed)": (
            "occupation", rename("occupation", "Sales", "sales")),
        "hours_per_week is empty": ("hours_per_week", empty("hours_per_week", 1.0)),
        "hours_per_week is empty in 5% of the rows": (
            "hours_per_week", empty("hours_per_week", 0.05)),
    },
    "natality": {
        "gestation_weeks in days (times 7)": ("gestation_weeks", scale("gestation_weeks", 7.0)),
        "mother_age half a standard deviation higher": ("mother_age", shift("mother_age", 0.5)),
        "is_male True is called true": ("is_male", rename("is_male", "True", "true")),
        "plurality is empty in 10% of the rows": ("plurality", empty("plurality", 0.10)),
    },
    "flights": {
        "dep_delay in seconds (times 60)": ("dep_delay", scale("dep_delay", 60.0)),
        "origin EWR is called KEWR": ("origin", rename("origin", "EWR", "KEWR")),
        "dep_delay is empty": ("dep_delay", empty("dep_delay", 1.0)),
    },
}  # fmt: skip


def measure_alarms(data):
    lines = []
    for size in SIZES:
        rng, reports, checks, total = np.random.default_rng(size), 0, 0, 0
        for repetition in range(REPETITIONS):
            if repetition % SAME_REFERENCE == 0:
                reference = data.refer(rng, size)
            found = list(data.judge(data.sample(rng, size), reference).values())
            wrong = sum(one != GREEN for one in found)
            reports, checks, total = reports + bool(wrong), checks + wrong, total + len(found)
        lines.append(
            f"| {data.name} | {size:,} | {total:,} | {checks} ({checks / total:.3%}) | "
            f"{reports} of {REPETITIONS} ({reports / REPETITIONS:.1%}) |"
        )
        print(lines[-1], flush=True)
    return lines


def measure_power(data):
    lines = []
    for change, (column, alter) in CHANGES[data.name].items():
        cells = []
        for size in SIZES:
            rng = np.random.default_rng(size)
            reference = data.refer(rng, size)
            found = [
                data.judge(alter(data.sample(rng, size), rng), {column: reference[column]})[column]
                for _ in range(REPETITIONS // 6)
            ]
            seen, red = (
                np.mean([one in kinds for one in found]) for kinds in (("yellow", RED), (RED,))
            )
            cells.append(f"{seen:.0%} ({red:.0%})")
        lines.append(f"| {data.name}: {change} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--flights", type=Path)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    schemas = Path("hparams/schemas")
    sets = [
        DataSet(
            name,
            schemas / f"{name}.yaml",
            args.data / name / "train.csv",
            args.data / name / "eval.csv",
        )
        for name in ("census", "natality")
    ]
    alarming = list(sets)
    if args.flights:
        schema, train = schemas / "flights.yaml", args.flights / "train*"
        sets.append(DataSet("flights", schema, train, train))
        # Rows of a day share its weather, so these are not unchanged.
        others = DataSet("flights, 73 other days", schema, train, args.flights / "eval*")
        alarming = [*sets, others]
    text = [
        "| data | rows of a period | checks of a column | false alarms | false reports |",
        "|---|---|---|---|---|",
        *(line for data in alarming for line in measure_alarms(data)),
        "",
        f"| planted change: seen on the first day (red), rows of a period: | "
        f"{' | '.join(f'{size:,}' for size in SIZES)} |",
        f"|---{'|---' * len(SIZES)}|",
        *(line for data in sets for line in measure_power(data)),
    ]
    if args.write:
        page = args.write.read_text(encoding="utf-8")
        body = "\n".join([BEGIN, *text, END])
        page = re.sub(
            f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda found: body, page, flags=re.S
        )
        args.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
