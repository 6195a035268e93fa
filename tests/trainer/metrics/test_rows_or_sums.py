"""Rows of several workers: joined in their order if there are few."""

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.metrics.slices import Predictions

pytestmark = [pytest.mark.quick, pytest.mark.newest]


class _Places:
    def __init__(self):
        self.names = []

    def add(self, chunk):
        self.names += chunk["name"].tolist()

    def merge(self, later):
        self.names += later.names

    def clear(self):
        self.names = []


class _Tally:
    def add(self, predictions, groups, chunk):
        pass

    def merge(self, other):
        pass


def _make_part(order, num_bad, limit):
    dropped = BadRows(limit)
    for row in range(num_bad):
        dropped.add(f"{order}.csv", row, Fault("x", "unparsable", "is wrong", "fix it"))
        dropped.drop(1)
    part = RowsOrSums(order, _Places(), _Tally())
    scores = np.array([order, 0.5], np.float32)
    names = {"name": np.array([f"{order}a", f"{order}b"])}
    part.add(Predictions(np.array([0, 1]), scores, None), np.zeros(2, np.int64), names)
    part.drop(dropped)
    return part


def _merge(*parts):
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0]


def test_rows_are_joined_in_their_order():
    found = _merge(_make_part(2, 1, 3), _make_part(0, 1, 3), _make_part(1, 1, 3))
    scored = found.finish()
    assert scored.places.names == ["0a", "0b", "1a", "1b", "2a", "2b"] and found.num_rows == 6
    assert scored.predictions.scores.tolist() == [0, 0.5, 1, 0.5, 2, 0.5]


def test_of_many_rows_nothing_is_kept(monkeypatch):
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 3)
    parts = [_make_part(1, 0, 3), _make_part(0, 0, 3)]
    assert parts[0].finish() is not None
    found = _merge(*parts)
    assert found.finish() is None and found.list_parts() == []


def test_all_parts_together_have_no_more_bad_rows_than_are_allowed():
    found = _merge(_make_part(1, 2, 3), _make_part(0, 2, 3))
    with pytest.raises(UserError, match="more bad rows than the 3 .*: 0.csv: row 0, .*1.csv: row"):
        found.finish()
