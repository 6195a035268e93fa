"""Looks up which private modules of TensorFlow still exist, and which the bridge restores."""

from typing import NamedTuple

from .supplied import Supplied
from .symbol import data

__all__ = ["PrivateModules", "Status"]

_ESTIMATOR = ["tensorflow_estimator", "python", "estimator"]
_BEFORE_LISTED_VERSIONS = "1.15 or before"
# `--tf1` supplies only the name of its function, which says what to use instead.
_REMOVED_TOOLS = ["tools", "graph_transforms"]
# The packages of `tensorflow` whose modules are listed.
_LISTED = ("python", "core")


class Status(NamedTuple):
    """Where a private name exists.

    Attributes:
      plain: whether it exists under the bridge.
      tf1: whether it exists with --tf1.
      removed_in: first TensorFlow version without it; "" if the newest has it.
      bridge: whether it exists only because of the bridge.
    """

    plain: bool
    tf1: bool
    removed_in: str
    bridge: bool


class PrivateModules:
    """Looks up private names by their full dotted path.

    Args:
      supplied: the names that the bridge supplies.
    """

    def __init__(self, supplied: Supplied):
        known = data("private")
        self._supplied = supplied
        self._present = frozenset(known["modules"])
        self._removed: dict[str, str] = known["gone"]
        self._removed_names: dict[str, dict[str, str]] = known["names"]
        self._estimator = frozenset(known["estimator_modules"])
        modules = self._present | self._estimator
        self._packages = {module.rpartition(".")[0] for module in modules}

    def status(self, parts: list[str]) -> Status:
        """Returns where a name exists.

        Args:
          parts: components of a module, or of a name in one: ["tensorflow", "python", ...].
        """
        if parts[0] == "tensorflow_estimator":
            return self._of_estimator(parts)
        if parts[:3] == ["tensorflow", "python", "estimator"]:
            rest = ["keras_lib", *parts[4:]] if parts[3:4] == ["keras"] else parts[3:]
            return self._of_estimator([*_ESTIMATOR, *rest])
        if parts[:5] == ["tensorflow", "python", "keras", "_impl", "keras"]:
            # Where Keras was until 1.12. `--tf1` supplies its modules by these names too.
            later = self.status([*parts[:3], *parts[5:]])
            return Status(False, later.tf1, _BEFORE_LISTED_VERSIONS, later.tf1)
        if parts[1:3] == _REMOVED_TOOLS:
            return Status(False, False, "2.0", False)
        if parts[1] not in _LISTED:
            return Status(True, True, "", False)
        for count in range(len(parts), 1, -1):
            module = ".".join(parts[:count])
            if module in self._present:
                rest = parts[count:]
                is_class = rest and rest[0][0].isupper()
                if len(rest) > 1 and module in self._packages and not is_class:
                    # A module of this package that no listed version has.
                    break
                return self._in_module(module, rest[0] if rest else "")
            if module in self._removed:
                plain = self._supplied.private_module(module, tf1=False)
                tf1 = plain or self._supplied.private_module(module, tf1=True)
                return Status(plain, tf1, self._removed[module], True)
        return Status(False, False, _BEFORE_LISTED_VERSIONS, False)

    def _in_module(self, module: str, name: str) -> Status:
        removed_in = self._removed_names.get(module, {}).get(name)
        if removed_in is None:
            return Status(True, True, "", False)
        return Status(False, self._supplied.private_name(module, name), removed_in, True)

    def _of_estimator(self, parts: list[str]) -> Status:
        """Returns the status of a name of tensorflow-estimator, which the bridge requires."""
        found = len(parts)
        while found and ".".join(parts[:found]) not in self._estimator:
            found -= 1
        # Below a module, a component is a name of the module, and names are not listed. Below a
        # package, a component is a module, and all modules are listed.
        is_package = ".".join(parts[:found]) in self._packages
        if found == len(parts) or (found > 2 and not is_package):
            return Status(True, True, "2.16", True)
        removed_in = "2.9" if "boosted_trees" in parts else _BEFORE_LISTED_VERSIONS
        return Status(False, False, removed_in, False)
