"""Optimizers and learning-rate schedules by name."""

import weakref
from collections.abc import Sequence
from typing import Any, Callable

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.errors import UserError

# Initial value of the accumulator in TensorFlow 1's AdagradOptimizer and FtrlOptimizer, which the
# canned Estimators use by default.
INITIAL_ACCUMULATOR = 0.1
MOMENTUM = 0.9


def make_optimizer(
    train: config_lib.TrainConfig, max_steps: int, linear: bool
) -> Callable[[], Any]:
    """Makes a function that builds the optimizer of a model's part.

    Args:
        train: names, rates and schedule.
        max_steps: length of the run; the rate decays over it if decay_steps is not given.
        linear: whether it is the optimizer of the linear part.

    Returns:
        A function without arguments, called within the model's graph, that returns a Keras
        optimizer of the graph-mode ("legacy") kind.
    """
    name = train.linear_optimizer if linear else train.optimizer
    # Graph → the optimizer of its first replica.
    firsts: Any = weakref.WeakKeyDictionary()

    def make() -> Any:
        optimizer = _build(name, _as_callable(build_rate(train, max_steps, linear)), train)
        if tf.distribute.get_strategy().num_replicas_in_sync == 1:
            return optimizer
        # Each replica has an optimizer, but the optimizer of the first replica applies the
        # gradients. Under central_storage, the others would create slot variables with the same
        # names.
        first = firsts.setdefault(tf.compat.v1.get_default_graph(), optimizer)
        optimizer._slots = first._slots
        return _densify_gradients(optimizer)

    return make


def build_rate(train: config_lib.TrainConfig, max_steps: int, linear: bool) -> Any:
    """Returns the learning rate: a float, or a function from a step to a float32 scalar.

    Args:
        train: rates and schedule.
        max_steps: length of the run; the rate decays over it if decay_steps is not given.
        linear: whether it is the rate of the linear part.
    """
    rate = (train.linear_learning_rate if linear else None) or train.learning_rate
    schedule = _decay(train, rate, train.decay_steps or max_steps)
    return _Warmup(schedule, train.warmup_steps) if train.warmup_steps else schedule


def _as_callable(rate: Any) -> Callable[..., Any]:
    # A number would become a variable of the checkpoint. A resumed job would restore it and ignore
    # a new rate.
    return rate if callable(rate) else lambda: rate


def _densify_gradients(optimizer: Any) -> Any:
    """Makes an optimizer of one replica convert its sparse gradients to dense gradients.

    TensorFlow caches the shapes of the tensors that it gathers from the replicas. The length of
    sparse gradients changes from step to step, so gathering them fails ("Shape mismatch in the
    collective instance").
    """
    inner = optimizer.get_gradients

    def get_gradients(loss: Any, params: Any) -> list[Any]:
        return [tf.convert_to_tensor(grad) for grad in inner(loss, params)]

    optimizer.get_gradients = get_gradients
    return optimizer


def check_regularisation(train: config_lib.TrainConfig, used: Sequence[str]) -> None:
    """Refuses l1 and l2 if no optimizer in use applies them.

    Args:
        train: l1 and l2.
        used: names of the optimizers of the model.

    Raises:
        UserError: l1 or l2 is set, and none of the optimizers is ftrl.
    """
    if (train.l1 or train.l2) and "ftrl" not in used:
        raise UserError(
            f"train.l1, train.l2: set, but {' and '.join(used)} applies neither; "
            "choose ftrl or set both to 0 (dropout regularises the deep part)"
        )


def _decay(train: config_lib.TrainConfig, rate: float, steps: int) -> Any:
    """Returns the decayed rate: a float, or a Keras schedule."""
    schedules = tf.keras.optimizers.schedules
    if train.decay == "exponential":
        return schedules.ExponentialDecay(rate, steps, train.decay_rate)
    if train.decay == "cosine":
        return schedules.CosineDecay(rate, steps, alpha=train.decay_rate)
    if train.decay == "piecewise":
        # In Keras, a boundary is the last step of the old rate, not the first step of the new rate.
        boundaries = [step - 1 for step in train.piecewise_steps]
        return schedules.PiecewiseConstantDecay(
            boundaries, [rate, *(rate * share for share in train.piecewise_shares)]
        )
    return rate


class _Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Gradual warm-up: rises linearly from rate/steps at step 0 to the full rate at steps - 1.

    Goyal et al., "Accurate, Large Minibatch SGD" (2017), section 2.2.
    """

    def __init__(self, inner: Any, steps: int) -> None:
        self._inner = inner
        self._steps = steps

    def __call__(self, step: Any) -> Any:
        rate = self._inner(step) if callable(self._inner) else self._inner
        risen = (tf.cast(step, tf.float32) + 1.0) / self._steps
        return rate * tf.minimum(risen, 1.0)

    def get_config(self) -> dict[str, Any]:
        return {"inner": self._inner, "steps": self._steps}


def _build(name: str, rate: Callable[..., Any], train: config_lib.TrainConfig) -> Any:
    # The heads of Estimators accept only Keras' graph-mode optimizers, now called legacy.
    kinds = tf.keras.optimizers.legacy
    if name == "adagrad":
        return kinds.Adagrad(rate, initial_accumulator_value=INITIAL_ACCUMULATOR)
    if name == "adam":
        return kinds.Adam(rate)
    if name == "sgd":
        return kinds.SGD(rate)
    if name == "momentum":
        return kinds.SGD(rate, momentum=MOMENTUM)
    if name == "rmsprop":
        return kinds.RMSprop(rate)
    return kinds.Ftrl(
        rate,
        initial_accumulator_value=INITIAL_ACCUMULATOR,
        l1_regularization_strength=train.l1,
        l2_regularization_strength=train.l2,
    )
