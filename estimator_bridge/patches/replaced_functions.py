"""A module of TensorFlow with other functions, for one of the modules that import it."""

from typing import Any

__all__ = ["ReplacedFunctions"]


class ReplacedFunctions:
    """Has the functions of a module, except those that a subclass defines.

    Args:
      module: the module, or another object of this class.
    """

    def __init__(self, module: Any):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
