"""Files of the current folder are not imported by the commands, and are by a user's program."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.newest

ROOT = __file__.split("/tests/")[0]
SHADOWED = ("json", "yaml", "threading", "importlib", "argparse", "csv", "absl", "numpy")


def run(folder, *arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ROOT, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def hostile(tmp_path):
    """A folder whose modules have the names of modules that the commands import."""
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was run')\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "estimator_bridge doctor",
        *(
            pytest.param(command, marks=pytest.mark.quick)
            for command in ("estimator_bridge audit .", "trainer.schema --help", "trainer -h")
        ),
    ],
)
def test_commands_import_nothing_from_the_current_folder(hostile, command):
    done = run(hostile, "-m", *command.split())
    assert done.returncode == 0 and "was run" not in done.stdout + done.stderr, done.stderr


@pytest.mark.quick
def test_a_program_finds_its_modules(tmp_path):
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n")
    (tmp_path / "sub").mkdir()
    code = "import sys, helper\nprint(helper.NAME, sys.path[0])\n"
    (tmp_path / "program.py").write_text(code)
    bridge = ("-m", "estimator_bridge", "run")
    for arguments in (["program.py"], ["-m", "program"]):
        assert run(tmp_path, *arguments).stdout == f"helper {tmp_path}\n"
        done = run(tmp_path, *bridge, *arguments)
        assert done.stdout == f"helper {tmp_path}\n", done.stderr
    done = run(tmp_path / "sub", *bridge, "../program.py")
    assert done.stdout == f"helper {tmp_path}\n", done.stderr


@pytest.mark.quick
def test_another_package_that_imports_the_bridge_keeps_its_path(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import estimator_bridge\nimport helper\n")
    (tmp_path / "mine" / "__main__.py").write_text("import sys\nprint(sys.path[0])\n")
    (tmp_path / "helper.py").write_text("")
    done = run(tmp_path, "-m", "mine")
    assert done.stdout == f"{tmp_path}\n", done.stderr


@pytest.mark.quick
def test_prepend_puts_the_folder_back_once(tmp_path):
    (tmp_path / "mine.py").write_text("VALUE = 3\n")
    code = (
        "import sys; from estimator_bridge.command_line import current_folder as folder\n"
        "folder.prepend(); folder.prepend(); import mine\n"
        "print(mine.VALUE, sys.path.count(sys.path[0]))\n"
    )
    # As in a console script, the first entry is the folder of the script.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "program").write_text(code)
    done = run(tmp_path, "bin/program")
    assert done.stdout == "3 1\n", done.stderr
