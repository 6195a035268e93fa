"""trainer.inputs.leakage: rows that two data sets share, and columns that give the label away."""

import json

import numpy as np
import pytest

from trainer.config import DataConfig
from trainer.console import Console
from trainer.inputs.data_sets import find_eval_files, find_train_files
from trainer.inputs.leakage import SAMPLE_ROWS, find_common_rows, load_hashes
from trainer.inputs.scan import scan_files
from trainer.schema import Schema

pytestmark = pytest.mark.newest


def _scan(tmp_path, columns, fields, label, name="a", **options):
    """Scans columns of values; a label is a dict of the schema."""
    path = tmp_path / f"{name}.csv"
    rows = zip(*columns.values())
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n")
    schema = Schema.model_validate({"columns": fields, "label": label, **options})
    data = DataConfig(train=[str(path)])
    return scan_files(find_train_files(data, schema), schema, data, Console())


def _common(first, second):
    stored = load_hashes(json.loads(json.dumps(second.hashes)))
    return find_common_rows(first.hashes, stored)


def test_evaluation_rows_that_are_training_rows(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5 * SAMPLE_ROWS)).round(6)
    numbers = {"x": {"type": "float"}, "y": {"type": "float"}}

    def scan(name, part):
        return _scan(tmp_path, {"x": x[part], "y": y[part]}, numbers, {"column": "y"}, name)

    train, size = scan("train", slice(4 * SAMPLE_ROWS)), SAMPLE_ROWS
    assert len(train.hashes.hashes) <= 2 * SAMPLE_ROWS
    assert _common(train, scan("new", slice(4 * size, None))) == []
    (leak,) = _common(train, scan("half", slice(4 * size - size, 4 * size + size)))
    assert "rows: 5" in leak or "rows: 4" in leak, leak
    (leak,) = _common(train, scan("all", slice(100)))
    assert leak.startswith("rows: 100 % of the evaluation rows")


def test_rows_of_few_different_values_are_no_leak(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 8, (3, 3000))
    fields = {name: {"type": "int", "identities": 8} for name in "abc"}
    label = {"column": "c", "num_classes": 8}
    parts = [
        _scan(tmp_path, dict(zip("abc", values[:, part])), fields, label, str(number))
        for number, part in enumerate((slice(2000), slice(2000, None)))
    ]
    assert _common(*parts) == []


def test_columns_that_give_the_label_away(tmp_path):
    rng = np.random.default_rng(0)
    pay = rng.lognormal(8, 1, 3000)
    words = np.where(pay > 3000, "high", "low")
    columns = {
        "log_pay": np.log(pay).round(4),
        "word": words,
        "noisy": (pay * rng.lognormal(0, 0.5, 3000)).round(2),
        "half_known": np.where(rng.random(3000) < 0.5, words, "unknown"),
        "only_late": np.where(pay > 3000, "1", ""),
        "id": [f"r{i}" for i in range(3000)],
        "city": rng.choice(["Ulm", "Rom"], 3000),
        "pay": pay.round(2),
        "rich": np.where(pay > 3000, "yes", "no"),
    }
    fields = {
        "log_pay": {"type": "float"},
        "word": {"type": "string", "hash_buckets": 10},
        "noisy": {"type": "float"},
        "half_known": {"type": "string", "hash_buckets": 10},
        "only_late": {"type": "float", "default": 0},
        "id": {"type": "string", "hash_buckets": 100},
        "city": {"type": "string", "hash_buckets": 10},
        "pay": {"type": "float", "use": []},
        "rich": {"type": "string", "use": []},
    }
    scan = _scan(tmp_path, columns, fields, {"column": "rich", "vocabulary": ["no", "yes"]})
    found = [leak.partition(":")[0].removeprefix("column ") for leak in scan.leaks]
    assert found == ["log_pay", "word", "only_late", "id"]
    scan = _scan(tmp_path, columns, fields, {"column": "pay"})
    found = [leak.partition(":")[0].removeprefix("column ") for leak in scan.leaks]
    assert found == ["log_pay", "id"]
    # As a key, the column is no feature.
    assert _scan(tmp_path, columns, fields, {"column": "pay"}, key="id").leaks[1:] == ()


