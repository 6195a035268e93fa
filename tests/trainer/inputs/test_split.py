"""trainer.inputs.split: one set of files, divided into training and evaluation rows."""

import json
import random

import pytest

from trainer.config import DataConfig, load_config
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.data_sets import find_eval_files, find_train_files
from trainer.inputs.file_identity import identify_file
from trainer.inputs.scan import scan_files
from trainer.inputs.tables import read_batches
from trainer.schema import Schema
from trainer.training.job import prepare

pytestmark = pytest.mark.newest

FORMATS = ("csv", "csv.gz", "jsonl", "parquet", "tfrecord", "tfrecord.gz")


def _write(make, path, rows):
    kind, _, compress = path.name.partition(".")[2].partition(".")
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)
    if kind == "parquet":
        return make.parquet(path, rows)
    return {"csv": make.csv, "tfrecord": make.tfrecord}[kind](path, rows, compress=bool(compress))


def _read(path, schema, names=("id",), bad_rows=None, **options):
    """Returns the training and the evaluation rows, each a list of tuples."""
    data = DataConfig(train=[str(path)], **options)
    parts = []
    for find in (find_train_files, find_eval_files):
        (file,) = find(data, schema)
        batches = list(read_batches(file, schema, list(names), data, bad_rows))
        parts.append([row for b in batches for row in zip(*(c.to_pylist() for c in b.columns))])
    return parts


def test_each_row_is_in_one_part_the_same_in_every_format(make, tmp_path):
    rows = make.rows(400)
    # Rows that are there twice are on the same side.
    rows += rows[:50]
    schema = make.schema(key=False)
    found = [
        _read(_write(make, tmp_path / f"a.{kind}", rows), schema, eval_share=0.25)
        for kind in FORMATS
    ]
    train, evaluation = found[0]
    assert all(each == found[0] for each in found)
    assert not set(train) & set(evaluation)
    assert sorted(train + evaluation) == sorted((row["id"],) for row in rows)
    assert 0.15 < len(evaluation) / len(rows) < 0.35


def _write_equal_rows(path, combinations, num_rows=600):
    """Writes rows of few different values, whose label depends on chance only."""
    features = [(f"c{number}", number % 3) for number in range(combinations)]
    generator = random.Random(1)
    lines = ["city,n,y,w,id\n"]
    for number in range(num_rows):
        city, n = generator.choice(features)
        label, weight = generator.random() < 0.5, generator.random()
        lines.append(f"{city},{n},{'yes' if label else 'no'},{weight},{number}\n")
    path.write_text("".join(lines))


def _build_equal_schema():
    """Returns the schema of these rows."""
    return Schema.model_validate(
        {
            "columns": {
                "city": {"type": "string", "hash_buckets": 10},
                "n": {"type": "int"},
                "y": {"type": "string"},
                "w": {"type": "float"},
                "id": {"type": "int", "use": []},
            },
            "label": {"column": "y", "vocabulary": ["no", "yes"]},
            "weight": "w",
        }
    )


def test_neither_the_label_nor_the_weight_decides(tmp_path):
    path, schema = tmp_path / "a.csv", _build_equal_schema()
    _write_equal_rows(path, 12)
    train, evaluation = _read(path, schema, ["city", "n", "y"], eval_share=0.3)
    assert train and evaluation
    features = [{row[:2] for row in part} for part in (train, evaluation)]
    # Rows whose features are equal are on one side, and have both labels there.
    assert not features[0] & features[1]
    assert {row[2] for row in train} == {row[2] for row in evaluation} == {"no", "yes"}
    by_features = {"eval_share": 0.3, "eval_by": ["city", "n"]}
    assert _read(path, schema, **by_features) == _read(path, schema, eval_share=0.3)


