"""What the doctor says of installed versions; no TensorFlow needed."""

import os
import subprocess
import sys
import tempfile

import pytest

from estimator_bridge import shims, versions
from estimator_bridge.doctor import command as doctor

pytestmark = pytest.mark.versions

GOOD = {
    "2.15.1": {"tensorflow-estimator": "2.15.0", "keras": "2.15.0", "numpy": "1.26.4"},
    "2.16.2": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.16.0", "numpy": "1.26.4"},
    "2.18.1": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.18.0", "numpy": "2.0.2"},
    "2.20.0": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.20.1", "protobuf": "6.33.0"},
    "2.21.0": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.21.0", "protobuf": "7.1.0"},
    "2.22.0rc0": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.21.0", "protobuf": "7.1.0"},
    "2.22.0": {"tensorflow-estimator": "2.15.0", "tf-keras": "2.22.0", "protobuf": "7.1.0"},
}


@pytest.mark.parametrize("tensorflow", GOOD)
def test_tested_combinations_have_no_findings(tensorflow):
    assert doctor.examine({"tensorflow": tensorflow, **GOOD[tensorflow]}, (3, 11)) == []


@pytest.mark.parametrize(
    ("tensorflow", "changed", "python", "what", "remedy"),
    [
        (None, {}, (3, 11), "not installed", "pip install tensorflow==2.21.0 'tf-keras==2.21.*'"),
        (None, {}, (3, 9), "not installed", "tensorflow==2.20.0"),
        (None, {}, (3, 14), "Python 3.14", "use Python 3.9 to 3.13"),
        ("2.12.0", {}, (3, 11), "2.12.0 is not one of the tested", "tensorflow==2.15.1"),
        ("2.16.2", {}, (3, 13), "no wheel for Python 3.13", "use Python 3.9 to 3.12"),
        ("2.16.2", {"numpy": "2.1.0"}, (3, 11), "numpy is 2.1.0", "pip install 'numpy<2'"),
        ("2.20.0", {"protobuf": "7.0.0"}, (3, 11), "protobuf is 7.0.0", "'protobuf<7'"),
        ("2.21.0", {"tf-keras": "2.20.1"}, (3, 11), "tf-keras is 2.20.1", "'tf-keras==2.21.*'"),
        ("2.21.0", {"tf-keras": None}, (3, 11), "tf-keras is absent", "'tf-keras==2.21.*'"),
        ("2.22.0rc0", {"tf-keras": "2.20.1"}, (3, 11), "tf-keras is 2.20.1", "'tf-keras==2.21.*'"),
        ("2.23.0", {}, (3, 11), "2.23.0 is not one of the tested", "tensorflow==2.21.0"),
        ("2.15.1", {"keras": "3.1.0"}, (3, 11), "keras is 3.1.0", "'keras==2.15.*'"),
        ("2.21.0", {"tensorflow-estimator": None}, (3, 11), "absent", "--no-deps"),
    ],
)
def test_each_wrong_combination_has_a_remedy(tensorflow, changed, python, what, remedy):
    found = {"tensorflow": tensorflow, **GOOD.get(tensorflow, {}), **changed}
    findings = doctor.examine(found, python)
    assert len(findings) == 1
    assert what in findings[0].what and remedy in findings[0].remedy


def test_a_trial_that_is_killed_leaves_no_folder(monkeypatch):
    folders = []

    def run(command, env, **options):
        folders.append(tempfile.mkdtemp(dir=env["TMPDIR"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(KeyboardInterrupt):
        doctor._run_trials()
    assert len(folders) == 1 and not os.path.exists(folders[0])


def test_versions_compare_as_numbers():
    assert versions.parse("2.16.2rc1") == (2, 16, 2)
    assert versions.parse("2.9") < versions.parse("2.15.1")
    assert versions.parse("unknown") == ()


def test_few_shims_are_needed_on_2_15():
    names = [shim.name for shim in shims.needed_by((2, 15, 1))]
    assert names == ["sparse gradients", "boosted trees"]
    for later in ((2, 16, 2), (2, 22, 0)):
        assert shims.needed_by(later) == shims.ALL


def test_doctor_without_trials_imports_no_tensorflow():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "estimator_bridge", "doctor", "--no_trial"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "a tested combination." in done.stdout or "a pre-release." in done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) < 26 and max(map(len, lines)) <= 80, done.stdout
    assert "| tensorflow\n" not in done.stderr


@pytest.mark.smoke
def test_doctor_runs_its_trials():
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "doctor"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for trial in (
        "train_and_evaluate",
        "predict and export",
        "model_to_estimator",
        "a TensorFlow 1.x program",
    ):
        line = next(line for line in done.stdout.splitlines() if line.strip().startswith(trial))
        assert line.rstrip().endswith(" s")
    assert len(done.stdout.splitlines()) <= 36


@pytest.mark.parametrize("named", ["", "their_library"])
def test_doctor_lists_the_libraries_kept_on_tensorflow_2(monkeypatch, capsys, named):
    monkeypatch.setenv("ESTIMATOR_BRIDGE_TF2_PACKAGES", named)
    doctor.main(["--no_trial"])
    text = capsys.readouterr().out
    assert f"ESTIMATOR_BRIDGE_TF2_PACKAGES ({named or 'not set'})" in text
    assert "TPUs: TPUEstimator runs with use_tpu=False" in text


def test_two_builds_of_tensorflow_in_one_folder_are_found():
    assert doctor.compare_builds({"tensorflow-cpu": "2.18.1"}) == []
    (finding,) = doctor.compare_builds({"tensorflow": "2.21.0", "tensorflow-cpu": "2.18.1"})
    assert "tensorflow 2.21.0 and tensorflow-cpu 2.18.1" in finding.what
    assert finding.remedy.startswith("pip uninstall tensorflow tensorflow-cpu, then")
    assert finding.remedy.endswith("pip install tensorflow-cpu==2.18.1")
