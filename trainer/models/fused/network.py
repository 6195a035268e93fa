"""The fused forward pass of one step."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from estimator_bridge import tf
from trainer.models.fused.layout import Layout, Table
from trainer.models.fused.rows import rows_found
from trainer.models.fused.variables import Variables


class Pass(NamedTuple):
    """A forward pass, and where its gradients enter its first layer.

    Attributes:
        logits: float32 [batch, logits].
        wide_logits: those of the linear part; None without.
        hidden: name → activations of each layer, the logits of the deep part last.
        net: input of the deep part, float32 [batch, width]; None without one.
        product: what its first kernel makes of it, float32 [batch, units of the first layer].
    """

    logits: Any
    wide_logits: Any
    hidden: dict[str, Any]
    net: Any = None
    product: Any = None


def run_forward(
    layout: Layout,
    rows: dict[str, Any],
    variables: Variables,
    activation: Callable,
    dropouts: Sequence[Callable] = (),
) -> Pass:
    """Computes the logits of one batch.

    Args:
        layout: of the model.
        rows: one batch of what prepare_rows returned, without a dimension of steps.
        variables: tensors or variables; a large table may be the tuple of its blocks.
        activation: of the hidden layers.
        dropouts: what is applied to each hidden layer; none outside training.
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
    given = net = tf.concat(parts, axis=1) if len(parts) > 1 else parts[0]
    hidden: dict[str, Any] = {}
    products = []
    last = len(variables.kernels) - 1
    for number, (kernel, bias) in enumerate(zip(variables.kernels, variables.biases)):
        products.append(tf.matmul(net, kernel))
        net = tf.nn.bias_add(products[-1], bias)
        if number < last:
            net = activation(net)
            if dropouts:
                net = dropouts[number](net)
        hidden["logits" if number == last else f"hiddenlayer_{number}"] = net
    return Pass(net if wide is None else net + wide, wide, hidden, given, products[0])


def _look_up(table: Table, variable: Any, rows: dict[str, Any]) -> Any:
    """What the rows of a batch have in a table, float32 [fields, batch, dimension]."""
    found = rows_found(table, rows)
    if not isinstance(variable, tuple):
        return tf.gather(variable, found)
    vectors = []
    for number, (block, offset) in enumerate(zip(variable, table.offsets)):
        ids = found[number] - offset
        vectors.append(tf.gather(block, tf.maximum(ids, 0)))
        if table.may_lack:
            vectors[-1] *= tf.cast(ids >= 0, tf.float32)[:, None]
    return tf.stack(vectors)


def _set_ones(places: Any, width: int) -> Any:
    """Places [fields, batch] in the flattened result to float32 [batch, width] of 0 and 1."""
    batch = tf.shape(places)[1]
    # A sum, as of the operations that set single numbers it costs the least.
    ones = tf.math.unsorted_segment_sum(tf.ones_like(places, tf.float32), places, batch * width)
    return tf.reshape(ones, [batch, width])


def _run_wide(layout: Layout, rows: dict[str, Any], variables: Variables) -> Optional[Any]:
    if not layout.wide:
        return None
    parts = [
        tf.reduce_sum(_look_up(table, variable, rows), axis=0)
        for table, variable in zip(layout.wide, variables.wide)
    ]
    if layout.wide_numbers:
        parts.append(tf.matmul(rows["wide_numbers"], variables.wide_numbers[1:]))
    return parts[0] if len(parts) == 1 else tf.add_n(parts)


def make_dropout(rate: float, seed: int, second_seed: int) -> Callable:
    """Makes dropout that draws what a canned model's dropout of these seeds draws."""

    def drop(net):
        drawn = tf.raw_ops.RandomUniform(
            shape=tf.shape(net), dtype=tf.float32, seed=seed, seed2=second_seed
        )
        return net / (1.0 - rate) * tf.cast(drawn >= rate, tf.float32)

    return drop
