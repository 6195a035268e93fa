"""The example of docs/examples goes on from a checkpoint that 1.15.5 wrote, stored here."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import pytest

pytestmark = pytest.mark.newest

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "tests" / "estimator_bridge" / "golden" / "1.15.5" / "taxi_demand"


def run(folder, *flags):
    """Returns what the example prints."""
    program = ROOT / "docs" / "examples" / "taxi_demand.py"
    done = forked.run(
        [
            *(sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(program)),
            *(f"--data={NATIVE / 'trips.csv'}", f"--model_dir={folder}", "--hours=6", *flags),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def numbers(text):
    return [float(one) for one in re.findall(r"[\d.]*\d", text)]


def test_a_forecast_from_a_checkpoint_of_1_15_goes_on(tmp_path):
    folder = tmp_path / "job"
    shutil.copytree(NATIVE, folder, ignore=shutil.ignore_patterns("*.csv", "*.txt"))
    there = (NATIVE / "printed.txt").read_text()
    # 1.15.5 printed this from the same checkpoint; the last digits are rounded.
    here = run(folder, "--max_steps=200")
    assert [line.split(":")[0] for line in here.splitlines()] == [
        line.split(":")[0] for line in there.splitlines()
    ]
    assert numbers(here) == pytest.approx(numbers(there), abs=0.011)
    longer = [run(folder, "--max_steps=230")]
    longer.append(run(folder, "--max_steps=260", f"--export_dir={tmp_path / 'export'}"))
    assert [text.split(":")[0] for text in longer] == ["step 230", "step 260"]
    # The windows are random, and a few of them may raise the loss for some steps.
    assert min(numbers(text)[1] for text in longer) < numbers(here)[1] - 0.2
    assert list((tmp_path / "export").glob("*/saved_model.pb"))
