"""Predicts rows of raw values with an export."""

from collections.abc import Sequence
from typing import Any, Callable, Optional

import numpy as np

import estimator_bridge as bridge
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, describe_error, to_python
from trainer.inputs.cell_text import HIDDEN_DETAIL, hides, quote_cell
from trainer.prediction.description import find_description
from trainer.prediction.rows import check_rows
from trainer.schema import Schema


class Predictor(ServingSession):
    """An export that is loaded once and predicts any number of rows.

    Args:
        path: folder of a SavedModel.
        optimize: whether to optimise the graph and use a GPU.
        threads: number of threads of an operation; 0: as many as the machine has cores.

    Raises:
        UserError: there is no SavedModel, or this TensorFlow cannot load it.
    """

    def predict(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Predicts rows of raw values.

        Args:
            rows: input name → value, for each row.

        Returns:
            output name → value as plain Python, for each row.

        Raises:
            UserError: a row lacks an input, or a value has the wrong type.
        """
        name = self.find_signature("predict", "json")
        inputs = {}
        for each, dtype in self.signatures[name].inputs.items():
            missing = [number for number, row in enumerate(rows, start=1) if each not in row]
            if missing:
                raise UserError(
                    f"row {missing[0]}: no value for {each!r}; give a value for every input"
                )
            inputs[each] = _to_array(each, [row[each] for row in rows], dtype, self._find_schema)
        return self.run_rows(name, inputs, len(rows))

    def _find_schema(self) -> Optional[Schema]:
        found = find_description(self.path)
        return found.schema if found is not None else None

    def run_rows(
        self, name: str, inputs: dict[str, np.ndarray], num_rows: int
    ) -> list[dict[str, Any]]:
        """Runs one signature.

        Args:
            name: name of the signature.
            inputs: input name → array [rows]; texts are objects, str or bytes.
            num_rows: number of rows.

        Returns:
            output name → value as plain Python, for each row.

        Raises:
            UserError: the graph fails on these inputs.
        """
        try:
            outputs = self.run(name, inputs)
        except (bridge.tf.errors.OpError, UnicodeDecodeError) as error:
            hidden = hides(self._find_schema())
            detail = HIDDEN_DETAIL if hidden else describe_error(error)
            raise UserError(
                f"export {self.path}: fails on these rows: {detail}; fix the rows"
            ) from error
        return [
            {each: to_python(array[row]) for each, array in outputs.items()}
            for row in range(num_rows)
        ]


def predict_rows(predictor: Predictor, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Checks rows of raw values as training does, and predicts them.

    Args:
        predictor: a loaded export.
        rows: input name → value, for each row.

    Returns:
        output name → value as plain Python, for each row.

    Raises:
        UserError: a row lacks an input, or a value is one that training would refuse.
    """
    description = find_description(predictor.path)
    if description is not None:
        signature = predictor.find_signature("predict", "json")
        check_rows(rows, description.schema, list(predictor.signatures[signature].inputs))
    return predictor.predict(rows)


def _to_array(
    name: str, values: list[Any], dtype: Any, find_schema: Callable[[], Optional[Schema]]
) -> np.ndarray:
    """Returns the values of one input as an array [rows]; raises an error for a wrong type."""
    for number, value in enumerate(values, start=1):
        try:
            fits = bridge.tf.constant(value, dtype).shape.rank == 0
        except (TypeError, ValueError):
            fits = False
        if not fits:
            schema = find_schema()
            remedy = "fix the value"
            if value is None and dtype.is_floating:
                remedy = "for a missing number, give NaN"
            raise UserError(
                f"row {number}, {name}: {quote_cell(value, schema, name)} is not one {dtype.name}; "
                f"{remedy}"
            )
    array: np.ndarray = bridge.tf.constant(values, dtype).numpy()
    return array
