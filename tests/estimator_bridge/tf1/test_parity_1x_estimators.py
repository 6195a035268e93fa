"""Estimators of tf.contrib against what TensorFlow 1.15.5 computed: see test_parity_1x.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "parity_1x"))
import halves  # noqa: E402

pytestmark = pytest.mark.timeout(halves.TIMEOUT_SECS)


@pytest.fixture(scope="module")
def computed(request, tmp_path_factory):
    return halves.measure(request, tmp_path_factory.mktemp("parity"), halves.ESTIMATORS)


@pytest.mark.parametrize("area", halves.parameters(halves.ESTIMATORS))
def test_an_area_is_that_of_1_15_but_for_known_differences(area, computed):
    halves.check_area(area, computed)


@pytest.mark.newest
def test_the_table_of_the_documents_has_the_rows_of_the_results(computed):
    halves.check_table(computed, halves.ESTIMATORS)


@pytest.mark.newest
def test_every_supplied_name_has_a_case_or_a_reason(computed, tmp_path_factory):
    halves.check_names(computed, halves.ESTIMATORS, tmp_path_factory)
