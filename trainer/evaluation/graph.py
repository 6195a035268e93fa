"""An evaluation graph that is run for one checkpoint after another; writes the results."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from estimator_bridge import estimator, tf
from trainer.evaluation.event_files import keep_graph

# Operations whose state is not in a checkpoint and persists after an evaluation.
STATEFUL = re.compile(
    r"(?<!Stateless)Random|TruncatedNormal|Multinomial|Stateful(?!Partitioned)|Rng|Shuffle|"
    r"Sampling|Mutable|Queue|Stage|Barrier"
)


class EvaluationGraph:
    """An evaluation graph and its session; also the session creator of a MonitoredSession.

    Args:
        built: an Estimator.
        spec: the estimator.EvalSpec.
        checkpoint: path of the first checkpoint.

    Attributes:
        is_reusable: whether the graph may be run again; known once it has been run.
    """

    def __init__(self, built: Any, spec: Any, checkpoint: str):
        self._built = built
        self._spec = spec
        self._session: Any = None
        self._checkpoint = checkpoint
        self.is_reusable = False
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._scaffold, update, self._values, hooks = built._evaluate_build_graph(
                spec.input_fn, [], checkpoint
            )
            self._update = [update, tf.compat.v1.assign_add(_eval_step(), 1)]
            collected = tf.compat.v1.get_collection
            keys = tf.compat.v1.GraphKeys
            # Tables are initialised once. A model's own local_init_op is run each time.
            self._reset = self._scaffold.local_init_op
            if self._reset is None and not collected(keys.LOCAL_INIT_OP):
                self._reset = tf.compat.v1.local_variables_initializer()
        self._input_hooks = [hook for hook in hooks if _is_initializer(hook)]
        self._model_hooks = [hook for hook in hooks if not _is_initializer(hook)]
        roots = [update, *(value.op for value in self._values.values())]
        self._may_be_reused = (
            len(self._input_hooks) == 1
            and not self._model_hooks
            and not self._graph.get_collection(keys.QUEUE_RUNNERS)
            and not self._graph.get_collection("saved_model_initializers")
            and not _has_state(self._graph, roots)
        )
        self._version = self._graph.version

    def run(self, checkpoint: str) -> dict[str, Any]:
        """Returns the metrics of a checkpoint, and global_step; writes them for TensorBoard.

        Args:
            checkpoint: its path.
        """
        self._checkpoint = checkpoint
        final = estimator.FinalOpsHook(self._values)
        hooks = [*self._input_hooks, *self._spec.hooks]
        if self._spec.steps is not None:
            hooks.append(_StopAfter(self._spec.steps))
        hooks += [*self._model_hooks, final]
        with self._graph.as_default():
            with tf.compat.v1.train.MonitoredSession(session_creator=self, hooks=hooks) as session:
                while not session.should_stop():
                    session.run(self._update)
            result: dict[str, Any] = final.final_ops_values
            write_result(self._built.eval_dir(self._spec.name), result, checkpoint)
        return result

    def create_session(self) -> Any:
        """Returns a session with the checkpoint's values.

        MonitoredSession calls this method after it has called the `begin` of every hook.
        """
        if self._session is not None:
            self._scaffold.saver.restore(self._session, self._checkpoint)
            self._session.run(self._reset)
            return self._session
        # A hook that has added operations to the graph would add them again in every evaluation.
        self.is_reusable = self._may_be_reused and self._graph.version == self._version
        creator = tf.compat.v1.train.ChiefSessionCreator(
            scaffold=self._scaffold,
            config=self._built._session_config,
            checkpoint_filename_with_path=self._checkpoint,
        )
        self._session = creator.create_session()
        if self._reset is None:
            self._reset = self._scaffold.local_init_op
        # MonitoredSession must not close its session, because the session is used again.
        self._session.close = lambda: None
        return self._session

    def close(self) -> None:
        """Closes the session."""
        if self._session is not None:
            del self._session.close
            self._session.close()
            self._session = None


def _is_initializer(hook: Any) -> bool:
    """Whether a hook is the one that initialises the iterator of an Estimator's dataset."""
    return type(hook).__name__ == "_DatasetInitializerHook"


def _eval_step() -> Any:
    """The counter of evaluation steps, in the collection where hooks expect it."""
    keys = tf.compat.v1.GraphKeys
    known = tf.compat.v1.get_collection(keys.EVAL_STEP)
    if known:
        return known[0]
    return tf.compat.v1.get_variable(
        "eval_step",
        shape=[],
        dtype=tf.int64,
        initializer=tf.compat.v1.zeros_initializer(),
        trainable=False,
        collections=[keys.LOCAL_VARIABLES, keys.EVAL_STEP],
    )


def _has_state(graph: Any, roots: Iterable[Any]) -> bool:
    """Whether `roots` or the input depend on a state that no checkpoint contains."""
    for function in graph.as_graph_def().library.function:
        if any(STATEFUL.search(node.op) for node in function.node_def):
            return True
    pending = [*roots, *(op for op in graph.get_operations() if op.type == "MakeIterator")]
    seen = set()
    while pending:
        op = pending.pop()
        if op in seen:
            continue
        seen.add(op)
        if STATEFUL.search(op.type):
            return True
        pending += [tensor.op for tensor in op.inputs]
        pending += op.control_inputs
    return False


class _StopAfter(estimator.SessionRunHook):
    """Ends an evaluation after a number of batches."""

    def __init__(self, steps: int):
        if steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        self._left = steps

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


def write_result(folder: str, result: dict[str, Any], checkpoint: str) -> None:
    """Writes metrics for TensorBoard as Estimator.evaluate does.

    Numbers become scalars, and arrays tensors; bytes are read as a serialized Summary. Must be
    called with a default graph.

    Args:
        folder: of the event file.
        result: name → metric, and global_step.
        checkpoint: path of the checkpoint; it is written too.
    """
    step = int(result["global_step"])
    tf.compat.v1.logging.info("Saving dict for global step %d: %s", step, result)
    summary = tf.compat.v1.Summary()
    for name, value in result.items():
        if name == "global_step" or value is None:
            continue
        if isinstance(value, (float, int, np.float32, np.int32, np.int64)):
            summary.value.add(tag=name, simple_value=value)
        elif isinstance(value, np.ndarray):
            tensor = tf.make_tensor_proto(value)
            summary.value.add(tag=name, node_name=name, tensor=tensor)
        elif isinstance(value, bytes):
            summary.value.extend(_read_summary(name, value))
        else:
            tf.compat.v1.logging.warn("No summary for %s: it is %s", name, type(value))
    keep_graph(folder)
    writer = tf.compat.v1.summary.FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    path = tf.make_tensor_proto(checkpoint, dtype=tf.string)
    summary = tf.compat.v1.Summary()
    summary.value.add(tag="checkpoint_path", tensor=path)
    writer.add_summary(summary, step)
    writer.flush()


def _read_summary(name: str, serialized: bytes) -> Sequence[Any]:
    try:
        values: Sequence[Any] = tf.compat.v1.Summary.FromString(serialized).value
    except DecodeError as error:
        tf.compat.v1.logging.warn("No summary for %s: %s", name, error)
        return []
    for number, value in enumerate(values):
        value.tag = f"{name}/{number}"
    return values
