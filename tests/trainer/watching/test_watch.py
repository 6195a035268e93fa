"""Logged requests are read once each, whatever happens, and what moved is said in words."""

import contextlib
import errno
import gzip
import json
import math
import os
import sqlite3
import time

import pytest

from trainer import storage
from trainer.watching import reading
from trainer.watching.batches import Wanted

pytestmark = pytest.mark.quick


def currents(document):
    return {(one["name"], one["slice"]): one for one in document["current"]}


def count_files(folder):
    try:
        path = f"file:{folder / 'watch.sqlite'}?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            return database.execute("SELECT COUNT(*) FROM files").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def sketches(folder):
    """(period, slice, name) → the counts of a sketch; sums differ by the order of the rows."""
    with contextlib.closing(sqlite3.connect(folder / "watch.sqlite")) as database:
        found = database.execute("SELECT * FROM sketches").fetchall()
    values = {tuple(key): json.loads(value) for *key, value in found}
    return {key: [*one[:4], *one[6:]] for key, one in values.items()}


def test_unchanged_requests_are_green(watch, log):
    for day in range(4):
        log.write(day, rows=1000)
    found = watch(0, "--by=city,age")
    assert found["status"] == "green" and found["rows"] == found["new_rows"] == 4000
    judged = {(one["name"], one["period"]) for one in found["findings"] if not one["slice"]}
    # The first two days are what scores are compared with.
    assert ("age", "2026-03-02") in judged and ("score of version 7", "2026-03-04") in judged
    assert ("score of version 7", "2026-03-03") not in judged
    assert {one["slice"] for one in found["findings"]} > {"city = Ulm", "age = age < 30"}
    assert watch(0, "--by=city,age")["new_rows"] == 0


def test_what_moved_is_said_from_what_to_what_and_since_when(watch, log):
    def break_it(row):
        row["age"] = None if row["age"] is None else row["age"] * 60
        row["city"] = "Bonn a.R." if row["city"] == "Bonn" else row["city"]
        row["hours"] = None

    for day in range(5):
        log.write(day, break_it if day >= 3 else None)
    found = currents(watch(3))
    assert set(found) == {("age", ""), ("city", ""), ("hours", "")}
    assert all(one["since"] == "2026-03-05" for one in found.values())
    assert "mean 48.89 to 3030" in found["age", ""]["reason"]
    assert "about 59.1 times as large" in found["age", ""]["reason"]
    assert "unit" in found["age", ""]["what_to_do"]
    assert "'Bonn' 2" in found["city", ""]["reason"] and "Bonn a.R." in found["city", ""]["reason"]
    assert found["hours", ""]["reason"].startswith("is missing in every row, in training in 9.8 %")


def test_wrong_types_are_counted(watch, log):
    def break_it(row):
        row["age"] = "old" if row["id"].endswith("7") else row["age"]

    log.write(0, break_it)
    (found,) = watch(3)["current"]
    assert found["name"] == "age" and "of the values have another type" in found["reason"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1e300, "of the numbers are outside of training: now from"),
        (math.inf, "3.40282e+38"),
        (math.nan, "is missing in "),
    ],
)
def test_numbers_that_no_model_takes_are_told(watch, log, value, words):
    def break_it(row):
        row["age"] = value if row["id"][-1] in "378" else row["age"]

    log.write(0, break_it)
    (found,) = watch(3)["current"]
    assert found["name"] == "age" and words in found["reason"]


def test_late_files_and_growing_files_count_once(watch, log, tmp_path):
    log.write(0)
    path = log.write(2)
    lines = path.read_text().splitlines(keepends=True)
    # A writer is at work: its last line is half there.
    path.write_text("".join(lines[:150]) + lines[150][:40])
    assert watch(0)["rows"] == 550
    log.write(1)
    path.write_text("".join(lines))
    found = watch(0)
    assert found["new_rows"] == 650 and found["rows"] == 1200
    watch(0, state="at once")
    assert sketches(tmp_path / "state") == sketches(tmp_path / "at once")


