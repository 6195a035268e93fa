"""trainer.api.tables: other libraries' tables as Arrow tables, and back."""

import polars as pl
import pyarrow as pa
import pytest

import trainer
from trainer.api.tables import convert_like, to_arrow, write_table

pytestmark = pytest.mark.newest


@pytest.mark.quick
def test_tables_keep_their_values():
    frame = pl.DataFrame({"a": ["x", None], "b": [[1.5], []], "c": [True, False]})
    frame = frame.with_columns(pl.col("a").cast(pl.Categorical).alias("d"))
    table = to_arrow(frame, "data")
    assert convert_like(frame, table)["a"].to_list() == ["x", None]
    assert to_arrow(table.to_pylist(), "data").to_pylist() == table.to_pylist()
    with pytest.raises(trainer.UserError, match="give each column values of one type"):
        to_arrow({"a": [1, "x"]}, "data")


@pytest.mark.quick
def test_a_column_that_no_file_can_contain_is_named(tmp_path):
    # As pandas.cut gives: categories that are no scalars.
    categories = pa.DictionaryArray.from_arrays([0, 0], [{"left": 0, "right": 1}])
    table = pa.table({"x": [1, 2], "bin": categories})
    with pytest.raises(trainer.UserError, match="data: column bin: values of type .* convert them"):
        write_table(table, tmp_path, "data")
