"""Parses many rows at once where a queue runner parses one: `tf.train.batch([decode_csv(line)])`.

A queue runner reads a line, parses it and puts it into a queue, with one run of the session for
each row. Where the operations in between treat each element alone and exactly (batched_maps.py), a
run reads many lines, and another parses all of them and puts them into the queue one after the
other: the same rows in the same order, as the queue has room. If a line cannot be parsed, the lines
that were read with it go through the program's own operation, which raises its error.

The operations for many rows are added when the threads start, so that the program's graph, and the
seeds that depend on the number of its operations, stay as they are until then.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.output import terminal
from estimator_bridge.private_tf import config_pb2
from estimator_bridge.process import batch_first
from estimator_bridge.tf1.batched_maps import are_elementwise

__all__ = ["install"]

# Lines that are read at once.
_ROWS = 64
_QUEUES = ("FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2")
_SCOPE = "estimator_bridge_rows"


class _Rows(NamedTuple):
    """How many rows are read, parsed and put into a queue.

    Attributes:
      lines: tensor of the next lines, string [n].
      given: placeholder of lines, string [n].
      enqueue: operation that parses `given` and puts it into the queue.
      line: tensor of one line, string scalar, of the program.
    """

    lines: tf.Tensor
    given: tf.Tensor
    enqueue: tf.Operation
    line: tf.Tensor


def install() -> None:
    """Makes the queue runners that start from now on parse many rows at once where they can."""
    cls = tf.train.QueueRunner
    create, run = cls.create_threads, cls._run

    @functools.wraps(create)
    def create_threads(self: Any, sess: Any, *arguments: Any, **options: Any) -> Any:
        local = isinstance(sess, tf.Session) and not sess.sess_str
        if local and "_bridge_rows" not in vars(self):
            # Two threads may run the same operation; a condition is a tensor.
            operations = [one for one in self.enqueue_ops if isinstance(one, tf.Operation)]
            self._bridge_rows = {one: _build(one) for one in dict.fromkeys(operations)}
            if any(self._bridge_rows.values()):
                name = terminal.escape(self.queue.name)
                batch_first.announce(
                    f"the rows of the queue {name} are parsed {_ROWS} at once instead of one by "
                    "one",
                    "one by one",
                )
        return create(self, sess, *arguments, **options)

    @functools.wraps(run)
    def run_rows(self: Any, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        rows = vars(self).get("_bridge_rows", {}).get(enqueue_op)
        run(self, sess if rows is None else _Session(sess, rows), enqueue_op, coord)

    cls.create_threads, cls._run = create_threads, run_rows


class _Session:
    """The session of a queue runner's thread; equal to the session that it stands for.

    Args:
      session: the session.
      rows: what the thread does instead of its operation.
    """

    def __init__(self, session: Any, rows: _Rows):
        self._session, self._rows = session, rows

    def __hash__(self) -> int:
        return hash(self._session)

    def __eq__(self, other: object) -> bool:
        return other is self._session

    def run(self, operation: tf.Operation) -> None:
        """Runs an operation, once."""
        self._session.run(operation)

    def make_callable(self, enqueue: tf.Operation) -> Callable[[], None]:
        """Returns a function that puts the next rows into the queue.

        Args:
          enqueue: the program's operation, which does this with one row.
        """
        rows, read = self._rows, self._session.make_callable(self._rows.lines)
        enqueue_many = self._make_fed(rows.enqueue, rows.given)
        enqueue_one = self._make_fed(enqueue, rows.line)

        def enqueue_rows() -> None:
            lines = read()
            try:
                enqueue_many(lines)
            except tf.errors.InvalidArgumentError:
                # None of them is in the queue: they are parsed first.
                for line in lines:
                    enqueue_one(np.array(line, object))

        return enqueue_rows

    def _make_fed(self, operation: tf.Operation, fed: tf.Tensor) -> Callable[..., Any]:
        options = config_pb2.CallableOptions(feed=[fed.name], target=[operation.name])
        return self._session._make_callable_from_options(options)


def _build(enqueue: tf.Operation) -> Optional[_Rows]:
    """Returns how to do with many rows what an operation does with one; None if it may differ."""
    if enqueue.type != "QueueEnqueueV2" or enqueue.inputs[0].op.type not in _QUEUES:
        return None
    operations = _find_operations(enqueue)
    reads = [one for one in operations if one.type == "ReaderReadV2"]
    if len(reads) != 1 or not _is_alone(reads[0], [*operations, enqueue]):
        return None
    (read,) = reads
    parsing = [one for one in operations if one is not read]
    if any(one.control_inputs for one in [read, enqueue, *parsing]):
        return None
    if not are_elementwise([one for one in parsing if not _is_scalar_reshape(one)]):
        return None
    graph, (_, line) = enqueue.graph, read.outputs
    finalized = graph.finalized
    graph._unsafe_unfinalize()
    try:
        with graph.as_default(), graph.device(None), graph.control_dependencies(None):
            return _add(read, enqueue, _copy(parsing, line), line)
    finally:
        if finalized:
            graph.finalize()


def _find_operations(enqueue: tf.Operation) -> list[tf.Operation]:
    """Returns the operations from the read line to the components of the queue."""
    found: dict[tf.Operation, None] = {}
    waiting = [tensor.op for tensor in enqueue.inputs[1:]]
    while waiting:
        operation = waiting.pop()
        if operation in found:
            continue
        found[operation] = None
        if operation.type != "ReaderReadV2":
            inputs = list(operation.inputs)
            inputs = inputs[:1] if _is_scalar_reshape(operation) else inputs
            waiting += [tensor.op for tensor in inputs]
    return list(found)


def _is_scalar_reshape(operation: tf.Operation) -> bool:
    scalars = (operation.inputs[0], operation.outputs[0]) if operation.type == "Reshape" else ()
    return bool(scalars) and all(one.shape.rank == 0 for one in scalars)


def _is_alone(read: tf.Operation, users: list) -> bool:
    """Returns whether nothing else notices how many lines are read at once."""
    reader = read.inputs[0]
    key, line = read.outputs
    return (
        reader.op.type == "TextLineReaderV2"
        and reader.consumers() == [read]
        and not key.consumers()
        and all(user in users for user in line.consumers())
        and not read._control_outputs
        and not users[-1]._control_outputs
    )


def _copy(operations: list, line: tf.Tensor) -> tf.GraphDef:
    """Returns the operations, of lines in a placeholder."""
    copied = tf.GraphDef()
    lines = copied.node.add(name="lines", op="Placeholder")
    lines.attr["dtype"].type = tf.string.as_datatype_enum
    lines.attr["shape"].shape.dim.add(size=-1)
    for operation in operations:
        node = copied.node.add()
        node.CopyFrom(operation.node_def)
        if operation.type == "Reshape":
            node.op = "Identity"
            del node.input[1:]
            del node.attr["Tshape"]
        for name in [name for name in node.attr if name.startswith("_")]:
            del node.attr[name]
        node.input[:] = ["lines" if one == line.name else one for one in node.input]
    return copied


def _add(
    read: tf.Operation, enqueue: tf.Operation, copied: tf.GraphDef, line: tf.Tensor
) -> Optional[_Rows]:
    queue, *components = enqueue.inputs
    names = ["lines:0" if one is line else one.name for one in components]
    given, *many = tf.import_graph_def(copied, return_elements=["lines:0", *names], name=_SCOPE)
    if any(one.shape.rank != 1 for one in many):
        return None
    reader, files = read.inputs
    lines = tf.raw_ops.ReaderReadUpToV2(
        reader_handle=reader, queue_handle=files, num_records=tf.constant(_ROWS, tf.int64)
    ).values
    operation = tf.raw_ops.QueueEnqueueManyV2(handle=queue, components=many)
    return _Rows(lines, given, operation, line)
