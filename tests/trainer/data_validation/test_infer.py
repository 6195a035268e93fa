"""trainer.schema infer: the data fit the inferred schema, and a model trains with it."""

import decimal
import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml

from trainer import task as task_command
from trainer.config import commands
from trainer.inputs.hashing import hash_strings
from trainer.inputs.row_sample import SAMPLE_ROWS, RowSample
from trainer.inputs.streaming_statistics import (
    MAX_COUNTED,
    MIN_HASHES,
    DistinctCount,
    ValueCounts,
    build_bins,
    fill_bins,
)
from trainer.schema import Schema, load_schema
from trainer.schema.__main__ import main
from trainer.schema.columns import Column

pytestmark = pytest.mark.newest


def _infer(tmp_path, data, label, *more):
    output = tmp_path / "schema.yaml"
    status = main(
        ["infer", f"--data={data}", f"--label={label}", f"--output={output}", "--overwrite", *more]
    )
    assert status == 0
    return load_schema(str(output)), output.read_text(encoding="utf-8")


def _refused(capsys, *argv):
    assert commands.run(main, list(argv)) == 2
    out, err = capsys.readouterr()
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


def test_a_limit_of_the_file_is_a_flag(make, tmp_path, capsys):
    rows = make.rows(30, missing=False)
    rows[2]["job"] = "x" * (3 << 20)
    data = make.csv(tmp_path / "long.csv", rows)
    flags = ["infer", f"--data={data}", "--label=bought", f"--output={tmp_path / 's.yaml'}"]
    assert "longer than a block; write the file again, or raise --data.max_row_mib" in _refused(
        capsys, *flags
    )
    assert main([*flags, "--data.max_row_mib=8"]) == 0
    flags = ["check", f"--data={data}", f"--schema={tmp_path / 's.yaml'}"]
    assert main(flags) == 3
    assert main([*flags, "--data.max_row_mib=8"]) == 0


def test_shop_in_each_format_gives_the_same_schema(make, tmp_path):
    rows = make.rows(1200)
    paths = [
        make.csv(tmp_path / "a.csv", rows),
        make.csv(tmp_path / "b.csv", rows, delimiter=";", compress=True),
        make.parquet(tmp_path / "a.parquet", rows),
        make.tfrecord(tmp_path / "a.tfrecord", rows),
    ]
    schemas = []
    for path in paths:
        more = ["--delimiter=;"] if path.endswith("b.csv") else []
        schema, text = _infer(tmp_path, path, "bought", *more)
        schemas.append(schema)
        assert schema.label.vocabulary is not None and schema.task == "binary"
        assert schema.columns["id"].use == () and "unique in nearly every row" in text
        assert set(schema.columns["city"].vocabulary) == {"Ulm", "Bonn", "Köln", "Rom", "Prag"}
        assert set(schema.columns["job"].vocabulary) == {row["job"] for row in rows} - {None}
        assert schema.columns["age"].default == "mean" and schema.columns["age"].type == "float"
        # Other rows may have no value, and a missing int has no mean. An int of a tf.Example can be
        # read as nothing else.
        stored = path.endswith(".tfrecord")
        for name, mean in (("hours", 29), ("level", 2)):
            column = schema.columns[name]
            assert (column.type, column.default) == (("int", mean) if stored else ("float", "mean"))
        assert schema.columns["level"].buckets == (1, 2, 3, 4)
        # The ages would have ten bins.
        assert schema.columns["age"].buckets is None
    for path, schema in zip(paths[1:], schemas[1:]):
        assert sorted(schema.columns) == sorted(schemas[0].columns)
        for name, column in schema.columns.items():
            first = schemas[0].columns[name]
            is_stored = path.endswith(".tfrecord") and isinstance(rows[0][name], int)
            assert (column.type, column.vocabulary, column.use) == (
                "int" if is_stored else first.type,
                first.vocabulary,
                first.use,
            ), name
            assert (column.buckets or ()) == pytest.approx(first.buckets or (), rel=1e-3), name


def test_the_schema_of_tf_examples_reads_them(make, tmp_path):
    rows = [
        {
            "whole": float(n % 7),
            "count": n % 50 if n % 9 else None,
            "seen": float(n % 2),
            "n": n % 90,
        }
        for n in range(400)
    ]
    path = make.tfrecord(tmp_path / "a.tfrecord", rows)
    for label, task in (("seen", "regression"), ("n", "regression")):
        schema, _ = _infer(tmp_path, path, label)
        assert schema.task == task and schema.columns["whole"].type == "float"
        status = main(["check", f"--data={path}", f"--schema={tmp_path / 'schema.yaml'}"])
        assert status == 0


