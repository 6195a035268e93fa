"""The architecture held against the code, read with `ast`: nothing of it is imported.

A room is a top-level module or package of `trainer` or `estimator_bridge`, with all its modules.
The tables list the rooms from the top down, each with the rooms that it may import; imports inside
functions count.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

ROOT = Path(__file__).resolve().parent.parent
BRIDGE = "estimator_bridge"

# Room -> the rooms of `trainer` that it may import. A room is listed above those that it imports.
TRAINER = {
    # Entry points; nothing imports them.
    "__main__": "command_line",
    "completion": "command_line config errors",
    "command_line": "config errors",
    "task": "api config console signals errors",
    "launch": "cluster",
    "prepare": "training config",
    "predict": "prediction",
    "evaluate": "evaluation",
    "gate": "gating",
    "watch": "watching",
    "join_labels": "watching",
    "sandbox": "sandboxing",
    "report": "evaluation config",
    "push": "release",
    "beam": "prediction",
    "spark": "prediction",
    "serve": "serving",
    "pipeline": "pipelines",
    "schema.__main__": "data_validation config errors",
    "demo": "config errors",
    "engines.__main__": "engine_commands engines config storage errors",
    "kubernetes.__main__": "engine_commands watching kubernetes errors",
    "engine_commands": "gating evaluation prediction data_validation errors",
    "vertex.__main__": "watching vertex cluster config storage errors",
    "tune": "tuning config",
    "runs": "history config",
    "tfx": "api models metrics data_validation inputs config schema storage environment errors",
    "api": "vertex roles training evaluation prediction export inputs data_validation job_dir "
    "metrics cluster config schema storage environment phase_timer console signals errors "
    "job_layout",
    "pipelines": "tuning watching gating sandboxing evaluation release prediction export "
    "data_validation vertex kubernetes inputs config schema storage console errors job_layout",
    # What trains.
    "roles": "training job_dir cluster config environment console signals errors evaluation "
    "export reporting schema storage phase_timer job_layout",
    "training": "engines passes vertex evaluation export reporting metrics models inputs job_dir "
    "features cluster config schema storage environment phase_timer console signals errors "
    "job_layout",
    "evaluation": "engines passes export reporting metrics data_validation models inputs features "
    "job_dir cluster config schema storage phase_timer console errors job_layout",
    "history": "release vertex drawing export metrics job_dir config storage environment console "
    "errors job_layout",
    "tuning": "gating release export metrics drawing inputs job_dir cluster config schema storage "
    "environment console errors job_layout",
    "watching": "gating release prediction reporting export metrics data_validation inputs config "
    "schema storage console errors",
    "gating": "engines passes release prediction reporting export metrics inputs config "
    "schema storage console errors",
    "sandboxing": "prediction export features config schema storage console errors",
    "serving": "release vertex kubernetes export config storage console errors",
    "release": "vertex export config storage console errors",
    "prediction": "engines export inputs features config schema storage console errors job_layout",
    "reporting": "export drawing metrics data_validation job_dir schema storage job_layout",
    "export": "inputs features config schema storage console errors job_layout",
    "metrics": "inputs config schema errors",
    "data_validation": "engines passes inputs config schema storage console errors job_layout",
    "engines": "passes inputs environment console errors storage",
    "passes": "inputs config schema console",
    # What a model is made of.
    "models": "features config schema storage environment errors job_layout",
    "inputs": "features config schema storage environment errors console",
    "features": "schema storage errors",
    "job_dir": "config schema storage errors job_layout",
    "vertex": "kubernetes cluster config storage environment errors",
    "kubernetes": "cluster config storage environment errors",
    "cluster": "config storage environment console signals errors job_layout",
    # What everything rests on.
    "schema": "config errors",
    "config": "storage console errors",
    "storage": "job_layout environment console errors",
    "phase_timer": "environment",
    "environment": "errors",
    "drawing": "",
    "job_layout": "",
    "console": "",
    "signals": "",
    "errors": "",
}
# The same of `estimator_bridge`; "" is its __init__.
BRIDGE_ROOMS = {
    "__main__": "cli",
    "cli": "command_line errors output",
    "doctor": "shims tf1 versions command_line",
    "audit": (
        "repair loadable downgrade era shims tf1 tf1.contrib command_line errors output.logs "
        "user_files output processor"
    ),
    "convert.command": (
        "convert.write convert.read convert.plan command_line errors output.logs output"
    ),
    "convert.verify": (
        "convert.write convert.read convert.plan process scaled_regression model_files "
        "command_line errors output output.logs"
    ),
    "convert.write": "convert.read convert.plan process errors",
    "convert.read": (
        "convert.plan boosted_trees era tf1 private_tf model_files command_line errors "
        "output.logs user_files"
    ),
    "convert.plan": "errors",
    "convert": "",
    "repair": (
        "loadable downgrade boosted_trees contrib_operations command_line errors output "
        "output.logs versions"
    ),
    "loadable": "downgrade model_files errors",
    "downgrade": "process private_tf model_files command_line errors output.logs output versions",
    "era": "process shims tf1 model_files versions errors user_files",
    "process": (
        "profiling downgrade era tf1 shims old_packages command_line errors user_files output"
    ),
    "profiling": "process private_tf output",
    "old_packages": (
        "old_packages.numpy_1 old_packages.pandas_1 old_packages.scikit_learn process private_tf"
    ),
    "old_packages.numpy_1": "old_packages",
    "old_packages.scikit_learn": "old_packages process errors",
    "old_packages.pandas_1": "old_packages process",
    "tf1": "era process tf1.contrib model_files private_tf errors output",
    "tf1.contrib": (
        "tf1 gradient_trees boosted_trees message_tables private_tf contrib_operations errors"
    ),
    "shims": "boosted_trees process private_tf versions errors",
    "patches": "array_datasets model_files process private_tf processor",
    "array_datasets": "process private_tf",
    "eager_context": "private_tf",
    "model_files": "private_tf errors",
    "contrib_operations": "",
    "gradient_trees": "boosted_trees message_tables private_tf",
    "boosted_trees": "array_datasets message_tables process private_tf",
    "message_tables": "",
    "output.logs": "process",
    "processor": "",
    "scaled_regression": "",
    "private_tf": "",
    "versions": "",
    "command_line": "errors output",
    "errors": "output",
    "output": "",
    "user_files": "errors",
}
# Entry points: nothing imports them.
ENTRY_POINTS = {
    "__main__",
    "task",
    "launch",
    "prepare",
    "predict",
    "evaluate",
    "gate",
    "watch",
    "join_labels",
    "sandbox",
    "report",
    "push",
    "beam",
    "spark",
    "serve",
    "pipeline",
    "schema.__main__",
    "engines.__main__",
    "kubernetes.__main__",
    "vertex.__main__",
    "tune",
    "runs",
    "tfx",
    "completion",
}
# Only estimator_bridge/private_tf.py imports modules below these packages.
PRIVATE = ("tensorflow.python", "tensorflow._api", "tensorflow_estimator.python")
PRIVATE += ("tf_keras.src", "tf_keras.api", "keras.src", "keras.api")
# Rooms that load without TensorFlow, so that what is wrong with them is reported at once.
PLAIN = ("config", "console", "data_validation", "environment", "errors", "schema")
PLAIN += ("metrics.baselines", "metrics.catalogue", "reporting.summary")
MAX_LINES = 400


def _name(path):
    return path.relative_to(ROOT).as_posix()


@cache
def _modules():
    """Dotted name → path of every module of both packages."""
    found = {}
    for package in ("trainer", BRIDGE):
        for path in sorted((ROOT / package).rglob("*.py")):
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[dotted.removesuffix(".__init__")] = path
    assert len(found) > 300
    return found


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def _nodes_by_type(path):
    found = defaultdict(list)
    for node in ast.walk(_tree(path)):
        found[type(node)].append(node)
    return found


def _nodes(path, kind):
    """Returns the nodes of a module that are of a class of `ast`."""
    return _nodes_by_type(path)[kind]


@cache
def _imports(path):
    """Returns (dotted name, line) of everything that a module imports, functions included."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    found = [(alias.name, node.lineno) for node in _nodes(path, ast.Import) for alias in node.names]
    for node in _nodes(path, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        start = ".".join([*above, *([node.module] if node.module else [])])
        found += [(f"{start}.{alias.name}", node.lineno) for alias in node.names]
    return found


@cache
def _module(dotted):
    """The module of ours that a dotted name is, or lies in; None for others' names."""
    while dotted and dotted not in _modules():
        dotted = dotted.rpartition(".")[0]
    return dotted or None


@cache
def _room(dotted):
    """The room of a dotted name of ours; "" for a package itself."""
    package, _, rest = dotted.partition(".")
    rooms = TRAINER if package == "trainer" else BRIDGE_ROOMS
    parts = rest.split(".")
    two = ".".join(parts[:2])
    return two if two in rooms else parts[0]


def _own_imports():
    """Yields (importing module, imported module, path, line) within a package."""
    for name, path in _modules().items():
        for dotted, line in _imports(path):
            target = _module(dotted)
            if target is not None and target != name:
                yield name, target, path, line


def test_every_module_has_a_room():
    for name, path in _modules().items():
        rooms = TRAINER if name.startswith("trainer") else BRIDGE_ROOMS
        assert _room(name) in rooms or _room(name) == "", f"{_name(path)}: no row for its room"


def test_every_room_exists():
    for package, rooms in (("trainer", TRAINER), (BRIDGE, BRIDGE_ROOMS)):
        for room in rooms:
            assert f"{package}.{room}" in _modules(), f"{package}.{room}"


def test_every_room_imports_only_what_it_may():
    wrong = []
    for name, target, path, line in _own_imports():
        package, other = name.split(".")[0], target.split(".")[0]
        if package == BRIDGE and other == "trainer":
            wrong.append(f"{_name(path)}:{line}: the bridge must not import {target}")
        if package != other or _room(target) == "" or _room(name) == "":
            continue
        allowed = (TRAINER if package == "trainer" else BRIDGE_ROOMS)[_room(name)].split()
        if _room(target) not in (_room(name), *allowed):
            wrong.append(f"{_name(path)}:{line}: {_room(name)} must not import {target}")
    assert not wrong, "\n".join(wrong)


def test_the_table_goes_from_the_top_down():
    order = list(TRAINER)
    for room, allowed in TRAINER.items():
        for below in allowed.split():
            assert order.index(room) < order.index(below), f"{room} is below {below}"
            assert below not in ENTRY_POINTS, f"{room} imports the entry point {below}"


def test_the_table_allows_nothing_that_is_not_used():
    used = {(_room(name), _room(target)) for name, target, _, _ in _own_imports()}
    for rooms in (TRAINER, BRIDGE_ROOMS):
        for room, allowed in rooms.items():
            unused = [below for below in allowed.split() if (room, below) not in used]
            assert not unused, f"{room}: {unused}"


def test_no_modules_import_each_other():
    graph = {name: set() for name in _modules()}
    for name, target, _, _ in _own_imports():
        # A package's __init__ is there before its modules, whatever it imports from them.
        if not name.startswith(f"{target}."):
            graph[name].add(target)
    done = set()

    def visit(name, above):
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for below in sorted(graph[name]):
                visit(below, [*above, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def _trainer_modules():
    return [(name, path) for name, path in _modules().items() if name.startswith("trainer")]


def test_only_the_bridge_imports_tensorflow():
    for _, path in _trainer_modules():
        for dotted, line in _imports(path):
            first = dotted.split(".")[0]
            assert first not in ("tensorflow", "tensorflow_estimator", "tf_keras", "keras"), (
                f"{_name(path)}:{line}: import it from {BRIDGE}"
            )


def _imports_by_text(path):
    """Yields (dotted name, line) of calls of import_module with a literal."""
    for node in _nodes(path, ast.Call):
        if node.args and isinstance(node.args[0], ast.Constant):
            function = node.func
            called = getattr(function, "attr", getattr(function, "id", ""))
            if called in ("import_module", "__import__"):
                yield str(node.args[0].value), node.lineno


def test_private_names_are_imported_in_one_place():
    for path in _modules().values():
        if path == ROOT / BRIDGE / "private_tf.py":
            continue
        for dotted, line in (*_imports(path), *_imports_by_text(path)):
            private = any(dotted == start or dotted.startswith(f"{start}.") for start in PRIVATE)
            assert not private, f"{_name(path)}:{line}: import it from {BRIDGE}.private_tf"


def test_the_environment_is_read_in_one_place():
    for name, path in _trainer_modules():
        if _room(name) == "environment":
            continue
        for node in _nodes(path, ast.Attribute):
            named = (
                isinstance(node.value, ast.Name)
                and node.value.id == "os"
                and node.attr in ("environ", "environb", "getenv", "putenv")
            )
            assert not named, f"{_name(path)}:{node.lineno}: only trainer/environment reads it"


def test_names_say_what_is_inside():
    for path in _modules().values():
        # There the names are those of the library whose place it takes.
        if (ROOT / BRIDGE / "tf1" / "contrib") in path.parents:
            continue
        for part in path.relative_to(ROOT).with_suffix("").parts:
            assert part not in ("utils", "util", "helpers", "helper", "common", "misc"), path


def test_modules_are_not_too_long():
    for path in _modules().values():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MAX_LINES, f"{_name(path)}: {lines} lines; split it"


def test_every_module_has_a_docstring():
    for path in _modules().values():
        empty = not _tree(path).body
        assert empty or ast.get_docstring(_tree(path)), f"{_name(path)}: no docstring"


def test_no_exception_is_caught_without_a_name():
    for path in _modules().values():
        for node in _nodes(path, ast.ExceptHandler):
            assert node.type is not None, f"{_name(path)}:{node.lineno}: bare except"


def test_parents_of_paths_are_not_sliced():
    # Python 3.9 cannot.
    for path in _modules().values():
        for node in _nodes(path, ast.Subscript):
            if isinstance(node.slice, ast.Slice):
                name = getattr(node.value, "attr", None)
                assert name != "parents", f"{_name(path)}:{node.lineno}: list(path.parents)[...]"


@pytest.mark.parametrize("room", PLAIN)
def test_plain_modules_load_without_tensorflow(room):
    program = f"import sys, trainer.{room}; sys.exit('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)
    assert done.returncode == 0
