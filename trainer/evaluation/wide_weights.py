"""The weights of the wide part of a model, with the values of the data to which they belong."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from estimator_bridge import tf
from trainer.features.columns import YEAR_BOUNDARIES, name_feature, name_indicator
from trainer.models.fused.layout import LINEAR
from trainer.reporting.weights import WideWeight
from trainer.schema import Column, Cross, Schema


class _Part(NamedTuple):
    """A variable of the wide part: what it is called, and the meaning of its rows."""

    column: str
    variable: str
    values: Sequence[str]


def read_wide_weights(checkpoint: str, schema: Schema) -> list[WideWeight]:
    """Returns the weights of the wide part, the largest first; without private columns.

    Args:
        checkpoint: its path.
        schema: of the model.

    Returns:
        The weights; empty for a model without a wide part.
    """
    reader = tf.train.load_checkpoint(checkpoint)
    shapes = reader.get_variable_to_shape_map()
    classes = [str(word) for word in schema.label.vocabulary or range(schema.num_classes or 0)]
    found = []
    for part in _list_parts(schema):
        name = f"{LINEAR}/{part.variable}/weights"
        if len(shapes.get(name, ())) != 2:
            continue
        weights = reader.get_tensor(name)
        for row, values in enumerate(weights.tolist()):
            value = part.values[row] if row < len(part.values) else f"id {row}"
            for unit, weight in enumerate(values):
                of_class = classes[unit] if len(values) > 1 and unit < len(classes) else ""
                found.append(WideWeight(part.column, value, of_class, weight))
    return sorted(found, key=lambda one: -abs(one.weight))


def _list_parts(schema: Schema) -> Iterator[_Part]:
    """Yields the variables that the wide part of a model of this schema may have."""
    for name in schema.features:
        column = schema.columns[name]
        if "wide" not in column.use or column.private:
            continue
        key = name_feature(name)
        if column.is_categorical:
            weighted = f"_weighted_by_{name_feature(column.weights)}" if column.weights else ""
            yield _Part(name, key + weighted, _name_ids(column))
        elif column.date:
            for part in column.date:
                of_part = name_feature(f"{name}_{part}")
                if part == "year":
                    years = [f"before {YEAR_BOUNDARIES[0]}", *map(str, YEAR_BOUNDARIES)]
                    yield _Part(f"{name}, {part}", f"{of_part}_bucketized", years)
                else:
                    yield _Part(f"{name}, {part}", of_part, [str(n) for n in range(32)])
        elif column.buckets:
            yield _Part(name, f"{key}_bucketized", _name_buckets(column.buckets))
        else:
            yield _Part(name, key, ["per unit of the normalised number"])
        if column.missing_indicator:
            yield _Part(name, name_feature(name_indicator(name)), ["missing"])
    for cross in schema.crosses:
        if not any(schema.columns[name].private for name in cross.columns):
            yield _Part(" × ".join(cross.columns), _name_cross(cross, schema), _name_hashed(cross))


def _name_ids(column: Column) -> list[str]:
    if column.vocabulary is not None:
        others = [f"other values {number + 1}" for number in range(column.oov_buckets)]
        return [*map(str, column.vocabulary), *others]
    if column.identities:
        return [str(number) for number in range(column.identities)]
    if column.growing is not None:
        return ["values without a row", *(f"row {n + 1}" for n in range(column.growing.capacity))]
    return [f"hash bucket {number}" for number in range(column.hash_buckets or 0)]


def _name_hashed(cross: Cross) -> list[str]:
    return [f"hash bucket {number}" for number in range(cross.hash_buckets)]


def _name_buckets(bounds: Sequence[float]) -> list[str]:
    texts = [f"{bound:.6g}" for bound in bounds]
    between = [f"{low} to below {high}" for low, high in zip(texts, texts[1:])]
    return [f"below {texts[0]}", *between, f"from {texts[-1]}"]


def _name_cross(cross: Cross, schema: Schema) -> str:
    """Returns the name that TensorFlow gives to a crossed column."""
    names = [
        name_feature(name) + ("" if schema.columns[name].is_categorical else "_bucketized")
        for name in cross.columns
    ]
    return "_X_".join(sorted(names))
