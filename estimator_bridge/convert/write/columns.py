"""Writes Keras code for feature columns, with one method per kind of column."""

import keyword
import re
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple, Optional

from ..plan.columns import (
    HASH_KEY,
    Bucketized,
    Crossed,
    Embedding,
    Hashed,
    Identity,
    Input,
    Numeric,
    Raw,
    Vocabulary,
    Weighted,
    hashing_order,
    name_of,
    num_ids,
    quoted,
)
from .column_functions import CODE_OF_HELPERS, MAX_WHOLE_TABLE
from .texts import CODE_OF_TEXTS, DerivedVariables, write_derived

__all__ = ["ColumnWriter", "Table", "identifier"]


class Table(NamedTuple):
    """A variable of a layer, and its name in the checkpoint.

    Attributes:
      layer: name of the Keras layer.
      attribute: embeddings, kernel, bias, gamma, beta, moving_mean or moving_variance.
      names: possible ends of the checkpoint variable's name, the most likely first.
    """

    layer: str
    attribute: str
    names: tuple[str, ...]


class _Ids(NamedTuple):
    """The variables of a categorical column in the written code, by name.

    Attributes:
      ids: ids [batch, values]; -1 is not looked up.
      weights: weights [batch, values], or None.
    """

    ids: str
    weights: Optional[str]


