"""Training of the fused engine with parameter servers, in a process that trains.

The process reads the variables that a step needs and sends the gradients. It holds no variable but
the global step. Its graph has all variables, as in training without servers, because the names,
shapes and initial values follow from them; but none of them has memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from estimator_bridge import estimator, tf
from trainer.models.fused.gradients import Step, list_gradients
from trainer.models.fused.layout import Layout, Table
from trainer.models.fused.network import run_forward
from trainer.models.fused.remote import Home
from trainer.models.fused.rows import BOUNDS, DISTINCT, FOUND, PLACES, take_batch
from trainer.models.fused.sharing import COUNTED, SharedVariables, Sharing, share
from trainer.models.fused.training import (
    Batches,
    FusedModel,
    LastCheckpointHook,
    add_summaries,
    build_parts,
    loops_of_tf1,
    prepare_batches,
)
from trainer.models.fused.updates import (
    KINDS,
    Gradient,
    OptimizerStep,
    build_optimizers,
    divide_by_part,
)
from trainer.models.fused.variables import Stored, Variables, build_saver, create_variables

# A collection of the graph: the global step of the servers, whose reading also sets that of this
# process.
SERVED_STEP = "trainer/served_step"
# A collection of the graph: names of variables on the servers that must not be saved, because they
# are not finite.
SERVED_WRONG = "trainer/served_wrong"


class _State(NamedTuple):
    """What a process has read of the servers.

    Attributes:
        step: int64 scalar, the global step.
        whole: float32, the variables that are sent as a whole, one after another.
        rows: of each table that is sent as rows, those of a batch, float32 [rows, dimension].
    """

    step: Any
    whole: Any
    rows: tuple[Any, ...]


class _Access(NamedTuple):
    """Operations that read and update what the servers hold.

    Attributes:
        home: gives access to the servers.
        sharing: what they hold.
        layout: of the model.
    """

    home: Home
    sharing: Sharing
    layout: Layout

    @property
    def tables(self) -> list[Table]:
        """The tables that are sent as rows, in the order of `sharing`."""
        by_name = {table.name: table for table in self.layout.tables}
        return [by_name[one.name] for one in self.sharing.tables]

    def pull(self, ids: Sequence[Any]) -> _State:
        """Reads the variables.

        Args:
            ids: of the rows of each table, int32.
        """
        home = self.home

        def pull(*found: np.ndarray) -> list[Any]:
            pulled = home.variables.pull(found)
            return [np.int64(pulled.step), pulled.whole, *pulled.rows]

        return self._call(pull, list(ids))

    def push(self, gradients: Sequence[Gradient], ids: Sequence[Any], is_last: Any) -> _State:
        """Updates the variables, and reads them.

        Args:
            gradients: of all variables.
            ids: of the rows of each table that the next step needs, int32.
            is_last: whether nothing is read, a bool scalar.
        """
        home, count = self.home, len(self.tables)
        by_name = {each.stored.variable.op.name: each for each in gradients}
        whole = [by_name[one.name] for one in self.sharing.others]
        counts = [by_name[one.name].counts for one in self.sharing.others if one.form == COUNTED]
        flat = [tf.reshape(each, [-1]) for each in [*(one.values for one in whole), *counts]]
        rows = [by_name[one.name] for one in self.sharing.tables]

        def push(last: Any, grads: np.ndarray, *arrays: np.ndarray) -> list[Any]:
            touched, values, following = (
                (arrays[start : start + count] for start in range(0, 3 * count, count))
                if count
                else ((), (), ())
            )
            pulled = home.variables.push(grads, touched, values, None if last else following)
            return [np.int64(pulled.step), pulled.whole, *pulled.rows]

        sent = tf.concat(flat, axis=0) if flat else tf.zeros([0])
        given = [is_last, sent, *(one.rows for one in rows), *(one.values for one in rows), *ids]
        return self._call(push, given)

    def _call(self, function: Callable[..., list[Any]], given: list[Any]) -> _State:
        # A ConnectionError ends the run of the session.
        tables = self.tables
        step, whole, *rows = tf.numpy_function(
            function, given, [tf.int64, tf.float32] + [tf.float32] * len(tables)
        )
        return _State(
            tf.ensure_shape(step, []),
            tf.ensure_shape(whole, [None]),
            tuple(
                tf.ensure_shape(each, [None, table.dimension]) for each, table in zip(rows, tables)
            ),
        )

    def arrange(
        self, rows: dict[str, Any], state: _State, variables: Variables
    ) -> tuple[dict[str, Any], Variables]:
        """Returns a batch and the values of the variables in the form of the forward pass.

        Tables that are sent as rows have only these rows, and the batch has their places.

        Args:
            rows: one batch of prepared rows.
            state: what has been read for this batch.
            variables: the variables, each a Remote.
        """
        sizes = [one.size for one in self.sharing.others]
        pieces = tf.split(state.whole, sizes, num=len(sizes)) if sizes else []
        values = {
            one.name: tf.reshape(piece, one.shape)
            for one, piece in zip(self.sharing.others, pieces)
        }
        rows = dict(rows)
        for table, found in zip(self.tables, state.rows):
            name = FOUND + table.name if table.may_lack else table.name
            places, shape = rows[PLACES + table.name], rows[table.name].shape
            if table.may_lack:
                # Row 0 represents a missing value, whose place is -1.
                found = tf.concat([tf.zeros([1, table.dimension]), found], axis=0)
                places += 1
            rows[name] = tf.reshape(places, tf.shape(rows[table.name]))
            rows[name].set_shape(shape)
            values[table.name] = found
        return rows, variables.map(lambda one: values[one.op.name])


def build_served_training(
    model: FusedModel, features: dict[str, Any], labels: Any, run_config: Any
) -> Any:
    """Builds the training graph of a process that trains with parameter servers.

    Args:
        model: the model, with servers.
        features: as those of build_training, with several steps in one run of the session.
        labels: of the same shape as the features.
        run_config: an estimator.RunConfig.

    Returns:
        An EstimatorSpec. A run ends after a step whose loss is NaN, and at the last global step;
        then the last loss is that of a step without an update.
    """
    assert model.servers is not None
    batches = prepare_batches(model, features, labels)
    home, layout = Home(model.servers.loads), model.layout
    step = tf.compat.v1.train.get_or_create_global_step()
    scope = tf.compat.v1.variable_scope(
        tf.compat.v1.get_variable_scope(), custom_getter=home.create
    )
    with scope:
        stored, seeds = create_variables(
            layout, model.options.hidden_units, model.units, model.options.dropout > 0
        )
        divided = divide_by_part(layout, stored)
        optimizers = build_optimizers(model.train, model.max_steps, step.read_value(), divided)
    sharing = share(layout, stored, model.preparation.distinct, model.train, model.max_steps)
    home.variables = SharedVariables(model.servers, sharing)
    access = _Access(home, sharing, layout)
    variables = stored.map(lambda one: one.variable)
    parts = build_parts(model, seeds)
    # The servers apply the gradients.
    kinds = {
        part: OptimizerStep(KINDS[name], tf.no_op, {}, {})
        for part, name in sharing.optimizers.items()
    }

    def compute(rows: dict[str, Any], state: _State) -> tuple[Any, list[Gradient]]:
        arranged, values = access.arrange(rows, state, variables)
        done = parts.run(arranged, values)
        loss = parts.compute_loss(done, arranged)
        return loss, list_gradients(layout, stored, Step(arranged, values, done, loss), kinds)

    loss, now = _run_steps(model, access, batches, compute)
    train_op = tf.group(step.assign(now, read_value=False), name="training")
    saved = [
        Stored(step, "global_step"),
        *stored.of_deep,
        *stored.of_linear,
        *(one for optimizer in optimizers.values() for one in optimizer.stored),
    ]
    saver = build_saver(saved, run_config)
    # Hooks that save checkpoints look for the saver in this collection.
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.SAVERS, saver)
    if home.loads:
        with tf.control_dependencies([train_op]):
            _add_summaries(model, access, variables, batches)
    return estimator.EstimatorSpec(
        estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=train_op,
        scaffold=_build_scaffold(home, step, saver),
        training_hooks=[LastCheckpointHook(), *([_StartHook(home)] if home.loads else [])],
    )


def _run_steps(
    model: FusedModel,
    access: _Access,
    batches: Batches,
    compute: Callable[[dict[str, Any], _State], tuple[Any, list[Gradient]]],
) -> tuple[Any, Any]:
    """Runs the steps one after another; returns the last loss and the global step."""

    def take_ids(index: Any) -> list[Any]:
        found = []
        for table in access.tables:
            name = DISTINCT + table.name
            bounds = batches.rows[BOUNDS + name]
            found.append(batches.rows[name][bounds[index] : bounds[index + 1]])
        return found

    def continues(index: Any, loss: Any, state: _State) -> Any:
        is_next = (index < batches.num_steps) & ~tf.math.is_nan(loss)
        # A run that begins at the last step has a loss, too.
        return is_next & ((index < 1) | (state.step < model.max_steps))

    def run(index: Any, _: Any, state: _State) -> tuple[Any, Any, _State]:
        loss, gradients = compute(take_batch(batches.rows, index), state)
        is_last = index + 1 >= batches.num_steps
        following = tf.minimum(index + 1, batches.num_steps - 1)
        with tf.control_dependencies([loss]):
            pushed = access.push(gradients, take_ids(following), is_last)
            return index + 1, loss, pushed

    first = access.pull(take_ids(tf.constant(0, tf.int64)))
    start = (tf.constant(0, tf.int64), tf.constant(0.0), first)
    with loops_of_tf1():
        _, loss, last = tf.while_loop(continues, run, start, parallel_iterations=1)
    return loss, last.step


def _add_summaries(
    model: FusedModel, access: _Access, variables: Variables, batches: Batches
) -> None:
    """Adds the summaries of the last batch of a run after its update."""
    rows = take_batch(batches.rows, batches.num_steps - 1)
    state = access.pull([rows[DISTINCT + table.name] for table in access.tables])
    arranged, values = access.arrange(rows, state, variables)
    wide = tuple(one.read_value() for one in variables.wide)
    done = run_forward(model.layout, arranged, values, model.activation)
    add_summaries(model, done, values._replace(wide=wide))


def _build_scaffold(home: Home, step: Any, saver: Any) -> Any:
    """Builds what prepares a session: the chief sets the variables, the others wait for it."""
    lacking = tf.compat.v1.report_uninitialized_variables([step])
    prepared = tf.compat.v1.train.Scaffold.default_local_init_op()
    read = tf.numpy_function(lambda: np.int64(home.variables.read_step()), [], tf.int64)
    with tf.control_dependencies([step.assign(tf.ensure_shape(read, []), read_value=False)]):
        served = step.read_value()
    tf.compat.v1.add_to_collection(SERVED_STEP, served)
    wrong = tf.numpy_function(
        lambda: np.array(home.variables.list_wrong(), np.bytes_), [], tf.string
    )
    tf.compat.v1.add_to_collection(SERVED_WRONG, wrong)
    if not home.loads:
        prepared = tf.group(prepared, served)
    return tf.compat.v1.train.Scaffold(
        init_op=tf.group(step.initializer, *(one.initialize() for one in home.remote)),
        ready_op=lacking,
        ready_for_local_init_op=lacking,
        local_init_op=prepared,
        saver=saver,
    )


class _StartHook(estimator.SessionRunHook):
    """Lets all processes train after the chief has set the variables.

    Args:
        home: gives access to the servers.
    """

    def __init__(self, home: Home):
        def start(step: np.ndarray) -> None:
            home.variables.start(int(step))

        step = tf.compat.v1.train.get_global_step().read_value()
        # An operation, so that the loss of a server is handled as in a step.
        self._start = tf.numpy_function(start, [step], [])

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Tells the servers the global step.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        session.run(self._start)
