"""Finds the uses of imported names in expressions."""

import ast
import builtins
import functools
from collections.abc import Iterable
from typing import Any, Callable, NamedTuple, Optional

from .refs import NOT_A_REFERENCE, Refs, Scopes, constant_text, import_call

__all__ = ["METHODS", "Expressions", "NotFollowed", "Use"]

_BUILTINS = frozenset(dir(builtins))
_RUNS_MAIN = {
    "absl.app.run",
    "tensorflow.app.run",
    "tensorflow.compat.v1.app.run",
    "tensorflow.python.platform.app.run",
}
# Methods that only objects of TensorFlow 1.x have, so that the name alone identifies them.
METHODS = frozenset(("make_one_shot_iterator", "make_initializable_iterator", "export_savedmodel"))

# Fields of syntax nodes that contain no expression.
_NO_EXPRESSION = frozenset(
    ("ctx", "op", "ops", "attr", "id", "kind", "conversion", "is_async", "arg", "simple")
    + ("name", "names", "rest")
)


@functools.cache
def _children(kind: Any) -> tuple[str, ...]:
    """Returns the fields of a kind of node that may contain expressions."""
    # The fields of `match` patterns and of `nonlocal` also contain plain strings and values.
    return tuple(name for name in getattr(kind, "_fields", ()) if name not in _NO_EXPRESSION)


class Use(NamedTuple):
    """One use of an imported name.

    Attributes:
      refs: its references; several if branches differ.
      line: line of the expression, from 1.
      column: column of the expression, from 1.
      how: "import", "use", "alias" (the whole reference under a local name, as in
        `from m import f; f()`), "star" (perhaps imported by `from m import *`), "star attribute"
        (an attribute of such a name) or "method" (refs is the name of the method).
      guarded: whether the program handles the absence of the name: a `try` catches the failure, or
        a condition tests the version.
      keywords: names of the keyword arguments if the use is a call.
    """

    refs: Refs
    line: int
    column: int
    how: str
    guarded: bool
    keywords: tuple[str, ...] = ()


class NotFollowed(NamedTuple):
    """Code whose module or name is known only at run time."""

    line: int
    text: str


