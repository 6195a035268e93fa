"""Lets a function take arguments by their old names."""

import functools
from collections.abc import Callable
from typing import Any, Optional

__all__ = ["rename_arguments"]


def rename_arguments(
    function: Callable[..., Any], **new_names: Optional[str]
) -> Callable[..., Any]:
    """Returns a function that takes old names of its arguments; one that is None has no effect.

    Args:
      function: the function.
      **new_names: old name -> new name, or None to leave the argument out.
    """

    @functools.wraps(function)
    def replacing(*arguments: Any, **options: Any) -> Any:
        for old in new_names.keys() & options.keys():
            value, new = options.pop(old), new_names[old]
            if new is not None and value is not None:
                options[new] = value
        return function(*arguments, **options)

    return replacing
