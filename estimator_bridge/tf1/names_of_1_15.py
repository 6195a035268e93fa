"""The modules of `tf.contrib`, private Keras and examples in TensorFlow 1.15.5, and their names.

Programs import from these modules, whose names are elsewhere today or gone.
"""

import functools
from pathlib import Path
from typing import Optional

__all__ = ["has", "has_module", "names"]

# Lines "module: name name ...", which tools/record_names_of_1_15.py writes.
_NAMES = Path(__file__).with_suffix(".txt")


@functools.cache
def _modules() -> dict[str, frozenset[str]]:
    lines = _NAMES.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {module: frozenset(names.split()) for module, _, names in pairs}


def has(module: str, name: Optional[str] = None) -> bool:
    """Returns whether there was a module, or a name or a module in it.

    Args:
      module: its path below tensorflow, such as contrib.layers.python.layers.
      name: a name or a module in it; None for the module itself.
    """
    if name is None:
        return module in _modules()
    return name in _modules().get(module, ()) or f"{module}.{name}" in _modules()


def has_module(package: str, name: str) -> bool:
    """Returns whether a name of a package was a module, not a function of the same name.

    Args:
      package: its path below tensorflow, such as contrib.nn.python.ops.
      name: the name, such as alpha_dropout.
    """
    return f"{package}.{name}" in _modules() and name not in _modules().get(package, ())


def names(module: str) -> frozenset[str]:
    """Returns the names in a module that are not modules.

    Args:
      module: its path below tensorflow, such as contrib.layers.
    """
    return _modules().get(module, frozenset())
