"""Reading CSV, Parquet, TFRecord and JSON lines: the same rows; errors name the place."""

import gzip
import json
import os
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer.errors import UserError
from trainer.inputs.dataset import make_eval_input_fn
from trainer.inputs.files import find_files
from trainer.inputs.tables import read_batches
from trainer.schema import Schema
from trainer.training.job import build_source

pytestmark = pytest.mark.newest


def _read(make, paths, schema, **data):
    """Returns all rows in order, name → array, labels included."""
    job = make.prepare(make.config(rows=paths, data=data), schema)
    batches = make_eval_input_fn(build_source(job, training=True), schema, 64)()
    rows = [{**features, schema.label.column: y} for features, y in batches.as_numpy_iterator()]
    return {name: np.concatenate([batch[name] for batch in rows]) for name in rows[0]}


def _same(got, wanted):
    assert set(got) == set(wanted)
    for name, values in wanted.items():
        assert got[name].dtype == values.dtype, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)


@pytest.fixture(scope="module")
def rows(make):
    return make.rows(300, seed=5)


@pytest.fixture(scope="module")
def wanted(rows):
    """The rows that every format must give."""
    mean = np.mean([row["age"] for row in rows if row["age"] is not None])

    def values(name, default):
        return [default if row[name] is None else row[name] for row in rows]

    def texts(name):
        return np.array([str(value).encode() for value in values(name, "")], object)

    return {
        "id": texts("id"),
        "age": np.array(values("age", mean), np.float32),
        "hours": np.array(values("hours", 40), np.int64),
        "city": texts("city"),
        "job": texts("job"),
        "level": np.array(values("level", None), np.int64),
        "bought": texts("bought"),
    }


def _write_json(path, rows):
    """Writes half of the missing values as null and leaves out the other half."""
    lines = []
    for number, row in enumerate(rows):
        kept = {name: v for name, v in row.items() if v is not None or number % 2}
        lines.append(json.dumps(kept, ensure_ascii=number % 3 > 0))
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


