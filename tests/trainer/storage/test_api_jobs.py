"""The Python API on a job in a bucket: train, load, predict, evaluate."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trainer
from trainer.errors import UserError

pytestmark = pytest.mark.newest

JOB = "gs://a-bucket/jobs/api"


def _make_table(rows):
    return pa.table(
        {
            "x": [float(row % 7) for row in range(rows)],
            "city": [("a", "b")[row % 2] for row in range(rows)],
            "bought": [int(row % 7 > 3) for row in range(rows)],
        }
    )


def test_a_job_in_a_bucket_is_trained_continued_and_used(cloud, tmp_path):
    storage = {"storage.cache_dir": str(tmp_path / "cache")}
    table, file = _make_table(400), str(tmp_path / "rows.parquet")
    pq.write_table(table, file)
    schema = trainer.infer_schema(table, label="bought").schema

    def train(steps):
        config = {"job_dir": JOB, "model.type": "linear", "max_steps": steps, **storage}
        return trainer.train(
            {**config, "run.report": False, "export.verify": False}, file, file, schema=schema
        )

    run = train(30)
    assert run.job_dir == JOB and run.best_export.startswith(f"{JOB}/export/best/")
    names = cloud.names("jobs/api/")
    assert {"jobs/api/model.ckpt-30.index", "jobs/api/summary.txt"} <= set(names)
    assert train(40).step == 40
    with trainer.load(JOB, options=storage) as model:
        predicted = model.predict(table)
    assert isinstance(predicted, pa.Table) and predicted.num_rows == 400
    with trainer.load(run.best_export, options=storage) as model:
        assert model.predict({"x": 1.0, "city": "a"})["classes"] in ("0", "1")
    found = trainer.evaluate(JOB, table, by=["city"], options=storage)
    assert (found.step, found.rows) == (40, 400)
    assert [part["value"] for part in found.slices] == ["a", "b"]
    with pytest.raises(UserError, match="there is nothing in gs://a-bucket/jobs/none"):
        trainer.load("gs://a-bucket/jobs/none", options=storage)
