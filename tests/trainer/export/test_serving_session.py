"""trainer.export.serving_session: outputs as plain Python."""

import json

import numpy as np

from trainer.export.serving_session import to_python


def test_a_number_has_the_digits_of_its_type():
    values = np.array([0.1, 7.5305009, 1e-30, 16777216, np.nan], np.float32)
    found = to_python(values)
    assert json.dumps(found[:4]) == "[0.1, 7.530501, 1e-30, 16777216.0]"
    assert np.array_equal(np.array(found, np.float32), values, equal_nan=True)
    assert to_python(np.float64(0.1)) == 0.1 and to_python(np.int64(3)) == 3