def test_tf_examples_with_bytes_or_features_of_two_types(make, tmp_path):
    rows = [{"x": n / 7, "image": b"\xff\xd8" + bytes([n]), "y": n % 2} for n in range(50)]
    paths = [make.tfrecord(tmp_path / "a.tfrecord", rows)]
    paths.append(make.tfrecord(tmp_path / "b.tfrecord", [*rows, {**rows[0], "x": "oops"}]))
    output = tmp_path / "schema.yaml"
    flags = ["infer", "--label=y", f"--output={output}", "--overwrite"]
    wanted = [(0, "column image: left out: binary is neither"), (2, "in one type\n")]
    for path, (status, words) in zip(paths, wanted):
        done = subprocess.run(
            [sys.executable, "-m", "trainer.schema", *flags, f"--data={path}"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == status and words in done.stdout + done.stderr
        # TensorFlow says nothing, neither when it is imported nor about the record.
        assert not re.search(r"^[IWE]\d{4}|InitializeLog", done.stderr, re.M), done.stderr
    assert load_schema(str(output)).used_features == ["x"]
    assert "b.tfrecord: rows from 1, column x: Data types don't match" in done.stderr


@pytest.mark.parametrize(
    ("label", "task"),
    [
        ("price", "regression"),
        ("bought", "binary"),
        ("flag", "binary"),
        ("grade", "multiclass"),
        ("size", "multiclass"),
        ("colour", "multiclass"),
    ],
)
def test_task_follows_the_label(make, tmp_path, label, task):
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", make.rows(300)), label)
    assert schema.task == task
    if label == "size":
        assert schema.label.vocabulary == (10, 20, 30)
    if label == "flag":
        assert schema.label.num_classes == 2 and "The positive class is 1" in text


def test_rarer_class_is_the_positive_one(make, tmp_path):
    rows = [{"x": n % 7, "y": "b" if n % 4 else "a"} for n in range(100)]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.label.vocabulary == ("b", "a")
    assert "The positive class is 'a'" in text


@pytest.mark.parametrize(
    ("words", "positive"),
    [
        (("yes", "no"), "yes"),
        (("True", "False"), "True"),
        (("positive", "negative"), "positive"),
        (("no", "maybe"), "maybe"),
        ((1, 0), 1),
        ((1, -1), 1),
    ],
)
def test_the_name_of_a_class_decides_before_its_frequency(make, tmp_path, words, positive, capsys):
    for frequent, rare in (words, words[::-1]):
        rows = [{"x": n % 7, "y": frequent if n % 4 else rare} for n in range(100)]
        schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
        assert f"The positive class is {positive!r}" in text
        assert f"The positive class is {positive!r}" in capsys.readouterr().out
        if schema.label.vocabulary:
            assert schema.label.vocabulary[1] == positive


def test_free_text_is_recognised_by_words_per_row_not_by_blocks_of_a_file(make, tmp_path):
    places = [f"place{n}" for n in range(60)]
    padding = "x" * 200
    rows = [
        {"place": places[n % 60], "padding": f"{padding}{n % 3}", "y": n % 2} for n in range(30_000)
    ]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "long.csv", rows), "y")
    assert (tmp_path / "long.csv").stat().st_size > 5 << 20
    assert schema.columns["place"].hash_buckets == 256
    notes = [{"note": f"one two three four five six {n}", "y": n % 2} for n in range(60)] * 2
    schema, text = _infer(tmp_path, make.csv(tmp_path / "notes.csv", notes), "y")
    assert schema.columns["note"].text is not None
    # The comment has the line that leaves the column out.
    proposed = text.partition("to leave it out, set ")[2].partition("\n")[0]
    assert Column.model_validate(yaml.safe_load(proposed)).use == ()


def test_a_regression_normalises_its_label(make, tmp_path):
    rows = [{"x": n % 7, "y": 2_000_000 + 1000 * (n % 50)} for n in range(200)]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    moments = schema.label.normalize
    assert moments.mean == pytest.approx(2_024_500, abs=100)
    assert moments.std == pytest.approx(14_431, abs=100)


def test_whole_numbers_with_many_rows_each_are_categories(make, tmp_path):
    rows = [{"hour": n % 24, "x": n % 7, "y": n % 2} for n in range(24 * 200)]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["hour"].vocabulary == tuple(range(24))
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "b.csv", rows[:2400]), "y")
    assert schema.columns["hour"].buckets and schema.columns["x"].buckets


def test_words_that_are_mostly_rare_are_left_out(make, tmp_path):
    rows = [{"word": f"w{n // 3}", "y": n % 2} for n in range(600)]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["word"].use == () and "fewer than 5 rows" in text
    rows += [{"word": "w0", "y": n % 2} for n in range(600)]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "b.csv", rows), "y")
    assert schema.columns["word"].hash_buckets == 1024


def test_rare_words_share_an_id_where_frequent_words_help(make, tmp_path):
    rows = [{"word": f"w{n // 3}", "y": n % 2} for n in range(600)]
    rows += [{"word": f"often{n % 3}", "y": n % 2} for n in range(300)]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    word = schema.columns["word"]
    assert word.vocabulary == ("often0", "often1", "often2") and word.oov_buckets == 1
    assert "203 values" in text and "these share one id" in text


@pytest.mark.parametrize("number", [3_000, 90_000])
def test_rare_words_are_treated_alike_in_files_of_any_size(make, tmp_path, number):
    rows = [{"word": f"w{n // 3}", "y": n % 2} for n in range(number)]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["word"].use == () and "fewer than 5 rows" in text


def test_excluded_and_hashed_columns(make, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {
            "customer_id": 1000 + n,
            "device": int(rng.integers(2**60, 2**61)) // 7,
            "constant": "same",
            "nothing": None,
            "comment": " ".join(f"word{w}" for w in rng.integers(0, 500, 8)) if n % 5 else "short",
            "street": f"street {rng.integers(0, 120)}",
            "zip": f"{rng.integers(0, 90):05d}",
            "amount": float(rng.exponential(3) ** 3),
            "code": int(rng.integers(0, 9)),
            "y": float(rng.normal()),
        }
        for n in range(600)
    ]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    for name in ("customer_id", "device", "constant", "nothing"):
        assert schema.columns[name].use == (), name
    assert schema.columns["comment"].text is not None
    assert schema.columns["street"].hash_buckets == 512
    # Leading zeros: a name, not a number.
    assert schema.columns["zip"].type == "string" and schema.columns["zip"].hash_buckets
    assert schema.columns["amount"].normalize.log is True
    assert schema.columns["code"].vocabulary == tuple(range(9))
    assert "# key: customer_id" in text


def test_words_that_mean_a_missing_value(make, tmp_path):
    rows = [
        {
            "a": "NA" if n % 5 == 0 else str(n % 60),
            "b": "?" if n % 3 == 0 else "x",
            "c": "None" if n % 2 else "some",
            "y": n % 2,
        }
        for n in range(120)
    ]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert set(schema.missing_values) == {"", "?", "NA"}
    assert schema.columns["a"].type == "float" and schema.columns["a"].default == "mean"
    assert set(schema.columns["c"].vocabulary) == {"None", "some"}


