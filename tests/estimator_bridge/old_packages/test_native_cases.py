"""Packages under the bridge return what their old versions returned, stored in `native_cases`.

`pandas_1/run_cases.py` made the files, with the versions that each file of cases names.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import measured
import pytest

FOLDER = Path(__file__).parent / "native_cases"
RUN = Path(__file__).parent / "pandas_1" / "run_cases.py"
FILES = sorted(FOLDER.glob("*_cases.py"))


@functools.cache
def run_bridged(file):
    command = measured.python(RUN, file, "--bridge")
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[3])}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, env=environment
    )
    return json.loads(done.stdout)


def read_native(file):
    return json.loads((FOLDER / "native" / f"{file.stem}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "name"),
    [(file, name) for file in FILES for name in read_native(file)],
    ids=lambda value: value if isinstance(value, str) else value.stem,
)
def test_case(file, name):
    assert run_bridged(file)[name] == read_native(file)[name]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_case_is_stored(file):
    assert set(run_bridged(file)) == set(read_native(file))


@pytest.mark.quick
def test_names_of_numpy_are_supplied_where_warnings_are_errors():
    program = "from estimator_bridge.old_packages import numpy_1; numpy_1.install()"
    options = ["-W", "error::DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", f"{program}; import numpy; numpy.chararray"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
