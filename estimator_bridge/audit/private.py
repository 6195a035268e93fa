"""TensorFlow's private modules: which are still there, and which the bridge puts back."""

from typing import NamedTuple

from .supplied import Supplied
from .symbol import data

__all__ = ["Fate", "PrivateModules"]

_ESTIMATOR = ["tensorflow_estimator", "python", "estimator"]
_LONG_GONE = "1.15 or before"
# The rooms below `tensorflow` whose modules are listed.
_LISTED = ("python", "core")


class Fate(NamedTuple):
    """What became of a private name.

    Attributes:
      plain: it is there under the bridge.
      tf1: it is there with --tf1.
      gone: first TensorFlow without it; "" while today's has it.
      bridge: it is there because of the bridge.
    """

    plain: bool
    tf1: bool
    gone: str
    bridge: bool


class PrivateModules:
    """Looks private names up by their whole dotted path."""

    def __init__(self, supplied: Supplied):
        known = data("private")
        self._supplied = supplied
        self._present = frozenset(known["modules"])
        self._gone = known["gone"]
        self._lost_names = known["names"]
        self._estimator = frozenset(known["estimator_modules"])
        modules = self._present | self._estimator
        self._packages = {module.rpartition(".")[0] for module in modules}

    def fate(self, parts: list[str]) -> Fate:
        """Tells what became of a name.

        Args:
          parts: components of a module, or of a name in one: ["tensorflow", "python", ...].
        """
        if parts[0] == "tensorflow_estimator":
            return self._of_estimator(parts)
        if parts[:3] == ["tensorflow", "python", "estimator"]:
            rest = ["keras_lib", *parts[4:]] if parts[3:4] == ["keras"] else parts[3:]
            return self._of_estimator([*_ESTIMATOR, *rest])
        if parts[1] not in _LISTED:
            return Fate(True, True, "", False)
        for count in range(len(parts), 1, -1):
            module = ".".join(parts[:count])
            if module in self._present:
                left = parts[count:]
                if len(left) > 1 and module in self._packages:
                    # Not a name in the package: a module in it that no listed version has.
                    break
                return self._in_module(module, left[0] if left else "")
            if module in self._gone:
                plain = self._supplied.private_module(module, tf1=False)
                tf1 = plain or self._supplied.private_module(module, tf1=True)
                return Fate(plain, tf1, self._gone[module], True)
        return Fate(False, False, _LONG_GONE, False)

    def _in_module(self, module: str, name: str) -> Fate:
        lost = self._lost_names.get(module, {}).get(name)
        if lost is None:
            return Fate(True, True, "", False)
        return Fate(False, self._supplied.private_name(module, name), lost, True)

    def _of_estimator(self, parts: list[str]) -> Fate:
        """The package tensorflow-estimator, which is installed beside the bridge."""
        found = len(parts)
        while found and ".".join(parts[:found]) not in self._estimator:
            found -= 1
        # What follows a module is a name in it; what follows a package ought to be a module.
        there = found == len(parts) or (found > 2 and ".".join(parts[:found]) not in self._packages)
        if there:
            return Fate(True, True, "2.16", True)
        return Fate(False, False, "2.9" if "boosted_trees" in parts else _LONG_GONE, False)
