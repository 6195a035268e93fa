"""`tf.contrib.slim.model_analyzer`."""

import tensorflow.compat.v1 as tf

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]


def analyze_vars(variables, print_info=False):
    """Returns the total size of variables.

    Args:
      variables: list of variables.
      print_info: whether to print a line per variable.

    Returns:
      Number of elements and number of bytes.
    """
    total, total_bytes = 0, 0
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    for var in variables:
        count = var.shape.num_elements() or 0
        size = count * tf.as_dtype(var.dtype).size
        total, total_bytes = total + count, total_bytes + size
        if print_info:
            print(f"{var.name} {tensor_description(var)} [{count}, bytes: {size}]")
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes


def tensor_description(var):
    """Returns a text with the type and the shape of a tensor, such as `(float32 2x?)`.

    Args:
      var: tensor of known rank.
    """
    sizes = ["?" if size is None else str(size) for size in var.shape.as_list()]
    return f"({var.dtype.name} {'x'.join(sizes)})"


def analyze_ops(graph, print_info=False):
    """Returns the number of elements that the operations of a graph give.

    Args:
      graph: tf.Graph.
      print_info: whether to print a line per operation.

    Returns:
      Int; outputs with an unknown size count as none.
    """
    total = 0
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    for operation in graph.get_operations():
        size = sum(one.shape.num_elements() or 0 for one in operation.outputs)
        total += size
        if print_info:
            known = [one for one in operation.outputs if one.shape.ndims is not None]
            described = ", ".join(tensor_description(one) for one in known)
            print(f"{operation.name} \t-> {described} [{size}]")
    return total
