"""The variables of `tf.contrib.framework`: making, finding and restoring them."""

import re

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope

_MODEL = tf.GraphKeys.MODEL_VARIABLES
_GLOBAL = tf.GraphKeys.GLOBAL_VARIABLES


@add_arg_scope
def variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=tf.VariableSynchronization.AUTO,
    aggregation=tf.VariableAggregation.NONE,
):
    """Gets or makes a variable, like tf.get_variable; in the global variables too, whatever
    `collections` says.

    Args:
      device: a device, or a function of the operation that returns one.
    """
    collections = {_GLOBAL, *(collections or ())}
    getter = custom_getter or tf.get_variable
    with tf.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=sorted(collections),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(name, shape=None, dtype=tf.float32, collections=None, **kwargs):
    """`variable`, in the collection of model variables too."""
    collections = [*(collections or ()), _MODEL]
    return variable(name, shape=shape, dtype=dtype, collections=collections, **kwargs)


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Makes a variable that is in the global variables and not trainable."""
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[_GLOBAL],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Makes a variable that is in the local variables and not trainable."""
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def add_model_variable(var):
    """Puts `var` into the collection of model variables, once."""
    if not any(var is known for known in tf.get_collection(_MODEL)):
        tf.add_to_collection(_MODEL, var)


def get_variables(scope=None, suffix=None, collection=_GLOBAL):
    """Returns a collection's variables under a scope (a name or a VariableScope) that end in
    `suffix`.
    """
    if isinstance(scope, tf.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + ("" if ":" in suffix else "(?:.*/)?") + suffix
    return tf.get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    """Returns the model variables under a scope."""
    return get_variables(scope, suffix, _MODEL)


def get_local_variables(scope=None, suffix=None):
    """Returns the local variables under a scope."""
    return get_variables(scope, suffix, tf.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    """Returns the trainable variables under a scope."""
    return get_variables(scope, suffix, tf.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """Returns the variables whose last part of the name is `given_name`."""
    pattern = re.compile(rf"(?:.*/)?{re.escape(given_name)}$")
    return [var for var in get_variables(scope) if pattern.match(var.op.name)]


def get_variables_by_suffix(suffix, scope=None):
    """Returns the variables whose name ends in `suffix`."""
    return get_variables(scope=scope, suffix=suffix)


def get_unique_variable(var_op_name):
    """Returns the one variable of this name.

    Raises:
      ValueError: none or several.
    """
    candidates = get_variables(scope=var_op_name)
    exact = [var for var in candidates if var.op.name == var_op_name]
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(exact) != 1 and len(candidates) != 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return (exact or candidates)[0]


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    """Returns the variables whose name fits one of the patterns to include (if given) and none of
    those to exclude.
    """
    match = re.search if reg_search else re.match

    def fits(var, patterns):
        return any(match(pattern, var.op.name) for pattern in patterns)

    if include_patterns is not None:
        var_list = [var for var in var_list if fits(var, include_patterns)]
    if exclude_patterns is not None:
        var_list = [var for var in var_list if not fits(var, exclude_patterns)]
    return list(var_list)


def get_variables_to_restore(include=None, exclude=None):
    """Returns the global variables under the scopes `include` (all if None) and not under those of
    `exclude`.
    """
    chosen = []
    for scope in [None] if include is None else _listed(include, "include"):
        chosen += [var for var in get_variables(scope) if not any(var is have for have in chosen)]
    dropped = [var for scope in _listed(exclude or [], "exclude") for var in get_variables(scope)]
    return [var for var in chosen if not any(var is other for other in dropped)]


def _listed(scopes, argument):
    if not isinstance(scopes, (list, tuple)):
        raise TypeError(f"{argument} is not a list or tuple")
    return scopes


def get_variable_full_name(var):
    """Returns the name that a checkpoint has for `var`: without the partition's suffix."""
    if var._save_slice_info:
        return var._save_slice_info.full_name
    return var.op.name


def assign_from_values(var_names_to_values):
    """Returns an operation that sets variables, named by scope, to arrays; and the feed_dict it
    needs.
    """
    feed, assigned = {}, []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        placeholder = tf.placeholder(var.dtype.base_dtype, name="assign_from_values_" + var.op.name)
        feed[placeholder] = np.asarray(value).reshape(var.shape.as_list())
        assigned.append(var.assign(tf.reshape(placeholder, var.shape)))
    return tf.group(*assigned), feed


def assign_from_values_fn(var_names_to_values):
    """Returns a function of a session that sets variables to arrays."""
    operation, feed = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feed)


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """Returns an operation that sets variables from a checkpoint; and the feed_dict it needs.

    Args:
      model_path: a checkpoint's prefix, or its directory.
      var_list: variables, or {name in the checkpoint: variable or list of its partitions}.
      ignore_missing_vars: leave variables that the checkpoint has not, with a warning.

    Raises:
      ValueError: a variable is not in the checkpoint, or has another number of values there.
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
            if value.size != part.shape.num_elements():
                raise ValueError(
                    f"Total size of new array must be unchanged for {name}: it has shape "
                    f"{value.shape} in the "
                    f"checkpoint and {part.shape} in the graph"
                )
            placeholder = tf.placeholder(part.dtype.base_dtype, shape=part.shape)
            feed[placeholder] = value.reshape(part.shape.as_list())
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
    """Returns a function of a session that restores variables; None if the checkpoint has none of
    them.

    Args:
      reshape_variables: take saved values of another shape and as many elements.
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