def identifier(text: str) -> str:
    """Returns a valid Python name similar to a text.

    Args:
      text: any text.
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "column"
    return f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


class ColumnWriter:
    """Writes the code of columns. The code of each column is written only once.

    Args:
      inputs: raw features of the model.
      derived: features derived from them.

    Attributes:
      constants: lines of module-level constants.
      lines: lines of the function that builds the model.
      helpers: names of the helper functions in use.
      tables: layer variables with their names in the checkpoint.
    """

    def __init__(self, inputs: tuple[Input, ...], derived: tuple[Any, ...] = ()):
        self.constants: list[str] = []
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.tables: list[Table] = []
        self._inputs = {feature.name: feature for feature in inputs}
        self._derived = {one.name: one for one in derived}
        self._taken: set[str] = {
            "inputs",
            "layers",
            "ops",
            "keras",
            "model",
            "outputs",
            *CODE_OF_TEXTS,
            *CODE_OF_HELPERS,
        }
        self._written: dict[Any, Any] = {}

    def fresh(self, text: str) -> str:
        """Returns a new variable name.

        Args:
          text: text that the name resembles.
        """
        name = base = identifier(text)
        number = 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def write(self, text: str, expression: str) -> str:
        """Writes `name = expression` and returns the name.

        Args:
          text: text that the name resembles.
          expression: Python code.
        """
        name = self.fresh(text)
        self.lines.append(f"{name} = {expression}")
        return name

    def use(self, helper: str) -> str:
        """Adds a helper function, and those that it calls, to the module; returns its name.

        Args:
          helper: name of the function.
        """
        self.helpers.add(helper)
        for needed in {**CODE_OF_TEXTS, **CODE_OF_HELPERS}[helper][0]:
            self.use(needed)
        return helper

    def helpers_code(self) -> Iterator[str]:
        """Yields the source of the helper functions in use; the functions for texts come first."""
        for name, (_, code) in {**CODE_OF_TEXTS, **CODE_OF_HELPERS}.items():
            if name in self.helpers:
                yield code

    def once(self, key: Any, write: Callable[[], Any]) -> Any:
        """Returns the result of write(), which is called only once per key.

        Args:
          key: identifies the result.
          write: writes code; returns its variables.
        """
        if key not in self._written:
            self._written[key] = write()
        return self._written[key]

    def feature(self, key: str) -> str:
        """Returns the code of a feature, which is an input or is derived from an input.

        Args:
          key: name of the feature.
        """
        if key in self._derived:
            return self._derived_variables(key).values
        return f"inputs[{quoted(key)}]"

    def _derived_variables(self, key: str) -> DerivedVariables:
        return self.once(("derived", key), lambda: write_derived(self, self._derived[key]))

    def numeric(self, column: Numeric) -> str:
        """Writes a numeric column; returns its variable, float32 [batch, width].

        Args:
          column: the column.
        """
        return self.once(
            ("numeric", id(column.normalizer), column.key), lambda: self._numeric(column)
        )

    def _numeric(self, column: Numeric) -> str:
        raw = self.feature(column.key)
        flat = "layers.Flatten()({})" if column.shape else "{}"
        if column.normalizer is None:
            return self.write(column.key, flat.format(f'ops.cast({raw}, "float32")'))
        x = self.write(column.key, raw)
        code = re.sub(r"\bx\b", x, column.normalizer.expression)
        return self.write(f"{column.key}_normalized", flat.format(code))

    def present(self, column: Any) -> Optional[str]:
        """Writes the mask of present values; returns its variable, bool [batch, values].

        Args:
          column: categorical column.

        Returns:
          The variable, or None if all values are present.
        """
        if isinstance(column, Bucketized) or (isinstance(column, Raw) and not column.sparse):
            return None
        if isinstance(column, Weighted):
            return self.present(column.source)
        if isinstance(column, Crossed):
            return self._crossed_present(column)
        if column.key in self._derived and self._derived_variables(column.key).present:
            return self._derived_variables(column.key).present
        helper = self.use("is_present")
        return self.once(
            ("present", column.key),
            lambda: self.write(f"{column.key}_present", f"{helper}({self.feature(column.key)})"),
        )

    def _crossed_present(self, column: Crossed) -> Optional[str]:
        parts = [(part, self.present(part)) for part in hashing_order(column)]
        if all(name is None for _, name in parts):
            return None
        helper = self.use("all_present")
        # A part without a mask has only present values. Its mask is written for the shape.
        names = ", ".join(
            name or f"ops.equal({self.raw_ids(part)}, {self.raw_ids(part)})" for part, name in parts
        )
        return self.once(
            ("present", column),
            lambda: self.write(f"{name_of(column)}_present", f"{helper}([{names}])"),
        )

    def raw_ids(self, column: Any) -> str:
        """Writes the ids that a cross hashes, for all values; returns their variable.

        Args:
          column: categorical column, or a feature that a cross reads by name.

        Returns:
          Variable [batch, values]; missing values have ids, too.
        """
        if isinstance(column, Raw):
            return self.feature(column.key)
        writers: dict[type, Callable[[Any], str]] = {
            Bucketized: self._bucketized,
            Vocabulary: self._vocabulary,
            Hashed: self._hashed,
            Identity: self._identity,
            Crossed: self._crossed,
        }
        if isinstance(column, Weighted):
            return self.raw_ids(column.source)
        return self.once(("raw", column), lambda: writers[type(column)](column))

    def ids(self, column: Any) -> _Ids:
        """Writes the ids to look up, and their weights; returns their variables.

        Args:
          column: categorical column.
        """
        if isinstance(column, Weighted):
            weights = f'ops.cast({self.feature(column.weight_key)}, "float32")'
            weights = self.once(
                ("weights", column.weight_key), lambda: self.write(column.weight_key, weights)
            )
            return _Ids(self.ids(column.source).ids, weights)
        raw, present = self.raw_ids(column), self.present(column)
        if present is None:
            return _Ids(raw, None)
        name = self.once(
            ("ids", column),
            lambda: self.write(f"{name_of(column)}_ids", f"ops.where({present}, {raw}, -1)"),
        )
        return _Ids(name, None)

    def _bucketized(self, column: Bucketized) -> str:
        source, size = self.numeric(column.source), len(column.boundaries) + 1
        boundaries = self.constant(f"{column.source.key}_boundaries", list(column.boundaries))
        ids = f'ops.cast(layers.Discretization({boundaries})({source}), "int64")'
        if column.source.width > 1:
            steps = [size * index for index in range(column.source.width)]
            ids = f'ops.add({ids}, np.array({steps}, "int64"))'
        return self.write(f"{column.source.key}_bucket", ids)

    def constant(self, text: str, value: Iterable[Any]) -> str:
        """Writes a module-level list and returns its name.

        Args:
          text: text that the name resembles.
          value: items of the list.
        """
        name = self.fresh(text).upper()
        lines = [f"{name} = ["]
        row = "   "
        for item in map(repr, value):
            if len(row) + len(item) > 96 and row.strip():
                lines.append(row)
                row = "   "
            row += f" {item},"
        self.constants += [*lines, row, "]"]
        return name

    def _vocabulary(self, column: Vocabulary) -> str:
        values = self.feature(column.key)
        constant = self.constant(f"{column.key}_vocabulary", column.values)
        kind = "StringLookup" if column.dtype == "string" else "IntegerLookup"
        options = f"vocabulary={constant}, mask_token=None, oov_token={_unused_value(column)!r}"
        # The layer returns 0 for unknown values, and numbers known values from 1.
        index = self.write(f"{column.key}_index", f"layers.{kind}({options})({values})")
        if column.oov_buckets:
            other = f"ops.add(layers.Hashing({column.oov_buckets})({values}), {len(column.values)})"
        elif column.default >= 0:
            other = str(column.default)
        else:
            return self.write(f"{column.key}_id", f"ops.subtract({index}, 1)")
        return self.write(
            f"{column.key}_id",
            f"ops.where(ops.equal({index}, 0), {other}, ops.subtract({index}, 1))",
        )

    def table(self, column: Embedding, ids: str, summed: bool) -> str:
        """Writes an embedding layer, or a tensor of all of its rows; returns the variable.

        Columns that share a table share the layer.

        Args:
          column: the column.
          ids: variable of the ids.
          summed: whether gradients are summed per row.
        """
        return self.once(("table", column.table), lambda: self._table(column, ids, summed))

    def _table(self, column: Embedding, ids: str, summed: bool) -> str:
        layer = f"dnn_{self.fresh(column.table)}"
        scope = "dnn/input_from_feature_columns/input_layer"
        names: tuple[str, ...] = (
            f"{scope}/{column.table}/embedding_weights",
            f"/{column.table}/embedding_weights",
        )
        if column.shared:
            names = (*names, f"/{column.table}", column.table)
        self.tables.append(Table(layer, "embeddings", names))
        size = num_ids(column.source)
        initializer = f"keras.initializers.TruncatedNormal(stddev={column.dimension**-0.5:.6g})"
        more = "" if column.trainable else ", trainable=False"
        code = f'layers.Embedding({size}, {column.dimension}, {initializer}, name="{layer}"{more})'
        if summed:
            code = self.summed_table(code, size * column.dimension, ids)
        return self.write(layer, code)

    def summed_table(self, code: str, size: int, ids: str) -> str:
        """Returns the code of a tensor of all rows; of the layer itself if the table is large.

        Args:
          code: code of the layer.
          size: number of its weights.
          ids: variable of the ids.
        """
        return f"{self.use('all_rows')}({code}, {ids})" if size <= MAX_WHOLE_TABLE else code

    def _hashed(self, column: Hashed) -> str:
        values = self.feature(column.key)
        return self.write(f"{column.key}_id", f"layers.Hashing({column.buckets})({values})")

    def _identity(self, column: Identity) -> str:
        values = f'ops.cast({self.feature(column.key)}, "int64")'
        if column.default is None:
            return self.write(f"{column.key}_id", values)
        value = self.write(column.key, values)
        inside = (
            f"ops.logical_and(ops.greater_equal({value}, 0), ops.less({value}, {column.buckets}))"
        )
        return self.write(f"{column.key}_id", f"ops.where({inside}, {value}, {column.default})")

    def _is_single(self, column: Any) -> bool:
        """Returns whether each row of an input, or of its buckets, has one value."""
        if isinstance(column, Bucketized):
            return column.source.width == 1
        return (
            column.key in self._inputs
            and column.key not in self._derived
            and (self._inputs[column.key].width == 1)
        )

    def _crossed(self, column: Crossed) -> str:
        parts = [self.raw_ids(part) for part in hashing_order(column)]
        name, listed = f"{name_of(column)}_id", ", ".join(parts)
        single = all(self._is_single(part) for part in hashing_order(column))
        if len(parts) == 2 and single and column.hash_key == HASH_KEY:
            return self.write(name, f"layers.HashedCrossing({column.buckets})(({listed}))")
        helper = self.use("cross")
        return self.write(name, f"{helper}([{listed}], {column.buckets}, {column.hash_key:#X})")


def _unused_value(column: Vocabulary) -> Any:
    """Returns a value outside the vocabulary, which the lookup layer needs for unknown values."""
    if column.dtype == "string":
        text = "[UNK]"
        while text in column.values:
            text += "?"
        return text
    number = -1
    while number in column.values:
        number -= 1
    return number
