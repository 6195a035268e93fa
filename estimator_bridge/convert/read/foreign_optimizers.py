"""Optimizers of Estimators written by others, as descriptions: tf.compat.v1.train and Keras 2."""

from typing import Any, NamedTuple, Optional, Union

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.model import Optimizer
from ..plan.optimizers import keras2_options, v1_options
from ..plan.schedules import read_rate

__all__ = ["Reading", "read_optimizer"]

_V1 = {
    "AdagradOptimizer": "adagrad",
    "AdamOptimizer": "adam",
    "FtrlOptimizer": "ftrl",
    "GradientDescentOptimizer": "sgd",
    "MomentumOptimizer": "momentum",
    "RMSPropOptimizer": "rmsprop",
}
_KERAS2 = {"Adagrad": "adagrad", "Adam": "adam", "Ftrl": "ftrl", "RMSprop": "rmsprop", "SGD": "sgd"}

# Our name of a setting -> the attribute in which tf.compat.v1.train keeps it.
_V1_SETTINGS = {
    "adagrad": {"initial_accumulator_value": "_initial_accumulator_value"},
    "adam": {"beta_1": "_beta1", "beta_2": "_beta2", "epsilon": "_epsilon"},
    "ftrl": {
        "learning_rate_power": "_learning_rate_power",
        "initial_accumulator_value": "_initial_accumulator_value",
        "l1": "_l1_regularization_strength",
        "l2": "_l2_regularization_strength",
        "l2_shrinkage": "_l2_shrinkage_regularization_strength",
        "beta": "_beta",
    },
    "sgd": {},
    "momentum": {"momentum": "_momentum", "nesterov": "_use_nesterov"},
    "rmsprop": {
        "rho": "_decay",
        "momentum": "_momentum",
        "epsilon": "_epsilon",
        "centered": "_centered",
    },
}
_FTRL_NAMES = {
    "l1_regularization_strength": "l1",
    "l2_regularization_strength": "l2",
    "l2_shrinkage_regularization_strength": "l2_shrinkage",
}


# Settings of any Keras 2 optimizer that Keras 3 has under the same names.
_CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")
_SCHEDULES = (
    "CosineDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
)


class Reading(NamedTuple):
    """What was read of an optimizer.

    Attributes:
      optimizer: the description; None if its state cannot be carried over.
      notes: what of it has no counterpart in Keras, a line each.
      reads_step: whether its rate is a tensor of the global step, which somebody else may count.
    """

    optimizer: Optional[Optimizer]
    notes: tuple[str, ...]
    reads_step: bool = False


def read_optimizer(
    given: Any, rate: Optional[float], step: int, version: int, clipnorm: Optional[float] = None
) -> Reading:
    """Describes an optimizer as it is given to a canned Estimator.

    Args:
      given: a name, an optimizer, or a function that makes one.
      rate: what the Estimator would have a named one learn with; None: the optimizer's own default
        in Keras 2, 0.05 in v1.
      step: that the checkpoint has reached.
      version: of the Estimator, 1 or 2: what a name means.
      clipnorm: what the Estimator would clip the gradients of a named one to.

    Raises:
      BridgeError: the function that makes it fails.
    """
    from estimator_bridge import tf

    with tf.Graph().as_default():
        counter = tf.compat.v1.train.get_or_create_global_step()
        made = _make(given, rate, version)
        if isinstance(given, str) and clipnorm:
            made.clipnorm = clipnorm
        reader = _Reader(counter, step, tf)
        first = isinstance(made, tf.compat.v1.train.Optimizer)
        found = reader.read_v1(made) if first else reader.read_keras2(made)
    if found is None:
        reader.notes.append(
            f"the optimizer {type(made).__name__} is not carried over; compile() with one of your "
            "choice"
        )
    return Reading(found, tuple(reader.notes), reader.reads_step)


def _make(given, rate, version):
    # The Estimators' own rule for names.
    from estimator_bridge.private_tf import estimator_optimizers as optimizers

    try:
        made = given() if callable(given) and not isinstance(given, str) else given
    except Exception as error:  # Code of the user's.
        raise BridgeError(f"optimizer: the function that makes it fails: {error}") from error
    if not isinstance(made, str):
        return made
    if version == 2:
        return optimizers.get_optimizer_instance_v2(made, learning_rate=rate)
    return optimizers.get_optimizer_instance(made, learning_rate=rate or 0.05)


