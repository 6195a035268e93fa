"""Warps of images by fields of offsets and by splines: `tf.contrib.image`."""

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["dense_image_warp", "interpolate_spline", "sparse_image_warp"]

# The smallest squared distance whose logarithm or root is taken.
_CLOSEST = 1e-10


def dense_image_warp(image, flow, name="dense_image_warp"):
    """Returns images whose pixel (y, x) is that of the input at (y - flow[0], x - flow[1]).

    The value there is interpolated between four pixels; outside of the image it is that of the
    edge.

    Args:
      image: floating tensor [batch, height, width, channels]; at least 2 pixels high and wide.
      flow: floating tensor [batch, height, width, 2], of any floating dtype.
      name: name of the name scope.

    Returns:
      Tensor of the shape and dtype of `image`.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: an image has less than 2 rows or columns.
    """
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        image.shape.assert_has_rank(4)
        shape = tf.shape(image)
        batch, height, width = shape[0], shape[1], shape[2]
        grid = tf.stack(tf.meshgrid(tf.range(height), tf.range(width), indexing="ij"), 2)
        queries = tf.reshape(tf.cast(grid, flow.dtype)[None] - flow, [batch, height * width, 2])
        return tf.reshape(_interpolate(image, queries), shape)


def _interpolate(image, queries):
    """Returns the values of images at points [batch, points, 2] of (row, column)."""
    shape = tf.shape(image)
    large = tf.debugging.assert_greater_equal(
        shape[1:3], 2, message="image: at least 2 rows and columns are needed"
    )
    with tf.control_dependencies([large] if large is not None else []):
        flat = tf.reshape(image, [shape[0], shape[1] * shape[2], shape[3]])
    lower, parts = [], []
    for axis, query in enumerate(tf.unstack(queries, 2, axis=2)):
        last = tf.cast(shape[axis + 1] - 2, query.dtype)
        zero = tf.constant(0.0, query.dtype)
        # With the order of these arguments, the gradient of a point on a pixel is that of 1.x.
        first = tf.minimum(tf.maximum(zero, tf.floor(query)), last)
        part = tf.minimum(tf.maximum(zero, query - first), tf.constant(1.0, query.dtype))
        lower.append(tf.cast(first, tf.int32))
        parts.append(tf.cast(part, image.dtype)[:, :, None])

    def pixels(down, right):
        places = (lower[0] + down) * shape[2] + lower[1] + right
        return tf.gather(flat, places, batch_dims=1)

    upper_left, upper_right = pixels(0, 0), pixels(0, 1)
    lower_left, lower_right = pixels(1, 0), pixels(1, 1)
    top = parts[1] * (upper_right - upper_left) + upper_left
    bottom = parts[1] * (lower_right - lower_left) + lower_left
    return parts[0] * (bottom - top) + top


def interpolate_spline(
    train_points,
    train_values,
    query_points,
    order,
    regularization_weight=0.0,
    name="interpolate_spline",
):
    """Interpolates values by polyharmonic splines.

    The spline is a sum of radial functions around the points and of a linear function, which has
    the given values at the points (Duchon, 1977). The function of the distance r is r^order, times
    log r for an even order; order 2 is the thin plate.

    Args:
      train_points: floating tensor [batch, points, dimensions].
      train_values: floating tensor [batch, points, values].
      query_points: floating tensor [batch, queries, dimensions].
      order: int, the order of the spline.
      regularization_weight: number; above 0, the spline is smoother and near the values only.
      name: name of the name scope.

    Returns:
      Tensor [batch, queries, values].

    Raises:
      ValueError: the number of dimensions or values is unknown.
    """
    with tf.name_scope(name):
        points, values = tf.convert_to_tensor(train_points), tf.convert_to_tensor(train_values)
        queries = tf.convert_to_tensor(query_points)
        with tf.name_scope("solve"):
            weights, linear = _solve(points, values, order, regularization_weight)
        with tf.name_scope("predict"):
            of_queries = tf.reduce_sum(tf.square(queries), 2)[:, :, None]
            of_points = tf.reduce_sum(tf.square(points), 2)[:, None, :]
            squared = of_queries - 2.0 * tf.matmul(queries, points, transpose_b=True) + of_points
            around = tf.matmul(_radial(squared, order), weights)
            return around + tf.matmul(_with_one(queries), linear)


