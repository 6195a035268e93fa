"""The comparison of old programs with TensorFlow 1.15.5: its list, its ratios and its tables."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "legacy"


@pytest.fixture(scope="module")
def legacy():
    spec = importlib.util.spec_from_file_location("legacy_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before
    for name in ("old_data", "parity_1x", "results", "compare"):
        sys.modules.pop(name, None)


def test_every_program_is_run(legacy):
    found = []
    for path in FOLDER.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                marks = [one.id for one in node.decorator_list if isinstance(one, ast.Name)]
                found += [node.name] if "program" in marks else []
    assert sorted(found) == sorted(legacy.PROGRAMS)


def measured(step, **more):
    return {
        **{"batch": 10, "median step": step, "mean step": step, "mean step, processor": step},
        **{"first step": 5.0, "first step, processor": 4.0, "import, processor": 2.0},
        **{"import MB": 100.0, "peak MB": 300.0, "checkpoint MB": 1.0, **more},
    }


def test_ratios_are_those_of_rounds_and_above_one_where_the_bridge_is_faster(legacy):
    made = {
        "native": [measured(0.4, save=0.2), measured(0.3, save=0.2)],
        "bridge": [measured(0.2), measured(0.3)],
    }
    assert legacy.ratios(made, "mean step") == [2.0, 1.0]
    first, second = legacy.row("one", made, "")
    assert first.startswith("| one | 29, 29 | 42, 42 | 1.50 (1.00 to 2.00) |")
    assert "300 (100)" in second and second.endswith("| 1.0 |  |")


def test_the_reason_names_the_operations_that_take_longer(legacy):
    profiles = {
        "native": measured(0.010, operations={"MatMul": 3.0, "Add": 1.0}),
        "bridge": measured(0.016, operations={"MatMul": 3.0, "Add": 2.0, "Read": 4.0}),
    }
    reason = legacy.find_reason(profiles)
    assert reason == "Read +4.00 ms, Add +1.00 ms, rest of the step +1.00 ms"


def test_tables_are_replaced_and_the_others_kept(legacy, tmp_path):
    path = tmp_path / "RESULTS.md"
    path.write_text("# Benchmarks\n\n## TensorFlow 2.21.0\n\ntable\n")
    legacy.results.put_legacy(path, "old programs 1\n")
    legacy.results.put_settings(path, "options 1\n")
    legacy.results.put_legacy(path, "old programs 2\n")
    legacy.results.put_settings(path, "options 2\n")
    legacy.results.Report("2.15.1").write(path)
    text = path.read_text()
    for kept in (
        "## TensorFlow 2.21.0\n\ntable",
        "## TensorFlow 2.15.1",
        "old programs 2",
        "options 2",
    ):
        assert text.count(kept) == 1
    assert "programs 1" not in text and "options 1" not in text
    assert text.index("2.15.1") < text.index("old programs 2") < text.index("options 2")


def test_an_unknown_program_is_refused(legacy, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "--only=wide_deep_csv,unknown"])
    assert legacy.main() == 2
    assert "no such program: unknown" in capsys.readouterr().err
