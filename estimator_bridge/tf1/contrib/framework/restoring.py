"""Setting the variables of `tf.contrib.framework` from arrays and checkpoints."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.finding import (
    get_unique_variable,
    get_variable_full_name,
)

__all__ = [
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "init_from_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


def assign_from_values(var_names_to_values):
    """Returns an operation that sets variables to arrays.

    Args:
      var_names_to_values: {variable name: array}.

    Returns:
      The operation, and the feed_dict it needs.
    """
    feed, assigned = {}, []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        placeholder = tf.placeholder(var.dtype.base_dtype, name="assign_from_values_" + var.op.name)
        feed[placeholder] = np.asarray(value).reshape(var.shape.as_list())
        assigned.append(var.assign(tf.reshape(placeholder, var.shape)))
    return tf.group(*assigned), feed


def assign_from_values_fn(var_names_to_values):
    """Returns a function that sets variables to arrays in a session.

    Args:
      var_names_to_values: {variable name: array}.

    Returns:
      Function of a session.
    """
    operation, feed = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feed)


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """Returns an operation that sets variables from a checkpoint.

    Args:
      model_path: checkpoint prefix, or its directory.
      var_list: variables, or {name in the checkpoint: variable or list of its partitions}.
      ignore_missing_vars: whether to skip variables missing from the checkpoint, with a warning.

    Returns:
      The operation, and the feed_dict it needs.

    Raises:
      ValueError: a variable is missing from the checkpoint, or has another shape there.
    """
    reader = tf.train.load_checkpoint(model_path)
    feed, assigned = {}, []
    for name, parts in _grouped(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint {model_path} is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            tf.logging.warning(message)
            continue
        saved = reader.get_tensor(name)
        for part in parts:
            value = saved
            if part._save_slice_info:
                info = part._save_slice_info
                value = saved[
                    tuple(slice(o, o + s) for o, s in zip(info.var_offset, info.var_shape))
                ]
            if list(value.shape) != part.shape.as_list():
                raise ValueError(
                    f"{name}: the checkpoint has shape {value.shape}, the graph {part.shape}; "
                    "assign_from_checkpoint_fn(reshape_variables=True) reshapes"
                )
            placeholder = tf.placeholder(part.dtype.base_dtype, shape=part.shape)
            feed[placeholder] = value
            assigned.append(part.assign(placeholder))
    return tf.group(*assigned), feed


def _grouped(var_list):
    if isinstance(var_list, dict):
        return {
            name: parts if isinstance(parts, (list, tuple)) else [parts]
            for name, parts in var_list.items()
        }
    grouped = {}
    for var in var_list:
        grouped.setdefault(get_variable_full_name(var), []).append(var)
    return grouped


def assign_from_checkpoint_fn(
    model_path, var_list, ignore_missing_vars=False, reshape_variables=False
):
    """Returns a function that restores variables in a session.

    Args:
      model_path: checkpoint prefix, or its directory.
      var_list: variables, or {name in the checkpoint: variable or list of its partitions}.
      ignore_missing_vars: whether to skip variables missing from the checkpoint, with a warning.
      reshape_variables: whether saved values may have another shape with as many elements.

    Returns:
      Function of a session; None if the checkpoint has none of the variables.
    """
    if ignore_missing_vars:
        reader = tf.train.load_checkpoint(model_path)
        grouped = _grouped(var_list)
        missing = [name for name in grouped if not reader.has_tensor(name)]
        for name in missing:
            tf.logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: parts for name, parts in grouped.items() if name not in missing}
        var_list = {n: parts[0] if len(parts) == 1 else parts for n, parts in var_list.items()}
    if not var_list:
        tf.logging.warning("No Variables to restore")
        return None
    saver = tf.train.Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def init_from_checkpoint(checkpoint_dir, assignment_map):
    """Makes variables start with the values of a checkpoint.

    Args:
      checkpoint_dir: prefix of a checkpoint, or a directory with one.
      assignment_map: {name or scope in the checkpoint: variable, its name or scope}.
    """
    tf.train.init_from_checkpoint(checkpoint_dir, assignment_map)


def list_variables(checkpoint_dir):
    """Returns the variables of a checkpoint.

    Args:
      checkpoint_dir: prefix of a checkpoint, or a directory with one.

    Returns:
      List of (name, shape).
    """
    return tf.train.list_variables(checkpoint_dir)


def load_checkpoint(filepattern):
    """Returns a reader of a checkpoint.

    Args:
      filepattern: prefix of a checkpoint, or a directory with one.

    Returns:
      tf.train.NewCheckpointReader.
    """
    return tf.train.load_checkpoint(filepattern)


def load_variable(checkpoint_dir, name):
    """Returns the value of a variable in a checkpoint.

    Args:
      checkpoint_dir: prefix of a checkpoint, or a directory with one.
      name: name of the variable.

    Returns:
      Array.
    """
    return tf.train.load_variable(checkpoint_dir, name)