@pytest.mark.parametrize(
    ("rows", "missing", "wanted"),
    [(900, 19, False), (900, 20, True), (3000, 29, False), (3000, 30, True)],
)
def test_numbers_that_are_often_missing_get_an_indicator(make, tmp_path, rows, missing, wanted):
    rows = [{"a": "" if n < missing else n * 7 % 1000 / 10, "y": n % 2} for n in range(rows)]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["a"].missing_indicator == wanted


def test_a_word_that_is_declared_missing_is_in_no_vocabulary(make, tmp_path, capsys):
    rows = [
        {
            "a": "NA" if n % 5 == 0 else str(n),
            "c": ("NA", "red", "blue")[n % 3],
            "y": ("NA", "yes", "no", "no")[n % 4],
        }
        for n in range(120)
    ]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert "NA" in schema.missing_values
    assert set(schema.columns["c"].vocabulary) == {"red", "blue"}
    assert "2 values" in text and "40 missing" in text
    assert schema.label.vocabulary == ("no", "yes") and schema.task == "binary"
    assert "30 rows have no label" in capsys.readouterr().out


@pytest.mark.parametrize(
    "write, name, fields",
    [
        (lambda n: f"{n},{n % 10}5", "decimal comma", "type: float"),
        (lambda n: f"{n % 40 - 20},{n % 89 + 10}0", "decimal comma", "type: float"),
        (lambda n: f"{n + 1}.250,{n % 10}0", "decimal comma", "type: float"),
        (lambda n: f"{n + 1},250.{n % 10}", "separators of thousands", "type: float"),
        (lambda n: f"{n + 1} 250", "separators of thousands", "type: float"),
        (lambda n: f"${n + 1},250", "amounts of money", "type: float"),
        (lambda n: f"{n}.{n % 10}9 €", "amounts of money", "type: float"),
        (lambda n: f"{n % 100}.5%", "percentages", "type: float"),
        (lambda n: f"{n % 28 + 1:02d}.12.2020", "dates", "date: [year"),
        (lambda n: f"12/{n % 28 + 1}/2020 07:00", "dates", "date: [year"),
        (lambda n: f"{n % 28 + 1}-Jan-20", "dates", "date: [year"),
    ],
)
def test_numbers_and_dates_that_cannot_be_read_are_named(
    make, tmp_path, capsys, write, name, fields
):
    rows = [{"a": "NA" if n % 9 == 0 else write(n), "x": n % 7, "y": n % 2} for n in range(300)]
    path = make.csv(tmp_path / "a.csv", rows)
    schema, text = _infer(tmp_path, path, "y")
    assert schema.columns["a"].use == ()
    comment = next(line for line in text.splitlines() if "not supported" in line)
    assert name in comment and fields in comment
    assert comment.strip(" #") in capsys.readouterr().out
    _infer(tmp_path, path, "y", "--redact")
    out = capsys.readouterr().out
    assert "column a: left out, see the schema\n" in out and "label y: see the schema\n" in out
    assert name in _refused(capsys, "infer", f"--data={path}", "--label=a")


@pytest.mark.parametrize(
    "write", [lambda n: f"v{n % 60}", lambda n: f"{n % 60}-{n % 60 + 5} years"]
)
def test_other_words_with_digits_stay_categories(make, tmp_path, write):
    rows = [{"a": write(n), "y": n % 2} for n in range(600)]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["a"].hash_buckets


def test_columns_of_a_file_without_header(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", make.rows(60, missing=False), header=False)
    schema, _ = _infer(tmp_path, path, "column_9")
    assert list(schema.columns)[:2] == ["column_1", "column_2"]
    assert set(schema.label.vocabulary) == {"yes", "no"}
    names = "id,age,hours,city,job,level,w,price,bought,flag,grade,size,colour"
    schema, _ = _infer(tmp_path, path, "bought", f"--columns={names}")
    assert ",".join(schema.columns) == names


def test_parquet_types(tmp_path):
    table = pa.table(
        {
            "day": pa.array([n % 28 for n in range(100)], pa.date32()),
            "tags": [["a", "b"]] * 100,
            "blob": [[1.5, 2.5]] * 100,
            "sure": [n % 3 == 0 for n in range(100)],
            "small": pa.array([n % 5 for n in range(100)], pa.int8()),
            "word": pa.array([f"w{n % 4}" for n in range(100)]).dictionary_encode(),
            "won": [n % 2 == 0 for n in range(100)],
        }
    )
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    schema, text = _infer(tmp_path, tmp_path / "a.parquet", "won")
    assert schema.label.num_classes == 2
    assert schema.columns["day"].date == ("year", "month", "weekday") and "date32" in text
    assert schema.columns["tags"].separator == "|"
    assert schema.columns["blob"].use == ()
    assert schema.columns["sure"].type == "float"
    assert schema.columns["word"].vocabulary == ("w0", "w1", "w2", "w3")


def test_files_may_store_numbers_of_a_column_in_other_types(tmp_path):
    labels = [n % 2 for n in range(200)]
    sevens = [n % 7 for n in range(200)]
    kinds = {"whole": (pa.int64(), pa.float64()), "text": (pa.int32(), pa.string())}
    for number, name in enumerate(("a", "b")):
        columns = {key: pa.array(sevens).cast(kind[number]) for key, kind in kinds.items()}
        pa.parquet.write_table(pa.table({**columns, "y": labels}), tmp_path / f"{name}.parquet")
    schema, text = _infer(tmp_path, tmp_path / "*.parquet", "y")
    assert "# 7 values from 0 to 6" in text
    assert [schema.columns[name].type for name in kinds] == ["float", "float"]


def test_numbers_beyond_int64_are_text(make, tmp_path):
    keys = [2**64 - 1 - n % 5 for n in range(200)]
    table = {
        "unsigned": pa.array(keys, pa.uint64()),
        "decimal": pa.array([decimal.Decimal(key * 1000) for key in keys], pa.decimal128(30, 0)),
        "small": pa.array([n % 5 for n in range(200)], pa.uint64()),
        "y": [n % 2 for n in range(200)],
    }
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table(table), path)
    schema, _ = _infer(tmp_path, path, "y")
    assert set(schema.columns["unsigned"].vocabulary) == set(map(str, keys))
    assert set(schema.columns["decimal"].vocabulary) == {f"{key}000" for key in keys}
    assert schema.columns["small"].type == "float"
    config = make.config(tmp_path / "job", rows=str(path))
    assert make.prepare(config, schema).train_scan.statistics.num_rows == 200


