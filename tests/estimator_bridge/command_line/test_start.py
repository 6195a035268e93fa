"""What a command does first: closed streams, locales without an encoding, a deleted folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

ROOT = Path(__file__).resolve().parents[3]


def run(words, cwd, before="", **variables):
    """Runs a command in a shell that first runs `before`, for instance to close streams."""
    return subprocess.run(
        ["sh", "-c", f'{before} "$@"', "sh", sys.executable, "-m", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
    )


@pytest.fixture
def jobs(tmp_path):
    folder = tmp_path / "jobs" / "größe"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("train: {}\n")
    return tmp_path


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["trainer.runs list", "trainer", "estimator_bridge audit jobs"])
def test_closed_streams_are_opened(jobs, closed, words):
    done = run(words.split(), jobs, f"exec {closed};")
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr


def test_a_file_does_not_get_the_number_of_a_closed_stream(jobs):
    program = "import os, sys, trainer.errors; sys.exit(os.open('new', os.O_CREAT | os.O_RDWR))"
    (jobs / "difflib.py").write_text(program)
    # difflib is imported after the streams were opened.
    done = run(["trainer.runs"], jobs, "exec >&- 2>&-;", PYTHONPATH=f"{jobs}:{ROOT}")
    assert done.returncode > 2


def test_every_character_can_be_printed(jobs):
    (jobs / "data.csv").write_text("größe,label\n" + "1.5,0\n2.5,1\n" * 20, encoding="utf-8")
    words = ["trainer.schema", "infer", "--data=data.csv", "--label=label"]
    done = run(words, jobs, PYTHONUTF8="0", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, "") and "größe" in done.stdout


@pytest.mark.parametrize("words", ["trainer.runs list", "trainer", "estimator_bridge audit ."])
def test_a_deleted_folder_is_told(tmp_path, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = run(words.split(), gone, f"rmdir {gone};")
    assert done.stderr == "error: the current folder has been deleted; change to another one\n"
    assert done.returncode == 2


def test_a_program_of_the_user_may_run_in_a_deleted_folder(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "program.py").write_text("import trainer; print('runs')")
    before = f"rmdir {gone}; exec {sys.executable} {tmp_path / 'program.py'};"
    assert run([], gone, before).stdout == "runs\n"


@pytest.mark.parametrize("words", ["trainer.schema --help", "estimator_bridge doctor --no_trial"])
def test_a_full_disk_is_told_in_one_line(tmp_path, words):
    done = run(words.split(), tmp_path, "exec >/dev/full;")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "No space left on device; make room" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "trainer --help",
        "trainer.schema --help",
        "trainer.task --helpfull",
        "trainer.task --hparams=census --print_config",
        "trainer.runs list --folder=.",
        "estimator_bridge --help",
        "estimator_bridge audit --help",
        "estimator_bridge doctor --no_trial",
    ],
)
def test_a_reader_that_has_gone_is_no_error(tmp_path, words):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        done = subprocess.run(
            [sys.executable, "-m", *words.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.stderr == "" and done.returncode in (0, 1)
