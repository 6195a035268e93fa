"""Optimizers of the fused engine: the updates of the canned optimizers, one operation per variable.

The canned models use Keras' graph-mode optimizers. The optimizers in this module have the same slot
variables, hyperparameters, formulas and names of variables.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.models.fused import row_operations
from trainer.models.fused.layout import Layout
from trainer.models.fused.variables import Stored, Variables, create_number
from trainer.models.optimizers import INITIAL_ACCUMULATOR, MOMENTUM, build_rate

# The parts of a model; each has its own optimizer.
DEEP_PART, LINEAR_PART = "deep", "linear"
# Default epsilon of Keras' optimizers, which they add to a denominator.
EPSILON = 1e-7


class Kind(NamedTuple):
    """Properties of an optimizer.

    Attributes:
        name: of the Keras class.
        slots: name → initial value of each variable's slots.
        numbers: name → initial value of its hyperparameters.
        moves_all: whether an update of all rows would also change rows without a gradient. If so,
            only the rows of a batch may be updated. For the other optimizers, an update of all rows
            of a small table is equally fast, or Keras does it too.
        needs_all: whether Keras also updates all rows, including those without a gradient.
    """

    name: str
    slots: dict[str, float]
    numbers: dict[str, float]
    moves_all: bool = False
    needs_all: bool = False


KINDS = {
    "adagrad": Kind("Adagrad", {"accumulator": INITIAL_ACCUMULATOR}, {}),
    "adam": Kind("Adam", {"m": 0.0, "v": 0.0}, {"beta_1": 0.9, "beta_2": 0.999}, needs_all=True),
    "sgd": Kind("SGD", {}, {"momentum": 0.0}),
    "momentum": Kind("SGD", {"momentum": 0.0}, {"momentum": MOMENTUM}, moves_all=True),
    "rmsprop": Kind("RMSprop", {"rms": 0.0}, {"momentum": 0.0, "rho": 0.9}, needs_all=True),
    "ftrl": Kind(
        "Ftrl",
        {"accumulator": INITIAL_ACCUMULATOR, "linear": 0.0},
        {
            "beta": 0.0,
            "l1_regularization_strength": 0.0,
            "l2_regularization_strength": 0.0,
            "learning_rate_power": -0.5,
        },
        # A weight is a function of the slots and the current learning rate.
        moves_all=True,
    ),
}


class OptimizerStep(NamedTuple):
    """An optimizer at one step.

    Attributes:
        kind: of the optimizer.
        function: builds the update of one variable.
        numbers: name → float32 scalar: hyperparameters, and "rate", the learning rate.
        slots: reference of a variable → its slots.
    """

    kind: Kind
    function: Callable[..., Any]
    numbers: dict[str, Any]
    slots: Mapping[Any, Sequence[Stored]]

    def apply(self, stored: Stored, grad: Any, rows: Any = None) -> Any:
        """Returns the operation that updates a variable.

        Args:
            stored: one of the variables of the optimizer.
            grad: float32, with the shape of the variable, or [rows, dimension] for the given rows.
            rows: int [rows], each at most once; None for all rows.
        """
        slots = [slot.variable for slot in self.slots[stored.variable.ref()]]
        return self.function(self.numbers, stored.variable, grad, rows, *slots)


class Gradient(NamedTuple):
    """The gradient of a variable in one step.

    Attributes:
        optimizer: of the variable.
        stored: the variable.
        values: float32, of the variable's shape, or [rows, dimension].
        rows: int32 [rows], the distinct rows of the values; None for all.
        counts: float32 [rows of the variable], how often each row is touched; only those that are
            touched are updated. None: all are.
    """

    optimizer: OptimizerStep
    stored: Stored
    values: Any
    rows: Any = None
    counts: Any = None

    def apply(self) -> Any:
        """Returns the operation that updates the variable."""
        if self.counts is not None:
            touched = tf.reshape(tf.where(self.counts), [-1])
            return self.optimizer.apply(self.stored, tf.gather(self.values, touched), touched)
        if self.rows is not None and self.optimizer.kind.needs_all:
            number = self.stored.variable.shape[0]
            values = row_operations.sum_rows(self.values, self.rows, number, may_lack=False)
            return self.optimizer.apply(self.stored, values)
        return self.optimizer.apply(self.stored, self.values, self.rows)


class Optimizer:
    """An optimizer of some variables in the current graph.

    Args:
        kind: name of the optimizer, as in KINDS.
        variables: the variables that it updates.
        train: l1 and l2.
        rate: the learning rate, or a function from a float32 step to it.
        step: int64 scalar, the global step before the first step of the run. None for an optimizer
            that counts its own steps, as the second optimizer of a canned model does.
        scope: of its variables in a checkpoint.

    Attributes:
        stored: the variables that the optimizer creates.
    """

    def __init__(
        self,
        kind: str,
        variables: Sequence[Stored],
        *,
        train: config_lib.TrainConfig,
        rate: Union[float, Callable[[Any], Any]],
        step: Any,
        scope: str,
    ) -> None:
        self._kind = KINDS[kind]
        numbers = {**self._kind.numbers, "decay": 0.0}
        if kind == "ftrl":
            numbers["l1_regularization_strength"] = train.l1
            numbers["l2_regularization_strength"] = train.l2
        stored = {name: create_number(f"{scope}/{name}", value) for name, value in numbers.items()}
        self._slots = {
            one.variable.ref(): [
                one.build_slot(scope, slot, value) for slot, value in self._kind.slots.items()
            ]
            for one in variables
        }
        self.stored = [
            *stored.values(),
            *(slot for slots in self._slots.values() for slot in slots),
        ]
        self._counter = None
        if step is None:
            self._counter = create_number(f"{scope}/iter", 0, tf.int64)
            self.stored.append(self._counter)
            step = self._counter.variable.read_value()
        self._step = step
        # They are read once for all steps of a run, because no step changes them.
        self._numbers = {name: one.variable.read_value() for name, one in stored.items()}
        self._rate = rate if callable(rate) else None
        self._constant_rate = None if callable(rate) else tf.constant(rate, tf.float32)
        self._function = _FUNCTIONS[kind]

    def begin(self, index: Any) -> OptimizerStep:
        """Computes the values that one step needs for every variable.

        Args:
            index: int64 scalar, number of the step within the run.
        """
        step = self._step + index
        rate: Any = self._constant_rate
        if self._rate is not None:
            rate = tf.cast(self._rate(tf.cast(step, tf.float32)), tf.float32)
        numbers = {**self._numbers, "rate": rate}
        if self._kind.name == "Adam":
            following = tf.cast(step + 1, tf.float32)
            for name in ("beta_1", "beta_2"):
                numbers[f"{name}_power"] = tf.pow(self._numbers[name], following)
        if self._kind.name == "Ftrl":
            beta, l2 = self._numbers["beta"], self._numbers["l2_regularization_strength"]
            numbers["l2"] = l2 + beta / (2.0 * rate)
        return OptimizerStep(self._kind, self._function, numbers, self._slots)

    def finish(self, num_steps: Any) -> list[Any]:
        """Returns the operations that end a run of the session.

        Args:
            num_steps: int64 scalar, the steps of the run.
        """
        if self._counter is None:
            return []
        return [self._counter.variable.assign_add(num_steps, read_value=False)]


def _adagrad(now: dict[str, Any], variable: Any, grad: Any, rows: Any, accumulator: Any) -> Any:
    options = {
        "var": variable.handle,
        "accum": accumulator.handle,
        "lr": now["rate"],
        "epsilon": EPSILON,
        "grad": grad,
    }
    if rows is None:
        return tf.raw_ops.ResourceApplyAdagradV2(**options)
    if variable.shape[1] == 1 or not row_operations.HAS_SLOW_ROWS:
        return tf.raw_ops.ResourceSparseApplyAdagradV2(indices=rows, **options)
    squares = row_operations.read_rows(accumulator, rows) + tf.square(grad)
    change = now["rate"] * grad / (tf.sqrt(squares) + EPSILON)
    return tf.group(
        row_operations.write_rows(accumulator, rows, squares),
        row_operations.write_rows(
            variable, rows, row_operations.read_rows(variable, rows) - change
        ),
    )


def _adam(now: dict[str, Any], variable: Any, grad: Any, rows: Any, *slots: Any) -> Any:
    assert rows is None
    mean, variance = slots
    return tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=mean.handle,
        v=variance.handle,
        beta1_power=now["beta_1_power"],
        beta2_power=now["beta_2_power"],
        lr=now["rate"],
        beta1=now["beta_1"],
        beta2=now["beta_2"],
        epsilon=EPSILON,
        grad=grad,
    )


def _sgd(now: dict[str, Any], variable: Any, grad: Any, rows: Any) -> Any:
    rate = now["rate"]
    if rows is None:
        return tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=grad)
    return tf.raw_ops.ResourceScatterSub(
        resource=variable.handle, indices=rows, updates=grad * rate
    )


def _momentum(now: dict[str, Any], variable: Any, grad: Any, rows: Any, velocity: Any) -> Any:
    options = {
        "var": variable.handle,
        "accum": velocity.handle,
        "lr": now["rate"],
        "momentum": now["momentum"],
        "grad": grad,
    }
    if rows is None:
        return tf.raw_ops.ResourceApplyKerasMomentum(**options)
    return tf.raw_ops.ResourceSparseApplyKerasMomentum(indices=rows, **options)


def _rmsprop(now: dict[str, Any], variable: Any, grad: Any, rows: Any, mean_square: Any) -> Any:
    assert rows is None
    rho = now["rho"]
    following = rho * mean_square.read_value() + (1.0 - rho) * tf.square(grad)
    change = now["rate"] * grad / (tf.sqrt(following) + EPSILON)
    return tf.group(
        mean_square.assign(following, read_value=False),
        variable.assign_sub(change, read_value=False),
    )


def _ftrl(now: dict[str, Any], variable: Any, grad: Any, rows: Any, *slots: Any) -> Any:
    accumulator, linear = slots
    options = {
        "var": variable.handle,
        "accum": accumulator.handle,
        "linear": linear.handle,
        "lr": now["rate"],
        "l1": now["l1_regularization_strength"],
        "l2": now["l2"],
        "lr_power": now["learning_rate_power"],
        "grad": grad,
    }
    if rows is None:
        return tf.raw_ops.ResourceApplyFtrl(**options)
    return tf.raw_ops.ResourceSparseApplyFtrl(indices=rows, **options)


# Name of an optimizer → function of (numbers of the step, variable, gradient, rows, *slots) that
# returns the operation of an update.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "adagrad": _adagrad,
    "adam": _adam,
    "sgd": _sgd,
    "momentum": _momentum,
    "rmsprop": _rmsprop,
    "ftrl": _ftrl,
}


def name_scopes(deep: Optional[str], linear: str) -> tuple[str, str]:
    """Returns the scopes of a model's deep and linear optimizer in a checkpoint.

    Args:
        deep: name of the optimizer of the deep part; None without it.
        linear: name of the optimizer of the linear part.
    """
    first, second = KINDS[deep].name if deep else "", KINDS[linear].name
    return f"training/{first}", f"training/{second}{'_1' if first == second else ''}"


def divide_by_part(layout: Layout, stored: Variables) -> dict[str, list[Stored]]:
    """Returns the variables of each part that a model has: DEEP_PART and LINEAR_PART → variables.

    Args:
        layout: of the model.
        stored: its trained variables, each a Stored.
    """
    parts = {} if layout.deep is None else {DEEP_PART: stored.of_deep}
    return {**parts, LINEAR_PART: stored.of_linear} if layout.wide else parts


def build_optimizers(
    train: config_lib.TrainConfig,
    max_steps: int,
    first: Any,
    parts: Mapping[str, Sequence[Stored]],
) -> dict[str, Optimizer]:
    """Returns the optimizers of a model: part → optimizer.

    The first optimizer counts steps by the global step, and the second by a counter of its own.

    Args:
        train: optimizers, learning rates and schedule.
        max_steps: length of the run, for learning-rate schedules.
        first: int64 scalar, the global step before the run.
        parts: DEEP_PART and LINEAR_PART → variables, of the parts that the model has.
    """
    deep_scope, linear_scope = name_scopes(
        train.optimizer if DEEP_PART in parts else None, train.linear_optimizer
    )
    optimizers = {}
    if DEEP_PART in parts:
        optimizers[DEEP_PART] = Optimizer(
            train.optimizer,
            parts[DEEP_PART],
            train=train,
            rate=build_rate(train, max_steps, linear=False),
            step=first,
            scope=deep_scope,
        )
    if LINEAR_PART in parts:
        optimizers[LINEAR_PART] = Optimizer(
            train.linear_optimizer,
            parts[LINEAR_PART],
            train=train,
            rate=build_rate(train, max_steps, linear=True),
            step=None if DEEP_PART in parts else first,
            scope=linear_scope,
        )
    return optimizers
