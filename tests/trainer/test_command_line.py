"""The program estimator-trainer: its commands need TensorFlow for their work only."""

import json
import subprocess
import sys

import pytest

from trainer.command_line import COMMANDS

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--nonsense=1", 2)])
def test_help_and_a_wrong_flag_need_no_tensorflow(command, argument, status):
    program = (
        "import sys; sys.modules['tensorflow'] = None; from trainer.command_line import main;"
        f"sys.exit(main([{command!r}, {argument!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    if status:
        assert len(done.stderr.splitlines()) == 1


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, timeout=60
    )


def test_the_configuration_is_printed_without_a_job(tmp_path):
    words = ("trainer.task", "--hparams=census", "--batch_size=7", "--print_config")
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "mine.yaml"
    path.write_text(done.stdout)
    again = run("trainer.task", f"--hparams={path}", "--print_config")
    assert again.stdout == done.stdout and "batch_size: 7" in done.stdout
    wrong = run("trainer.task", "--batch_size=no", "--print_config")
    assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1


def test_editors_get_a_json_schema_of_the_presets():
    done = run("trainer.task", "--print_json_schema")
    schema = json.loads(done.stdout)
    sections = schema["properties"]
    train = schema["$defs"][sections["train"]["$ref"].rpartition("/")[2]]
    assert train["properties"]["batch_size"]["description"].startswith("rows per step")
    assert schema["additionalProperties"] is False


def test_an_unknown_command_of_the_bridge_is_one_line():
    done = run("estimator_bridge", "audti")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "estimator_bridge: no such command: 'audti' (did you mean audit?); "
        "--help lists the commands\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_its_version(command):
    done = run(f"trainer.{command}", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("estimator-trainer ")
