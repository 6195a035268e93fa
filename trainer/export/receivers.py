"""Serving input receivers: the inputs of an export."""

from typing import Any, Callable

from estimator_bridge import estimator, tf
from trainer.features.raw_inputs import (
    concat_rows,
    fill_missing,
    list_inputs,
    parse_csv_lines,
    parse_examples,
    raw_dtype,
)
from trainer.schema import Schema, Statistics


def make_serving_receiver_fn(
    schema: Schema, statistics: Statistics, receiver: str, delimiter: str
) -> Callable[[], Any]:
    """Makes the serving_input_receiver_fn of an export that accepts any of three inputs.

    The inputs are tf.Example strings, raw tensors (as in a JSON request) and CSV lines. One graph
    contains all three inputs. Each has its own placeholders, which are empty unless they are fed.
    The rows of the three inputs are concatenated. Each signature feeds its own placeholders.

    Args:
        schema: the raw features.
        statistics: of the training data, for the defaults of missing values.
        receiver: example, json or csv: the input of the default signature. The other two become
            the signatures "<receiver>:<output>".
        delimiter: field delimiter of CSV lines.

    Returns:
        A function without arguments that returns a ServingInputReceiver. Its features are the raw
        columns, name → tensor [batch]; its inputs are "examples" (string [batch]), "csv" (string
        [batch]) or the raw columns (float32, int64 or string [batch] each).
    """

    def serving_input_receiver_fn() -> Any:
        examples = _empty_strings("examples")
        lines = _empty_strings("csv_lines")
        raw = {
            name: tf.compat.v1.placeholder_with_default(
                tf.zeros([0], raw_dtype(schema.columns[name])), [None], name=f"raw_{index}"
            )
            for index, name in enumerate(list_inputs(schema))
        }
        parts = [
            parse_examples(examples, schema, statistics),
            parse_csv_lines(lines, schema, statistics, delimiter),
            raw,
        ]
        features = fill_missing(concat_rows(parts, schema), schema, statistics)
        inputs = {"example": {"examples": examples}, "csv": {"csv": lines}, "json": raw}
        return estimator.export.ServingInputReceiver(
            features,
            inputs[receiver],
            {name: tensors for name, tensors in inputs.items() if name != receiver},
        )

    return serving_input_receiver_fn


def _empty_strings(name: str) -> Any:
    """Returns a string placeholder [batch] that has no rows unless it is fed."""
    return tf.compat.v1.placeholder_with_default(tf.zeros([0], tf.string), [None], name=name)