def _with_one(points):
    return tf.concat([points, tf.ones_like(points[..., :1])], 2)


def _radial(squared, order):
    """Returns the radial function of squared distances."""
    distance = tf.maximum(squared, _CLOSEST)
    if order == 1:
        return tf.sqrt(distance)
    if order % 2:
        return tf.pow(distance, 0.5 * order)
    power = squared if order == 2 else tf.pow(squared, order // 2)
    return 0.5 * power * tf.log(distance)


def _solve(points, values, order, regularization_weight):
    """Returns the weights of the points [batch, points, values], and the linear part."""
    dimensions = tf.compat.dimension_value(points.shape[-1])
    width = tf.compat.dimension_value(values.shape[-1])
    if dimensions is None:
        raise ValueError("train_points: the number of dimensions must be known")
    if width is None:
        raise ValueError("train_values: the number of values must be known")
    shape = tf.shape(points)
    batch, number = shape[0], shape[1]
    products = tf.matmul(points, points, transpose_b=True)
    norms = tf.linalg.diag_part(products)[:, :, None]
    among = _radial(norms - 2.0 * products + tf.transpose(norms, [0, 2, 1]), order)
    if regularization_weight:
        among += regularization_weight * tf.eye(number, dtype=points.dtype)[None]
    linear = _with_one(points)
    corner = tf.zeros([batch, dimensions + 1, dimensions + 1], points.dtype)
    left = tf.concat([among, tf.transpose(linear, [0, 2, 1])], 1)
    matrix = tf.concat([left, tf.concat([linear, corner], 1)], 2)
    zeros = tf.zeros([batch, dimensions + 1, width], points.dtype)
    solution = tf.linalg.solve(matrix, tf.concat([values, zeros], 1))
    return solution[:, :number], solution[:, number:]


def sparse_image_warp(
    image,
    source_control_point_locations,
    dest_control_point_locations,
    interpolation_order=2,
    regularization_weight=0.0,
    num_boundary_points=0,
    name="sparse_image_warp",
):
    """Moves points of images, and what is between them along splines.

    Args:
      image: floating tensor [batch, height, width, channels], of known shape.
      source_control_point_locations: floating tensor [batch, points, 2], (row, column).
      dest_control_point_locations: floating tensor [batch, points, 2], where they are moved.
      interpolation_order: int, the order of the spline.
      regularization_weight: number, as of `interpolate_spline`.
      num_boundary_points: int, the number of fixed points along each edge, with its first corner;
        0 for none.
      name: name of the name scope.

    Returns:
      The images, and the flow [batch, height, width, 2] by which they are warped.

    Raises:
      ValueError: the shapes do not fit.
    """
    image = tf.convert_to_tensor(image)
    source = tf.convert_to_tensor(source_control_point_locations)
    target = tf.convert_to_tensor(dest_control_point_locations)
    flows = target - source
    with tf.name_scope(name):
        batch, height, width, _ = image.shape.as_list()
        if num_boundary_points > 0:
            fixed = np.repeat(_boundary(height, width, num_boundary_points)[None], batch, 0)
            target = tf.concat([target, tf.constant(fixed, target.dtype)], 1)
            flows = tf.concat([flows, tf.zeros(fixed.shape, flows.dtype)], 1)
        grid = np.stack(np.meshgrid(range(height), range(width), indexing="ij"), -1)
        queries = np.repeat(grid.reshape(1, -1, 2), batch, 0)
        flow = interpolate_spline(
            target,
            flows,
            tf.constant(queries, target.dtype),
            interpolation_order,
            regularization_weight,
        )
        flow = tf.reshape(flow, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


def _boundary(height, width, number):
    """Returns points (row, column) on the edges of an image, [4 number, 2]."""
    rows = np.linspace(0, height - 1, number + 1)
    columns = np.linspace(0, width - 1, number + 1)
    points = [(row, edge) for row in rows[:-1] for edge in (0, width - 1)]
    points += [(edge, column) for column in columns[1:-1] for edge in (0, height - 1)]
    points += [(height - 1, 0), (height - 1, width - 1)]
    return np.array(points)