FORMS = {
    "csv": lambda make, path, rows: make.csv(path / "a.csv", rows),
    "csv without header": lambda make, path, rows: make.csv(path / "a.csv", rows, header=False),
    "csv in gzip": lambda make, path, rows: make.csv(path / "a.csv.gz", rows, compress=True),
    "two csv files": lambda make, path, rows: [
        make.csv(path / "a.csv", rows[:100]),
        make.csv(path / "b.csv", rows[100:], header=False),
    ],
    "parquet": lambda make, path, rows: make.parquet(path / "a.parquet", rows),
    "parquet in row groups": lambda make, path, rows: make.parquet(
        path / "a.parquet", rows, row_group_size=37
    ),
    "parquet of other types": lambda make, path, rows: make.parquet(
        path / "a.parquet",
        rows,
        types={
            "age": pa.float32(),
            "hours": pa.int16(),
            "level": pa.int32(),
            "city": "dictionary",
            "job": pa.large_string(),
            "id": pa.binary(),
            "bought": "dictionary",
        },
    ),
    "tfrecord": lambda make, path, rows: make.tfrecord(path / "a.tfrecord", rows),
    "tfrecord in gzip": lambda make, path, rows: make.tfrecord(
        path / "a.tfrecord.gz", rows, compress=True
    ),
    "json lines": lambda make, path, rows: _write_json(path / "a.jsonl", rows),
    "json lines in gzip": lambda make, path, rows: _write_json(path / "a.json.gz", rows),
    "one of each": lambda make, path, rows: [
        make.csv(path / "a.csv", rows[:50]),
        make.parquet(path / "b.parquet", rows[50:120]),
        make.tfrecord(path / "c.tfrecord", rows[120:200]),
        _write_json(path / "d.jsonl", rows[200:]),
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_rows(make, tmp_path, rows, wanted, form):
    paths = FORMS[form](make, tmp_path, rows)
    _same(_read(make, paths, make.schema()), wanted)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_delimiters(make, tmp_path, rows, wanted, delimiter, header):
    path = make.csv(tmp_path / "a.csv", rows, header=header, delimiter=delimiter)
    _same(_read(make, path, make.schema(), delimiter=delimiter), wanted)


def test_statistics_do_not_depend_on_the_format(make, tmp_path, rows):
    found = []
    for form in ("csv", "parquet", "tfrecord"):
        config = make.config(rows=FORMS[form](make, tmp_path, rows))
        found.append(make.prepare(config, make.schema()).statistics)
    values = [row["hours"] for row in rows if row["hours"] is not None]
    for statistics in found:
        assert statistics.num_rows == 300
        hours = statistics.columns["hours"]
        assert (hours.count, hours.missing) == (len(values), 300 - len(values))
        assert hours.mean == pytest.approx(np.mean(values))
        assert hours.std == pytest.approx(np.std(values))
        assert (hours.min, hours.max) == (min(values), max(values))
        assert statistics.columns["age"].mean == pytest.approx(found[0].columns["age"].mean)


SMALL = {
    "columns": {
        "a": {"type": "float", "default": 1},
        "n": {"type": "int", "default": 2},
        "s": {"type": "string", "hash_buckets": 5},
        "y": {"type": "float"},
    },
    "label": {"column": "y"},
}


def _small(**columns):
    return Schema.model_validate({**SMALL, "columns": {**SMALL["columns"], **columns}})


def _read_text(make, tmp_path, content, schema=None, name="a.csv", **data):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return _read(make, path, schema or _small(), **data)


@pytest.mark.parametrize(
    "text",
    [
        "a,n,s,y\n4,5,x,6\n",
        "a,n,s,y\r\n4,5,x,6\r\n",
        "\ufeffa,n,s,y\n4,5,x,6\n",
        "\ufeff4,5,x,6\n",
        "\n\na,n,s,y\n4,5,x,6",
        "y,more,s,n,a\n6,what,x,5,4\n",
        ' a , n ,"s",y,"two\nlines"\n 4 , 5 ,x, 6 ,z\n',
        '4,5,"x",6\n',
        '"4","5",x,"6"\n',
    ],
)
def test_spellings_of_the_same_row(make, tmp_path, text):
    got = _read_text(make, tmp_path, text)
    assert {name: values.tolist() for name, values in got.items()} == {
        "a": [4.0],
        "n": [5],
        "s": [b"x"],
        "y": [6.0],
    }


def test_missing_values_become_defaults(make, tmp_path):
    schema = Schema.model_validate(
        {**_small(s={"type": "string", "hash_buckets": 5, "default": "none"}).model_dump(),
         "missing_values": ["", "?", "NA"]}
    )  # fmt: skip
    got = _read_text(make, tmp_path, 'a,n,s,y\n,?,NA,1\n?,NA,"",2\n7,8,x,3\n', schema)
    assert got["a"].tolist() == [1, 1, 7]
    assert got["n"].tolist() == [2, 2, 8]
    assert got["s"].tolist() == [b"none", b"none", b"x"]


def test_missing_values_become_the_mean(make, tmp_path):
    schema = _small(a={"type": "float", "default": "mean"})
    got = _read_text(make, tmp_path, "a,n,s,y\n1,1,x,1\n,1,x,1\n6,1,x,1\n", schema)
    assert got["a"].tolist() == [1, 3.5, 6]


def test_a_long_text_in_the_first_row(make, tmp_path):
    got = _read_text(make, tmp_path, f"4,5,{'x' * 200_000},6\n4,5,y,6\n")
    assert [len(text) for text in got["s"]] == [200_000, 1]


def test_the_header_option(make, tmp_path):
    schema = Schema.model_validate(
        {
            "columns": {"s": {"type": "string", "hash_buckets": 3}, "y": {"type": "int"}},
            "label": {"column": "y"},
        }
    )
    # A first row of data that looks like a header.
    got = _read_text(make, tmp_path, "s,1\nx,2\n", schema, header="no")
    assert got["s"].tolist() == [b"s", b"x"]
    got = _read_text(make, tmp_path, "s,y\nx,2\n", schema, header="yes")
    assert got["s"].tolist() == [b"x"]


def test_a_negative_weight_is_refused(make, tmp_path):
    schema = _small().model_copy(update={"weight": "a"})
    with pytest.raises(UserError, match="row 3, column a: -1.0 is below 0, which the weight of a"):
        _read_text(make, tmp_path, "a,n,s,y\n0,2,x,3\n-1,2,x,3\n", schema)


NO_DEFAULT = {"a": {"type": "float"}, "n": {"type": "int"}}
BAD_CSV = {
    "text for a float": ("a,n,s,y\n1,2,x,3\nzz,5,6,7\n", {}, ["row 3", "column a", "'zz'"]),
    "without header": ("1,2,x,3\nzz,5,6,7\n", {}, ["row 2", "column a", "'zz'", "a float"]),
    "half an int": ("a,n,s,y\n1,2.5,x,3\n", {}, ["row 2", "column n", "'2.5'", "an int"]),
    "too few fields": ("a,n,s,y\n1,2,x,3\n1,2\n", {}, ["row 3", "2 fields instead of 4"]),
    "too many fields": ("a,n,s,y\n1,2,x,3,4\n", {}, ["row 2", "5 fields instead of 4"]),
    "infinite": ("a,n,s,y\n1,2,x,3\ninf,2,x,3\n", {}, ["row 3", "column a", "inf", "finite"]),
    "not a number": ("a,n,s,y\ninf,2,x,3\n", {}, ["row 2", "column a", "inf", "finite"]),
    "no label": (
        "a,n,s,y\n1,2,x,3\n1,2,x,\n",
        {},
        ["row 3", "column y", "label is missing", "--data.max_bad_rows=N"],
    ),
    "no float": ("a,n,s,y\n1,2,x,3\n,2,x,3\n", NO_DEFAULT, ["row 3", "column a", "default"]),
    "no int": ("a,n,s,y\n1,,x,3\n", NO_DEFAULT, ["row 2", "column n", "default"]),
    "latin-1": (
        "a,n,s,y\n1,2,ü,3\n".encode("latin-1"),
        {},
        ["row 2", "column s", "UTF-8", "such as --data.encoding=cp1252"],
    ),
    "no such column": ("a,n,t,y\n1,2,x,3\n", {}, ["no column 's'", "it has a, n, t, y"]),
    "near column": ("a,n,s,yy\n1,2,x,3\n", {"yyy": {"type": "float"}}, ["did you mean yy?"]),
    "column twice": ("a,n,s,y,a\n1,2,x,3,4\n", {}, ["column 'a'", "twice"]),
    "other delimiter": ("a;n;s;y\n1;2;x;3\n", {}, ["1 fields", "--data.delimiter", "','"]),
    "header alone": ("a,n,s,y\n", {}, ["holds no rows"]),
    "open quote": ('a,n,s,y\n1,2,"x,3\n', {}, ["row 2"]),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv_names_file_row_column_and_value(make, tmp_path, case):
    content, columns, words = BAD_CSV[case]
    schema = _small(**columns)
    if case == "near column":
        schema = schema.model_copy(update={"label": schema.label.model_copy(
            update={"column": "yyy"})})  # fmt: skip
    with pytest.raises(UserError) as caught:
        _read_text(make, tmp_path, content, schema)
    message = str(caught.value)
    assert "\n" not in message
    for word in [str(tmp_path / "a.csv"), *words]:
        assert word in message


@pytest.mark.parametrize(
    ("label", "text", "words"),
    [
        ({"column": "y", "vocabulary": ["no", "yes"]}, "maybe", ["'maybe'", "'no', 'yes'"]),
        ({"column": "y", "num_classes": 3}, "3", ["3 is none", "0, 1, 2"]),
        ({"column": "y", "num_classes": 2}, "-1", ["-1 is none"]),
        ({"column": "y", "vocabulary": [10, 20]}, "15", ["15 is none", "10, 20"]),
    ],
)
def test_a_label_outside_its_classes(make, tmp_path, label, text, words):
    known = str(label.get("vocabulary", [0])[0])
    kind = "string" if known == "no" else "int"
    schema = Schema.model_validate(
        {"columns": {"x": {"type": "float"}, "y": {"type": kind}}, "label": label}
    )
    with pytest.raises(UserError) as caught:
        _read_text(make, tmp_path, f"x,y\n1,{known}\n2,{text}\n", schema)
    for word in ["row 3", "column y", *words]:
        assert word in str(caught.value)


def test_bad_row_of_a_later_batch(make, tmp_path):
    # In a later block of text.
    lines = ["a,n,s,y", *["1,2,some text that takes space in the block,3"] * 120_000]
    lines[100_000] = "1,2,x,bad"
    with pytest.raises(UserError, match="row 100001, column y: 'bad'"):
        _read_text(make, tmp_path, "\n".join(lines))


DAMAGE = {
    "half": lambda data: data[: len(data) // 2 - 3],
    "few bytes": lambda data: data[:15],
    "bytes in the middle": lambda data: data[:30] + b"\xff" * 16 + data[46:],
    "checksum": lambda data: data[:-8] + b"12345678",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("form", ["csv in gzip", "parquet", "tfrecord", "tfrecord in gzip"])
def test_damaged_files(make, tmp_path, rows, form, damage):
    path = FORMS[form](make, tmp_path, rows)
    with open(path, "rb") as stream:
        content = stream.read()
    with open(path, "wb") as stream:
        stream.write(DAMAGE[damage](content))
    with pytest.raises(UserError) as caught:
        _read(make, path, make.schema())
    message = str(caught.value)
    assert path in message and "\n" not in message
    assert "{{" not in message and "[Op:" not in message


@pytest.mark.parametrize("max_bad_rows", [0, 5])
def test_a_gzip_stream_cut_off_between_two_records(make, tmp_path, rows, max_bad_rows):
    whole = make.tfrecord(tmp_path / "whole.tfrecord", rows)
    with open(whole, "rb") as stream:
        content = stream.read()
    packer = zlib.compressobj(wbits=31)
    end = int.from_bytes(content[:8], "little") + 16
    packed = packer.compress(content[:end]) + packer.flush(zlib.Z_FULL_FLUSH)
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(packed)
    with pytest.raises(UserError, match=f"{path}: damaged after row 1: .*; write the file again"):
        _read(make, str(path), make.schema(), max_bad_rows=max_bad_rows)
    path.write_bytes(packed + packer.compress(content[end:]) + packer.flush())
    assert len(_read(make, str(path), make.schema(), max_bad_rows=max_bad_rows)["id"]) == len(rows)


def test_only_the_first_bytes_of_a_gzip_stream(make, tmp_path):
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(b"\x1f\x8b")
    with pytest.raises(UserError, match=f"{path}: damaged after row 0"):
        _read(make, str(path), make.schema())


@pytest.mark.parametrize("max_bad_rows", [0, 5])
def test_a_damaged_record_is_named_by_the_rows_before_it(make, tmp_path, rows, max_bad_rows):
    path = make.tfrecord(tmp_path / "a.tfrecord", rows)
    with open(path, "rb") as stream:
        content = bytearray(stream.read())
    second = int.from_bytes(content[:8], "little") + 16
    content[second + 20] ^= 0xFF
    with open(path, "wb") as stream:
        stream.write(content)
    with pytest.raises(UserError, match=f"{path}: damaged after row 1: corrupted record at"):
        _read(make, path, make.schema(), max_bad_rows=max_bad_rows)


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.gz"])
def test_a_file_that_is_deleted_before_it_is_read(make, tmp_path, rows, name):
    path = make.tfrecord(tmp_path / name, rows)
    (file,) = find_files([path], "auto", "data.train")
    os.remove(path)
    with pytest.raises(UserError, match=f"{path}: cannot be read: .*; restore the file"):
        list(read_batches(file, make.schema(), ["age"], make.config().data))


def test_a_gzip_file_of_several_members(make, tmp_path, rows, wanted):
    members = []
    for number, part in enumerate((rows[:100], rows[100:])):
        with open(make.tfrecord(tmp_path / f"{number}.tfrecord", part), "rb") as stream:
            members.append(gzip.compress(stream.read()))
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(b"".join(members))
    _same(_read(make, str(path), make.schema()), wanted)


def _parquet(make, tmp_path, **change):
    good = {"a": 1.0, "n": 2, "s": "x", "y": 3.0}
    return make.parquet(tmp_path / "a.parquet", [good, {**good, **change}])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": None, "n": None, "s": None}, None),
        ({"n": None, "y": None}, ["row 2", "column y", "label is missing"]),
        ({"a": float("inf")}, ["row 2", "column a", "inf"]),
    ],
)
def test_parquet_values(make, tmp_path, change, words):
    path = _parquet(make, tmp_path, **change)
    if words is None:
        got = _read(make, path, _small())
        assert got["a"].tolist() == [1, 1] and got["n"].tolist() == [2, 2]
        assert got["s"].tolist() == [b"x", b""]
        return
    with pytest.raises(UserError) as caught:
        _read(make, path, _small())
    for word in [path, *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("a", ["1", "zz"], ["row 2", "column a", "'zz'", "float"]),
        ("n", [1.0, 3.5], ["row 2", "column n", "3.5", "int"]),
        ("n", [[1], [2]], ["row 1", "column n", "[1]"]),
        ("s", [["a"], ["b"]], ["row 1", "column s", "['a']", "string"]),
        ("s", [b"a", b"\xff"], ["row 2", "column s"]),
    ],
)
def test_parquet_types_that_do_not_fit(make, tmp_path, column, values, words):
    good = {"a": 1.0, "n": 2, "s": "x", "y": 3.0}
    path = make.parquet(tmp_path / "a.parquet", [{**good, column: value} for value in values])
    with pytest.raises(UserError) as caught:
        _read(make, path, _small())
    for word in [path, *words, "fix"]:
        assert word in str(caught.value)


def test_parquet_types_that_fit_without_loss(make, tmp_path):
    rows = [{"a": "1.5", "n": 3.0, "s": 7, "y": True}, {"a": "2", "n": 4.0, "s": 8, "y": False}]
    got = _read(make, make.parquet(tmp_path / "a.parquet", rows), _small())
    assert got["a"].tolist() == [1.5, 2] and got["n"].tolist() == [3, 4]
    assert got["s"].tolist() == [b"7", b"8"] and got["y"].tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_whole_numbers_that_a_float_rounds(make, tmp_path, kind):
    row = {"y": 3.0, "a": 2**60 + 1, "n": 2**60 + 1, "s": "x"}
    write = {"csv": make.csv, "parquet": make.parquet, "jsonl": _write_json}[kind]
    got = _read(make, write(tmp_path / f"a.{kind}", [row]), _small())
    assert got["a"].tolist() == [2.0**60] and got["n"].tolist() == [2**60 + 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": 3}, ["column a", "int64", "float"]),
        ({"n": "x"}, ["column n", "string", "int64"]),
        ({"s": b"\xff"}, ["row 2", "column s", "UTF-8"]),
        ({"y": None}, ["row 2", "column y", "label is missing"]),
        ({"a": float("inf")}, ["row 2", "column a", "inf"]),
    ],
)
def test_tfrecord_values(make, tmp_path, change, words):
    good = {"a": 1.0, "n": 2, "s": "x", "y": 3.0}
    path = make.tfrecord(tmp_path / "a.tfrecord", [good, {**good, **change}])
    with pytest.raises(UserError) as caught:
        _read(make, path, _small())
    message = str(caught.value)
    for word in [path, *words]:
        assert word in message
    assert "{{" not in message and "\n" not in message


def test_tfrecord_int_without_default(make, tmp_path):
    rows = [{"a": 1.0, "n": 2, "s": "x", "y": 3.0}, {"a": 1.0, "s": "x", "y": 3.0}]
    path = make.tfrecord(tmp_path / "a.tfrecord", rows)
    with pytest.raises(UserError, match="row 2, column n: the value is missing"):
        _read(make, path, _small(**NO_DEFAULT))


def test_records_that_are_not_examples(make, tmp_path):
    from estimator_bridge import tf

    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"hello")
    with pytest.raises(UserError, match="a.tfrecord.*parse"):
        _read(make, path, _small())


