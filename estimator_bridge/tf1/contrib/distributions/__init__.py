"""`tf.contrib.distributions`: tf.distributions and the most used other distributions."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions import bijectors  # noqa: F401 (a public name)
from estimator_bridge.tf1.contrib.distributions import continuous as _continuous
from estimator_bridge.tf1.contrib.distributions import counts as _counts
from estimator_bridge.tf1.contrib.distributions import derived as _derived
from estimator_bridge.tf1.contrib.distributions import helpers as _helpers
from estimator_bridge.tf1.contrib.distributions import linear as _linear
from estimator_bridge.tf1.contrib.distributions import mixtures as _mixtures
from estimator_bridge.tf1.contrib.distributions import multivariate as _multivariate
from estimator_bridge.tf1.contrib.distributions import quadrature as _quadrature
from estimator_bridge.tf1.contrib.distributions import quantized as _quantized
from estimator_bridge.tf1.contrib.distributions import relaxed as _relaxed
from estimator_bridge.tf1.contrib.distributions import reshaped as _reshaped
from estimator_bridge.tf1.contrib.distributions import softplus as _softplus
from estimator_bridge.tf1.contrib.distributions import transformed as _transformed
from estimator_bridge.tf1.contrib.distributions import univariate as _univariate
from estimator_bridge.tf1.contrib.distributions import wishart as _wishart
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    default_advice="use the package tensorflow-probability (tfp.distributions, tfp.bijectors)",
)

for _name in dir(tf.distributions):
    if not _name.startswith("_"):
        globals()[_name] = getattr(tf.distributions, _name)

for _module in (
    _continuous,
    _counts,
    _derived,
    _helpers,
    _linear,
    _mixtures,
    _multivariate,
    _quadrature,
    _quantized,
    _relaxed,
    _reshaped,
    _softplus,
    _transformed,
    _univariate,
    _wishart,
):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)


def softplus_inverse(x, name=None):
    """Returns log(exp(x) - 1), the inverse of softplus.

    Args:
      x: floating tensor of positive numbers.
      name: name of the operations.

    Returns:
      Tensor of the shape of `x`.
    """
    with tf.name_scope(name, "softplus_inverse", [x]):
        x = tf.convert_to_tensor(x)
        return x + tf.log(-tf.math.expm1(-x))


def percentile(
    x,
    q,
    axis=None,
    interpolation=None,
    keep_dims=False,
    validate_args=False,
    name=None,
):
    """Returns the value of `x` at or near a percentile.

    Args:
      x: numeric tensor of known rank.
      q: scalar in [0, 100].
      axis: int or list of ints, the axes to reduce; None for all.
      interpolation: `lower`, `higher` or `nearest` (also None), for a `q` between two values.
      keep_dims: whether to keep the reduced axes with size 1.
      validate_args: ignored.
      name: name of the operations.

    Returns:
      Tensor without the axes, of the dtype of `x`.

    Raises:
      ValueError: `interpolation` is unknown.
    """
    # The places are counted from the largest value; so a tie goes the way it does in 1.15.
    roundings = {None: tf.round, "nearest": tf.round, "lower": tf.ceil, "higher": tf.floor}
    if interpolation not in roundings:
        raise ValueError(
            f"interpolation: {interpolation!r} is unknown; use lower, higher or nearest"
        )
    with tf.name_scope(name, "percentile", [x, q]):
        x = tf.convert_to_tensor(x)
        rank = x.shape.ndims
        axes = range(rank) if axis is None else ([axis] if isinstance(axis, int) else axis)
        axes = sorted(one % rank for one in axes)
        others = [one for one in range(rank) if one not in axes]
        shape = tf.shape(x)
        kept = tf.gather(shape, tf.constant(others, tf.int32))
        moved = tf.reshape(tf.transpose(x, others + axes), tf.concat([kept, [-1]], 0))
        last = tf.to_double(tf.shape(moved)[-1] - 1)
        place = tf.to_int32(roundings[interpolation](last * (1.0 - tf.to_double(q) / 100.0)))
        found = tf.gather(tf.sort(moved, axis=-1, direction="DESCENDING"), place, axis=-1)
        if keep_dims:
            for one in axes:
                found = tf.expand_dims(found, one)
        return found
