"""The fused model's variables, and their way to and from a canned model's checkpoint.

Each variable knows the canned variables that it holds; a checkpoint has those alone, under their
names and in their shapes, so that either engine goes on where the other one stopped.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge import tf
from trainer.models.fused.layout import Block, Layout, Table

DNN = "dnn"


class Stored(NamedTuple):
    """A variable of the graph, and what a checkpoint has of it.

    Attributes:
        variable: of the graph.
        name: in the checkpoint, where it is one variable there too.
        blocks: the canned variables that it is cut into, from row 1 on; empty where it is one.
        order: canned row of each of its rows; None: as they are.
        first: what row 0 of a table begins with; no checkpoint has it.
    """

    variable: Any
    name: str
    blocks: tuple[Block, ...] = ()
    order: Optional[tuple[int, ...]] = None
    first: float = 0.0

    @property
    def names(self) -> list[str]:
        """Its names in a checkpoint."""
        return [block.name for block in self.blocks] or [self.name]

    def split(self) -> list[Any]:
        """Tensors as a checkpoint has them, in the order of `names`."""
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
        """The reverse of split."""
        if self.order is not None:
            return tf.gather(tensors[0], self.order)
        if not self.blocks:
            return tensors[0]
        return _stack(tensors, self.variable.shape[1], self.first)

    def build_slot(self, scope: str, slot: str, value: float) -> "Stored":
        """A variable of the same shape and cut, for an optimizer."""
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
    """What the fused model learns.

    Attributes:
        wide: a table each, as in the layout: its rows, or of a large one the blocks.
        wide_numbers: [numbers of the linear part, logits], or None.
        embeddings: a table each.
        kernels, biases: of the hidden layers and the logits.
    """

    wide: tuple[Any, ...]
    wide_numbers: Any
    embeddings: tuple[Any, ...]
    kernels: tuple[Any, ...]
    biases: tuple[Any, ...]

    @property
    def of_linear(self) -> list:
        """Those of the linear part."""
        return [*self.wide, *([] if self.wide_numbers is None else [self.wide_numbers])]

    @property
    def of_deep(self) -> list:
        """Those of the deep part."""
        return [*self.embeddings, *self.kernels, *self.biases]

    def map(self, function: Callable) -> "Variables":
        """The same with the function of each variable in its place."""
        return Variables(
            tuple(map(function, self.wide)),
            None if self.wide_numbers is None else function(self.wide_numbers),
            tuple(map(function, self.embeddings)),
            tuple(map(function, self.kernels)),
            tuple(map(function, self.biases)),
        )


def create_variables(
    layout: Layout, hidden_units: Sequence[int], units: int, drops: bool
) -> tuple[Variables, list[tuple[int, int]]]:
    """Creates the variables of training, each a Stored, with a canned model's initial values.

    TensorFlow numbers the random operations of a graph: those of the deep part are made in the
    order in which the canned model makes its own, and so draw the same.

    Args:
        layout: of the model.
        hidden_units: widths of the hidden layers; unused without a deep part.
        units: number of logits.
        drops: whether there is dropout.

    Returns:
        the variables, and the seeds of the dropout of each hidden layer.
    """
    deep, seeds = ((), (), ()), []
    if layout.deep is not None:
        *deep, seeds = _create_deep(layout, hidden_units, units, drops)
    wide = [
        _create_table(table, [tf.zeros(_shape(table, block)) for block in table.blocks])
        for table in layout.wide
    ]
    numbers = None
    if layout.wide_numbers:
        blocks = tuple(Block(name, 1) for name in layout.wide_names)
        # As of a table, row 0 is nobody's.
        value = tf.zeros([1 + len(blocks), units])
        numbers = Stored(_create("fused/wide_numbers", value), "fused/wide_numbers", blocks)
    return Variables(tuple(wide), numbers, *deep), seeds


def read_variables(layout: Layout, hidden_units: Sequence[int], units: int) -> Variables:
    """Creates a canned model's own variables and reads them, as the same tensors.

    For evaluation and exports: any Saver restores them from either engine's checkpoint. A large
    table is left as the tensors of its blocks: putting them together would take longer than the
    rest.
    """

    def read(name, shape):
        return tf.compat.v1.get_variable(name, shape, use_resource=True).read_value()

    def read_table(table):
        values = [read(block.name, _shape(table, block)) for block in table.blocks]
        return tuple(values) if table.is_large else _stack(values, table.dimension)

    numbers, embeddings, kernels, biases = None, (), [], []
    if layout.wide_numbers:
        numbers = _stack([read(name, [1, units]) for name in layout.wide_names], units)
    if layout.deep is not None:
        embeddings = tuple(map(read_table, layout.deep.tables))
        for name, shape in _list_layers(layout, hidden_units, units):
            kernel = read(f"{DNN}/{name}/kernel", shape)
            kernels.append(kernel if kernels else tf.gather(kernel, layout.deep.order))
            biases.append(read(f"{DNN}/{name}/bias", shape[1:]))
    wide = tuple(map(read_table, layout.wide))
    return Variables(wide, numbers, embeddings, tuple(kernels), tuple(biases))


def _create_deep(layout, hidden_units, units, drops):
    shapes = {
        block.name: _shape(table, block) for table in layout.deep.tables for block in table.blocks
    }
    initial = {
        name: tf.compat.v1.truncated_normal_initializer(stddev=shapes[name][1] ** -0.5)(
            shapes[name]
        )
        for name in sorted(shapes)
    }
    embeddings = tuple(
        _create_table(table, [initial[block.name] for block in table.blocks])
        for table in layout.deep.tables
    )
    kernels, biases, seeds = [], [], []
    for name, shape in _list_layers(layout, hidden_units, units):
        kernel, order = tf.compat.v1.glorot_uniform_initializer()(shape), None
        if not kernels:
            kernel, order = tf.gather(kernel, layout.deep.order), layout.deep.order
        kernels.append(_create_plain(f"{DNN}/{name}/kernel", kernel, order))
        biases.append(_create_plain(f"{DNN}/{name}/bias", tf.zeros(shape[1:])))
        if drops and len(kernels) <= len(hidden_units):
            seeds.append(tf.compat.v1.random.get_seed(None))
    return embeddings, tuple(kernels), tuple(biases), seeds


def _list_layers(layout: Layout, hidden_units, units):
    """Name and kernel's shape of each layer."""
    width = len(layout.deep.order)
    names = [f"hiddenlayer_{number}" for number in range(len(hidden_units))]
    for name, size in zip([*names, "logits"], [*hidden_units, units]):
        yield name, [width, size]
        width = size


