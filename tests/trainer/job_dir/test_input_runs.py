"""A run that was interrupted reads the files with which it has begun."""

import json

import pytest

from trainer import config as config_lib
from trainer.inputs.file_identity import identify_file
from trainer.job_dir import input_runs
from trainer.job_layout import CONFIG, INPUTS
from trainer.training.job import find_inputs

pytestmark = pytest.mark.newest


class _Lines:
    def __init__(self):
        self.lines = []

    def log(self, line):
        self.lines.append(line)


@pytest.fixture
def job(make, tmp_path, monkeypatch):
    """job(**inputs.json's last run) → the names of the training files, and what is logged."""
    data, folder = tmp_path / "data", tmp_path / "job"
    data.mkdir()
    folder.mkdir()
    make.csv(data / "a.csv", make.rows(5))
    make.csv(tmp_path / "eval.csv", make.rows(5))
    options = {"train": [str(data)], "eval": [str(tmp_path / "eval.csv")]}
    config = make.config(rows=[data], eval_rows=[tmp_path / "eval.csv"], data=options)
    config = config.model_copy(update={"job_dir": str(folder)})
    monkeypatch.setattr(input_runs, "latest_checkpoint", lambda folder: "model.ckpt-10")
    schema = make.schema()
    found = find_inputs(config, schema, _Lines())
    files = {
        "train": {"files": [identify_file(file) for file in found.train_files]},
        "eval": {"files": [identify_file(file) for file in found.eval_files]},
    }
    (folder / CONFIG).write_text(config_lib.to_yaml(config))

    def find(run, **changed):
        (folder / INPUTS).write_text(json.dumps({"runs": [{}, {"data": files, **run}]}))
        lines = _Lines()
        other = config.model_copy(update={"data": config.data.model_copy(update=changed)})
        inputs = find_inputs(other, schema, lines)
        return [file.path.rpartition("/")[2] for file in inputs.train_files], lines.lines

    return find


def test_files_that_have_appeared_wait_for_the_next_run(job, make, tmp_path):
    assert job({}) == (["a.csv"], [])
    make.csv(tmp_path / "data" / "b.csv", make.rows(5))
    names, (line,) = job({})
    assert names == ["a.csv"]
    assert "data.train: 1 file(s) have appeared since this run started" in line
    assert "data/b.csv; when it has ended, the next run reads them" in line
    assert job({"ended": "2026-11-26"}) == (["a.csv", "b.csv"], [])
    # Other paths are the wish of the user; a record of another version is unknown.
    assert job({}, train=(f"{tmp_path}/data/*.csv",)) == (["a.csv", "b.csv"], [])
    assert job({"data": {"train": {}}}) == (["a.csv", "b.csv"], [])
    # None of the files is left.
    (tmp_path / "data" / "a.csv").unlink()
    assert job({}) == (["b.csv"], [])
