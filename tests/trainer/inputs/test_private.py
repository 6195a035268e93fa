"""Values of private columns, and with --redact all values, appear in no message."""

import json
from pathlib import Path

import pytest

from trainer.config import DataConfig
from trainer.console import Console
from trainer.data_validation.check import check
from trainer.errors import UserError, redact_data
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.metrics.slices import parse_by
from trainer.schema import Schema, dump_statistics
from trainer.schema.made_up import make_up_value
from trainer.schema.statistics import hide_private

pytestmark = pytest.mark.newest

PRIVATE = ("id", "age", "hours", "job", "level")


@pytest.fixture
def redact():
    redact_data(True)
    yield
    redact_data(False)


def _schema(make, private=PRIVATE):
    values = make.schema_values("bought")
    for name in private:
        values["columns"][name]["private"] = True
    return Schema.model_validate(values)


def _scan(path, schema, bad_rows=0):
    data = DataConfig(max_bad_rows=bad_rows)
    files = find_files([str(path)], "auto", "data")
    return scan_files(files, schema, data, Console(quiet=True))


def _bad_files(make, folder, rows):
    """Files of which each has one fault; the value secret7 or 987654321.5 stands in it."""
    lines = (folder / "a.csv", folder / "b.csv")
    for path in lines:
        make.csv(path, rows)
    texts = [path.read_text(encoding="utf-8").split("\n") for path in lines]
    texts[0][3] = "secret7,row"
    texts[1][3] = texts[1][3].replace(f",{rows[2]['age']},", ",secret7,")
    for path, text in zip(lines, texts):
        path.write_text("\n".join(text), encoding="utf-8")
    records = [{**row, "job": row["job"].encode()} for row in rows]
    records[2]["job"] = b"secret7\xff"
    wrong = [{**row, "hours": str(row["hours"])} for row in rows]
    wrong[2]["hours"] = "secret7"
    header = Path(make.csv(folder / "c.csv", rows))
    no_age = folder / "d.csv"
    text = header.read_text(encoding="utf-8").replace("age", "secret7x", 1)
    no_age.write_text(text, encoding="utf-8")
    return [
        *lines,
        make.tfrecord(folder / "a.tfrecord", records),
        make.parquet(folder / "a.parquet", wrong),
        no_age,
    ]


@pytest.fixture(scope="module")
def bad_files(make, tmp_path_factory):
    rows = make.rows(30, missing=False)
    for row in rows:
        row["job"] = "nurse"
    return _bad_files(make, tmp_path_factory.mktemp("bad"), rows)


def _messages(path, schema):
    for bad_rows in (0, 30):
        try:
            yield from _scan(path, schema, bad_rows).bad_rows
        except UserError as error:
            yield str(error)


@pytest.mark.parametrize("number", range(5))
def test_no_message_contains_a_value_of_a_private_column(make, bad_files, number):
    messages = list(_messages(bad_files[number], _schema(make)))
    assert messages and "secret7" not in " ".join(messages)
    assert any("row 4" in text or "row 3" in text or "column 'age'" in text for text in messages)
    # Without private columns, the value helps to find the fault.
    assert "secret7" in " ".join(_messages(bad_files[number], _schema(make, ())))


@pytest.mark.parametrize("number", range(5))
def test_redact_hides_the_values_of_all_columns(make, bad_files, number, redact):
    messages = list(_messages(bad_files[number], _schema(make, ())))
    assert messages and "secret7" not in " ".join(messages)


def test_a_message_names_the_type_of_a_hidden_value(make, tmp_path, redact):
    rows = make.rows(30, missing=False)
    rows[4]["bought"] = "maybe"
    path = make.csv(tmp_path / "a.csv", rows)
    with pytest.raises(UserError, match=r"column bought: <text> is none of the label's classes"):
        _scan(path, _schema(make, ()))


def test_statistics_of_a_private_column_contain_no_value(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", make.rows(100))
    schema = _schema(make)
    found = _scan(path, schema).statistics
    stored = dump_statistics(found)
    for name in ("age", "hours"):
        assert stored["columns"][name]["mean"] > 0
        assert [stored["columns"][name][part] for part in ("min", "max", "bins")] == [None] * 3
    for name in ("job", "level"):
        assert stored["categories"][name]["counts"] == {}
        assert stored["categories"][name]["count"] > 50
    assert "nurse" not in json.dumps(stored)
    # What an earlier version of the schema stored is hidden too.
    assert hide_private(_scan(path, _schema(make, ())).statistics, schema) == found
    assert make_up_value("hours", schema, found) == 0
    assert make_up_value("job", schema, found) == "example"


def test_no_report_contains_a_value_of_a_private_column(make, tmp_path):
    schema = _schema(make)
    trained = _scan(make.csv(tmp_path / "a.csv", make.rows(100)), schema).statistics
    rows = make.rows(100)
    for row in rows:
        row["level"], row["hours"] = 777, 888
    files = find_files([make.csv(tmp_path / "b.csv", rows)], "auto", "data")
    findings, _, _ = check(files, schema, DataConfig(), trained, False)
    assert "777" not in repr(findings) and "888" not in repr(findings)
    assert "outside the identities" in repr(findings)
    with pytest.raises(UserError, match="--by: column level is private"):
        parse_by(["level"], schema)


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("city", {}, "a vocabulary is a part of each export"),
        ("age", {"normalize": "minmax"}, "minmax is computed from the values of two rows"),
        ("bought", {}, "a label is what the model predicts"),
    ],
)
def test_columns_that_cannot_be_private(make, name, more, words):
    values = make.schema_values("bought")
    values["columns"][name].update(private=True, **more)
    with pytest.raises(ValueError, match=words):
        Schema.model_validate(values)