def _shape(table: Table, block: Block) -> list[int]:
    return [table.dimension] if block.flat else [block.size, table.dimension]


def _stack(tensors, dimension, first=0.0):
    rows = [tf.reshape(tensor, [-1, dimension]) for tensor in tensors]
    return tf.concat([tf.fill([1, dimension], first), *rows], axis=0)


def _create_table(table: Table, values) -> Stored:
    return Stored(_create(table.name, _stack(values, table.dimension)), table.name, table.blocks)


def _create_plain(name, value, order=None) -> Stored:
    # What has its rows in another order must not pass for the canned variable.
    own = name if order is None else f"fused/{name}"
    return Stored(_create(own, value), name, order=order)


def _create(name, value, trainable=True):
    return tf.compat.v1.get_variable(
        name, initializer=value, use_resource=True, trainable=trainable
    )


def create_number(name: str, value: Any, dtype: Any = tf.float32) -> Stored:
    """A scalar that is the same in both engines' checkpoints."""
    return Stored(_create(name, tf.constant(value, dtype), trainable=False), name)


def build_saver(stored: Sequence[Stored], config: Any) -> Any:
    """A Saver that writes and reads a canned model's checkpoints.

    Args:
        stored: every variable of the graph.
        config: an estimator.RunConfig: how many checkpoints are kept.
    """
    names = [name for one in stored for name in one.names]
    with tf.name_scope("save"), tf.device("/cpu:0"):
        prefix = tf.compat.v1.placeholder_with_default("model", [], name="Const")
        tensors = [tensor for one in stored for tensor in one.split()]
        slices = [""] * len(names)
        written = tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors
        )
        with tf.control_dependencies([written]):
            saved = tf.identity(prefix, name="control_dependency")
        read = iter(
            tf.raw_ops.RestoreV2(
                prefix=prefix,
                tensor_names=names,
                shape_and_slices=slices,
                dtypes=[tensor.dtype for tensor in tensors],
            )
        )
        shapes = iter([tensor.shape for tensor in tensors])
        assigned = []
        for one in stored:
            # A checkpoint of another shape is refused here, not broadcast or cut.
            values = [tf.ensure_shape(next(read), next(shapes)) for _ in one.names]
            assigned.append(one.variable.assign(one.join(values), read_value=False))
        restored = tf.group(*assigned, name="restore_all")
    return tf.compat.v1.train.Saver(
        saver_def=tf.compat.v1.train.SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            version=tf.compat.v1.train.SaverDef.V2,
        ),
        save_relative_paths=True,
    )
