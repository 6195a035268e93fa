"""Reads the optimizers of canned Estimators: those of tf.compat.v1.train and of Keras 2."""

from typing import Any, NamedTuple, Optional, Union

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.model import Optimizer, Schedule
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

# Kind -> setting -> the attribute of the optimizer of tf.compat.v1.train.
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
    """The description of an optimizer.

    Attributes:
      optimizer: the optimizer; None if its state cannot be converted.
      notes: settings without a counterpart in Keras, one line each.
      reads_step: whether its learning rate is a tensor of the global step, which another optimizer
        may increment.
    """

    optimizer: Optional[Optimizer]
    notes: tuple[str, ...]
    reads_step: bool = False


def read_optimizer(
    given: Any, rate: Optional[float], step: int, version: int, clipnorm: Optional[float] = None
) -> Reading:
    """Describes the optimizer of a canned Estimator.

    Args:
      given: a name, an optimizer, or a function that returns one.
      rate: learning rate that the Estimator passes to an optimizer given by name; None for the
        default, which is 0.05 in v1, and in Keras 2 the default of the optimizer.
      step: global step of the checkpoint.
      version: API version of the Estimator, 1 or 2; it determines the class for a name.
      clipnorm: norm to which the Estimator clips gradients if the optimizer is given by name.

    Returns:
      The description and notes.

    Raises:
      BridgeError: the function that returns the optimizer raises.
    """
    from estimator_bridge import tf

    with tf.Graph().as_default():
        counter = tf.compat.v1.train.get_or_create_global_step()
        optimizer = _create(given, rate, version)
        if isinstance(given, str) and clipnorm:
            optimizer.clipnorm = clipnorm
        reader = _Reader(counter, step, tf)
        is_v1 = isinstance(optimizer, tf.compat.v1.train.Optimizer)
        found = reader.read_v1(optimizer) if is_v1 else reader.read_keras2(optimizer)
    if found is None:
        reader.notes.append(
            f"the optimizer {type(optimizer).__name__} is not converted; call compile() with an "
            "optimizer of your choice"
        )
    return Reading(found, tuple(reader.notes), reader.reads_step)


def _create(given: Any, rate: Optional[float], version: int) -> Any:
    # The Estimators themselves call these functions to get the optimizer of a name.
    from estimator_bridge.private_tf import estimator_optimizers as optimizers

    try:
        optimizer = given() if callable(given) and not isinstance(given, str) else given
    except Exception as error:  # User code may raise anything.
        raise BridgeError(f"optimizer: the function that returns it raises: {error}") from error
    if not isinstance(optimizer, str):
        return optimizer
    if version == 2:
        return optimizers.get_optimizer_instance_v2(optimizer, learning_rate=rate)
    return optimizers.get_optimizer_instance(optimizer, learning_rate=rate or 0.05)


