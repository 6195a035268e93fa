"""Public functions and classes document what they take, read with `ast`."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.newest, pytest.mark.quick]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("trainer", "estimator_bridge")
    for path in [ROOT / package, *(ROOT / package).rglob("*")]
    if path.is_dir() and list(path.glob("*.py"))
)


def _public_functions(tree):
    """Yields the public functions and methods of a module."""
    pending = [tree]
    while pending:
        for node in ast.iter_child_nodes(pending.pop()):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                pending.append(node)
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield node


def _parameters(function):
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in every if argument.arg not in ("self", "cls")]


# Methods that the base classes of TensorFlow and Python document.
OVERRIDES = {
    "after_create_session",
    "after_run",
    "after_save",
    "apply",
    "before_run",
    "before_save",
    "call",
    "end",
    "export",
    "find_spec",
    "emit",
    "step",
}


def _protocols(trees):
    """(class, method) of the protocols of a package: their implementations refer to them."""
    return {
        (node.name, method.name)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "Protocol" in {ast.unparse(one) for one in node.bases}
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_document_their_arguments(package):
    missing = []
    paths = sorted((ROOT / package).glob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    protocols = _protocols(trees.values())
    for path, tree in trees.items():
        for function in _public_functions(tree):
            text = ast.get_docstring(function) or ""
            above = re.fullmatch(r"See (\w+)\.", text)
            if above and (above.group(1), function.name) in protocols:
                continue
            names = _parameters(function)
            # A decorated function may have another signature, or be an overload.
            if not names or function.name in OVERRIDES or function.decorator_list:
                continue
            arguments = text.partition("Args:")[2]
            left_out = [name for name in names if not re.search(rf"\b{name}\b", arguments)]
            if left_out:
                missing.append(
                    f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}: {left_out}"
                )
    assert not missing, "\n".join(missing)
