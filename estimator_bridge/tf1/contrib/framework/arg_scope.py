"""Argument scopes: default keyword arguments for the layers called inside a `with`."""

import contextlib
import functools
import inspect

__all__ = [
    "add_arg_scope",
    "arg_scope",
    "arg_scoped_arguments",
    "arg_scope_func_key",
    "current_arg_scope",
    "has_arg_scope",
]

# The innermost scope last: {key of a function: its keyword arguments}.
_scopes = [{}]

_KEY = "_arg_scope_key"


def arg_scope_func_key(function):
    """Returns what identifies a decorated function in a scope: the same for the function and for
    what it wraps.
    """
    return getattr(function, _KEY, str(function))


def current_arg_scope():
    """Returns the scope in force, {key: keyword arguments}; not a copy."""
    return _scopes[-1]


def has_arg_scope(function) -> bool:
    """Tells whether `function` is decorated with add_arg_scope."""
    return hasattr(function, _KEY)


def add_arg_scope(function):
    """Decorates a function so that arg_scope can give it default keyword arguments."""

    @functools.wraps(function)
    def scoped(*args, **kwargs):
        merged = dict(_scopes[-1].get(key, ()), **kwargs)
        return function(*args, **merged)

    key = f"{function.__module__}.{function.__qualname__}"
    setattr(scoped, _KEY, key)
    return scoped


def arg_scoped_arguments(function):
    """Returns the names of a decorated function's keyword arguments."""
    _check(function)
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.default is not inspect.Parameter.empty)


def _check(function):
    if not has_arg_scope(function):
        name = getattr(function, "__name__", function)
        raise ValueError(f"{name} is not decorated with @add_arg_scope")


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Stores default keyword arguments for functions.

    Args:
      list_ops_or_scope: a list or tuple of decorated functions; or a scope that an earlier `with
        arg_scope(...) as s` gave, which is then put in force again and takes no further arguments.
      **kwargs: the defaults.

    Yields:
      the scope, a dict.

    Raises:
      TypeError: the first argument is neither.
      ValueError: a function is not decorated, or arguments come with a scope.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("arg_scope: a scope that is put in force again takes no arguments")
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = dict(_scopes[-1])
        for function in list_ops_or_scope:
            _check(function)
            key = arg_scope_func_key(function)
            scope[key] = dict(scope.get(key, ()), **kwargs)
    else:
        raise TypeError(
            "arg_scope: expected a list or tuple of functions, or a scope; got "
            f"{type(list_ops_or_scope).__name__}"
        )
    _scopes.append(scope)
    try:
        yield scope
    finally:
        _scopes.pop()
