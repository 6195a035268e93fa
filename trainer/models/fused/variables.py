"""The variables of the fused model, and how they are saved to and restored from checkpoints.

A checkpoint contains only the canned variables, with their names and shapes. Therefore each engine
can continue from a checkpoint of the other. Each fused variable is a concatenation of canned
variables.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np

from estimator_bridge import tf
from estimator_bridge.model_files.saving_beside import SaverBeside
from trainer.models.fused.layout import Block, Deep, Layout, Table

DNN = "dnn"
WIDE_NUMBERS = "fused/wide_numbers"


class Stored(NamedTuple):
    """A variable of the graph, and the canned variables that it consists of.

    Attributes:
        variable: of the graph.
        name: in the checkpoint, if it is one canned variable.
        blocks: the canned variables, from row 1 on; empty if it is one canned variable.
        order: for each of its rows, the row of the canned variable; None if the order is the same.
        first: initial value of row 0 of a table. Checkpoints do not contain this row.
    """

    variable: Any
    name: str
    blocks: tuple[Block, ...] = ()
    order: Optional[tuple[int, ...]] = None
    first: float = 0.0

    @property
    def names(self) -> list[str]:
        """Names of the canned variables."""
        return [block.name for block in self.blocks] or [self.name]

    @property
    def shapes(self) -> list[list[int]]:
        """Shapes of the canned variables, in the order of `names`."""
        shape: list[int] = self.variable.shape.as_list()
        return [shape[1:] if block.flat else [block.size, *shape[1:]] for block in self.blocks] or [
            shape
        ]

    def split(self) -> list[Any]:
        """Returns the values of the canned variables, in the order of `names`."""
        value = self.variable.read_value()
        if self.order is not None:
            return [tf.gather(value, np.argsort(self.order))]
        if not self.blocks:
            return [value]
        parts = tf.split(value, [1, *(block.size for block in self.blocks)])[1:]
        return [
            tf.reshape(part, [-1]) if block.flat else part
            for part, block in zip(parts, self.blocks)
        ]

    def join(self, tensors: Sequence[Any]) -> Any:
        """Returns the value of the variable, given the values of the canned variables.

        Args:
            tensors: values in the order of `names`.
        """
        if self.order is not None:
            return tf.gather(tensors[0], self.order)
        if not self.blocks:
            return tensors[0]
        return _stack(tensors, self.variable.shape[1], self.first)

    def restore(self, tensors: Sequence[Any]) -> Any:
        """Returns the operation that sets the variable.

        Args:
            tensors: values of the canned variables, in the order of `names`.
        """
        if not self.variable.shape.rank:
            tensors = [tf.ensure_shape(tensor, []) for tensor in tensors]
        return self.variable.assign(self.join(tensors), read_value=False)

    def build_slot(self, scope: str, slot: str, value: float) -> "Stored":
        """Creates a slot variable, of the same shape and blocks.

        Args:
            scope: of the optimizer's variables.
            slot: name of the slot.
            value: initial value.
        """
        return Stored(
            _create(
                f"{scope}/{self.variable.op.name}/{slot}",
                tf.fill(self.variable.shape, value),
                trainable=False,
            ),
            f"{scope}/{self.name}/{slot}",
            tuple(block._replace(name=f"{scope}/{block.name}/{slot}") for block in self.blocks),
            self.order,
            value,
        )


class Variables(NamedTuple):
    """The trained variables of a model: all are Stored, all are variables, or all are tensors.

    Attributes:
        wide: one for each wide table of the layout, [rows, logits]; for a large table it may be
            the tuple of its blocks.
        wide_numbers: [1 + numbers of the linear part, logits]; row 0 is not used. None if the
            linear part has no numbers.
        embeddings: one for each embedding table of the layout, [rows, dimension]; for a large table
            it may be the tuple of its blocks.
        kernels: of the hidden layers and the logits, [inputs, units].
        biases: of the hidden layers and the logits, [units].
    """

    wide: tuple[Any, ...]
    wide_numbers: Any
    embeddings: tuple[Any, ...]
    kernels: tuple[Any, ...]
    biases: tuple[Any, ...]

    @property
    def of_linear(self) -> list[Any]:
        """Variables of the linear part."""
        return [*self.wide, *([] if self.wide_numbers is None else [self.wide_numbers])]

    @property
    def of_deep(self) -> list[Any]:
        """Variables of the deep part."""
        return [*self.embeddings, *self.kernels, *self.biases]

    def map(self, function: Callable[[Any], Any]) -> "Variables":
        """Applies a function to each variable and returns the results.

        Args:
            function: of one variable.
        """
        return Variables(
            tuple(map(function, self.wide)),
            None if self.wide_numbers is None else function(self.wide_numbers),
            tuple(map(function, self.embeddings)),
            tuple(map(function, self.kernels)),
            tuple(map(function, self.biases)),
        )


def create_variables(
    layout: Layout, hidden_units: Sequence[int], units: int, has_dropout: bool
) -> tuple[Variables, list[tuple[int, int]]]:
    """Creates the variables of training, with the initial values of a canned model.

    TensorFlow derives the seed of a random operation from its number in the graph. The operations
    of the deep part are created in the same order as in the canned model. Therefore they draw the
    same numbers.

    Args:
        layout: of the model.
        hidden_units: widths of the hidden layers; not used without a deep part.
        units: number of logits.
        has_dropout: whether hidden layers have dropout.

    Returns:
        The variables, each a Stored; and the two seeds of the dropout of each hidden layer.
    """
    deep = _Deep((), (), (), [])
    if layout.deep is not None:
        deep = _create_deep(layout.deep, hidden_units, units, has_dropout)
    wide = [
        _create_table(table, [tf.zeros(_shape(table, block)) for block in table.blocks])
        for table in layout.wide
    ]
    numbers = None
    if layout.wide_numbers:
        blocks = tuple(Block(name, 1) for name in layout.wide_names)
        # Row 0 is not used, as in a table.
        value = tf.zeros([1 + len(blocks), units])
        numbers = Stored(_create(WIDE_NUMBERS, value), WIDE_NUMBERS, blocks)
    variables = Variables(tuple(wide), numbers, deep.embeddings, deep.kernels, deep.biases)
    return variables, deep.seeds


def restore_variables(
    layout: Layout, hidden_units: Sequence[int], units: int
) -> tuple[Variables, list[Stored]]:
    """Creates the variables of an evaluation or export; only a checkpoint gives them values.

    A large table is a tuple of its blocks, because a restore would otherwise need the table twice.

    Args:
        layout: of the model.
        hidden_units: widths of the hidden layers; not used without a deep part.
        units: number of logits.

    Returns:
        The variables; and each of them as a Stored, for build_saver.
    """
    stored: list[Stored] = []

    def create(name: str, shape: Sequence[int], *canned: Any) -> Any:
        stored.append(Stored(_create(name, tf.zeros(shape)), name, *canned))
        return stored[-1].variable

    def create_table(table: Table) -> Any:
        if table.is_large:
            return tuple(create(block.name, _shape(table, block)) for block in table.blocks)
        return create(table.name, [table.num_rows, table.dimension], table.blocks)

    numbers: Any = None
    embeddings: tuple[Any, ...] = ()
    kernels: list[Any] = []
    biases: list[Any] = []
    if layout.wide_numbers:
        blocks = tuple(Block(name, 1) for name in layout.wide_names)
        numbers = create(WIDE_NUMBERS, [1 + len(blocks), units], blocks)
    if layout.deep is not None:
        embeddings = tuple(map(create_table, layout.deep.tables))
        for name, shape in _list_layers(layout.deep, hidden_units, units):
            order = None if kernels else layout.deep.order
            kernel = _create_plain(f"{DNN}/{name}/kernel", tf.zeros(shape), order)
            stored.append(kernel)
            kernels.append(kernel.variable)
            biases.append(create(f"{DNN}/{name}/bias", shape[1:]))
    wide = tuple(map(create_table, layout.wide))
    return Variables(wide, numbers, embeddings, tuple(kernels), tuple(biases)), stored


class _Deep(NamedTuple):
    """Variables of the deep part, and the two seeds of the dropout of each hidden layer."""

    embeddings: tuple[Stored, ...]
    kernels: tuple[Stored, ...]
    biases: tuple[Stored, ...]
    seeds: list[tuple[int, int]]


def _create_deep(deep: Deep, hidden_units: Sequence[int], units: int, has_dropout: bool) -> _Deep:
    shapes = {block.name: _shape(table, block) for table in deep.tables for block in table.blocks}
    initial = {
        name: tf.compat.v1.truncated_normal_initializer(stddev=shapes[name][1] ** -0.5)(
            shapes[name]
        )
        for name in sorted(shapes)
    }
    embeddings = tuple(
        _create_table(table, [initial[block.name] for block in table.blocks])
        for table in deep.tables
    )
    kernels: list[Stored] = []
    biases: list[Stored] = []
    seeds: list[tuple[int, int]] = []
    for name, shape in _list_layers(deep, hidden_units, units):
        kernel, order = tf.compat.v1.glorot_uniform_initializer()(shape), None
        if not kernels:
            kernel, order = tf.gather(kernel, deep.order), deep.order
        kernels.append(_create_plain(f"{DNN}/{name}/kernel", kernel, order))
        biases.append(_create_plain(f"{DNN}/{name}/bias", tf.zeros(shape[1:])))
        if has_dropout and len(kernels) <= len(hidden_units):
            seeds.append(tf.compat.v1.random.get_seed(None))
    return _Deep(embeddings, tuple(kernels), tuple(biases), seeds)


def _list_layers(
    deep: Deep, hidden_units: Sequence[int], units: int
) -> Iterator[tuple[str, list[int]]]:
    """Yields the name of each layer and the shape of its kernel."""
    width = len(deep.order)
    names = [f"hiddenlayer_{number}" for number in range(len(hidden_units))]
    for name, size in zip([*names, "logits"], [*hidden_units, units]):
        yield name, [width, size]
        width = size


def _shape(table: Table, block: Block) -> list[int]:
    return [table.dimension] if block.flat else [block.size, table.dimension]


def _stack(tensors: Sequence[Any], dimension: int, first: float = 0.0) -> Any:
    """Concatenates blocks below a row 0 of the value `first`."""
    # Each operation counts where there are hundreds of blocks.
    rows = [
        tensor if tensor.shape.rank == 2 else tf.reshape(tensor, [-1, dimension])
        for tensor in tensors
    ]
    return tf.concat([tf.fill([1, dimension], first), *rows], axis=0)


def _create_table(table: Table, values: Sequence[Any]) -> Stored:
    return Stored(_create(table.name, _stack(values, table.dimension)), table.name, table.blocks)


def _create_plain(name: str, value: Any, order: Optional[tuple[int, ...]] = None) -> Stored:
    # A variable with another order of rows must not have the name of the canned variable.
    own = name if order is None else f"fused/{name}"
    return Stored(_create(own, value), name, order=order)


def _create(name: str, value: Any, trainable: bool = True) -> Any:
    return tf.compat.v1.get_variable(
        name, initializer=value, use_resource=True, trainable=trainable
    )


def create_plain(name: str, value: Any) -> Stored:
    """Creates a variable that is not trained.

    Args:
        name: in the graph and in the checkpoint.
        value: initial value, a tensor.
    """
    return Stored(_create(name, value, trainable=False), name)


def create_number(name: str, value: Any, dtype: Any = tf.float32) -> Stored:
    """Creates a scalar variable that is the same in the checkpoints of both engines.

    Args:
        name: of the variable.
        value: initial value.
        dtype: of the variable.
    """
    return create_plain(name, tf.constant(value, dtype))


class Savable(Protocol):
    """Variables of a graph that are saved in a form of their own, as those of Stored."""

    @property
    def names(self) -> list[str]:
        """Names in a checkpoint."""

    @property
    def shapes(self) -> list[list[int]]:
        """Shapes in a checkpoint, in the order of `names`."""

    def split(self) -> list[Any]:
        """Returns the values for a checkpoint, in the order of `names`."""

    def restore(self, tensors: Sequence[Any]) -> Any:
        """Returns the operation that sets the variables.

        Args:
            tensors: values of a checkpoint, in the order of `names`.
        """


def build_saver(stored: Sequence[Savable], config: Any = None) -> Any:
    """Builds a Saver that writes and restores checkpoints of the canned model.

    Args:
        stored: every variable of the graph.
        config: of training, an estimator.RunConfig with the number of checkpoints that are kept;
            they are written beside it. None: all are kept.

    Returns:
        A tf.compat.v1.train.Saver.
    """
    names = [name for one in stored for name in one.names]
    with tf.name_scope("save"), tf.device("/cpu:0"):
        prefix = tf.compat.v1.placeholder_with_default("model", [], name="Const")
        tensors = [tensor for one in stored for tensor in one.split()]
        written = tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors
        )
        with tf.control_dependencies([written]):
            saved = tf.identity(prefix, name="control_dependency")
        # Without its shape, a value of another shape might be broadcast or split.
        read = iter(
            tf.raw_ops.RestoreV2(
                prefix=prefix,
                tensor_names=names,
                shape_and_slices=[_describe(shape) for one in stored for shape in one.shapes],
                dtypes=[tensor.dtype for tensor in tensors],
            )
        )
        assigned = [one.restore([next(read) for _ in one.names]) for one in stored]
        restored = tf.group(*assigned, name="restore_all")
    definition = tf.compat.v1.train.SaverDef(
        filename_tensor_name=prefix.name,
        save_tensor_name=saved.name,
        restore_op_name=restored.name,
        max_to_keep=config and config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config and config.keep_checkpoint_every_n_hours,
        version=tf.compat.v1.train.SaverDef.V2,
    )
    options = {"saver_def": definition, "save_relative_paths": True}
    if config is None:
        return tf.compat.v1.train.Saver(**options)
    return SaverBeside(names, tensors, **options)


def _describe(shape: Sequence[int]) -> str:
    """Returns the shape and the whole as a slice, as TensorFlow writes them; "" for a scalar."""
    return " ".join([*map(str, shape), ":".join("-" * len(shape))])
