"""The architecture held against the code, read with `ast`: nothing of it is imported.

A room of `trainer` is a module, or a package with all its modules. What many build on has a row:
the rooms of ours that it may import, and no others. A room without a row is above all those, and
may import any but the entrances.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("trainer", "estimator_bridge")
BRIDGE = "estimator_bridge"

MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "cluster": {"errors"},
    "schema": {"errors", "config"},
    "flags": {"errors", "config"},
    "commands": {"errors", "config", "storage"},
    "console": set(),
    "signals": set(),
    "demo": {"errors", BRIDGE},
    "storage": {"errors", "cluster", BRIDGE},
    "ledger": {"errors", "storage"},
    "baselines": {"config", "schema", "ledger"},
    "inputs": {"errors", "config", "schema", "storage", "encoding", "several", BRIDGE},
    "shared_table": {BRIDGE},
    "several": {BRIDGE},
    "features": {"errors", "config", "schema", "shared_table", "several", BRIDGE},
    "encoding": {"errors", "config", "schema", "features", BRIDGE},
    "models": {"errors", "config", "schema", "features", "encoding", "storage", "several", BRIDGE},
    "export": {"errors", "config", "schema", "features", "storage", "ledger", BRIDGE},
    "tuning": {"cluster"},
    "hooks": {"errors", "config", "console", "cluster", "ledger", "tuning", BRIDGE},
    "stopping": {"errors", "config", "signals", "cluster", BRIDGE},
    "report": {"errors", "config", "storage", "ledger", "baselines"},
}
# Programs that live in the package they serve, above the readers.
PROGRAMS = {
    f"schema.{name}" for name in ("__main__", "check", "drift", "infer", "profile", "propose")
}
# They tie everything together; nothing imports them.
ENTRANCES = {"task", "launch"}
# Rooms that load without TensorFlow, so that what is wrong with them is told at once.
PLAIN = ("baselines", "config", "console", "errors", "flags", "report", "schema")
MAX_LINES = 400


def _modules():
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(paths) > 20
    return paths


def _name(path):
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports(path, whole=True):
    """Yields (dotted name, line) of what a module imports; not `whole`: when it is imported."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(_tree(path)) if whole else _tree(path).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{start}.{alias.name}", node.lineno


def _room(dotted):
    """The room of a dotted name of ours; None for others' names and for the package itself."""
    parts = dotted.split(".")
    if parts[0] == BRIDGE:
        return BRIDGE
    if parts[0] != "trainer" or len(parts) == 1:
        return None
    return ".".join(parts[1:3]) if ".".join(parts[1:3]) in PROGRAMS else parts[1]


def _rooms():
    dotted = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in _modules()}
    rooms = {path: _room(name) for path, name in dotted.items()}
    return {path: room for path, room in rooms.items() if room not in (None, BRIDGE, "__init__")}


def test_every_room_imports_only_what_it_may():
    wrong = []
    for path, room in _rooms().items():
        for dotted, line in _imports(path):
            target = _room(dotted)
            if target in (None, room) or room in ENTRANCES:
                continue
            allowed = MAY_IMPORT.get(room)
            if target in ENTRANCES or (allowed is not None and target not in allowed):
                wrong.append(f"{_name(path)}:{line}: {room} must not import {dotted}")
            if target == "vertex":
                wrong.append(f"{_name(path)}:{line}: nothing imports vertex")
    assert not wrong, "\n".join(wrong)


def test_no_two_modules_import_each_other():
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in _rooms()}
    graph = {}
    for name, path in names.items():
        imported = [dotted for dotted, _ in _imports(path, whole=False)]
        # `from package import module` and `from module import name` look alike.
        parents = [dotted.rpartition(".")[0] for dotted in imported]
        graph[name] = sorted({*imported, *parents} & set(names) - {name})
    done = set()

    def visit(name, above):
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for below in graph[name]:
                visit(below, [*above, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def test_the_bridge_knows_nothing_of_the_trainer():
    for path in sorted((ROOT / BRIDGE).rglob("*.py")):
        for dotted, line in _imports(path):
            assert dotted.split(".")[0] != "trainer", f"{_name(path)}:{line}"


def test_only_the_bridge_imports_tensorflow():
    for path in _rooms():
        for dotted, line in _imports(path):
            first = dotted.split(".")[0]
            assert first not in ("tensorflow", "tensorflow_estimator", "tf_keras", "keras"), (
                f"{_name(path)}:{line}: import it from {BRIDGE}"
            )


def test_the_environment_is_read_in_one_place():
    for path, room in _rooms().items():
        if room == "cluster":
            continue
        for node in ast.walk(_tree(path)):
            named = (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "os"
                and node.attr in ("environ", "environb", "getenv", "putenv")
            )
            assert not named, f"{_name(path)}:{node.lineno}: only trainer/cluster.py reads it"


def test_names_say_what_is_inside():
    for path in _modules():
        # There the names are those of the library whose place it takes.
        if (ROOT / BRIDGE / "tf1" / "contrib") in path.parents:
            continue
        for part in path.relative_to(ROOT).with_suffix("").parts:
            assert part not in ("utils", "util", "helpers", "helper", "common", "misc"), path


def test_modules_fit_into_one_head():
    for path in _modules():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MAX_LINES, f"{_name(path)}: {lines} lines; split it"


def test_every_module_says_what_it_is_for():
    for path in _modules():
        empty = not _tree(path).body
        assert empty or ast.get_docstring(_tree(path)), f"{_name(path)}: no docstring"


def test_no_exception_is_caught_without_a_name():
    for path in _modules():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{_name(path)}:{node.lineno}: bare except"


@pytest.mark.parametrize("room", PLAIN)
def test_plain_modules_load_without_tensorflow(room):
    program = f"import sys, trainer.{room}; sys.exit('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)
    assert done.returncode == 0
