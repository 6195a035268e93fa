"""Projective transforms of `tf.contrib.image`, as vectors of 8 numbers and as matrices.

A transform [a0, a1, a2, b0, b1, b2, c0, c1] is the matrix with the rows (a0, a1, a2), (b0, b1, b2)
and (c0, c1, 1), which maps homogeneous points of the output to points of the input.
"""

import tensorflow.compat.v1 as tf

__all__ = [
    "compose_transforms",
    "flat_transforms_to_matrices",
    "matrices_to_flat_transforms",
    "translations_to_projective_transforms",
]


def _as_floats(values, name, ranks):
    values = tf.convert_to_tensor(values, name=name)
    if values.shape.ndims not in ranks:
        raise ValueError(f"{name}: expected rank {ranks[0]} or {ranks[1]}, got {values.shape}")
    return values


def flat_transforms_to_matrices(transforms):
    """Returns the matrices of transforms, a tensor [batch, 3, 3].

    Args:
      transforms: floating tensor [8] or [batch, 8].

    Raises:
      ValueError: the shape is another.
    """
    with tf.name_scope("flat_transforms_to_matrices"):
        rows = tf.reshape(_as_floats(transforms, "transforms", (1, 2)), [-1, 8])
        return tf.reshape(tf.concat([rows, tf.ones_like(rows[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices):
    """Returns the transforms of matrices, a tensor [batch, 8].

    Args:
      transform_matrices: floating tensor [3, 3] or [batch, 3, 3]; a multiple of a matrix is the
        same transform.

    Raises:
      ValueError: the shape is another.
    """
    with tf.name_scope("matrices_to_flat_transforms"):
        rows = tf.reshape(_as_floats(transform_matrices, "transform_matrices", (2, 3)), [-1, 9])
        return (rows / rows[:, 8:9])[:, :8]


def compose_transforms(*transforms):
    """Returns one transform that is equal to several, applied to an image one after another.

    Args:
      *transforms: floating tensors [8] or [batch, 8], of equal shapes; at least one.

    Returns:
      Tensor [batch, 8].

    Raises:
      AssertionError: there are none.
      ValueError: a shape is another.
    """
    if not transforms:
        raise AssertionError("transforms: at least one is required")
    with tf.name_scope("compose_transforms"):
        product, *others = [flat_transforms_to_matrices(one) for one in transforms]
        for matrices in others:
            product = tf.matmul(product, matrices)
        return matrices_to_flat_transforms(product)


def translations_to_projective_transforms(translations, name=None):
    """Returns the transforms that move images.

    Args:
      translations: pixels [dx, dy] to the right and down, or [batch, 2].
      name: name of the name scope.

    Returns:
      float32 tensor [batch, 8].

    Raises:
      TypeError: the rank is not 1 or 2, or unknown.
    """
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moves = tf.convert_to_tensor(translations, tf.float32, name="translations")
        if moves.shape.ndims not in (1, 2):
            raise TypeError(f"translations: the rank must be 1 or 2, got shape {moves.shape}")
        moves = moves[None] if moves.shape.ndims == 1 else moves
        ones, zeros = tf.ones_like(moves[:, 0]), tf.zeros_like(moves[:, 0])
        parts = [ones, zeros, -moves[:, 0], zeros, ones, -moves[:, 1], zeros, zeros]
        return tf.stack(parts, axis=1)