def test_decimals_views_and_lists_of_one_length_are_columns(make, tmp_path):
    cents = [decimal.Decimal(n % 50) / 100 for n in range(200)]
    # Before Arrow 26, no such column with missing lists could be read.
    pairs = [["ab"[n % 2], "xyz"[n % 3]] for n in range(200)]
    table = {
        "price": pa.array(cents, pa.decimal128(20, 2)),
        "count": pa.array([decimal.Decimal(n % 5) for n in range(200)], pa.decimal128(9, 0)),
        "word": pa.array(["abc"[n % 3] for n in range(200)]).cast(pa.string_view()),
        "pair": pa.array(pairs, pa.list_(pa.string(), 2)),
        "y": [n % 2 for n in range(200)],
    }
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table(table), path)
    schema, text = _infer(tmp_path, path, "y")
    assert "left out" not in text and "# 50 values from 0 to 0.49, mean 0.245" in text
    assert [schema.columns[name].type for name in ("price", "count")] == ["float", "float"]
    assert set(schema.columns["word"].vocabulary) == set("abc")
    assert set(schema.columns["pair"].vocabulary) == set("abxyz")
    statistics = make.prepare(
        make.config(tmp_path / "job", rows=str(path)), schema
    ).train_scan.statistics
    assert statistics.columns["price"].max == pytest.approx(0.49)
    assert statistics.categories["pair"].counts["a"] == 100


def test_without_a_column_to_train_with_no_job_is_proposed(tmp_path, capsys):
    data, output = tmp_path / "a.csv", tmp_path / "schema.yaml"
    data.write_text("d,y\n" + "".join(f"01/{n % 28 + 1}/2024,{n % 2}\n" for n in range(600)))
    flags = ["infer", f"--data={data}", "--label=y"]
    assert main([*flags, f"--output={output}"]) == 0
    out = capsys.readouterr().out
    assert "column d: left out: dates such as" in out and "trainer.task" not in out
    assert "2 columns of 600 rows. No column is left to train with; correct the data" in out
    assert output.read_text().startswith("# No column is left to train with")
    assert Schema.model_validate(yaml.safe_load(output.read_text())).used_features == []


def test_the_proposed_command_fits_a_table_of_free_text(tmp_path, capsys):
    data, output = tmp_path / "a.csv", tmp_path / "schema.yaml"
    rows = (f"this is the text number {n} of these,{n % 2}\n" for n in range(300))
    data.write_text("t,y\n" + "".join(rows))
    assert main(["infer", f"--data={data}", "--label=y", f"--output={output}"]) == 0
    (command,) = re.findall(r"trainer.task (.*?)\n  --eval_share", capsys.readouterr().out, re.S)
    flags = shlex.split(command.replace("\\\n", "").replace("jobs/first", str(tmp_path / "job")))
    assert "--model.type=dnn" in flags
    assert task_command.main([*flags, "--max_steps=2", "--dry_run"]) == 0


def test_infinite_numbers_are_missing_values(make, tmp_path, capsys):
    rows = [{"x": n / 7, "z": n / 3, "y": n % 2} for n in range(300)]
    for number, word in ((3, "inf"), (70, "-inf"), (71, " Infinity"), (90, "-inf")):
        rows[number]["x"] = word
    # Its square is no float64.
    rows[5]["z"], rows[6]["z"], rows[7]["z"] = "1e39", "-1e999", "1e300"
    data, output = make.csv(tmp_path / "a.csv", rows), tmp_path / "schema.yaml"
    assert main(["infer", f"--data={data}", "--label=y", f"--output={output}"]) == 0
    assert "column z: has numbers beyond float32, which training" in capsys.readouterr().out
    text = output.read_text()
    assert "Text that means no value: ' Infinity' 1 times, -inf 2 times, inf 1 times" in text
    schema = yaml.safe_load(text)
    assert schema["missing_values"] == ["", " Infinity", "-inf", "inf"]
    assert schema["columns"]["x"]["type"] == "float"
    # As the line about z says.
    schema["missing_values"] += ["1e39", "-1e999"]
    output.write_text(yaml.safe_dump(schema))
    assert main(["check", f"--schema={output}", f"--data={data}"]) == 0
    config = make.config(tmp_path / "job", rows=data)
    assert make.prepare(config, Schema.model_validate(schema)).train_scan.statistics.num_rows == 300


def test_words_in_a_column_of_numbers_are_named(make, tmp_path, capsys):
    rows = [{"x": n / 7, "few": n % 90, "code": n, "y": n % 2} for n in range(600)]
    for number in range(30):
        rows[20 * number]["code"] = f"v{number}"
    rows[310]["x"] = rows[590]["x"] = "oops"
    rows[320]["x"], rows[330]["x"], rows[599]["few"] = "NA", "1e5", "x7"
    # The words are in the second file only.
    for name, part in (("a", rows[:300]), ("b", rows[300:])):
        make.csv(tmp_path / f"{name}.csv", part)
    data, output = tmp_path / "*.csv", tmp_path / "schema.yaml"
    flags = ["infer", f"--data={data}", f"--output={output}", "--overwrite"]
    assert main([*flags, "--label=y"]) == 0
    out = capsys.readouterr().out
    assert "column x: left out: a number in all rows but those with oops (2 rows), NA (1 r" in out
    assert "column few: text, because it is a number in all rows but those with x7 (1 row);" in out
    assert "column code: unique in nearly every row" in out
    # As the message says.
    values = yaml.safe_load(output.read_text())
    values["missing_values"] += ["oops", "NA"]
    values["columns"]["x"] = {"type": "float", "default": "mean"}
    output.write_text(yaml.safe_dump(values))
    assert main(["check", f"--schema={output}", f"--data={data}"]) == 0
    assert main([*flags, "--label=y", "--redact"]) == 0
    assert "oops" not in (out := capsys.readouterr().out) and "x7" not in out
    assert "--label=x: is a number in all rows but those with oops (2 rows)" in _refused(
        capsys, *flags, "--label=x"
    )


