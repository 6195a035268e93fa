"""Calls a `py_func` for several rows at once where a program maps rows by it: `map(f).batch(n)`.

TensorFlow runs the function of `map` for each row, and that takes longer than most functions in
Python. Here the graph of the function is built for a chunk of the rows of a batch, and its
`py_func` calls the program's function for each of them, in their order. This is done if the values
are the same to the last bit: the other operations treat each row alone and exactly; and if nobody
can tell when and how often the function is called (generators/effects.py). Where a call raises an
error, the rest of its chunk is computed row by row, and raises the error that TensorFlow raises.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.output import terminal
from estimator_bridge.private_tf import data_nest, ops, script_ops
from estimator_bridge.process import batch_first
from estimator_bridge.tf1.generators.effects import has_effect

__all__ = ["ELEMENTWISE", "call_by_chunks"]

# Each element of the result depends on one element of each input, and is computed exactly: not by
# approximations, which differ between one element and a vector, as may what happens to a NaN.
ELEMENTWISE = frozenset(
    [
        *("StringToNumber", "Cast", "Identity", "StringStrip", "StringLower", "StringUpper"),
        *("StringToHashBucketFast", "StringToHashBucket", "StringLength", "Abs", "Neg", "Square"),
        *("Floor", "Ceil", "Add", "AddV2", "Sub", "Mul", "RealDiv", "Equal", "NotEqual", "Less"),
        *("LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalNot"),
    ]
)
# A chunk has at most so many rows and numbers. A parallel map keeps as many chunks as calls in
# memory, so these are shorter, but not too short to pay.
_MOST_ROWS, _MOST_VALUES = 64, 1 << 17
_FEWEST_ROWS, _FEWEST_PARALLEL_ROWS = 4, 16
# What counts as the calls of a map whose number TensorFlow chooses.
_FEW_CALLS = 2
_do_not_convert = tf.autograph.experimental.do_not_convert


def call_by_chunks(mapped: Any, batch: Callable[..., Any], batch_size: Any) -> Optional[Any]:
    """Returns the dataset of the same elements, or None if it may give something else.

    Args:
      mapped: the dataset of `map`.
      batch: TensorFlow's function that batches a dataset.
      batch_size: int64 tensor, the number of elements of the batches that are made of it. No chunk
        goes beyond the end of a batch, so no row is waited for that its batch does not need.
    """
    graph = mapped._map_func.function.graph
    size = _choose_size(mapped, graph, tf.get_static_value(batch_size))
    program = _read(mapped._map_func) if size else None
    if program is None:
        return None
    rows, function = mapped._input_dataset, mapped._map_func._func
    datasets, spec = tf.compat.v2.data.Dataset, rows.element_spec

    @_do_not_convert
    def compute(*chunk: Any) -> Any:
        columns = data_nest.flatten(chunk if isinstance(spec, tuple) else chunk[0])
        done, values = _Chunk(program, graph, columns).compute()
        return tuple(values), tuple(column[done:] for column in columns)

    @_do_not_convert
    def split(values: Any, rest: Any) -> Any:
        elements = datasets.from_tensor_slices(_pack(values, mapped.element_spec))
        left = datasets.from_tensor_slices(_pack(rest, spec)).map(function)
        return elements.concatenate(left)

    chunks = datasets.map(batch(rows, size), compute, **_options(mapped))
    elements = chunks.flat_map(split)
    if elements.element_spec != mapped.element_spec:
        return None
    name = terminal.escape(getattr(program.function, "__name__", "a function"))
    batch_first.announce(f"{name} is called for {size} rows at once", "once for each row")
    return elements


def _pack(columns: Sequence[Any], spec: Any) -> Any:
    """Returns columns of several elements in the structure of an element."""
    for column, one in zip(columns, data_nest.flatten(spec)):
        column.set_shape(tf.TensorShape([None]).concatenate(one.shape))
    return data_nest.pack_sequence_as(spec, columns)


def _options(mapped: Any) -> dict[str, Any]:
    if type(mapped).__name__ == "_MapDataset":
        return {}
    deterministic = {"true": True, "false": False}.get(mapped._deterministic)
    return {"num_parallel_calls": mapped._num_parallel_calls, "deterministic": deterministic}


def _choose_size(mapped: Any, graph: Any, batch_size: Any) -> int:
    """Returns the number of rows of a chunk; 0 if there can be none, or if they do not pay."""
    rows, results = map(
        data_nest.flatten, (mapped._input_dataset.element_spec, mapped.element_spec)
    )
    are_tensors = all(type(one) is tf.TensorSpec for one in (*rows, *results))
    if not rows or not are_tensors or batch_size is None:
        return 0
    # Rows of different shapes make no chunk, even if the results have one shape.
    if not all(one.shape.is_fully_defined() for one in rows):
        return 0
    most = _MOST_ROWS
    if type(mapped).__name__ != "_MapDataset":
        calls = tf.get_static_value(mapped._num_parallel_calls)
        most = max(_FEWEST_PARALLEL_ROWS, _MOST_ROWS // max(int(calls or 0), _FEW_CALLS))
    shapes = [one.shape for one in (*graph.inputs, *graph.outputs)]
    values = sum(one.num_elements() for one in shapes if one.is_fully_defined())
    most = min(most, _MOST_VALUES // max(values, 1))
    sizes = [size for size in range(_FEWEST_ROWS, most + 1) if int(batch_size) % size == 0]
    return sizes[-1] if sizes else 0


class _Program(NamedTuple):
    """What a function of rows does.

    Attributes:
      function: the program's function in Python.
      after: the names of the tensors that depend on its results.
    """

    function: Callable[..., Any]
    after: set[str]


def _read(mapping: Any) -> Optional[_Program]:
    """Returns what the function of a map does; None if it cannot be computed for several rows."""
    graph = mapping.function.graph
    operations = graph.get_operations()
    calls = [one for one in operations if one.type == "PyFunc"]
    if len(calls) != 1 or graph.external_captures:
        return None
    (call,) = calls
    function = script_ops._py_funcs.get(call.get_attr("token").decode())
    types = call.get_attr("Tout")
    if function is None or not types or not all(map(_is_simple, types)):
        return None
    after = {one.name for one in call.outputs}
    of_rows = {one.name for one in graph.inputs} | after
    for operation in operations:
        names = {one.name for one in operation.inputs}
        if not _is_exact(operation) or (names and of_rows.isdisjoint(names)):
            return None
        outputs = {one.name for one in operation.outputs} if names else set()
        of_rows |= outputs
        after |= set() if after.isdisjoint(names) else outputs
    # TensorFlow's wrapper keeps autograph from converting it.
    function = inspect.unwrap(function)
    if any(one.name not in of_rows for one in graph.outputs) or has_effect(function, mapping._func):
        return None
    return _Program(function, after)


def _is_simple(dtype: Any) -> bool:
    return bool(dtype == tf.string or np.dtype(dtype.as_numpy_dtype).kind in "biuf")


def _is_exact(operation: Any) -> bool:
    """Returns whether an operation can be computed for several rows with the same values."""
    kind, inputs = operation.type, operation.inputs
    if kind in ("Placeholder", "Const", "PyFunc", "NoOp", "Identity"):
        return True
    (output,) = operation.outputs
    constants = [one.op.type == "Const" for one in inputs]
    if kind == "Reshape":
        return bool(constants == [False, True] and output.shape.is_fully_defined())
    if kind not in ELEMENTWISE:
        return False
    if kind == "Cast" and inputs[0].dtype.is_floating and output.dtype.is_integer:
        # An integer of a NaN, or of a number out of range, is not defined.
        return False
    shapes = [one.shape for one, is_constant in zip(inputs, constants) if not is_constant]
    scalars = [one.shape.rank == 0 for one, is_constant in zip(inputs, constants) if is_constant]
    alike = all(one.is_fully_defined() and one == output.shape for one in shapes)
    return all(scalars) and (alike or len(inputs) == 1)


class _Chunk:
    """The graph of a function, built for several rows.

    Args:
      program: what the function does.
      graph: the graph of the function of a row.
      columns: the inputs, each with one dimension more than for a row.
    """

    def __init__(self, program: _Program, graph: Any, columns: Sequence[Any]):
        self._program, self._graph = program, graph
        # Tensors of the function of a row -> those of the chunk.
        self._tensors = dict(zip((one.name for one in graph.inputs), columns))
        self._count = tf.shape(columns[0], out_type=tf.int64)[0]
        self._done: Any = None

    def compute(self) -> tuple[Any, list[Any]]:
        """Returns the number of rows before the first error, and the outputs of these rows."""
        for operation in self._graph.get_operations():
            if operation.type in ("NoOp", "Placeholder"):
                continue
            is_call = operation.type == "PyFunc"
            found = self._call(operation) if is_call else [self._add(operation)]
            self._tensors.update(zip((one.name for one in operation.outputs), found))
        return self._done, [self._find(one, True) for one in self._graph.outputs]

    def _find(self, tensor: Any, is_after: bool) -> Any:
        """Returns a tensor of the chunk; `is_after` leaves out the rows whose call failed."""
        found = self._tensors[tensor.name]
        is_whole = tensor.name not in self._program.after and tensor.op.type != "Const"
        return found[: self._done] if is_after and is_whole else found

    def _add(self, operation: Any) -> Any:
        (output,) = operation.outputs
        if operation.type == "Const":
            return tf.constant(tf.get_static_value(output), output.dtype)
        is_after = output.name in self._program.after
        inputs = [self._find(one, is_after) for one in operation.inputs]
        if operation.type == "Reshape":
            count = self._done if is_after else self._count
            return tf.reshape(inputs[0], tf.concat([[count], np.int64(output.shape.as_list())], 0))
        added = ops.get_default_graph().create_op(
            operation.type, inputs, [output.dtype], attrs=dict(operation.node_def.attr)
        )
        return added.outputs[0]

    def _call(self, operation: Any) -> list[Any]:
        types = [one.dtype for one in operation.outputs]
        function = _Calls(self._program.function, types)
        inputs = [self._find(one, False) for one in operation.inputs]
        self._done, *found = tf.numpy_function(function, inputs, [tf.int64, *types])
        self._done.set_shape([])
        return found


class _Calls:
    """Calls a function for each row of a chunk.

    Args:
      function: the program's function.
      types: of its results.
    """

    def __init__(self, function: Callable[..., Any], types: Sequence[Any]):
        self._function = function
        self._types = [np.dtype(one.as_numpy_dtype) for one in types]

    def __call__(self, *columns: np.ndarray) -> list[Any]:
        """Returns the number of rows before the first that fails, and the results of these rows.

        Args:
          columns: the inputs, [rows, ...].
        """
        count, done = len(columns[0]), 0
        results: list[np.ndarray] = []
        for row in range(count):
            try:
                values = self._convert(self._function(*[column[row] for column in columns]))
            except Exception:  # the row is computed again, which raises the error in its place
                break
            if values is None:
                break
            if not results:
                results = [np.empty((count, *one.shape), one.dtype) for one in values]
            elif any(one.shape != result.shape[1:] for one, result in zip(values, results)):
                break
            for one, result in zip(values, results):
                result[row, ...] = one
            done += 1
        if not results:
            results = [np.empty(0, one) for one in self._types]
        return [np.int64(done), *(one[:done] for one in results)]

    def _convert(self, found: Any) -> Optional[list[np.ndarray]]:
        """Returns the results of a call as TensorFlow converts them; None if it refuses them."""
        values = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(values) != len(self._types):
            return None
        for number, (value, dtype) in enumerate(zip(values, self._types)):
            if type(value) is not np.ndarray or value.dtype != dtype:
                value = script_ops.FuncRegistry._convert(value)
                if dtype == np.object_ and value.dtype.kind in "SO":
                    value = value.astype(np.object_)
                if value.dtype != dtype:
                    return None
                values[number] = value
        return values
