"""Maps the variables of a canned model to the few tables of the fused model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from trainer.features.columns import FeatureColumns, name_feature
from trainer.features.encoding import Encoding, Field

LINEAR = "linear/linear_model"
INPUT_LAYER = "dnn/input_from_feature_columns/input_layer"
# A variable with more numbers than this is in a large table; a step updates only a few rows of it.
# For smaller variables, an update of the whole table takes less time than finding the rows of a
# batch.
MAX_SMALL = 1 << 15
# Kinds of fields that have an id in every row.
ALWAYS_PRESENT = ("bucketized", "cross")


class Block(NamedTuple):
    """Rows of a table that are one variable of the canned model.

    Attributes:
        name: of the canned variable.
        size: number of rows.
        flat: whether the variable is [dimension] instead of [size, dimension].
    """

    name: str
    size: int
    flat: bool = False


class Table(NamedTuple):
    """Variables of one width, concatenated; row 0 is zero and represents a missing value.

    Attributes:
        name: of the variable in the graph.
        dimension: width.
        blocks: the canned variables, from row 1 on; the first blocks belong to the fields, one to
            each.
        fields: columns of the ids that select rows.
        is_large: whether a step touches only the rows that it needs.
        may_lack: whether a row of data may have no value of a field.
    """

    name: str
    dimension: int
    blocks: tuple[Block, ...]
    fields: tuple[int, ...]
    is_large: bool
    may_lack: bool

    @property
    def num_rows(self) -> int:
        """Number of rows of the variable."""
        return 1 + sum(block.size for block in self.blocks)

    @property
    def offsets(self) -> list[int]:
        """First row of each block: blocks of the fields first, then blocks without a field.

        The first row of the block of a field is the row of id 0.
        """
        starts = [1]
        for block in self.blocks[:-1]:
            starts.append(starts[-1] + block.size)
        return starts


class Deep(NamedTuple):
    """The input of the deep part: one-hot fields, then embeddings, then numbers.

    Attributes:
        hot: columns of the ids that are one-hot.
        hot_sizes: widths of the one-hot fields.
        tables: the embeddings; a table has one dimension.
        numbers: columns of the numbers.
        order: for each row of the fused model's first kernel, the row of the canned kernel.
    """

    hot: tuple[int, ...]
    hot_sizes: tuple[int, ...]
    tables: tuple[Table, ...]
    numbers: tuple[int, ...]
    order: tuple[int, ...]


class Layout(NamedTuple):
    """The variables of a fused model.

    Attributes:
        wide: tables of the linear part, empty without it; the first table ends with the bias.
        wide_numbers: columns of the numbers that the linear part uses.
        wide_names: names of the canned variables of these numbers.
        deep: input of the deep part; None without it.
    """

    wide: tuple[Table, ...]
    wide_numbers: tuple[int, ...]
    wide_names: tuple[str, ...]
    deep: Optional[Deep]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables."""
        return (*self.wide, *(self.deep.tables if self.deep else ()))


def build_layout(
    columns: FeatureColumns, encoding: Encoding, units: int, *, wide: bool, deep: bool
) -> Layout:
    """Builds the layout of a model.

    Args:
        columns: feature columns; `unsupported_column` returns None for them.
        encoding: of the rows.
        units: number of logits.
        wide: whether the model has a linear part.
        deep: whether the model has a deep part.
    """
    fields = {field.name: number for number, field in enumerate(encoding.fields)}
    numbers = {name_feature(name): number for number, name in enumerate(encoding.numbers)}
    tables: tuple[Table, ...] = ()
    numeric: list[str] = []
    if wide:
        entries = []
        for column in columns.wide:
            if column.name in fields:
                entries.append(_Entry(f"{LINEAR}/{column.name}/weights", fields[column.name]))
            else:
                numeric.append(column.name)
        bias = Block(f"{LINEAR}/bias_weights", 1, flat=True)
        tables = _build_tables("fused/wide", units, entries, encoding, bias)
    return Layout(
        tables,
        tuple(numbers[name] for name in numeric),
        tuple(f"{LINEAR}/{name}/weights" for name in numeric),
        _build_deep(columns.deep, encoding, fields, numbers) if deep else None,
    )


