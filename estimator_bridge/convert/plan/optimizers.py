"""Converts optimizer settings to those of Keras 3, and names the variables of their state.

tf.compat.v1.train, Keras 2 (legacy) and Keras 3 differ in formulas as well as in names. Their
epsilons are in different places: Keras 2 computes sqrt(v) + e, Keras 3 computes sqrt(v + e'). With
e' = e^2 both agree for v = 0 and for v >> e^2, which covers the values that occur.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple, Optional

from .model import Optimizer

__all__ = [
    "Slot",
    "describe_epsilon",
    "find_other_state",
    "iterations_name",
    "keras2_options",
    "slots_of",
    "v1_options",
]

ADAGRAD_INITIAL = 0.1
# Up to this epsilon, no accumulated gradient that occurs is small enough to matter.
_SMALL_EPSILON = 1e-5


def keras2_options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the Keras 3 optimizer that is equivalent to one of Keras 2.

    Args:
      kind: kind of the optimizer, see Optimizer.
      given: settings of Keras 2 by name; l1 and l2 for Ftrl. A missing setting has the default of
        Keras 2, but initial accumulators are 0.1.
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
            # With momentum, Keras 2 calls an operation that adds the epsilon under the square root.
            "epsilon": epsilon if momentum else epsilon**2,
        }
    if kind == "momentum":
        return {"momentum": given.get("momentum", 0.9), "nesterov": given.get("nesterov", False)}
    return {}


def v1_options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the Keras 3 optimizer equivalent to one of tf.compat.v1.train.

    Args:
      kind: kind of the optimizer, see Optimizer.
      given: all settings, named as in `keras2_options`.
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


def _adam(given: dict[str, Any], epsilon: float) -> dict[str, Any]:
    options = {
        "beta_1": given.get("beta_1", 0.9),
        "beta_2": given.get("beta_2", 0.999),
        "epsilon": given.get("epsilon", epsilon),
    }
    return {**options, "amsgrad": True} if given.get("amsgrad") else options


def _ftrl(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "learning_rate_power": given.get("learning_rate_power", -0.5),
        "initial_accumulator_value": given.get("initial_accumulator_value", ADAGRAD_INITIAL),
        "l1_regularization_strength": given.get("l1", 0.0),
        "l2_regularization_strength": given.get("l2", 0.0),
        "l2_shrinkage_regularization_strength": given.get("l2_shrinkage", 0.0),
        "beta": given.get("beta", 0.0),
    }


def describe_epsilon(optimizer: Optimizer) -> Optional[str]:
    """Returns a note if the steps of an optimizer differ in Keras 3 because of a large epsilon.

    Args:
      optimizer: the optimizer.
    """
    options = optimizer.options
    is_moved = optimizer.version == 2 and not options.get("momentum")
    if not is_moved or optimizer.kind not in ("adagrad", "rmsprop"):
        return None
    epsilon = options["epsilon"] ** 0.5
    if epsilon <= _SMALL_EPSILON:
        return None
    return (
        f"the Estimator adds the epsilon {epsilon:g} of {optimizer.kind} to the square root, Keras "
        "adds its square under the root: steps are longer by up to 41 % where the root is about as "
        "large as epsilon"
    )


class Slot(NamedTuple):
    """One kind of slot variable.

    Attributes:
      name: name in Keras 3.
      stored: name in the checkpoint, which differs between v1 and Keras 2.
      convert: converts a stored value to that of Keras 3.
    """

    name: str
    stored: str
    convert: Callable[[Any], Any]


def _unchanged(value: Any) -> Any:
    return value


def slots_of(optimizer: Optimizer, rate: Optional[float]) -> list[Slot]:
    """Returns the slot variables of an optimizer.

    Args:
      optimizer: the optimizer.
      rate: current learning rate; used only for momentum of v1, whose slots are multiplied by it.
    """
    kind, options, is_v1 = optimizer.kind, optimizer.options, optimizer.version == 1
    if kind == "adagrad":
        return [Slot("accumulator", "Adagrad" if is_v1 else "accumulator", _unchanged)]
    if kind == "ftrl":
        names = ("Ftrl", "Ftrl_1") if is_v1 else ("accumulator", "linear")
        return [Slot("accumulator", names[0], _unchanged), Slot("linear", names[1], _unchanged)]
    if kind == "adam":
        names = ("Adam", "Adam_1") if is_v1 else ("m", "v")
        slots = [Slot("momentum", names[0], _unchanged), Slot("velocity", names[1], _unchanged)]
        if options.get("amsgrad"):
            slots.append(Slot("velocity_hat", "vhat", _unchanged))
        return slots
    if kind == "momentum":
        if is_v1 and rate is not None:
            factor = -rate
            # v1 accumulates gradients and multiplies them by the rate; Keras accumulates steps.
            return [Slot("momentum", "Momentum", lambda value: factor * value)]
        return [Slot("momentum", "momentum", _unchanged)]
    return _rmsprop_slots(options, is_v1) if kind == "rmsprop" else []


# Version -> kinds and the stored name of a slot that shows each; the first that matches counts.
# Ftrl also has the slot of Adagrad, and RMSprop may have that of momentum.
_OWN_SLOTS = {
    1: (
        ("ftrl", "Ftrl"),
        ("adagrad", "Adagrad"),
        ("adam", "Adam"),
        ("rmsprop", "RMSProp"),
        ("momentum", "Momentum"),
    ),
    2: (
        ("ftrl", "linear"),
        ("adagrad", "accumulator"),
        ("adam", "m"),
        ("rmsprop", "rms"),
        ("momentum", "momentum"),
    ),
}
# Optimizers of Keras 2 with the slots of Adam; the scope of their slots has their name.
_LIKE_ADAM = ("Nadam", "Adamax")


def find_other_state(
    optimizer: Optimizer, described: Iterable[Slot], slots: Mapping[str, str]
) -> Optional[str]:
    """Returns what has trained a variable, in words, if the described optimizer has not.

    Args:
      optimizer: the described optimizer.
      described: its slots.
      slots: stored name of each slot of the variable -> its name in the checkpoint; {} without
        state.
    """
    kind = next((kind for kind, own in _OWN_SLOTS[optimizer.version] if own in slots), None)
    if kind is None:
        return f"an optimizer with the slots {', '.join(sorted(slots))}" if slots else None
    scopes = {part for name in slots.values() for part in name.split("/")}
    other = next((name for name in _LIKE_ADAM if name in scopes), None) if kind == "adam" else None
    if other is not None or kind != optimizer.kind:
        return other or kind
    expected = {slot.stored for slot in described}
    if kind == "rmsprop" and optimizer.version == 1:
        # It has the slot of momentum also without momentum.
        expected.add("RMSProp_2" if optimizer.options["centered"] else "RMSProp_1")
    if expected == {*slots}:
        return None
    return f"{kind} with other settings (its slots are {', '.join(sorted(slots))})"


def _rmsprop_slots(options: dict[str, Any], is_v1: bool) -> list[Slot]:
    slots = [Slot("velocity", "RMSProp" if is_v1 else "rms", _unchanged)]
    if options["centered"]:
        slots.append(Slot("average_gradient", "RMSProp_1" if is_v1 else "mg", _unchanged))
    if options["momentum"]:
        number = 2 if options["centered"] else 1
        slots.append(Slot("momentum", f"RMSProp_{number}" if is_v1 else "momentum", _unchanged))
    return slots


def iterations_name(optimizer: Optimizer, names: Iterable[str]) -> str:
    """Returns the name of the checkpoint variable that counts the steps of an optimizer.

    Args:
      optimizer: the optimizer.
      names: names of all variables of the checkpoint.
    """
    if optimizer.version == 2:
        class_names = {"momentum": "SGD", "rmsprop": "RMSprop", "sgd": "SGD"}
        class_name = class_names.get(optimizer.kind, optimizer.kind.title())
        for name in names:
            if name.endswith(f"/{class_name}/iter"):
                return name
    return "global_step"
