"""Keeps the arrays of input functions out of graphs. Slow in all TensorFlow versions.

`from_tensor_slices(arrays)` makes each array a constant of the graph. Before the first step, the
graph is written as text, for TensorBoard and into a checkpoint, and again with each checkpoint;
with more than 2 GiB of constants, TensorFlow refuses it. In the input function of an Estimator, an
operation that reads the array takes the place of a large constant. It is one operation as well, so
the seeds that follow from the number of operations stay as they are.
"""

import contextlib
import functools
import importlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from ..array_datasets import graph_arrays
from ..private_tf import data_nest, from_tensor_slices_op, from_tensors_op
from ..process.importing import call_when_imported

__all__ = ["apply"]

_ESTIMATOR = "tensorflow_estimator.python.estimator.estimator"
# Smaller arrays cost little as constants.
_FEWEST_BYTES = 1 << 16
# Numbers and truth values, which TensorFlow and NumPy store alike.
_TYPES = frozenset("?bBhHiIlLqQefdFD")

_input = threading.local()


def apply() -> None:
    """Has datasets of arrays that are made in input functions read the arrays."""
    slices, tensors = from_tensor_slices_op._TensorSliceDataset, from_tensors_op._TensorDataset
    if getattr(slices.__init__, "_bridged", False):
        return
    for cls in (slices, tensors):
        cls.__init__ = _wrap_dataset(cls.__init__)
    call_when_imported(_ESTIMATOR, _wrap_estimator)


def _wrap_dataset(original: Any) -> Any:
    @functools.wraps(original)
    def construct(self: Any, element: Any, *arguments: Any, **options: Any) -> None:
        if (
            getattr(_input, "is_called", False)
            and type(tf.compat.v1.get_default_graph()) is tf.Graph
        ):
            element = data_nest.map_structure(_replace, element)
        original(self, element, *arguments, **options)

    vars(construct)["_bridged"] = True
    return construct


def _wrap_estimator() -> None:
    estimator = importlib.import_module(_ESTIMATOR).Estimator
    call = estimator._call_input_fn

    @functools.wraps(call)
    def call_input_fn(self: Any, input_fn: Any, mode: Any, input_context: Any = None) -> Any:
        with _calling(_is_alone(self.config) and input_context is None):
            return call(self, input_fn, mode, input_context)

    estimator._call_input_fn = call_input_fn


def _is_alone(config: Any) -> bool:
    """Returns whether no other process runs the graph; for others, it must hold its data."""
    masters = config.master or config.evaluation_master
    return not masters and config.num_worker_replicas <= 1 and not config.num_ps_replicas


@contextlib.contextmanager
def _calling(is_alone: bool) -> Iterator[None]:
    before = getattr(_input, "is_called", False)
    _input.is_called = is_alone
    try:
        yield
    finally:
        _input.is_called = before


def _replace(value: Any) -> Any:
    """Returns a tensor that is read of a large array; other values stay."""
    kind = type(value)
    is_column = kind.__name__ == "Series" and kind.__module__.partition(".")[0] == "pandas"
    array = np.asarray(value) if is_column else value
    if type(array) is not np.ndarray or array.nbytes < _FEWEST_BYTES:
        return value
    if array.dtype.char not in _TYPES or not array.dtype.isnative:
        return value
    return graph_arrays.add(array)
