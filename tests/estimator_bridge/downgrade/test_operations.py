"""The table of operations, and what the command refuses before it imports TensorFlow."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from estimator_bridge import downgrade
from estimator_bridge.cli import main
from estimator_bridge.downgrade import operations
from estimator_bridge.versions import SUPPORTED

pytestmark = pytest.mark.quick

TABLE = Path(downgrade.__file__).with_name("operations.json.gz")


def test_the_table_has_every_version_that_the_bridge_supports():
    known = operations.known_versions()
    assert {"1.13", "1.14", "1.15", "2.0", "2.4", "2.5", "2.8", "2.12"} < set(known)
    assert {operations.minor(one.tensorflow) for one in SUPPORTED} < set(known)
    assert known == sorted(known, key=lambda text: tuple(map(int, text.split("."))))
    assert known[-1] == operations.minor(SUPPORTED[-1].tensorflow)


def test_the_table_says_when_an_operation_came_and_went():
    table = json.loads(gzip.decompress(TABLE.read_bytes()))
    versions = list(map(operations.minor, table["versions"]))
    first = {name: versions[changes[0][0]] for name, changes in table["operations"].items()}
    assert first["MatMul"] == "1.13"
    assert first["ParseExampleV2"] == "2.1"
    assert first["DisableCopyOnRead"] == "2.10"
    # An empty definition ends an operation; none begins with one, and each changes something.
    for changes in table["operations"].values():
        assert changes[0][1]
        assert all(one[1] != other[1] for one, other in zip(changes, changes[1:]))
    assert TABLE.stat().st_size < 150_000


def test_a_patch_release_is_that_of_its_version():
    assert operations.find("1.15").version == "1.15.5"
    assert operations.find("1.15.2") == operations.find("1.15")
    # float8 came with 2.12.
    assert 24 in operations.find("2.12").types and 24 not in operations.find("2.8").types


@pytest.mark.parametrize(
    "args, message",
    [
        (["nowhere", "--to=1.15"], "no such file or folder: nowhere"),
        (["nowhere", "--to=1.12"], "no list of operations of TensorFlow 1.12; choose from 1.13,"),
        (["nowhere", "--to=new"], "no list of operations of TensorFlow new; choose from 1.13,"),
        (["gs://bucket", "--to=1.15"], "gs://bucket: name a file or folder in it"),
    ],
)
def test_wrong_arguments_give_one_line(args, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["downgrade", *args]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.iterdir())


def test_it_says_no_without_importing_tensorflow(tmp_path):
    program = (
        "import sys; from estimator_bridge.cli import main\n"
        "assert main(['downgrade', 'nowhere', '--to=1.15']) == 2\n"
        "sys.exit('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
