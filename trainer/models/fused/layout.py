"""Where the variables of a canned model lie in the few tables of the fused one."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from trainer.features.columns import FeatureColumns, name_feature
from trainer.features.encoding import Encoding

LINEAR = "linear/linear_model"
INPUT_LAYER = "dnn/input_from_feature_columns/input_layer"
# A variable of more numbers than this is kept in a table whose steps touch a few rows only; below,
# a pass over the whole table costs less than finding out which rows a batch has.
MAX_SMALL = 1 << 15
# Kinds of field that have an id in every row.
ALWAYS_THERE = ("bucketized", "cross")


class Block(NamedTuple):
    """Rows of a table that are one variable of the canned model.

    Attributes:
        name: the canned variable's.
        size: number of rows.
        flat: whether the variable is [dimension] rather than [size, dimension].
    """

    name: str
    size: int
    flat: bool = False


class Table(NamedTuple):
    """Variables of one width, one above the other; row 0 is zero and stands for no value.

    Attributes:
        name: of the variable in the graph.
        dimension: its width.
        blocks: the canned variables, from row 1 on; first one for each field.
        fields: which columns of the ids select rows.
        is_large: whether a step is to touch only the rows that it needs.
        may_lack: whether a row of data may have no value of some field.
    """

    name: str
    dimension: int
    blocks: tuple[Block, ...]
    fields: tuple[int, ...]
    is_large: bool
    may_lack: bool

    @property
    def num_rows(self) -> int:
        """Rows of the variable."""
        return 1 + sum(block.size for block in self.blocks)

    @property
    def offsets(self) -> list[int]:
        """Row of id 0 of each field; behind them, of the blocks that belong to no field."""
        starts = [1]
        for block in self.blocks[:-1]:
            starts.append(starts[-1] + block.size)
        return starts


class Deep(NamedTuple):
    """The input of the deep part: one-hot fields, embeddings, numbers, in this order.

    Attributes:
        hot: which columns of the ids are one-hot.
        hot_sizes: their widths.
        tables: the embeddings, a table for each dimension.
        numbers: which columns of the numbers.
        order: canned row of each row of our first kernel.
    """

    hot: tuple[int, ...]
    hot_sizes: tuple[int, ...]
    tables: tuple[Table, ...]
    numbers: tuple[int, ...]
    order: tuple[int, ...]


class Layout(NamedTuple):
    """The fused model of some feature columns.

    Attributes:
        wide: tables of the linear part; the first one ends with the bias. Empty without a part.
        wide_numbers: which columns of the numbers the linear part sees.
        wide_names: names of their canned variables.
        deep: input of the deep part, None without.
    """

    wide: tuple[Table, ...]
    wide_numbers: tuple[int, ...]
    wide_names: tuple[str, ...]
    deep: Optional[Deep]


def build_layout(
    columns: FeatureColumns, encoding: Encoding, units: int, wide: bool, deep: bool
) -> Layout:
    """Builds the layout of a model.

    Args:
        columns: feature columns; `unsupported_column` says None of them.
        encoding: what the model reads.
        units: number of logits.
        wide, deep: the parts that it has.
    """
    fields = {field.name: number for number, field in enumerate(encoding.fields)}
    numbers = {name_feature(name): number for number, name in enumerate(encoding.numbers)}
    tables: tuple[Table, ...] = ()
    numeric: list[str] = []
    if wide:
        entries = []
        for column in columns.wide:
            if column.name in fields:
                entries.append((f"{LINEAR}/{column.name}/weights", fields[column.name]))
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
    """Name of a feature column that has no place in a layout; None where all have one."""
    fields = {field.name for field in encoding.fields}
    numbers = {name_feature(name) for name in encoding.numbers}
    for column in columns:
        inner = getattr(column, "categorical_column", column)
        if inner.name not in fields and column.name not in numbers:
            return column.name
    return None


def _build_tables(name, dimension, entries, encoding, bias=None) -> tuple[Table, ...]:
    """At most two tables, of the small and of the large variables; the bias is in the first."""
    tables = []
    for is_large in (False, True):
        here = [
            (variable, number)
            for variable, number in entries
            if (encoding.fields[number].size * dimension > MAX_SMALL) == is_large
        ]
        blocks = [Block(variable, encoding.fields[number].size) for variable, number in here]
        if bias is not None and not is_large:
            blocks.append(bias)
        if not blocks:
            continue
        tables.append(
            Table(
                f"{name}_large" if is_large else name,
                dimension,
                tuple(blocks),
                tuple(number for _, number in here),
                is_large,
                any(_may_lack(encoding.fields[number]) for _, number in here),
            )
        )
    return tuple(tables)


def _may_lack(field) -> bool:
    return field.kind not in ALWAYS_THERE and field.part != "year"


def _build_deep(columns, encoding, fields, numbers) -> Deep:
    hot, dense, embedded, starts = [], [], {}, {}
    # The input layer of TensorFlow has its columns in the order of their names.
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
    order = []
    for column in hot:
        order += range(
            starts[column.name], starts[column.name] + column.categorical_column.num_buckets
        )
    tables = []
    for dimension, group in sorted(embedded.items()):
        entries = [
            (
                f"{INPUT_LAYER}/{column.name}/embedding_weights",
                fields[column.categorical_column.name],
            )
            for column in group
        ]
        built = _build_tables(f"fused/embeddings_{dimension}", dimension, entries, encoding)
        tables += built
        names = {name: column for (name, _), column in zip(entries, group)}
        for table in built:
            for block in table.blocks:
                first = starts[names[block.name].name]
                order += range(first, first + dimension)
    order += [starts[column.name] for column in dense]
    return Deep(
        tuple(fields[column.categorical_column.name] for column in hot),
        tuple(column.categorical_column.num_buckets for column in hot),
        tuple(tables),
        tuple(numbers[column.name] for column in dense),
        tuple(order),
    )
