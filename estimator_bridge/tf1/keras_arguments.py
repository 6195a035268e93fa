"""The layers and models of `keras` take the arguments of Keras 1, as in Keras 2.0 to 2.3.

The classes are those of `tf.keras`, which never took them: they are changed when a program first
imports `keras`. A call without old arguments goes to the original at once.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from estimator_bridge.tf1 import keras_1_calls, keras_1_names, keras_interfaces, private_keras

__all__ = ["install", "note_importer"]

# Tells whether a call has arguments of Keras 1 that their names do not show.
_Form = Callable[[tuple[Any, ...], dict[str, Any]], bool]

# Interface -> the old names that only its preprocessor knows.
_ROWS = frozenset(keras_1_names.KERNEL[2])
_MORE: dict[str, frozenset[str]] = {
    "batchnorm": frozenset({"mode"}),
    "conv1d": frozenset({"input_dim"}),
    "conv2d": _ROWS,
    "conv3d": frozenset(keras_1_names.KERNEL[3]),
    "convlstm2d": _ROWS | {"forget_bias_init"},
    "deconv2d": _ROWS | {"output_shape"},
    "embedding": frozenset({"dropout"}),
    "recurrent": frozenset({"forget_bias_init", "input_dim"}),
    "separable_conv2d": _ROWS | {"init"},
}

_GENERATOR_METHODS = ("evaluate_generator", "fit_generator", "predict_generator")

# The bridge's own layers of `keras` pass on what a program gives.
_OWN = f"{__package__}.keras_"

# The program's modules that import `keras`.
_importers: set[str] = set()


def note_importer(module: str) -> None:
    """Notes that a module imports `keras`: `Conv2D(8, 3, 3)` is that of Keras 1 there.

    Args:
      module: its name.
    """
    _importers.add(module)


def _has_rows_and_columns(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    """Returns whether numbers follow that of the filters: rows and columns, if `keras` is used.

    With `tf.keras`, they are the size of the kernel and the strides.
    """
    deconvolution = len(args) == 5 and isinstance(args[4], tuple)
    if len(args) != 4 and not deconvolution:
        return False
    if not (isinstance(args[2], int) and isinstance(args[3], int)):
        return False
    # Above this function, `has_old` and the wrapper.
    caller = sys._getframe(3).f_globals.get("__name__", "__main__")
    return caller in _importers or caller.startswith(_OWN)


_FORMS: dict[str, _Form] = {
    "add_weight": lambda args, _: len(args) > 1 and isinstance(args[1], (tuple, list)),
    "conv3d": lambda args, _: len(args) == 5 and all(isinstance(n, int) for n in args[2:]),
    "zeropadding2d": lambda args, kwargs: keras_1_calls.is_dict_of_sides(
        kwargs.get("padding", args[1] if len(args) > 1 else None)
    ),
    **dict.fromkeys(
        ("conv2d", "convlstm2d", "deconv2d", "separable_conv2d"), _has_rows_and_columns
    ),
}


@functools.cache
def install() -> None:
    """Changes the classes of Keras 2; calling it again has no effect."""
    source = private_keras.source()
    layers = importlib.import_module(f"{source}.layers")
    for interface, classes in keras_1_names.CLASSES.items():
        for name in classes.split():
            # Keras loads models with the second version of some.
            versions = [getattr(layers, name + version, None) for version in ("", "V1", "V2")]
            for kind in filter(None, versions):
                # Some inherit the method from a class that is not public.
                owner = next(one for one in kind.__mro__ if "__init__" in vars(one))
                _extend(owner, "__init__", interface)
    engine = {
        name: importlib.import_module(f"{source}.engine.{name}")
        for name in ("base_layer", "base_layer_v1", "functional", "training", "training_v1")
    }
    model = engine["training"].Model
    models = (model, engine["training_v1"].Model)
    for kind in (engine["functional"].Functional, *models):
        _extend(kind, "__init__", "model_constructor")
    _rename_before_creation(model)
    for kind in models:
        for name in _GENERATOR_METHODS:
            _extend(kind, name, "generator_methods")
    for kind in (engine["base_layer"].Layer, engine["base_layer_v1"].Layer):
        _extend(kind, "add_weight", "add_weight")
        _take_input_dtype(kind)


def _replace(kind: Any, name: str, original: Any, wrapper: Any) -> None:
    """Puts a wrapper into a class, with the signature of the original, which Keras reads."""
    vars(wrapper).update(__signature__=inspect.signature(original), _original_function=original)
    setattr(kind, name, wrapper)


def _extend(kind: Any, name: str, interface: str) -> None:
    """Makes a method of a class take the arguments of Keras 1.

    Args:
      kind: the class.
      name: of the method.
      interface: a key of `keras_1_names.NAMES`.
    """
    original = vars(kind)[name]
    if hasattr(original, "_original_function"):
        return
    names = {old for old, _ in keras_1_names.NAMES[interface]} | _MORE.get(interface, set())
    has_form = _FORMS.get(interface)

    def has_old(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return not names.isdisjoint(kwargs) or (has_form is not None and has_form(args, kwargs))

    wrapper = keras_interfaces.INTERFACES[interface].decorate(original, has_old)
    _replace(kind, name, original, wrapper)


def _rename_before_creation(model: Any) -> None:
    """Makes `Model(input=, output=)` a functional model, which `__new__` decides by the names."""
    original = model.__new__

    @functools.wraps(original)
    def create(kind: Any, *args: Any, **kwargs: Any) -> Any:
        names = dict(keras_1_names.NAMES["model_constructor"])
        return original(kind, *args, **{names.get(old, old): new for old, new in kwargs.items()})

    model.__new__ = staticmethod(create)


def _take_input_dtype(kind: Any) -> None:
    """Makes the base class of layers take `input_dtype`, about which Keras 2 did not warn."""
    original = vars(kind)["__init__"]
    if hasattr(original, "_original_function"):
        return

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        if "input_dtype" in kwargs:
            dtype = kwargs.pop("input_dtype")
            if kwargs.get("dtype") is None:
                kwargs["dtype"] = dtype
        original(*args, **kwargs)

    _replace(kind, "__init__", original, wrapper)
