"""Some schedules of the simulation of parameter servers, and faults that it must find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simulation import served_story  # noqa: E402
from simulation.faults import FAULTS  # noqa: E402

pytestmark = pytest.mark.newest

# A seed that finds each old fault. A change of the simulation gives seeds other meanings.
FOUND = {
    "an update is applied after the variables are set again": 10,
    "values of two settings are joined": 146,
    "a server that hangs is waited for after its restart": 0,
}


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_schedules_of_parameter_servers(first):
    for seed in range(first, first + 40):
        violation = served_story.run(seed).violation
        assert violation is None, f"python tests/simulation --story=served --seed={seed}"


def test_a_seed_repeats_its_schedule():
    assert served_story.run(7).digest == served_story.run(7).digest


@pytest.mark.parametrize("name", FOUND)
def test_an_old_fault_is_found(name):
    with FAULTS[name].put_back():
        assert FAULTS[name].message in served_story.run(FOUND[name]).violation
    assert {key for key, one in FAULTS.items() if one.story == "served"} == FOUND.keys()
