"""Connected regions, and matches of boxes: `tf.contrib.image`."""

import collections

import tensorflow.compat.v1 as tf

__all__ = ["bipartite_match", "connected_components"]

BipartiteMatch = collections.namedtuple(
    "BipartiteMatch", ["row_to_col_match_indices", "col_to_row_match_indices"]
)


def bipartite_match(distance_mat, num_valid_rows, top_k=-1, name="bipartite_match"):
    """Matches rows with columns greedily: the closest pair first, then the closest of the others.

    Of equal distances, the first by rows is taken; 1.x takes any of them.

    Args:
      distance_mat: float32 tensor [rows, columns].
      num_valid_rows: scalar or tensor [1], the number of rows that are matched; negative for all.
      top_k: int, the number of matches; 0 or less for as many as possible.
      name: name of the name scope.

    Returns:
      BipartiteMatch of `row_to_col_match_indices`, int32 [rows], and `col_to_row_match_indices`,
      int32 [columns]; -1 is no match.

    Raises:
      ValueError: the distances do not have rank 2.
      InvalidArgumentError: there are less rows than `num_valid_rows`, or this is not one number.
    """
    with tf.name_scope(name):
        distances = tf.convert_to_tensor(distance_mat, tf.float32)
        distances.shape.assert_has_rank(2)
        valid = tf.convert_to_tensor(num_valid_rows, tf.float32)
        shape = tf.shape(distances)
        rows, columns = shape[0], shape[1]
        checks = [
            tf.debugging.assert_equal(tf.size(valid), 1, message="num_valid_rows: not one number"),
            tf.debugging.assert_less_equal(
                valid, tf.to_float(rows), message="num_valid_rows: distance_mat has less rows"
            ),
        ]
        with tf.control_dependencies([one for one in checks if one is not None]):
            valid = tf.to_int32(tf.reshape(valid, []))
        valid = tf.where(valid < 0, rows, valid)
        number = tf.minimum(valid, columns)
        if top_k > 0:
            number = tf.minimum(number, top_k)
        of_rows, of_columns = _match(distances, valid, number)
        of_rows.set_shape(distances.shape[:1])
        of_columns.set_shape(distances.shape[1:])
        return BipartiteMatch(of_rows, of_columns)


def _match(distances, valid, number):
    shape = tf.shape(distances)
    rows, columns = shape[0], shape[1]
    order = tf.argsort(tf.reshape(distances, [-1]), stable=True)
    places = tf.reshape(tf.math.invert_permutation(order), shape)
    taken = tf.size(distances)
    places = tf.where_v2((tf.range(rows) < valid)[:, None], places, taken)

    def take(done, places, of_rows, of_columns):
        best = tf.argmin(tf.reshape(places, [-1]), output_type=tf.int32)
        row, column = best // columns, best % columns
        in_row, in_column = tf.equal(tf.range(rows), row), tf.equal(tf.range(columns), column)
        places = tf.where_v2(in_row[:, None] | in_column[None], taken, places)
        of_rows = tf.where_v2(in_row, column, of_rows)
        of_columns = tf.where_v2(in_column, row, of_columns)
        return done + 1, places, of_rows, of_columns

    start = (tf.constant(0), places, tf.fill([rows], -1), tf.fill([columns], -1))
    return tf.while_loop(lambda done, *_: done < number, take, start, back_prop=False)[2:]


def connected_components(images):
    """Numbers the connected regions of equal values of images.

    Pixels are connected with those above, below, left and right that have the same value. The
    regions are numbered from 1 by their first pixels, row after row and image after image.

    Args:
      images: tensor [rows, columns] or [batch, rows, columns] of booleans, integers, real numbers
        or strings; False, 0 and the empty string belong to no region.

    Returns:
      int32 tensor of the shape of `images`: the number of the region, or 0.

    Raises:
      TypeError: the rank or the dtype is another.
      ValueError: the rank is unknown.
    """
    with tf.name_scope("connected_components"):
        images = tf.convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        if rank is None:
            raise ValueError("images: the rank must be known")
        if rank not in (2, 3):
            raise TypeError(f"images: expected rank 2 or 3, got {rank}")
        if images.dtype.is_complex or images.dtype == tf.bfloat16:
            raise TypeError(f"images: the dtype {images.dtype.name} has no regions")
        found = _number(images if rank == 3 else images[None])
        found = found if rank == 3 else found[0]
        found.set_shape(images.shape)
        return found


def _number(images):
    blank = tf.constant(False if images.dtype.is_bool else "" if images.dtype == tf.string else 0)
    is_inside = tf.not_equal(images, tf.cast(blank, images.dtype))
    shape = tf.shape(images)
    own = tf.reshape(tf.range(tf.size(images)), shape)
    right = tf.equal(images[:, :, 1:], images[:, :, :-1]) & is_inside[:, :, 1:]
    down = tf.equal(images[:, 1:], images[:, :-1]) & is_inside[:, 1:]
    sides = [[0, 0], [0, 0], [0, 1]], [[0, 0], [0, 0], [1, 0]]
    ends = [[0, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 0]]

    def spread(first, _):
        # Each pixel takes the smallest place of its neighbours, and then the place known there.
        places = first
        low = tf.where_v2(right, tf.minimum(places[:, :, 1:], places[:, :, :-1]), own[:, :, :-1])
        low_2 = tf.where_v2(right, low, own[:, :, 1:])
        for part, padding in ((low, sides[0]), (low_2, sides[1])):
            places = tf.minimum(places, tf.pad(part, padding, constant_values=tf.int32.max))
        low = tf.where_v2(down, tf.minimum(places[:, 1:], places[:, :-1]), own[:, :-1])
        low_2 = tf.where_v2(down, low, own[:, 1:])
        for part, padding in ((low, ends[0]), (low_2, ends[1])):
            places = tf.minimum(places, tf.pad(part, padding, constant_values=tf.int32.max))
        places = tf.gather(tf.reshape(places, [-1]), places)
        return places, tf.reduce_any(tf.not_equal(places, first))

    unknown = tf.TensorShape([None] * 3)
    places, _ = tf.while_loop(
        lambda _, changed: changed,
        spread,
        (own, tf.constant(True)),
        shape_invariants=(unknown, tf.TensorShape([])),
        back_prop=False,
    )
    is_first = is_inside & tf.equal(places, own)
    numbers = tf.cumsum(tf.reshape(tf.to_int32(is_first), [-1]))
    return tf.where_v2(is_inside, tf.gather(numbers, places), 0)
