"""What setup.py requires beside each TensorFlow, from a wheel and from source."""

import runpy
from pathlib import Path

import pytest
import setuptools
from packaging.requirements import Requirement

from estimator_bridge.versions import CANDIDATE, SUPPORTED

pytestmark = [pytest.mark.quick, pytest.mark.newest]

SETUP = Path(__file__).resolve().parent.parent / "setup.py"


@pytest.fixture
def required(monkeypatch):
    """Returns a function of what is installed that gives the requirements: name -> requirement."""

    def require(from_source, **installed):
        if from_source:
            monkeypatch.setenv("PIP_BUILD_TRACKER", "/tmp/tracker")
        else:
            monkeypatch.delenv("PIP_BUILD_TRACKER", raising=False)
            monkeypatch.delenv("PIP_REQ_TRACKER", raising=False)
        given = {}
        monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
        names = runpy.run_path(str(SETUP))
        pin = names["pin_tensorflow"]
        versions = {name.replace("_", "-"): version for name, version in installed.items()}
        monkeypatch.setitem(pin.__globals__, "_installed", versions.get)
        return [Requirement(one) for one in pin(names["REQUIRED"])]

    return require


def name_all(requirements, python="3.13"):
    kept = [
        one
        for one in requirements
        if not one.marker or one.marker.evaluate({"python_version": python})
    ]
    assert len({one.name for one in kept}) == len(kept)
    return {one.name: one.specifier for one in kept}


@pytest.mark.parametrize("one", SUPPORTED, ids=lambda one: one.tensorflow)
def test_source_keeps_the_installed_tensorflow_and_what_goes_with_it(required, one):
    found = name_all(required(True, tensorflow=one.tensorflow))
    assert str(found["tensorflow"]) == f"=={one.tensorflow}"
    series = one.tensorflow.rpartition(".")[0]
    assert str(found["tf-keras"]) == f"=={series}.*"
    for other in map(Requirement, one.also):
        # NumPy below 2 is a requirement of TensorFlow itself.
        if other.name != "numpy":
            assert found[other.name] == other.specifier, other


@pytest.mark.parametrize(
    "installed",
    [
        {"tensorflow_cpu": "2.21.0"},
        {"tensorflow_rocm": "2.21.0"},
        {"tf_nightly": "2.21.0"},
        {"tensorflow": CANDIDATE.tensorflow},
    ],
    ids=str,
)
def test_source_adds_no_second_tensorflow(required, installed):
    found = name_all(required(True, **installed))
    assert not {"tensorflow", "tf-keras"} & found.keys()
    assert "tensorflow-estimator" in found


@pytest.mark.parametrize("one", SUPPORTED, ids=lambda one: one.tensorflow)
def test_a_wheel_lets_one_command_choose_any_tensorflow(required, one):
    for minor in range(one.python[0][1], one.python[1][1] + 1):
        found = name_all(required(False, tensorflow="2.21.0"), f"3.{minor}")
        assert one.tensorflow in found["tensorflow"]
        assert one.tensorflow.rpartition(".")[0] + ".0" in found["tf-keras"]
        # From 26 on, pyarrow needs NumPy 2, which TensorFlow up to 2.17 does not work with.
        assert "25.0" in found["pyarrow"]
        assert ("26.0" in found["pyarrow"]) == (minor >= 13)
        assert minor < 13 or "numpy<2" not in one.also