def test_a_time_after_the_others(tmp_path):
    rng = np.random.default_rng(0)
    days = rng.integers(1, 20, 500)
    columns = {
        "opened": [f"2020-03-{day:02}" for day in days],
        "born": [f"{year}-01-01" for year in rng.integers(1950, 2000, 500)],
        "closed": [f"2020-03-{day + 1:02} 08:00" for day in days],
        "y": rng.normal(size=500).round(3),
    }
    date = {"type": "string", "date": ["month"]}
    fields = {"opened": date, "closed": date, "y": {"type": "float"}, "born": {**date, "use": []}}
    fields = {name: fields[name] for name in columns}
    (leak,) = _scan(tmp_path, columns, fields, {"column": "y"}).leaks
    assert leak.startswith("column closed: is later than opened in 100 % of the rows")


def _times(tmp_path, columns, used, name="a", **options):
    fields = {
        name: {"type": "string", "date": ["month"], **({} if name in used else {"use": []})}
        for name in columns
    }
    columns, fields = {**columns, "y": range(500)}, {**fields, "y": {"type": "float"}}
    return _scan(tmp_path, columns, fields, {"column": "y"}, name, **options).leaks


def test_a_time_after_one_that_is_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    start, lag = rng.integers(0, 300, 500), rng.integers(1, 200, 500)
    as_text = np.datetime_as_string
    columns = {
        "opened": as_text(np.datetime64("2019-06-01") + start),
        "born": as_text(np.datetime64("1950-01-01") + rng.integers(0, 9000, 500)),
        "closed": as_text(np.datetime64("2019-06-01") + start + lag),
        "paid": as_text(np.datetime64("2019-06-03") + start + lag),
    }
    (leak,) = _times(tmp_path, columns, {"closed"})
    assert leak.startswith("column closed: is later than opened in 100 % of the rows")
    leaks = _times(tmp_path, columns, {"closed", "paid", "born"})
    assert ["than born" in leak for leak in leaks] == [True, True], leaks
    leaks = _times(tmp_path, columns, {"closed", "paid"})
    assert [leak.split()[1] for leak in leaks] == ["closed:", "paid:"]
    assert "later than opened" in leaks[0] and "later than closed" in leaks[1]
    # A date of birth says nothing about the time of a row.
    assert _times(tmp_path, columns, {"opened"}) == ()
    assert _times(tmp_path, columns, {"born"}) == ()


def test_unused_times_may_be_damaged_or_absent(tmp_path):
    days = [f"2020-03-{n % 28 + 1:02}" for n in range(500)]
    fields = {"opened": {"type": "string", "date": ["month"], "use": []}}
    fields["closed"] = {"type": "string", "date": ["month"]}
    fields["y"] = {"type": "float"}
    damaged = {"opened": ["soon", ""] * 100 + days[200:], "closed": days, "y": range(500)}
    absent = {"closed": days, "y": range(500)}
    for columns in (damaged, absent):
        scan = _scan(tmp_path, columns, fields, {"column": "y"})
        assert scan.statistics.num_rows == 500 and not scan.num_bad_rows and scan.leaks == ()
    path = tmp_path / "a.csv"
    path.write_text("opened,closed,y\n" + "soon,2020-01-01,1\n" * 200 + "2020-01-01,soon,1\n")
    schema = Schema.model_validate({"columns": fields, "label": {"column": "y"}})
    data = DataConfig(train=[str(path)], max_bad_rows=1)
    scan = scan_files(find_train_files(data, schema), schema, data, Console())
    assert (scan.statistics.num_rows, scan.num_bad_rows) == (200, 1)


def test_a_divided_file_has_no_row_in_both_parts(make, tmp_path):
    rows = make.rows(300, missing=False)
    path = make.csv(tmp_path / "a.csv", rows + rows)
    data, schema = DataConfig(train=[path], eval_share=0.3), make.schema()
    scans = [
        scan_files(find(data, schema), schema, data, Console())
        for find in (find_train_files, find_eval_files)
    ]
    assert _common(*scans) == []
