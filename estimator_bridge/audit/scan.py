"""Reads one module: its imports, its exports, and every use of an imported name.

This module knows neither the rest of the code base nor the symbols of TensorFlow. It returns uses
as references (refs.py), which resolve.py follows, so that files can be read in any order and in
several processes.
"""

import ast
import collections
from typing import Any, Callable, NamedTuple

from .expressions import Expressions, NotFollowed, Use
from .outdated import Outdated, find_outdated
from .pipelines import Slow, find_slow
from .refs import NOT_A_REFERENCE, Refs, constant_text, is_guard_test

__all__ = ["ModuleFacts", "NotFollowed", "Use", "scan"]

_CAUGHT = frozenset(
    ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException")
)


class ModuleFacts(NamedTuple):
    """The content of one file.

    Attributes:
      exports: name bound at the top level of the module -> references.
      stars: references of the modules imported with `*`.
      imports: references in import statements.
      uses: uses of imported names, by line.
      not_followed: code whose meaning is known only at run time.
      entry: how the file is started as a program ("__main__", "app.run"), or "".
      outdated: what fails in Python 3, and packages; nothing if the file was not parsed.
      slow: where it parses rows one by one.
    """

    exports: dict[str, Refs]
    stars: Refs
    imports: Refs
    uses: list[Use]
    not_followed: list[NotFollowed]
    entry: str
    outdated: Outdated = Outdated((), ())
    slow: tuple[Slow, ...] = ()

    @property
    def names_tensorflow(self) -> bool:
        """Whether the module imports TensorFlow itself."""
        return any(ref.startswith("tensorflow") for ref in self.imports)


def scan(tree: ast.Module, heads: frozenset[str]) -> ModuleFacts:
    """Returns the content of a parsed module.

    Args:
      tree: syntax tree of the module.
      heads: first components of the absolute references to collect; others are dropped.
    """
    return _Reader(heads).read(tree)