def unsupported_column(columns: Sequence[Any], encoding: Encoding) -> Optional[str]:
    """Returns the name of a feature column that a layout cannot contain; None if all are possible.

    Args:
        columns: feature columns.
        encoding: of the rows.
    """
    fields = {field.name for field in encoding.fields}
    numbers = {name_feature(name) for name in encoding.numbers}
    for column in columns:
        inner = getattr(column, "categorical_column", column)
        if inner.name not in fields and column.name not in numbers:
            return str(column.name)
    return None


class _Entry(NamedTuple):
    """A canned variable whose rows a field selects.

    Attributes:
        variable: its name.
        field: column of the ids.
    """

    variable: str
    field: int


def _build_tables(
    name: str,
    dimension: int,
    entries: Sequence[_Entry],
    encoding: Encoding,
    bias: Optional[Block] = None,
) -> tuple[Table, ...]:
    """Builds up to two tables, of small and of large variables; the bias is in the first."""
    tables = []
    for is_large in (False, True):
        chosen = [
            entry
            for entry in entries
            if (encoding.fields[entry.field].size * dimension > MAX_SMALL) == is_large
        ]
        blocks = [Block(entry.variable, encoding.fields[entry.field].size) for entry in chosen]
        if bias is not None and not is_large:
            blocks.append(bias)
        if not blocks:
            continue
        tables.append(
            Table(
                f"{name}_large" if is_large else name,
                dimension,
                tuple(blocks),
                tuple(entry.field for entry in chosen),
                is_large,
                any(_may_lack(encoding.fields[entry.field]) for entry in chosen),
            )
        )
    return tuple(tables)


def _may_lack(field: Field) -> bool:
    return field.kind not in ALWAYS_PRESENT and field.part != "year"


def _build_deep(
    columns: Sequence[Any],
    encoding: Encoding,
    fields: Mapping[str, int],
    numbers: Mapping[str, int],
) -> Deep:
    hot: list[Any] = []
    dense: list[Any] = []
    embedded: dict[int, list[Any]] = {}
    # Column → its first row in the canned kernel.
    starts: dict[str, int] = {}
    # TensorFlow's input layer sorts its columns by name.
    start = 0
    for column in sorted(columns, key=lambda column: column.name):
        starts[column.name] = start
        inner = getattr(column, "categorical_column", None)
        if inner is None:
            dense.append(column)
            start += 1
        elif hasattr(column, "dimension"):
            embedded.setdefault(column.dimension, []).append(column)
            start += column.dimension
        else:
            hot.append(column)
            start += inner.num_buckets
    order: list[int] = []
    for column in hot:
        first = starts[column.name]
        order += range(first, first + column.categorical_column.num_buckets)
    tables: list[Table] = []
    for dimension, group in sorted(embedded.items()):
        entries = [
            _Entry(
                f"{INPUT_LAYER}/{column.name}/embedding_weights",
                fields[column.categorical_column.name],
            )
            for column in group
        ]
        built = _build_tables(f"fused/embeddings_{dimension}", dimension, entries, encoding)
        tables += built
        by_variable = {entry.variable: column for entry, column in zip(entries, group)}
        for table in built:
            for block in table.blocks:
                first = starts[by_variable[block.name].name]
                order += range(first, first + dimension)
    order += [starts[column.name] for column in dense]
    return Deep(
        tuple(fields[column.categorical_column.name] for column in hot),
        tuple(column.categorical_column.num_buckets for column in hot),
        tuple(tables),
        tuple(numbers[column.name] for column in dense),
        tuple(order),
    )