def test_numbers_that_may_mean_a_missing_value_are_doubted(make, tmp_path, capsys):
    rows = [
        {
            "low": -999 if n % 9 == 0 else n / 700,
            "high": 99 if n % 8 == 0 else n % 21,
            "near": 99 if n % 8 == 0 else n % 90,
            "y": n % 2,
        }
        for n in range(300)
    ]
    _, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    out = capsys.readouterr().out
    assert "column low: -999 is far from all other values; if it means that there is no" in out
    assert "column high: 99 is far from all other values" in out and "column near" not in out
    assert text.count("'-999' to missing_values") == 1


def test_classes_that_may_be_mistakes_are_named(make, tmp_path, capsys):
    words = ["no", "yes"] * 60 + ["Yes ", "NA", "NA", "maybe"]
    rows = [{"x": n / 7, "y": word} for n, word in enumerate(words)]
    path = make.csv(tmp_path / "a.csv", rows)
    _infer(tmp_path, path, "y")
    out = capsys.readouterr().out
    assert "'yes', 'Yes ' differ only in blanks or in upper and lower case" in out
    assert "If NA means no label, add it to missing_values" in out
    assert "5 classes: 'no' 48 %, 'yes' 48 %, NA 2 %, 'Yes ' 1 %, maybe 1 %." in out
    assert "Classes with fewer than 5 rows: NA 2, 'Yes ' 1, maybe 1." in out


def test_a_column_without_a_name_is_left_out(make, tmp_path, capsys):
    path = tmp_path / "a.csv"
    # The index of a pandas table, and delimiters at the end of each line.
    lines = [f"{n},{n / 7},{n % 2},," for n in range(30)]
    path.write_text("\n".join([",x,y,,", *lines]) + "\n")
    schema, text = _infer(tmp_path, path, "y")
    assert list(schema.columns) == ["x", "y"]
    line = "a column without a name: left out; to use it, name it in the header line"
    assert line in text and line in capsys.readouterr().out
    job = make.prepare(make.config(rows=[str(path)]), schema)
    assert job.train_scan.statistics.num_rows == 30


def test_bad_input(make, tmp_path, capsys):
    path = make.csv(tmp_path / "a.csv", make.rows(50))
    assert "did you mean bought?" in _refused(capsys, "infer", f"--data={path}", "--label=bougth")
    assert "--label: not given" in _refused(capsys, "infer", f"--data={path}")
    assert "no file matches" in _refused(capsys, "infer", "--data=none.csv", "--label=a")
    assert "no such flag; did you mean --label?" in _refused(capsys, "infer", "--lable=a")
    assert "no such command" in _refused(capsys, "guess")
    assert "did you mean bought?" in _refused(capsys, "infer", f"--data={path}", "--label=BOUGHT")
    assert "2 names" in _refused(capsys, "infer", f"--data={path}", "--label=a", "--columns=a,b")
    names = ",".join(f"c{n}" for n in range(len(make.rows(1)[0])))
    assert "has a header line, with the names id, age, " in _refused(
        capsys, "infer", f"--data={path}", "--label=c1", f"--columns={names}"
    )
    kept = tmp_path / "kept.yaml"
    kept.write_text("mine")
    assert "--overwrite" in _refused(
        capsys, "infer", f"--data={path}", "--label=bought", f"--output={kept}"
    )
    assert kept.read_text() == "mine"
    for data in (path, tmp_path / "*.csv"):
        assert "a.csv is one of --data; name another" in _refused(
            capsys, "infer", f"--data={data}", "--label=bought", f"--output={path}", "--overwrite"
        )
    (tmp_path / "torn.parquet").write_bytes(b"PAR1" + b"\1" * 50)
    assert "damaged" in _refused(
        capsys, "infer", f"--data={tmp_path / 'torn.parquet'}", "--label=a"
    )
    (tmp_path / "torn.csv").write_text("a,b\n1,2\n3\n")
    assert "cannot be read as CSV: row 3 has 1 fields instead of 2: '3'; correct it" in _refused(
        capsys, "infer", f"--data={tmp_path / 'torn.csv'}", "--label=b"
    )
    for before in ("sep=,\n", "# sales\n# 2020\n", "sales,\n,\n"):
        (tmp_path / "late.csv").write_text(f"{before}a,b\n1,2\n3,4\n")
        assert f"names b, is line {before.count(chr(10)) + 1}; remove the lines before" in _refused(
            capsys, "infer", f"--data={tmp_path / 'late.csv'}", "--label=b"
        )
    (tmp_path / "twice.csv").write_text("a,a,b\n1,2,3\n")
    assert "column name 'a' appears twice; rename one in the header line" in _refused(
        capsys, "infer", f"--data={tmp_path / 'twice.csv'}", "--label=b"
    )
    joined = tmp_path / "joined.csv"
    for mark in ("", "\ufeff"):
        text = Path(path).read_text()
        joined.write_text(text + mark + text)
        assert "joined.csv: row 52 is the header again; remove it" in _refused(
            capsys, "infer", f"--data={joined}", "--label=bought"
        )
    other = make.csv(tmp_path / "other.csv", [{"bought": 1, "z": 2}])
    assert "has other columns than" in _refused(
        capsys, "infer", f"--data={path},{other}", "--label=bought"
    )
    rows = [{"x": n, "y": "one"} for n in range(9)]
    same = make.csv(tmp_path / "same.csv", rows)
    assert "nothing to learn" in _refused(capsys, "infer", f"--data={same}", "--label=y")


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300])
def test_numbers_beyond_32_bits_are_refused(tmp_path, value, capsys):
    path = tmp_path / "bad.parquet"
    half = pa.array([1.0, 2.0, None] * 9, pa.float16())
    table = pa.table({"h": half, "a": [math.nan, None, value] * 9, "y": [0, 1, 1] * 9})
    pa.parquet.write_table(table, path)
    error = _refused(capsys, "infer", f"--data={path}", "--label=y", f"--output={tmp_path / 's'}")
    assert "column a: " in error and "is no finite 32-bit number" in error


