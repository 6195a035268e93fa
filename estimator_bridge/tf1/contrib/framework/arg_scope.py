"""Argument scopes: default keyword arguments for the layers called inside a `with`."""

import contextlib
import functools
import inspect
from typing import Any

__all__ = [
    "add_arg_scope",
    "arg_scope",
    "arg_scoped_arguments",
    "arg_scope_func_key",
    "current_arg_scope",
    "has_arg_scope",
]

# Stack of scopes, {function key: keyword arguments}, the innermost last.
_scopes: list[dict[str, dict[str, Any]]] = [{}]

_KEY = "_arg_scope_key"


def arg_scope_func_key(function):
    """Returns the key of a decorated function; it is the same for the function it wraps.

    Args:
      function: function decorated with add_arg_scope, or the wrapped function.

    Returns:
      Hashable key.
    """
    return getattr(function, _KEY, str(function))


def current_arg_scope():
    """Returns the current scope itself, not a copy.

    Returns:
      {function key: keyword arguments}.
    """
    return _scopes[-1]


def has_arg_scope(func) -> bool:
    """Returns whether a function is decorated with add_arg_scope.

    Args:
      func: any function.

    Returns:
      bool.
    """
    return hasattr(func, _KEY)


def add_arg_scope(func):
    """Decorates a function so that arg_scope can set its default keyword arguments.

    Args:
      func: function to decorate.

    Returns:
      The decorated function.
    """

    @functools.wraps(func)
    def scoped(*args, **kwargs):
        merged = dict(_scopes[-1].get(key, ()), **kwargs)
        return func(*args, **merged)

    key = f"{func.__module__}.{func.__qualname__}"
    setattr(scoped, _KEY, key)
    return scoped


def arg_scoped_arguments(func):
    """Returns the names of a decorated function's keyword arguments.

    Args:
      func: function decorated with add_arg_scope.

    Returns:
      Tuple of names.

    Raises:
      ValueError: the function is not decorated.
    """
    _check(func)
    parameters = inspect.signature(func).parameters.values()
    return tuple(p.name for p in parameters if p.default is not inspect.Parameter.empty)


def _check(function):
    if not has_arg_scope(function):
        name = getattr(function, "__name__", function)
        raise ValueError(f"arg_scope: {name} is not decorated with add_arg_scope")


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Sets default keyword arguments of functions within a `with` block.

    Args:
      list_ops_or_scope: list or tuple of decorated functions; or a scope from an earlier `with
        arg_scope(...) as s`, which takes no keyword arguments.
      **kwargs: the defaults.

    Yields:
      The scope, {function key: keyword arguments}.

    Raises:
      TypeError: the first argument is neither.
      ValueError: a function is not decorated, or keyword arguments are given with a scope.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("arg_scope: a reused scope takes no keyword arguments")
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
