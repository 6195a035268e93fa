"""Keras code of a recurrent part: steps of sequences, context beside each, cells, logits."""

import re

from ..plan.columns import Indicator, SequenceNumeric, name_of, num_ids
from ..plan.model import Cell, Plan, Recurrent, is_lazy
from .columns import ColumnWriter, Table

__all__ = ["write_recurrent"]


def write_recurrent(plan: Plan, writer: ColumnWriter, context: str) -> str:
    """Writes the part; returns the variable of its logits, [batch, units].

    Args:
      plan: with a recurrent part.
      writer: of the module.
      context: variable of what goes with every step, [batch, numbers]; empty for none.
    """
    summed = not is_lazy(plan.deep_optimizer, False)
    columns = sorted(plan.deep, key=name_of)
    steps = [_steps(column, writer, summed) for column in columns]
    net = steps[0] if len(steps) == 1 else f"layers.Concatenate()([{', '.join(steps)}])"
    net = writer.write("steps", net)
    if context:
        every = f"ops.add(ops.zeros_like({net}[:, :, :1]), ops.expand_dims({context}, 1))"
        every = writer.write("context_of_steps", every)
        net = writer.write("steps_in_context", f"layers.Concatenate()([{net}, {every}])")
    given = _given(columns[0], writer)
    mask = writer.write("mask", f"{writer.use('until_last')}({given})")
    code = _layer_code(plan.recurrent, writer)
    net = writer.write("state", f"{code}({net}, mask={mask})")
    writer.tables += [
        Table("rnn_logits", "kernel", ("rnn_model/logits/kernel", "/logits/kernel")),
        Table("rnn_logits", "bias", ("rnn_model/logits/bias", "/logits/bias")),
    ]
    return writer.write(
        "recurrent_logits", f'layers.Dense({plan.head.units}, name="rnn_logits")({net})'
    )


def _steps(column, writer, summed) -> str:
    """[batch, steps, numbers] float32."""
    if isinstance(column, SequenceNumeric):
        return _numbers(column, writer)
    ids = writer.ids(column.source).ids
    if isinstance(column, Indicator):
        code = f'ops.one_hot({ids}, {num_ids(column.source)}, dtype="float32")'
        return writer.write(name_of(column), code)
    table = writer.table(column, ids, summed)
    more = "" if column.max_norm is None else f", {column.max_norm!r}"
    return writer.write(name_of(column), f"{writer.use('look_up')}({table}, {ids}{more})")


def _numbers(column, writer) -> str:
    raw = writer.feature(column.key)
    value = f'ops.cast({raw}, "float32")'
    if column.normalizer is not None:
        x = writer.write(column.key, raw)
        value = re.sub(r"\bx\b", x, column.normalizer.expression)
    there = f"{writer.use('has_number')}({raw})"
    value = writer.write(f"{column.key}_steps", f"ops.where({there}, {value}, {column.default!r})")
    return writer.write(column.key, f"layers.Reshape((-1, {column.width}))({value})")


def _given(column, writer) -> str:
    """[batch, steps] bool: which steps are there."""
    if not isinstance(column, SequenceNumeric):
        return writer.given(column.source)
    there = f"{writer.use('has_number')}({writer.feature(column.key)})"
    if column.width > 1:
        there = f"ops.any(layers.Reshape((-1, {column.width}))({there}), axis=-1)"
    return writer.write(f"{column.key}_given", there)


def _layer_code(recurrent: Recurrent, writer: ColumnWriter) -> str:
    single = len(recurrent.cells) == 1
    for index, cell in enumerate(recurrent.cells):
        path = "cell" if single else f"cell.cells.{index}"
        names = ["kernel", "recurrent_kernel"] + ["bias"] * bool(cell.options.get("use_bias", True))
        writer.tables += [
            Table("rnn", f"{path}.{name}", (f"/{cell.name}/{name}",)) for name in names
        ]
    if single:
        return _cell_code(recurrent.cells[0], "", ', name="rnn"')
    cells = ", ".join(_cell_code(cell, "Cell", "") for cell in recurrent.cells)
    return f'layers.RNN([{cells}], name="rnn")'


def _cell_code(cell: Cell, suffix: str, more: str) -> str:
    options = "".join(f", {name}={value!r}" for name, value in cell.options.items())
    return f"layers.{cell.kind}{suffix}({cell.units}{options}{more})"