def test_infer_of_csv_needs_no_tensorflow(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", make.rows(50))
    code = (
        "import sys; from trainer.schema.__main__ import main; "
        f"main(['infer', '--data={path}', '--label=bought']); "
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_blanks_after_the_commas_belong_to_texts(make, tmp_path):
    # As the file of UCI Adult has them.
    words = ["Private", "State-gov", "?"]
    lines = [
        f"{20 + row}, {words[row % 3]}, {row % 9 + 0.5 if row % 4 else '?'}, "
        f"2020-01-{1 + row % 28:02}, {'<=50K' if row % 2 else '>50K'}"
        for row in range(60)
    ]
    path = tmp_path / "a.csv"
    path.write_text("age, work, hours, day, income\n" + "\n".join(lines) + "\n")
    schema, _ = _infer(tmp_path, path, "income")
    assert schema.missing_values == ("", " ?")
    assert set(schema.columns["work"].vocabulary) == {" Private", " State-gov"}
    assert set(schema.label.vocabulary) == {" <=50K", " >50K"}
    assert schema.columns["hours"].type == "float" and schema.columns["day"].date
    statistics = make.prepare(make.config(rows=path), schema).train_scan.statistics
    assert statistics.columns["hours"].missing == 15
    assert statistics.categories["work"].missing == 20


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\u2028"])
def test_line_breaks_in_values_are_escaped(make, tmp_path, line_break):
    words = [f"two{line_break}lines", f"{line_break}one: {line_break}", "nurse"]
    rows = [{"job": words[n % 3], "bought": words[n % 2]} for n in range(60)]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "bought")
    assert set(schema.columns["job"].vocabulary) == set(words)
    assert set(schema.label.vocabulary) == set(words[:2])
    assert len(text.splitlines()) == text.count("\n")


def test_dates_in_text_are_recognised(make, tmp_path):
    rows = [
        {
            "day": f"2020-{n % 12 + 1:02}-{n % 28 + 1:02}",
            "at": f"2020-01-01 {n % 24:02}:00",
            "y": n % 2,
        }
        for n in range(60)
    ]
    rows[3]["day"] = None
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert schema.columns["day"].date == ("year", "month", "weekday")
    assert schema.columns["at"].date[-1] == "hour" and "dates such as 2020-" in text


def test_from_parquet_to_a_model(make, tmp_path, capsys):
    from trainer import task

    path = make.parquet(tmp_path / "a.parquet", make.rows(300))
    _infer(tmp_path, path, "colour")
    argv = [f"--train_data={path}", f"--eval_data={path}", f"--job_dir={tmp_path / 'job'}"]
    argv += [f"--data.schema_file={tmp_path / 'schema.yaml'}", "--train.max_steps=5"]
    assert task.main([*argv, "--export.exporters="]) == 0
    assert "log_loss" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["census", "natality"])
def test_from_a_csv_to_a_model_in_two_commands(shared_data, tmp_path, run_module, name):
    label = {"census": "column_15", "natality": "column_1"}[name]
    train = tmp_path / "train.csv"
    lines = (shared_data / name / "train.csv").read_text().splitlines(keepends=True)
    train.write_text("".join(lines[:2000]))
    done = run_module(
        "trainer.schema",
        "infer",
        f"--data={train}",
        f"--label={label}",
        f"--output={tmp_path / 's.yaml'}",
    )
    assert done.returncode == 0, done.stderr
    assert f"--data.schema_file={tmp_path / 's.yaml'}" in done.stdout
    done = run_module(
        "trainer.task",
        f"--data.schema_file={tmp_path / 's.yaml'}",
        f"--job_dir={tmp_path / 'job'}",
        f"--train_data={train}",
        f"--eval_data={train}",
        "--epochs=1",
        "--export.exporters=",
    )
    assert done.returncode == 0, done.stderr
    assert ("auc" if name == "census" else "rmse") in done.stdout


# The sketches underneath


def test_value_counts_are_exact_up_to_a_limit_and_keep_the_frequent_beyond():
    counts = ValueCounts()
    for start in range(0, 3 * MAX_COUNTED, 1000):
        words = [f"w{n}" for n in range(start, start + 1000)] + ["often"] * 100
        counts.add(pa.array(words).dictionary_encode())
        counts.add(pa.array(["often", None]))
    assert not counts.complete and counts.num_values <= MAX_COUNTED + 1
    assert counts.list_counts(1) == [("often", 60 * 101)]
    assert counts.missing == 60 and counts.count == 60 * 1101
    few = ValueCounts()
    few.add(pa.array([3, 1, 3, None]))
    assert few.complete and few.list_counts() == [(3, 2), (1, 1)]


@pytest.mark.parametrize("number", [10, MIN_HASHES - 1, 200_000])
def test_distinct_count(number):
    count = DistinctCount()
    for _ in range(2):
        for start in range(0, number, 50_000):
            count.add(pa.array([f"value {n}" for n in range(start, min(start + 50_000, number))]))
    assert abs(count.value - number) <= 4 * number / np.sqrt(MIN_HASHES) * (number >= MIN_HASHES)


