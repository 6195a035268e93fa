"""Optimizers with the arguments and defaults of Keras 2.0 to 2.3.

They compute the same as those of `tf.keras`, from other defaults: an Adadelta of Keras has the
learning rate 1, one of `tf.keras` 0.001. `clipnorm` limits the norm of all gradients together.

A program's own optimizer, a subclass with `get_updates`, gets the base class that Keras had then.
It sets `updates` and `weights` itself.
"""

import abc
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1 import private_keras

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adamax",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "nadam",
    "rmsprop",
    "sgd",
]

# Class -> its module in the source of Keras, and its arguments in their order.
_ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": (
        "gradient_descent",
        {"learning_rate": 0.01, "momentum": 0.0, "decay": 0.0, "nesterov": False},
    ),
    "RMSprop": ("rmsprop", {"learning_rate": 0.001, "rho": 0.9, "epsilon": None, "decay": 0.0}),
    "Adagrad": ("adagrad", {"learning_rate": 0.01, "epsilon": None, "decay": 0.0}),
    "Adadelta": ("adadelta", {"learning_rate": 1.0, "rho": 0.95, "epsilon": None, "decay": 0.0}),
    "Adam": (
        "adam",
        {
            "learning_rate": 0.001,
            "beta_1": 0.9,
            "beta_2": 0.999,
            "epsilon": None,
            "decay": 0.0,
            "amsgrad": False,
        },
    ),
    "Adamax": (
        "adamax",
        {
            "learning_rate": 0.002,
            "beta_1": 0.9,
            "beta_2": 0.999,
            "epsilon": None,
            "decay": 0.0,
        },
    ),
    "Nadam": (
        "nadam",
        {
            "learning_rate": 0.002,
            "beta_1": 0.9,
            "beta_2": 0.999,
            "epsilon": None,
            "schedule_decay": 0.004,
        },
    ),
}


_v1 = private_keras.load_source("optimizers.optimizer_v1")


class _ClipsTogether:
    """An optimizer whose gradients are clipped by their norm together."""

    def __getattr__(self, name: str) -> Any:
        # Keras 2.3 renamed it. Callbacks read the old name.
        if name == "lr" and "learning_rate" in self.__dict__:
            return self.learning_rate
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Returns the clipped gradients.

        Args:
          loss: float tensor of shape [].
          params: list of variables.
        """
        limits = {name: vars(self).pop(name, None) for name in ("clipnorm", "clipvalue")}
        try:
            gradients = super().get_gradients(loss, params)  # type: ignore[misc]
        finally:
            vars(self).update((name, one) for name, one in limits.items() if one is not None)
        if limits["clipnorm"]:
            gradients, _ = tf.clip_by_global_norm(gradients, limits["clipnorm"])
        if limits["clipvalue"]:
            limit = limits["clipvalue"]
            gradients = [tf.clip_by_value(gradient, -limit, limit) for gradient in gradients]
        return gradients


Optimizer: Any = abc.ABCMeta("Optimizer", (_ClipsTogether, _v1.Optimizer), {})


def _make_kind(base: Any, own: Any) -> Any:
    """Returns the metaclass of an optimizer, whose subclasses with `get_updates` derive from `own`.

    Args:
      base: the class that the optimizer derives from.
      own: the class for a program's own optimizer.
    """

    class Kind(type(base)):  # type: ignore[misc]
        def __new__(mcs, name: str, bases: Any, members: Any) -> Any:
            if "get_updates" not in members:
                return super().__new__(mcs, name, bases, members)
            bases = tuple(own if isinstance(one, Kind) else one for one in bases)
            return abc.ABCMeta(name, bases, members)

    return Kind


def _load(name: str) -> Any:
    """Returns the module of an optimizer in the source of Keras."""
    return private_keras.load_source(f"optimizers.legacy.{_ARGUMENTS[name][0]}")


def _make(name: str) -> Any:
    """Returns the optimizer class of Keras with a name."""
    _, defaults = _ARGUMENTS[name]
    base = getattr(_load(name), name)
    own = abc.ABCMeta(name, (_ClipsTogether, getattr(_v1, name)), {})

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(defaults):
            raise TypeError(f"{name} takes {len(defaults)} arguments, but {len(args)} were given")
        options = {**defaults, **dict(zip(defaults, args)), **kwargs}
        options["learning_rate"] = options.pop("lr", options["learning_rate"])
        if name == "Nadam":
            # A configuration that was read has the name of `tf.keras`.
            options["schedule_decay"] = options.pop("decay", options["schedule_decay"])
        if name == "Adagrad":
            options.setdefault("initial_accumulator_value", 0.0)
        options["global_clipnorm"] = options.pop("clipnorm", options.get("global_clipnorm"))
        if options["global_clipnorm"] is None:
            del options["global_clipnorm"]
        base.__init__(self, **options)

    def get_config(self: Any) -> dict[str, Any]:
        """Returns the arguments of the optimizer."""
        config = base.get_config(self)
        norm = config.pop("global_clipnorm", None)
        return config if norm is None else {**config, "clipnorm": norm}

    def from_config(kind: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Returns an optimizer.

        Args:
          kind: the class.
          config: its arguments.
          custom_objects: not used.
        """
        # That of `tf.keras` adds the defaults of `tf.keras`.
        return kind(**config)

    members = {
        "__doc__": base.__doc__,
        "__init__": __init__,
        "__module__": base.__module__,
        "from_config": classmethod(from_config),
        "get_config": get_config,
    }
    made = _make_kind(base, own)(name, (base,), members)
    for kind in (made, own):
        Optimizer.register(kind)
    return made


SGD = sgd = _make("SGD")
RMSprop = rmsprop = _make("RMSprop")
Adagrad = adagrad = _make("Adagrad")
Adadelta = adadelta = _make("Adadelta")
Adam = adam = _make("Adam")
Adamax = adamax = _make("Adamax")
Nadam = nadam = _make("Nadam")


def install() -> None:
    """Makes Keras find these classes by their names, such as "adam"."""
    for name in _ARGUMENTS:
        setattr(_load(name), name, globals()[name])
