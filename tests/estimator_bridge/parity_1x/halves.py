"""The areas in two halves, each with a test file, and what both files test.

Each takes about half of the processor time, so that two workers measure side by side.
"""

import json
import os
import subprocess
import sys

import compare
import forked
import pytest

EVERY = [*compare.AREAS, "signatures"]
# Estimators, models of time series, and whole trainers. The first session of a process says how
# many threads start operations in all of them, and that of the first area has one: with several, a
# program sometimes reads its step before it is counted and sometimes after it.
ESTIMATORS = (
    "kernel_methods",
    "clusters",
    "experiments",
    "forests",
    "learning",
    "more_programs",
    "programs",
    "ready_made",
    "sdca",
    "sequences",
    "state_space",
    "state_space_programs",
    "timeseries",
    "timeseries_programs",
    "trained",
)
OTHERS = tuple(area for area in EVERY if area not in ESTIMATORS)
# Small areas that use much of TensorFlow's own code, which differs between the versions.
ON_EVERY_VERSION = ("crf", "estimator", "factorization", "lookup", "opt")
WITHOUT = "without cases"

# On a slow machine, beside two other workers, 900 s were not enough for a half.
TIMEOUT_SECS = 2400


def parameters(areas):
    """Returns the areas as parameters of a test."""
    return [
        pytest.param(area, marks=[] if area in ON_EVERY_VERSION else [pytest.mark.newest])
        for area in areas
    ]


def measure(request, folder, areas):
    """Runs the areas that are tested in one process under the bridge.

    Args:
      request: pytest's, of a fixture of the module.
      folder: an empty one.
      areas: those of the half.

    Returns:
      area -> what it computes, and WITHOUT -> the names that none of them uses.
    """
    tests = [item for item in request.session.items if item.module is request.module]
    asked = {item.callspec.params.get("area") for item in tests if hasattr(item, "callspec")}
    if any(item.name.startswith(("test_the_table", "test_every_supplied")) for item in tests):
        asked = set(areas)
    program = [compare.HERE / "measure.py", folder]
    command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1", *map(str, program)]
    removed = ("TF_CONFIG", "TF_USE_LEGACY_KERAS")
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    done = forked.run(
        [*command, *(area for area in areas if area in asked)],
        env={**kept, "CUDA_VISIBLE_DEVICES": "-1", **compare.KERNELS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECS,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def check_area(area, computed):
    lines = compare.unexpected(area, computed[area])
    assert not lines, "\n".join(lines)


def check_table(computed, areas):
    """Tests the rows of areas in the table of the documents."""
    text = (compare.HERE.parents[2] / "docs" / "parity.md").read_text(encoding="utf-8")
    for area in areas:
        assert compare.row(area, computed[area]) in text.splitlines(), "run `make parity-1x`"


def check_names(computed, areas, folders):
    """Tests that a supplied name has a case or a reason; the last of the two halves knows.

    Args:
      computed: what a half computes.
      areas: those of the half.
      folders: pytest's tmp_path_factory.
    """
    reasons = json.loads((compare.HERE / "without_cases.json").read_text(encoding="utf-8"))
    listed = {name for names in reasons.values() for name in names}
    without = set(computed[WITHOUT])
    assert not listed - without, "they have cases: remove them from without_cases.json"
    shared = folders.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    mine = shared / f"without-cases-{areas[0]}.json"
    part = mine.with_suffix(".part")
    part.write_text(json.dumps(computed[WITHOUT]))
    part.replace(mine)
    halves = [json.loads(path.read_text()) for path in shared.glob("without-cases-*.json")]
    if len(halves) == 2:
        assert without.intersection(*halves) == listed
