"""A trainer of TensorFlow 2.4 with its own checkpoint, as docs/from_2_4.md takes it to today."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.newest
def test_the_job_of_2_4_is_evaluated_as_there(tmp_path):
    project = tmp_path / "taxi"
    shutil.copytree(HERE / "old_project", project)
    shutil.copytree(HERE / "stored" / "project_2.4.4", project / "job")
    subprocess.run([sys.executable, "make_data.py"], cwd=project, check=True)
    command = [sys.executable, "-m", "estimator_bridge", "run", "-m", "trainer.task"]
    done = subprocess.run(
        [*command, "--model_dir=job", "--max_steps=200"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "the names of TensorFlow 2.4, because setup.py says" in done.stderr
    # What 2.4.4 printed.
    assert ast.literal_eval(done.stdout.splitlines()[-1]) == pytest.approx(
        {"auc": 0.93574, "loss": 0.33753, "global_step": 200.0}, abs=2e-5
    )
    page = (HERE.parents[2] / "docs" / "from_2_4.md").read_text(encoding="utf-8")
    assert page.count(done.stdout.splitlines()[-1]) == 2