def test_a_column_absent_from_all_records_is_an_error(make, tmp_path):
    rows = [{"a": 1.0, "n": 2, "z": "x", "y": 3.0}] * 5
    path = make.tfrecord(tmp_path / "a.tfrecord", rows)
    with pytest.raises(UserError, match="column 's'"):
        _read(make, path, _small())


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='0123456789.,;\n\r"xan- é\0', max_size=120).map(str.encode),
        st.binary(max_size=60).map(lambda tail: b"a,n,s,y\n1,2,x,3\n" + tail),
        st.binary(max_size=60).map(gzip.compress),
        st.binary(max_size=60).map(lambda tail: zlib.compress(tail)),
    ),
    max_bad_rows=st.sampled_from([0, 3]),
)
def test_random_bytes_are_read_or_rejected_in_one_line(make, tmp_path, content, max_bad_rows):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    try:
        got = _read(make, path, _small(), format="csv", max_bad_rows=max_bad_rows)
    except UserError as error:
        assert "\n" not in str(error) and "a.csv" in str(error)
    else:
        assert len({len(values) for values in got.values()}) == 1
        assert np.isfinite(got["a"]).all() and np.isfinite(got["y"]).all()


TEXT = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r"), max_size=12
)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
INTS = st.integers(-(2**62), 2**62)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    table=st.lists(
        st.fixed_dictionaries({"a": NUMBERS, "n": INTS, "s": TEXT, "y": NUMBERS}),
        min_size=1,
        max_size=20,
    ),
    delimiter=st.sampled_from([",", ";", "\t"]),
    compress=st.booleans(),
)
def test_values_written_as_csv_are_read_unchanged(make, tmp_path, table, delimiter, compress):
    table = [{name: row[name] for name in ("a", "n", "s", "y")} for row in table]
    path = make.csv(tmp_path / "a.csv", table, delimiter=delimiter, compress=compress)
    got = _read(make, path, _small(), delimiter=delimiter)
    for name in ("a", "n", "y"):
        assert got[name].tolist() == [row[name] for row in table]
    assert got["s"].tolist() == [row["s"].encode() for row in table]
