"""Plants faults in real flights, month by month, and measures when trainer.watch tells them.

    python benchmarks/watch_months.py --flights=DIR --work=DIR --write=docs/watch.md

--flights is a folder of `python -m trainer.demo.flights`. A model is trained on January to June.
Each day from July on is served by it and logged; the watch runs after each day. A fault begins on
the 11th of a month. Its delay is the number of runs until its subject is redder than before: 1 is
the run after the first day. What is not green without a fault is a false alarm. --work keeps the
model and the logs.
The table replaces the text between the two comments in --write.
"""

import argparse
import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import yaml

import trainer
from trainer.watching import command

TRAINED = range(1, 7)
FIRST_FAULTY = 11
# Runs after which a fault counts as not seen.
MOST_RUNS = 10
LABEL_DAYS, LATE_LABEL_DAYS = 1, 10
VERSION = "7"
SCHEDULE = (
    "sched_dep_minute", "sched_arr_minute", "dep_minute", "block_minutes", "distance", "weekday",
    "sched_speed", "carrier", "origin", "dest", "flight", "plane_year", "seats",
    "origin_departures",
)  # fmt: skip
BEGIN, END = "<!-- months: written by benchmarks/watch_months.py -->", "<!-- end of months -->"


def read_flights(folder):
    """All flights by day, with a key and a time in seconds since 1970."""
    tables = [pa.parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows = pa.concat_tables(tables).sort_by([("date", "ascending"), ("dep_minute", "ascending")])
    days = pc.strptime(rows.column("date"), "%Y-%m-%d", "s").cast(pa.int64())
    minutes = pc.fill_null(rows.column("dep_minute"), 0)
    times = pc.add(pc.cast(days, pa.float64()), pc.multiply(minutes.cast(pa.float64()), 60.0))
    keys = pa.array([f"f{number}" for number in range(rows.num_rows)])
    return rows.append_column("time", times).append_column("id", keys)


def make_schema():
    """The preset's schema with a key, and without the month, of which a half is unknown."""
    values = yaml.safe_load(Path("hparams/schemas/flights.yaml").read_text())
    values["columns"]["month"]["use"] = []
    values["columns"]["id"] = {"type": "string", "use": []}
    return {**values, "key": "id"}


def train(rows, work):
    """The export of a model of the first months, and that of one that is trained for 20 steps."""
    known = rows.filter(pc.is_in(rows.column("month"), pa.array(TRAINED)))
    held = pc.equal(pc.bit_wise_and(known.column("day_of_year"), 7), 0)
    data = (known.filter(pc.invert(held)), known.filter(held))
    options = {"hparams": "flights", "export.exporters": "final", "run.report": False}
    lengths = {"served": {"train.epochs": 1}, "other": {"train.max_steps": 20}}
    exports = {}
    for name, length in lengths.items():
        job = work / name
        if not (job / "metrics.json").exists():
            trainer.train({**options, **length, "job_dir": str(job)}, *data, schema=make_schema())
        exports[name] = sorted((job / "export" / "final").iterdir())[-1]
    return exports


def replace(rows, name, values):
    return rows.set_column(rows.schema.get_field_index(name), name, values)


def to_seconds(rows):
    return replace(rows, "dep_delay", pc.multiply(rows.column("dep_delay"), 60.0))


def rename(rows):
    words = rows.column("origin")
    return replace(rows, "origin", pc.if_else(pc.equal(words, "EWR"), "KEWR", words))


def empty(rows):
    return replace(rows, "seats", pa.nulls(rows.num_rows, pa.float32()))


def keep(rows):
    return rows


# Fault → what it does to the rows, and the subject of the finding that tells it.
FAULTS = {
    "dep_delay in seconds, not minutes": (to_seconds, "dep_delay"),
    "origin EWR is called KEWR": (rename, "origin"),
    "seats is empty": (empty, "seats"),
    "labels come ten days later": (keep, "labels"),
    "another model answers": (keep, "replay"),
}


class Service:
    """Days of flights, logged as they are served."""

    def __init__(self, rows, work, predict):
        self.rows, self.work, self._predict = rows, work, predict

    def log(self, date, folder, change=keep, model="served"):
        """Writes the requests of a day with the answers of a model."""
        rows = change(self.rows.filter(pc.equal(self.rows.column("date"), date)))
        scores = pa.array(self._predict(model, rows), pa.float64())
        logged = rows.drop_columns(["late", "month", "date"]).append_column("logistic", scores)
        version = pa.array([VERSION] * rows.num_rows)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{date}.parquet"
        pa.parquet.write_table(logged.append_column("model_version", version), place)

    def label(self, date, folder):
        """Writes the labels of a day."""
        rows = self.rows.filter(pc.equal(self.rows.column("date"), date))
        folder.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(rows.select(["id", "late"]), folder / f"{date}.parquet")


def watch(export, place, *flags):
    """Runs the watch on what is logged so far; returns watch.json."""
    argv = [f"--export={export}", f"--requests={place / 'requests'}", f"--state={place / 'state'}"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = command.main([*argv, f"--served_version={VERSION}", *flags])
    assert status in (0, 3, 4), status
    return json.loads((place / "state" / "watch.json").read_text())


def find_status(report, subject):
    """0 (green), 1 (yellow) or 2 (red): what the newest period of a subject is."""
    found = [one["status"] for one in report["current"] if one["name"] == subject]
    found += [report["replay"].get("status", "green")] if subject == "replay" else []
    return max(map(("green", "yellow", "red").index, found), default=0)


def measure_delay(service, export, days, fault, place):
    """The number of runs until a fault of the days from FIRST_FAULTY on changes the colour."""
    change, subject = FAULTS[fault]
    requests, labels = place / "requests", place / "labels"
    flags = ["--replay" if subject == "replay" else "--noreplay"]
    flags += [f"--labels={labels}", f"--label_delay_days={LABEL_DAYS}"] if "label" in fault else []
    for date in days[: FIRST_FAULTY - 1]:
        service.log(date, requests)
    arrived = 0
    for run, date in enumerate(days[FIRST_FAULTY - 2 : FIRST_FAULTY + MOST_RUNS - 1]):
        # Run 0 is that of the day before the fault; what is told then is no sign of it.
        if run:
            service.log(date, requests, change, "other" if subject == "replay" else "served")
        if subject == "labels":
            today = FIRST_FAULTY - 2 + run
            while arrived < len(days) and today >= arrived + (
                LABEL_DAYS if arrived < FIRST_FAULTY - 1 else LATE_LABEL_DAYS
            ):
                service.label(days[arrived], labels)
                arrived += 1
        status = find_status(watch(export, place, *flags), subject)
        if not run:
            before = status
        elif status > before:
            return f"{run} (yellow before)" if before else run
    return "red before" if before == 2 else "not told"


def measure_alarms(service, export, days, place):
    """(checks, alarms) of a month without a fault, of the schedule and of all other columns."""
    for date in days:
        service.log(date, place / "requests")
    found = {True: [0, 0], False: [0, 0]}
    for one in watch(export, place, "--noreplay")["findings"]:
        counts = found[one["name"] in SCHEDULE]
        counts[0] += 1
        counts[1] += one["status"] != "green"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--months", default="7,8,9,10,11,12")
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    rows = read_flights(args.flights)
    exports = train(rows, args.work)
    models = {name: trainer.load(path) for name, path in exports.items()}

    def predict(name, asked):
        answers = models[name].predict(asked.drop_columns(["late"]))
        return np.asarray(answers["logistic"], np.float64).reshape(-1)

    service, export = Service(rows, args.work, predict), exports["served"]
    lines = {fault: [] for fault in FAULTS}
    alarms = []
    months = [int(month) for month in args.months.split(",")]
    for month in months:
        inside = rows.filter(pc.equal(rows.column("month"), month)).column("date")
        days = sorted(pc.unique(inside).to_pylist())
        for number, fault in enumerate(FAULTS):
            place = args.work / f"{month}-{number}"
            shutil.rmtree(place, ignore_errors=True)
            delay = measure_delay(service, export, days, fault, place)
            lines[fault].append(str(delay))
            print(f"{month}: {fault}: {lines[fault][-1]}", flush=True)
        place = args.work / f"{month}-alarms"
        shutil.rmtree(place, ignore_errors=True)
        alarms.append(measure_alarms(service, export, days, place))
        print(f"{month}: alarms {alarms[-1]}", flush=True)
    write_table(months, lines, alarms, args.write)


def write_table(months, lines, alarms, target):
    text = [
        f"| runs until the fault is reported, month: | {' | '.join(map(str, months))} |",
        f"|---{'|---' * len(months)}|",
        *(f"| {fault} | {' | '.join(found)} |" for fault, found in lines.items()),
    ]
    for is_schedule, name in ((True, "the schedule and the aircraft"),
                              (False, "weather, delays, scores")):  # fmt: skip
        cells = [f"{found[is_schedule][1]} of {found[is_schedule][0]:,}" for found in alarms]
        text.append(f"| no fault: alarms of {name} | {' | '.join(cells)} |")
    print("\n".join(text))
    if target:
        page = target.read_text(encoding="utf-8")
        body = "\n".join([BEGIN, *text, END])
        page = re.sub(f"{BEGIN}.*?{END}", lambda found: body, page, flags=re.S)
        target.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
