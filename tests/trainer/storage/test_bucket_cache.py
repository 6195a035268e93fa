"""Encoded rows in a bucket: trainer.prepare writes them, jobs read them."""

import json
from pathlib import Path

import pytest

from trainer import storage
from trainer.console import Console
from trainer.inputs.bucket_cache import BucketCache
from trainer.passes.contract import number_files
from trainer.schema import Schema, resolve_defaults
from trainer.training import prepare_command
from trainer.training.encode_work import EncodeWork
from trainer.training.job import build_source, encode_sources, prepare
from trainer.training.recipe import Recipe
from trainer.training.row_files import identify_encoding

pytestmark = pytest.mark.newest

COLUMNS = {"x": {"type": "float", "default": "mean"}, "y": {"type": "float"}}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y"}}


def _open(make, tmp_path, disk, cache):
    """Returns the rows of a job on a machine with a disk of its own."""
    storage.configure(storage.Settings(cache_dir=str(tmp_path / disk)))
    config = make.config(rows=["gs://a-bucket/d"], data={"cache": cache})
    schema = Schema.model_validate(SCHEMA)
    job = prepare(config, schema, Console(quiet=True))
    return job, encode_sources(job, [build_source(job, True)])[0]


def test_a_job_reads_rows_that_were_encoded_into_a_bucket(cloud, make, tmp_path):
    for name, count in {"a": 50, "b": 20}.items():
        rows = [{"x": float(n), "y": n / 7} for n in range(count)]
        cloud.write(f"d/{name}.csv", Path(make.csv(tmp_path / "rows.csv", rows)).read_bytes())
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    cache = "gs://a-bucket/cache"
    job, rows = _open(make, tmp_path, "worker", cache)
    # A job writes nothing into the bucket.
    assert rows.origin == "text" and not rows.store()
    assert not any(name.startswith("cache/") for name in cloud.names())

    flags = ["--train_data=gs://a-bucket/d", "--eval_data=gs://a-bucket/d", f"--data.cache={cache}"]
    flags += [f"--data.schema_file={tmp_path}/schema.json", "--verbosity=warning"]
    assert prepare_command.main(["--scan_only", "--", *flags]) == 0
    notes = [name for name in cloud.names() if name.startswith("cache/")]
    assert len(notes) == 1 and notes[0].endswith(".note.json")

    storage.configure(storage.Settings(cache_dir=str(tmp_path / "worker")))
    with rows.stage() as stage:
        defaults = resolve_defaults(job.schema, job.statistics)
        recipe = Recipe(job.schema, job.statistics, job.config.data, defaults)
        work = EncodeWork(recipe, stage.folder, identify_encoding(rows.encoder))
        first, second = number_files(rows.files)
        # The first result is lost, as that of a killed worker is.
        parts = [work.run(task) for task in ([first], [first], [second])]
        assert _open(make, tmp_path, "early", cache)[1].origin == "text"
        assert rows.publish(stage, work.merge(parts[1], parts[2]))

    wanted = _open(make, tmp_path, "plain", "off")[1].iterate((1,)).take(100)["//rows"]
    found = _open(make, tmp_path, "other", cache)[1]
    assert found.origin == "cache"
    assert found.iterate((1,)).take(100)["//rows"].tobytes() == wanted.tobytes()
    # Rows that are damaged while a job runs are read from the files.
    (name,) = [each for each in cloud.names() if each.endswith(parts[1][0].name)]
    cloud.write(name, b"other")
    found = _open(make, tmp_path, "third", cache)[1]
    assert found.origin == "cache"
    assert found.iterate((1,)).take(100)["//rows"].tobytes() == wanted.tobytes()


def test_notes_of_a_bucket(cloud, tmp_path):
    storage.configure(storage.Settings(cache_dir=str(tmp_path / "disk")))
    writer = BucketCache("gs://a-bucket/cache/", pytest.fail, is_writable=True)
    reader = BucketCache("gs://a-bucket/cache", pytest.fail)
    assert reader.read_note("n") is None
    reader.write_note("n", 1)
    assert reader.read_note("n") is None
    writer.write_note("n", {"a": [1]})
    assert reader.read_note("n") == {"a": [1]}
    cloud.write("cache/m.note.json", b"12\n{}")
    assert reader.read_note("m") is None