class Expressions:
    """Reads expressions in the order of execution and collects the uses.

    Args:
      heads: first components of the absolute references to collect.
    """

    def __init__(self, heads: frozenset[str]):
        self._heads = heads
        self._scopes = Scopes()
        self._uses: list[Use] = []
        self._not_followed: list[NotFollowed] = []
        self._imports: dict[str, None] = {}
        self._stars: dict[str, None] = {}
        self._guarded = False
        self._mode = "set"
        self._entry = ""
        self._called: dict[int, tuple[str, ...]] = {}

    def _expression(self, root: Any) -> None:
        """Collects the uses in an expression, without recursion: generated code nests deeply."""
        stack = [root]
        while stack:
            node = stack.pop()
            kind: Any = type(node)
            # The two most frequent kinds.
            if kind is ast.Constant:
                continue
            if kind is ast.Name:
                if type(node.ctx) is ast.Load:
                    self._name(node)
                continue
            visit = _VISITORS.get(kind)
            if visit is not None and not visit(self, node, stack):
                continue
            for name in _children(kind):
                value = getattr(node, name)
                if type(value) is list:
                    stack.extend(value)
                elif value is not None:
                    stack.append(value)

    # Each of these methods returns whether the caller must still read the fields of the node.

    def _visit_attribute(self, node: ast.Attribute, stack: list[Any]) -> bool:
        refs = self._scopes.of(node)
        if refs:
            self._add_use(refs, node, "use")
            return False
        if node.attr in METHODS and type(node.ctx) is ast.Load:
            self._add_use((node.attr,), node, "method")
        elif self._stars and self._attribute_of_star(node):
            return False
        stack.append(node.value)
        return False

    def _attribute_of_star(self, node: ast.Attribute) -> bool:
        """Collects `tf.x.y` if `tf` may come from a star import; returns whether it may."""
        names, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            names.append(value.attr)
            value = value.value
        if not isinstance(value, ast.Name) or value.id in _BUILTINS:
            return False
        if self._scopes.lookup(value.id) is not None:
            return False
        path = ".".join([value.id, *reversed(names)])
        self._add_use(tuple(_join(star, path) for star in self._stars), node, "star attribute")
        return True

    def _visit_call(self, node: ast.Call, stack: list[Any]) -> bool:
        self._call(node)
        return True

    def _visit_named(self, node: ast.NamedExpr, stack: list[Any]) -> bool:
        self._bind_target(node.target, node.value)
        stack.append(node.value)
        return False

    def _visit_lambda(self, node: ast.Lambda, stack: list[Any]) -> bool:
        self._lambda(node)
        return False

    def _visit_comprehension(self, node: Any, stack: list[Any]) -> bool:
        # The first iterable is evaluated outside of the scope of the variables.
        self._expression(node.generators[0].iter)
        self._scopes.enter()
        before, self._mode = self._mode, "set"
        for index, part in enumerate(node.generators):
            if index:
                self._expression(part.iter)
            self._bind_target(part.target, None)
            for condition in part.ifs:
                self._expression(condition)
        self._mode = before
        for field in ("elt", "key", "value"):
            self._expression(getattr(node, field, None))
        self._scopes.leave()
        return False

    def _lambda(self, node: ast.Lambda) -> None:
        self._scopes.enter()
        args = node.args
        for default in [*args.defaults, *args.kw_defaults]:
            if default is not None:
                self._expression(default)
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if arg is not None:
                self._scopes.bind(arg.arg, NOT_A_REFERENCE)
        self._expression(node.body)
        self._scopes.leave()

    def _name(self, node: ast.Name) -> None:
        refs = self._scopes.lookup(node.id)
        if refs:
            self._add_use(refs, node, "alias")
        elif refs is None and self._stars and node.id not in _BUILTINS:
            self._add_use(tuple(_join(star, node.id) for star in self._stars), node, "star")

    def _call(self, node: ast.Call) -> None:
        if node.keywords:
            self._called[id(node.func)] = tuple(k.arg for k in node.keywords if k.arg)
        func = node.func
        if self._scopes.depth == 1 and _RUNS_MAIN.intersection(self._scopes.of(func)):
            self._entry = self._entry or "app.run"
        refs = self._scopes.of(node)
        if refs:
            imported = import_call(node, self._scopes)
            if imported is not None:
                # `__import__("a.b")` imports a.b, but returns a.
                refs = (constant_text(imported) or refs[0],)
                self._imports.update(dict.fromkeys(refs))
            self._add_use(refs, node, "use")
            return
        why = self._cannot_follow(node)
        if why:
            self._not_followed.append(NotFollowed(node.lineno, f"{_source(node)}: {why}"))

    def _cannot_follow(self, node: ast.Call) -> str:
        """Returns why the target of a call is unknown; "" for an ordinary call."""
        module = import_call(node, self._scopes)
        if module is not None:
            return (
                "the module's name is computed at run time" if constant_text(module) is None else ""
            )
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "getattr" and len(node.args) >= 2:
            if constant_text(node.args[1]) is not None:
                return ""
            matters = any(map(self._matters, self._scopes.of(node.args[0])))
            return "the name is computed at run time" if matters else ""
        if name in ("eval", "exec") and node.args:
            text = constant_text(node.args[0])
            return (
                "code in a string" if text is None or "tf." in text or "tensorflow" in text else ""
            )
        return ""

    def _matters(self, ref: str) -> bool:
        return ref.startswith(".") or ref.split(".", 1)[0] in self._heads

    def _add_use(self, refs: Iterable[str], node: Any, how: str) -> None:
        kept = tuple(refs) if how == "method" else tuple(filter(self._matters, refs))
        if kept:
            keywords = self._called.pop(id(node), ())
            self._uses.append(
                Use(kept, node.lineno, node.col_offset + 1, how, self._guarded, keywords)
            )

    def _bind_target(self, target: ast.AST, value: Optional[ast.AST]) -> None:
        """Binds the target of an assignment; `value` is None if it is not a reference."""
        if isinstance(target, ast.Name):
            refs = NOT_A_REFERENCE if value is None else self._scopes.of(value)
            self._scopes.bind(target.id, refs, self._mode)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[Any] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = value.elts
            for element, part in zip(target.elts, values):
                self._bind_target(element, part)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, None)
        elif isinstance(target, ast.Attribute) and self._is_self(target.value):
            refs = NOT_A_REFERENCE if value is None else self._scopes.of(value)
            self._scopes.attributes[-1].setdefault(target.attr, refs)
        else:
            self._expression(target)

    def _is_self(self, node: ast.AST) -> bool:
        names = self._scopes.self_names
        return bool(names) and isinstance(node, ast.Name) and node.id == names[-1]


_VISITORS: dict[type, Callable[[Expressions, Any, list[Any]], bool]] = {
    ast.Attribute: Expressions._visit_attribute,
    ast.Call: Expressions._visit_call,
    ast.NamedExpr: Expressions._visit_named,
    ast.Lambda: Expressions._visit_lambda,
    ast.ListComp: Expressions._visit_comprehension,
    ast.SetComp: Expressions._visit_comprehension,
    ast.DictComp: Expressions._visit_comprehension,
    ast.GeneratorExp: Expressions._visit_comprehension,
}


def _join(module: str, name: str) -> str:
    """Returns the reference of a name of a module; `from . import *` has the module `.`."""
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"


def _source(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."
