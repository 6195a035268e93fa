"""Checks the guide of the migration: its table of names is complete, its first commands run."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.newest

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
NAMES = (ROOT / "docs" / "migration_names.md").read_text(encoding="utf-8")
TIMEOUT_SECS = 120


def table():
    """Returns name -> (views, replacement) of every row."""
    rows = re.findall(r"^\| `(tf\.estimator\.[\w.]+)` \| ([^|]*) \| (.*?) \|", NAMES, re.M)
    return {name: (views, keras) for name, views, keras in rows}


def names_of(view):
    """Returns the public names of the installed tensorflow-estimator in one view."""
    from estimator_bridge import tf

    root = {"v1": tf.compat.v1.estimator, "v2": tf.estimator}[view]
    found, pending = set(), [("tf.estimator", root)]
    while pending:
        prefix, module = pending.pop()
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or name == "compat":
                continue
            if isinstance(value, type(sys)):
                pending.append((f"{prefix}.{name}", value))
            else:
                found.add(f"{prefix}.{name}")
    return found


def test_table_lists_every_name_with_a_replacement():
    rows = table()
    for view in ("v1", "v2"):
        there = names_of(view)
        assert len(there) > 60
        listed = {name for name, (views, _) in rows.items() if view in views.split()}
        # The parts of TPUEstimator have other names, too, which programs do not use.
        assert there - listed == set() and listed - there == set(), view
    assert all(len(keras) >= 4 for _, keras in rows.values())
    assert all(views or keras.startswith("none") for views, keras in rows.values())


def test_table_equals_that_of_the_audit():
    path = ROOT / "tools" / "migration_table.py"
    spec = importlib.util.spec_from_file_location("migration_table", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.render() in NAMES, "run: python tools/migration_table.py docs/migration_names.md"


def test_named_callbacks_exist_in_keras():
    import keras

    if keras.__version__.startswith("2."):
        return
    named = set(re.findall(r"keras\.callbacks\.(\w+)", GUIDE + NAMES))
    assert len(named) > 4 and all(hasattr(keras.callbacks, name) for name in named)


def test_first_commands_run(tmp_path):
    commands = re.search(r"The first two steps.*?\n\n((?:    .*\n)+)", GUIDE).group(1)
    lines = [line.strip() for line in commands.splitlines()]
    assert len(lines) == 2
    example = ROOT / "tests" / "estimator_bridge" / "audit" / "audit_example"
    (tmp_path / "audit_example").symlink_to(example)
    for line in lines:
        done = subprocess.run(
            re.sub(r"(^|&& )python ", rf"\1{sys.executable} ", line),
            shell=True,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECS,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert "trainer/task.py" in (tmp_path / "audit.html").read_text()
