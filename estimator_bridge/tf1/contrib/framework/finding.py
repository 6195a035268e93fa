"""Finding the variables of `tf.contrib.framework`."""

import re

import tensorflow.compat.v1 as tf

_MODEL = tf.GraphKeys.MODEL_VARIABLES
_GLOBAL = tf.GraphKeys.GLOBAL_VARIABLES


def get_variables(scope=None, suffix=None, collection=_GLOBAL):
    """Returns the variables of a collection in a scope.

    Args:
      scope: name of the scope, a VariableScope, or None for all.
      suffix: suffix of the variable names, or None.
      collection: name of the collection.

    Returns:
      List of variables.
    """
    if isinstance(scope, tf.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + suffix + ("" if ":" in suffix else ":")
    return tf.get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    """Returns the model variables in a scope.

    Args:
      scope: name of the scope, a VariableScope, or None for all.
      suffix: suffix of the variable names, or None.

    Returns:
      List of variables.
    """
    return get_variables(scope, suffix, _MODEL)


def get_local_variables(scope=None, suffix=None):
    """Returns the local variables in a scope.

    Args:
      scope: name of the scope, a VariableScope, or None for all.
      suffix: suffix of the variable names, or None.

    Returns:
      List of variables.
    """
    return get_variables(scope, suffix, tf.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    """Returns the trainable variables in a scope.

    Args:
      scope: name of the scope, a VariableScope, or None for all.
      suffix: suffix of the variable names, or None.

    Returns:
      List of variables.
    """
    return get_variables(scope, suffix, tf.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """Returns the variables whose name's last component is `given_name`.

    Args:
      given_name: str, or a regular expression.
      scope: name of the scope, a VariableScope, or None for all.

    Returns:
      List of variables.
    """
    pattern = re.compile(rf"(?:.*/)?{given_name}$")
    return [var for var in get_variables(scope) if pattern.match(var.op.name)]


def get_variables_by_suffix(suffix, scope=None):
    """Returns the variables whose name ends with a suffix.

    Args:
      suffix: str.
      scope: name of the scope, a VariableScope, or None for all.

    Returns:
      List of variables.
    """
    return get_variables(scope=scope, suffix=suffix)


def get_unique_variable(var_op_name):
    """Returns the only variable with a name.

    Args:
      var_op_name: str, full name of the variable.

    Returns:
      The variable.

    Raises:
      ValueError: no variable, or more than one, has the name.
    """
    candidates = get_variables(scope=var_op_name)
    exact = [var for var in candidates if var.op.name == var_op_name]
    if not candidates:
        raise ValueError(f"get_unique_variable: there is no variable {var_op_name}")
    if len(exact) != 1 and len(candidates) != 1:
        raise ValueError(f"get_unique_variable: more than one variable matches {var_op_name}")
    return (exact or candidates)[0]


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    """Returns the variables whose names, such as `scope/w:0`, match patterns.

    Args:
      var_list: list of variables.
      include_patterns: regular expressions; one must match. None for all variables.
      exclude_patterns: regular expressions; none may match.
      reg_search: whether a match may start anywhere in the name; else at its start only.

    Returns:
      List of variables.
    """
    match = re.search if reg_search else re.match

    def fits(var, patterns):
        return any(match(pattern, var.name) for pattern in patterns)

    if include_patterns is not None:
        var_list = [var for var in var_list if fits(var, include_patterns)]
    if exclude_patterns is not None:
        var_list = [var for var in var_list if not fits(var, exclude_patterns)]
    return list(var_list)


def get_variables_to_restore(include=None, exclude=None):
    """Returns the global variables in some scopes.

    Args:
      include: scope names; None for all variables.
      exclude: scope names to leave out.

    Returns:
      List of variables.

    Raises:
      TypeError: an argument is not a list or tuple.
    """
    chosen = []
    for scope in [None] if include is None else _listed(include, "include"):
        chosen += [var for var in get_variables(scope) if not any(var is have for have in chosen)]
    dropped = [var for scope in _listed(exclude or [], "exclude") for var in get_variables(scope)]
    return [var for var in chosen if not any(var is other for other in dropped)]


def _listed(scopes, argument):
    if not isinstance(scopes, (list, tuple)):
        raise TypeError(f"{argument}: expected a list or tuple of scope names")
    return scopes


def get_variable_full_name(var):
    """Returns the name of a variable in checkpoints, without the suffix of its partition.

    Args:
      var: variable.

    Returns:
      str.
    """
    if var._save_slice_info:
        return var._save_slice_info.full_name
    return var.op.name
