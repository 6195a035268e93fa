"""An export, loaded once and asked for predictions as often as wanted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import estimator_bridge as bridge
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, describe_error, to_python


class Predictor(ServingSession):
    """An export, loaded once and asked as often as wanted.

    Args:
        path: a SavedModel's folder.

    Raises:
        UserError: there is no SavedModel, or none that this TensorFlow can load.
    """

    def predict(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Asks for rows of raw values, name → value.

        Returns:
            for each row, output name → value, as plain Python.

        Raises:
            UserError: a row lacks an input, or a value has the wrong type.
        """
        name = self.find_signature("predict", "json")
        inputs = {}
        for each, dtype in self.signatures[name].inputs.items():
            missing = [row for row in rows if each not in row]
            if missing:
                raise UserError(f"row {missing[0]}: no value for {each!r}; give every input one")
            inputs[each] = _to_array(each, [row[each] for row in rows], dtype)
        return self.ask_rows(name, inputs, len(rows))

    def ask_rows(
        self, name: str, inputs: dict[str, np.ndarray], num_rows: int
    ) -> list[dict[str, Any]]:
        """Asks one signature; returns a dict for each row, output name → value as plain Python."""
        try:
            outputs = self.run(name, inputs)
        except bridge.tf.errors.OpError as error:
            raise UserError(f"the export cannot answer: {describe_error(error)}") from error
        return [
            {each: to_python(array[row]) for each, array in outputs.items()}
            for row in range(num_rows)
        ]


def _to_array(name: str, values: list[Any], dtype: Any) -> np.ndarray:
    """The values of one input as an array [rows].

    Raises:
        UserError: names the first row whose value is not of the type.
    """
    for number, value in enumerate(values, start=1):
        try:
            fits = bridge.tf.constant(value, dtype).shape.rank == 0
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise UserError(f"row {number}, {name}: {value!r:.80} is not one {dtype.name}; mend it")
    return bridge.tf.constant(values, dtype).numpy()
