"""Columns that were added to a Parquet data set later: missing in older files, if that is said."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from trainer.config import DataConfig
from trainer.console import Console
from trainer.data_validation import check, infer
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.inputs.tables import read_batches
from trainer.passes.local import run_here
from trainer.prediction.description import load_data_config
from trainer.schema import Schema

pytestmark = [pytest.mark.quick, pytest.mark.newest]

COLUMNS = {
    "x": {"type": "float", "default": 0},
    "device": {"type": "string", "vocabulary": ["phone", "desk"]},
    "size": {"type": "int", "default": -1, "hash_buckets": 10},
    "y": {"type": "int"},
}
LABEL = {"column": "y", "num_classes": 2}
SCHEMA = Schema.model_validate({"columns": COLUMNS, "label": LABEL})
QUIET = Console(quiet=True)


@pytest.fixture
def files(tmp_path):
    """Three files; the first has no device and no size."""
    old = {"x": [1.0, 2.0], "y": [0, 1]}
    new = {"x": [3.0, None], "y": [1, 0], "device": ["phone", "desk"], "size": [7, 8]}
    for name, columns in {"a": old, "b": new, "c": new}.items():
        pa.parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return find_files([str(tmp_path)], "parquet", "data")


def _added(*names):
    return DataConfig(added_columns=names)


def test_older_files_have_missing_values(files):
    with pytest.raises(UserError, match="no column 'device'.*or name it in --data.added_columns"):
        scan_files(files, SCHEMA, DataConfig(), QUIET)
    data = _added("device", "size")
    found = scan_files(files, SCHEMA, data, QUIET)
    assert found.absent == [] and found.statistics.num_rows == 6
    assert found.statistics.columns["size"].missing == 2
    assert found.statistics.categories["device"].missing == 2
    batches = [one for file in files for one in read_batches(file, SCHEMA, list(COLUMNS), data)]
    rows = [row for batch in batches for row in batch.columns.to_pylist()]
    assert [row["device"] for row in rows] == [None, None, *["phone", "desk"] * 2]
    assert [row["size"] for row in rows] == [None, None, *[7, 8] * 2]
    (only,) = read_batches(files[0], SCHEMA, ["device"], data)
    assert only.columns.to_pydict() == {"device": [None, None]}
    # Other columns must be there.
    with pytest.raises(UserError, match="no column 'size'"):
        scan_files(files, SCHEMA, _added("device"), QUIET)
    one = check.build_pass(SCHEMA, data, False)
    assert run_here(one, files, "").num_rows == 6


def test_a_column_that_no_file_has_is_a_wrong_name(files):
    columns = {**COLUMNS, "devise": {"type": "string", "hash_buckets": 9}}
    schema = Schema.model_validate({"columns": columns, "label": LABEL})
    found = scan_files(files, schema, _added("device", "size", "devise"), QUIET)
    assert found.absent == ["devise"]


def _infer(files, *added):
    limits = {"data.added_columns": ",".join(added)}
    return infer.infer(infer.InferRequest(files, ["d"], "y", limits=limits))


def test_a_schema_is_inferred_from_all_files(files):
    with pytest.raises(UserError, match="has other columns than .*--data.added_columns"):
        _infer(files, "device")
    with pytest.raises(UserError, match="no file has a value in column 'devise'; correct"):
        _infer(files, "devise", "device", "size")
    table = _infer(files, "size", "device")[1]
    assert table.columns["device"].missing == table.columns["size"].missing == 2
    assert table.columns["device"].is_text and not table.columns["size"].is_text
    assert {name: profile.count for name, profile in table.columns.items()} == {
        "x": 4, "y": 6, "size": 4, "device": 4
    }  # fmt: skip


def test_an_export_knows_the_added_columns_of_its_job(tmp_path):
    (tmp_path / "config.yaml").write_text("data:\n  added_columns: [device, size]\n")
    assert load_data_config(str(tmp_path), {}).added_columns == ("device", "size")
    given = load_data_config(str(tmp_path), {}, {"data.added_columns": "other"})
    assert given.added_columns == ("other",)