def test_a_log_that_is_renamed_or_named_differently_is_not_read_again(watch, log, monkeypatch):
    log.write(0)
    path = log.write(1)
    watch(0)
    path.rename(log.folder / "rotated.jsonl")
    assert watch(0)["new_rows"] == 0
    # A relative path, of a file that has grown.
    lines = [json.dumps(row) + "\n" for row in log.rows(2)]
    with (log.folder / "rotated.jsonl").open("a") as stream:
        stream.writelines(lines)
    monkeypatch.chdir(log.folder.parent)
    found = watch(0, "--requests=logs/*.jsonl")
    assert found["new_rows"] == 400 and found["rows"] == 1200
    (problem,) = watch(4, "--requests=log/*.jsonl")["problems"]
    assert problem.startswith("--requests=log/*.jsonl: no file matches, so nothing new was read")


def _grow(path, log, day):
    with path.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in log.rows(day, rows=100))


def _compress(path, to):
    to.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def test_rotated_logs_are_counted_once(watch, log, tmp_path):
    live, first, second = (log.folder / name for name in ("s.json", "s.json.1", "s.json.2.gz"))
    log.write(0).rename(live)
    watch(0)
    for day in (1, 2):
        # What was logged since the last run is in the file that is renamed.
        _grow(live, log, day)
        if first.exists():
            _compress(first, second)
        live.rename(first)
        log.write(day, rows=600).rename(live)
        assert watch(0)["new_rows"] == 700
    (log.folder / "copy.json").write_bytes(live.read_bytes())
    _compress(first, log.folder / "s.json.1.gz")
    # As logrotate does with copytruncate.
    _grow(live, log, 3)
    first.write_bytes(live.read_bytes())
    log.write(4).rename(live)
    found = watch(0)
    assert found["new_rows"] == 500 and found["rows"] == 2_300 and found["status"] == "green"
    second.rename(log.folder / "again.gz")
    assert watch(0)["new_rows"] == 0
    for name in ("copy.json", "again.gz"):
        (log.folder / name).rename(tmp_path / name)
    extra = f"--requests={tmp_path / 'again.gz'},{log.folder}"
    assert watch(0, extra, state="at once")["rows"] == 2_300
    assert sketches(tmp_path / "state") == sketches(tmp_path / "at once")


@pytest.mark.long
def test_a_killed_watch_loses_and_doubles_nothing(watch, log, export, tmp_path, start_module):
    for day in range(15):
        log.write(day, rows=300)
    flags = [f"--export={export}", f"--requests={log.folder}", f"--state={tmp_path / 'state'}"]
    process = start_module("trainer.watch", *flags, fresh=True)
    while not (seen := count_files(tmp_path / "state")):
        assert process.poll() is None, process.communicate()
    process.kill()
    process.wait()
    assert 1 <= seen < 15
    found = watch(0, "--reference_days=7")
    assert found["rows"] == 4_500 and 0 < found["new_rows"] < 4_500
    watch(0, "--reference_days=7", state="at once")
    assert sketches(tmp_path / "state") == sketches(tmp_path / "at once")


def stamp(year):
    """A change of a row to a time of another year."""
    return lambda row: row.update(time=f"{year}-01-01T00:00:00+00:00")


def count(folder, table):
    with contextlib.closing(sqlite3.connect(folder / "watch.sqlite")) as database:
        return database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608


def test_a_time_in_the_future_removes_nothing_and_is_told(watch, log, tmp_path):
    for day in range(3):
        log.write(day)
    watch(0)
    path = log.folder / "future.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in log.rows(3, stamp(2100), rows=2)))
    os.utime(path, (log.start, log.start))
    found = watch(4)
    assert found["rows"] == 1202 and found["newest_period"] == "2026-03-04"
    (problem,) = found["problems"]
    assert "future.jsonl: the time of 2 of 2 rows is in the future" in problem
    assert count(tmp_path / "state", "answers") == 1202
    # It has been told.
    assert watch(0)["problems"] == []


def test_many_times_in_the_future_hide_no_later_change(watch, log):
    # A time in microseconds is one, too.
    for day, change in enumerate((stamp(2100), lambda row: row.update(time=row["time"] * 10**6))):
        path = log.write(day, change)
        os.utime(path, (log.start, log.start))
    assert watch(4)["newest_period"] == "2026-03-02"
    log.write(2, lambda row: row.update(hours=None))
    found = watch(3)
    assert found["newest_period"] == "2026-03-04" and ("hours", "") in currents(found)