class _Reader:
    """Reads optimizers in the current graph.

    Args:
      counter: the global step.
      step: global step of the checkpoint.
      tf: TensorFlow.

    Attributes:
      notes: settings without a counterpart in Keras.
      reads_step: whether the learning rate is a tensor that changes with the global step.
    """

    def __init__(self, counter: Any, step: int, tf: Any):
        self._counter = counter
        self._step = step
        self._tf = tf
        self.notes: list[str] = []
        self.reads_step = False

    def read_v1(self, optimizer: Any) -> Optional[Optimizer]:
        """Describes an optimizer of tf.compat.v1.train; returns None for an unknown class.

        Args:
          optimizer: the optimizer.
        """
        kind = _V1.get(type(optimizer).__name__)
        if kind is None:
            return None
        settings = {
            name: self._number(getattr(optimizer, attribute))
            for name, attribute in _V1_SETTINGS[kind].items()
            if getattr(optimizer, attribute, None) is not None
        }
        rate = getattr(optimizer, "_learning_rate", None)
        rate = optimizer._lr if rate is None else rate
        rate = self._rate(rate)
        if kind == "momentum" and isinstance(rate, Schedule):
            self.notes.append(
                "tf.train.MomentumOptimizer multiplies past gradients by the current learning "
                "rate, Keras by the rate of their step: while the rate falls, training differs a "
                "little"
            )
        return Optimizer(kind, rate, v1_options(kind, settings), 1)

    def read_keras2(self, optimizer: Any) -> Optional[Optimizer]:
        """Describes an optimizer of Keras 2; returns None for an unknown class.

        Args:
          optimizer: the optimizer.
        """
        kind = _KERAS2.get(type(optimizer).__name__)
        if kind is None:
            return None
        rate, config = self._config(optimizer)
        decay = self._number(config.pop("decay", 0.0) or 0.0)
        rate = self._rate(rate)
        if decay and not isinstance(rate, Schedule):
            rate = Schedule("InverseTimeDecay", (rate, 1, decay), {})
        elif decay:
            self.notes.append("the optimizer's decay is ignored, because it has a schedule, too")
        settings = {
            _FTRL_NAMES.get(name, name): self._number(value)
            for name, value in config.items()
            if isinstance(value, (bool, float, int, np.generic)) or self._tf.is_tensor(value)
        }
        if kind == "sgd" and settings.get("momentum"):
            kind = "momentum"
        clipping = {name: getattr(optimizer, name, None) for name in _CLIPPING}
        clipping = {name: float(value) for name, value in clipping.items() if value is not None}
        return Optimizer(kind, rate, {**keras2_options(kind, settings), **clipping}, 2)

    def _config(self, optimizer: Any) -> tuple[Any, dict[str, Any]]:
        """Returns the learning rate as the program set it, and the other settings."""
        hyper = getattr(optimizer, "_hyper", None)
        if hyper is None or isinstance(hyper.get("learning_rate"), self._tf.Variable):
            config = dict(optimizer.get_config())
            return config.pop("learning_rate"), config
        rate = hyper["learning_rate"]
        # get_config would evaluate a tensor in a new session.
        hyper["learning_rate"] = 0.0
        try:
            config = dict(optimizer.get_config())
        finally:
            hyper["learning_rate"] = rate
        del config["learning_rate"]
        return rate, config

    def _number(self, value: Any) -> Any:
        """Returns a setting as a number; it may be a function, a tensor or a variable."""
        if callable(value) and not self._is_tensor(value):
            value = value()
        if self._is_tensor(value):
            tensor = self._tf.convert_to_tensor(value)
            return read_rate(tensor, self._counter, self._step, self._tf)[0]
        return value.item() if isinstance(value, np.generic) else value

    def _is_tensor(self, value: Any) -> bool:
        return self._tf.is_tensor(value) or isinstance(value, self._tf.Variable)

    def _rate(self, rate: Any) -> Union[float, Schedule]:
        """Returns a learning rate as a number or as a schedule."""
        tf = self._tf
        if isinstance(rate, dict) and "class_name" in rate:
            rate = tf.keras.optimizers.schedules.deserialize(rate)
        if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
            name = type(rate).__name__
            known = getattr(tf.keras.optimizers.schedules, name, None)
            if name in _SCHEDULES and known is type(rate):
                return _schedule(name, rate.get_config())
            rate = rate(self._counter)
        elif callable(rate) and not self._is_tensor(rate):
            rate = rate()
        if not self._is_tensor(rate):
            return float(rate)
        found, exact = read_rate(tf.convert_to_tensor(rate), self._counter, self._step, tf)
        self.reads_step = isinstance(found, Schedule)
        if not exact:
            self.notes.append(
                "the learning rate follows a schedule that Keras does not have; it stays at its "
                f"current value, {found:g}"
            )
        return found


def _schedule(name: str, config: dict[str, Any]) -> Schedule:
    given = {key: value for key, value in config.items() if key != "name" and value is not None}
    return Schedule(name, (), given)
