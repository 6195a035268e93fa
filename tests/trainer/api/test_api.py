"""The Python API: what the commands do, with tables."""

import gc
import json
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import metrics as sk

import trainer
from trainer import config as config_lib
from trainer import storage, task
from trainer.evaluation import command

pytestmark = pytest.mark.newest

SIZES = {"train.max_steps": 40, "batch_size": 50, "hidden_units": [8], "export.exporters": "final"}


def _make(rows, seed):
    random = np.random.default_rng(seed)
    age, city = random.uniform(18, 80, rows), random.choice(["Ulm", "Bonn", "Rom"], rows)
    score = (age - 49) / 18 + np.where(city == "Ulm", 1.5, -0.5) + random.normal(0, 0.3, rows)
    bought = np.where(score > 0, "yes", "no")
    return pd.DataFrame({"age": age, "city": city, "secret": city, "bought": bought})


@pytest.fixture(scope="module")
def frames():
    return _make(400, 1), _make(200, 2)


@pytest.fixture(scope="module")
def run(frames, tmp_path_factory):
    """A job that was trained from data frames, with a private column."""
    schema = trainer.infer_schema(frames[0], "bought")
    values = schema.schema.model_dump()
    values["columns"]["secret"] = {"type": "string", "hash_buckets": 9, "private": True}
    folder = tmp_path_factory.mktemp("api") / "job"
    return trainer.train({"job_dir": folder, **SIZES}, *frames, schema=values)


def test_importing_the_package_imports_neither_tensorflow_nor_pandas():
    program = (
        "import sys, trainer; dir(trainer); trainer.UserError, trainer.train, trainer.evaluate; "
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'pandas', 'polars')))"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_a_run_has_what_the_job_has_written(run):
    stored = json.loads((run.plots["curves"].parent / "metrics.json").read_text())
    assert run.metrics == stored["best"] and run.evaluations == stored["evaluations"]
    assert run.step == 40 and run.best_export == stored["exports"]["final"][0]
    assert "Summary of" in repr(run) and "data:image/png;base64," in run._repr_html_()


def test_a_schema_is_inferred_as_the_command_does(frames, tmp_path, capsys):
    from trainer.schema.__main__ import main

    found = trainer.infer_schema(frames[0], "bought")
    frames[0].to_parquet(tmp_path / "data.parquet")
    main(["infer", f"--data={tmp_path / 'data.parquet'}", "--label=bought"])
    assert found.text.splitlines()[1:] == capsys.readouterr().out.splitlines()[1:]
    assert trainer.infer_schema(tmp_path / "data.parquet", "bought").schema == found.schema
    saved = found.save(tmp_path / "schema.yaml")
    assert saved.read_text() == found.text
    with pytest.raises(trainer.UserError, match="--label=bougt: no such column; did you mean"):
        trainer.infer_schema(frames[0], "bougt")


def test_each_kind_of_table_gets_the_same_predictions(run, frames):
    rows = frames[1].drop(columns="bought").set_index(np.arange(1000, 1200))
    polars, arrow = pl.from_pandas(rows), pa.Table.from_pandas(rows, preserve_index=False)
    with trainer.load(run.job_dir) as model:
        found = model.predict(rows, columns=["age"])
        assert found.index.equals(rows.index) and found.age.to_numpy() == pytest.approx(rows.age)
        wanted = found.logistic.tolist()
        assert model.predict(polars)["logistic"].to_list() == wanted
        assert model.predict(arrow)["logistic"].to_pylist() == wanted
        assert model.predict(arrow.to_batches()[0])["logistic"].to_pylist() == wanted
        assert model.predict(polars.to_dict(as_series=False))["logistic"] == wanted
        assert [row["logistic"] for row in model.predict(rows.to_dict("records"))] == wanted
        one = model.predict(rows.iloc[0].to_dict())
        assert one["logistic"] == pytest.approx(wanted[0], abs=1e-6) and one["classes"] in (
            "yes",
            "no",
        )
    with trainer.load(run.best_export) as same:
        assert same.predict(rows, outputs=["logistic"]).columns.tolist() == ["logistic"]


