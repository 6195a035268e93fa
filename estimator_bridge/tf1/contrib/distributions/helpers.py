"""Functions of `tf.contrib.distributions`: moving moments, conjugate priors and others."""

import hashlib

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_util as _util

__all__ = [
    "SeedStream",
    "assign_log_moving_mean_exp",
    "assign_moving_mean_variance",
    "auto_correlation",
    "fill_triangular",
    "fill_triangular_inverse",
    "matrix_diag_transform",
    "moving_mean_variance",
    "normal_conjugates_known_scale_posterior",
    "normal_conjugates_known_scale_predictive",
    "reduce_weighted_logsumexp",
    "tridiag",
]

fill_triangular = _util.fill_triangular
fill_triangular_inverse = _util.fill_triangular_inverse
matrix_diag_transform = _util.matrix_diag_transform
reduce_weighted_logsumexp = _util.reduce_weighted_logsumexp
tridiag = _util.tridiag


class SeedStream:
    """Makes different seeds from one: calls return the SHA-512 of the seed, a count and the salt.

    Args:
      seed: the seed, a number; None for None as each seed; or a SeedStream, whose seed is used.
      salt: string that makes streams of one seed different.
    """

    def __init__(self, seed, salt):
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt = salt
        self._count = 0

    def __call__(self):
        """Returns the next seed, an int or None."""
        self._count += 1
        if self._seed is None:
            return None
        text = str((self._seed, self._count, self._salt))
        return int(hashlib.sha512(text.encode()).hexdigest(), 16)

    @property
    def original_seed(self):
        """The seed of the stream."""
        return self._seed

    @property
    def salt(self):
        """The salt of the stream."""
        return self._salt


def _require_float(variable, name):
    dtype = variable.dtype.base_dtype
    if not dtype.is_floating:
        raise TypeError(f"{name}.base_dtype({dtype.name}) does not have float type `dtype`.")
    return dtype


def assign_moving_mean_variance(mean_var, variance_var, value, decay, name=None):
    """Updates exponentially weighted moving moments (Finch, 2009, equation 143).

    variance = decay (variance + (1 - decay) (value - mean)^2), then
    mean = decay mean + (1 - decay) value.

    Args:
      mean_var: floating variable, the moving mean.
      variance_var: floating variable of its shape, the moving variance.
      value: floating tensor of that shape.
      decay: floating scalar.
      name: name of the operations.

    Returns:
      The updated mean and variance.

    Raises:
      TypeError: a variable is not floating.
      ValueError: `value` or `decay` has another dtype.
    """
    tensors = [variance_var, mean_var, value, decay]
    with tf.name_scope(name, "assign_moving_mean_variance", values=tensors):
        dtype = _require_float(mean_var, "mean_var")
        _require_float(variance_var, "variance_var")
        decay = tf.convert_to_tensor(decay, dtype, name="decay")
        away = tf.convert_to_tensor(value, dtype, name="value") - mean_var
        with tf.control_dependencies([away]):
            mean = mean_var.assign_add((1 - decay) * away, use_locking=True)
        change = (1 - decay) * (variance_var - decay * away**2)
        variance = variance_var.assign_sub(change, use_locking=True)
        return mean, variance


def assign_log_moving_mean_exp(log_mean_exp_var, log_value, decay, name=None):
    """Updates log(decay exp(variable) + (1 - decay) exp(value)).

    Args:
      log_mean_exp_var: floating variable.
      log_value: floating tensor of its shape.
      decay: floating scalar.
      name: name of the operations.

    Returns:
      The updated variable.

    Raises:
      TypeError: the variable is not floating.
      ValueError: `log_value` or `decay` has another dtype.
    """
    tensors = [log_mean_exp_var, log_value, decay]
    with tf.name_scope(name, "assign_log_moving_mean_exp", values=tensors):
        dtype = _require_float(log_mean_exp_var, "log_mean_exp_var")
        log_value = tf.convert_to_tensor(log_value, dtype, name="log_value")
        decay = tf.convert_to_tensor(decay, dtype, name="decay")
        away = log_value - log_mean_exp_var + tf.math.log1p(-decay)
        change = tf.reduce_logsumexp([tf.log(decay) + tf.zeros_like(away), away], axis=0)
        return log_mean_exp_var.assign_add(change, use_locking=True)


