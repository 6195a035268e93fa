"""Growing columns: which of their values have an id of their own, step by step.

The ids depend on the rows that a model was trained with. So they are found when a batch is made, in
the order of the steps, in advance. The changes travel with the batches: the model's graph keeps the
tables as they are after each step, and a checkpoint contains them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge import tf
from trainer.features.encoding import KEY_SIZES, NO_VALUE, Encoding
from trainer.schema.columns import Growing

# The key of a free row of a table.
FREE = -1
# The step at which a row was used last that never was.
NEVER = -1
# Names of the tensors that travel with the batches. Those of the changes end with the name of a
# variable; "//slots" are the places of its changed numbers.
RESETS, RESET_BOUNDS = "//resets", "//reset_bounds"
CHANGED, SLOTS = "//changed/", "//slots"
# Share of a table's rows that is put in order at once, to find those that are the oldest.
QUEUE_SHARE = 64


class GrowingField(NamedTuple):
    """A growing column of an encoding.

    Attributes:
        name: of its field.
        place: of its first hash in the ids of encoded rows; the second one follows.
        options: capacity, min_rows and max_age_steps.
    """

    name: str
    place: int
    options: Growing

    @property
    def parts(self) -> list[str]:
        """The tables of the column: of ids with a row, and of those that may get one."""
        return ["held", "waiting"] if self.options.min_rows > 1 else ["held"]

    def name_variable(self, part: str, kind: str) -> str:
        """Returns the name of a variable of a checkpoint.

        Args:
            part: one of `parts`.
            kind: keys, steps or rows.
        """
        return f"growing/{self.name}/{part}_{kind}"


def list_growing(encoding: Encoding) -> list[GrowingField]:
    """Returns the growing columns.

    Args:
        encoding: of the rows.
    """
    found = []
    for place, field in enumerate(encoding.fields):
        options = encoding.schema.columns[field.columns[0]].growing
        if field.kind == "growing" and field.num_keys == KEY_SIZES[0] and options is not None:
            found.append(GrowingField(field.name, place, options))
    return found


class Slots:
    """A table of keys of fixed size; a new key gets the row that was not used for longest.

    Args:
        size: number of rows.

    Attributes:
        keys: key of each row, int64 [size]; FREE for a row without one.
        steps: step at which each row was used last, int64 [size]; NEVER for a row that never was.
        rows: number of rows of data with the key, int64 [size].
        changed: places of the rows that have changed since `changed` was emptied.
    """

    def __init__(self, size: int) -> None:
        self.keys = np.full(size, FREE, np.int64)
        self.steps = np.full(size, NEVER, np.int64)
        self.rows = np.zeros(size, np.int64)
        self.changed: list[np.ndarray] = []
        self._places: dict[int, int] = {}
        # Places of the oldest rows in order, and their steps; or nothing.
        self._queue: list[np.ndarray] = []

    def restore(self, keys: np.ndarray, steps: np.ndarray, rows: np.ndarray) -> None:
        """Sets the contents.

        Args:
            keys: int64 [size].
            steps: int64 [size].
            rows: int64 [size].
        """
        self.keys[:], self.steps[:], self.rows[:] = keys, steps, rows
        used = np.flatnonzero(keys != FREE)
        self._places = dict(zip(keys[used].tolist(), used.tolist()))

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Returns the place of each key, int64 of the same shape; -1 for an unknown one.

        Args:
            keys: int64 [keys].
        """
        get = self._places.get
        return np.array([get(key, -1) for key in keys.tolist()], np.int64)

    def use(self, places: np.ndarray, step: int) -> None:
        """Records that rows are used.

        Args:
            places: of the rows.
            step: the step that uses them.
        """
        self.steps[places] = step
        self.changed.append(places)

    def release(self, places: np.ndarray) -> None:
        """Makes rows free; they are given away in the order of their last use, as all others.

        Args:
            places: of the rows.
        """
        for key in self.keys[places].tolist():
            self._places.pop(key, None)
        self.keys[places] = FREE
        self.changed.append(places)

    def take(self, keys: np.ndarray, step: int) -> np.ndarray:
        """Gives rows to new keys; returns their places, of the first keys only if too few are left.

        A row that this step uses is not given away.

        Args:
            keys: int64 [keys], unknown ones.
            step: the step that uses them.
        """
        found = [np.empty(0, np.int64)]
        needed = len(keys)
        while needed and (self._queue or self._put_in_order(needed, step)):
            places, steps = (each[:needed] for each in self._queue)
            self._queue = [each[needed:] for each in self._queue if len(each) > needed]
            # Rows that were used meanwhile are no longer among the oldest.
            places = places[self.steps[places] == steps]
            self.steps[places] = step
            found.append(places)
            needed -= len(places)
        places = np.concatenate(found)
        self.release(places)
        self.keys[places] = keys[: len(places)]
        self._places.update(zip(self.keys[places].tolist(), places.tolist()))
        self.use(places, step)
        return places

    def _put_in_order(self, least: int, step: int) -> bool:
        """Puts the oldest rows in order, with their steps; returns whether there are any.

        Rows with equal steps are in the order of their places.
        """
        count = max(least, len(self.steps) // QUEUE_SHARE)
        oldest = np.flatnonzero(self.steps < step)
        if count < len(oldest):
            last = np.partition(self.steps, count - 1)[count - 1]
            oldest = np.flatnonzero(self.steps <= last)
        oldest = oldest[np.argsort(self.steps[oldest], kind="stable")]
        self._queue = [oldest, self.steps[oldest]] if len(oldest) else []
        return bool(self._queue)

    def read_changed(self) -> np.ndarray:
        """Returns the places of the rows that have changed since the last call, each once."""
        places = np.unique(np.concatenate(self.changed)) if self.changed else np.empty(0, np.int64)
        self.changed = []
        return places


class _Found(NamedTuple):
    """The ids of a batch, and those that it gave to new values.

    Attributes:
        ids: int32, of the shape of the keys.
        new: ids, int64 [new].
    """

    ids: np.ndarray
    new: np.ndarray


class GrowingTable:
    """The values of one column that have an id.

    Args:
        options: capacity, min_rows and max_age_steps.

    Attributes:
        held: values with an id; the id is one more than the place of the value.
        waiting: values that have not occurred often enough; None if one row is enough. There are as
            many places for them.
    """

    def __init__(self, options: Growing) -> None:
        self._options = options
        self.held = Slots(options.capacity)
        self.waiting = Slots(options.capacity) if options.min_rows > 1 else None

    def observe(self, keys: np.ndarray, step: int) -> _Found:
        """Finds the ids of a batch.

        Args:
            keys: int64 of any shape; negative for a missing value.
            step: the global step after the step that uses the batch.
        """
        distinct, inverse, rows = np.unique(keys, return_inverse=True, return_counts=True)
        ids = np.zeros(len(distinct), np.int64)
        ids[distinct < 0] = NO_VALUE
        places = self.held.find(distinct)
        known = np.flatnonzero(places >= 0)
        is_recent = self._is_recent(self.held.steps[places[known]], step)
        self.held.release(places[known[~is_recent]])
        known = known[is_recent]
        self.held.rows[places[known]] += rows[known]
        self.held.use(places[known], step)
        ids[known] = places[known] + 1
        others = np.setdiff1d(np.flatnonzero(distinct >= 0), known)
        given = self._admit(distinct[others], rows[others], step)
        ids[others] = given
        return _Found(ids[inverse].reshape(keys.shape).astype(np.int32), given[given > 0])

    def _is_recent(self, steps: np.ndarray, step: int) -> np.ndarray:
        oldest = (
            NEVER if self._options.max_age_steps is None else step - self._options.max_age_steps
        )
        return steps >= oldest

    def _admit(self, keys: np.ndarray, rows: np.ndarray, step: int) -> np.ndarray:
        """Gives ids to values that have occurred often enough; 0 to the others.

        Args:
            keys: of values without an id, each once, int64 [keys].
            rows: number of rows of each in the batch.
            step: the global step after the step that uses the batch.
        """
        waiting, places = self.waiting, np.full(len(keys), -1, np.int64)
        if waiting is not None:
            places = waiting.find(keys)
            counts = waiting.rows[places] * self._is_recent(waiting.steps[places], step)
            rows = rows + np.where(places >= 0, counts, 0)
        # The most frequent first, if there are more than free rows.
        frequent = np.flatnonzero(rows >= self._options.min_rows)
        frequent = frequent[np.argsort(-rows[frequent], kind="stable")]
        given = self.held.take(keys[frequent], step)
        admitted = frequent[: len(given)]
        self.held.rows[given] = rows[admitted]
        ids = np.zeros(len(keys), np.int64)
        ids[admitted] = given + 1
        if waiting is not None:
            waiting.release(places[admitted][places[admitted] >= 0])
            left = np.setdiff1d(np.arange(len(keys)), admitted)
            known, unknown = left[places[left] >= 0], left[places[left] < 0]
            waiting.use(places[known], step)
            waiting.rows[places[known]] = rows[known]
            taken = waiting.take(keys[unknown], step)
            waiting.rows[taken] = rows[unknown[: len(taken)]]
        return ids


class GrowingIds:
    """The growing columns of the rows of a run.

    Args:
        fields: the columns.
        checkpoint: where the run starts; None at step 0.
    """

    def __init__(self, fields: list[GrowingField], checkpoint: Optional[str]) -> None:
        self._fields = fields
        self._tables = [GrowingTable(field.options) for field in fields]
        if checkpoint is None:
            return
        reader = tf.train.load_checkpoint(checkpoint)
        for field, part, slots in self._list_slots():
            slots.restore(
                *(
                    reader.get_tensor(field.name_variable(part, kind))
                    for kind in ("keys", "steps", "rows")
                )
            )

    def _list_slots(self) -> Iterator[tuple[GrowingField, str, Slots]]:
        for field, table in zip(self._fields, self._tables):
            yield field, "held", table.held
            if table.waiting is not None:
                yield field, "waiting", table.waiting

    def assign(self, ids: np.ndarray, step: int) -> dict[str, np.ndarray]:
        """Replaces the first hash of each growing column by the id; returns what changes.

        Args:
            ids: of encoded rows, int32 [steps, batch, fields]; is changed.
            step: global step before the step that uses the first batch.

        Returns:
            RESETS: int32 [resets, 2], the number of a growing column and the id that gets a new
            value, step by step. RESET_BOUNDS: int32 [steps + 1], where those of a step begin and
            end. And the changes, see `list_specs`.
        """
        resets: list[np.ndarray] = []
        bounds = [0]
        for index in range(len(ids)):
            for number, (field, table) in enumerate(zip(self._fields, self._tables)):
                batch = ids[index, :, field.place : field.place + 2].astype(np.int64)
                first, second = batch[:, 0], batch[:, 1]
                keys = np.where(first < 0, FREE, first * KEY_SIZES[1] + second)
                found = table.observe(keys, step + index + 1)
                ids[index, :, field.place] = found.ids
                resets.append(np.stack([np.full_like(found.new, number), found.new], axis=1))
            bounds.append(sum(map(len, resets)))
        arrays = {
            RESETS: np.concatenate(resets).astype(np.int32),
            RESET_BOUNDS: np.array(bounds, np.int32),
        }
        for field, part, slots in self._list_slots():
            places = slots.read_changed()
            arrays[CHANGED + field.name_variable(part, SLOTS)] = places
            for kind, values in (
                ("keys", slots.keys),
                ("steps", slots.steps),
                ("rows", slots.rows),
            ):
                arrays[CHANGED + field.name_variable(part, kind)] = values[places]
        return arrays


def list_specs(fields: list[GrowingField]) -> dict[str, Any]:
    """Returns name → tf.TensorSpec of the results of GrowingIds.assign.

    Of each table of each column, these are the places that have changed after all steps, and their
    keys, steps and rows, int64 [changed].

    Args:
        fields: the growing columns.
    """
    if not fields:
        return {}
    specs = {
        RESETS: tf.TensorSpec([None, 2], tf.int32),
        RESET_BOUNDS: tf.TensorSpec([None], tf.int32),
    }
    for field in fields:
        for part in field.parts:
            for kind in (SLOTS, "keys", "steps", "rows"):
                name = CHANGED + field.name_variable(part, kind)
                specs[name] = tf.TensorSpec([None], tf.int64)
    return specs
