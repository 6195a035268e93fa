"""Finds the dotted name that a Python expression refers to, without running it.

A *reference* is a string. `tensorflow.contrib.layers` is absolute; `..models.est`, with leading
dots, is relative to the module that contains it, as in an import statement. An expression may have
several references, for example from two branches of an `if`.
"""

import ast
from typing import Optional

__all__ = ["NOT_A_REFERENCE", "Refs", "Scopes", "constant_text", "import_call", "is_guard_test"]

Refs = tuple[str, ...]
# The scopes, the outermost first: names, and whether the scope is the body of a class.
_Stack = list[tuple[dict[str, Refs], bool]]

# A name bound to something other than a module or an attribute of one.
NOT_A_REFERENCE: Refs = ()

# Prefix of a name that a scope declares global; no name contains a space.
_GLOBAL = "global "

_IMPORTERS = {"importlib.import_module", "importlib.__import__"}
_VERSION_NAMES = {"__version__", "VERSION", "GIT_VERSION", "hasattr", "PY2", "PY3", "version_info"}


class Scopes:
    """The names bound at the current point of a module, by scope.

    Attributes:
      module: name -> references, at the top level of the module.
      attributes: for each enclosing class, its attributes that hold references
        (`self.layers = tf.contrib.layers`).
      self_names: for each enclosing method, the name of its first argument.
    """

    def __init__(self) -> None:
        self.module: dict[str, Refs] = {}
        self._stack: _Stack = [(self.module, False)]
        self.attributes: list[dict[str, Refs]] = []
        self.self_names: list[Optional[str]] = []

    @property
    def depth(self) -> int:
        """Number of nested scopes; 1 at the top level of the module."""
        return len(self._stack)

    def enter(self, is_class: bool = False) -> None:
        """Opens a scope.

        Args:
          is_class: whether the scope is the body of a class; its names are not visible in methods.
        """
        self._stack.append(({}, is_class))

    def leave(self) -> None:
        """Closes the innermost scope."""
        self._stack.pop()

    def capture(self) -> _Stack:
        """Returns the scopes that are visible in the body of a function defined here."""
        return list(self._stack)

    def swap(self, stack: _Stack) -> _Stack:
        """Replaces the current scopes; returns the previous ones.

        Args:
          stack: captured scopes.
        """
        before, self._stack = self._stack, stack
        return before

    def bind(self, name: str, refs: Refs, mode: str = "set") -> None:
        """Binds a name in the innermost scope.

        Args:
          name: the name.
          refs: its references.
          mode: "set" replaces the earlier references; "add" appends to them (for one of two
            branches); "default" binds a name only if it has none yet (for the handler of a failed
            import).
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
        """Handles a `global` statement in the innermost scope.

        Args:
          name: the declared name.
        """
        if len(self._stack) > 1:
            self._stack[-1][0][_GLOBAL + name] = NOT_A_REFERENCE

    def lookup(self, name: str) -> Optional[Refs]:
        """Returns the references of a name; None if no scope binds it.

        Args:
          name: the name.
        """
        innermost = len(self._stack) - 1
        for index in range(innermost, -1, -1):
            scope, is_class = self._stack[index]
            # The names in the body of a class are not visible in its methods.
            if is_class and index != innermost:
                continue
            if name in scope:
                return scope[name]
        return None

    def of(self, node: ast.AST) -> Refs:
        """Returns the references of an expression.

        Args:
          node: the expression.
        """
        if isinstance(node, ast.Name):
            return self.lookup(node.id) or NOT_A_REFERENCE
        if isinstance(node, ast.Attribute):
            value = node.value
            if isinstance(value, ast.Name) and self.self_names and value.id == self.self_names[-1]:
                return self.attributes[-1].get(node.attr, NOT_A_REFERENCE)
            return tuple(f"{base}.{node.attr}" for base in self.of(value))
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.IfExp):
            return self.of(node.body) + self.of(node.orelse)
        if isinstance(node, ast.BoolOp):
            return tuple(ref for value in node.values for ref in self.of(value))
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value)
        return NOT_A_REFERENCE

    def _of_call(self, node: ast.Call) -> Refs:
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) >= 2:
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
        has_names = len(node.args) >= 4 or any(k.arg == "fromlist" for k in node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "__import__" and not has_names:
            return (name.split(".")[0],)
        return (name,)


def import_call(node: ast.Call, scopes: Scopes) -> Optional[ast.AST]:
    """Returns the argument with the module's name if the call imports a module, else None.

    Args:
      node: the call.
      scopes: the names at this point.
    """
    func = node.func
    if not node.args:
        return None
    if isinstance(func, ast.Name) and func.id == "__import__":
        return node.args[0]
    name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
    if name == "LazyLoader" and len(node.args) >= 3:
        return node.args[2]
    # `from importlib import import_module as load` gives the function another name.
    may_import = isinstance(func, ast.Name) or name in ("import_module", "__import__")
    if may_import and _IMPORTERS.intersection(scopes.of(func)):
        return node.args[0]
    return None


def constant_text(node: ast.AST) -> Optional[str]:
    """Returns the value of a constant string expression; None for any other expression.

    Args:
      node: the expression.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left), constant_text(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [constant_text(part) for part in node.values]
        known = [part for part in parts if part is not None]
        return "".join(known) if len(known) == len(parts) else None
    return None


def is_guard_test(test: ast.AST) -> bool:
    """Returns whether a condition tests a version, or whether an attribute exists.

    Args:
      test: the condition.
    """
    for node in ast.walk(test):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if name in _VERSION_NAMES:
            return True
    return False
