"""Each private name is where its table says, on the installed TensorFlow."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import estimator_bridge
from estimator_bridge import private_tf, shims, versions

pytestmark = [pytest.mark.versions, pytest.mark.smoke]

PACKAGE = Path(estimator_bridge.__file__).parent
VERSION = versions.parse(versions.installed_tensorflow())
NAMES = sorted(private_tf.NAMES)

# Prints, for each path of standard input, why it cannot be imported; null where it can.
IMPORT = """
import importlib, json, sys

def attempt(path):
    try:
        importlib.import_module(path)
    except Exception as error:
        # A part of the package that has been imported would be found by the next attempt.
        for name in [name for name in sys.modules if name.startswith("tensorflow_estimator")]:
            del sys.modules[name]
        return repr(error)

sys.stdout.write("\\n" + json.dumps({path: attempt(path) for path in json.load(sys.stdin)}))
"""
# Prints the pairs of standard input (private name, attribute) whose attribute is missing.
READ = """
import json, sys
from estimator_bridge import private_tf, tf

missing = [[n, a] for n, a in json.load(sys.stdin) if not hasattr(private_tf.load(n), a)]
sys.stdout.write("\\n" + json.dumps(missing))
"""


def _run(program, value):
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(value),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _versions(name):
    """The supported versions (major, minor) that provide a name natively, and by a shim."""
    private = private_tf.NAMES[name]
    known = (*versions.SUPPORTED, versions.CANDIDATE)
    supported = [versions.parse(one.tensorflow)[:2] for one in known]
    native = [version for version in supported if private.is_native(version)]
    provided = [version for version in supported if private.is_provided(version)]
    return native, [version for version in provided if version not in native]


def _id(name):
    native, by_shim = ([f"{a}.{b}" for a, b in found] for found in _versions(name))
    return f"{name}-{native[0]}-{native[-1]}" + (f"-shim-{by_shim[-1]}" if by_shim else "")


def test_the_table_reaches_from_the_oldest_version_to_the_pre_release():
    ends = (versions.SUPPORTED[0], versions.CANDIDATE)
    first, last = (versions.parse(one.tensorflow)[:2] for one in ends)
    assert (first, last) == (private_tf._FIRST, private_tf._LAST)


def _uses():
    """Yields (file, private name, attribute; None for the import itself) of both packages."""
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.with_name("trainer").rglob("*.py")]):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules, names = set(), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "private_tf":
                        modules.add(alias.asname or alias.name)
                    elif (node.module or "").split(".")[-1] == "private_tf":
                        names[alias.asname or alias.name] = alias.name
                        yield path, alias.name, None

        def private_name(node, modules=modules, names=names):
            if isinstance(node, ast.Name):
                return names.get(node.id)
            named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            return node.attr if named and node.value.id in modules else None

        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if private_name(node) not in (None, "load", "NAMES"):
                    yield path, private_name(node), None
                if private_name(node.value) not in (None, "load", "NAMES"):
                    yield path, private_name(node.value), node.attr
            elif isinstance(node, ast.Call) and private_name(node.func) == "load":
                yield path, node.args[0].value, None


@pytest.fixture(scope="module")
def without_bridge():
    """Path → the error of its import in a process without the bridge; None where it imports."""
    return _run(IMPORT, [private.path for private in private_tf.NAMES.values()])


@pytest.fixture(scope="module")
def with_bridge():
    """The same in a process with the bridge."""
    program = f"import estimator_bridge\nestimator_bridge.install()\n{IMPORT}"
    return _run(program, [private.path for private in private_tf.NAMES.values()])


@pytest.mark.parametrize("name", NAMES, ids=_id)
def test_each_name_exists_as_the_table_says(name, without_bridge, with_bridge):
    private = private_tf.NAMES[name]
    for error, expected in (
        (without_bridge[private.path], private.is_native(VERSION)),
        (with_bridge[private.path], private.is_provided(VERSION)),
    ):
        assert (error is None) == expected, f"{private.path}: {error or 'it can be imported'}"


def test_each_attribute_that_is_used_exists():
    used = {(name, attribute) for _, name, attribute in _uses() if attribute is not None}
    assert len(used) > 60
    provided = [pair for pair in used if private_tf.NAMES[pair[0]].is_provided(VERSION)]
    assert _run(READ, sorted(provided)) == []


def test_the_table_holds_the_names_that_are_used():
    assert {name for _, name, _ in _uses()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_shim_of_the_table_exists(name):
    private = private_tf.NAMES[name]
    native, by_shim = _versions(name)
    since = {shim.name: shim.since for shim in shims.ALL}
    assert native
    assert bool(private.shims) == bool(by_shim)
    for shim in private.shims:
        assert all(version >= since[shim] for version in by_shim)
        assert all(version < since[shim] for version in native)


def test_importing_it_imports_no_tensorflow():
    program = (
        "import sys; from estimator_bridge import private_tf; dir(private_tf); "
        "hasattr(private_tf, 'absent'); sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=PACKAGE.parent).returncode == 0


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = private_tf.absent
