"""A damaged export: every command names the file and the remedy in one line."""

import shutil
from pathlib import Path

import pytest

from trainer.gating import command as gate
from trainer.prediction import command as predict
from trainer.release import push_command as push
from trainer.serving import command as serve

pytestmark = pytest.mark.newest

REMEDY = "; copy the whole export again, or export anew"
GRAPH, INDEX = "saved_model.pb", "variables/variables.index"
DATA = "variables/variables.data-00000-of-00001"


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("name", "damage", "problem"),
    [
        (GRAPH, cut, f"{GRAPH}: damaged, or cut off"),
        (GRAPH, empty, f"{GRAPH}: damaged, or cut off"),
        (INDEX, Path.unlink, f"{INDEX}: missing"),
        (INDEX, cut, f"{INDEX}: damaged, or cut off"),
        (DATA, Path.unlink, f"{DATA}: missing"),
        (DATA, cut, f"{DATA}: cut off, "),
        (DATA, lambda path: path.write_bytes(bytes(path.stat().st_size)), "variables: damaged: "),
    ],
)
def test_a_damaged_file_is_named(trained, shop, tmp_path, capsys, name, damage, problem):
    export, data = tmp_path / "7", f"--data={shop}/eval.csv"
    shutil.copytree(trained().export, export)
    damage(export / name)
    commands = [
        (predict, [f"--export={export}", "--row={}"]),
        (predict, [f"--export={export}", data, f"--output={tmp_path}/out.csv"]),
        (gate, [f"--candidate={export}", "--may_be_first", f"--baseline={tmp_path}/none", data]),
        (serve, [str(export)]),
    ]
    if not problem.startswith("variables: "):
        # What only loading shows, it does not know.
        force = ["--force", "--reason=a test"]
        commands.append((push, [f"--export={export}", f"--to={tmp_path}/served", *force]))
    for command, words in commands:
        status = command.main(words)
        output, errors = capsys.readouterr()
        line = errors.splitlines()[-1]
        assert status == 2, (words, output, errors)
        assert line.startswith("error: ") and f"export {export}: " in line, line
        assert problem in line and line.endswith(REMEDY), line
        assert errors.count(REMEDY) == 1, errors
