"""What tools/compare_2x.py finds in two interfaces."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import compare_2x  # noqa: E402

pytestmark = pytest.mark.quick

RATE = ["rate", "", "0.1"]
NAN = float("nan")


def test_equal_interfaces_have_no_lines():
    surface = {"keras.Dense": [RATE], "keras.Dense.units": "property"}
    assert list(compare_2x.surface_lines(surface, dict(surface, more=[RATE]))) == []
    configuration = {"Dense": {"units": 3, "inner": {"name": "dense"}}}
    assert list(compare_2x.configuration_lines(configuration, configuration)) == []
    values = {"resize": [0.1, NAN], "none": []}
    assert list(compare_2x.value_lines(values, dict(values, more=[1.0]))) == []


def test_signatures_that_differ_alike_are_one_line():
    native = {f"keras.L{place}": [RATE] for place in range(6)}
    native.update({"gone": [RATE], "Model.fit": [RATE], "same": [RATE]})
    ours = {f"keras.L{place}": [["rate", "", "0.2"]] for place in range(6)}
    ours.update({"Model.fit": "property", "same": [RATE]})
    assert list(compare_2x.surface_lines(native, ours)) == [
        "6 x default of rate is 0.2, not 0.1: keras.L0, keras.L1, keras.L2, keras.L3",
        "1 x missing: gone",
        "1 x property: Model.fit",
    ]


def test_each_default_that_differs_is_a_line():
    native = {"Dense": {"units": 3, "axis": 1, "name": "a", "inner": {"rate": [0.1]}}}
    ours = {"Dense": {"units": 4, "name": "b", "inner": {"rate": [0.2]}, "new": 1}}
    assert list(compare_2x.configuration_lines(native, ours)) == [
        ".Dense.units: 4, not 3",
        ".Dense.axis: missing; the original has 1",
        ".Dense.inner.rate: [0.2], not [0.1]",
    ]


@pytest.mark.parametrize(
    ("native", "ours", "differs"),
    [
        ([1.0, 2.0], [1.0, 2.000001], False),
        ([1.0, 2.0], [1.0, 2.00001], True),
        ([1000.0, 0.0], [1000.0, 0.001], False),
        ([1.0, 2.0], [1.0], True),
        ([1.0, NAN], [1.0, NAN], False),
        ([1.0, 2.0], [1.0, NAN], True),
        ([NAN, 2.0], [1.0, 2.0], True),
    ],
)
def test_values_may_differ_by_rounding_of_the_largest(native, ours, differs):
    lines = list(compare_2x.value_lines({"resize": native}, {"resize": ours}))
    assert len(lines) == differs
    assert all(line.startswith("resize: ") for line in lines)
    assert list(compare_2x.value_lines({"resize": native}, {})) == [f"resize: [], not {native}"]
