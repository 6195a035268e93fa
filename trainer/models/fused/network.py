"""The forward pass of one step of the fused engine."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from estimator_bridge import tf
from trainer.features.encoding import IDS
from trainer.models.fused.layout import Layout, Table
from trainer.models.fused.rows import rows_found
from trainer.models.fused.variables import Variables


class Pass(NamedTuple):
    """A forward pass, and the tensors from which the gradients of the first layer are computed.

    Attributes:
        logits: float32 [batch, logits].
        wide_logits: logits of the linear part, float32 [batch, logits]; None without it.
        hidden: name → output of each layer, float32 [batch, units]; the logits of the deep part
            come last.
        net: input of the deep part, float32 [batch, width]; None without it.
        product: net times the first kernel, float32 [batch, units of the first layer].
        multiply: computed the product; None without a deep part.
    """

    logits: Any
    wide_logits: Any
    hidden: dict[str, Any]
    net: Any = None
    product: Any = None
    multiply: Any = None


def run_forward(
    layout: Layout,
    rows: dict[str, Any],
    variables: Variables,
    activation: Callable[[Any], Any],
    dropouts: Sequence[Callable[[Any], Any]] = (),
    multiply: Optional[Callable[..., Any]] = None,
) -> Pass:
    """Computes the logits of one batch.

    Args:
        layout: of the model.
        rows: one batch of the result of prepare_rows, without a dimension of steps; with blocks,
            also IDS, int32 [fields, batch].
        variables: tensors or variables; a large table may be the tuple of its blocks.
        activation: of the hidden layers.
        dropouts: one function per hidden layer; empty outside training.
        multiply: multiplies the matrices of the hidden layers; None: in float32.
    """
    wide = _run_wide(layout, rows, variables)
    if layout.deep is None:
        return Pass(wide, wide, {})
    parts = []
    deep = layout.deep
    if deep.hot:
        parts.append(_set_ones(rows["hot"], sum(deep.hot_sizes)))
    for table, variable in zip(deep.tables, variables.embeddings):
        vectors = _look_up(table, variable, rows)
        parts += tf.unstack(vectors, len(table.fields))
    if deep.numbers:
        parts.append(rows["numbers"])
    inputs = net = tf.concat(parts, axis=1) if len(parts) > 1 else parts[0]
    hidden: dict[str, Any] = {}
    products = []
    last = len(variables.kernels) - 1
    # The logits are computed in float32.
    multipliers = [multiply or tf.matmul] * last + [tf.matmul]
    for number, (kernel, bias) in enumerate(zip(variables.kernels, variables.biases)):
        products.append(multipliers[number](net, kernel))
        net = tf.nn.bias_add(products[-1], bias)
        if number < last:
            net = activation(net)
            if dropouts:
                net = dropouts[number](net)
        hidden["logits" if number == last else f"hiddenlayer_{number}"] = net
    logits = net if wide is None else net + wide
    return Pass(logits, wide, hidden, inputs, products[0], multipliers[0])


def multiply_in_bfloat16(left: Any, right: Any, **transposed: bool) -> Any:
    """Returns a matrix product, whose factors and result are rounded to bfloat16, as float32.

    Args:
        left: float32 matrix.
        right: float32 matrix.
        **transposed: transpose_a and transpose_b of tf.matmul.
    """
    product = tf.matmul(tf.cast(left, tf.bfloat16), tf.cast(right, tf.bfloat16), **transposed)
    return tf.cast(product, tf.float32)


def _look_up(table: Table, variable: Any, rows: dict[str, Any]) -> Any:
    """Looks up the values of a batch in a table, float32 [fields, batch, dimension]."""
    if not isinstance(variable, tuple):
        return tf.gather(variable, rows_found(table, rows))
    # The fields have one operation each only where their blocks are read.
    ids = tf.gather(rows[IDS], table.fields, axis=0)
    each = tf.unstack(tf.maximum(ids, 0), len(variable))
    vectors = tf.stack([tf.gather(block, some) for block, some in zip(variable, each)])
    return vectors * tf.cast(ids >= 0, tf.float32)[:, :, None] if table.may_lack else vectors


def _set_ones(places: Any, width: int) -> Any:
    """Returns float32 [batch, width] that is 1 at the places and 0 elsewhere.

    The places, int32 [fields, batch], are indices into the flattened result.
    """
    batch = tf.shape(places)[1]
    # Of the operations that set single numbers, a segment sum is the fastest.
    ones = tf.math.unsorted_segment_sum(tf.ones_like(places, tf.float32), places, batch * width)
    return tf.reshape(ones, [batch, width])


def _run_wide(layout: Layout, rows: dict[str, Any], variables: Variables) -> Optional[Any]:
    """Returns the logits of the linear part, float32 [batch, logits]; None without it."""
    if not layout.wide:
        return None
    parts = [
        tf.reduce_sum(_look_up(table, variable, rows), axis=0)
        for table, variable in zip(layout.wide, variables.wide)
    ]
    if layout.wide_numbers:
        parts.append(tf.matmul(rows["wide_numbers"], variables.wide_numbers[1:]))
    return parts[0] if len(parts) == 1 else tf.add_n(parts)


def make_dropout(rate: float, seed: int, second_seed: int) -> Callable[[Any], Any]:
    """Makes a dropout that draws the same numbers as a canned model's dropout of these seeds.

    Args:
        rate: share of the units that are dropped.
        seed: seed of the graph.
        second_seed: seed of the operation.

    Returns:
        A function from float32 [batch, units] to the same shape.
    """

    def drop(net: Any) -> Any:
        drawn = tf.raw_ops.RandomUniform(
            shape=tf.shape(net), dtype=tf.float32, seed=seed, seed2=second_seed
        )
        return net / (1.0 - rate) * tf.cast(drawn >= rate, tf.float32)

    return drop
