"""Makes batches of rows of arrays at once, where tf.data would take each row by itself.

Between `Dataset.from_tensor_slices(arrays)`, perhaps shuffled, repeated or cut, and `batch(n)`,
tf.data takes 0.25 microseconds for each array of each row. The numbers of the rows can take the way
of the rows: the same operations, with the same seeds, choose and order them, and each batch is
gathered by its numbers. Where they are not shuffled, the numbers of a batch are computed at once.
Whatever follows the batches stays.

The dataset is replaced when an iterator is made of it. Operations are added to the graph, but no
seed is taken from it: TensorFlow 2 counts the seeds that a graph has given, not its operations.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ..private_tf import map_op
from ..process import batch_first
from . import autotuning, graph_arrays

__all__ = ["Numbered", "exchange", "number"]

_SLICES = "TensorSliceDataset"
_BATCHES = ("BatchDatasetV2", "ParallelBatchDataset")
_SHUFFLES = ("ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3")
# Operations that choose and order elements without looking at them.
_ORDERING = (
    *_SHUFFLES,
    *("OptionsDataset", "PrefetchDataset", "RepeatDataset", "ShardDataset", "SkipDataset"),
    "TakeDataset",
)
_NOT_ORDERING = ("OptionsDataset", "PrefetchDataset")
# Operations whose elements have numbers that can be computed.
_COMPUTED = ("RepeatDataset", "SkipDataset", "TakeDataset")
# More elements than any program reads.
_FOREVER = 1 << 62
_SCOPE = "estimator_bridge_batches"
# A batch costs some 30 microseconds more, and 0.25 less for each array of each of its rows.
_FEWEST_IN_BATCH = 128
# The additional operations cost 5 milliseconds, and 0.7 for each array.
_FEWEST = 100_000
# The attribute of a graph that holds what took the place of its operations.
_KNOWN = "_bridge_batches"


class _Chain(NamedTuple):
    """The operations from arrays to batches.

    Attributes:
      slices: makes rows of arrays.
      ordering: choose and order the rows, the first one first.
      batch: makes batches of them.
    """

    slices: Any
    ordering: list[Any]
    batch: Any


def exchange(dataset: Any) -> Any:
    """Returns a dataset with the same elements in the same order, whose batches cost less.

    Args:
      dataset: any tf.data.Dataset of a graph. One without batches of rows of arrays is returned as
        it is, and one for which the exchange does not pay: small batches and few rows.
    """
    if tf.executing_eagerly():
        return dataset
    last = tf.data.experimental.to_variant(dataset)
    graph = last.graph
    if type(graph) is not tf.Graph or graph._get_control_flow_context() is not None:
        return dataset
    # Iterators of one dataset share its operations, and so they share what takes their place.
    known = getattr(graph, _KNOWN, {})
    setattr(graph, _KNOWN, known)
    with graph.as_default(), graph.control_dependencies(None), tf.name_scope(_SCOPE):
        replaced = _replace(last, known)
        if replaced is last:
            return dataset
        _announce()
        made = tf.data.experimental.from_variant(replaced, dataset.element_spec)
        # If only an order follows the batches, autotuning has nothing to tune.
        batch, after = _follow_ordering(last.op)
        if _find_chain(batch) is None or autotuning.is_chosen(dataset):
            return made
        with tf.device(last.device):
            return autotuning.prefetch_instead(made, after)


class Numbered(NamedTuple):
    """Batches of rows of arrays, by the numbers of their rows.

    Attributes:
      rows: a dataset of the numbers of each batch, int64 [batch].
      arrays: [rows, ...], in the order of the flattened elements.
    """

    rows: Any
    arrays: list[np.ndarray]


def number(dataset: Any) -> Optional[Numbered]:
    """Returns the numbers of the rows of batches, and what they are rows of.

    Args:
      dataset: any tf.data.Dataset of a graph.

    Returns:
      None if the elements are not batches of rows of arrays, or if the arrays are not known yet.
      Arrays of batches are such arrays, too.
    """
    operation, after = _follow_ordering(tf.data.experimental.to_variant(dataset).op)
    with tf.name_scope(_SCOPE):
        found = _number_rows(operation) or _number_batches(operation)
        if found is None:
            return None
        rows, arrays = found
        shape = tf.TensorShape([None])
        for one in after:
            rows = _copy_for_numbers(one, rows, shape)
    spec = tf.TensorSpec(shape, tf.int64)
    # Numbers cost less than a thread that tunes how they are made.
    return Numbered(autotuning.turn_off(tf.data.experimental.from_variant(rows, spec)), arrays)


def _number_rows(operation: Any) -> Optional[tuple[Any, list[np.ndarray]]]:
    chain = _find_chain(operation)
    arrays = None if chain is None else _find_arrays(chain.slices)
    if chain is None or arrays is None:
        return None
    _announce()
    with tf.device(chain.batch.device):
        numbers, compute = _compute_numbers(chain) or _order_numbers(chain)
        return tf.data.experimental.to_variant(_map(numbers, compute)), arrays


def _number_batches(slices: Any) -> Optional[tuple[Any, list[np.ndarray]]]:
    """Returns the same of arrays of batches, each of which is an element."""
    arrays = _find_arrays(slices) if _is_plain(slices) else None
    sizes = {array.shape[:2] for array in arrays or []}
    if arrays is None or len(sizes) != 1 or len(min(sizes)) != 2:
        return None
    count, size = sizes.pop()
    with tf.device(slices.device):
        batches = _map(
            _range(0, count, 1), lambda place: tf.range(place * size, place * size + size)
        )
        rows = [array.reshape(count * size, *array.shape[2:]) for array in arrays]
        return tf.data.experimental.to_variant(batches), rows


def _find_arrays(slices: Any) -> Optional[list[np.ndarray]]:
    arrays = [graph_arrays.find(one) for one in slices.inputs]
    known = [one for one in arrays if one is not None]
    return known if len(known) == len(arrays) else None


def _map(dataset: Any, function: Callable[[Any], Any]) -> Any:
    """Returns a dataset of what a function makes of elements.

    The thread that asks for a batch makes it: another one would cost more.
    """
    plain = tf.autograph.experimental.do_not_convert(function)
    return map_op._MapDataset(dataset, plain, use_inter_op_parallelism=False)


def _announce() -> None:
    batch_first.announce(
        "batches of from_tensor_slices are gathered at once instead of row by row", "row by row"
    )


def _replace(last: Any, known: dict[str, Any]) -> Any:
    """Returns what takes the place of a dataset; the same tensor if it stays.

    Args:
      last: the dataset's variant.
      known: name of an operation -> what takes the place of its output; is added to.
    """
    waiting = [last]
    while waiting:
        variant = waiting[-1]
        operation = variant.op
        chain = None if operation.name in known else _find_chain(operation)
        missing = [] if chain else [one for one in operation.inputs if _is_missing(one, known)]
        if operation.name not in known and missing:
            waiting += missing
            continue
        waiting.pop()
        if operation.name not in known:
            known[operation.name] = _gather(chain) if chain else _copy_if_changed(variant, known)
    return known[last.op.name]


def _is_missing(variant: Any, known: dict[str, Any]) -> bool:
    return bool(variant.dtype == tf.variant and variant.op.name not in known)


def _copy_if_changed(variant: Any, known: dict[str, Any]) -> Any:
    operation = variant.op
    inputs = [known[one.op.name] if one.dtype == tf.variant else one for one in operation.inputs]
    if all(new is old for new, old in zip(inputs, operation.inputs)):
        return variant
    return _copy(operation, inputs)


def _find_chain(batch: Any) -> Optional[_Chain]:
    """Returns the operations from arrays to a batch; None if they are to stay."""
    if batch.type not in _BATCHES:
        return None
    slices, ordering = _follow_ordering(batch.inputs[0].op)
    if not _is_plain(slices):
        return None
    chain = _Chain(slices, ordering, batch)
    return chain if _pays(chain) and _is_alone(chain) else None


def _follow_ordering(operation: Any) -> tuple[Any, list[Any]]:
    """Returns the operation before those that choose and order; and these, the first one first."""
    ordering: list[Any] = []
    while operation.type in _ORDERING:
        ordering.insert(0, operation)
        operation = operation.inputs[0].op
    return operation, ordering


def _is_plain(slices: Any) -> bool:
    """Returns whether an operation makes rows of arrays, and none of them is sparse or ragged."""
    if slices.type != _SLICES or slices.get_attr("is_files"):
        return False
    return not {tf.variant, tf.resource} & {array.dtype for array in slices.inputs}


def _pays(chain: _Chain) -> bool:
    width = len(chain.slices.inputs)
    known = _count_now(chain.slices)
    rows = math.inf if known is None else known
    for operation in chain.ordering:
        if operation.type == "RepeatDataset":
            rows *= _read_count(operation)
        elif operation.type == "TakeDataset":
            rows = min(rows, _read_count(operation))
    return bool(_read_count(chain.batch) * width >= _FEWEST_IN_BATCH and rows * width >= _FEWEST)


def _read_count(operation: Any) -> float:
    """Returns the number of a `repeat`, `take` or `batch`; infinity if it is not known yet."""
    count = tf.get_static_value(operation.inputs[1])
    return math.inf if count is None or count < 0 else float(count)


def _is_alone(chain: _Chain) -> bool:
    """Returns whether no other dataset draws from the same generator of random numbers."""
    types = [operation.type in _SHUFFLES for operation in chain.ordering]
    shuffled = chain.ordering[types.index(True) :] if any(types) else []
    return all(len(operation.outputs[0].consumers()) == 1 for operation in shuffled)


def _gather(chain: _Chain) -> Any:
    """Returns the variant of a dataset of the same batches.

    Args:
      chain: the operations that make them now.
    """
    arrays = list(chain.slices.inputs)
    with tf.device(chain.batch.device):
        numbers, compute = _compute_numbers(chain) or _order_numbers(chain)

        def gather(element: Any) -> tuple[Any, ...]:
            rows = compute(element)
            return tuple(tf.gather(array, rows) for array in arrays)

        return tf.data.experimental.to_variant(_map(numbers, gather))


def _order_numbers(chain: _Chain) -> tuple[Any, Callable[[Any], Any]]:
    """Returns a dataset, and what makes the numbers of the rows of a batch of its elements.

    The program's operations order the numbers, one by one.
    """
    numbers = tf.data.experimental.to_variant(_range(0, _count(chain.slices), 1))
    for operation in chain.ordering:
        numbers = _copy_for_numbers(operation, numbers, tf.TensorShape([]))
    shape = tf.TensorShape(chain.batch.get_attr("output_shapes")[0])
    shape = tf.TensorShape([None]) if shape.rank is None else shape[:1]
    numbers = _copy_for_numbers(chain.batch, numbers, shape)
    spec = tf.TensorSpec(shape, tf.int64)
    return tf.data.experimental.from_variant(numbers, spec), lambda rows: rows


def _compute_numbers(chain: _Chain) -> Optional[tuple[Any, Callable[[Any], Any]]]:
    """Returns the same as _order_numbers, whose numbers are computed for a batch at once.

    Returns None if that cannot be done: rows are shuffled, or a number is not known yet.
    """
    size, drop = map(tf.get_static_value, (chain.batch.inputs[1], chain.batch.inputs[-1]))
    steps = [one for one in chain.ordering if one.type not in _NOT_ORDERING]
    counts = [tf.get_static_value(one.inputs[1]) for one in steps]
    is_known = not any(one is None for one in (size, drop, *counts))
    if not is_known or size <= 0 or not all(one.type in _COMPUTED for one in steps):
        return None
    # How many elements there are before each step, and after the last.
    lengths = [tf.minimum(_count(chain.slices), _FOREVER)]
    for operation, count in zip(steps, counts):
        lengths.append(_count_after(operation.type, int(count), lengths[-1]))
    end = lengths[-1] // size * size if drop else lengths[-1]

    repeats_only = [one.type for one in steps] == ["RepeatDataset"]
    wraps_once = repeats_only and size <= (_count_now(chain.slices) or 0)

    def follow(rows: Any) -> Any:
        for operation, count, length in zip(steps[::-1], counts[::-1], lengths[-2::-1]):
            if operation.type == "RepeatDataset":
                rows %= length
            elif operation.type == "SkipDataset":
                rows += count
        return rows

    def compute(start: Any) -> Any:
        stop = tf.minimum(start + size, end)
        rows = _wrap(start, stop, lengths[0]) if wraps_once else follow(tf.range(start, stop))
        rows.set_shape([size if drop else None])
        return rows

    return _range(0, end, size), compute


def _wrap(start: Any, stop: Any, length: Any) -> Any:
    """Returns a range, each number modulo a length that is not smaller than the range.

    A division of each number would take more time than all else here.
    """
    past = start // length * length
    start, stop = start - past, stop - past
    rows = tf.range(start, tf.minimum(stop, length))
    return tf.concat([rows, tf.range(tf.maximum(stop - length, 0))], axis=0)


def _count_after(kind: str, count: int, length: Any) -> Any:
    """Returns how many elements a `repeat`, `take` or `skip` leaves of so many."""
    if kind == "TakeDataset":
        return length if count < 0 else tf.minimum(length, count)
    if kind == "SkipDataset":
        return tf.zeros([], tf.int64) if count < 0 else tf.maximum(length - count, 0)
    if count < 0:
        return tf.where(length > 0, tf.constant(_FOREVER, tf.int64), length)
    return tf.minimum(length, _FOREVER // max(count, 1)) * count


def _range(start: Any, stop: Any, step: Any) -> Any:
    return tf.compat.v2.data.Dataset.range(start, stop, step)


def _count(slices: Any) -> Any:
    """Returns the number of rows, an int64 tensor."""
    count = _count_now(slices)
    if count is not None:
        return tf.constant(count, tf.int64)
    # The operation itself checks that all arrays have as many rows.
    return tf.raw_ops.DatasetCardinality(input_dataset=slices.outputs[0])


def _count_now(slices: Any) -> Optional[int]:
    """Returns the number of rows; None if it is not known for each array before the session."""
    shapes = [array.shape for array in slices.inputs]
    counts: list[Any] = [shape.as_list()[0] if shape.rank else None for shape in shapes]
    return None if None in counts else min(counts)


def _copy_for_numbers(operation: Any, source: Any, shape: Any) -> Any:
    """Returns what an operation makes of numbers of rows, each of a shape."""
    attributes = _describe([tf.int64], [shape.as_proto()])
    return _copy(operation, [source, *operation.inputs[1:]], attributes)


def _describe(types: Sequence[Any], shapes: Sequence[Any]) -> dict[str, Any]:
    """Returns the attributes of a dataset of elements of these types and shapes."""
    kinds, extents = tf.compat.v1.AttrValue(), tf.compat.v1.AttrValue()
    kinds.list.type.extend(one.as_datatype_enum for one in types)
    extents.list.shape.extend(shapes)
    return {"output_types": kinds, "output_shapes": extents}


def _copy(
    operation: Any, inputs: Sequence[Any], attributes: Optional[dict[str, Any]] = None
) -> Any:
    """Returns what an operation makes of other inputs."""
    graph = operation.graph
    every = {**operation.node_def.attr, **(attributes or {})}
    with graph.control_dependencies(operation.control_inputs), tf.device(operation.device):
        return graph.create_op(operation.type, inputs, [tf.variant], attrs=every).outputs[0]
