"""Sets what a class or module lacks."""

from typing import Any

__all__ = ["set_missing"]


def set_missing(owner: Any, **values: Any) -> None:
    """Sets the attributes of a class or module that it does not have.

    Args:
      owner: the class or module.
      **values: name -> value.
    """
    for name, value in values.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)
