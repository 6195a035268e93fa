"""Affine bijectors of vectors."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base
from estimator_bridge.tf1.contrib.distributions import scales

__all__ = ["Affine", "AffineLinearOperator"]


class AffineLinearOperator(_base.Bijector):
    """y = scale x + shift, with a linear operator.

    Args:
      shift: floating tensor [..., k], or None for 0.
      scale: tf.linalg.LinearOperator of matrices [..., k, k], or None for the identity.
      validate_args: whether to check when the graph runs that `scale` is not singular.
      name: name of the bijector.

    Raises:
      TypeError: `scale` is no LinearOperator, or its dtype is not that of `shift`.
      ValueError: the operator is not known to be invertible, and `validate_args`.
    """

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_linear_operator"):
        parents, dtype = [], tf.float32
        with tf.name_scope(name, values=[shift]):
            if shift is not None:
                shift = tf.convert_to_tensor(shift, name="shift")
                parents, dtype = [shift], shift.dtype.base_dtype
            if scale is not None:
                if not isinstance(scale, tf.linalg.LinearOperator):
                    raise TypeError("scale is not an instance of tf.LinearOperator")
                if shift is not None and scale.dtype is not None and scale.dtype != dtype:
                    raise TypeError(
                        f"shift.dtype({shift.dtype}) is incompatible with "
                        f"scale.dtype({scale.dtype})."
                    )
                if validate_args and not scale.is_non_singular:
                    raise ValueError("Scale matrix must be non-singular.")
                parents, dtype = [*parents, *scales.parents(scale)], scale.dtype
        self._shift, self._scale = shift, scale
        super().__init__(
            graph_parents=parents,
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            dtype=dtype,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self):
        """The tensor that is added, or None."""
        return self._shift

    @property
    def scale(self):
        """The linear operator, or None."""
        return self._scale

    def _certainly(self):
        check = self.validate_args and self._scale is not None
        return tf.control_dependencies([self._scale.assert_non_singular()] if check else [])

    def _forward(self, x):
        with self._certainly():
            y = tf.identity(x) if self._scale is None else self._scale.matvec(x)
            return y if self._shift is None else y + self._shift

    def _inverse(self, y):
        with self._certainly():
            x = tf.identity(y) if self._shift is None else y - self._shift
            return x if self._scale is None else self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x):
        if self._scale is None:
            return tf.zeros([], x.dtype.base_dtype)
        with self._certainly():
            return self._scale.log_abs_determinant()


class Affine(_base.Bijector):
    """y = scale x + shift, with scale = c I + diag(d) + tril + V diag(e) V^T.

    Args:
      shift: floating tensor [..., k], or None for 0.
      scale_identity_multiplier: floating tensor c [...]; without another scale, None is 1.
      scale_diag: floating tensor d [..., k], or None.
      scale_tril: floating tensor [..., k, k], of which the lower triangle counts, or None.
      scale_perturb_factor: floating tensor V [..., k, r], or None.
      scale_perturb_diag: floating tensor e [..., r]; None for 1.
      validate_args: whether to check when the graph runs that the scale is not singular.
      name: name of the bijector.

    Raises:
      TypeError: the arguments have different dtypes.
      ValueError: `scale_perturb_diag` is given without `scale_perturb_factor`.
    """

    def __init__(
        self,
        shift=None,
        scale_identity_multiplier=None,
        scale_diag=None,
        scale_tril=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        name="affine",
    ):
        parts = {
            "identity_multiplier": scale_identity_multiplier,
            "scale_diag": scale_diag,
            "scale_tril": scale_tril,
            "scale_perturb_diag": scale_perturb_diag,
            "scale_perturb_factor": scale_perturb_factor,
        }
        if scale_perturb_factor is None and scale_perturb_diag is not None:
            raise ValueError(
                "When scale_perturb_diag is specified, scale_perturb_factor must be specified."
            )
        with tf.name_scope(name), tf.name_scope("init", values=[shift, *parts.values()]):
            given = [one for one in (shift, *parts.values()) if one is not None]
            dtype = tf.convert_to_tensor(given[0]).dtype.base_dtype if given else tf.float32
            if shift is not None:
                shift = tf.convert_to_tensor(shift, dtype, name="shift")
            parts = {
                name: None if one is None else tf.convert_to_tensor(one, dtype, name=name)
                for name, one in parts.items()
            }
            # A multiple of the identity, whose size only x knows.
            multiplier = parts["identity_multiplier"]
            self._is_multiple = not any(
                one is not None for name, one in parts.items() if one is not multiplier
            )
            if self._is_multiple:
                scale = tf.constant(1, dtype) if multiplier is None else multiplier
                parents = [scale]
            else:
                scale = scales.operator(*parts.values(), shift=shift, validate_args=validate_args)
                parents = [] if shift is None else [*scales.parents(scale), shift]
        self._shift, self._scale = shift, scale
        super().__init__(
            graph_parents=parents,
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            dtype=dtype,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self):
        """The tensor that is added, or None."""
        return self._shift

    @property
    def scale(self):
        """The linear operator; a tensor if the scale is a multiple of the identity."""
        return self._scale

    def _certainly(self):
        if not self.validate_args:
            return tf.control_dependencies([])
        if self._is_multiple:
            zero = tf.zeros([], self._scale.dtype)
            return tf.control_dependencies([tf.assert_none_equal(self._scale, zero)])
        return tf.control_dependencies([self._scale.assert_non_singular()])

    def _forward(self, x):
        with self._certainly():
            y = x * self._scale[..., None] if self._is_multiple else self._scale.matvec(x)
            return y if self._shift is None else y + self._shift

    def _inverse(self, y):
        x = y if self._shift is None else y - self._shift
        with self._certainly():
            return x / self._scale[..., None] if self._is_multiple else self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x):
        if self._is_multiple:
            size = tf.cast(tf.shape(x)[-1], x.dtype.base_dtype)
            return tf.log(tf.abs(self._scale)) * size
        with self._certainly():
            return self._scale.log_abs_determinant()