def moving_mean_variance(value, decay, collections=None, name=None):
    """Makes two variables and updates them by `assign_moving_mean_variance`.

    Args:
      value: floating tensor of known shape.
      decay: floating scalar.
      collections: list of the variables' collections; None for the global variables.
      name: name of the variables' scope; None for moving_mean_variance.

    Returns:
      The updated mean and variance, which start at 0.

    Raises:
      TypeError: `value` is not floating.
    """
    if collections is None:
        collections = [tf.GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = tf.convert_to_tensor(value, name="value")
        dtype = _require_float(value, "value")
        variance, mean = (
            tf.get_variable(
                one,
                shape=value.shape,
                dtype=dtype,
                initializer=tf.zeros_initializer(),
                trainable=False,
                collections=collections,
            )
            for one in ("moving_variance", "moving_mean")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)


def auto_correlation(
    x, axis=-1, max_lags=None, center=True, normalize=True, name="auto_correlation"
):
    """Returns the estimates of the autocorrelation along an axis.

    rxx[m] = sum_n w[n + m] conj(w[n]) / (length - m), w = (x - mean) / standard deviation; by a
    Fourier transform.

    Args:
      x: float32 or complex64 tensor.
      axis: int, the axis.
      max_lags: int scalar, the largest m; None for the length - 1.
      center: whether the mean is subtracted.
      normalize: whether is divided by the standard deviation.
      name: name of the operations.

    Returns:
      Tensor of the shape of x, with max_lags + 1 elements along the axis.

    Raises:
      TypeError: `x` is of another dtype.
    """
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        back = axis % x.shape.ndims - (x.shape.ndims - 1)
        moved = _util.rotate_transpose(x, -back) if back else x
        length = tf.shape(moved)[-1]
        real_type = moved.dtype.real_dtype
        if center:
            moved -= tf.reduce_mean(moved, -1, keepdims=True)
        last = length - 1 if max_lags is None else tf.minimum(max_lags, length - 1)
        # With so many zeros, products do not wrap around.
        size = 2 ** tf.cast(tf.math.ceil(_log2(2 * length)), tf.int32)
        pads = tf.concat([tf.zeros([tf.rank(moved) - 1, 2], tf.int32), [[0, size - length]]], 0)
        padded = tf.cast(tf.pad(moved, pads), tf.complex64)
        spectrum = tf.signal.fft(padded)
        product = tf.signal.ifft(spectrum * tf.math.conj(spectrum))[..., : last + 1]
        product = product if x.dtype.is_complex else tf.math.real(product)
        counts = tf.cast(length, real_type) - tf.cast(tf.range(last + 1), real_type)
        found = product / tf.cast(counts, x.dtype)
        if normalize:
            found /= found[..., :1]
        known = tf.get_static_value(last)
        if known is not None:
            found.set_shape(moved.shape[:-1].concatenate([known + 1]))
        elif max_lags is None:
            found.set_shape(moved.shape)
        return _util.rotate_transpose(found, back) if back else found


def _log2(number):
    return tf.log(tf.cast(number, tf.float64)) / tf.log(tf.constant(2.0, tf.float64))


def _require_normal(prior):
    if not isinstance(prior, tf.distributions.Normal):
        raise TypeError("Expected prior to be an instance of type Normal")


def normal_conjugates_known_scale_posterior(prior, scale, s, n):
    """Returns the posterior of the mean of normal numbers, whose prior is normal.

    Args:
      prior: tf.distributions.Normal, of the mean.
      scale: floating tensor, the known standard deviation of the numbers.
      s: floating tensor, the sum of n numbers.
      n: integer tensor, how many numbers there are.

    Returns:
      tf.distributions.Normal of the mean.

    Raises:
      TypeError: `prior` is no Normal, or s has another dtype than it.
    """
    _require_normal(prior)
    s = tf.convert_to_tensor(s)
    if s.dtype.base_dtype != prior.dtype.base_dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}"
        )
    n = tf.cast(n, prior.dtype)
    precision = prior.scale**-2
    variance = 1 / (precision + n * tf.cast(scale, prior.dtype) ** -2)
    mean = (prior.loc * precision + s * tf.cast(scale, prior.dtype) ** -2) * variance
    return tf.distributions.Normal(loc=mean, scale=tf.sqrt(variance))


def normal_conjugates_known_scale_predictive(prior, scale, s, n):
    """Returns the distribution of a further number after n normal ones.

    Args:
      prior: tf.distributions.Normal, of the mean.
      scale: floating tensor, the known standard deviation of the numbers.
      s: floating tensor, the sum of n numbers.
      n: integer tensor, how many numbers there are.

    Returns:
      tf.distributions.Normal of the further number.

    Raises:
      TypeError: `prior` is no Normal, or s has another dtype than it.
    """
    posterior = normal_conjugates_known_scale_posterior(prior, scale, s, n)
    spread = tf.sqrt(posterior.scale**2 + tf.cast(scale, prior.dtype) ** 2)
    return tf.distributions.Normal(loc=posterior.loc, scale=spread)
