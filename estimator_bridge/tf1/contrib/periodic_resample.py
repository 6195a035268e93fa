"""`tf.contrib.periodic_resample`: the elements of a tensor in another shape, by a period."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


def periodic_resample(values, shape, name=None):
    """Enlarges all dimensions of a tensor but one, which is reduced instead.

    It generalizes the subpixel convolution (Shi et al., 2016). With g the rounded up ratio of the
    new and the old size of a dimension, an element with index s there comes from s // g, and the
    remainders choose the part along the reduced dimension.

    Args:
      values: tensor of rank R.
      shape: R ints with one None, the dimension that is reduced; the others are not smaller than
        those of `values`.
      name: name of the name scope.

    Returns:
      Tensor of the dtype of `values`.

    Raises:
      ValueError: a number is negative.
      InvalidArgumentError: the shape does not fit `values`.
    """
    with tf.name_scope(name, "PeriodicResample", [values]):
        values = tf.convert_to_tensor(values)
        target = tf.TensorShape(shape).as_list()
        if target.count(None) != 1:
            _refuse(f"shape: exactly one size must be None, got {target}")
        reduced = target.index(None)
        if values.shape.ndims not in (None, len(target)):
            _refuse(f"shape: {target} has not the rank of values, {values.shape.ndims}")
        others = [axis for axis in range(len(target)) if axis != reduced]
        old = tf.unstack(tf.shape(values), len(target))
        size = tf.size(values) // math.prod(target[axis] for axis in others)
        checks = [
            tf.debugging.assert_less_equal(old[axis], target[axis], message="shape: too small")
            for axis in others
        ]
        checks.append(tf.debugging.assert_positive(size, message="shape: nothing is left"))
        with tf.control_dependencies([one for one in checks if one is not None]):
            sizes = [size if one is None else one for one in target]
            places = tf.minimum(_places(old, sizes, others, reduced), tf.size(values) - 1)
            found = tf.gather(tf.reshape(values, [-1]), places)
        static = values.shape.num_elements()
        if static is not None:
            target[reduced] = static // math.prod(target[axis] for axis in others)
        found.set_shape(target)
        return found


def _refuse(message):
    raise tf.errors.InvalidArgumentError(None, None, message)


def _places(old, sizes, others, reduced):
    """Returns the places of all elements in the flat `values`, of the new shape."""
    grid = tf.meshgrid(*[tf.range(size) for size in sizes], indexing="ij")
    indices, stride, part = list(grid), 1, tf.zeros_like(grid[reduced])
    for axis in others:
        ratio = -(-sizes[axis] // old[axis])
        indices[axis] = grid[axis] // ratio
        part += stride * (grid[axis] % ratio)
        stride *= ratio
    indices[reduced] = sizes[reduced] * part + grid[reduced]
    places = indices[0]
    for index, size in zip(indices[1:], old[1:]):
        places = places * size + index
    return places
