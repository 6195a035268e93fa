"""pandas under the bridge returns what pandas 1.1.5 returned, which is stored in `native`."""

import functools
import importlib.metadata
import json
import subprocess
from pathlib import Path

import measured
import pytest

FOLDER = Path(__file__).parent
FILES = sorted(set(FOLDER.glob("*_cases.py")) - {FOLDER / "run_cases.py", FOLDER / "test_cases.py"})

# Cases that differ with pandas 2, which Python 3.9 and 3.10 have. Besides these, some random cases
# share other memory.
UNLIKE_PANDAS_2 = {
    "assignment_cases": {
        "values_of_a_column_are_replaced",
        "values_of_a_frame_that_was_built_by_columns",
    },
    "calls_cases": {"fillna_by_position"},
    "dtypes_cases": {"nothing_replaced"},
}


@functools.cache
def run_bridged(file):
    command = measured.python(FOLDER / "run_cases.py", file, "--bridge")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


def read_native(file):
    return json.loads((FOLDER / "native" / f"{file.stem}.json").read_text(encoding="utf-8"))


def list_cases():
    for file in FILES:
        for name, native in read_native(file).items():
            yield pytest.param(file, name, native, id=f"{file.stem}-{name}")


@pytest.mark.parametrize(("file", "name", "native"), list(list_cases()))
def test_case(file, name, native):
    assert run_bridged(file)[name] == native


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_case_is_stored(file):
    assert set(run_bridged(file)) == set(read_native(file))


@pytest.mark.smoke
@pytest.mark.skipif(
    not importlib.metadata.version("pandas").startswith("2."), reason="is about pandas 2"
)
@pytest.mark.parametrize(
    "file", [file for file in FILES if file.stem != "random_cases"], ids=lambda file: file.stem
)
def test_cases_with_pandas_2(file):
    found = run_bridged(file)
    differing = {name for name, native in read_native(file).items() if found[name] != native}
    assert differing == UNLIKE_PANDAS_2.get(file.stem, set())
