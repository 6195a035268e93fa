"""What the rows have in common in which a converted model differs."""

import numpy as np
import pytest

from estimator_bridge.convert.verify.slices import describe_common

pytestmark = pytest.mark.quick

COLORS = np.array([b"red", b"green", b"green", b"blue", b"red", b"green", b"red", b"blue"], object)
FEATURES = {
    "color": COLORS,
    "size": np.array([1, 2, 2, 2, 3, 2, 1, 2]),
    "age": np.array([30, 41, 60, 22, 25, 47, np.nan, 33], np.float32),
    "pair": np.array([[0, 1]] * 8),
}


def test_the_value_that_fewest_other_rows_have():
    differs = COLORS == b"green"
    expected = "all 3 rows that differ have color = 'green', as 3 of 8 rows have"
    assert describe_common(FEATURES, differs) == expected
    # All rows of size 2 but one.
    differs = (FEATURES["size"] == 2) & (np.arange(8) != 7)
    expected = "all 4 rows that differ have size = 2, as 5 of 8 rows have"
    assert describe_common(FEATURES, differs) == expected


def test_a_range_of_numbers_and_missing_numbers():
    ages = np.linspace(0, 1, 40, dtype=np.float32)
    features = {"age": ages, "word": np.array([b"a"] * 40, object)}
    found = describe_common(features, ages >= 0.75)
    assert found == "all 10 rows that differ have age from 0.769231 to 1, as 10 of 40 rows have"
    ages[::5] = np.nan
    found = describe_common(features, np.isnan(ages))
    assert found == "all 8 rows that differ have no number in age, as 8 of 40 rows have"


@pytest.mark.parametrize("rows", [[], [3], range(8), [0, 1, 3]])
def test_nothing_in_common(rows):
    differs = np.zeros(8, bool)
    differs[list(rows)] = True
    assert describe_common(FEATURES, differs) == ""
