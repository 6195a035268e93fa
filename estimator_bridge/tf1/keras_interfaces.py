"""`keras.legacy.interfaces`: decorators of functions that take the arguments of Keras 1.

Keras 2.0 to 2.3 had them on its layers, and programs with layers and optimizers of their own use
them too: `@interfaces.legacy_get_updates_support`.
"""

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge.tf1 import keras_1_calls, keras_1_names

__all__ = [
    "INTERFACES",
    "Interface",
    "generate_legacy_interface",
    "generate_legacy_method_interface",
    "raise_duplicate_arg_error",
]

# Of a value, in the call that a warning shows.
_SHOWN = 10

# Where the class has another name than what the program calls.
_CALLED = {"Functional": "Model"}


class Interface(NamedTuple):
    """Which arguments of Keras 1 a method takes; see `generate_legacy_interface`."""

    positional: Optional[Sequence[str]]
    names: Sequence[tuple[str, str]]
    preprocess: Optional[Callable[..., keras_1_calls.Call]]
    values: Mapping[str, Mapping[Any, Any]]
    is_method: bool

    def decorate(
        self, method: Callable[..., Any], has_old: Optional[Callable[..., bool]] = None
    ) -> Callable[..., Any]:
        """Returns the method with old arguments.

        Args:
          method: what takes those of Keras 2.
          has_old: called with a tuple and a dict; a call for which it returns False is not changed.
        """

        @functools.wraps(method)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if has_old is not None and not has_old(args, kwargs):
                return method(*args, **kwargs)
            called = method.__name__ if self.is_method else type(args[0]).__name__
            given: Any = args
            converted: Any = ()
            if self.preprocess is not None:
                given, kwargs, converted = self.preprocess(args, kwargs)
            text = self._rename(_CALLED.get(called, called), given, kwargs, converted)
            if text is not None:
                warnings.warn(text, stacklevel=2)
            return method(*given, **kwargs)

        vars(wrapper)["_original_function"] = method
        return wrapper

    def _rename(
        self, called: str, args: Sequence[Any], kwargs: dict[str, Any], converted: Any
    ) -> Optional[str]:
        """Changes `kwargs`; returns what to warn of."""
        if self.positional is not None and len(args) > len(self.positional) + 1:
            raise TypeError(
                f"`{called}` takes {tuple(self.positional)} by position, and its other arguments "
                f"by name; it got {list(args[1:])}"
            )
        for name, meanings in self.values.items():
            if name in kwargs and kwargs[name] in meanings:
                kwargs[name] = meanings[kwargs[name]]
        renamed = [pair for pair in self.names if pair[0] in kwargs]
        for old, new in renamed:
            value = kwargs.pop(old)
            if new in kwargs:
                raise_duplicate_arg_error(old, new)
            kwargs[new] = value
        if not renamed and not converted:
            return None
        return f"`{called}` got arguments of Keras 1; in Keras 2: `{_show(called, args, kwargs)}`"


def generate_legacy_interface(
    allowed_positional_args: Optional[Sequence[str]] = None,
    conversions: Optional[Sequence[tuple[str, str]]] = None,
    preprocessor: Optional[Callable[..., keras_1_calls.Call]] = None,
    value_conversions: Optional[Mapping[str, Mapping[Any, Any]]] = None,
    object_type: str = "class",
) -> Callable[..., Any]:
    """Returns a decorator for a method that is to take arguments by their old names as well.

    Args:
      allowed_positional_args: the names of the arguments that may be given by position; None: any.
      conversions: pairs of an old and a new name.
      preprocessor: changes the arguments before that; see `keras_1_calls`.
      value_conversions: by an old name, its values and those in Keras 2.
      object_type: "class" if warnings name the class of the object, else they name the method.
    """
    return Interface(
        allowed_positional_args,
        conversions or (),
        preprocessor,
        value_conversions or {},
        object_type != "class",
    ).decorate


generate_legacy_method_interface = functools.partial(
    generate_legacy_interface, object_type="method"
)


def raise_duplicate_arg_error(old_arg: str, new_arg: str) -> None:
    """Raises the error for an argument that is given by both of its names.

    Args:
      old_arg: its name in Keras 1.
      new_arg: its name in Keras 2.

    Raises:
      TypeError: always.
    """
    raise TypeError(
        f"`{new_arg}` is given twice: its name in Keras 1 is `{old_arg}`; remove `{old_arg}`"
    )


def _show(called: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Returns the text of a call; the first of `args` is the object itself."""
    by_name = [f"{name}={_show_value(value)}" for name, value in kwargs.items()]
    return f"{called}({', '.join([*map(_show_value, args[1:]), *by_name])})"


def _show_value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    # The text of an array may be long to make.
    text = "array" if isinstance(value, np.ndarray) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _make(name: str) -> Interface:
    names = keras_1_names.NAMES[name]
    values = {old: keras_1_names.VALUES[old] for old, _ in names if old in keras_1_names.VALUES}
    return Interface(
        keras_1_names.POSITIONAL[name],
        names,
        keras_1_calls.PREPROCESSORS.get(name),
        values,
        name == "generator_methods",
    )


INTERFACES = {name: _make(name) for name in keras_1_names.NAMES}

globals().update(
    {f"legacy_{name}_support": interface.decorate for name, interface in INTERFACES.items()}
)
# Three of them have other names.
add_weight_args_preprocessing = keras_1_calls.PREPROCESSORS["add_weight"]
get_updates_arg_preprocessing = keras_1_calls.PREPROCESSORS["get_updates"]
embedding_kwargs_preprocessor = keras_1_calls.PREPROCESSORS["embedding"]
globals().update(
    {
        f"{name}_args_preprocessor": function
        for name, function in keras_1_calls.PREPROCESSORS.items()
        if name not in ("add_weight", "embedding", "get_updates")
    }
)
