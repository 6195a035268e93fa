"""Keras code for feature columns: one method a kind, each returning the name of the variable that
it wrote.
"""

import keyword
import re
from typing import Any, NamedTuple, Optional

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
from .texts import CODE_OF_TEXTS, Taken, write_derived

__all__ = ["ColumnWriter", "Table", "identifier"]


class Table(NamedTuple):
    """A layer's variable and the checkpoint's.

    Attributes:
      layer: name of the Keras layer.
      attribute: embeddings, kernel, bias, gamma, beta, moving_mean or moving_variance.
      names: possible endings of the checkpoint variable's name, the likeliest first.
    """

    layer: str
    attribute: str
    names: tuple[str, ...]


class _Ids(NamedTuple):
    """Names of variables of the written code.

    Attributes:
      ids: [batch, values], -1 where there is nothing to look up.
      weights: [batch, values] or None.
    """

    ids: str
    weights: Optional[str]


def identifier(text: str) -> str:
    """A Python name that resembles `text`."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "column"
    return f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


class ColumnWriter:
    """Writes the code of columns, each once.

    Attributes:
      constants: lines of module-level constants.
      lines: lines of the function's body.
      helpers: names of the helper functions in use.
      tables: what the checkpoint's variables are here.
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
        self._done: dict[Any, Any] = {}

    def fresh(self, text: str) -> str:
        """A variable name that is not taken yet."""
        name = base = identifier(text)
        number = 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def write(self, text: str, expression: str) -> str:
        """Writes `name = expression` and returns the name, which resembles `text`."""
        name = self.fresh(text)
        self.lines.append(f"{name} = {expression}")
        return name

    def use(self, helper: str) -> str:
        """Has a helper function, and those that it needs, written into the module."""
        self.helpers.add(helper)
        for needed in {**CODE_OF_TEXTS, **CODE_OF_HELPERS}[helper][0]:
            self.use(needed)
        return helper

    def helpers_code(self):
        """Yields the source of the helper functions in use, those of texts first."""
        for name, (_, code) in {**CODE_OF_TEXTS, **CODE_OF_HELPERS}.items():
            if name in self.helpers:
                yield code

    def once(self, key: Any, make: Any) -> Any:
        """What make() gives, which is called the first time only."""
        if key not in self._done:
            self._done[key] = make()
        return self._done[key]

    def feature(self, key: str) -> str:
        """Code of a feature: an input, or what was made of one."""
        return self._taken_apart(key).values if key in self._derived else f"inputs[{quoted(key)}]"

    def _taken_apart(self, key) -> Taken:
        return self.once(("derived", key), lambda: write_derived(self, self._derived[key]))

    def numeric(self, column: Numeric) -> str:
        """[batch, width] float32."""
        return self.once(
            ("numeric", id(column.normalizer), column.key), lambda: self._numeric(column)
        )

    def _numeric(self, column):
        raw = self.feature(column.key)
        flat = "layers.Flatten()({})" if column.shape else "{}"
        if column.normalizer is None:
            return self.write(column.key, flat.format(f'ops.cast({raw}, "float32")'))
        x = self.write(column.key, raw)
        code = re.sub(r"\bx\b", x, column.normalizer.expression)
        return self.write(f"{column.key}_normalized", flat.format(code))

    def given(self, column: Any) -> Optional[str]:
        """[batch, values] bool: where there is a value; None: everywhere."""
        if isinstance(column, Bucketized) or (isinstance(column, Raw) and not column.sparse):
            return None
        if isinstance(column, Weighted):
            return self.given(column.source)
        if isinstance(column, Crossed):
            parts = [(part, self.given(part)) for part in hashing_order(column)]
            if all(name is None for _, name in parts):
                return None
            helper = self.use("all_given")

            def mask(part, name):
                # A part that always has a value still has to take its axis.
                return name or f"ops.equal({self.raw_ids(part)}, {self.raw_ids(part)})"

            names = ", ".join(mask(part, name) for part, name in parts)
            return self.once(
                ("given", column),
                lambda: self.write(f"{name_of(column)}_given", f"{helper}([{names}])"),
            )
        if column.key in self._derived and self._taken_apart(column.key).given:
            return self._taken_apart(column.key).given
        helper = self.use("is_given")
        return self.once(
            ("given", column.key),
            lambda: self.write(f"{column.key}_given", f"{helper}({self.feature(column.key)})"),
        )

    def raw_ids(self, column: Any) -> str:
        """[batch, values] ids before values that are none are taken out: what a cross hashes."""
        if isinstance(column, Raw):
            return self.feature(column.key)
        makers = {
            Bucketized: self._bucketized,
            Vocabulary: self._vocabulary,
            Hashed: self._hashed,
            Identity: self._identity,
            Crossed: self._crossed,
        }
        if isinstance(column, Weighted):
            return self.raw_ids(column.source)
        return self.once(("raw", column), lambda: makers[type(column)](column))

    def ids(self, column: Any) -> _Ids:
        """Ids to look up, and their weights."""
        weights = None
        if isinstance(column, Weighted):
            weights = f'ops.cast({self.feature(column.weight_key)}, "float32")'
            weights = self.once(
                ("weights", column.weight_key), lambda: self.write(column.weight_key, weights)
            )
            return _Ids(self.ids(column.source).ids, weights)
        raw, given = self.raw_ids(column), self.given(column)
        if given is None:
            return _Ids(raw, weights)
        name = self.once(
            ("ids", column),
            lambda: self.write(f"{name_of(column)}_ids", f"ops.where({given}, {raw}, -1)"),
        )
        return _Ids(name, weights)

    def _bucketized(self, column):
        source, size = self.numeric(column.source), len(column.boundaries) + 1
        boundaries = self.constant(f"{column.source.key}_boundaries", list(column.boundaries))
        ids = f'ops.cast(layers.Discretization({boundaries})({source}), "int64")'
        if column.source.width > 1:
            steps = [size * index for index in range(column.source.width)]
            ids = f'ops.add({ids}, np.array({steps}, "int64"))'
        return self.write(f"{column.source.key}_bucket", ids)

    def constant(self, text: str, value) -> str:
        """Writes a module-level list and returns its name."""
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

    def _vocabulary(self, column):
        values = self.feature(column.key)
        constant = self.constant(f"{column.key}_vocabulary", column.values)
        if column.dtype == "string":
            unknown = "[UNK]"
            while unknown in column.values:
                unknown += "?"
            kind = "StringLookup"
        else:
            unknown = -1
            while unknown in column.values:
                unknown -= 1
            kind = "IntegerLookup"
        options = f"vocabulary={constant}, mask_token=None, oov_token={unknown!r}"
        # The layer numbers an unknown value 0, and the known ones from 1.
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
        """The embedding layer of a column, or its rows, made once however many columns share it."""
        return self.once(("table", column.table), lambda: self._table(column, ids, summed))

    def _table(self, column, ids, summed):
        layer = f"dnn_{self.fresh(column.table)}"
        scope = "dnn/input_from_feature_columns/input_layer"
        names = (f"{scope}/{column.table}/embedding_weights", f"/{column.table}/embedding_weights")
        names += (f"/{column.table}", column.table) if column.shared else ()
        self.tables.append(Table(layer, "embeddings", names))
        start = f"keras.initializers.TruncatedNormal(stddev={column.dimension**-0.5:.6g})"
        shape = (num_ids(column.source), column.dimension)
        code = self.table_code(layer, shape, start, ids, summed, column.trainable)
        return self.write(layer, code)

    def table_code(
        self, layer: str, shape, start: str, ids: str, summed: bool, trainable: bool = True
    ) -> str:
        """Code of an embedding layer; of all of its rows, if gradients are to be summed by row."""
        more = "" if trainable else ", trainable=False"
        code = f'layers.Embedding({shape[0]}, {shape[1]}, {start}, name="{layer}"{more})'
        if summed and shape[0] * shape[1] <= MAX_WHOLE_TABLE:
            return f"{self.use('every_row')}({code}, {ids})"
        return code

    def _hashed(self, column):
        values = self.feature(column.key)
        return self.write(f"{column.key}_id", f"layers.Hashing({column.buckets})({values})")

    def _identity(self, column):
        values = f'ops.cast({self.feature(column.key)}, "int64")'
        if column.default is None:
            return self.write(f"{column.key}_id", values)
        value = self.write(column.key, values)
        inside = (
            f"ops.logical_and(ops.greater_equal({value}, 0), ops.less({value}, {column.buckets}))"
        )
        return self.write(f"{column.key}_id", f"ops.where({inside}, {value}, {column.default})")

    def _is_single(self, column) -> bool:
        if isinstance(column, Bucketized):
            return column.source.width == 1
        return (
            column.key in self._inputs
            and column.key not in self._derived
            and (self._inputs[column.key].width == 1)
        )

    def _crossed(self, column):
        parts = [self.raw_ids(part) for part in hashing_order(column)]
        name, listed = f"{name_of(column)}_id", ", ".join(parts)
        single = all(self._is_single(part) for part in hashing_order(column))
        if len(parts) == 2 and single and column.hash_key == HASH_KEY:
            return self.write(name, f"layers.HashedCrossing({column.buckets})(({listed}))")
        helper = self.use("cross")
        return self.write(name, f"{helper}([{listed}], {column.buckets}, {column.hash_key:#X})")