def test_the_clock_of_a_server_may_be_ahead(watch, log):
    soon = time.time() + 3600
    log.write(0, lambda row: row.update(time=soon))
    assert watch(0)["newest_period"] in (
        time.strftime("%Y-%m-%d", time.gmtime(now)) for now in (soon, time.time())
    )


def test_a_state_of_an_earlier_version_with_a_day_of_the_future(watch, log, tmp_path):
    for day in range(4):
        log.write(day)
    watch(0)
    with contextlib.closing(sqlite3.connect(tmp_path / "state/watch.sqlite")) as database:
        database.executescript(
            "DROP TABLE parts; DROP TABLE problems;"
            "UPDATE sketches SET period = 47482 WHERE period = 20517;"
            "UPDATE answers SET period = 47482 WHERE period = 20517;"
        )
    log.write(4, lambda row: row.update(hours=None))
    found = watch(3, f"--labels={log.folder.parent / 'none.csv'}")
    assert found["newest_period"] == "2026-03-06" and ("hours", "") in currents(found)
    assert "contains rows of the future, from 2100-01-01" in found["notes"][0]
    # 400 of the future, too.
    assert count(tmp_path / "state", "answers") == 2000
    assert len(found["labels"]) == 4


def test_lines_that_are_not_json_are_told_with_the_first_of_them(watch, log):
    path = log.write(0)
    lines = path.read_text().splitlines(keepends=True)
    broken = [*lines[:7], lines[7][:30] + "\n", "\n", '"text"\n', "[" * 10_000 + "\n", *lines[8:]]
    path.write_text("".join(broken))
    found = watch(4)
    assert found["rows"] == 399
    (problem,) = found["problems"]
    assert f"{path}: 2 lines are not JSON, the first is line 8; they are skipped" in problem
    assert watch(0)["problems"] == []


def test_a_problem_of_rows_is_told_by_the_run_that_ends(watch, log, tmp_path):
    path = log.write(0)
    with path.open("a") as stream:
        stream.write("{\n")
    (tmp_path / "state/watch.html").mkdir(parents=True)
    assert "cannot be written" in watch(2)
    (tmp_path / "state/watch.html").rmdir()
    found = watch(4)
    assert found["new_rows"] == 0 and "not JSON" in found["problems"][0]


def test_rows_of_a_table_that_are_too_short_are_told(watch, log, make):
    path = make.csv(log.folder / "a.csv", log.rows(0))
    with open(path, "a") as stream:
        # The last one is half there.
        stream.write("1,2\n0-r9,4")
    found = watch(4)
    assert found["rows"] == 400
    (problem,) = found["problems"]
    assert "a.csv: 1 rows have another number of values than the header" in problem


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_a_part_of_a_file_is_read_exactly(kind, log, make):
    rows = log.rows(0)
    path = log.write(0) if kind == "json" else getattr(make, kind)(log.folder / f"a.{kind}", rows)
    (one,) = reading.find_logs([str(path)], "requests")
    wanted = Wanted(make.schema("bought"), ["id"])
    progress = reading.ReadState(250)
    batches = list(reading.read_log(one.file, wanted, 100, progress))
    found = [key for batch in batches for key in batch.columns.column("id").to_pylist()]
    assert found == [row["id"] for row in rows[100:250]] and progress.records == 250


def test_a_column_that_no_row_has_is_named_and_nothing_is_read(watch, log, make, tmp_path):
    make.csv(log.folder / "a.csv", log.rows(0))
    make.parquet(log.folder / "b.parquet", log.rows(1))
    log.write(2)
    error = watch(2, "--time_column=tiem")
    assert "--time_column: no row has 'tiem'; did you mean time?; the rows have age, city" in error
    assert "--version_column: no row has 'vers'" in watch(2, "--version_column=vers")
    assert count_files(tmp_path / "state") == 0
    flags = ("--time_column=time", "--version_column=model_version")
    assert watch(0, *flags)["newest_period"] == "2026-03-04"
    # A later file may lack it.
    log.write(3, lambda row: row.pop("model_version"))
    assert watch(0, *flags)["new_rows"] == 400


