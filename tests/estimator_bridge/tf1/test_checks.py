"""What can be checked within a TensorFlow 1.x program: its view and the mathematics of tf.contrib.

The checks are tests of their own, in tf1_checks. One process runs those of a file, since a program
sees TensorFlow 1.x or 2 for all of its life; here each of them is reported as one test.
"""

import ast
import collections
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import forked
import pytest

pytestmark = [pytest.mark.versions, pytest.mark.newest]

CHECKS = Path(__file__).parents[1] / "tf1_checks"
TIMEOUT_SECS = 600


def list_checks():
    """Returns (file, function) of every check."""
    found = []
    for path in sorted(CHECKS.glob("check_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            parts = node.body if isinstance(node, ast.ClassDef) else [node]
            names = [part.name for part in parts if isinstance(part, ast.FunctionDef)]
            found += [(path.stem, name) for name in names if name.startswith("test_")]
    return found


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """failures(file) → check → what failed in each of its runs, None where nothing did."""
    done = {}

    def run(file):
        if file not in done:
            done[file] = _run(file, tmp_path_factory.mktemp(file) / "report.xml")
        return done[file]

    return run


def _run(file, report):
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    arguments += ["-o", "python_files=check_*.py", "--confcutdir", CHECKS, f"--junitxml={report}"]
    removed = ("TF_CONFIG", "TF_USE_LEGACY_KERAS")
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    program = forked.run(
        [
            *(sys.executable, "-m", "estimator_bridge", "run", "--tf1"),
            *map(str, arguments),
            str(CHECKS / f"{file}.py"),
        ],
        cwd=CHECKS,
        env={**kept, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECS,
    )
    assert program.returncode in (0, 1) and report.exists(), program.stdout[-6000:]
    found = collections.defaultdict(list)
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        problem = next((part.text for part in case if part.tag in ("failure", "error")), None)
        found[case.get("name").partition("[")[0]].append(problem)
    return found


@pytest.mark.parametrize(("file", "check"), list_checks())
def test_check(file, check, failures):
    """A check has run within a program, and passed in each of its runs."""
    runs = failures(file)[check]
    assert runs
    assert not any(runs), "\n".join(filter(None, runs))
