"""Prepares rows for the fused steps: computes the indices of many steps at once, in advance."""

from collections.abc import Callable
from typing import Any, NamedTuple

from estimator_bridge import tf
from trainer.features.encoding import IDS, NUMBERS, Encoding
from trainer.features.growing import CHANGED, RESET_BOUNDS, RESETS, list_growing
from trainer.features.parts import derive_features
from trainer.models.fused.layout import Layout, Table
from trainer.models.heads import class_weight_name, prepare_labels
from trainer.schema import Label, Schema

# Prefixes of names in prepared rows.
LABEL, WEIGHT, FOUND, TOUCHED = "//label/", "//weight/", "//found/", "//touched/"
DISTINCT, PLACES, RESET = "//distinct/", "//places/", "//reset/"
# BOUNDS + name: where the values of each batch begin and end in the tensor of that name.
BOUNDS = "//bounds"


class Preparation(NamedTuple):
    """Converts raw or encoded rows to the inputs of the steps.

    Attributes:
        schema: labels and weight.
        encoding: of the rows.
        layout: of the variables.
        distinct: the large tables of which only the distinct rows of a batch are updated.
    """

    schema: Schema
    encoding: Encoding
    layout: Layout
    distinct: tuple[Table, ...] = ()

    def begin(self) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
        """Creates lookup tables in the current graph; returns the function that prepares rows.

        A dataset may also call the function. Its arguments are the features, name → tensor [batch,
        ...], raw or encoded (see features.encoding), and the labels [batch]. All tensors may have
        one more leading dimension of steps.

        Returns:
            The function. It returns name → tensor with the same leading dimensions. Labels are
            "//label/<column>": int64 ids of classes, other labels in the form that the head
            accepts. Weights are "//weight/<column>", float32. The results of prepare_rows,
            find_distinct and find_resets are included, and the changes of growing columns.
        """
        finders = {label.column: _make_finder(label) for label in self.schema.labels}
        return lambda features, labels: self._prepare(features, labels, finders)

    def is_prepared(self, features: dict[str, Any]) -> bool:
        """Whether features are a result of the function that `begin` returns.

        Args:
            features: name → tensor.
        """
        return LABEL + self.schema.label.column in features

    def _prepare(
        self,
        features: dict[str, Any],
        labels: Any,
        finders: dict[str, Callable[[Any], Any]],
    ) -> dict[str, Any]:
        growing = {name: features[name] for name in features if name.startswith(CHANGED)}
        if RESETS in features:
            growing.update(find_resets(self.layout, self.encoding, features))
            left_out = {RESETS, RESET_BOUNDS, *growing}
            features = {name: features[name] for name in features if name not in left_out}
        shape = tf.shape(labels, tf.int64)
        is_stacked = labels.shape.rank == 2
        if is_stacked:
            size = labels.shape[1]
            features = {name: _flatten(tensor) for name, tensor in features.items()}
            labels = _flatten(labels)
        seen, labels = prepare_labels(features, labels, self.schema, training=True)
        encoded = (
            seen
            if IDS in seen
            else self.encoding.encode(derive_features(seen, self.schema, self.encoding.statistics))
        )
        by_row = {name: encoded[name] for name in (IDS, NUMBERS)}
        labels = labels if isinstance(labels, dict) else {self.schema.label.column: labels}
        for label in self.schema.labels:
            by_row[LABEL + label.column] = finders[label.column](labels[label.column])
        weights = [class_weight_name(label) for label in self.schema.labels if label.class_weights]
        if self.schema.weight:
            weights.append(self.schema.weight)
        for name in weights:
            if name in seen:
                by_row[WEIGHT + name] = tf.reshape(tf.cast(seen[name], tf.float32), [-1])
        if is_stacked:
            for name, tensor in by_row.items():
                whole = tf.concat([shape, tf.shape(tensor, tf.int64)[1:]], axis=0)
                by_row[name] = tf.reshape(tensor, whole)
                by_row[name].set_shape([None, size, *tensor.shape[1:]])
        encoded = {name: by_row.pop(name) for name in (IDS, NUMBERS)}
        rows = prepare_rows(self.layout, encoded)
        for table in self.distinct:
            rows.update(find_distinct(table, rows))
        return {**by_row, **rows, **growing}


def _flatten(tensor: Any) -> Any:
    """Reshapes [steps, batch, ...] to [steps * batch, ...]."""
    inner = tensor.shape[2:]
    return tf.reshape(tensor, [-1, *inner])