@pytest.mark.parametrize("length", [977, 30_000, 300_000])
def test_counts_of_frequent_values_do_not_depend_on_chunks(length):
    # 20,000 values with ten rows each and 60,000 with one row each, mixed.
    values = np.concatenate([np.repeat(np.arange(20_000), 10), np.arange(60_000) + 10**6])
    np.random.default_rng(0).shuffle(values)
    count = DistinctCount()
    for start in range(0, len(values), length):
        chunk = pa.array(values[start : start + length].astype(str)).dictionary_encode()
        count.add(chunk.dictionary, np.bincount(chunk.indices.to_numpy()))
    found = count.value, count.count_frequent(5), count.count_rare_rows(5)
    assert found == pytest.approx((80_000, 20_000, 60_000), rel=0.05)
    whole = DistinctCount()
    whole.add(pa.array(values.astype(str)))
    assert found == (whole.value, whole.count_frequent(5), whole.count_rare_rows(5))


def test_hashes_differ_and_do_not_depend_on_slicing():
    words = [*(f"{n}" for n in range(5000)), "", "a", "aa", "aaa", "ab", "ba", "x" * 300]
    words += ["x" * 299 + "y", "y" + "x" * 299]
    hashes = hash_strings(pa.array(words, pa.binary()))
    assert len(set(hashes.tolist())) == len(words)
    assert (hash_strings(pa.array(words, pa.binary())[4000:]) == hashes[4000:]).all()


def test_row_sample_is_all_rows_while_few_and_uniform_when_many():
    sample = RowSample(["x"])
    sample.add(
        pa.RecordBatch.from_pydict({"x": pa.array([1.0, None, 3.0])}), np.arange(3, dtype=np.uint64)
    )
    assert sorted(sample.get("x")) == [1, 3]
    rows = 6 * SAMPLE_ROWS
    for start in range(0, rows, 10_000):
        numbers = np.arange(start, min(start + 10_000, rows), dtype=float)
        sample.add(pa.RecordBatch.from_pydict({"x": numbers}), numbers.astype(np.uint64) + 3)
    got = sample.get("x")
    assert SAMPLE_ROWS / 2 < len(got) <= 2 * SAMPLE_ROWS
    # The mean of a uniform sample: five standard errors.
    assert abs(got.mean() - rows / 2) < 5 * rows / np.sqrt(12 * len(got))


def test_bins_give_a_frequent_value_one_of_its_own():
    values = np.concatenate([np.zeros(900), np.linspace(1, 100, 100)])
    bins = build_bins(values)
    assert bins.edges[0] == 1 and bins.shares[0] == pytest.approx(0.9)
    assert fill_bins(bins, values) == pytest.approx(1000 * np.array(bins.shares))
    even = build_bins(np.arange(1000.0))
    assert len(even.shares) == 10 and even.shares == pytest.approx([0.1] * 10)
    assert build_bins(np.zeros(0)) is None


def _several_rows(number=300):
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(number):
        tags = [str(tag) for tag in rng.choice(["red", "dark blue", "green"], rng.integers(0, 4))]
        rows.append(
            {
                "tags": tags,
                "shops": [f"shop {n}" for n in rng.integers(0, 90, rng.integers(1, 5))],
                "weights": [round(float(w), 4) for w in rng.random(len(tags))],
                "ids": [int(n) for n in rng.integers(0, 30, rng.integers(1, 3))],
                "said": f"well, it is {rng.integers(9)} things, as all of us know, or {number}",
                "y": float(rng.normal()),
            }
        )
    return rows


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_multivalent_columns(make, tmp_path, kind):
    rows = _several_rows()
    if kind == "csv":
        joined = [
            {name: "|".join(map(str, v)) if isinstance(v, list) else v for name, v in row.items()}
            for row in rows
        ]
        path = make.csv(tmp_path / "a.csv", joined)
    else:
        path = str(tmp_path / "a.parquet")
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        pa.parquet.write_table(table, path)
    schema, text = _infer(tmp_path, path, "y")
    columns = schema.columns
    assert set(columns["tags"].vocabulary) == {"red", "dark blue", "green"}
    assert columns["tags"].separator == columns["shops"].separator == "|"
    assert columns["shops"].hash_buckets == 512
    assert columns["ids"].type == "int" and columns["ids"].vocabulary == tuple(range(30))
    assert columns["weights"].is_multivalent_numeric and columns["weights"].use == ()
    assert "use: [sequence]" in text
    assert columns["said"].separator is None
    # What is proposed is right: the data fit, and the weights can be named as such.
    assert main(["check", f"--schema={tmp_path / 'schema.yaml'}", f"--data={path}"]) == 0
    weighed = text.replace("separator: '|'}", "separator: '|', weights: weights}", 1)
    assert weighed != text
    (tmp_path / "weighed.yaml").write_text(weighed, encoding="utf-8")
    assert main(["check", f"--schema={tmp_path / 'weighed.yaml'}", f"--data={path}"]) == 0


def test_a_check_reports_invalid_weights_and_sequences(make, tmp_path, capsys):
    values = {
        "columns": {
            "tags": {"type": "string", "hash_buckets": 9, "separator": "|", "weights": "w"},
            "w": {"type": "float", "separator": "|"},
            "s": {"type": "int", "identities": 9, "separator": " ", "use": ["sequence"]},
            "n": {"type": "float", "separator": " ", "use": ["sequence"]},
            "y": {"type": "float"},
        },
        "label": {"column": "y"},
    }
    good = {"tags": "a|b", "w": "1|2", "s": "1 2", "n": "1 2", "y": 1.0}
    rows = [good, {**good, "w": "1"}, {**good, "n": "1 2 3"}, {**good, "s": "1 x"}]
    data = make.csv(tmp_path / "a.csv", rows)
    schema = make.yaml(tmp_path / "s.yaml", values)
    assert main(["check", f"--schema={schema}", f"--data={data}"]) == 3
    told = capsys.readouterr().out
    for words in (
        "row 3, column w: '1' is not one weight for each value of column tags",
        "row 4, column n: '1 2 3' is not as long as the sequence in column s",
        "row 5, column s: '1 x' is not whole numbers",
    ):
        assert words in told