def test_a_model_that_is_not_used_any_more_leaves_no_files(run):
    folder = storage.Settings().make_folder()
    before = set(folder.iterdir())
    model = trainer.load(run.job_dir)
    assert set(folder.iterdir()) != before
    del model
    gc.collect()
    assert set(folder.iterdir()) == before


def test_an_evaluation_is_that_of_the_command_and_of_scikit_learn(run, frames, tmp_path):
    argv = [f"--job_dir={run.job_dir}", f"--output={tmp_path}", "--by=city", "--threshold=0.3"]
    assert command.main(argv) == 0
    stored = json.loads((tmp_path / "evaluation.json").read_text())
    for data in (None, frames[1], pl.from_pandas(frames[1])):
        found = trainer.evaluate(run.job_dir, data, by=["city"], threshold=0.3)
        assert found.metrics == stored["overall"] and found.rows == stored["rows"] == 200
        assert [part["rows"] for part in found.slices] == [p["rows"] for p in stored["slices"]]
        assert found.slices[0]["auc"] == stored["slices"][0]["metrics"]["auc"]
    scores = trainer.load(run.job_dir).predict(frames[1])["logistic"]
    auc = sk.roc_auc_score(frames[1].bought == "yes", scores)
    assert found.metrics["auc"] == pytest.approx(auc, abs=1e-6)


def test_a_private_column_is_not_explained_and_no_slice(run):
    found = trainer.explain(run.job_dir, rows=100)
    assert {one.column for one in found} == {"age", "city"}
    assert all(one.low <= one.loss <= one.high and one.metric == "auc" for one in found)
    with pytest.raises(trainer.UserError, match="--by: column secret is private"):
        trainer.evaluate(run.job_dir, by=["secret"])


def test_errors_are_those_of_the_command(run, frames, tmp_path, capsys):
    schema = trainer.infer_schema(frames[0], "bought").save(tmp_path / "schema.yaml")
    data = {"data.schema_file": str(schema), "data.train": "absent.csv", "data.eval": "absent.csv"}
    for options in (
        {},
        {"batch_size": "no"},
        {"train.decay": "piecewise"},
        {"data.schema_file": "-"},
    ):
        options = {"job_dir": str(tmp_path / "new"), **data, **options}
        with pytest.raises(trainer.UserError) as error:
            trainer.train(options)
        assert task.main([f"--{name}={value}" for name, value in options.items()]) == 2
        assert capsys.readouterr().err == f"error: {error.value}\n"
    with pytest.raises(trainer.UserError, match="^data: no column 'age'; fix"):
        trainer.load(run.job_dir).predict(frames[1].drop(columns="age"))
    with pytest.raises(trainer.UserError, match="options: no option 'data.evl' here; did you"):
        trainer.evaluate(run.job_dir, options={"data.evl": 1})
    for wrong in (3, "", [], {}, pd.DataFrame()):
        with pytest.raises(trainer.UserError, match="data"):
            trainer.load(run.job_dir).predict(wrong)


def test_the_same_call_continues_and_another_table_is_another_file(run, frames):
    options = {"job_dir": run.job_dir, **SIZES, "train": {"max_steps": 45}}
    del options["train.max_steps"]
    schema = json.loads((run.plots["curves"].parent / "schema.json").read_text())
    found = []
    # In a thread, which receives no signals.
    thread = threading.Thread(
        target=lambda: found.append(trainer.train(options, *frames, schema=schema, progress=False))
    )
    thread.start()
    thread.join()
    assert found[0].step == 45 and len(found[0].evaluations) == 2
    assert len(list((run.plots["curves"].parent / "data").iterdir())) == 2


def test_tables_of_a_bucket_and_a_whole_config(tmp_path):
    config = config_lib.load_config(None, {"job_dir": "gs://bucket/job"})
    with pytest.raises(trainer.UserError, match="train_data: a table is stored in job_dir"):
        trainer.train(config, {"a": [1]}, {"a": [1]})
    with pytest.raises(trainer.UserError, match="config: got int"):
        trainer.train(3)
