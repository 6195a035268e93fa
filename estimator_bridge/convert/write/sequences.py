"""Writes Keras code for a recurrent part: sequences, context, cells and logits."""

import re
from typing import Any

from ..plan.columns import Indicator, SequenceNumeric, name_of, num_ids
from ..plan.model import Cell, Plan, is_lazy
from .columns import ColumnWriter, Table

__all__ = ["write_recurrent"]


def write_recurrent(plan: Plan, writer: ColumnWriter, context: str) -> str:
    """Writes the recurrent part of a model; returns the variable of its logits, [batch, units].

    Args:
      plan: a model with a recurrent part.
      writer: writer of the module.
      context: variable of the context features, [batch, numbers]; "" for none.
    """
    cells = () if plan.recurrent is None else plan.recurrent.cells
    summed = not is_lazy(plan.deep_optimizer, False)
    columns = sorted(plan.deep, key=name_of)
    steps = [_steps(column, writer, summed) for column in columns]
    net = steps[0] if len(steps) == 1 else f"layers.Concatenate()([{', '.join(steps)}])"
    net = writer.write("steps", net)
    if context:
        every = f"ops.add(ops.zeros_like({net}[:, :, :1]), ops.expand_dims({context}, 1))"
        every = writer.write("context_of_steps", every)
        net = writer.write("steps_in_context", f"layers.Concatenate()([{net}, {every}])")
    present = _present(columns[0], writer)
    mask = writer.write("mask", f"{writer.use('sequence_mask')}({present})")
    code = _layer_code(cells, writer)
    net = writer.write("state", f"{code}({net}, mask={mask})")
    writer.tables += [
        Table("rnn_logits", "kernel", ("rnn_model/logits/kernel", "/logits/kernel")),
        Table("rnn_logits", "bias", ("rnn_model/logits/bias", "/logits/bias")),
    ]
    return writer.write(
        "recurrent_logits", f'layers.Dense({plan.head.units}, name="rnn_logits")({net})'
    )


def _steps(column: Any, writer: ColumnWriter, summed: bool) -> str:
    """Writes a sequence column; returns its variable, float32 [batch, steps, numbers]."""
    if isinstance(column, SequenceNumeric):
        return _numbers(column, writer)
    ids = writer.ids(column.source).ids
    if isinstance(column, Indicator):
        code = f'ops.one_hot({ids}, {num_ids(column.source)}, dtype="float32")'
        return writer.write(name_of(column), code)
    table = writer.table(column, ids, summed)
    more = "" if column.max_norm is None else f", {column.max_norm!r}"
    return writer.write(name_of(column), f"{writer.use('look_up')}({table}, {ids}{more})")


def _numbers(column: SequenceNumeric, writer: ColumnWriter) -> str:
    raw = writer.feature(column.key)
    value = f'ops.cast({raw}, "float32")'
    if column.normalizer is not None:
        x = writer.write(column.key, raw)
        value = re.sub(r"\bx\b", x, column.normalizer.expression)
    present = f"{writer.use('is_number')}({raw})"
    value = writer.write(
        f"{column.key}_steps", f"ops.where({present}, {value}, {column.default!r})"
    )
    return writer.write(column.key, f"layers.Reshape((-1, {column.width}))({value})")


def _present(column: Any, writer: ColumnWriter) -> str:
    """Writes which steps are present; returns the variable, bool [batch, steps]."""
    if not isinstance(column, SequenceNumeric):
        return writer.present(column.source) or ""
    present = f"{writer.use('is_number')}({writer.feature(column.key)})"
    if column.width > 1:
        present = f"ops.any(layers.Reshape((-1, {column.width}))({present}), axis=-1)"
    return writer.write(f"{column.key}_present", present)


def _layer_code(cells: tuple[Cell, ...], writer: ColumnWriter) -> str:
    """Returns the code of the recurrent layer, and adds its variables to the tables."""
    single = len(cells) == 1
    for index, cell in enumerate(cells):
        path = "cell" if single else f"cell.cells.{index}"
        names = ["kernel", "recurrent_kernel"] + ["bias"] * bool(cell.options.get("use_bias", True))
        writer.tables += [
            Table("rnn", f"{path}.{name}", (f"/{cell.name}/{name}",)) for name in names
        ]
    if single:
        return _cell_code(cells[0], "", ', name="rnn"')
    codes = ", ".join(_cell_code(cell, "Cell", "") for cell in cells)
    return f'layers.RNN([{codes}], name="rnn")'


def _cell_code(cell: Cell, suffix: str, more: str) -> str:
    options = "".join(f", {name}={value!r}" for name, value in cell.options.items())
    return f"layers.{cell.kind}{suffix}({cell.units}{options}{more})"