def test_json_lines_give_the_schema_of_the_same_csv_file(tmp_path):
    rows = [
        {"day": f"2020-01-{n % 28 + 1:02}", "n": n % 90, "city": "AB"[n % 2], "y": n % 3 / 2}
        for n in range(400)
    ]
    lines = [json.dumps({k: v for k, v in row.items() if k != "n" or v % 7}) for row in rows]
    (tmp_path / "a.json").write_text("\n".join(lines))
    cells = [[v if k != "n" or v % 7 else "" for k, v in row.items()] for row in rows]
    text = "\n".join(",".join(map(str, row)) for row in [["day", "n", "city", "y"], *cells])
    (tmp_path / "a.csv").write_text(text + "\n")
    found = []
    for name in ("a.json", "a.csv"):
        output = tmp_path / f"{name}.yaml"
        assert main(["infer", f"--data={tmp_path / name}", "--label=y", f"--output={output}"]) == 0
        found.append(yaml.safe_load(output.read_text()))
    # Rows of JSON name their values, in any order.
    assert found[0] == found[1] and set(found[0]["columns"]) == set(rows[0])


@pytest.mark.parametrize(("num_rows", "has_buckets"), [(999, False), (1000, True)])
def test_a_number_has_buckets_if_each_has_200_rows(tmp_path, num_rows, has_buckets):
    rows = [f"{number % 5},{number % 7 * 0.5}" for number in range(num_rows)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    schema, _ = _infer(tmp_path, str(path), "y")
    assert schema.columns["x"].buckets == ((1, 2, 3, 4) if has_buckets else None)


@pytest.mark.parametrize(("least", "has_log"), [("0", True), ("-0.5", True), ("-5000", False)])
def test_the_logarithm_of_a_skewed_number_is_normalised(tmp_path, least, has_log):
    x = np.random.default_rng(0).lognormal(3, 2, 500).round(3)
    rows = [f"{value},{number % 7 * 0.5}" for number, value in enumerate(x)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,y", f"{least},0", *rows]) + "\n")
    schema, _ = _infer(tmp_path, str(path), "y")
    found = schema.columns["x"].normalize
    if not has_log:
        assert found == "standard"
        return
    logs = np.log1p(x)
    assert found.log and (found.mean, found.std) == pytest.approx(
        (logs.mean(), logs.std()), rel=0.01
    )


def test_every_feature_may_be_missing_in_other_files(make, tmp_path):
    rows = [
        {"hour": n % 24, "zip": 10_000 + n % 60, "x": n / 7, "word": f"w{n % 5}", "y": n % 3 * 0.5}
        for n in range(24 * 210)
    ]
    schema, _ = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert [schema.columns[name].type for name in ("hour", "zip")] == ["int", "int"]
    empty = [dict.fromkeys(rows[0], None) | {"y": 0.5}, rows[0]]
    path = make.csv(tmp_path / "b.csv", empty)
    config = make.config(rows=[str(tmp_path / "a.csv")], eval_rows=[path])
    assert make.prepare(config, schema).eval_scan.statistics.num_rows == 2


def test_a_rating_is_doubted_and_its_regression_trains(make, tmp_path, capsys):
    rows = [{"x": n / 7, "stars": "" if n % 100 == 1 else 1 + n % 5} for n in range(300)]
    path = make.csv(tmp_path / "a.csv", rows)
    schema, text = _infer(tmp_path, path, "stars")
    assert schema.label.vocabulary == (1, 2, 3, 4, 5)
    line = re.search(r"a regression fits better: (label: .*)\.$", text, re.MULTILINE).group(1)
    out = capsys.readouterr().out
    assert line in out and "3 rows have no label" in out and "--data.max_bad_rows=3 " in out
    changed = yaml.safe_load(re.sub(r"(?m)^label: .*$", line, text))
    config = make.config(rows=[path], data={"max_bad_rows": 3})
    job = make.prepare(config, Schema.model_validate(changed))
    assert job.schema.task == "regression" and job.train_scan.statistics.num_rows == 297


def test_whole_numbers_that_may_be_ids_or_keys_are_doubted(make, tmp_path, capsys):
    rows = [
        {
            "order": (n * 7919) % 10007 * 31 + 100_000,
            "store": 10_000 + n * 17 % 333,
            "shop_id": "" if n % 9 == 0 else n % 70,
            "price": n % 333,
            "y": n % 2,
        }
        for n in range(999)
    ]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    out = capsys.readouterr().out
    assert "column order: different in nearly every row, used as a quantity; if it is a key" in out
    line = "{type: int, default: -1, hash_buckets: 2048}"
    assert "column store: whole numbers of the same length, used as a quantity; if" in out
    assert line in out and "column price" not in out
    assert schema.columns["store"].type == "float"
    assert schema.columns["shop_id"].hash_buckets and schema.columns["shop_id"].default == -1
    changed = re.sub(r"(?m)^  store: .*$", f"  store: {line}", text)
    assert Schema.model_validate(yaml.safe_load(changed)).columns["store"].hash_buckets == 2048


def test_derived_features_do_not_take_the_names_of_columns(make, tmp_path):
    rows = [
        {
            "x": n / 3 if n % 3 else "",
            "x_missing": "no" if n % 3 else "yes",
            "born": f"19{n % 90 + 10}-01-02",
            "born_year": f"19{n % 90 + 10}",
            "y": n % 2,
        }
        for n in range(300)
    ]
    rows = [
        {**row, **{f"seen_{part}": "1" for part in ("year", "month", "weekday")}} for row in rows
    ]
    rows = [{**row, "seen": row["born"]} for row in rows]
    schema, text = _infer(tmp_path, make.csv(tmp_path / "a.csv", rows), "y")
    assert not schema.columns["x"].missing_indicator
    assert schema.columns["born"].date == ("month", "weekday")
    assert not schema.columns["seen"].date and not schema.columns["seen"].use
    # The comments say what the lines below them do.
    assert "; without missing_indicator, because x_missing is a column" in text
    assert "their parts are features; without born_year: column of these files" in text
    names = "seen_year, seen_month, seen_weekday"
    assert f"# left out: its parts are columns of these files: {names}" in text
