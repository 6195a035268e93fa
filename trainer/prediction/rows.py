"""Checks rows of raw values with the schema of the model, as training checks its files."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trainer.errors import UserError
from trainer.inputs.bad_rows import find_faults
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.missing import mark_missing
from trainer.inputs.raw_batches import ARROW_TYPES
from trainer.schema import Schema


def check_rows(rows: Sequence[dict[str, Any]], schema: Schema, inputs: Sequence[str]) -> None:
    """Raises if a value is one that training would refuse.

    Values of another type than the column's are left to the predictor, which names the type.

    Args:
        rows: input name → value, for each row.
        schema: columns of the model.
        inputs: names of the model's inputs.

    Raises:
        UserError: a value does not fit the schema, such as a date that is none.
    """
    known = [name for name in inputs if name in schema.columns]
    for number, row in enumerate(rows, start=1):
        columns = {}
        for name in known:
            try:
                target = ARROW_TYPES[schema.columns[name].raw_type]
                columns[name] = pc.cast(pa.array([row.get(name)]), target)
            except (pa.ArrowException, OverflowError, ValueError):
                continue
        if not columns:
            continue
        batch = mark_missing(pa.RecordBatch.from_pydict(columns), schema)
        for fault, _ in find_faults(batch, schema, list(columns)):
            value = quote_cell(row.get(fault.column), schema, fault.column)
            text = fault.text.replace("{value}", value)
            raise UserError(f"row {number}, {fault.column}: {text}; {fault.remedy}")
