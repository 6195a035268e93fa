"""Makes the input functions of training and evaluation, for decoded and for encoded rows."""

from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

from trainer.inputs import dataset, encoded
from trainer.inputs.dataset import RowSource
from trainer.inputs.encoded import BeginPreparing, EncodedRows
from trainer.inputs.shuffle import BatchSchedule
from trainer.schema import Schema

Rows = Union[RowSource, EncodedRows]


def make_train_input_fn(
    rows: Rows,
    schema: Schema,
    schedule: BatchSchedule,
    seed: Sequence[int],
    begin_preparing: Optional[BeginPreparing] = None,
    checkpoint: Optional[str] = None,
) -> Callable[[], Any]:
    """Makes the input_fn of training.

    Args:
        rows: the training rows.
        schema: names the label.
        schedule: sizes of batches; its `count_at` stacks batches of encoded rows only.
        seed: seed of the shuffle; processes that train together need different seeds.
        begin_preparing: see encoded.make_encoded_train_input_fn; only for encoded rows.
        checkpoint: from which training continues; None at step 0.

    Returns:
        a function without arguments that returns a tf.data.Dataset; see
        encoded.make_encoded_train_input_fn and dataset.make_train_input_fn.
    """
    if isinstance(rows, EncodedRows):
        return encoded.make_encoded_train_input_fn(
            rows, schedule, seed, begin_preparing, checkpoint
        )
    return dataset.make_train_input_fn(rows, schema, schedule._replace(count_at=None), seed)


def make_eval_input_fn(rows: Rows, schema: Schema, batch_size: int) -> Callable[[], Any]:
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller.

    Args:
        rows: the rows.
        schema: names the label.
        batch_size: number of rows in a batch.

    Returns:
        a function without arguments that returns a tf.data.Dataset; see
        encoded.make_encoded_eval_input_fn and dataset.make_eval_input_fn.
    """
    if isinstance(rows, EncodedRows):
        return encoded.make_encoded_eval_input_fn(rows, batch_size)
    return dataset.make_eval_input_fn(rows, schema, batch_size)
