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
    for name in ("kept", "old_data", "old_tables", "parity_1x", "results", "settings", "compare"):
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
        **{"import MB": 100.0, "peak MB": 300.0, "checkpoint MB": 1.0, "load": 0.5, **more},
    }


def test_ratios_are_those_of_rounds_and_above_one_where_the_bridge_is_faster(legacy):
    made = {
        "native": [measured(0.4, save=0.2, predict=3.0), measured(0.3, save=0.2)],
        "bridge": [measured(0.2, predict=2.0), measured(0.3)],
    }
    tables = legacy.old_tables
    assert tables.ratios(made, "mean step") == [2.0, 1.0]
    cells = tables.training("one", made, "")
    assert cells[:4] == ["one", "29, 29", "42, 42", "1.50 (1.00 to 2.00)"]
    assert tables.passes("one", made) == ["one", "", "", "1.50", "", "", ""]
    cells = tables.starts("one", made)
    assert "300 (100)" in cells and cells[-2:] == ["1.0", ""]


def test_the_summary_names_what_is_below_one(legacy):
    fast = {"native": [measured(0.4, evaluate=3.0)], "bridge": [measured(0.1, evaluate=4.0)]}
    slow = {"native": [measured(0.3)], "bridge": [measured(0.2)]}
    text = legacy.old_tables.sum_up({"fast": fast, "slow": slow}, "")
    assert text == "median of a step 2.75; below 1: fast, evaluate: 0.75"


def test_what_has_been_measured_is_not_measured_again(legacy, tmp_path, monkeypatch, capsys):
    path = tmp_path / "results.json"
    assert legacy.kept.Kept(path).get("one", lambda: {"a": 1}) == {"a": 1}
    again = legacy.kept.Kept(path)
    assert again.get("one", pytest.fail) == {"a": 1} and "1 measurements" in capsys.readouterr().out
    assert legacy.kept.Kept(path, anew=True).get("one", lambda: 2) == 2
    monkeypatch.setattr(legacy.kept, "fingerprint", lambda: "other code")
    assert legacy.kept.Kept(path).get("one", lambda: 3) == 3


def test_a_run_goes_on_and_writes_all_tables(legacy, tmp_path, monkeypatch):
    done = []

    def run(side, name, options, profile=False):
        if len(done) == 40:
            raise KeyboardInterrupt
        done.append((side, name))
        return measured(0.2 if side == "bridge" else 0.4, evaluate=1.0)

    def run_setting(data, setting):
        graphs = [setting, *(legacy.settings.GRAPHS if setting == "default" else ())]
        return {
            f"{graph}/{name}": [1.0, 2.0] for graph in graphs for name in legacy.settings.PROGRAMS
        }

    monkeypatch.setattr(legacy, "run", run)
    monkeypatch.setattr(legacy.settings, "run", run_setting)
    table = tmp_path / "RESULTS.md"
    table.write_text("# Benchmarks\n")
    words = ["--rounds=2", "--native=python3.7", f"--work={tmp_path}", f"--output={table}"]
    monkeypatch.setattr(sys, "argv", ["run.py", *words])
    with pytest.raises(KeyboardInterrupt):
        legacy.main()
    done.append(None)  # the killed process
    assert legacy.main() == 0
    assert len(done) == 2 * 2 * len(legacy.PROGRAMS) + 1
    text = table.read_text()
    assert "rounds: 2, interleaved;\nload of the machine: 0.5. " in text
    assert text.count("\n| wide_deep_csv | ") == 3 and "| 16 threads | 1.00 (2.00) |" in text


def test_the_reason_names_the_operations_that_take_longer(legacy):
    profiles = {
        "native": measured(0.010, operations={"MatMul": 3.0, "Add": 1.0}),
        "bridge": measured(0.016, operations={"MatMul": 3.0, "Add": 2.0, "Read": 4.0}),
    }
    reason = legacy.old_tables.find_reason(profiles)
    assert reason == "Read +4.00 ms, Add +1.00 ms, rest of the step +1.00 ms"


def test_tables_are_replaced_and_the_others_kept(legacy, tmp_path):
    path = tmp_path / "RESULTS.md"
    path.write_text("# Benchmarks\n\n## TensorFlow 2.21.0\n\ntable\n")
    legacy.old_tables.results.put_legacy(path, "old programs 1\n")
    legacy.old_tables.results.put_settings(path, "options 1\n")
    legacy.old_tables.results.put_legacy(path, "old programs 2\n")
    legacy.old_tables.results.put_settings(path, "options 2\n")
    legacy.old_tables.results.Report("2.15.1").write(path)
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
