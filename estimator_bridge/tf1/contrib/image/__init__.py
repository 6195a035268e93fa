"""`tf.contrib.image`: transforms and warps of images, and connected regions."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.image import regions as _regions
from estimator_bridge.tf1.contrib.image import transforms as _transforms
from estimator_bridge.tf1.contrib.image import warping as _warping
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {"single_image_random_dot_stereograms": "draw them with NumPy, before training"},
)

bipartite_match = _regions.bipartite_match
compose_transforms = _transforms.compose_transforms
connected_components = _regions.connected_components
dense_image_warp = _warping.dense_image_warp
flat_transforms_to_matrices = _transforms.flat_transforms_to_matrices
interpolate_spline = _warping.interpolate_spline
matrices_to_flat_transforms = _transforms.matrices_to_flat_transforms
sparse_image_warp = _warping.sparse_image_warp
translations_to_projective_transforms = _transforms.translations_to_projective_transforms


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Applies projective transforms.

    Args:
      images: tensor [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      transforms: float32 tensor [8] or [batch, 8], from points of the output to points of the
        input.
      interpolation: `NEAREST` or `BILINEAR`; points outside of the image are 0.
      output_shape: int32 [rows, columns]; None for that of the images.
      name: name of the name scope.

    Returns:
      Tensor of the rank of `images`.

    Raises:
      TypeError: the rank of the images is not 2, 3 or 4.
    """
    with tf.name_scope(name, "transform"):
        images = tf.convert_to_tensor(images, name="images")
        transforms = tf.convert_to_tensor(transforms, tf.float32)
        rank = images.shape.ndims
        if rank not in (2, 3, 4):
            raise TypeError(f"images: expected rank 2, 3 or 4, got {rank}")
        batch = images
        if rank < 4:
            batch = images[None] if rank == 3 else images[None, :, :, None]
        if transforms.shape.ndims == 1:
            transforms = transforms[None]
        size = tf.shape(batch)[1:3] if output_shape is None else tf.convert_to_tensor(output_shape)
        outputs = tf.raw_ops.ImageProjectiveTransformV2(
            images=batch,
            transforms=transforms,
            output_shape=size,
            interpolation=interpolation.upper(),
        )
        return (
            outputs
            if rank == 4
            else tf.reshape(outputs, tf.concat([size, tf.shape(images)[2:]], 0))
        )


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """Returns the transforms of rotations around the centre.

    Args:
      angles: radians, counter-clockwise, a scalar or tensor [batch].
      image_height: number of rows.
      image_width: number of columns.
      name: name of the name scope.

    Returns:
      float32 tensor [batch, 8].
    """
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.convert_to_tensor(angles, tf.float32)
        angles = angles[None] if angles.shape.ndims == 0 else angles
        height, width = tf.to_float(image_height) - 1, tf.to_float(image_width) - 1
        cos, sin, zeros = tf.cos(angles), tf.sin(angles), tf.zeros_like(angles)
        x = (width - (cos * width - sin * height)) / 2.0
        y = (height - (sin * width + cos * height)) / 2.0
        return tf.stack([cos, -sin, x, sin, cos, y, zeros, zeros], axis=1)


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Rotates images around their centre.

    Args:
      images: tensor [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      angles: radians, counter-clockwise, a scalar or tensor [batch].
      interpolation: `NEAREST` or `BILINEAR`; points outside of the image are 0.
      name: name of the name scope.

    Returns:
      Tensor of the shape of `images`.
    """
    with tf.name_scope(name, "rotate"):
        images = tf.convert_to_tensor(images)
        first = 1 if images.shape.ndims == 4 else 0
        shape = tf.shape(images)
        transforms = angles_to_projective_transforms(angles, shape[first], shape[first + 1])
        return transform(images, transforms, interpolation)


def translate(images, translations, interpolation="NEAREST", name=None):
    """Shifts images.

    Args:
      images: tensor [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      translations: pixels [dx, dy] or [batch, 2].
      interpolation: `NEAREST` or `BILINEAR`; points outside of the image are 0.
      name: name of the name scope.

    Returns:
      Tensor of the shape of `images`.
    """
    with tf.name_scope(name, "translate"):
        moves = tf.convert_to_tensor(translations, tf.float32)
        moves = moves[None] if moves.shape.ndims == 1 else moves
        ones, zeros = tf.ones_like(moves[:, 0]), tf.zeros_like(moves[:, 0])
        transforms = [ones, zeros, -moves[:, 0], zeros, ones, -moves[:, 1], zeros, zeros]
        return transform(images, tf.stack(transforms, axis=1), interpolation)