def _make_finder(label: Label) -> Callable[[Any], Any]:
    """Makes a function that converts labels to the labels of a head without a vocabulary.

    The id of an unknown class is -1, which heads reject.
    """
    if label.vocabulary is None:
        return lambda labels: labels
    words = tf.constant([str(value) for value in label.vocabulary])
    known = tf.lookup.KeyValueTensorInitializer(
        words, tf.range(len(label.vocabulary), dtype=tf.int64)
    )
    table = tf.lookup.StaticHashTable(known, -1)
    return lambda labels: table.lookup(tf.reshape(labels, [-1]))


def prepare_rows(layout: Layout, encoded: dict[str, Any]) -> dict[str, Any]:
    """Converts ids and numbers to the indices and numbers of the steps.

    Args:
        layout: of the model.
        encoded: "ids" int32 [..., batch, fields] and "numbers" float32 [..., batch, numbers]; "..."
            is a dimension of steps, or nothing.

    Returns:
        name → tensor. "<table>", for each table, contains the rows of a batch, int32 [..., fields,
        batch], -1 for a missing value. "hot" contains the indices of the one-hot fields in the
        flattened input of a batch, with the same type and shape. If the fields of a table may have
        no value, there are two more tensors of this kind: "//found/<table>" contains the rows to
        look up, 0 for a missing value, and "//touched/<table>" contains the rows that an optimizer
        updates. "numbers" and "wide_numbers" are float32 [..., batch, numbers].
    """
    # If the fields are the first dimension, a gather of fields copies long contiguous blocks
    # instead of single ids.
    ids, numbers = tf.linalg.matrix_transpose(encoded[IDS]), encoded[NUMBERS]
    rows: dict[str, Any] = {}
    deep = layout.deep
    for table in layout.tables:
        rows[table.name] = _find_rows(table, ids)
        if table.may_lack:
            rows[FOUND + table.name] = tf.maximum(rows[table.name], 0)
            # For a missing value, TensorFlow looks up id 0 and discards the result. Therefore the
            # optimizer receives id 0 with a gradient of zero.
            first = tf.constant(table.offsets)[:, None]
            rows[TOUCHED + table.name] = tf.maximum(rows[table.name], first)
    if layout.wide_numbers:
        rows["wide_numbers"] = _take_numbers(numbers, layout.wide_numbers)
    if deep and deep.hot:
        width = sum(deep.hot_sizes)
        starts = [sum(deep.hot_sizes[:number]) for number in range(len(deep.hot))]
        picked = tf.gather(ids, deep.hot, axis=-2)
        places = picked + tf.constant(starts)[:, None] + tf.range(tf.shape(ids)[-1]) * width
        rows["hot"] = without_value(places, picked)
    if deep and deep.numbers:
        rows["numbers"] = _take_numbers(numbers, deep.numbers)
    return rows


def _take_numbers(numbers: Any, columns: tuple[int, ...]) -> Any:
    """Returns columns of numbers, float32 [..., batch, columns]."""
    every = columns == tuple(range(numbers.shape[-1] or 0))
    return numbers if every else tf.gather(numbers, columns, axis=-1)


def without_value(found: Any, ids: Any) -> Any:
    """Returns `found`, with -1 where the id is -1.

    All bits of -1 are set, so bit operations are sufficient. A `where` takes ten times as long.

    Args:
        found: int32.
        ids: int32 of the same shape.
    """
    return tf.bitwise.bitwise_or(found, tf.minimum(ids, 0))


def _find_rows(table: Table, ids: Any) -> Any:
    """Converts ids to rows of a table; both are int32 [..., fields, batch]."""
    number = len(table.fields)
    picked = tf.gather(ids, tf.constant(table.fields, tf.int32, [number]), axis=-2)
    found = picked + tf.constant(table.offsets[:number], tf.int32, [number])[:, None]
    if table.may_lack:
        found = without_value(found, picked)
    if len(table.blocks) > number:
        # The bias applies to every row of data.
        shape = tf.shape(ids)
        one = tf.concat([shape[:-2], [1], shape[-1:]], axis=0)
        found = tf.concat([found, tf.fill(one, table.offsets[number])], axis=-2)
    return found


def rows_found(table: Table, rows: dict[str, Any]) -> Any:
    """Returns the rows of a table to look up, int32 [fields, batch]; 0 for a missing value.

    Args:
        table: of the layout.
        rows: one batch of the result of prepare_rows.
    """
    return rows[FOUND + table.name] if table.may_lack else rows[table.name]