def test_a_file_that_shrank_or_is_damaged_is_named_and_the_others_are_read(watch, log):
    log.write(0)
    path = log.write(1)
    watch(0)
    path.write_text(path.read_text()[:1000])
    (log.folder / "broken.parquet").write_bytes(b"PAR1 nothing else")
    (log.folder / "latin.csv").write_bytes("id,größe\n1,2\n".encode("latin-1"))
    log.write(2)
    found = watch(4)
    assert found["new_rows"] == 400 and len(found["problems"]) == 3
    assert "shorter" in found["problems"][0] and "broken.parquet" in found["problems"][1]
    assert "latin.csv: its header is not UTF-8; write the file in UTF-8" in found["problems"][2]
    assert watch(4, "--time_column=time")["new_rows"] == 0


def test_tables_and_bodies_of_requests_are_read_too(watch, log, make):
    rows = log.rows(0)
    make.csv(log.folder / "a.csv", rows)
    make.parquet(log.folder / "b.parquet", log.rows(1))
    bodies = [
        {
            "time": "2026-03-04T12:00:00Z",
            "instances": [{name: row[name] for name in ("age", "hours", "city", "job", "level")}],
            "predictions": [{"logistic": [row["logistic"]]}],
        }
        for row in log.rows(2)
    ]
    text = "".join(json.dumps(one) + "\n" for one in bodies)
    (log.folder / "c.jsonl").write_text(text)
    found = watch(0)
    assert found["rows"] == 1200 and found["newest_period"] == "2026-03-04"


def test_private_and_hashed_values_are_nowhere(described, watch, log, make, tmp_path):
    values = make.schema_values("bought")
    values["columns"]["city"] = {"type": "string", "hash_buckets": 9, "private": True}
    values["columns"]["age"]["private"] = True
    values["crosses"] = []
    secrets = ("Geheimdorf", "Spionin", "0-r00001", "777.25")

    def change(row):
        row["city"], row["job"], row["age"] = "Geheimdorf", "Spionin", 777.25

    for day in range(3):
        log.write(day, change)
    model = described(values, "private")
    found = watch(4, "--reference_days=1", model=model)
    written = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    assert not [one for one in secrets if one.encode() in written]
    assert {one["name"] for one in found["findings"]} >= {"city", "job", "age"}
    assert "private" in watch(2, "--by=city", model=model, state="other")
    assert "no vocabulary" in watch(2, "--by=job", model=model, state="other")


def test_a_hashed_column_that_moves_is_told_without_its_values(watch, log):
    def change(row):
        row["job"] = "Spionin"

    for day in range(4):
        log.write(day, change if day == 3 else None)
    (found,) = watch(3)["current"]
    assert found["name"] == "job" and "Spionin" not in json.dumps(found)


def test_a_state_that_cannot_be_a_folder_is_told_in_one_line(watch, log, tmp_path):
    log.write(0)
    (tmp_path / "file").touch()
    assert "--state" in watch(2, state="file") and "--state" in watch(2, state="file/state")


def test_a_log_that_is_gone_or_closed_keeps_no_other_from_being_read(watch, log, monkeypatch):
    paths = [str(log.write(0)), str(log.write(1)), str(log.folder / "rotated.jsonl")]
    read_head = storage.read_head

    def refuse(path, mode):
        if path == paths[1]:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return read_head(path, mode) if isinstance(mode, int) else open(path, mode)

    monkeypatch.setattr(reading, "list_paths", lambda pattern, option: paths)
    monkeypatch.setattr(storage, "read_head", refuse)
    monkeypatch.setattr(reading, "open", refuse, raising=False)
    found = watch(4)
    assert found["rows"] == 400 and "Permission denied" in found["problems"][0]


def test_a_part_of_a_compressed_log_is_told(watch, log):
    log.write(0)
    path = log.write(1)
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_name("part.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    found = watch(4)
    assert found["rows"] == 400 and "part.jsonl.gz: Compressed file ended" in found["problems"][0]


def test_another_model_or_period_needs_another_state(described, watch, log, make):
    log.write(0)
    watch(0)
    values = make.schema_values("bought")
    values["columns"]["city"]["vocabulary"] = ["Ulm"]
    assert "for a model that was trained on other data" in watch(2, model=described(values))
    assert "--state" in watch(2, "--period=week") and "day" in watch(2, "--period=week")
