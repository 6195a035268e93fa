"""pandas under the bridge returns what pandas 1.1.5 returned, which is stored in `native`."""

import functools
import json
import subprocess
from pathlib import Path

import measured
import pytest

FOLDER = Path(__file__).parent
FILES = sorted(set(FOLDER.glob("*_cases.py")) - {FOLDER / "run_cases.py", FOLDER / "test_cases.py"})


@functools.cache
def run_bridged(file):
    command = measured.python(FOLDER / "run_cases.py", file, "--bridge")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


def list_cases():
    for file in FILES:
        stored = json.loads((FOLDER / "native" / f"{file.stem}.json").read_text(encoding="utf-8"))
        for name, native in stored.items():
            yield pytest.param(file, name, native, id=f"{file.stem}-{name}")


@pytest.mark.parametrize(("file", "name", "native"), list(list_cases()))
def test_case(file, name, native):
    assert run_bridged(file)[name] == native


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_case_is_stored(file):
    stored = json.loads((FOLDER / "native" / f"{file.stem}.json").read_text(encoding="utf-8"))
    assert set(run_bridged(file)) == set(stored)
