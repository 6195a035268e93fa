"""What the fused steps index by: made of the rows of many steps at once, ahead of all of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from estimator_bridge import tf
from trainer.features.encoding import IDS, NUMBERS, Encoding
from trainer.features.parts import derive_features
from trainer.models.fused.layout import Layout, Table
from trainer.models.heads import prepare_labels
from trainer.schema import Label, Schema

LABEL, WEIGHT, FOUND, TOUCHED = "//label/", "//weight/", "//found/", "//touched/"


class Preparation(NamedTuple):
    """How rows become what the steps take.

    Attributes:
        schema: labels, weight.
        encoding: of the rows.
        layout: of the variables.
    """

    schema: Schema
    encoding: Encoding
    layout: Layout

    def begin(self) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
        """Creates tables in the current graph, and returns the function that uses them; a dataset
        may call it too.

        It takes features, name → tensor [batch, ...], raw or encoded as features.encoding says, and
        labels [batch]; or all of them [steps, batch, ...]. It returns, with the same dimensions in
        front, "//label/" and "//weight/" with the names of columns: class numbers, int64, or other
        labels, and weights, float32; and what prepare_rows returns.
        """
        finders = {label.column: _make_finder(label) for label in self.schema.labels}
        return lambda features, labels: self._prepare(features, labels, finders)

    def is_prepared(self, features: dict[str, Any]) -> bool:
        """Whether features are what the function of `begin` returns."""
        return LABEL + self.schema.label.column in features

    def _prepare(self, features: dict[str, Any], labels: Any, finders: dict) -> dict[str, Any]:
        shape = tf.shape(labels, tf.int64)
        is_stacked = labels.shape.rank == 2
        if is_stacked:
            features = {name: _flatten(tensor) for name, tensor in features.items()}
            labels = _flatten(labels)
        seen, labels = prepare_labels(features, labels, self.schema, training=True)
        encoded = seen if IDS in seen else self.encoding.encode(derive_features(seen, self.schema))
        by_row = {name: encoded[name] for name in (IDS, NUMBERS)}
        labels = labels if isinstance(labels, dict) else {self.schema.label.column: labels}
        for label in self.schema.labels:
            by_row[LABEL + label.column] = finders[label.column](labels[label.column])
        roles = [f"{label.column}/weight" for label in self.schema.labels if label.class_weights]
        for name in [*roles, self.schema.weight]:
            if name in seen:
                by_row[WEIGHT + name] = tf.reshape(tf.cast(seen[name], tf.float32), [-1])
        if is_stacked:
            for name, tensor in by_row.items():
                whole = tf.concat([shape, tf.shape(tensor, tf.int64)[1:]], axis=0)
                by_row[name] = tf.reshape(tensor, whole)
                by_row[name].set_shape([None, None, *tensor.shape[1:]])
        encoded = {name: by_row.pop(name) for name in (IDS, NUMBERS)}
        return {**by_row, **prepare_rows(self.layout, encoded)}


def _flatten(tensor):
    """[steps, batch, ...] to [steps * batch, ...]."""
    inner = tensor.shape[2:]
    return tf.reshape(tensor, [-1, *inner])


def _make_finder(label: Label) -> Callable[[Any], Any]:
    """Labels as heads without vocabularies take them; an unknown class is -1, which they refuse."""
    if label.vocabulary is None:
        return lambda labels: labels
    words = tf.constant([str(value) for value in label.vocabulary])
    known = tf.lookup.KeyValueTensorInitializer(
        words, tf.range(len(label.vocabulary), dtype=tf.int64)
    )
    table = tf.lookup.StaticHashTable(known, -1)
    return lambda labels: table.lookup(tf.reshape(labels, [-1]))


def prepare_rows(layout: Layout, encoded: dict[str, Any]) -> dict[str, Any]:
    """Turns ids and numbers into what the steps index by.

    Args:
        layout: of the model.
        encoded: "ids" int32 [..., batch, fields] and "numbers" float32 [..., batch, numbers], with
            a dimension of steps in front or none.

    Returns:
        name → tensor: of each table its rows, and of the one-hot fields their places in the
        flattened input of a batch, int32 [..., fields, batch], -1 for no value; of a table whose
        fields may have no value, under "//found/", the rows to look up, 0 for no value, and under
        "//touched/" those that an optimizer goes by; the numbers of either part, float32
        [..., batch, numbers].
    """
    # A field at a time: picking some of them copies long stretches, not single ids.
    ids, numbers = tf.linalg.matrix_transpose(encoded[IDS]), encoded[NUMBERS]
    rows: dict[str, Any] = {}
    deep = layout.deep
    for table in [*layout.wide, *(deep.tables if deep else ())]:
        rows[table.name] = _find_rows(table, ids)
        if table.may_lack:
            rows[FOUND + table.name] = tf.maximum(rows[table.name], 0)
            # TensorFlow looks id 0 up where there is no value, and then drops it: to an optimizer
            # it is a row of the batch whose gradient is zero.
            first = tf.constant(table.offsets)[:, None]
            rows[TOUCHED + table.name] = tf.maximum(rows[table.name], first)
    if layout.wide_numbers:
        rows["wide_numbers"] = tf.gather(numbers, layout.wide_numbers, axis=-1)
    if deep and deep.hot:
        width = sum(deep.hot_sizes)
        starts = [sum(deep.hot_sizes[:number]) for number in range(len(deep.hot))]
        picked = tf.gather(ids, deep.hot, axis=-2)
        places = picked + tf.constant(starts)[:, None] + tf.range(tf.shape(ids)[-1]) * width
        rows["hot"] = _without_value(places, picked)
    if deep and deep.numbers:
        every = deep.numbers == tuple(range(numbers.shape[-1] or 0))
        rows["numbers"] = numbers if every else tf.gather(numbers, deep.numbers, axis=-1)
    return rows


def _without_value(found: Any, ids: Any) -> Any:
    """-1 where the id is -1. All bits of -1 are set; a `where` costs ten times as much."""
    return tf.bitwise.bitwise_or(found, tf.minimum(ids, 0))


def _find_rows(table: Table, ids: Any):
    number = len(table.fields)
    picked = tf.gather(ids, tf.constant(table.fields, tf.int32, [number]), axis=-2)
    found = picked + tf.constant(table.offsets[:number], tf.int32, [number])[:, None]
    if table.may_lack:
        found = _without_value(found, picked)
    if len(table.blocks) > number:
        # The bias has a part in every row.
        shape = tf.shape(ids)
        one = tf.concat([shape[:-2], [1], shape[-1:]], axis=0)
        found = tf.concat([found, tf.fill(one, table.offsets[number])], axis=-2)
    return found


def rows_found(table: Table, rows: dict[str, Any]) -> Any:
    """Rows of a table to look up, int32 [fields, batch]; row 0 stands for no value."""
    return rows[FOUND + table.name] if table.may_lack else rows[table.name]


def rows_touched(table: Table, rows: dict[str, Any]) -> Any:
    """Rows of a table that an optimizer goes by, int32 [fields, batch]."""
    return rows[TOUCHED + table.name] if table.may_lack else rows[table.name]
