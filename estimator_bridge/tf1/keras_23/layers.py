"""Layers of Keras 1, which the package `keras` had until 2.3, and some until 2.1."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.keras_23.merging import Merge
from estimator_bridge.tf1.keras_23.recurrent import Recurrent

__all__ = [
    "AtrousConv1D",
    "AtrousConv2D",
    "AtrousConvolution1D",
    "AtrousConvolution2D",
    "Deconv2D",
    "Deconv3D",
    "Deconvolution2D",
    "Deconvolution3D",
    "Highway",
    "MaxoutDense",
    "Merge",
    "Recurrent",
]

_keras = tf.keras
_layers = tf.keras.layers

Deconv2D = Deconvolution2D = _layers.Conv2DTranspose
Deconv3D = Deconvolution3D = _layers.Conv3DTranspose


def AtrousConvolution1D(*args, **kwargs):  # noqa: N802
    """Returns a Conv1D.

    Args:
      *args: of Conv1D.
      **kwargs: of Conv1D; `atrous_rate`, int, is its `dilation_rate`.
    """
    return _dilate(_layers.Conv1D, args, kwargs)


def AtrousConvolution2D(*args, **kwargs):  # noqa: N802
    """Returns a Conv2D.

    Args:
      *args: of Conv2D.
      **kwargs: of Conv2D; `atrous_rate`, int or two ints, is its `dilation_rate`.
    """
    return _dilate(_layers.Conv2D, args, kwargs)


AtrousConv1D, AtrousConv2D = AtrousConvolution1D, AtrousConvolution2D


def _dilate(layer, args, kwargs):
    if "atrous_rate" in kwargs:
        kwargs["dilation_rate"] = kwargs.pop("atrous_rate")
    return layer(*args, **kwargs)


class _DenseOfKeras1(tf.keras.layers.Layer):
    """A layer with the arguments of a dense layer in Keras 1.

    Args:
      init: initializer of the weights, or its name.
      weights: list of arrays, the first weights; None for `init`.
      W_regularizer: of the weights.
      b_regularizer: of the bias.
      activity_regularizer: of the output.
      W_constraint: of the weights.
      b_constraint: of the bias.
      bias: bool, whether there is one.
      input_dim: int, the depth of the input; None if it follows from the layer before.
      **kwargs: of every layer.
    """

    def __init__(  # noqa: PLR0913
        self,
        init="glorot_uniform",
        weights=None,
        W_regularizer=None,  # noqa: N803
        b_regularizer=None,
        activity_regularizer=None,
        W_constraint=None,  # noqa: N803
        b_constraint=None,
        bias=True,
        input_dim=None,
        **kwargs,
    ):
        if input_dim:
            kwargs["input_shape"] = (input_dim,)
        if weights is not None:
            kwargs["weights"] = weights
        super().__init__(
            activity_regularizer=_keras.regularizers.get(activity_regularizer), **kwargs
        )
        self.init = _keras.initializers.get(init)
        self.W_regularizer = _keras.regularizers.get(W_regularizer)
        self.b_regularizer = _keras.regularizers.get(b_regularizer)
        self.W_constraint = _keras.constraints.get(W_constraint)
        self.b_constraint = _keras.constraints.get(b_constraint)
        self.bias = bias
        self.input_dim = input_dim

    def _add_weights(self, name, shape):
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=self.init,
            regularizer=self.W_regularizer,
            constraint=self.W_constraint,
        )

    def _add_bias(self, name, shape, initializer="zeros"):
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            regularizer=self.b_regularizer,
            constraint=self.b_constraint,
        )

    def get_config(self):
        """Returns the arguments of the layer."""
        return {
            **super().get_config(),
            "init": _keras.initializers.serialize(self.init),
            "W_regularizer": _keras.regularizers.serialize(self.W_regularizer),
            "b_regularizer": _keras.regularizers.serialize(self.b_regularizer),
            "activity_regularizer": _keras.regularizers.serialize(self.activity_regularizer),
            "W_constraint": _keras.constraints.serialize(self.W_constraint),
            "b_constraint": _keras.constraints.serialize(self.b_constraint),
            "bias": self.bias,
            "input_dim": self.input_dim,
        }


class Highway(_DenseOfKeras1):
    """A dense layer with a gate (Srivastava et al., 2015, arXiv:1505.00387).

    Args:
      init: initializer of the weights, or its name.
      activation: function, or its name; None for none.
      **kwargs: of a dense layer in Keras 1: `weights`, `W_regularizer`, `b_regularizer`,
        `activity_regularizer`, `W_constraint`, `b_constraint`, `bias`, `input_dim`.
    """

    def __init__(self, init="glorot_uniform", activation=None, **kwargs):
        super().__init__(init, **kwargs)
        self.activation = _keras.activations.get(activation)

    def build(self, input_shape):
        """Adds the weights.

        Args:
          input_shape: [batch, depth].
        """
        depth = int(input_shape[-1])
        self.W = self._add_weights("W", (depth, depth))
        self.W_carry = self._add_weights("W_carry", (depth, depth))
        if self.bias:
            self.b = self._add_bias("b", (depth,))
            self.b_carry = self._add_bias("b_carry", (depth,), "ones")
        super().build(input_shape)

    def call(self, x):
        """Returns the gated output, float [batch, depth].

        Args:
          x: float [batch, depth].
        """
        gate, transformed = tf.matmul(x, self.W_carry), tf.matmul(x, self.W)
        if self.bias:
            gate, transformed = gate + self.b_carry, transformed + self.b
        gate = tf.sigmoid(gate)
        return gate * self.activation(transformed) + (1 - gate) * x

    def get_config(self):
        """Returns the arguments of the layer."""
        activation = _keras.activations.serialize(self.activation)
        return {**super().get_config(), "activation": activation}


class MaxoutDense(_DenseOfKeras1):
    """The largest of several linear layers (Goodfellow et al., 2013, arXiv:1302.4389).

    Args:
      output_dim: int, the depth of the output.
      nb_feature: int, how many linear layers.
      **kwargs: of a dense layer in Keras 1: `init`, `weights`, `W_regularizer`, `b_regularizer`,
        `activity_regularizer`, `W_constraint`, `b_constraint`, `bias`, `input_dim`.
    """

    def __init__(self, output_dim, nb_feature=4, **kwargs):
        super().__init__(**kwargs)
        self.output_dim = output_dim
        self.nb_feature = nb_feature

    def build(self, input_shape):
        """Adds the weights.

        Args:
          input_shape: [batch, depth].
        """
        self.W = self._add_weights("W", (self.nb_feature, int(input_shape[-1]), self.output_dim))
        if self.bias:
            self.b = self._add_bias("b", (self.nb_feature, self.output_dim))
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        """Returns the shape of the output, [batch, output_dim].

        Args:
          input_shape: [batch, depth].
        """
        return tf.TensorShape([input_shape[0], self.output_dim])

    def call(self, x):
        """Returns the largest values, float [batch, output_dim].

        Args:
          x: float [batch, depth].
        """
        outputs = tf.einsum("bi,fio->bfo", x, self.W)
        if self.bias:
            outputs += self.b
        return tf.reduce_max(outputs, axis=1)

    def get_config(self):
        """Returns the arguments of the layer."""
        own = {"output_dim": self.output_dim, "nb_feature": self.nb_feature}
        return {**super().get_config(), **own}
