"""The tests that the documents name are there, and are tests."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_tests_that_a_document_names_are_there(path):
    for file, name in set(NAMED.findall(path.read_text(encoding="utf-8"))):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name.startswith("test_") and name in found, f"{path.name}: {file}::{name}"


def test_the_pains_of_others_have_tests():
    assert len(NAMED.findall((ROOT / "docs" / "design.md").read_text(encoding="utf-8"))) >= 17
