"""The input functions of training and evaluation, of rows as they are and of encoded ones."""

from collections.abc import Sequence
from typing import Callable, Optional, Union

from trainer.inputs import dataset, encoded
from trainer.inputs.dataset import RowSource
from trainer.inputs.encoded import EncodedRows
from trainer.schema import Schema

Rows = Union[RowSource, EncodedRows]


def make_train_input_fn(
    rows: Rows,
    schema: Schema,
    batch_size_at: Callable[[int], int],
    seed: Sequence[int],
    step: int,
    batches_per_step: int = 1,
    steps_at: Optional[Callable[[int], int]] = None,
    begin_preparing: Optional[Callable[[], Callable]] = None,
):
    """Makes the input_fn of training, as dataset.make_train_input_fn or, of encoded rows, as
    encoded.make_encoded_train_input_fn says; the former knows neither steps_at nor preparing."""
    options = (batch_size_at, seed, step, batches_per_step)
    if isinstance(rows, EncodedRows):
        return encoded.make_encoded_train_input_fn(rows, *options, steps_at, begin_preparing)
    return dataset.make_train_input_fn(rows, schema, *options)


def make_eval_input_fn(rows: Rows, schema: Schema, batch_size: int):
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller."""
    if isinstance(rows, EncodedRows):
        return encoded.make_encoded_eval_input_fn(rows, batch_size)
    return dataset.make_eval_input_fn(rows, schema, batch_size)