def rows_touched(table: Table, rows: dict[str, Any]) -> Any:
    """Returns the rows of a table that an optimizer updates, int32 [..., fields, batch].

    Args:
        table: of the layout.
        rows: the result of prepare_rows.
    """
    return rows[TOUCHED + table.name] if table.may_lack else rows[table.name]


def find_distinct(table: Table, rows: dict[str, Any]) -> dict[str, Any]:
    """Finds the distinct rows of a table that each batch touches.

    The time of a step would otherwise contain this search, which uses one core. Here it can run in
    the input pipeline.

    Args:
        table: of the layout.
        rows: the result of prepare_rows.

    Returns:
        name → tensor. "//distinct/<table>": int32 [rows], the distinct rows of the first batch,
        then those of the second and so on. "//bounds//distinct/<table>": int32 [steps + 1], where
        those of a batch begin and end. "//places/<table>": for each value of a batch the place of
        its row among the distinct rows of the batch, int32 [..., fields * batch]; -1 for a missing
        value.
    """
    touched, segments = rows_touched(table, rows), rows[table.name]
    is_stacked = touched.shape.rank == 3
    count = tf.shape(touched)[0] if is_stacked else 1
    touched, segments = (tf.reshape(each, [count, -1]) for each in (touched, segments))

    def search(index: Any, *found: Any) -> Any:
        distinct, places = tf.unique(touched[index])
        results = (distinct, places, tf.size(distinct))
        return (index + 1, *(array.write(index, one) for array, one in zip(found, results)))

    # The searches differ in their number of results, so they cannot be one operation.
    arrays = [
        tf.TensorArray(tf.int32, count, infer_shape=False, element_shape=shape)
        for shape in ([None], [None], [])
    ]
    _, *found = tf.while_loop(
        lambda index, *_: index < count, search, (0, *arrays), parallel_iterations=1
    )
    distinct, places, sizes = found[0].concat(), found[1].stack(), found[2].stack()
    if table.may_lack:
        # All bits of -1 are set.
        places = without_value(places, segments)
    places.set_shape([None, None])
    return {
        DISTINCT + table.name: distinct,
        BOUNDS + DISTINCT + table.name: tf.concat([[0], tf.cumsum(sizes)], axis=0),
        PLACES + table.name: places if is_stacked else places[0],
    }


def find_resets(layout: Layout, encoding: Encoding, features: dict[str, Any]) -> dict[str, Any]:
    """Finds the rows of tables whose ids were given to new values.

    Args:
        layout: of the model.
        encoding: of the rows, with growing columns.
        features: contains the results of GrowingIds.assign.

    Returns:
        name → tensor. "//reset/<table>", for each table with a growing column: int32 [resets], the
        rows of the first batch, then those of the second and so on; 0 if the id is that of another
        table. "//bounds//reset/<table>": int32 [steps + 1], where those of a batch begin and end.
    """
    numbers, ids = tf.unstack(features[RESETS], axis=1)
    growing = [field.place for field in list_growing(encoding)]
    rows = {}
    for table in layout.tables:
        first = dict(zip(table.fields, table.offsets))
        offsets = [first.get(place, 0) for place in growing]
        if any(offsets):
            offset = tf.gather(tf.constant(offsets), numbers)
            is_here = tf.cast(offset > 0, tf.int32)
            rows[RESET + table.name] = (offset + ids) * is_here
            rows[BOUNDS + RESET + table.name] = features[RESET_BOUNDS]
    return rows


def take_batch(rows: dict[str, Any], index: Any) -> dict[str, Any]:
    """Returns one batch of prepared rows.

    Args:
        rows: name → tensor [steps, ...], as Preparation.begin's function returns.
        index: of the batch, int64 scalar.
    """
    begin = tf.reshape(index, [1])
    end, strides = begin + 1, tf.ones([1], tf.int64)
    taken = {}
    for name, tensor in rows.items():
        if name.startswith(BOUNDS):
            bounded = name[len(BOUNDS) :]
            first, last = tensor[index], tensor[index + 1]
            taken[bounded] = rows[bounded][first:last]
        elif BOUNDS + name not in rows and not name.startswith(CHANGED):
            # A slice of one index along the first dimension is a view; a gather would copy.
            taken[name] = tf.raw_ops.StridedSlice(
                input=tensor, begin=begin, end=end, strides=strides, shrink_axis_mask=1
            )
            taken[name].set_shape(tensor.shape[1:])
    return taken
