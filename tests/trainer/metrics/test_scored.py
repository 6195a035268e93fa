"""Scored rows of several workers."""

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.metrics.scored import ScoredRows, join_scored
from trainer.metrics.slices import Predictions

pytestmark = [pytest.mark.quick, pytest.mark.newest]


class _Places:
    def __init__(self, names):
        self.names = names

    def merge(self, later):
        self.names += later.names


def _make_part(name, num_bad, limit):
    dropped = BadRows(limit)
    for row in range(num_bad):
        dropped.add(f"{name}.csv", row, Fault("x", "unparsable", "is wrong", "fix it"))
        dropped.drop(1)
    scores = np.array([0.25, 0.5], np.float32)
    return ScoredRows(Predictions(np.array([0, 1]), scores, None), _Places([name]), dropped)


def test_all_parts_together_have_no_more_bad_rows_than_are_allowed():
    joined = join_scored([_make_part("a", 2, 3), _make_part("b", 1, 3)])
    assert joined.places.names == ["a", "b"] and joined.dropped.count == 3
    assert len(joined.predictions.scores) == 4
    with pytest.raises(UserError, match="more bad rows than the 3 .*: a.csv: row 0, .*b.csv: row"):
        join_scored([_make_part("a", 2, 3), _make_part("b", 2, 3)])
