"""`tf.contrib.input_pipeline`: the next string of a list."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals(), default_advice="use tf.data")


def obtain_next(string_list_tensor, counter):
    """Returns the string after the one that was returned last, again and again in order.

    Args:
      string_list_tensor: string tensor [strings].
      counter: int64 variable, the place of the last string; -1 before the first.

    Returns:
      String scalar.

    Raises:
      TypeError: the counter is no variable.
    """
    if not (isinstance(counter, tf.Variable) or getattr(counter.dtype, "_is_ref_dtype", False)):
        raise TypeError(f"counter: expected a variable, got {counter!r}")
    strings = tf.convert_to_tensor(string_list_tensor, tf.string)
    size = tf.size(strings, out_type=tf.int64)
    with tf.control_dependencies([strings]):
        place = tf.assign(counter, (counter + 1) % size)
    return tf.gather(strings, place)
