"""Keeps the arguments of a distribution, from which `parameters` and `copy` are made."""

import functools
import inspect

__all__ = ["keep_arguments"]


def keep_arguments(distribution):
    """Makes `parameters` of a class return the arguments of its constructor, as on 1.15.

    Programs build a distribution of the same class from them: `type(d)(**d.parameters)`, which
    `copy` does too. A derived class without this decorator has those of its base class.

    Args:
      distribution: a class derived from Distribution.

    Returns:
      The same class.
    """
    original = distribution.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        # `parameters` leaves out self, as after `dict(locals())` in a constructor of 1.15.
        self._parameters = dict(bound.arguments)

    distribution.__init__ = __init__
    return distribution
