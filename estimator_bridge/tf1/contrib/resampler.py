"""`tf.contrib.resampler`: values of images between their pixels."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

_TYPES = (tf.float16, tf.bfloat16, tf.float32, tf.float64)


def resampler(data, warp, name="resampler"):
    """Returns the values of images at points, interpolated bilinearly.

    Beside the image, everything is 0. A spatial transformer (Jaderberg et al., 2015) samples so.

    Args:
      data: floating tensor [batch, height, width, channels].
      warp: tensor [batch, ..., 2] of the same dtype: points (x, y), which are (column, row).
      name: name of the name scope.

    Returns:
      Tensor [batch, ..., channels].

    Raises:
      TypeError: the dtypes differ, or are not floating.
      UnimplementedError: the data are not of rank 4, or the points not of two coordinates.
      InvalidArgumentError: the batches differ.
    """
    with tf.name_scope(name, "resampler", [data, warp]):
        data, warp = tf.convert_to_tensor(data, name="data"), tf.convert_to_tensor(warp)
        if data.dtype not in _TYPES:
            raise TypeError(f"data: expected a floating dtype, got {data.dtype.name}")
        if warp.dtype != data.dtype:
            raise TypeError(f"warp: the dtype {warp.dtype.name} is not {data.dtype.name}, of data")
        _check(data, warp)
        shape, to = tf.shape(data), tf.shape(warp)
        points = tf.reshape(warp, [to[0], -1, 2])
        found = _sample(data, points[..., 0], points[..., 1])
        found = tf.reshape(found, tf.concat([to[:-1], shape[3:]], 0))
        if warp.shape.ndims is not None:
            found.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return found


def _check(data, warp):
    """Raises an error for shapes that are known not to fit."""
    if data.shape.ndims not in (None, 4) or warp.shape.ndims == 0:
        raise tf.errors.UnimplementedError(
            None, None, f"data: only images of rank 4 are resampled, got shape {data.shape}"
        )
    if warp.shape.ndims is not None and warp.shape[-1] not in (None, 2):
        raise tf.errors.UnimplementedError(
            None, None, f"warp: only points of two coordinates are resampled, got {warp.shape}"
        )
    if warp.shape.ndims == 1 or not warp.shape[:1].is_compatible_with(data.shape[:1]):
        raise tf.errors.InvalidArgumentError(
            None, None, f"warp: {warp.shape} has not the batch of the data, {data.shape}"
        )


def _sample(data, x, y):
    """Returns [batch, points, channels] of points [batch, points]."""
    shape = tf.shape(data)
    height, width = shape[1], shape[2]
    right, bottom = tf.cast(width, data.dtype), tf.cast(height, data.dtype)
    is_near = (x > -1) & (y > -1) & (x < right) & (y < bottom)
    x, y = (tf.where_v2(is_near, one, tf.zeros_like(one)) for one in (x, y))
    left, top = tf.stop_gradient(tf.floor(x)), tf.stop_gradient(tf.floor(y))
    from_left, from_top = x - left, y - top
    left, top = tf.to_int32(left), tf.to_int32(top)
    flat = tf.reshape(data, [shape[0], height * width, shape[3]])

    def weighted(row, column, weight):
        is_inside = is_near & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        place = tf.where_v2(is_inside, row * width + column, 0)
        weight = tf.where_v2(is_inside, weight, tf.zeros_like(weight))
        return weight[..., None] * tf.gather(flat, place, batch_dims=1)

    return tf.add_n(
        [
            weighted(top, left, (1 - from_left) * (1 - from_top)),
            weighted(top + 1, left, (1 - from_left) * from_top),
            weighted(top, left + 1, from_left * (1 - from_top)),
            weighted(top + 1, left + 1, from_left * from_top),
        ]
    )
