"""What an expression of Python stands for, as a dotted name, without running it.

A *reference* is a string. `tensorflow.contrib.layers` is absolute; `..models.est`, with leading
dots, is relative to the module in which it stands, as in an import statement. An expression may
have several (two branches of an `if`).
"""

import ast
from typing import Optional

__all__ = ["NOT_A_REFERENCE", "Refs", "Scopes", "constant_text", "import_call", "is_guard_test"]

Refs = tuple[str, ...]

# Bound to something that is no module and no part of one.
NOT_A_REFERENCE: Refs = ()

# Before a name in a scope: declared global there. No name has a space.
_GLOBAL = "global "

_IMPORTERS = {"importlib.import_module", "importlib.__import__"}
_VERSION_NAMES = {"__version__", "VERSION", "GIT_VERSION", "hasattr", "PY2", "PY3", "version_info"}


class Scopes:
    """The names that are bound where the reading of a module stands, innermost scope last."""

    def __init__(self):
        self.module: dict[str, Refs] = {}
        self._stack: list[tuple[dict[str, Refs], bool]] = [(self.module, False)]
        # Attributes of the class being read that hold references: `self.layers =
        # tf.contrib.layers`.
        self.attributes: list[dict[str, Refs]] = []
        self.self_names: list[Optional[str]] = []

    @property
    def depth(self) -> int:
        return len(self._stack)

    def enter(self, is_class: bool = False) -> None:
        self._stack.append(({}, is_class))

    def leave(self) -> None:
        self._stack.pop()

    def capture(self) -> list:
        """Returns the scopes that a function defined here will see when its body runs."""
        return list(self._stack)

    def swap(self, stack: list) -> list:
        """Goes to captured scopes; returns the present ones."""
        before, self._stack = self._stack, stack
        return before

    def bind(self, name: str, refs: Refs, mode: str = "set") -> None:
        """Binds a name in the innermost scope.

        Args:
          mode: "set" replaces; "add" keeps the earlier meanings first (one of two branches);
            "default" only binds a name that has no meaning yet (the handler of a failed import).
        """
        scope = self._stack[-1][0]
        if _GLOBAL + name in scope:
            scope, mode = self.module, "add"
        before = scope.get(name)
        if before is None and mode != "set" and len(self._stack) > 1:
            before = self.lookup(name)
        if mode == "set" or before is None:
            scope[name] = refs
        elif mode == "add":
            scope[name] = before + tuple(ref for ref in refs if ref not in before)
        elif not before:
            scope[name] = refs

    def declare_global(self, name: str) -> None:
        """Notes `global name` for the innermost scope."""
        if len(self._stack) > 1:
            self._stack[-1][0][_GLOBAL + name] = NOT_A_REFERENCE

    def lookup(self, name: str) -> Optional[Refs]:
        """Returns what a name stands for; None if nothing here binds it."""
        innermost = len(self._stack) - 1
        for index in range(innermost, -1, -1):
            scope, is_class = self._stack[index]
            # The body of a class is not seen by its methods.
            if is_class and index != innermost:
                continue
            if name in scope:
                return scope[name]
        return None

    def of(self, node: ast.AST) -> Refs:
        """Returns the references that an expression stands for."""
        kind = type(node)
        if kind is ast.Name:
            return self.lookup(node.id) or NOT_A_REFERENCE
        if kind is ast.Attribute:
            value = node.value
            if type(value) is ast.Name and self.self_names and value.id == self.self_names[-1]:
                return self.attributes[-1].get(node.attr, NOT_A_REFERENCE)
            return tuple(f"{base}.{node.attr}" for base in self.of(value))
        if kind is ast.Call:
            return self._of_call(node)
        if kind is ast.IfExp:
            return self.of(node.body) + self.of(node.orelse)
        if kind is ast.BoolOp:
            return tuple(ref for value in node.values for ref in self.of(value))
        if kind is ast.NamedExpr:
            return self.of(node.value)
        return NOT_A_REFERENCE

    def _of_call(self, node: ast.Call) -> Refs:
        if type(node.func) is ast.Name and node.func.id == "getattr" and len(node.args) >= 2:
            name = constant_text(node.args[1])
            if name is None:
                return NOT_A_REFERENCE
            return tuple(f"{base}.{name}" for base in self.of(node.args[0]))
        imported = import_call(node, self)
        if imported is None:
            return NOT_A_REFERENCE
        name = constant_text(imported)
        if not name:
            return NOT_A_REFERENCE
        if type(node.func) is ast.Name and node.func.id == "__import__" and len(node.args) < 4:
            return (name.split(".")[0],)
        return (name,)


def import_call(node: ast.Call, scopes: Scopes) -> Optional[ast.AST]:
    """Returns the argument that names the module, if the call imports one; else None."""
    func = node.func
    if not node.args:
        return None
    if type(func) is ast.Name and func.id == "__import__":
        return node.args[0]
    name = func.id if type(func) is ast.Name else getattr(func, "attr", "")
    if name == "LazyLoader" and len(node.args) >= 3:
        return node.args[2]
    if name in ("import_module", "__import__") and _IMPORTERS.intersection(scopes.of(func)):
        return node.args[0]
    return None


def constant_text(node: ast.AST) -> Optional[str]:
    """Returns the string that an expression of constants makes; None for any other expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left), constant_text(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [constant_text(part) for part in node.values]
        return None if None in parts else "".join(parts)
    return None


def is_guard_test(test: ast.AST) -> bool:
    """Tells whether a condition asks for a version, or whether something is there."""
    for node in ast.walk(test):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if name in _VERSION_NAMES:
            return True
    return False
