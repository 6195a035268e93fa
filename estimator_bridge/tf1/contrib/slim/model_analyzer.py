"""`tf.contrib.slim.model_analyzer`."""

import tensorflow.compat.v1 as tf

__all__ = ["analyze_vars"]


def analyze_vars(variables, print_info=False):
    """Returns the total size of variables.

    Args:
      variables: list of variables.
      print_info: whether to print a line per variable.

    Returns:
      Number of elements and number of bytes.
    """
    total, total_bytes = 0, 0
    for var in variables:
        count = var.shape.num_elements() or 0
        size = count * tf.as_dtype(var.dtype).size
        total, total_bytes = total + count, total_bytes + size
        if print_info:
            print(f"{var.name} {var.shape} [{count}, bytes: {size}]")
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes
