"""`keras.layers.merge` of Keras 1, which Keras had until 2.1."""

import functools
import operator
import warnings

import tensorflow.compat.v1 as tf

__all__ = ["Merge", "merge"]

_backend = tf.keras.backend


class Merge(tf.keras.layers.Layer):
    """Combines a list of tensors.

    Args:
      layers: None; a list of models, with which a Sequential model of Keras 1 began, is an error.
      mode: "sum", "mul", "ave", "max", "concat", "dot" or "cos", or a function of the list.
      concat_axis: int, the dimension for "concat".
      dot_axes: int, or two ints, the dimensions for "dot" and "cos".
      output_shape: tuple without the batch, or a function of the list of shapes, for a function.
      output_mask: mask of the output, or a function of the inputs and masks, for a function.
      arguments: dictionary, more arguments of the function.
      **kwargs: of every layer.

    Raises:
      ValueError: there is no such mode, or models are given.
    """

    def __init__(  # noqa: PLR0913
        self,
        layers=None,
        mode="sum",
        concat_axis=-1,
        dot_axes=-1,
        output_shape=None,
        output_mask=None,
        arguments=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if layers:
            raise ValueError(
                "Merge of models is not supplied: build a keras.models.Model from their inputs, "
                "and merge their outputs with keras.layers.concatenate or add"
            )
        if not callable(mode) and mode not in _MODES:
            raise ValueError(f"Invalid merge mode: {mode}; use one of {', '.join(_MODES)}")
        self.mode = mode
        self.concat_axis = concat_axis
        self.dot_axes = dot_axes
        self.arguments = arguments or {}
        self._output_shape = output_shape
        self._output_mask = output_mask
        self.supports_masking = True

    def call(self, inputs):
        """Returns the combined tensor.

        Args:
          inputs: list of tensors.
        """
        if callable(self.mode):
            output = self.mode(inputs, **self.arguments)
            if isinstance(self._output_shape, tuple):
                output.set_shape([inputs[0].shape[0], *self._output_shape])
            return output
        return _MODES[self.mode](inputs, self)

    def compute_mask(self, inputs, mask=None):
        """Returns the mask of the output, or None.

        Args:
          inputs: list of tensors.
          mask: list of masks, bool [batch, steps] or None.
        """
        if callable(self.mode):
            return self._output_mask(inputs, mask) if callable(self._output_mask) else None
        if mask is None or all(one is None for one in mask) or self.mode in ("dot", "cos"):
            return None
        known = [one for one in mask if one is not None]
        if self.mode == "concat":
            axis = self.concat_axis % len(inputs[0].shape)
            if axis == 1 and len(known) == len(mask):
                return tf.concat(mask, axis=1)
        return functools.reduce(tf.logical_and, known)

    def get_config(self):
        """Returns the arguments of the layer."""
        own = {"mode": self.mode, "concat_axis": self.concat_axis, "dot_axes": self.dot_axes}
        return {**super().get_config(), **own}


def _dot(inputs, layer):
    first, second = inputs
    axes = layer.dot_axes
    if isinstance(axes, int):
        axes = [axes % len(first.shape), axes % len(second.shape)]
    return _backend.batch_dot(first, second, axes)


def _cosine(inputs, layer):
    first, second = inputs
    squares = _dot([first, first], layer) * _dot([second, second], layer)
    return _dot(inputs, layer) / tf.maximum(tf.sqrt(squares), _backend.epsilon())


_MODES = {
    "sum": lambda inputs, layer: tf.add_n(inputs),
    "mul": lambda inputs, layer: functools.reduce(operator.mul, inputs),
    "ave": lambda inputs, layer: tf.add_n(inputs) / len(inputs),
    "max": lambda inputs, layer: functools.reduce(tf.maximum, inputs),
    "concat": lambda inputs, layer: _backend.concatenate(inputs, axis=layer.concat_axis),
    "dot": _dot,
    "cos": _cosine,
}


def merge(  # noqa: PLR0913
    inputs,
    mode="sum",
    concat_axis=-1,
    dot_axes=-1,
    output_shape=None,
    output_mask=None,
    arguments=None,
    name=None,
):
    """Returns a combination of tensors of Keras.

    Args:
      inputs: list of tensors.
      mode: as of `Merge`.
      concat_axis: as of `Merge`.
      dot_axes: as of `Merge`.
      output_shape: as of `Merge`.
      output_mask: as of `Merge`.
      arguments: as of `Merge`.
      name: of the layer.

    Raises:
      ValueError: as of `Merge`.
    """
    warnings.warn("`merge` is deprecated: use a layer such as `add` or `concatenate`", stacklevel=2)
    layer = Merge(
        mode=mode,
        concat_axis=concat_axis,
        dot_axes=dot_axes,
        output_shape=output_shape,
        output_mask=output_mask,
        arguments=arguments,
        name=name,
    )
    return layer(inputs)
