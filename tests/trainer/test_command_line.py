"""The program estimator-trainer: its commands need TensorFlow for their work only."""

import json
import os
import subprocess
import sys

import pytest

from trainer.command_line import COMMANDS

pytestmark = [pytest.mark.quick, pytest.mark.newest]


# Forks for each line of words, because absl registers the flags of one command only: the child has
# its output in files N.out and N.err. What the commands need of other packages is imported once.
ASK = """
import gc, json, os, runpy, sys
sys.modules["tensorflow"] = None
import http.client, numpy, pyarrow.parquet
import trainer.config, trainer.console, trainer.schema, trainer.storage
from trainer.command_line import main
gc.freeze()
statuses = []
for number, words in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if not child:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream)
        if words[-1] != "--version":
            sys.exit(main(words))
        sys.argv = words
        runpy.run_module("trainer." + words[0], run_name="__main__", alter_sys=True)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
json.dump(statuses, sys.stdout)
"""
# Command line → start of the message.
MISTAKES = {
    ("vertex",): "no command given; use package, render",
    ("kubernetes",): "no command given; write render",
    ("engines",): "no command given; write render",
    ("schema",): "no command given; use infer or check",
    ("engines", "rendre"): "'rendre': no such command; write render",
    ("vertex", "render", "--name"): "--name: the value is missing; write --name=VALUE",
    ("vertex", "render", "--workers=x"): "--workers=x: write a non-negative integer",
    ("kubernetes", "render", "--kind=pods"): "--kind=pods: write one of jobs, jobset, trainjob",
    ("kubernetes", "render"): "--name: not given, but required: name of the job (--help lists",
    ("push", "--keep=0"): "--keep=0: write a positive integer",
    ("push", "--list=models"): "--list=models: write --list or --nolist, without a value",
    ("vertex", "rehearse"): "--job: not given, but required: job file that render has written",
    ("vertex", "submit", "--job=missing.yaml", "--project=p"): "job missing.yaml: No such file",
    ("vertex", "submit", "--", "--batch_size=3"): "submit takes no flags after --",
    (
        *("kubernetes", "render", "--name=x", "--image=a/b:1", "--command=gate"),
        *("--", "--candidate=gs://a-bucket/job"),
    ): "after --: --data: not given, but required: data files",
}
ASKED = [
    (command, argument)
    for command in COMMANDS
    for argument in ("--help", "--nonsense=1", "--version")
] + list(MISTAKES)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """(command, argument) -> exit status, output and errors, in processes without TensorFlow."""
    folder = tmp_path_factory.mktemp("answers")
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(ASKED),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    texts = [
        [(folder / f"{number}.{name}").read_text() for name in ("out", "err")]
        for number in range(len(ASKED))
    ]
    return {
        asked: (status, *text) for asked, status, text in zip(ASKED, json.loads(done.stdout), texts)
    }


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_a_wrong_flag_need_no_tensorflow(command, answers):
    status, text, _ = answers[command, "--help"]
    assert status == 0 and text.count("\n") > 5
    # A line of one long word cannot be wrapped.
    assert not [line for line in text.splitlines() if len(line) > 80 and " " in line.strip()]
    status, _, errors = answers[command, "--nonsense=1"]
    assert status == 2 and len(errors.splitlines()) == 1


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_one_line_with_a_remedy(words, answers):
    status, text, errors = answers[words]
    assert (status, text) == (2, "")
    assert errors.startswith(f"error: {MISTAKES[words]}") and len(errors.splitlines()) == 1


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, timeout=60
    )


@pytest.mark.long
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
def test_every_command_shows_its_version(command, answers):
    status, text, errors = answers[command, "--version"]
    assert (status, errors) == (0, "")
    assert text.startswith("estimator-trainer ")
