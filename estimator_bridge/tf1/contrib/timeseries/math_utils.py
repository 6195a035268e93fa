"""Matrices, covariances and densities of `tf.contrib.timeseries`."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeseries_math_utils as _math_utils
from estimator_bridge.tf1.contrib import layers as _layers

__all__ = [
    "InputStatistics",
    "InputStatisticsFromMiniBatch",
    "Moments",
    "batch_end_time",
    "batch_matrix_pow",
    "batch_start_time",
    "batch_times_matrix",
    "block_diagonal",
    "cauchy_log_prob",
    "clip_covariance",
    "diagonal_matrix",
    "diagonal_part",
    "entropy_matched_cauchy_scale",
    "identity_matrix",
    "log_noninformative_covariance_prior",
    "matrix_times_batch",
    "matrix_to_powers",
    "mvn_tril_log_prob",
    "normal_log_prob",
    "power_sums_tensor",
    "replicate_state",
    "sign_magnitude_positive_definite",
    "transform_to_covariance_matrices",
    "variable_covariance_matrix",
    "with_diagonal",
]

InputStatistics = _math_utils.InputStatistics
InputStatisticsFromMiniBatch = _math_utils.InputStatisticsFromMiniBatch
Moments = _math_utils.Moments
replicate_state = _math_utils.replicate_state

_LOG_TWO_PI = math.log(2.0 * math.pi)


# Today's functions of diagonals make operations that 1.15 does not have, so that it could not load
# an export.


def diagonal_matrix(diagonal):
    """Returns matrices with a diagonal, [..., N, N].

    Args:
      diagonal: [..., N].
    """
    return tf.raw_ops.MatrixDiag(diagonal=diagonal)


def diagonal_part(matrix):
    """Returns the diagonal of matrices, [..., N].

    Args:
      matrix: [..., N, N].
    """
    return tf.raw_ops.MatrixDiagPart(input=matrix)


def with_diagonal(matrix, diagonal):
    """Returns matrices with another diagonal, [..., N, N].

    Args:
      matrix: [..., N, N].
      diagonal: [..., N].
    """
    return tf.raw_ops.MatrixSetDiag(input=matrix, diagonal=diagonal)


def identity_matrix(size, dtype):
    """Returns the identity, [size, size].

    Args:
      size: int or scalar tensor.
      dtype: its type.
    """
    return diagonal_matrix(tf.ones([size], dtype))


def normal_log_prob(loc, scale, x):
    """Returns what 1.15 takes for the log-density of a normal distribution.

    It contains half of log(scale), so it is no density: a scale is trained to be too large. The
    covariances of checkpoints of 1.15 are of this kind.

    Args:
      loc: tensor, the mean.
      scale: tensor, the standard deviation.
      x: tensor, where to evaluate.
    """
    return -0.5 * (tf.square((x - loc) / scale) + _LOG_TWO_PI + tf.log(scale))


def cauchy_log_prob(loc, scale, x):
    """Returns the log-density of a Cauchy distribution.

    Args:
      loc: tensor, the median.
      scale: tensor, half the distance of the quartiles.
      x: tensor, where to evaluate.
    """
    away = (x - loc) / scale
    return (-math.log(math.pi) - tf.log(scale)) - tf.log1p(tf.square(away))


def mvn_tril_log_prob(loc, scale_tril, x):
    """Returns the log-densities of multivariate normal distributions, [batch].

    Args:
      loc: [batch, N], the means.
      scale_tril: [batch, N, N], lower triangular roots of the covariances.
      x: [batch, N], where to evaluate.
    """
    white = tf.matrix_triangular_solve(scale_tril, (x - loc)[..., tf.newaxis])[..., 0]
    size = tf.cast(tf.shape(scale_tril)[-1], scale_tril.dtype)
    determinant = 2.0 * tf.reduce_sum(tf.log(diagonal_part(scale_tril)), -1)
    return -0.5 * ((tf.reduce_sum(tf.square(white), -1) + size * _LOG_TWO_PI) + determinant)


def clip_covariance(covariance_matrix, maximum_variance_ratio, minimum_variance):
    """Returns covariances whose variances are not too small, [..., N, N].

    Args:
      covariance_matrix: [..., N, N].
      maximum_variance_ratio: the largest ratio of two variances of a matrix.
      minimum_variance: the smallest variance.
    """
    diagonal = diagonal_part(covariance_matrix)
    smallest = tf.reduce_max(diagonal, axis=-1, keepdims=True) / maximum_variance_ratio
    diagonal = tf.maximum(tf.maximum(diagonal, smallest), minimum_variance)
    return with_diagonal(covariance_matrix, diagonal)


def batch_times_matrix(batch, matrix, adj_x=False, adj_y=False):
    """Returns the product of each matrix of a batch and one matrix, [batch, N, P].

    Args:
      batch: [batch, N, M], or [batch, M, N] with adj_x.
      matrix: [M, P], or [P, M] with adj_y.
      adj_x: whether to transpose the matrices of the batch.
      adj_y: whether to transpose the matrix.
    """
    batch = tf.transpose(batch, [0, 2, 1]) if adj_x else batch
    shape = tf.shape(batch)
    rows, columns = batch.shape.as_list()[1], matrix.shape.as_list()[0 if adj_y else 1]
    product = tf.matmul(tf.reshape(batch, [-1, shape[2]]), matrix, transpose_b=adj_y)
    known = [shape[1] if rows is None else rows]
    known.append(tf.shape(matrix)[0 if adj_y else 1] if columns is None else columns)
    return tf.reshape(product, tf.stack([shape[0], *known]))


def matrix_times_batch(matrix, batch, adj_x=False, adj_y=False):
    """Returns the product of one matrix and each matrix of a batch, [batch, N, P].

    Args:
      matrix: [N, M], or [M, N] with adj_x.
      batch: [batch, M, P], or [batch, P, M] with adj_y.
      adj_x: whether to transpose the matrix.
      adj_y: whether to transpose the matrices of the batch.
    """
    product = batch_times_matrix(batch, matrix, adj_x=not adj_y, adj_y=not adj_x)
    return tf.transpose(product, [0, 2, 1])


def batch_matrix_pow(matrices, powers):
    """Returns the powers of matrices, by squaring, [batch, N, N].

    Args:
      matrices: [batch, N, N].
      powers: integers [batch], not negative.
    """
    ones = identity_matrix(tf.shape(matrices)[1], matrices.dtype)
    ones = tf.tile(ones[tf.newaxis], [tf.shape(matrices)[0], 1, 1])

    def body(base, left, residual):
        more, odd = left > 1, tf.not_equal(left % 2, 0)
        # A power of one bit more takes the square, and the base itself where the bit is set.
        gathered = tf.where(odd, tf.matmul(residual, base), residual)
        return (
            tf.where(more, tf.matmul(base, base), base),
            tf.where(more, (left - left % 2) // 2, left),
            tf.where(more, gathered, residual),
        )

    unknown = tf.TensorShape([None, None, None])
    base, left, residual = tf.while_loop(
        lambda _, left, __: tf.reduce_any(left > 1),
        body,
        [matrices, powers, ones],
        shape_invariants=[unknown, powers.shape, unknown],
    )
    result = tf.where(tf.equal(left, 0), ones, tf.matmul(base, residual))
    return tf.ensure_shape(result, matrices.shape)


def matrix_to_powers(matrix, powers):
    """Returns the powers of one matrix, [count, N, N].

    Args:
      matrix: [N, N].
      powers: integers [count], not negative.
    """
    return batch_matrix_pow(tf.tile(matrix[tf.newaxis], [tf.size(powers), 1, 1]), powers)


def power_sums_tensor(array_size, power_matrix, multiplier):
    """Returns S with S[n] = sum of A^i B (A^i)^T for i < n, [array_size + 1, N, N].

    Args:
      array_size: int or scalar tensor, the number of sums but for S[0], which is 0.
      power_matrix: A, [N, N].
      multiplier: B, [N, N].
    """
    powers = tf.scan(
        lambda power, _: tf.matmul(power, power_matrix),
        tf.range(array_size - 1),
        initializer=identity_matrix(tf.shape(power_matrix)[0], power_matrix.dtype),
    )
    powers.set_shape([None, *power_matrix.shape])
    terms = tf.matmul(batch_times_matrix(powers, multiplier), powers, adjoint_b=True)
    sums = tf.cumsum(tf.concat([multiplier[tf.newaxis], terms], 0))
    return tf.concat([tf.zeros_like(multiplier)[tf.newaxis], sums], 0)


def block_diagonal(matrices, dtype=tf.float32, name="block_diagonal"):
    """Returns matrices along a diagonal, [..., sum of N, sum of M].

    Args:
      matrices: list of [..., N, M].
      dtype: their type.
      name: of the operation.
    """
    matrices = [tf.convert_to_tensor(one, dtype=dtype) for one in matrices]
    widths = [_last(one, -1) for one in matrices]
    rows, before, total = [], 0, sum(widths)
    for one, width in zip(matrices, widths):
        others = tf.zeros([one.shape.ndims - 1, 2], tf.int32)
        sides = tf.stack([before, total - before - width])[tf.newaxis]
        rows.append(tf.pad(one, tf.concat([others, sides], 0)))
        before += width
    result = tf.concat(rows, -2, name=name)
    lengths = [
        None if None in parts else sum(parts)
        for parts in ([one.shape.as_list()[place] for one in matrices] for place in (-2, -1))
    ]
    result.set_shape([*matrices[0].shape.as_list()[:-2], *lengths])
    return result


def _last(tensor, place):
    """Returns the size of an axis, an int where it is known."""
    known = tensor.shape.as_list()[place]
    return tf.shape(tensor)[place] if known is None else known


def batch_end_time(times):
    """Returns the last time of each window, [batch].

    Args:
      times: [batch, window].
    """
    return times[:, -1]


def batch_start_time(times):
    """Returns the first time of each window, [batch].

    Args:
      times: [batch, window].
    """
    return times[:, 0]


def log_noninformative_covariance_prior(covariance):
    """Returns the logarithm of det(covariance) ** (-(N + 1) / 2), a scalar.

    Args:
      covariance: [N, N].
    """
    size = tf.shape(covariance)[0]
    # Rounding may make the determinant of a small matrix 0.
    kept = covariance + tf.diag(1e-8 * tf.ones([size], covariance.dtype))
    return -(tf.cast(size + 1, covariance.dtype) / 2.0) * tf.log(tf.matrix_determinant(kept))


def entropy_matched_cauchy_scale(covariance):
    """Returns scales of Cauchy distributions with the entropy of the variances, [batch, N].

    Args:
      covariance: [batch, N, N].
    """
    return tf.sqrt(math.e / (8.0 * math.pi) * diagonal_part(covariance))


def sign_magnitude_positive_definite(raw, off_diagonal_scale=0.0, overall_scale=0.0):
    """Returns positive definite matrices of any matrices, [..., N, N].

    Args:
      raw: [..., N, N]; logarithms of sizes on and above the diagonal, signs below it.
      off_diagonal_scale: [...], the logarithm of a factor of what is not on the diagonal.
      overall_scale: [...], the logarithm of a factor of the whole matrix.
    """
    raw = tf.convert_to_tensor(raw)
    scales = [tf.cast(one, raw.dtype) for one in (off_diagonal_scale, overall_scale)]
    off_diagonal, overall = (_with_rank(one, raw.shape.ndims) for one in scales)
    sizes = tf.exp((raw + off_diagonal + overall) / 2.0)
    upper = tf.matrix_band_part(sizes * tf.nn.softsign(tf.linalg.transpose(raw)), 0, -1)
    diagonal = diagonal_part(raw) + _with_rank(scales[1], raw.shape.ndims - 1)
    root = with_diagonal(upper, tf.exp(diagonal / 2.0))
    return tf.matmul(root, root, transpose_a=True)


def _with_rank(tensor, rank):
    """Returns a tensor with axes of size 1 after its own."""
    more = tf.ones([rank - tensor.shape.ndims], tf.int32)
    return tf.reshape(tensor, tf.concat([tf.shape(tensor), more], 0))


def transform_to_covariance_matrices(input_vectors, matrix_size):
    """Returns covariances that are learned functions of vectors, [batch, N, N].

    Args:
      input_vectors: [batch, size].
      matrix_size: int, N.
    """
    found = _layers.fully_connected(input_vectors, matrix_size**2 + 2, activation_fn=None)
    shape = tf.concat([tf.shape(found)[:-1], [matrix_size, matrix_size]], 0)
    raw = tf.reshape(found[..., :-2], shape)
    raw.set_shape([*found.shape.as_list()[:-1], matrix_size, matrix_size])
    return sign_magnitude_positive_definite(raw, found[..., -2], found[..., -1])


def variable_covariance_matrix(
    size, name, dtype, initial_diagonal_values=None, initial_overall_scale_log=0.0
):
    """Returns a covariance matrix that is learned, [size, size].

    Args:
      size: int.
      name: of its variables and of the result.
      dtype: type of the matrix.
      initial_diagonal_values: [size], the first variances but for the scale; 1 by default.
      initial_overall_scale_log: the logarithm of the first scale.
    """
    raw = tf.get_variable(
        f"{name}_pre_transform", [size, size], dtype, initializer=tf.zeros_initializer()
    )
    off_diagonal = tf.get_variable(
        f"{name}_off_diagonal_scale", dtype=dtype, initializer=tf.constant(-5.0, dtype)
    )
    overall = tf.get_variable(
        f"{name}_overall_scale", [], dtype, initializer=tf.zeros_initializer()
    )
    whole = tf.convert_to_tensor(raw)
    if initial_diagonal_values is not None:
        whole = whole + diagonal_matrix(tf.log(initial_diagonal_values))
    scale = tf.cast(initial_overall_scale_log, dtype) + overall
    matrix = sign_magnitude_positive_definite(whole, tf.convert_to_tensor(off_diagonal), scale)
    return tf.identity(matrix, name=name)
