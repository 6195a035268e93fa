"""Jobs record what they were made of, and the commands read it."""

import importlib
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from trainer.job_layout import INPUTS
from trainer.training import inputs_record

ROOT = Path(__file__).parents[3]
MINE = """
import tensorflow as tf

@tf.function
def double(values):
    return values + values

def metrics(labels, predictions):
    double(predictions["logits"])
    return {}
"""


@pytest.mark.newest
def test_a_job_records_its_inputs_at_each_run(shop, run_module, tmp_path):
    def git(*words):
        own = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run(["git", *own, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "mine.py").write_text(MINE)
    git("init", "-q")
    git("add", "mine.py")
    git("commit", "-qm", "one")
    flags = [
        f"--data.schema_file={shop / 'bought.yaml'}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        "--hidden_units=4",
        "--batch_size=64",
        "--eval.metric_fn=mine:metrics",
        "--export.exporters=final",
        "--noexport.verify",
    ]

    def train(name, *more):
        environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
        done = run_module(
            "trainer.task", *flags, f"--job_dir={name}", *more, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / name / INPUTS).read_text())["runs"]

    (first,) = train("a", "--max_steps=20")
    assert first["ended"] and first["data"]["train"]["rows"] == 600
    secs = json.loads((tmp_path / "a" / "metrics.json").read_text())["secs"]["all"]
    assert first["secs"] == pytest.approx(secs, abs=0.06)
    # No code that TensorFlow generates for the tf.function; `forked` belongs to the tests.
    assert set(first["code"]["user"]) - {"forked"} == {"mine"}
    assert first["code"]["git"]["dirty"] is False and len(first["code"]["git"]["commit"]) == 40
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "\n# changed\n")
    before, second = train("a", "--max_steps=30")
    assert before == first
    assert second["first_step"] == 20 and second["code"]["git"]["dirty"] is True
    same = ("data", "schema", "tensorflow", "machine")
    assert all(second[name] == first[name] for name in same)
    assert second["config"] != first["config"]
    assert second["code"]["user"] != first["code"]["user"]
    # From an export back to data and code.
    export = next((tmp_path / "a" / "export" / "final").glob("*/saved_model.pb"))
    done = run_module("trainer.runs", "lineage", str(export.parent), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"train files: {shop / 'train.csv'}" in done.stdout
    assert second["code"]["git"]["commit"][:8] in done.stdout


def test_forked_jobs_share_what_their_server_has_found(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs_record, "_code_of_server", {})
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "their_model.py").write_text("")
    inputs_record.prepare_forks()
    described = []
    monkeypatch.setattr(inputs_record, "describe_git", lambda: described.append(1))
    importlib.import_module("their_model")
    code = inputs_record._describe_code()
    # The user's modules are those of the job.
    assert "their_model" in code["user"] and not described
    monkeypatch.setattr(inputs_record, "_code_of_server", {})
    assert inputs_record._describe_code()["trainer"] == code["trainer"] and described == [1]


@pytest.mark.newest
def test_an_unchanged_job_is_reused_and_any_doubt_trains_again(shop, run_module, tmp_path):
    data = tmp_path / "train.csv"
    data.write_bytes((shop / "train.csv").read_bytes())
    job_dir = tmp_path / "job"

    def train(*more):
        done = run_module(
            "trainer.task",
            f"--data.schema_file={shop / 'bought.yaml'}",
            f"--train_data={data}",
            f"--eval_data={shop / 'eval.csv'}",
            "--max_steps=20",
            "--hidden_units=4",
            "--export.exporters=",
            f"--job_dir={job_dir}",
            *("--reuse", f"--fresh={job_dir}", *more),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        line = next(line for line in done.errors if "reused: " in line)
        return line, json.loads((job_dir / INPUTS).read_text())["runs"], done.stdout

    line, first, _ = train()
    assert line.startswith("not reused: ") and "no complete job" in line
    line, again, summary = train()
    assert line.startswith("reused: data, options and code are those of the complete run")
    assert again == first and "Summary of" in summary
    data.write_bytes(data.read_bytes())
    line, second, _ = train("--learning_rate=0.2")
    assert line == "not reused: changed since the last run: the data, the options"
    assert len(second) == 1 and second[0]["first_step"] == 0
    (job_dir / "model.ckpt-20.index").unlink()
    line, _, _ = train("--learning_rate=0.2")
    assert line == "not reused: its last checkpoint is missing"


def test_an_installed_module_that_is_a_link_is_not_code_of_the_user(tmp_path, monkeypatch):
    # Package installers can link the files of an environment to their cache.
    from trainer.training.inputs_record import _checksum_user_modules

    (tmp_path / "cache").mkdir()
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "cache" / "installed.py").write_text("")
    (tmp_path / "site-packages" / "installed.py").symlink_to(tmp_path / "cache" / "installed.py")
    (tmp_path / "own.py").write_text("")
    for path in (tmp_path / "site-packages" / "installed.py", tmp_path / "own.py"):
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, path.stem, module)
    found = _checksum_user_modules(())
    assert "own" in found and "installed" not in found
