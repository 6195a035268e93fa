"""Linear operators of the scales c I + diag(d) + tril + V diag(e) V^T."""

import tensorflow.compat.v1 as tf

__all__ = ["of_arguments", "operator", "parents", "shapes"]


def parents(scale):
    """Returns the tensors of a linear operator, to be listed as graph parents.

    Args:
      scale: LinearOperator.
    """
    return [one for one in scale.parameters.values() if isinstance(one, tf.Tensor)]


def of_arguments(loc, validate_args, **arguments):
    """Returns `loc` as a tensor or None, and the LinearOperator of the arguments of a distribution.

    Args:
      loc: floating tensor [..., k], or None.
      validate_args: whether to check when the graph runs that the scale is not singular.
      **arguments: scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_factor and
        scale_perturb_diag, those that are not None.

    Raises:
      ValueError: nothing says how large the scale is.
    """
    given = [one for one in (loc, *arguments.values()) if one is not None]
    if not given:
        raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
    dtype = tf.convert_to_tensor(given[0]).dtype.base_dtype
    loc = None if loc is None else tf.convert_to_tensor(loc, dtype, name="loc")
    order = (
        "scale_identity_multiplier",
        "scale_diag",
        "scale_tril",
        "scale_perturb_diag",
        "scale_perturb_factor",
    )
    parts = [arguments.get(name) for name in order]
    parts = [
        None if one is None else tf.convert_to_tensor(one, dtype, name=name)
        for name, one in zip(order, parts)
    ]
    return loc, operator(*parts, shift=loc, validate_args=validate_args)


def operator(
    multiplier, diagonal, tril, perturb_diag, perturb_factor, shift=None, validate_args=False
):
    """Returns the LinearOperator of a scale.

    Args:
      multiplier: floating tensor c [...], or None.
      diagonal: floating tensor d [..., k], or None.
      tril: floating tensor [..., k, k], of which the lower triangle counts, or None.
      perturb_diag: floating tensor e [..., r]; None for 1.
      perturb_factor: floating tensor V [..., k, r], or None.
      shift: tensor [..., k], which gives k where nothing else does, or None.
      validate_args: whether to check when the graph runs that the scale is not singular.

    Raises:
      ValueError: nothing says how large the scale is.
    """
    if tril is None and diagonal is None:
        base = _multiple(multiplier, perturb_factor, shift)
    elif tril is None:
        diagonal = diagonal if multiplier is None else diagonal + multiplier[..., None]
        if perturb_factor is not None:
            base = tf.linalg.LinearOperatorDiag(diagonal, is_positive_definite=True)
        else:
            base = tf.linalg.LinearOperatorDiag(diagonal, is_non_singular=True)
    else:
        more = [
            one for one in (diagonal, multiplier if multiplier is None else multiplier[..., None])
        ]
        more = [one for one in more if one is not None]
        if more:
            tril = tf.matrix_set_diag(tril, tf.matrix_diag_part(tril) + sum(more[1:], more[0]))
        tril = tf.matrix_band_part(tril, -1, 0)
        if validate_args:
            zero = tf.zeros([], tril.dtype)
            message = "Scale must have no zeros on its diagonal."
            check = tf.assert_none_equal(tf.matrix_diag_part(tril), zero, message=message)
            with tf.control_dependencies([check]):
                tril = tf.identity(tril)
        base = tf.linalg.LinearOperatorLowerTriangular(tril, is_non_singular=True)
    if perturb_factor is None:
        return base
    return tf.linalg.LinearOperatorLowRankUpdate(
        base,
        u=perturb_factor,
        diag_update=perturb_diag,
        is_diag_update_positive=perturb_diag is None,
        is_non_singular=True,
        is_self_adjoint=True if tril is None else None,
        is_positive_definite=True if tril is None else None,
    )


def _size(tensor, axis):
    known = tf.compat.dimension_value(tensor.shape[axis])
    return tf.shape(tensor)[axis] if known is None else known


def _multiple(multiplier, perturb_factor, shift):
    """Returns the operator c I, whose size the other arguments give."""
    if perturb_factor is not None:
        size, dtype = _size(perturb_factor, -2), perturb_factor.dtype
    elif shift is not None:
        size, dtype = _size(shift, -1), shift.dtype
    else:
        raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
    if multiplier is None:
        return tf.linalg.LinearOperatorIdentity(size, dtype=dtype)
    return tf.linalg.LinearOperatorScaledIdentity(size, multiplier, is_positive_definite=True)


def shapes(loc, scale):
    """Returns the batch shape and the event shape of loc + scale z, tensors [axes] of int32.

    Args:
      loc: tensor [..., k], or None.
      scale: LinearOperator [..., k, k].
    """
    event, batch = scale.range_dimension_tensor()[None], scale.batch_shape_tensor()
    known = tf.compat.dimension_value(scale.range_dimension)
    if loc is not None and known == 1:
        # The scale broadcasts against the mean.
        event = tf.shape(loc)[-1:]
        known = tf.compat.dimension_value(loc.shape[-1])
    if loc is not None:
        batch = tf.broadcast_dynamic_shape(batch, tf.shape(loc)[:-1])
    static = scale.batch_shape
    if loc is not None:
        static = tf.broadcast_static_shape(static, loc.shape[:-1])
    if known is not None:
        event = tf.constant([known], tf.int32)
    if static.is_fully_defined():
        batch = tf.constant(static.as_list(), tf.int32)
    return batch, event
