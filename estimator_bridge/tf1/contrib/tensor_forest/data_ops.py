"""The input of a random forest as one tensor."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.unsupported import NotSuppliedError

__all__ = ["CastToFloat", "ParseDataTensorOrDict", "ParseLabelTensorOrDict"]


def CastToFloat(tensor):  # noqa: N802
    """Returns the numbers of a tensor as float32.

    Args:
      tensor: tensor of numbers.
    """
    return tf.to_float(tensor)


def ParseDataTensorOrDict(data):  # noqa: N802
    """Returns the dense columns as one float32 tensor, None, and None.

    Args:
      data: tensor [batch, columns], or {name: tensor}; columns are in the order of the names.

    Raises:
      NotSuppliedError: a column is sparse, or has strings or integers.
    """
    if not isinstance(data, dict):
        return _as_float("the input", data), None, None
    found = [_as_float(f"column {name!r}", data[name]) for name in sorted(data)]
    return (found[0] if len(found) == 1 else tf.concat(found, 1)), None, None


def _as_float(name, tensor):
    kind = getattr(tensor, "dtype", None)
    if isinstance(tensor, tf.SparseTensor):
        raise NotSuppliedError(
            f"tensor_forest: {name} is sparse, which is not supplied; make it dense"
        )
    if kind is not None and not kind.is_floating:
        raise NotSuppliedError(
            f"tensor_forest: {name} has the type {kind.name}, which is not supplied; cast it to "
            "float32"
        )
    return tf.to_float(tensor)


def ParseLabelTensorOrDict(labels):  # noqa: N802
    """Returns the labels as one float32 tensor.

    Args:
      labels: tensor [batch] or [batch, 1], or {name: tensor}.
    """
    if not isinstance(labels, dict):
        return tf.to_float(labels)
    found = [tf.to_float(labels[name]) for name in sorted(labels)]
    return tf.concat(found, 1) if len(found) > 1 else found[0]
