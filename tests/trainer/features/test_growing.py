"""trainer.features.growing: which values have an id, against the rules in plain Python."""

import numpy as np
import pytest

from trainer.features.growing import FREE, NEVER, GrowingTable
from trainer.schema.columns import Growing


class _Plain:
    """The rules of a growing table, one value after another; it looks at every row each time."""

    def __init__(self, capacity, min_rows, max_age):
        self.capacity, self.min_rows, self.max_age = capacity, min_rows, max_age
        self.held = [(FREE, NEVER)] * capacity
        self.waiting = [(FREE, NEVER, 0)] * (capacity if min_rows > 1 else 0)

    def _find(self, table, key, step):
        for place, row in enumerate(table):
            if row[0] == key:
                is_recent = self.max_age is None or step - row[1] <= self.max_age
                return place, is_recent
        return None, False

    @staticmethod
    def _oldest(table, step):
        free = [(row[1], place) for place, row in enumerate(table) if row[1] < step]
        return min(free)[1] if free else None

    def observe(self, keys, step):
        counts = {key: keys.count(key) for key in sorted(set(keys)) if key >= 0}
        ids, others = {}, []
        for key in counts:
            place, is_recent = self._find(self.held, key, step)
            if place is not None and is_recent:
                self.held[place] = (key, step)
                ids[key] = place + 1
                continue
            if place is not None:
                self.held[place] = (FREE, self.held[place][1])
            others.append(key)
        totals, new = {}, []
        for key in others:
            place, is_recent = self._find(self.waiting, key, step)
            totals[key] = counts[key] + (self.waiting[place][2] if is_recent else 0)
        for key in sorted(others, key=lambda key: -totals[key]):
            place = self._oldest(self.held, step) if totals[key] >= self.min_rows else None
            if place is None:
                continue
            waited, _ = self._find(self.waiting, key, step)
            if waited is not None:
                self.waiting[waited] = (FREE, *self.waiting[waited][1:])
            self.held[place] = (key, step)
            ids[key] = place + 1
            new.append(key)
        left = [key for key in others if key not in new]
        found = {key: self._find(self.waiting, key, step)[0] for key in left}
        for key in [key for key in left if found[key] is not None]:
            self.waiting[found[key]] = (key, step, totals[key])
        for key in [key for key in left if found[key] is None]:
            place = self._oldest(self.waiting, step)
            if place is not None:
                self.waiting[place] = (key, step, totals[key])
        return [ids.get(key, 0) if key >= 0 else -1 for key in keys], sorted(ids[k] for k in new)


def _batches(seed, steps, rows, words):
    """Batches whose frequent values change over time, with missing ones."""
    rng = np.random.default_rng(seed)
    for step in range(steps):
        keys = rng.zipf(1.3, rows) % words + step // 7 * 5
        yield np.where(rng.random(rows) < 0.1, FREE, keys)


@pytest.mark.parametrize(
    ("capacity", "min_rows", "max_age", "rows", "words"),
    [
        (32, 1, None, 20, 60),
        (32, 1, 3, 20, 60),
        (32, 3, None, 20, 60),
        (32, 2, 4, 40, 500),
        # Each batch has more values than there are rows.
        (32, 1, None, 200, 900),
        (32, 2, None, 300, 90),
        (256, 2, 5, 100, 600),
    ],
)
def test_ids_follow_the_rules_exactly(capacity, min_rows, max_age, rows, words):
    options = Growing(capacity=capacity, min_rows=min_rows, max_age_steps=max_age)
    table, plain = GrowingTable(options), _Plain(capacity, min_rows, max_age)
    given = 0
    for step, keys in enumerate(_batches(5, 60, rows, words), 1):
        if step == 30:
            # As after a checkpoint: all that counts is in the three arrays.
            resumed = GrowingTable(options)
            for name in ("held", "waiting"):
                if (slots := getattr(table, name)) is not None:
                    getattr(resumed, name).restore(slots.keys, slots.steps, slots.rows)
            table = resumed
        found = table.observe(keys, step)
        ids, new = plain.observe(keys.tolist(), step)
        assert found.ids.tolist() == ids
        assert sorted(found.new.tolist()) == new
        given += len(new)
    assert given > capacity


def test_the_changes_make_an_exact_copy():
    table = GrowingTable(Growing(capacity=32, min_rows=2, max_age_steps=5))
    copies = {
        name: (np.full(32, FREE), np.full(32, NEVER), np.zeros(32)) for name in ("held", "waiting")
    }
    for step, keys in enumerate(_batches(2, 40, 30, 80), 1):
        table.observe(keys, step)
        if step % 4 == 0:
            for name, arrays in copies.items():
                slots = getattr(table, name)
                places = slots.read_changed()
                assert len(set(places.tolist())) == len(places)
                for copy, values in zip(arrays, (slots.keys, slots.steps, slots.rows)):
                    copy[places] = values[places]
                    np.testing.assert_array_equal(copy, values)


def test_a_value_that_occurs_in_few_rows_gets_no_id():
    table = GrowingTable(Growing(capacity=32, min_rows=3))
    assert table.observe(np.array([7, 7, 8]), 1).ids.tolist() == [0, 0, 0]
    # Its third row: from this batch on it has an id.
    assert table.observe(np.array([7, 8]), 2).ids.tolist() == [1, 0]
    assert table.observe(np.array([9, 8, 7]), 3).ids.tolist() == [0, 2, 1]
    assert table.held.rows[:2].tolist() == [4, 3]


def test_a_forgotten_value_starts_again():
    table = GrowingTable(Growing(capacity=32, min_rows=2, max_age_steps=10))
    assert table.observe(np.array([7, 7]), 1).ids.tolist() == [1, 1]
    assert table.observe(np.array([7]), 11).ids.tolist() == [1]
    assert table.observe(np.array([7]), 22).ids.tolist() == [0]
    found = table.observe(np.array([7]), 23)
    # The row of 7 is free, but the rows that were never used come first.
    assert (found.ids.tolist(), found.new.tolist()) == ([2], [2])
