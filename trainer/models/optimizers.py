"""Optimizers and their schedules by name."""

import weakref
from typing import Any, Callable

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.errors import UserError

# The accumulator's initial value of tf.train.AdagradOptimizer and FtrlOptimizer, and so of the
# canned Estimators' own defaults.
INITIAL_ACCUMULATOR = 0.1
MOMENTUM = 0.9


def make_optimizer(train: config_lib.TrainConfig, max_steps: int, linear: bool) -> Callable:
    """Makes a function that builds the optimizer; it runs inside the model's graph.

    Args:
        train: names, rates and schedule.
        max_steps: length of the run, over which the rate falls where decay_steps is not given.
        linear: whether it is the optimizer of the linear part.

    Raises:
        UserError: l1 or l2 for an optimizer that takes none.
    """
    name = train.linear_optimizer if linear else train.optimizer
    # The optimizer of the first replica in each graph.
    firsts: Any = weakref.WeakKeyDictionary()

    def make():
        optimizer = _build(name, _as_callable(build_rate(train, max_steps, linear)), train)
        if tf.distribute.get_strategy().num_replicas_in_sync == 1:
            return optimizer
        # Each replica has an optimizer, and the first replica's applies the gradients. Under
        # central_storage the others would make slots of their own, of the same names.
        first = firsts.setdefault(tf.compat.v1.get_default_graph(), optimizer)
        optimizer._slots = first._slots
        return _in_step(optimizer)

    return make


def build_rate(train: config_lib.TrainConfig, max_steps: int, linear: bool) -> Any:
    """The learning rate: a number, or a function from a step to it.

    Args:
        train: rates and schedule.
        max_steps: length of the run, over which the rate falls where decay_steps is not given.
        linear: whether it is that of the linear part.
    """
    rate = (train.linear_learning_rate if linear else None) or train.learning_rate
    schedule = _decay(train, rate, train.decay_steps or max_steps)
    return _Warmup(schedule, train.warmup_steps) if train.warmup_steps else schedule


def _as_callable(rate: Any) -> Callable:
    # A number would become a variable and be restored: a resumed job would ignore a new rate.
    return rate if callable(rate) else lambda: rate


def _in_step(optimizer):
    """Makes the gradients of several replicas dense.

    TensorFlow remembers the shape of what it gathers from the replicas: sparse gradients, whose
    length changes from step to step, fail ("Shape mismatch in the collective instance").
    """
    inner = optimizer.get_gradients

    def get_gradients(loss, params):
        return [tf.convert_to_tensor(grad) for grad in inner(loss, params)]

    optimizer.get_gradients = get_gradients
    return optimizer


def check_regularisation(train: config_lib.TrainConfig, used) -> None:
    """Refuses l1 and l2 where no optimizer in use applies them.

    Raises:
        UserError: none of the optimizers `used` is ftrl.
    """
    if (train.l1 or train.l2) and "ftrl" not in used:
        raise UserError(
            f"train.l1, train.l2: {' and '.join(used)} applies neither; "
            "choose ftrl or set both to 0 (dropout regularises the deep part)"
        )


def _decay(train, rate, steps):
    schedules = tf.keras.optimizers.schedules
    if train.decay == "exponential":
        return schedules.ExponentialDecay(rate, steps, train.decay_rate)
    if train.decay == "cosine":
        return schedules.CosineDecay(rate, steps, alpha=train.decay_rate)
    if train.decay == "piecewise":
        # Keras changes the rate after a boundary; ours is the first step of the new rate.
        boundaries = [step - 1 for step in train.piecewise_steps]
        return schedules.PiecewiseConstantDecay(
            boundaries, [rate, *(rate * share for share in train.piecewise_shares)]
        )
    return rate


class _Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly from rate/steps at step 0 to the full rate at step steps - 1.

    Goyal et al., "Accurate, Large Minibatch SGD" (2017), section 2.2: gradual warm-up.
    """

    def __init__(self, inner, steps):
        self._inner = inner
        self._steps = steps

    def __call__(self, step):
        rate = self._inner(step) if callable(self._inner) else self._inner
        risen = (tf.cast(step, tf.float32) + 1.0) / self._steps
        return rate * tf.minimum(risen, 1.0)

    def get_config(self):
        return {"inner": self._inner, "steps": self._steps}


def _build(name, rate, train):
    # The Estimators' heads want Keras' graph-mode optimizers, today called legacy.
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
