"""Folders such as dt=2024-01-31, as Spark writes them: their files, and their columns."""

import gzip

import pyarrow as pa
import pyarrow.parquet
import pytest

from trainer import config as config_lib
from trainer.data_validation.infer import InferRequest, infer
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.inputs.split import Split
from trainer.inputs.tables import read_batches
from trainer.schema.types import Schema

pytestmark = pytest.mark.quick

SCHEMA = Schema.model_validate(
    {
        "columns": {
            "x": {"type": "float"},
            "dt": {"type": "string", "date": ["month", "weekday"]},
            "shop": {"type": "int", "hash_buckets": 9, "default": -1},
            "y": {"type": "int"},
        },
        "label": {"column": "y", "num_classes": 2},
    }
)
DAYS = ("2024-01-30", "2024-01-31", "2024-02-01")


@pytest.fixture
def spark(tmp_path):
    """Three days of two shops, with the files that Spark and Databricks write beside the data."""
    for number, day in enumerate(DAYS):
        for shop in ("7", "__HIVE_DEFAULT_PARTITION__"):
            folder = tmp_path / "clicks" / f"dt={day}" / f"shop={shop}"
            folder.mkdir(parents=True)
            table = pa.table({"x": [float(number), 0.5], "y": [0, 1]})
            pyarrow.parquet.write_table(table, folder / "part-00000-1a.c000.snappy.parquet")
            (folder / ".part-00000-1a.c000.snappy.parquet.crc").write_bytes(b"crc")
            (folder / "_committed_17").write_text("{}")
    (tmp_path / "clicks" / "_SUCCESS").touch()
    (tmp_path / "clicks" / "_temporary" / "dt=2024-02-02").mkdir(parents=True)
    (tmp_path / "clicks" / "_temporary" / "dt=2024-02-02" / "part-1.parquet").write_bytes(b"PAR1")
    return tmp_path / "clicks"


def _find(*patterns):
    return find_files([str(pattern) for pattern in patterns], "auto", "data.train")


def _read(files, split=None, names=("x", "dt", "shop", "y"), schema=SCHEMA):
    rows = []
    for file in files:
        file = file._replace(split=split)
        for batch in read_batches(file, schema, names, config_lib.DataConfig()):
            assert batch.columns.schema.names == list(names)
            rows += batch.columns.to_pylist()
    return rows


def test_a_folder_of_partitions_is_one_data_set(spark):
    files = _find(spark)
    assert len(files) == 6 and {file.format for file in files} == {"parquet"}
    rows = _read(files)
    assert len(rows) == 12
    assert rows[0] == {"x": 0.0, "dt": "2024-01-30", "shop": 7, "y": 0}
    # The folder of the rows without a value.
    assert [row["shop"] for row in rows] == [7, 7, None, None] * 3


@pytest.mark.parametrize(
    "pattern", ["dt=2024-01-*", "dt=2024-01-*/", "dt=2024-01-*/*/*", "dt=2024-01-3[01]/shop=*"]
)
def test_a_pattern_chooses_partitions(spark, pattern):
    days = {row["dt"] for row in _read(_find(f"{spark}/{pattern}"))}
    assert days == {"2024-01-30", "2024-01-31"}


def test_one_partition_has_its_columns_too(spark):
    rows = _read(_find(spark / "dt=2024-02-01" / "shop=7"))
    assert [(row["dt"], row["shop"]) for row in rows] == [("2024-02-01", 7)] * 2


def test_rows_are_divided_by_a_partition_column(spark):
    after = Split(("dt",), None, "2024-01-31", is_eval=True)
    assert {row["x"] for row in _read(_find(spark), after, ("x", "y"))} == {0.5, 1.0, 2.0}
    before = after._replace(is_eval=False)
    assert {row["x"] for row in _read(_find(spark), before, ("x", "y"))} == {0.0, 0.5}


@pytest.mark.parametrize("header", ["x,y\n", ""])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_csv_files_with_and_without_header(tmp_path, header, compress):
    for shop in (1, 2):
        folder = tmp_path / f"dt=2024-01-0{shop}" / f"shop={shop}"
        folder.mkdir(parents=True)
        suffix = ".csv.gz" if compress is gzip.compress else ".csv"
        (folder / f"part-0{suffix}").write_bytes(compress(f"{header}{shop}.5,1\n".encode()))
    rows = _read(_find(tmp_path))
    assert rows[1] == {"x": 2.5, "dt": "2024-01-02", "shop": 2, "y": 1}


def test_a_column_of_the_file_hides_the_folder(tmp_path):
    folder = tmp_path / "shop=3"
    folder.mkdir()
    table = pa.table({"x": [1.0], "dt": ["2024-01-01"], "shop": [4], "y": [0]})
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    (folder / "b.csv").write_text("x,dt,shop,y\n1,2024-01-01,5,0\n")
    assert [row["shop"] for row in _read(_find(tmp_path))] == [4, 5]


def test_escaped_values_and_a_value_of_another_type(tmp_path):
    schema = Schema.model_validate(
        {
            "columns": {"x": {"type": "float"}, "at": {"type": "string", "hash_buckets": 9}},
            "label": {"column": "x"},
        }
    )
    folder = tmp_path / "at=10%3A30 a%2Fb"
    folder.mkdir()
    pyarrow.parquet.write_table(pa.table({"x": [1.0]}), folder / "a.parquet")
    rows = _read(_find(tmp_path), names=("x", "at"), schema=schema)
    assert rows == [{"x": 1.0, "at": "10:30 a/b"}]
    folder = tmp_path / "wrong" / "dt=2024-01-01" / "shop=north"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.table({"x": [1.0], "y": [0]}), folder / "a.parquet")
    with pytest.raises(UserError, match="the folder's shop='north' is not int; fix the schema, or"):
        _read(_find(tmp_path / "wrong"))


def test_infer_finds_the_columns_that_differ_between_folders(spark):
    inferred, table, _ = infer(InferRequest(_find(spark), ["clicks"], "y"))
    assert "dt: {type: string, date: [year, month, weekday]}" in inferred.text
    assert list(table.columns) == ["x", "y", "dt", "shop"]
    assert table.columns["dt"].num_distinct == 3 and table.columns["shop"].num_missing == 6
    _, table, _ = infer(InferRequest(_find(spark / "dt=2024-01-30"), ["clicks"], "y"))
    # A constant says nothing, and folders above the data are no columns.
    assert list(table.columns) == ["x", "y", "shop"]
