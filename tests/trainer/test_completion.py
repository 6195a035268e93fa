"""The completion of commands and flags, in real shells."""

import io
import shutil
import subprocess
from contextlib import redirect_stdout

import pytest

from trainer import completion
from trainer.command_line import COMMANDS, SUBCOMMANDS
from trainer.errors import UserError
from trainer.history import command as runs
from trainer.pipelines import command as pipeline
from trainer.vertex import __main__ as vertex

pytestmark = [
    pytest.mark.newest,
    pytest.mark.quick,
    pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning"),
]


def _write(shell):
    with redirect_stdout(io.StringIO()) as stream:
        assert completion.main([shell]) == 0
    return stream.getvalue()


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "bash"
    path.write_text(_write("bash"))

    def complete(*words):
        program = (
            f"source {path}; compopt() {{ :; }}; COMP_WORDS=(estimator-trainer {' '.join(words)});"
            f"COMP_CWORD={len(words)}; _estimator_trainer; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        return done.stdout.split()

    return complete


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["ev"], ["evaluate"]),
        (["task", "--hidd"], ["--hidden_units="]),
        (["task", "--dry"], ["--dry_run"]),
        (["task", "--model.type"], ["--model.type="]),
        (["task", "--optimizer", "=", "ad"], ["adagrad", "adam"]),
        (["task", "--optimizer", "="], ["adagrad", "adam", "sgd", "momentum", "rmsprop", "ftrl"]),
        (["predict", "--format", "=", "p"], ["parquet"]),
        (["runs", "co"], ["compare"]),
        (["launch", "--work"], ["--workers="]),
        (["launch", "--", "--hidd"], ["--hidden_units="]),
    ],
)
def test_bash_completes(bash, words, wanted):
    assert bash(*words) == wanted


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_each_script_has_every_command_and_is_valid(shell, tmp_path):
    text = _write(shell)
    assert all(command in text for command in COMMANDS)
    assert "train.max_steps" in text and "importance_rows" in text
    # zsh and fish are not on every machine.
    if shutil.which(shell):
        (tmp_path / "script").write_text(text)
        done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


# A line, and what a shell completes its last word to.
LINES = [
    ("tas", "task"),
    ("runs co", "compare"),
    ("task --data.shuffle_r", "--data.shuffle_rows"),
    ("predict --data=report --overw", "--overwrite"),
    ("launch -- --hidd", "--hidden_units"),
]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(("line", "wanted"), LINES)
def test_fish_completes(line, wanted, tmp_path):
    (tmp_path / "script").write_text(_write("fish"))
    asked = f"source {tmp_path}/script; complete -C '{completion.PROGRAM} {line}'"
    done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, timeout=60)
    found = [each.partition("\t")[0].rstrip("=") for each in done.stdout.splitlines()]
    assert found == [wanted], done.stderr


def test_the_words_of_commands_are_those_that_they_know(monkeypatch):
    assert SUBCOMMANDS["completion"] == completion.SHELLS
    assert SUBCOMMANDS["runs"] == tuple(runs.COMMANDS)
    assert SUBCOMMANDS["pipeline"] == tuple(pipeline.WORDS)
    with pytest.raises(UserError) as raised:
        vertex._main(["nonsense"])
    assert f"use {', '.join(SUBCOMMANDS['vertex'])} (" in str(raised.value)
    for command in ("kubernetes", "schema", "vertex"):
        for word in (*SUBCOMMANDS[command], "nonsense"):
            monkeypatch.setitem(completion.SUBCOMMANDS, command, (word,))
            assert bool(completion.list_flags(command)) == (word != "nonsense"), word


@pytest.mark.long
def test_the_program_writes_the_flags_of_every_command(run_module):
    done = run_module("trainer", "completion", "bash")
    assert done.returncode == 0, done.stderr
    assert all(f"--{flag}" in done.stdout for flag in ("job_dir", "may_be_first", "rest_api_port"))


def test_an_unknown_shell_is_one_line():
    with pytest.raises(UserError, match="'tcsh': no such shell; use bash, zsh, fish"):
        completion.main(["tcsh"])
