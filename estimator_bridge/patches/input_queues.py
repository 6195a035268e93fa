"""Queues batches instead of rows for numpy_input_fn and pandas_input_fn.

Their queues of rows are slow in all TensorFlow versions (array_datasets/queued_batches.py).
"""

import functools
import sys
import types
from typing import Any, Optional

from ..array_datasets.queued_batches import BatchQueue, get_columns
from ..process import batch_first
from ..process.importing import call_when_imported

__all__ = ["apply"]

_INPUTS = "tensorflow_estimator.python.estimator.inputs"


def apply() -> None:
    """Has the two input functions use queues of batches, once they are imported."""
    for name in ("numpy_io", "pandas_io"):
        module = f"{_INPUTS}.{name}"
        call_when_imported(module, functools.partial(_replace, module))


def _replace(name: str) -> None:
    """Replaces the queues of one module. Others take rows out of them as they like."""
    module: Any = sys.modules[name]
    original = module.feeding_functions

    def _enqueue_data(data: Any, capacity: Any, num_threads: Any = 1, **options: Any) -> Any:
        queue = _make_queue(data, capacity, **options) if num_threads == 1 else None
        return queue or original._enqueue_data(data, capacity, num_threads=num_threads, **options)

    module.feeding_functions = types.SimpleNamespace(_enqueue_data=_enqueue_data)


def _make_queue(
    data: Any,
    capacity: Any,
    *,
    shuffle: bool,
    enqueue_size: Any,
    num_epochs: Any,
    min_after_dequeue: Any = None,
) -> Optional[BatchQueue]:
    """Returns a queue of batches; None if an argument is unusual or wrong."""
    counts = [capacity, enqueue_size, 1 if num_epochs is None else num_epochs]
    if not all(type(one) is int and one > 0 for one in counts):
        return None
    least = 0
    if shuffle:
        least = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue)
    columns = get_columns(data) if least < capacity and batch_first.is_wanted() else None
    if columns is None:
        return None
    batch_first.announce("numpy_input_fn and pandas_input_fn queue batches instead of rows", "rows")
    return BatchQueue(columns, capacity, enqueue_size, shuffle, num_epochs, least)