@pytest.mark.parametrize("max_bad_rows", [0, 3])
def test_rows_that_are_all_equal_are_not_divided(make, tmp_path, max_bad_rows):
    path = tmp_path / "a.csv"
    _write_equal_rows(path, 1)
    data = {"train": [str(path)], "eval_share": 0.2, "max_bad_rows": max_bad_rows}
    config = make.config(str(tmp_path / "job"), data=data)
    with pytest.raises(UserError, match=r"no row is .*--eval_by, or give .* in --eval_data"):
        make.prepare(config, _build_equal_schema())


@pytest.mark.parametrize(("by", "warns"), [((), 1), (("id",), 0)])
def test_few_different_evaluation_rows_are_told(make, tmp_path, capsys, by, warns):
    path = tmp_path / "a.csv"
    _write_equal_rows(path, 8)
    schema = _build_equal_schema().model_dump(exclude_unset=True)
    # Weights make rows different.
    del schema["weight"]
    schema["columns"]["w"]["use"] = []
    data = {"train": [str(path)], "eval_share": 0.4, "eval_by": by}
    config = make.config(str(tmp_path / "job"), data=data)
    prepare(config, Schema.model_validate(schema), Console())
    assert capsys.readouterr().err.count("different rows; name a column") == warns


def test_rows_of_a_group_stay_together_and_the_key_is_the_default(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", make.rows(300))
    parts = _read(path, make.schema(), ["city"], eval_share=0.4, eval_by=["city"])
    assert parts[0] and parts[1] and not set(parts[0]) & set(parts[1])
    by_key = _read(path, make.schema(), eval_share=0.3)
    assert by_key == _read(path, make.schema(key=False), eval_share=0.3, eval_by=["id"])
    assert by_key != _read(path, make.schema(key=False), eval_share=0.3)


@pytest.mark.parametrize("max_bad_rows", [0, 3])
@pytest.mark.parametrize(
    ("column", "first", "after"),
    [
        ({"type": "string", "date": ["year"]}, "2020-03-01 00:00", "2020-03-01"),
        ({"type": "string", "use": []}, "2020-03-01T07:30", "2020-03-01 07:30"),
        ({"type": "int"}, "7", "7"),
        ({"type": "int"}, "7", " 6.5 "),
        ({"type": "int"}, "1600000000000000001", "1600000000000000001"),
        ({"type": "float"}, "0.7", "0.7"),
    ],
)
def test_rows_from_a_time_on_are_evaluation_rows(tmp_path, max_bad_rows, column, first, after):
    earlier = {"2": "2020-02-28 23:59", "1": "1600000000000000000", "0": "0.6"}.get(first[0], "6")
    path = tmp_path / "a.csv"
    path.write_text(f"at,y\n{first},0\n{earlier},1\n,2\n{first.replace('01', '09')},3\n")
    if column.get("use") == []:
        # As text, these would come after the time.
        path.write_text(path.read_text() + "31.12.2019,5\nlater,6\n")
    columns = {"at": column, "y": {"type": "float"}}
    if column["type"] != "string":
        columns["at"] = {**column, "default": 0}
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    by = {} if "date" in column else {"eval_by": ["at"]}
    bad_rows = BadRows(max_bad_rows) if max_bad_rows else None
    parts = _read(path, schema, ["y"], bad_rows, eval_after=after, **by)
    # A row without a time is a training row.
    others = [(5.0,), (6.0,)] if column.get("use") == [] else []
    assert parts == [[(1.0,), (2.0,), *others], [(0.0,), (3.0,)]]


def test_bad_rows_are_counted_in_their_own_part_with_their_numbers(make, tmp_path):
    rows = make.rows(60, missing=False)
    for number in range(0, 60, 3):
        rows[number]["level"] = None
    path = make.csv(tmp_path / "a.csv", rows)
    data = DataConfig(train=[path], eval_share=0.3, max_bad_rows=20)
    schema = make.schema()
    scans = [
        scan_files(find(data, schema), schema, data, Console())
        for find in (find_train_files, find_eval_files)
    ]
    assert all(0 < scan.num_bad_rows < 20 for scan in scans)
    assert sum(scan.num_bad_rows for scan in scans) == 20
    assert sum(scan.statistics.num_rows for scan in scans) == 40
    strict = data.model_copy(update={"max_bad_rows": 0})
    shown = scans[1].bad_rows[0].partition(",")[0]
    with pytest.raises(UserError, match=f"{shown},"):
        scan_files(find_eval_files(strict, schema), schema, strict, Console())


def test_the_parts_of_a_file_have_different_identities(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", make.rows(20))
    data, schema = DataConfig(train=[path], eval_share=0.3), make.schema()
    more = DataConfig(train=[path], eval_share=0.4)
    files = [*find_train_files(data, schema), *find_eval_files(data, schema)]
    files += find_eval_files(more, schema)
    assert len({json.dumps(identify_file(file)) for file in files}) == 3


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"eval_share": 0.2, "eval": ["b"]}, "eval and eval_share are both given"),
        ({"eval_share": 0.2, "eval_after": "2020-01-01"}, "eval_share and eval_after are both"),
        ({"eval_by": ["id"]}, "no effect without eval_share"),
        ({"eval_share": 0.2, "eval_by": ["idd"]}, "no column 'idd'; did you mean"),
        ({"eval_after": "2020-01-01"}, "no column of the schema is a date"),
        ({"eval_after": "yesterday", "eval_by": ["id"]}, "write a time such as"),
        ({"eval_after": "yesterday", "eval_by": ["age"]}, "write a number"),
        ({"eval_after": "nan", "eval_by": ["age"]}, "write a number"),
        ({"eval_after": "1", "eval_by": ["age", "id"]}, "name only this one"),
        ({}, "--eval_share=0.2 to divide"),
    ],
)
def test_wrong_options_are_refused_in_one_line(make, tmp_path, options, wanted):
    path = make.csv(tmp_path / "a.csv", make.rows(20))
    with pytest.raises(ValueError, match=wanted):
        find_eval_files(DataConfig(train=[path], **options), make.schema())


