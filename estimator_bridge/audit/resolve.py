"""Follows references through the code base: which file a name means, and what is in there."""

import os
from collections.abc import Iterable, Mapping
from typing import Optional

from .scan import ModuleFacts

__all__ = ["CodeBase"]

# Never a folder of the code base, whatever its folders are called: many have one called
# `tensorflow`.
_OUTSIDE = frozenset(
    ("tensorflow", "tensorflow_estimator", "tensorflow_core", "estimator_bridge", "keras", "absl")
)


class CodeBase:
    """The modules of a code base by name.

    A module's name depends on the folder that Python starts in, which the source does not say. A
    name is therefore looked for as Python would find it from the importing file's own folder, then
    from each folder above it up to the audited one, then from any one folder that alone has it.
    """

    def __init__(self, root: str, paths: Iterable[str]):
        """Args:
        root: the audited folder; its own name may be that of the package it holds.
        paths: of the files, relative to it, with `/`.
        """
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
        self._found: dict[tuple[str, str], tuple[Optional[str], list[str], tuple[str, ...]]] = {}

    def _add_top(self, name: str) -> None:
        folder, _, top = name.rpartition("/")
        self._tops.setdefault(top, []).append(folder)

    def heads(self) -> frozenset[str]:
        """Returns the first components that absolute names of its modules may have."""
        return frozenset(self._tops) | {self._above[-1]}

    def locate(self, ref: str, path: str) -> tuple[Optional[str], list[str], tuple[str, ...]]:
        """Finds the module that a reference leads into.

        Args:
          ref: the reference.
          path: of the file in which it stands.

        Returns:
          The module's path, or None if it leads out of the code base; the components left over; and
          the paths of the packages that importing it executes on the way.
        """
        folder = path.rpartition("/")[0]
        key = (ref, folder)
        if key not in self._found:
            self._found[key] = self._locate(ref, folder)
        return self._found[key]

    def _locate(self, ref, folder):
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

    def _descend(self, folder, parts, relative=False):
        """Goes down from a folder as far as there are modules.

        A relative name may also be one that the folder's own __init__ binds: `from . import est`.
        """
        module = self._modules.get(f"{folder}/__init__".lstrip("/")) if relative else None
        left = list(parts)
        best = (module, left, ())
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
        """Returns what a reference is outside the code base, followed through re-exports.

        Absolute dotted names; more than one where branches bind different things.
        """
        found: dict[str, None] = {}
        self._follow(ref, facts, path, found, set())
        return tuple(found)

    def _follow(self, ref, facts, path, found, seen) -> None:
        if (ref, path) in seen:
            return
        seen.add((ref, path))
        module, left, _ = self.locate(ref, path)
        if module is None:
            if not ref.startswith("."):
                found[ref] = None
            return
        if not left or module not in facts:
            return
        rest = "." + ".".join(left[1:]) if left[1:] else ""
        exports = facts[module].exports.get(left[0], ())
        for target in exports:
            self._follow(target + rest, facts, module, found, seen)
        if not exports:
            for star in facts[module].stars:
                separator = "" if star.endswith(".") else "."
                self._follow(f"{star}{separator}{left[0]}{rest}", facts, module, found, seen)

    def imports(self, ref: str, path: str) -> tuple[str, ...]:
        """Returns the paths of the modules that importing a reference executes, in order."""
        module, _, packages = self.locate(ref, path)
        return packages if module is None else (*packages, module)
