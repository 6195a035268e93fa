"""Sets what a class or module lacks."""

import inspect
from typing import Any

__all__ = ["set_missing"]


def set_missing(owner: Any, **values: Any) -> None:
    """Sets the attributes of a class or module that it does not have.

    Args:
      owner: the class or module.
      **values: name -> value.
    """
    for name, value in values.items():
        # hasattr would read the name, about which some packages warn.
        if inspect.getattr_static(owner, name, None) is None:
            setattr(owner, name, value)
