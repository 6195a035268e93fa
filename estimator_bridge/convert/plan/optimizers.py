"""Optimizers: what the Keras 3 class has to be told to go on as the Estimator's did, and where its
state is kept.

Three families differ in formula as well as in names: tf.compat.v1.train, Keras 2 (legacy) and
Keras 3. Their epsilons
stand in other places: Keras 2 has sqrt(v) + e where Keras 3 has sqrt(v + e'); e' = e^2 makes both
  agree for v = 0
and for v >> e^2, which are the values that occur.
"""

from typing import Any, Callable, NamedTuple, Optional

from . import model as p

__all__ = ["Slot", "iterations_name", "v1_options", "keras2_options", "slots_of"]

ADAGRAD_INITIAL = 0.1


def keras2_options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the Keras 3 optimizer that works as Keras 2's.

    Args:
      kind: a Plan's optimizer kind.
      given: Keras 2's settings by name, l1 and l2 for ftrl's; what is not given is Keras' default,
        but for
        initial accumulators, which are 0.1.
    """
    if kind == "adagrad":
        return {
            "initial_accumulator_value": given.get("initial_accumulator_value", ADAGRAD_INITIAL),
            "epsilon": given.get("epsilon", 1e-7) ** 2,
        }
    if kind == "adam":
        return _adam(given, 1e-7)
    if kind == "ftrl":
        return _ftrl(given)
    if kind == "rmsprop":
        momentum, epsilon = given.get("momentum", 0.0), given.get("epsilon", 1e-7)
        return {
            "rho": given.get("rho", 0.9),
            "momentum": momentum,
            "centered": given.get("centered", False),
            # With momentum Keras 2 calls an operation that has the epsilon under the root.
            "epsilon": epsilon if momentum else epsilon**2,
        }
    if kind == "momentum":
        return {"momentum": given.get("momentum", 0.9), "nesterov": given.get("nesterov", False)}
    return {}


def v1_options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the Keras 3 optimizer that works as tf.compat.v1.train's with the settings
    `given`.
    """
    if kind == "adagrad":
        return {"initial_accumulator_value": given["initial_accumulator_value"], "epsilon": 0.0}
    if kind == "adam":
        return _adam(given, 1e-8)
    if kind == "ftrl":
        return _ftrl(given)
    if kind == "rmsprop":
        return {name: given[name] for name in ("rho", "momentum", "centered", "epsilon")}
    if kind == "momentum":
        return {"momentum": given["momentum"], "nesterov": given["nesterov"]}
    return {}


def _adam(given, epsilon):
    options = {
        "beta_1": given.get("beta_1", 0.9),
        "beta_2": given.get("beta_2", 0.999),
        "epsilon": given.get("epsilon", epsilon),
    }
    return {**options, "amsgrad": True} if given.get("amsgrad") else options


def _ftrl(given):
    return {
        "learning_rate_power": given.get("learning_rate_power", -0.5),
        "initial_accumulator_value": given.get("initial_accumulator_value", ADAGRAD_INITIAL),
        "l1_regularization_strength": given.get("l1", 0.0),
        "l2_regularization_strength": given.get("l2", 0.0),
        "l2_shrinkage_regularization_strength": given.get("l2_shrinkage", 0.0),
        "beta": given.get("beta", 0.0),
    }


class Slot(NamedTuple):
    """One kind of optimizer variable.

    Attributes:
      name: Keras 3's name of it.
      stored: its name in the checkpoint: after the variable's, v1, or v2.
      convert: from the stored value to Keras 3's.
    """

    name: str
    stored: str
    convert: Callable[[Any], Any]


def _same(value):
    return value


def slots_of(optimizer: p.Optimizer, rate: Optional[float]) -> list[Slot]:
    """The optimizer's slots.

    Args:
      optimizer: which.
      rate: its present learning rate, by which v1's momentum has to be multiplied.
    """
    kind, options, first = optimizer.kind, optimizer.options, optimizer.version == 1
    if kind == "adagrad":
        return [Slot("accumulator", "Adagrad" if first else "accumulator", _same)]
    if kind == "ftrl":
        names = ("Ftrl", "Ftrl_1") if first else ("accumulator", "linear")
        return [Slot("accumulator", names[0], _same), Slot("linear", names[1], _same)]
    if kind == "adam":
        names = ("Adam", "Adam_1") if first else ("m", "v")
        slots = [Slot("momentum", names[0], _same), Slot("velocity", names[1], _same)]
        return [*slots, Slot("velocity_hat", "vhat", _same)] if options.get("amsgrad") else slots
    if kind == "momentum":
        if first:
            # v1 accumulates gradients and multiplies by the rate; Keras accumulates steps.
            return [Slot("momentum", "Momentum", lambda value: -rate * value)]
        return [Slot("momentum", "momentum", _same)]
    if kind == "rmsprop":
        slots = [Slot("velocity", "RMSProp" if first else "rms", _same)]
        if options["centered"]:
            slots.append(Slot("average_gradient", "RMSProp_1" if first else "mg", _same))
        if options["momentum"]:
            number = 2 if options["centered"] else 1
            slots.append(Slot("momentum", f"RMSProp_{number}" if first else "momentum", _same))
        return slots
    return []


def iterations_name(optimizer: p.Optimizer, names) -> str:
    """The checkpoint variable that counts an optimizer's steps."""
    if optimizer.version == 2:
        class_name = {"momentum": "SGD", "rmsprop": "RMSprop"}.get(
            optimizer.kind,
            optimizer.kind.upper() if optimizer.kind == "sgd" else optimizer.kind.title(),
        )
        for name in names:
            if name.endswith(f"/{class_name}/iter"):
                return name
    return "global_step"
