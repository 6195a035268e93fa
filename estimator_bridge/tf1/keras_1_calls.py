"""Calls with the arguments of Keras 1, turned into calls of Keras 2 where a name is not enough.

Each function takes the arguments by position, of which the first is the layer, and by name. It
returns both as Keras 2 expects them, and what it has converted, as pairs of names.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Optional

from estimator_bridge.tf1 import keras_1_names

__all__ = ["PREPROCESSORS", "Call", "is_dict_of_sides"]

Call = tuple[Sequence[Any], dict[str, Any], list[tuple[str, Optional[str]]]]

_SIDES = ("top_pad", "bottom_pad", "left_pad", "right_pad")
_SAMPLES = {"samples_per_epoch", "val_samples", "nb_epoch", "nb_val_samples", "nb_worker"}


def _warn(text: str) -> None:
    """Warns at the program's call: above this function, the preprocessor and the wrapper."""
    warnings.warn(text, stacklevel=4)


def _drop(kwargs: dict[str, Any], name: str) -> list[tuple[str, Optional[str]]]:
    if name not in kwargs:
        return []
    del kwargs[name]
    return [(name, None)]


def _merge_kernel(args: Sequence[Any], kwargs: dict[str, Any], dimensions: int) -> Call:
    """Makes one `kernel_size` of the sizes that follow the number of filters."""
    names = keras_1_names.KERNEL[dimensions]
    if len(args) > 2 + dimensions:
        raise TypeError(
            f"a convolution takes at most {1 + dimensions} arguments by position: the filters and "
            f"the sizes of the kernel; pass the others by name"
        )
    given = tuple(args[2:])
    if not all(isinstance(size, int) for size in given):
        return args, kwargs, []
    if len(given) == 2 and not {"padding", "strides", "data_format"}.isdisjoint(kwargs):
        raise ValueError(
            "the second of two numbers after the filters is a size of the kernel in Keras 1, and "
            "the strides in Keras 2; pass `kernel_size` and `strides` by name"
        )
    rest = names[len(given) :]
    if not all(name in kwargs for name in rest):
        return args, kwargs, []
    kernel = given + tuple(kwargs.pop(name) for name in rest)
    if len(args) < 2:
        kwargs["kernel_size"] = kernel
    else:
        args = (*args[:2], kernel)
    return args, kwargs, [("kernel_size", "/".join(names))]


def _conv1d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    if "input_dim" not in kwargs:
        return args, kwargs, []
    kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
    return args, kwargs, [("input_shape", "input_dim")]


def _conv2d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    return _merge_kernel(args, kwargs, 2)


def _conv3d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    return _merge_kernel(args, kwargs, 3)


def _separable_conv2d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    converted: list[tuple[str, Optional[str]]] = []
    if "init" in kwargs:
        init = kwargs.pop("init")
        kwargs.update(depthwise_initializer=init, pointwise_initializer=init)
        converted = [("depthwise_initializer", "init"), ("pointwise_initializer", "init")]
    args, kwargs, more = _merge_kernel(args, kwargs, 2)
    return args, kwargs, converted + more


def _deconv2d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    converted = _drop(kwargs, "output_shape")
    if len(args) == 5 and isinstance(args[4], tuple):
        args, converted = args[:4], [("output_shape", None)]
    args, kwargs, more = _merge_kernel(args, kwargs, 2)
    return args, kwargs, converted + more


def _forget_bias(kwargs: dict[str, Any]) -> list[tuple[str, Optional[str]]]:
    """Replaces the only initializer of the forget gate's bias that Keras 2 has an option for."""
    if "forget_bias_init" not in kwargs:
        return []
    if kwargs.pop("forget_bias_init") == "one":
        kwargs["unit_forget_bias"] = True
        return [("unit_forget_bias", "forget_bias_init")]
    warnings.warn(
        "`forget_bias_init` has no effect: Keras 2 can only initialize with ones, by "
        "`unit_forget_bias=True`",
        stacklevel=4,
    )
    return []


