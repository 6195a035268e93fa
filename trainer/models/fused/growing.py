"""Growing columns in the graph: their tables, rows for new values, and the ids of a checkpoint."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from estimator_bridge import tf
from trainer.features.encoding import IDS, KEY_SIZES, NO_VALUE, Encoding
from trainer.features.growing import (
    CHANGED,
    FREE,
    NEVER,
    SLOTS,
    GrowingField,
    list_growing,
)
from trainer.models.fused.layout import Layout
from trainer.models.fused.row_operations import write_rows
from trainer.models.fused.rows import RESET
from trainer.models.fused.updates import DEEP_PART, LINEAR_PART, OptimizerStep
from trainer.models.fused.variables import Stored, Variables, create_plain

# Kind of a variable → the value of rows that were never used.
KINDS = {"keys": FREE, "steps": NEVER, "rows": 0}


class Changing(NamedTuple):
    """A variable of a growing column, and the tensors that change it.

    Attributes:
        stored: the variable, int64 [capacity].
        places: name of the places that change.
        values: name of their new values.
    """

    stored: Stored
    places: str
    values: str

    def update(self, rows: dict[str, Any]) -> Any:
        """Returns the operation that makes the changes of all steps of a run.

        Args:
            rows: result of the function that Preparation.begin returns.
        """
        return write_rows(self.stored.variable, rows[self.places], rows[self.values])


def create_tables(encoding: Encoding) -> list[Changing]:
    """Creates the variables that contain which values have an id, for training.

    Args:
        encoding: of the rows.
    """
    created = []
    for field in list_growing(encoding):
        for part in field.parts:
            for kind, value in KINDS.items():
                name = field.name_variable(part, kind)
                initial = tf.fill([field.options.capacity], tf.constant(value, tf.int64))
                places = CHANGED + field.name_variable(part, SLOTS)
                created.append(Changing(create_plain(name, initial), places, CHANGED + name))
    return created


def reset_rows(
    layout: Layout,
    stored: Variables,
    rows: dict[str, Any],
    optimizers: dict[str, OptimizerStep],
    seed: Sequence[Any],
) -> list[Any]:
    """Returns the operations that set the rows of new values to initial values.

    Embeddings are drawn anew, from a seed and the step; weights of the linear part are 0.

    Args:
        layout: of the model.
        stored: the trained variables.
        rows: of one batch, as take_batch returns them.
        optimizers: part → optimizer, whose slots are reset too.
        seed: two int64 scalars: one of the run, and the step.
    """
    tables = [(table, one, LINEAR_PART) for table, one in zip(layout.wide, stored.wide)]
    if layout.deep is not None:
        deep = zip(layout.deep.tables, stored.embeddings)
        tables += [(table, one, DEEP_PART) for table, one in deep]
    operations = []
    for number, (table, one, part) in enumerate(tables):
        if RESET + table.name not in rows:
            continue
        found = rows[RESET + table.name]
        shape = tf.stack([tf.size(found), table.dimension])
        values = tf.zeros(shape)
        if part == DEEP_PART:
            drawn = tf.random.stateless_truncated_normal(
                shape, [seed[0] + number, seed[1]], stddev=table.dimension**-0.5
            )
            # Row 0 remains zero.
            values = drawn * tf.cast(found > 0, tf.float32)[:, None]
        slots = optimizers[part].slots[one.variable.ref()]
        for each, value in [(one, values), *((slot, tf.fill(shape, slot.first)) for slot in slots)]:
            operations.append(write_rows(each.variable, found, value))
    return operations


class HeldIds:
    """The values of a growing column that have an id, in the graph of an evaluation or an export.

    A checkpoint contains the keys in the order of the ids: it is a plain table. In the graph they
    are sorted, for a binary search.

    Args:
        field: the column.
    """

    def __init__(self, field: GrowingField) -> None:
        self._field = field
        size = [field.options.capacity]
        self.names = [field.name_variable("held", kind) for kind in ("keys", "steps")]
        self.shapes = [size, size]

        def create(kind: str, value: int) -> Any:
            name = f"growing/{field.name}/sorted_{kind}"
            return create_plain(name, tf.fill(size, tf.constant(value, tf.int64))).variable

        self._keys, self._steps = create("keys", FREE), create("steps", NEVER)
        self._places = create("places", 0)

    def split(self) -> list[Any]:
        """Returns keys and steps in the order of the ids."""
        places = self._places.read_value()[:, None]
        sorted_values = (self._keys.read_value(), self._steps.read_value())
        return [tf.scatter_nd(places, each, tf.shape(each, tf.int64)) for each in sorted_values]

    def restore(self, tensors: Sequence[Any]) -> Any:
        """Returns the operation that sets the variables.

        Args:
            tensors: keys and steps in the order of the ids.
        """
        keys, steps = tensors
        places = tf.argsort(keys)
        return tf.group(
            self._keys.assign(tf.gather(keys, places), read_value=False),
            self._steps.assign(tf.gather(steps, places), read_value=False),
            self._places.assign(tf.cast(places, tf.int64), read_value=False),
        )

    def look_up(self, first: Any, second: Any, step: Any) -> Any:
        """Returns the ids of values, int32 [batch]; 0 for a value without one.

        Args:
            first: first hash of each value, int32 [batch]; NO_VALUE for a missing value.
            second: second hash.
            step: global step of the checkpoint, int64 scalar.
        """
        is_missing = first < 0
        first, second = tf.cast(first, tf.int64), tf.cast(second, tf.int64)
        keys = first * KEY_SIZES[1] + second
        found = tf.raw_ops.LowerBound(
            sorted_inputs=self._keys.read_value()[None], values=keys[None], out_type=tf.int32
        )[0]
        found = tf.minimum(found, self._field.options.capacity - 1)
        is_held = tf.equal(tf.gather(self._keys, found), keys)
        if self._field.options.max_age_steps is not None:
            oldest = step - self._field.options.max_age_steps
            is_held = tf.logical_and(is_held, tf.gather(self._steps, found) >= oldest)
        ids = tf.cast(tf.gather(self._places, found) + 1, tf.int32)
        return tf.where(is_missing, NO_VALUE, tf.where(is_held, ids, 0))


def find_held(encoded: dict[str, Any], encoding: Encoding, step: Any) -> tuple[Any, list[HeldIds]]:
    """Replaces the first hash of each growing column by the id, in an evaluation or an export.

    Args:
        encoded: "ids" int32 [batch, fields] and "numbers".
        encoding: of the rows.
        step: global step of the checkpoint, int64 scalar.

    Returns:
        The encoded rows with ids; and the tables, for build_saver.
    """
    growing = list_growing(encoding)
    if not growing:
        return encoded, []
    columns = tf.unstack(encoded[IDS], len(encoding.fields), axis=1)
    held = [HeldIds(field) for field in growing]
    for field, ids in zip(growing, held):
        first, second = columns[field.place : field.place + 2]
        columns[field.place] = ids.look_up(first, second, step)
    return {**encoded, IDS: tf.stack(columns, axis=1)}, held
