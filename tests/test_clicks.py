"""The generator of click data: any number of rows, and data from which a model learns."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from trainer.schema.types import Schema

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def clicks():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import clicks
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return clicks


@pytest.fixture(scope="module")
def table(clicks):
    return pa.Table.from_batches(clicks.generate(120_000))


@pytest.mark.long
def test_rows_do_not_depend_on_their_number(clicks, table):
    assert pa.Table.from_batches(clicks.generate(60_001)).equals(table.slice(0, 60_001))
    other = pa.Table.from_batches(clicks.generate(1000, seed=1))
    assert not other.equals(table.slice(0, 1000))


def test_columns_have_the_shape_of_click_data(clicks, table):
    schema = Schema.model_validate(clicks.describe_schema())
    assert list(schema.columns) == table.column_names and len(schema.features) == 39
    assert 0.2 < np.mean(table["clicked"]) < 0.3
    gaps = [table[name].null_count / len(table) for name in clicks.NUMBERS]
    assert gaps == pytest.approx(clicks.NUMBER_GAPS, abs=0.01)
    words = table["C3"].drop_null()
    counts = np.sort(pa.compute.value_counts(words).field("counts"))[::-1]
    # Many words, of which the first few have a large share of the rows.
    assert len(counts) > 20_000 and counts[0] > 0.05 * len(words) > counts[10]
    assert pa.compute.all(pa.compute.match_substring_regex(words, "^[0-9a-f]{8}$")).as_py()
    few = pa.Table.from_batches(clicks.generate(20_000, ids=100))
    assert pa.compute.count_distinct(few["C3"], mode="only_valid").as_py() <= 100


def test_words_that_recur_predict_the_label(clicks, table):
    later = pa.Table.from_batches(clicks.generate(50_000, seed=1))
    sums = table.group_by("C9").aggregate([("clicked", "mean"), ("clicked", "count")])
    joined = later.join(sums, "C9")
    # The rates of a word in one file and in another.
    assert np.corrcoef(joined["clicked"], joined["clicked_mean"])[0, 1] > 0.05


@pytest.mark.long
def test_command_writes_folders_of_days(tmp_path):
    script = [sys.executable, str(ROOT / "benchmarks/clicks.py")]
    options = ["--rows=1001", "--format=parquet", "--files=4", "--days=2"]
    subprocess.run([*script, *options, f"--output={tmp_path}"], check=True, capture_output=True)
    # Imports pandas.
    import pyarrow.dataset

    data = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    assert len(data.files) == 4 and data.count_rows() == 1001
    assert set(data.to_table(["dt"])["dt"].to_pylist()) == {"2024-01-01", "2024-01-02"}
    done = subprocess.run(
        [*script, "--rows=0", f"--output={tmp_path}"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr == "error: --rows=0: give a larger number\n"
