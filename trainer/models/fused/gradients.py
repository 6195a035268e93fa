"""The gradients of one step of the fused engine."""

from collections.abc import Callable
from typing import Any, NamedTuple

from estimator_bridge import tf
from trainer.models.fused.exchanging import MERGED, join_rows
from trainer.models.fused.layout import Deep, Layout, Table
from trainer.models.fused.network import Pass
from trainer.models.fused.row_operations import sum_rows
from trainer.models.fused.rows import DISTINCT, PLACES, rows_touched
from trainer.models.fused.updates import DEEP_PART, LINEAR_PART, Gradient, OptimizerStep
from trainer.models.fused.variables import Stored, Variables


class Step(NamedTuple):
    """A step before its update.

    Attributes:
        rows: name → tensor of the batch.
        values: of the variables, as they were read.
        forward: the forward pass.
        loss: float32 scalar, this process's share of the loss.
    """

    rows: dict[str, Any]
    values: Variables
    forward: Pass
    loss: Any


def list_gradients(
    layout: Layout, stored: Variables, step: Step, optimizers: dict[str, OptimizerStep]
) -> list[Gradient]:
    """Returns the gradient of every variable.

    Args:
        layout: of the model.
        stored: the variables.
        step: the step before its update.
        optimizers: part → optimizer.
    """
    rows, values, done, loss = step
    deep = layout.deep
    dense = [] if deep is None else [done.product, *values.kernels[1:], *values.biases]
    wide = [] if done.wide_logits is None else [done.wide_logits]
    numbers = [] if values.wide_numbers is None else [values.wide_numbers]
    grads = iter(tf.gradients(loss, [*dense, *wide, *numbers]))
    gradients: list[Gradient] = []
    product = None
    if deep is not None:
        product = next(grads)
        first = done.multiply(done.net, product, transpose_a=True)
        gradients.append(Gradient(optimizers[DEEP_PART], stored.kernels[0], first))
        gradients += [
            Gradient(optimizers[DEEP_PART], one, next(grads))
            for one in [*stored.kernels[1:], *stored.biases]
        ]
    for grad in [next(grads) for _ in wide]:
        for table, one in zip(layout.wide, stored.wide):
            # The gradient of a sum is also the gradient of each of its terms.
            spread = tf.tile(grad[None], [rows[table.name].shape[0], 1, 1])
            gradients.append(_sum_gradient(table, one, spread, rows, optimizers[LINEAR_PART]))
    gradients += [
        Gradient(optimizers[LINEAR_PART], stored.wide_numbers, next(grads)) for _ in numbers
    ]
    if deep is not None and deep.tables:
        looked_up = _spread_to_tables(deep, values.kernels[0], product, done.multiply)
        for table, one, grad in zip(deep.tables, stored.embeddings, looked_up):
            gradients.append(_sum_gradient(table, one, grad, rows, optimizers[DEEP_PART]))
    return gradients


def _spread_to_tables(
    deep: Deep, kernel: Any, product: Any, multiply: Callable[..., Any]
) -> list[Any]:
    """Returns the gradients of each table's looked-up values, [fields, batch, dimension].

    Most of the input consists of other parts, which need no gradient.
    """
    counts = [len(table.fields) for table in deep.tables]
    widths = [table.dimension for table, count in zip(deep.tables, counts) for _ in range(count)]
    start = sum(deep.hot_sizes)
    grad = multiply(product, kernel[start : start + sum(widths)], transpose_b=True)
    parts = iter(tf.split(grad, widths, axis=1))
    return [tf.stack([next(parts) for _ in range(count)]) for count in counts]


def _sum_gradient(
    table: Table, stored: Stored, grad: Any, rows: dict[str, Any], optimizer: OptimizerStep
) -> Gradient:
    """Returns the gradient of a table, given that of its looked-up values.

    The latter is float32 [fields, batch, dimension]. The gradients of a row are summed. Missing
    values have the place -1, which the sums ignore.
    """
    grad = tf.reshape(grad, [-1, table.dimension])
    if DISTINCT + table.name in rows:
        touched, places = rows[DISTINCT + table.name], rows[PLACES + table.name]
        if MERGED + table.name in rows:
            touched, places = join_rows(table, rows)
        summed = sum_rows(grad, places, tf.size(touched), table.may_lack)
        return Gradient(
            optimizer, stored, tf.ensure_shape(summed, [None, table.dimension]), touched
        )
    places = tf.reshape(rows[table.name], [-1])
    summed = sum_rows(grad, places, table.num_rows, table.may_lack)
    if not optimizer.kind.moves_all:
        return Gradient(optimizer, stored, summed)
    found = rows_touched(table, rows)
    ones = tf.ones_like(found, tf.float32)
    counts = tf.math.unsorted_segment_sum(ones, found, table.num_rows)
    return Gradient(optimizer, stored, summed, counts=counts)
