"""Reads expressions: which names that came from an import are used in them."""

import ast
import builtins
import functools
from typing import NamedTuple

from .refs import NOT_A_REFERENCE, Refs, Scopes, constant_text, import_call

__all__ = ["METHODS", "Expressions", "NotFollowed", "Use"]

_BUILTINS = frozenset(dir(builtins))
_RUNS_MAIN = {
    "absl.app.run",
    "tensorflow.app.run",
    "tensorflow.compat.v1.app.run",
    "tensorflow.python.platform.app.run",
}
# Methods that only objects of TensorFlow 1.x have, so telling that the object's type need not be
# known.
METHODS = frozenset(("make_one_shot_iterator", "make_initializable_iterator", "export_savedmodel"))


# Fields of expressions that hold no expression.
_NO_EXPRESSION = frozenset(
    ("ctx", "op", "ops", "attr", "id", "kind", "conversion", "is_async", "arg", "simple")
    + ("name", "names", "rest")
)


@functools.cache
def _children(kind: type) -> tuple[str, ...]:
    """Returns the fields of a kind of node in which expressions stand."""
    return tuple(name for name in kind._fields if name not in _NO_EXPRESSION)


class Use(NamedTuple):
    """One place where a name that came from an import is used.

    Attributes:
      refs: what it stands for; more than one where branches differ.
      line, column: from 1; of the expression's first character.
      how: "import", "use", "alias" (the whole reference under a name of the module's own, as in
        `from m import f; f()`), "star" (perhaps: by `from m import *`) or "method" (refs is the
        method's name).
      guarded: the program goes on without it: in a `try` that catches the failure, or under a
        version test.
      keywords: names of the keyword arguments if it is called here.
    """

    refs: Refs
    line: int
    column: int
    how: str
    guarded: bool
    keywords: tuple[str, ...] = ()


class NotFollowed(NamedTuple):
    """Code that cannot be followed: which module or name is meant is only known when it runs."""

    line: int
    text: str


class Expressions:
    """Reads expressions in the order in which they run, and keeps what it finds."""

    def __init__(self, heads):
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

    def _expression(self, root) -> None:
        """Records the uses in an expression. Iterative: generated code nests deeply."""
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            # Patterns of `match` and `nonlocal` hold plain strings and values too.
            if kind is ast.Constant or not isinstance(node, ast.AST):
                continue
            if kind is ast.Name:
                if type(node.ctx) is ast.Load:
                    self._name(node)
                continue
            if kind is ast.Attribute:
                refs = self._scopes.of(node)
                if refs:
                    self._add_use(refs, node, "use")
                    continue
                if node.attr in METHODS and type(node.ctx) is ast.Load:
                    self._add_use((node.attr,), node, "method")
                stack.append(node.value)
                continue
            if kind is ast.Call:
                self._call(node)
            elif kind is ast.NamedExpr:
                self._bind_target(node.target, node.value)
                stack.append(node.value)
                continue
            elif kind is ast.Lambda:
                self._lambda(node)
                continue
            elif kind is ast.comprehension and self._hides(node.target):
                self._bind_target(node.target, None)
            for name in _children(kind):
                value = getattr(node, name)
                if type(value) is list:
                    stack.extend(value)
                elif value is not None:
                    stack.append(value)

    def _hides(self, target) -> bool:
        """Whether a comprehension's variable is a new name, so that nothing outside is lost."""
        return isinstance(target, ast.Name) and self._scopes.lookup(target.id) is None

    def _lambda(self, node) -> None:
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

    def _name(self, node) -> None:
        refs = self._scopes.lookup(node.id)
        if refs:
            self._add_use(refs, node, "alias")
        elif refs is None and self._stars and node.id not in _BUILTINS:
            self._add_use(tuple(f"{star}.{node.id}" for star in self._stars), node, "star")

    def _call(self, node) -> None:
        if node.keywords:
            self._called[id(node.func)] = tuple(k.arg for k in node.keywords if k.arg)
        func = node.func
        if self._scopes.depth == 1 and _RUNS_MAIN.intersection(self._scopes.of(func)):
            self._entry = self._entry or "app.run"
        refs = self._scopes.of(node)
        if refs:
            self._imports.update(dict.fromkeys(refs) if import_call(node, self._scopes) else {})
            self._add_use(refs, node, "use")
            return
        why = self._cannot_follow(node)
        if why:
            self._not_followed.append(NotFollowed(node.lineno, f"{_source(node)}: {why}"))

    def _cannot_follow(self, node) -> str:
        """Returns why it cannot be told what a call leads to; "" for an ordinary call."""
        module = import_call(node, self._scopes)
        if module is not None:
            return "the module's name is made at run time" if constant_text(module) is None else ""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "getattr" and len(node.args) >= 2:
            if constant_text(node.args[1]) is not None:
                return ""
            matters = any(map(self._matters, self._scopes.of(node.args[0])))
            return "the name is made at run time" if matters else ""
        if name in ("eval", "exec") and node.args:
            text = constant_text(node.args[0])
            return (
                "code in a string" if text is None or "tf." in text or "tensorflow" in text else ""
            )
        return ""

    def _matters(self, ref: str) -> bool:
        return ref.startswith(".") or ref.split(".", 1)[0] in self._heads

    def _add_use(self, refs, node, how) -> None:
        kept = refs if how == "method" else tuple(filter(self._matters, refs))
        if kept:
            keywords = self._called.pop(id(node), ())
            self._uses.append(
                Use(kept, node.lineno, node.col_offset + 1, how, self._guarded, keywords)
            )

    def _bind_target(self, target, value) -> None:
        """Binds what an assignment binds; `value` is None for one that is no reference."""
        if isinstance(target, ast.Name):
            refs = NOT_A_REFERENCE if value is None else self._scopes.of(value)
            self._scopes.bind(target.id, refs, self._mode)
        elif isinstance(target, (ast.Tuple, ast.List)):
            same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for index, element in enumerate(target.elts):
                self._bind_target(element, value.elts[index] if same else None)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, None)
        elif isinstance(target, ast.Attribute) and self._is_self(target.value):
            refs = NOT_A_REFERENCE if value is None else self._scopes.of(value)
            self._scopes.attributes[-1].setdefault(target.attr, refs)
        else:
            self._expression(target)

    def _is_self(self, node) -> bool:
        names = self._scopes.self_names
        return bool(names) and isinstance(node, ast.Name) and node.id == names[-1]


def _source(node) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."
