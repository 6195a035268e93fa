"""What pyproject.toml cannot say: requirements that depend on the machine, and the presets."""

import os
import re
import shutil
import site
import sysconfig
from importlib import metadata
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
# Presets, schemas and their vocabulary files. Nothing else in the folder is distributed.
PRESETS = ("*.yaml", "*.txt")

REQUIRED = [
    "absl-py>=1.4",
    # gs:// paths: new TensorFlow wheels have no file system for them.
    "google-cloud-storage>=2.14",
    "matplotlib>=3.5",
    "numpy>=1.23",
    # TensorFlow 2.15 to 2.17 need NumPy 1, and pyarrow needs NumPy 2 from version 26 on. They run
    # on Python up to 3.12, so that the Python tells where an older pyarrow is needed.
    "pyarrow>=18,<26; python_version < '3.13'",
    "pyarrow>=18; python_version >= '3.13'",
    "pydantic>=2.5,<3",
    "PyYAML>=6",
    # TensorBoard up to 2.20 imports pkg_resources, which setuptools 82 no longer has.
    "setuptools<82",
    # TensorFlow 2.21 no longer requires it.
    "tensorboard>=2.15",
    "tensorflow>=2.15.1,<2.22",
    "tensorflow-estimator==2.15.0",
    "tf-keras>=2.15,<2.22",
]


# Other distributions of TensorFlow, all imported as `tensorflow`.
BUILDS = (
    "tensorflow-cpu",
    "tensorflow-intel",
    "tensorflow-rocm",
    "tensorflow-cpu-aws",
    "tf-nightly",
)
# Newer than what REQUIRED allows.
NEXT = re.compile(r"2\.(2[2-9]|[3-9]\d)\.|[3-9]\.")


def pin_tensorflow(required):
    """Returns the requirements, pinned to an installed TensorFlow where pip builds from source.

    A prebuilt image has a TensorFlow that fits its drivers, and seldom a tf-keras; the newest
    tf-keras would replace that TensorFlow. Beside another build of TensorFlow, such as
    tensorflow-cpu, nothing is required that would install `tensorflow` into the same folder, not
    even tf-keras; the bridge tells how to install that. The same holds beside a TensorFlow that is
    newer than the supported ones, which pip would replace. A wheel may be carried to another
    machine, so only an installation from source is pinned.
    """
    if not {"PIP_BUILD_TRACKER", "PIP_REQ_TRACKER"} & {*os.environ}:
        return required
    found = _installed("tensorflow")
    if any(map(_installed, BUILDS)) if found is None else NEXT.match(found):
        return [one for one in required if _name(one) not in ("tensorflow", "tf-keras")]
    minor = re.match(r"2\.(15\.[1-9]|1[6-9]\.|2[01]\.)", found) if found else None
    if minor is None:
        return required
    series = ".".join(found.split(".")[:2])
    pinned = {"tensorflow": f"tensorflow=={found}", "tf-keras": f"tf-keras=={series}.*"}
    # TensorFlow 2.20 uses what protobuf 7 has removed, and does not say so.
    also = ["protobuf<7"] if series == "2.20" else []
    return [*(pinned.get(_name(one), one) for one in required), *also]


def _name(requirement):
    return re.match(r"[\w.-]+", requirement).group()


def _installed(name):
    """Returns the version of a distribution in the environment that pip installs into, or None."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    found = next(iter(metadata.distributions(name=name, path=sorted(folders))), None)
    return found.version if found else None


class BuildWithPresets(build_py):
    """Copies hparams/ into the built `trainer` package, where an installed trainer finds presets.

    An editable install needs no copy: the checkout's own folder is beside the package.
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "trainer", "hparams")
            # A preset that has been renamed must not stay behind in an old build folder.
            shutil.rmtree(target, ignore_errors=True)
            for pattern in PRESETS:
                for path in (HERE / "hparams").rglob(pattern):
                    copy = target / path.relative_to(HERE / "hparams")
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)


setup(install_requires=pin_tensorflow(REQUIRED), cmdclass={"build_py": BuildWithPresets})
