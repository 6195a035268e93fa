"""The bijector of batch normalization."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base

__all__ = ["BatchNormalization"]


def _positive(gamma):
    return tf.nn.relu(gamma) + 1e-6


class BatchNormalization(_base.Bijector):
    """The inverse normalizes batches, as in flows (Dinh et al., 2017; Papamakarios et al., 2017).

    `inverse` is the layer: it normalizes y [batch, ..., event] with the moments of the batch if
    `training`, else with the moving ones, and makes the operations that update those. `forward`
    always uses the moving moments. A Jacobian couples the examples of a batch only through the
    moments, which are taken as constants.

    Args:
      batchnorm_layer: tf.layers.BatchNormalization; None for one whose gamma stays positive.
      training: whether `inverse` normalizes with the moments of the batch.
      validate_args: ignored.
      name: name of the bijector.

    Raises:
      ValueError: `batchnorm_layer` is another layer, or has renormalization or virtual batches.
    """

    def __init__(
        self, batchnorm_layer=None, training=True, validate_args=False, name="batch_normalization"
    ):
        self.batchnorm = batchnorm_layer or tf.layers.BatchNormalization(gamma_constraint=_positive)
        _require_supported(self.batchnorm)
        self._training = training
        axis = self.batchnorm.axis
        super().__init__(
            forward_min_event_ndims=1 if isinstance(axis, int) else len(axis),
            validate_args=validate_args,
            name=name,
        )

    def _other_axes(self, x):
        axes = self.batchnorm.axis
        axes = [axes] if isinstance(axes, int) else axes
        axes = [axis % x.shape.ndims for axis in axes]
        return [axis for axis in range(x.shape.ndims) if axis not in axes]

    def _build(self, x):
        if not self.batchnorm.built:
            self.batchnorm.build(x.shape)

    def _broadcast(self, x, vector):
        """Returns a variable of the layer with axes that make it broadcast against x."""
        if vector is None:
            return None
        others = self._other_axes(x)
        sizes = [1 if axis in others else x.shape.as_list()[axis] for axis in range(x.shape.ndims)]
        return tf.reshape(vector, sizes)

    def _forward(self, x):
        self._build(x)
        layer = self.batchnorm
        mean, variance = (
            self._broadcast(x, one) for one in (layer.moving_mean, layer.moving_variance)
        )
        beta = self._broadcast(x, layer.beta if layer.center else None)
        gamma = self._broadcast(x, layer.gamma if layer.scale else None)
        centered = x if beta is None else x - beta
        normal = centered if gamma is None else centered / gamma
        return normal * tf.sqrt(variance + layer.epsilon) + mean

    def _inverse(self, y):
        return self.batchnorm(y, training=self._training)

    def _log_det(self, y, training):
        """Returns log|det dx/dy|, a scalar."""
        if not y.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        self._build(y)
        layer = self.batchnorm
        moments = tf.nn.moments(y, self._other_axes(y)) if training else None
        variance = moments[1] if training else layer.moving_variance
        total = -0.5 * tf.reduce_sum(tf.log(variance + layer.epsilon))
        return total + tf.reduce_sum(tf.log(layer.gamma)) if layer.scale else total

    def _inverse_log_det_jacobian(self, y):
        return self._log_det(y, self._training)

    def _forward_log_det_jacobian(self, x):
        return -self._log_det(x, False)


def _require_supported(layer):
    if not isinstance(layer, tf.layers.BatchNormalization):
        raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
    if layer.renorm:
        raise ValueError("BatchNorm Bijector does not support renormalization.")
    if layer.virtual_batch_size:
        raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
