"""A parameter server: it holds the variables of a fused model, or a part of them, and updates them.

The updates are those of training in one process, with the same operations.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.models.fused.sharing import (
    CHECK,
    COUNTED,
    GET,
    GREET,
    PULL,
    PUSH,
    READY,
    ROWS,
    SET,
    STEP,
    Shared,
    Sharing,
)
from trainer.models.fused.updates import Gradient, Optimizer, build_optimizers
from trainer.models.fused.variables import Stored


class _Variable(NamedTuple):
    """A variable on this server, and how it is set and read."""

    dtype: Any
    shape: list[int]
    set: Callable[[np.ndarray], Any]
    read: Callable[[], np.ndarray]


class _Model:
    """The variables of a server, in a session.

    Args:
        sharing: what all servers serve.
        number: of this server.
        count: number of servers.
        session_config: a ConfigProto.
    """

    def __init__(self, sharing: Sharing, number: int, count: int, session_config: Any):
        homes = sharing.find_homes(count)
        self._shared = [one for one in sharing.variables if homes.get(one.name, number) == number]
        self.tables = [one for one in self._shared if one.form == ROWS]
        self._others = [one for one in self._shared if one.form != ROWS]
        self.step = 0
        with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
            self._session = tf.compat.v1.Session(graph=graph, config=session_config)
            self._step = tf.compat.v1.get_variable(
                "global_step", initializer=tf.constant(0, tf.int64), use_resource=True
            )
            self._stored = {
                one.name: _create(one, one.shape_on(number, count)) for one in self._shared
            }
            parts = {
                part: [self._stored[one.name] for one in self._shared if one.part == part]
                for part in sharing.optimizers
            }
            optimizers = build_optimizers(
                sharing.train, sharing.max_steps, self._step.read_value(), parts
            )
            self.variables = self._build_transfers(optimizers)
            self._check = self._build_check(optimizers)
            self._build_step(optimizers)
            self._set_step = self._build_setter(self._step)

    def close(self) -> None:
        """Frees the variables."""
        self._session.close()

    def start(self, step: int) -> None:
        """Sets the global step.

        Args:
            step: the step.
        """
        self._set_step(np.array(step, np.int64))
        self.step = step

    def pull(self, reads_whole: bool, ids: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the values of all variables that are sent as a whole, and of rows of tables.

        Args:
            reads_whole: whether any value is requested.
            ids: the rows of each table, int32.
        """
        if not reads_whole:
            return [np.empty(0, np.float32)] * (1 + len(self.tables))
        values: list[np.ndarray] = self._pull(*ids)
        return values

    def push(
        self, grads: Sequence[np.ndarray], reads_whole: bool, ids: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Makes one update, and returns what `pull` returns.

        Args:
            grads: those of the variables that are sent as a whole, float32; then the rows of each
                table and their gradients.
            reads_whole: whether any value is requested.
            ids: the rows of each table, int32.
        """
        self.step += 1
        if not reads_whole:
            self._push(*grads)
            return self.pull(False, ids)
        values: list[np.ndarray] = self._push_and_pull(*grads, *ids)
        return values

    def list_wrong(self) -> list[str]:
        """Returns the names of variables with NaN, and of trained ones that are not finite."""
        return [name for name, is_wrong in zip(self._checked, self._check()) if is_wrong]

    def _build_check(self, optimizers: dict[str, Optimizer]) -> Callable[[], Any]:
        trained = [one.variable for one in self._stored.values()]
        others = [one.variable for each in optimizers.values() for one in each.stored]
        others = [one for one in others if one.dtype.is_floating]
        self._checked = [one.op.name for one in [*trained, *others]]
        checks = [~tf.math.is_finite(one.read_value()) for one in trained]
        checks += [tf.math.is_nan(one.read_value()) for one in others]
        check: Callable[[], Any] = self._session.make_callable(
            tf.stack([tf.reduce_any(each) for each in checks])
        )
        return check

    def _build_transfers(self, optimizers: dict[str, Optimizer]) -> dict[str, _Variable]:
        transferred = [*self._stored.values()]
        transferred += [one for each in optimizers.values() for one in each.stored]
        variables = {}
        for one in transferred:
            variable = one.variable
            variables[variable.op.name] = _Variable(
                variable.dtype.as_numpy_dtype,
                variable.shape.as_list(),
                self._build_setter(variable),
                self._session.make_callable(variable.read_value()),
            )
        return variables

    def _build_setter(self, variable: Any) -> Callable[[np.ndarray], Any]:
        fed = tf.compat.v1.placeholder(variable.dtype, variable.shape)
        assigned = variable.assign(fed, read_value=False)
        setter: Callable[[np.ndarray], Any] = self._session.make_callable(assigned, [fed])
        return setter

    def _build_step(self, optimizers: dict[str, Optimizer]) -> None:
        make = self._session.make_callable
        ids = [tf.compat.v1.placeholder(tf.int32, [None]) for _ in self.tables]
        self._pull = make(self._read(ids), ids)
        flat = tf.compat.v1.placeholder(tf.float32, [None])
        fed = [flat]
        gradients = []
        begun = {part: each.begin(tf.constant(0, tf.int64)) for part, each in optimizers.items()}
        counted = [one for one in self._others if one.form == COUNTED]
        sizes = [one.size for one in self._others] + [one.shape[0] for one in counted]
        pieces = iter(tf.split(flat, sizes, num=len(sizes)) if sizes else [])
        values = {one.name: tf.reshape(next(pieces), one.shape) for one in self._others}
        counts = {one.name: next(pieces) for one in counted}
        for one in self._shared:
            optimizer, stored = begun[one.part], self._stored[one.name]
            if one.form == ROWS:
                rows = tf.compat.v1.placeholder(tf.int32, [None])
                grad = tf.compat.v1.placeholder(tf.float32, [None, *one.shape[1:]])
                fed += [rows, grad]
                gradients.append(Gradient(optimizer, stored, grad, rows))
            else:
                found = counts.get(one.name)
                gradients.append(Gradient(optimizer, stored, values[one.name], counts=found))
        with tf.control_dependencies([each.apply() for each in gradients]):
            one_step = tf.constant(1, tf.int64)
            finished = [self._step.assign_add(one_step, read_value=False)]
            for each in optimizers.values():
                finished += each.finish(one_step)
        with tf.control_dependencies(finished):
            read = self._read(ids)
        self._push = make(tf.group(*finished), fed)
        self._push_and_pull = make(read, [*fed, *ids])

    def _read(self, ids: Sequence[Any]) -> list[Any]:
        flat = [
            tf.reshape(self._stored[one.name].variable.read_value(), [-1]) for one in self._others
        ]
        whole = tf.concat(flat, axis=0) if flat else tf.zeros([0])
        rows = [
            self._stored[one.name].variable.sparse_read(each) for one, each in zip(self.tables, ids)
        ]
        return [whole, *rows]


def _create(one: Shared, shape: list[int]) -> Stored:
    variable = tf.compat.v1.get_variable(
        one.name, shape, initializer=tf.compat.v1.zeros_initializer(), use_resource=True
    )
    return Stored(variable, one.name)


class ParameterService:
    """Answers the messages of the processes that train.

    The chief greets first, sets all variables, and says that they are ready. Until then, the
    others wait. A chief that is started again does the same. At the last step, an update is
    refused, and the answer contains the step. So is an update that was computed from what was read
    before the chief set the variables.

    Args:
        number: of this server.
        count: number of servers.
        session_config: a ConfigProto.
    """

    def __init__(self, number: int, count: int, session_config: Any):
        self._number, self._count, self._config = number, count, session_config
        self._text: Optional[str] = None
        self._last = math.inf
        self._model: Optional[_Model] = None
        self._is_ready = False
        # Which setting of the variables this is.
        self._load = 0
        # Numbers of the processes that train the chief's model.
        self._greeted: set[int] = set()

    def answer(
        self, trainer: int, kind: int, arrays: Sequence[np.ndarray]
    ) -> Optional[list[np.ndarray]]:
        """Returns the answer to a message; None if it must wait for the chief.

        Args:
            trainer: number of the process that has sent it.
            kind: of the message.
            arrays: of the message, uint8.

        Raises:
            UserError: the process trains another model than the chief.
        """
        if kind == GREET:
            text, load = arrays[0].tobytes().decode(), int(arrays[1].view(np.int64)[0])
            return self._greet(trainer, text, load)
        model = self._model
        assert model is not None
        if kind == SET:
            if arrays:
                one = model.variables[arrays[0].tobytes().decode()]
                # The variable keeps the array, and the memory of the message is used again.
                one.set(arrays[1].view(one.dtype).reshape(one.shape).copy())
            return []
        if kind == GET:
            return [np.asarray(model.variables[each.tobytes().decode()].read()) for each in arrays]
        if kind == CHECK:
            return [np.frombuffer(" ".join(model.list_wrong()).encode(), np.uint8)]
        if kind == READY:
            model.start(int(arrays[0].view(np.int64)[0]))
            self._is_ready = True
            return []
        if not self._is_ready:
            return None
        if trainer not in self._greeted:
            # The chief has been started again with other options.
            raise _refuse(trainer)
        return self._step(model, kind, arrays)

    def _greet(self, trainer: int, text: str, load: int) -> Optional[list[np.ndarray]]:
        if not load:
            if self._text is None:
                return None
            if text != self._text:
                raise _refuse(trainer)
            self._greeted.add(trainer)
            return []
        self._is_ready, self._load = False, load
        if text != self._text:
            self._greeted = {trainer}
            if self._model is not None:
                self._model.close()
            sharing = Sharing.from_json(text)
            self._model = _Model(sharing, self._number, self._count, self._config)
            self._text, self._last = text, sharing.max_steps
        return []

    def _step(self, model: _Model, kind: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        values: list[np.ndarray] = []
        is_accepted = False
        if kind != STEP:
            start = len(arrays) - len(model.tables)
            reads_whole, load = map(int, arrays[start - 1].view(np.int64))
            is_accepted = kind == PUSH and load == self._load and model.step < self._last
            ids = [each.view(np.int32) for each in arrays[start:]]
            if is_accepted:
                values = model.push(_list_gradients(model, arrays), bool(reads_whole), ids)
            else:
                assert kind in (PULL, PUSH)
                values = model.pull(bool(reads_whole), ids)
        return [np.array([model.step, is_accepted, self._load], np.int64), *values]


def _refuse(trainer: int) -> UserError:
    return UserError(
        f"job_dir: process {trainer} of those that train together has another model than the "
        "chief; give all of them the same options, data files, job_dir and versions"
    )


def _list_gradients(model: _Model, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    grads = [arrays[0].view(np.float32)]
    for number, one in enumerate(model.tables):
        ids, rows = arrays[1 + 2 * number : 3 + 2 * number]
        grads += [ids.view(np.int32), rows.view(np.float32).reshape(-1, *one.shape[1:])]
    return grads
