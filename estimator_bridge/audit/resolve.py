"""Follows references through the code base to the file and the name that they mean."""

import os
from collections.abc import Iterable, Mapping
from typing import Optional

from .scan import ModuleFacts

__all__ = ["CodeBase"]

# These names never mean a folder of the code base, even if it has one called `tensorflow`.
_OUTSIDE = frozenset(
    ("tensorflow", "tensorflow_estimator", "tensorflow_core", "estimator_bridge", "keras", "absl")
)

# References followed from one use. `a = package.a.b` in `package` refers to itself without end.
_MAX_FOLLOWED = 1000

# The path of a module or None, the components after the module, and the paths of its packages.
_Location = tuple[Optional[str], list[str], tuple[str, ...]]


class CodeBase:
    """The modules of a code base by name.

    The name of a module depends on the folder in which Python starts, which the source does not
    define. A name is therefore searched for in the folder of the importing file, then in each
    folder above it up to the audited one, then in the only folder that has such a package.

    Args:
      root: the audited folder, which may itself be a package of the code base.
      paths: paths of the files relative to `root`, with `/`.
    """

    def __init__(self, root: str, paths: Iterable[str]):
        self._modules: dict[str, str] = {}
        self._folders: set[str] = set()
        self._tops: dict[str, list[str]] = {}
        for path in paths:
            if not path.endswith(".py"):
                continue
            name = path[:-3]
            self._modules[name] = path
            self._add_top(name)
            while "/" in name:
                name = name.rsplit("/", 1)[0]
                if name in self._folders:
                    break
                self._folders.add(name)
                self._add_top(name)
        self._above = os.path.abspath(root).strip(os.sep).split(os.sep)
        self._found: dict[tuple[str, str], _Location] = {}

    def _add_top(self, name: str) -> None:
        folder, _, top = name.rpartition("/")
        self._tops.setdefault(top, []).append(folder)

    def heads(self) -> frozenset[str]:
        """Returns the first components of the absolute names of its modules."""
        return frozenset(self._tops) | {self._above[-1]}

    def locate(self, ref: str, path: str) -> _Location:
        """Finds the module that a reference means, or that contains its name.

        Args:
          ref: the reference.
          path: path of the file with the reference.

        Returns:
          The path of the module, or None if it is not in the code base; the components after the
          module; and the paths of the packages that its import executes.
        """
        folder = path.rpartition("/")[0]
        key = (ref, folder)
        if key not in self._found:
            self._found[key] = self._locate(ref, folder)
        return self._found[key]

    def _locate(self, ref: str, folder: str) -> _Location:
        if ref.startswith("."):
            level = len(ref) - len(ref.lstrip("."))
            for _ in range(level - 1):
                folder = folder.rpartition("/")[0]
            return self._descend(folder, ref[level:].split(".") if ref[level:] else [], True)
        parts = ref.split(".")
        if parts[0] in _OUTSIDE:
            return None, parts, ()
        while True:
            found = self._descend(folder, parts)
            if found[0] is not None:
                return found
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        for count in range(1, min(len(parts), len(self._above)) + 1):
            if parts[:count] == self._above[-count:]:
                found = self._descend("", parts[count:])
                if found[0] is not None:
                    return found
        homes = self._tops.get(parts[0], ())
        if len(homes) == 1 and f"{homes[0]}/{parts[0]}".lstrip("/") in self._folders:
            return self._descend(homes[0], parts)
        return None, parts, ()

    def _descend(self, folder: str, parts: list[str], relative: bool = False) -> _Location:
        """Follows the components from a folder, up to the first one that is not a module.

        A relative name may also be bound by the __init__ of the folder: `from . import est`.
        """
        module = self._modules.get(f"{folder}/__init__".lstrip("/")) if relative else None
        left = list(parts)
        best: _Location = (module, left, ())
        packages = [] if module is None else [module]
        while left:
            name = f"{folder}/{left[0]}".lstrip("/")
            if f"{name}/__init__" in self._modules:
                module = self._modules[f"{name}/__init__"]
            elif name in self._modules:
                return self._modules[name], left[1:], tuple(packages)
            elif name in self._folders:
                module = None
            else:
                break
            folder, left = name, left[1:]
            if module is not None:
                best = (module, left, tuple(packages))
                packages.append(module)
        return best

    def targets(self, ref: str, facts: Mapping[str, ModuleFacts], path: str) -> tuple[str, ...]:
        """Follows a reference through re-exports to names outside the code base.

        Args:
          ref: the reference.
          facts: path -> content of the file.
          path: path of the file with the reference.

        Returns:
          Absolute dotted names; several if branches bind different things.
        """
        found: dict[str, None] = {}
        # A stack, since modules may import from each other in chains of any length.
        pending = [(ref, path)]
        seen: set[tuple[str, str]] = set()
        while pending and len(seen) < _MAX_FOLLOWED:
            here = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            module, left, _ = self.locate(*here)
            if module is None:
                if not here[0].startswith("."):
                    found[here[0]] = None
            elif left and module in facts:
                further = self._sources(module, left, facts[module])
                pending += [(target, module) for target in reversed(further)]
        return tuple(found)

    def _sources(self, module: str, left: list[str], facts: ModuleFacts) -> list[str]:
        """Returns the references that a name of a module may be bound to."""
        rest = "".join(f".{name}" for name in left[1:])
        if left[0] in facts.exports:
            return [target + rest for target in facts.exports[left[0]]]
        found = []
        for star in facts.stars:
            home, missing, _ = self.locate(star, module)
            # `from .generated import *` of a file that is not in the code base binds nothing known.
            if home is None or not missing:
                separator = "" if star.endswith(".") else "."
                found.append(f"{star}{separator}{left[0]}{rest}")
        return found

    def imports(self, ref: str, path: str) -> tuple[str, ...]:
        """Returns the paths of the modules that the import of a reference executes, in order.

        Args:
          ref: the reference.
          path: path of the file with the reference.
        """
        module, _, packages = self.locate(ref, path)
        return packages if module is None else (*packages, module)