class _Reader:
    """Reads optimizers in the present graph.

    Attributes:
      notes: what of them has no counterpart.
      reads_step: whether the rate is a tensor that changes with the global step.
    """

    def __init__(self, counter, step, tf):
        self._counter = counter
        self._step = step
        self._tf = tf
        self.notes: list[str] = []
        self.reads_step = False

    def read_v1(self, made: Any) -> Optional[Optimizer]:
        """Describes one of tf.compat.v1.train."""
        kind = _V1.get(type(made).__name__)
        if kind is None:
            return None
        settings = {
            name: self._number(getattr(made, attribute))
            for name, attribute in _V1_SETTINGS[kind].items()
            if getattr(made, attribute, None) is not None
        }
        rate = getattr(made, "_learning_rate", None)
        rate = made._lr if rate is None else rate
        rate = self._rate(rate)
        if kind == "momentum" and isinstance(rate, str):
            self.notes.append(
                "tf.train.MomentumOptimizer multiplies past gradients by the present rate, Keras "
                "by the rate of their time: while it falls the two train a little differently"
            )
        return Optimizer(kind, rate, v1_options(kind, settings), 1)

    def read_keras2(self, made: Any) -> Optional[Optimizer]:
        """Describes one of Keras 2."""
        kind = _KERAS2.get(type(made).__name__)
        if kind is None:
            return None
        rate, config = self._config(made)
        decay = self._number(config.pop("decay", 0.0) or 0.0)
        rate = self._rate(rate)
        if decay and not isinstance(rate, str):
            rate = f"keras.optimizers.schedules.InverseTimeDecay({rate!r}, 1, {decay!r})"
        elif decay:
            self.notes.append("the optimizer's decay on top of its schedule is left out")
        settings = {
            _FTRL_NAMES.get(name, name): self._number(value)
            for name, value in config.items()
            if isinstance(value, (bool, float, int, np.generic)) or self._tf.is_tensor(value)
        }
        if kind == "sgd" and settings.get("momentum"):
            kind = "momentum"
        clipping = {name: getattr(made, name, None) for name in _CLIPPING}
        clipping = {name: float(value) for name, value in clipping.items() if value is not None}
        return Optimizer(kind, rate, {**keras2_options(kind, settings), **clipping}, 2)

    def _config(self, made):
        """(learning rate as it was given, the other settings)."""
        hyper = getattr(made, "_hyper", None)
        if hyper is None or isinstance(hyper.get("learning_rate"), self._tf.Variable):
            config = dict(made.get_config())
            return config.pop("learning_rate"), config
        rate = hyper["learning_rate"]
        # get_config would evaluate a tensor, in a session of its own.
        hyper["learning_rate"] = 0.0
        try:
            config = dict(made.get_config())
        finally:
            hyper["learning_rate"] = rate
        del config["learning_rate"]
        return rate, config

    def _number(self, value) -> Any:
        """A setting as a number, whatever it is kept as."""
        if callable(value) and not self._is_tensor(value):
            value = value()
        if self._is_tensor(value):
            tensor = self._tf.convert_to_tensor(value)
            return read_rate(tensor, self._counter, self._step, self._tf)[0]
        return value.item() if isinstance(value, np.generic) else value

    def _is_tensor(self, value) -> bool:
        return self._tf.is_tensor(value) or isinstance(value, self._tf.Variable)

    def _rate(self, rate) -> Union[float, str]:
        """A learning rate: a number, or Keras code of a schedule."""
        tf = self._tf
        if isinstance(rate, dict) and "class_name" in rate:
            rate = tf.keras.optimizers.schedules.deserialize(rate)
        if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
            name = type(rate).__name__
            known = getattr(tf.keras.optimizers.schedules, name, None)
            if name in _SCHEDULES and known is type(rate):
                return _schedule_code(name, rate.get_config())
            rate = rate(self._counter)
        elif callable(rate) and not self._is_tensor(rate):
            rate = rate()
        if not self._is_tensor(rate):
            return float(rate)
        found, exact = read_rate(tf.convert_to_tensor(rate), self._counter, self._step, tf)
        self.reads_step = isinstance(found, str)
        if not exact:
            self.notes.append(
                "the learning rate follows a schedule that Keras does not have: it stays at its "
                f"present value, {found:g}"
            )
        return found


def _schedule_code(name, config) -> str:
    options = ", ".join(
        f"{key}={value!r}" for key, value in config.items() if key != "name" and value is not None
    )
    return f"keras.optimizers.schedules.{name}({options})"