class _Reader(Expressions):
    """Reads the statements of a module."""

    def __init__(self, heads: frozenset[str]):
        super().__init__(heads)
        self._later: collections.deque[Callable[[], None]] = collections.deque()
        # Functions and classes of the module, which hide names of its earlier star imports.
        self._own: set[str] = set()

    def read(self, tree: ast.Module) -> ModuleFacts:
        """Returns the content of a module.

        Args:
          tree: its syntax tree.
        """
        self._body(tree.body)
        # The body of a function runs after the module has bound all of its names.
        while self._later:
            self._later.popleft()()
        self._uses.sort(key=lambda use: (use.line, use.column))
        return ModuleFacts(
            exports={n: refs for n, refs in self._scopes.module.items() if refs or n in self._own},
            stars=tuple(self._stars),
            imports=tuple(self._imports),
            uses=self._uses,
            not_followed=self._not_followed,
            entry=self._entry,
            outdated=find_outdated(tree),
            slow=find_slow(tree),
        )

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                self._other(statement)
            else:
                handler(self, statement)

    def _other(self, statement: ast.stmt) -> None:
        for name in statement._fields:
            value = getattr(statement, name)
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                self._branch(value, "add" if name != "finalbody" else self._mode)
            elif isinstance(value, ast.AST):
                self._expression(value)
            elif isinstance(value, list):
                for item in value:
                    if hasattr(item, "body"):  # A case of `match`, a handler of `except*`.
                        for part in ("pattern", "guard", "type"):
                            self._expression(getattr(item, part, None))
                        self._branch(item.body, "add")
                    else:
                        self._expression(item)

    def _branch(self, body: list[ast.stmt], mode: str, guarded: bool = False) -> None:
        before = self._mode, self._guarded
        self._mode = mode if before[0] == "set" else before[0]
        self._guarded = self._guarded or guarded
        self._body(body)
        self._mode, self._guarded = before

    def _with(self, node: Any) -> None:
        hidden: dict[str, Refs] = {}
        for item in node.items:
            self._expression(item.context_expr)
            if item.optional_vars is not None:
                hidden.update(self._hide(item.optional_vars))
        self._body(node.body)
        self._show(hidden)

    def _if(self, node: Any) -> None:
        self._expression(node.test)
        if self._scopes.depth == 1 and _is_main_test(node.test):
            self._entry = self._entry or "__main__"
        guarded = is_guard_test(node.test)
        self._branch(node.body, "add", guarded)
        self._branch(node.orelse, "add", guarded)

    def _try(self, node: Any) -> None:
        guarded = any(_CAUGHT.intersection(_caught_names(handler)) for handler in node.handlers)
        self._branch(node.body, self._mode, guarded)
        for handler in node.handlers:
            if handler.type is not None:
                self._expression(handler.type)
            self._branch(handler.body, "default", guarded)
        self._body(node.orelse)
        self._body(node.finalbody)

    def _import(self, node: Any) -> None:
        for alias in node.names:
            self._imports[alias.name] = None
            self._add_use((alias.name,), alias if hasattr(alias, "lineno") else node, "import")
            name = alias.asname or alias.name.split(".")[0]
            self._scopes.bind(name, (alias.name if alias.asname else name,), self._mode)

    def _import_from(self, node: Any) -> None:
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            where = alias if hasattr(alias, "lineno") else node
            if alias.name == "*":
                self._imports[base] = None
                self._stars[base] = None
                self._add_use((base,), where, "import")
                continue
            ref = base + alias.name if not node.module else f"{base}.{alias.name}"
            self._imports[ref] = None
            self._add_use((ref,), where, "import")
            self._scopes.bind(alias.asname or alias.name, (ref,), self._mode)

    def _assign(self, node: Any) -> None:
        self._expression(node.value)
        for target in node.targets:
            self._bind_target(target, node.value)

    def _annotated(self, node: Any) -> None:
        self._expression(node.annotation)
        if node.value is not None:
            self._expression(node.value)
            self._bind_target(node.target, node.value)

    def _for(self, node: Any) -> None:
        self._expression(node.iter)
        hidden = self._hide(node.target)
        self._branch(node.body, "add")
        self._show(hidden)
        self._branch(node.orelse, "add")

    def _hide(self, target: ast.expr) -> dict[str, Refs]:
        """Binds the variables of a loop or of `with`; returns the references that they hide."""
        names = [node.id for node in ast.walk(target) if type(node) is ast.Name]
        bound = {name: self._scopes.lookup(name) for name in names}
        before, self._mode = self._mode, "set"
        self._bind_target(target, None)
        self._mode = before
        return {name: refs for name, refs in bound.items() if refs}

    def _show(self, hidden: dict[str, Refs]) -> None:
        """Restores what a loop or `with` hid, where the program may have executed neither.

        At the top level of a module too: functions may run before the loop, or in another module.
        """
        if self._mode != "set" or self._scopes.depth == 1:
            for name, refs in hidden.items():
                self._scopes.bind(name, refs, "add")

    def _function(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator)
        args = node.args
        for default in [*args.defaults, *args.kw_defaults]:
            if default is not None:
                self._expression(default)
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        every += [extra for extra in (args.vararg, args.kwarg) if extra is not None]
        for arg in every:
            if arg.annotation is not None:
                self._expression(arg.annotation)
        if node.returns is not None:
            self._expression(node.returns)
        self._define(node.name)
        stack = self._scopes.capture()
        in_class = bool(self._scopes.attributes) and stack[-1][1]
        attributes = list(self._scopes.attributes)
        first = args.posonlyargs + args.args
        selves = list(self._scopes.self_names)
        if in_class:
            selves.append(first[0].arg if first else None)
        guarded = self._guarded

        def read() -> None:
            scopes = self._scopes
            before = scopes.swap(stack), scopes.attributes, scopes.self_names
            kept = self._guarded, self._mode
            scopes.attributes, scopes.self_names = attributes, selves
            self._guarded, self._mode = guarded, "set"
            scopes.enter()
            for arg in every:
                scopes.bind(arg.arg, NOT_A_REFERENCE)
            self._body(node.body)
            _, scopes.attributes, scopes.self_names = before
            scopes.swap(before[0])
            self._guarded, self._mode = kept

        if in_class and node.name == "__init__":
            # __init__ is read before the other methods, because it sets attributes that they use.
            self._later.appendleft(read)
        else:
            self._later.append(read)

    def _define(self, name: str) -> None:
        self._scopes.bind(name, NOT_A_REFERENCE, self._mode)
        if self._scopes.depth == 1 and self._mode == "set" and self._stars:
            self._own.add(name)

    def _class(self, node: Any) -> None:
        for outer in [*node.decorator_list, *node.bases, *node.keywords]:
            self._expression(outer)
        scopes = self._scopes
        self._define(node.name)
        scopes.enter(is_class=True)
        attributes: dict[str, Refs] = {}
        scopes.attributes.append(attributes)
        self._body(node.body)
        scopes.attributes.pop()
        for name, refs in scopes.capture()[-1][0].items():
            attributes.setdefault(name, refs)
        scopes.leave()

    def _global(self, node: Any) -> None:
        """Makes later assignments to these names bind names of the module."""
        for name in node.names:
            self._scopes.declare_global(name)


_STATEMENTS: dict[type, Callable[[_Reader, Any], None]] = {
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import_from,
    ast.Assign: _Reader._assign,
    ast.AnnAssign: _Reader._annotated,
    ast.FunctionDef: _Reader._function,
    ast.AsyncFunctionDef: _Reader._function,
    ast.ClassDef: _Reader._class,
    ast.If: _Reader._if,
    ast.Try: _Reader._try,
    ast.For: _Reader._for,
    ast.AsyncFor: _Reader._for,
    ast.With: _Reader._with,
    ast.AsyncWith: _Reader._with,
    ast.Global: _Reader._global,
}


def _caught_names(handler: ast.ExceptHandler) -> list[str]:
    """Returns the names of the exceptions that a handler catches."""
    if handler.type is None:
        return ["BaseException"]
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [getattr(kind, "id", getattr(kind, "attr", "")) for kind in types]


def _is_main_test(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.comparators) == 1):
        return False
    sides = [test.left, test.comparators[0]]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    return names == ["__name__"] and any(constant_text(side) == "__main__" for side in sides)
