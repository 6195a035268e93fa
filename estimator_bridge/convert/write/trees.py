"""Writes boosted trees as Keras code: one layer with all nodes, and a walk through it."""

from ..plan.columns import Indicator, Numeric, name_of, num_ids
from ..plan.model import Plan
from ..plan.trees import NodeColumns, TreeFeatures
from .columns import ColumnWriter

__all__ = ["FEATURES", "NODES", "write_trees"]

# The layer whose output are the numbers that the trees read, and the layer of the nodes.
FEATURES, NODES = "tree_features", "tree_nodes"


def write_trees(plan: Plan, writer: ColumnWriter) -> str:
    """Writes the logits of boosted trees; returns their variable.

    Args:
      plan: the model, with trees.
      writer: writer of the module.
    """
    trees = plan.trees
    assert trees is not None
    values = [_write_numbers(one, writer) for one in trees.features if one.names]
    joined = values[0] if len(values) == 1 else f"layers.Concatenate()([{', '.join(values)}])"
    numbers = writer.write("numbers", f'layers.Identity(name="{FEATURES}")({joined})')
    width = NodeColumns().leaf + trees.logits
    nodes = writer.write(
        "nodes",
        f'layers.Embedding({len(trees.nodes)}, {width}, "zeros", name="{NODES}", trainable=False)',
    )
    roots = writer.constant("roots", trees.roots)
    walk = f"{writer.use('walk_trees')}({nodes}, {roots}, {trees.depth}, {numbers})"
    return writer.write("tree_logits", walk)


def _write_numbers(features: TreeFeatures, writer: ColumnWriter) -> str:
    """Writes the numbers of a column; returns their variable, float32 [batch, numbers]."""
    column = features.column
    if isinstance(column, Numeric):
        value = writer.numeric(column)
        if features.nan_is_above:
            code = f'ops.where(ops.isnan({value}), float("inf"), {value})'
            value = writer.write(f"{column.key}_or_infinity", code)
        return value
    if isinstance(column, Indicator):
        count = f"{writer.use('count_ids')}({writer.ids(column.source).ids}"
        return writer.write(name_of(column), f"{count}, {num_ids(column.source)})")
    ids, present = writer.raw_ids(column), writer.present(column)
    if present is not None:
        # A row without a value has the first id.
        ids = f"ops.where({present}, {ids}, 0)"
    first = writer.write(f"{column.key}_first", f"{ids}[:, :1]")
    wanted = writer.constant(f"{column.key}_ids", features.ids)
    equal = f'ops.equal({first}, np.array({wanted}, "int64"))'
    return writer.write(f"{column.key}_is", f'ops.cast({equal}, "float32")')