def test_a_job_keeps_its_split(make, tmp_path):
    """Training, resume and evaluation read the same parts; another split is refused."""
    path = make.csv(tmp_path / "a.csv", make.rows(200))
    options = {
        "model": {"type": "linear"},
        "train": {"max_steps": 3, "batch_size": 20},
        "export": {"exporters": [], "verify": False},
    }

    def config(share, **more):
        data = {"train": [path], "eval_share": share, **more}
        return make.config(str(tmp_path / "job"), data=data, **options)

    job, _ = make.run(config(0.3), make.schema())
    assert job.config.data.eval_by == ("id",)
    first = [scan.statistics.num_rows for scan in (job.train_scan, job.eval_scan)]
    assert sum(first) == 200 and min(first) > 20
    # Without a key in the schema, the job's own division is kept.
    again = make.prepare(config(0.3), make.schema(key=False))
    assert [s.statistics.num_rows for s in (again.train_scan, again.eval_scan)] == first
    # As a job of an older version: its columns include the label.
    by = tuple(make.schema(key=False).input_columns)
    older = config(0.3, eval_by=by, train=[path])
    older = older.model_copy(update={"job_dir": str(tmp_path / "older")})
    job, _ = make.run(older, make.schema(key=False))
    first = [scan.statistics.num_rows for scan in (job.train_scan, job.eval_scan)]
    new = config(0.3).model_copy(update={"job_dir": str(tmp_path / "older")})
    again = make.prepare(new, make.schema(key=False))
    assert [s.statistics.num_rows for s in (again.train_scan, again.eval_scan)] == first
    assert again.config.data.eval_by == by
    stored = load_config(str(tmp_path / "older/config.yaml"), {}).data
    assert find_eval_files(stored, make.schema(key=False))[0].split.columns == by
    for changed in (config(0.4), config(0.3, eval_by=["city"])):
        with pytest.raises(UserError, match="trained on rows that would now be evaluation rows"):
            make.prepare(changed, make.schema())