def _recurrent(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    converted = _forget_bias(kwargs)
    if "input_dim" in kwargs:
        kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
        converted.append(("input_shape", "input_dim"))
        _warn("recurrent layers take `input_shape` instead of `input_dim` and `input_length`")
    return args, kwargs, converted


def _convlstm2d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    converted = _forget_bias(kwargs)
    args, kwargs, more = _merge_kernel(args, kwargs, 2)
    return args, kwargs, converted + more


def _embedding(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    if _drop(kwargs, "dropout"):
        _warn("`Embedding` ignores `dropout`; put a `SpatialDropout1D` layer after it")
    return args, kwargs, []


def _batchnorm(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    if len(args) > 1:
        raise TypeError("`BatchNormalization` takes its arguments by name only")
    if kwargs.get("mode", 0) != 0:
        raise TypeError("`BatchNormalization` of Keras 2 has only `mode=0` of Keras 1; remove it")
    return args, kwargs, _drop(kwargs, "mode")


def is_dict_of_sides(value: Any) -> bool:
    """Returns whether a padding is given as Keras 1 allowed it: a number for each named side.

    Args:
      value: the argument `padding`.
    """
    return isinstance(value, dict) and set(value) <= set(_SIDES)


def _zeropadding2d(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    by_name = "padding" in kwargs
    padding = kwargs["padding"] if by_name else args[1] if len(args) == 2 else None
    if isinstance(padding, dict) and is_dict_of_sides(padding):
        top, bottom, left, right = (padding.get(side, 0) for side in _SIDES)
        pairs = ((top, bottom), (left, right))
        if by_name:
            kwargs["padding"] = pairs
        else:
            args = (args[0], pairs)
        _warn(f"`padding` of Keras 2 is not a dict; write `padding={pairs}`")
    return args, kwargs, []


def _generator_methods(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    old = _SAMPLES.intersection(kwargs)
    converted: list[tuple[str, Optional[str]]] = []
    if "samples_per_epoch" in kwargs and len(args) < 3:
        samples = kwargs.pop("samples_per_epoch")
        generator = args[1] if len(args) > 1 else kwargs["generator"]
        size = getattr(generator, "batch_size", None)
        kwargs["steps_per_epoch"] = samples if size is None else samples // size
        converted.append(("steps_per_epoch", "samples_per_epoch"))
    if old:
        _warn(
            "Keras 2 counts batches where Keras 1 counted samples: `steps_per_epoch` for "
            "`samples_per_epoch`, `validation_steps` for `nb_val_samples`, `steps` for "
            "`val_samples`; divide the numbers by the batch size"
        )
    return args, kwargs, converted


def _add_weight(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    if len(args) > 1 and isinstance(args[1], (tuple, list)):
        kwargs["shape"] = args[1]
        args = (args[0], *args[2:])
        if len(args) > 1 and isinstance(args[1], str):
            kwargs["name"] = args[1]
            args = (args[0], *args[2:])
    return args, kwargs, []


def _get_updates(args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    """Takes `params, constraints, loss`, which is `loss, params` in Keras 2."""
    if len(args) > 4:
        raise TypeError("`get_updates` takes `loss` and `params`")
    if len(args) == 4:
        kwargs.update(params=args[1], loss=args[3])
        return args[:1], kwargs, []
    if len(args) == 3 and isinstance(args[1], (list, tuple)) and "loss" in kwargs:
        kwargs["params"] = args[1]
        return args[:1], kwargs, []
    return args, kwargs, []


# Interface -> what converts its calls before names are replaced.
PREPROCESSORS = {
    "add_weight": _add_weight,
    "batchnorm": _batchnorm,
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "conv3d": _conv3d,
    "convlstm2d": _convlstm2d,
    "deconv2d": _deconv2d,
    "embedding": _embedding,
    "generator_methods": _generator_methods,
    "get_updates": _get_updates,
    "recurrent": _recurrent,
    "separable_conv2d": _separable_conv2d,
    "zeropadding2d": _zeropadding2d,
}
