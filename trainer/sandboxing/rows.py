"""Generates rows for every input format of an export, also with missing and unknown values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.export.checker import leave_out, to_example, to_line
from trainer.export.serving_session import Signature
from trainer.features.raw_inputs import list_inputs
from trainer.prediction.description import ExportDescription
from trainer.schema.made_up import make_up_value

UNKNOWN_WORD = "a word that no vocabulary contains \N{SNOWMAN}"
ORDINARY, MISSING, UNKNOWN = "ordinary rows", "missing values", "unknown words"


class Rows(NamedTuple):
    """Generated rows for an export.

    Attributes:
        description: schema and statistics of the export.
        delimiter: delimiter of CSV lines.
    """

    description: ExportDescription
    delimiter: str

    def make(self, kind: str) -> dict[str, Any]:
        """Returns a row: input → int, float or str.

        Args:
            kind: ORDINARY, MISSING or UNKNOWN.
        """
        schema, statistics = self.description
        row = {name: make_up_value(name, schema, statistics) for name in list_inputs(schema)}
        if kind == MISSING:
            return leave_out(row, schema)
        if kind == UNKNOWN:
            for name, value in row.items():
                column = schema.columns[name]
                is_word = column.type == "string" and column.image is None and not column.date
                if is_word and isinstance(value, str) and name != schema.key:
                    row[name] = UNKNOWN_WORD
        return row

    def feed(self, name: str, signature: Signature, row: dict[str, Any], count: int) -> Any:
        """Returns the inputs of a signature: name → array [count].

        Args:
            name: name of the signature.
            signature: the signature.
            row: row that `make` returned.
            count: number of copies of the row.

        Raises:
            UserError: an input is not a column of the schema.
        """
        schema = self.description.schema
        inputs = signature.inputs
        kind = find_format(name, signature, list(row))
        if kind == "tensors":
            strange = sorted(set(inputs) - set(row))
            if strange:
                raise UserError(f"input {strange[0]!r} is not a column of the schema")
            return {
                each: np.array([row[each]] * count, dtype.as_numpy_dtype).reshape(
                    [count] + [1] * ((signature.ranks[each] or 1) - 1)
                )
                for each, dtype in inputs.items()
            }
        one: Any = to_line(row, schema, self.delimiter)
        if kind == "example":
            # In a tf.Example, a missing value is a missing feature.
            present = {each: value for each, value in row.items() if value == value}
            one = to_example(present, schema)
        return {next(iter(inputs)): np.array([one] * count, object)}


def find_format(name: str, signature: Signature, columns: Sequence[str]) -> str:
    """Returns the format of a signature's input: example, csv or tensors.

    Args:
        name: name of the signature.
        signature: the signature.
        columns: the columns of the rows.
    """
    inputs = signature.inputs
    single = next(iter(inputs), "")
    if len(inputs) != 1 or single in columns or inputs[single].name != "string":
        return "tensors"
    return "csv" if single == "csv" or name.startswith("csv:") else "example"
