"""Parses a batch of rows at once where a program parses single rows: `map(parse).batch(n)`.

`tf.decode_csv` takes as long for a row as for dozens of rows in one call. The order of `map` and
`batch` is exchanged if this gives the same values to the last bit: the function gets one string,
and its graph consists of operations that treat each element alone and exactly; built for a vector
of rows, the graph is the same. If a batch cannot be parsed, its rows are parsed one by one, and
raise the error that they raise in TensorFlow.
"""

import functools
from typing import Any, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.output import terminal
from estimator_bridge.private_tf import batch_op
from estimator_bridge.process import batch_first
from estimator_bridge.tf1 import batched_calls

__all__ = ["are_elementwise", "install"]

_ELEMENTWISE = batched_calls.ELEMENTWISE | {"DecodeCSV"}
_MAPS = ("_MapDataset", "_ParallelMapDataset")


def install(in_graphs_only: bool = False) -> None:
    """Exchanges map and batch in datasets that are made from now on.

    Args:
      in_graphs_only: whether datasets that are made eagerly stay as they are.
    """
    batch_op._batch = functools.partial(_batch, batch_op._batch, in_graphs_only)


def _batch(
    original: Any, in_graphs_only: bool, dataset: Any, *arguments: Any, **options: Any
) -> Any:
    as_written = original(dataset, *arguments, **options)
    if in_graphs_only and tf.executing_eagerly_outside_functions():
        return as_written
    mapped, repeats = _unwrap(dataset), []
    while type(mapped).__name__ == "_RepeatDataset":
        repeats.append(mapped._count)
        mapped = _unwrap(mapped._input_dataset)
    if type(mapped).__name__ not in _MAPS:
        return as_written

    def batch(rows: Any) -> Any:
        return original(rows, *arguments, **options)

    exchanged = _exchange(batch, mapped, repeats, as_written)
    if exchanged is None:
        elements = batched_calls.call_by_chunks(mapped, original, _unwrap(as_written)._batch_size)
        exchanged = None if elements is None else batch(_repeat(elements, repeats))
    return as_written if exchanged is None else exchanged


def _repeat(dataset: Any, counts: list) -> Any:
    for count in reversed(counts):
        dataset = dataset.repeat(count)
    return dataset


def _exchange(batch: Any, mapped: Any, repeats: list, as_written: Any) -> Optional[Any]:
    """Returns the dataset that parses batches, or None if it may give something else."""
    rows, function = _unwrap(mapped._input_dataset), mapped._map_func
    if rows.element_spec != tf.TensorSpec([], tf.string):
        return None
    graph = function.function.graph
    if graph.external_captures or not are_elementwise(graph.get_operations()):
        return None
    batches = batch(_repeat(rows, repeats))
    try:
        at_once = tf.compat.v2.data.Dataset.map(batches, function._func)
    except Exception:  # the program's function does not take a vector
        return None
    if not _are_alike(graph, at_once._map_func.function.graph) or (
        at_once.element_spec != as_written.element_spec
    ):
        return None
    name = terminal.escape(getattr(function._func, "__name__", "a function"))
    batch_first.announce(
        f"{name} parses a batch of rows at once instead of row by row", "row by row"
    )
    return _parse_batches(batches, function._func, batch)


def _parse_batches(batches: Any, function: Any, batch: Any) -> Any:
    """Returns the dataset of parsed batches; of a faulty one, the error that its row raises."""
    datasets = tf.compat.v2.data.Dataset

    @tf.autograph.experimental.do_not_convert
    def parse(rows: tf.Tensor) -> Any:
        at_once = datasets.from_tensors(rows).map(function)
        at_once = at_once.apply(tf.data.experimental.ignore_errors())
        one_by_one = datasets.from_tensor_slices(rows).map(function)
        # The second is computed only if the first is empty.
        return at_once.concatenate(batch(one_by_one)).take(1)

    return batches.flat_map(parse)


def _unwrap(dataset: Any) -> Any:
    while type(dataset).__name__ == "DatasetV1Adapter":
        dataset = dataset._dataset
    return dataset


def are_elementwise(operations: list) -> bool:
    """Returns whether all operations treat each element alone and exactly, here a scalar.

    Args:
      operations: those of a function of one string, the string itself as a Placeholder.
    """
    for operation in operations:
        if operation.type == "Const":
            (value,) = operation.outputs
            users = [user for user in value.consumers() if user in operations]
            # The defaults of decode_csv are no scalars.
            if value.shape.rank != 0 and any(user.type != "DecodeCSV" for user in users):
                return False
        elif operation.type == "DecodeCSV":
            if any(one.op.type != "Const" for one in operation.inputs[1:]):
                return False
        elif operation.type == "Cast":
            # An integer of a NaN, or of a number out of range, is not defined.
            if operation.inputs[0].dtype.is_floating and operation.outputs[0].dtype.is_integer:
                return False
        elif operation.type != "Placeholder" and operation.type not in _ELEMENTWISE:
            return False
        if operation.type != "Const" and any(one.shape.rank != 0 for one in operation.outputs):
            return False
    return True


def _are_alike(rows: Any, batch: Any) -> bool:
    """Returns whether two graphs differ in the shapes alone."""
    ours, theirs = rows.get_operations(), batch.get_operations()
    return len(ours) == len(theirs) and all(map(_is_alike, ours, theirs))


def _is_alike(one: Any, other: Any) -> bool:
    names = [[tensor.name for tensor in operation.inputs] for operation in (one, other)]
    if one.type != other.type or names[0] != names[1] or one.name != other.name:
        return False
    if one.type == "Placeholder":
        return other.outputs[0].shape.rank == 1
    if one.type != "Const" and any(tensor.shape.rank != 1 for tensor in other.outputs):
        # What does not depend on the rows would have to be repeated for each of them.
        return False
    kept = [
        {name: value for name, value in operation.node_def.attr.items() if name[0] != "_"}
        for operation in (one, other)
    ]
    return kept[0] == kept[1]
