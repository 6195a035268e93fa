"""What an uncaught error shows of a secret, and errors of the system as one line."""

import errno
import os
import shutil
import subprocess
import sys

import pytest

from estimator_bridge.errors import BridgeError, describe_os_error
from trainer import task
from trainer.config import commands
from trainer.errors import UserError
from trainer.job_dir.full_disk import translate_full_disk

pytestmark = pytest.mark.quick

READ = "from trainer.environment.variables import read_secret; s = read_secret('key', 'API_KEY'); "
THREAD = """
import threading
def fail():
    raise ValueError(s)
thread = threading.Thread(target=fail)
thread.start()
thread.join()
"""


def test_an_error_of_the_bridge_is_one_line_of_each_command(capsys):
    def main(argv):
        raise BridgeError("tf-keras is not installed. Install it")

    assert commands.run(main, []) == 2
    assert capsys.readouterr().err == "error: tf-keras is not installed. Install it\n"


@pytest.mark.parametrize("program", ["{}['a' + s]", THREAD])
def test_an_uncaught_traceback_shows_the_name_of_a_secret(make, program):
    done = subprocess.run(
        [sys.executable, "-c", READ + "\n" + program],
        env={**os.environ, "API_KEY": "hunter2-hunter2", "PYTHONPATH": str(make.root)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" in done.stderr and "<secret.key>" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_full_disk_is_one_line_whoever_says_so(capsys):
    """TensorFlow's errors are none of the system."""

    def write(argv):
        raise RuntimeError("/data/p.tfrecord;\nNo space left on device")

    def fail(argv):
        raise RuntimeError("another")

    assert commands.run(write, []) == 2
    assert capsys.readouterr().err == (
        "error: the disk is full (/data/p.tfrecord; No space left on device); make room, or name "
        "another place\n"
    )
    with pytest.raises(RuntimeError, match="another"):
        commands.run(fail, [])


def test_a_file_beyond_the_limit_is_no_full_disk(tmp_path):
    told = "raise the limit .ulimit -f. .*no checkpoint has been"
    with pytest.raises(UserError, match=told), translate_full_disk(str(tmp_path)):
        raise OSError(errno.EFBIG, "File too large")


def test_a_summary_that_cannot_be_written_is_no_full_disk_of_the_job(monkeypatch, tmp_path):
    told = "standard output: No space .* summary.txt in job_dir"
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(UserError, match=told), translate_full_disk(str(tmp_path)):
            task._show_summary("text")


def test_an_error_of_the_system_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "x").read_text()
    assert describe_os_error(missing.value) == (
        f"{tmp_path / 'x'}: No such file or directory; check the path"
    )
    with pytest.raises(shutil.Error) as copied:
        (tmp_path / "from").mkdir()
        (tmp_path / "from" / "link").symlink_to("nowhere")
        shutil.copytree(tmp_path / "from", tmp_path / "to")
    assert "No such file" in describe_os_error(copied.value)
    with pytest.raises(ConnectionResetError):
        describe_os_error(ConnectionResetError(104, "reset"))
