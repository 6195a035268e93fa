"""Optimizers of the fused engine: one operation a variable, with the canned optimizers' effect.

The canned models use Keras' graph-mode optimizers. Their slots, the numbers that they keep, the
names of both and the formulas are the same here.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.models.fused.variables import Stored, create_number
from trainer.models.optimizers import INITIAL_ACCUMULATOR, MOMENTUM

# What Keras adds to a denominator.
EPSILON = 1e-7


class Kind(NamedTuple):
    """What an optimizer keeps.

    Attributes:
        name: Keras' name of it.
        slots: name → initial value, for each variable.
        numbers: name → initial value.
        moves_all: whether a row without a gradient moves all the same when all rows are updated, so
            that only the rows of a batch may be. The others update all rows as fast as a few, or,
            as Keras does, must.
        needs_all: whether also Keras updates all rows, those without a gradient too.
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
        # Its weights follow from the slots and today's learning rate.
        moves_all=True,
    ),
}


class Optimizer:
    """An optimizer of some variables, within a graph.

    Args:
        train: names, rates and regularisation.
        kind: name of the optimizer.
        rate: the learning rate, or a function from a float32 step to it.
        variables: what it updates.
        step: int64, the global step before the run's first step; None: it counts steps of its own,
            as the second optimizer of a canned model does.
        is_second: whether another optimizer comes before it.

    Attributes:
        stored: the variables that it keeps.
    """

    def __init__(
        self,
        train: config_lib.TrainConfig,
        kind: str,
        rate: Union[float, Callable],
        variables: Sequence[Stored],
        step: Any,
        scope: str,
    ):
        self._kind = KINDS[kind]
        self._rate = rate
        numbers = {
            **self._kind.numbers,
            "decay": 0.0,
            **(
                {"l1_regularization_strength": train.l1, "l2_regularization_strength": train.l2}
                if kind == "ftrl"
                else {}
            ),
        }
        stored = {name: create_number(f"{scope}/{name}", value) for name, value in numbers.items()}
        self._slots = {
            one.variable.ref(): {
                slot: one.build_slot(scope, slot, value) for slot, value in self._kind.slots.items()
            }
            for one in variables
        }
        self.stored = [
            *stored.values(),
            *(slot for slots in self._slots.values() for slot in slots.values()),
        ]
        self._counter = None
        if step is None:
            self._counter = create_number(f"{scope}/iter", 0, tf.int64)
            self.stored.append(self._counter)
            step = self._counter.variable.read_value()
        self._step = step
        # Read once for all steps of a run: nothing changes them.
        self._numbers = {name: one.variable.read_value() for name, one in stored.items()}
        self._constant = None if callable(rate) else tf.constant(rate, tf.float32)
        self._apply = getattr(self, f"_{kind}")

    @property
    def moves_all(self) -> bool:
        """Whether rows without a gradient must be left out."""
        return self._kind.moves_all

    @property
    def needs_all(self) -> bool:
        """Whether rows without a gradient must be updated too."""
        return self._kind.needs_all

    def begin(self, index: Any) -> None:
        """Computes what the step of a number within the run, int64, needs for every variable."""
        step = self._step + index
        rate = self._constant
        if rate is None:
            rate = tf.cast(self._rate(tf.cast(step, tf.float32)), tf.float32)
        self._now = {**self._numbers, "rate": rate}
        if self._kind.name == "Adam":
            following = tf.cast(step + 1, tf.float32)
            for name in ("beta_1", "beta_2"):
                self._now[f"{name}_power"] = tf.pow(self._numbers[name], following)
        if self._kind.name == "Ftrl":
            beta, l2 = self._numbers["beta"], self._numbers["l2_regularization_strength"]
            self._now["l2"] = l2 + beta / (2.0 * rate)

    def apply(self, stored: Stored, grad: Any, rows: Any = None) -> Any:
        """The operation that updates a variable.

        Args:
            stored: one of `variables`.
            grad: of the whole variable, or of the rows alone.
            rows: int, each at most once; None: all.
        """
        slots = [slot.variable for slot in self._slots[stored.variable.ref()].values()]
        return self._apply(stored.variable, grad, rows, *slots)

    def finish(self, num_steps: Any) -> list:
        """The operations that end a run of so many steps, int64."""
        if self._counter is None:
            return []
        return [self._counter.variable.assign_add(num_steps, read_value=False)]

    def _adagrad(self, variable, grad, rows, accumulator):
        options = {
            "var": variable.handle,
            "accum": accumulator.handle,
            "lr": self._now["rate"],
            "epsilon": EPSILON,
            "grad": grad,
        }
        if rows is None:
            return tf.raw_ops.ResourceApplyAdagradV2(**options)
        return tf.raw_ops.ResourceSparseApplyAdagradV2(indices=rows, **options)

    def _adam(self, variable, grad, rows, mean, spread):
        assert rows is None
        return tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.handle,
            v=spread.handle,
            beta1_power=self._now["beta_1_power"],
            beta2_power=self._now["beta_2_power"],
            lr=self._now["rate"],
            beta1=self._now["beta_1"],
            beta2=self._now["beta_2"],
            epsilon=EPSILON,
            grad=grad,
        )

    def _sgd(self, variable, grad, rows):
        rate = self._now["rate"]
        if rows is None:
            return tf.raw_ops.ResourceApplyGradientDescent(
                var=variable.handle, alpha=rate, delta=grad
            )
        return tf.raw_ops.ResourceScatterSub(
            resource=variable.handle, indices=rows, updates=grad * rate
        )

    def _momentum(self, variable, grad, rows, velocity):
        options = {
            "var": variable.handle,
            "accum": velocity.handle,
            "lr": self._now["rate"],
            "momentum": self._now["momentum"],
            "grad": grad,
        }
        if rows is None:
            return tf.raw_ops.ResourceApplyKerasMomentum(**options)
        return tf.raw_ops.ResourceSparseApplyKerasMomentum(indices=rows, **options)

    def _rmsprop(self, variable, grad, rows, spread):
        assert rows is None
        rho = self._now["rho"]
        following = rho * spread.read_value() + (1.0 - rho) * tf.square(grad)
        change = self._now["rate"] * grad / (tf.sqrt(following) + EPSILON)
        return tf.group(
            spread.assign(following, read_value=False),
            variable.assign_sub(change, read_value=False),
        )

    def _ftrl(self, variable, grad, rows, accumulator, linear):
        options = {
            "var": variable.handle,
            "accum": accumulator.handle,
            "linear": linear.handle,
            "lr": self._now["rate"],
            "l1": self._now["l1_regularization_strength"],
            "l2": self._now["l2"],
            "lr_power": self._now["learning_rate_power"],
            "grad": grad,
        }
        if rows is None:
            return tf.raw_ops.ResourceApplyFtrl(**options)
        return tf.raw_ops.ResourceSparseApplyFtrl(indices=rows, **options)


def name_scopes(deep: Optional[str], linear: str) -> tuple[str, str]:
    """The scopes of a model's optimizers in a checkpoint; deep: None without a deep part."""
    first, second = KINDS[deep].name if deep else "", KINDS[linear].name
    return f"training/{first}", f"training/{second}{'_1' if first == second else ''}"
