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
    "pyarrow>=18",
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


def pin_tensorflow(required):
    """Returns the requirements, pinned to an installed TensorFlow where pip builds from source.

    A prebuilt image has a TensorFlow that fits its drivers, and seldom a tf-keras; the newest
    tf-keras would replace that TensorFlow. A wheel may be carried to another machine, so only an
    installation from source is pinned.
    """
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    found = next(iter(metadata.distributions(name="tensorflow", path=sorted(folders))), None)
    minor = re.match(r"2\.(15\.[1-9]|1[6-9]\.|2[01]\.)", found.version) if found else None
    if minor is None or not {"PIP_BUILD_TRACKER", "PIP_REQ_TRACKER"} & {*os.environ}:
        return required
    series = ".".join(found.version.split(".")[:2])
    pinned = {"tensorflow": f"tensorflow=={found.version}", "tf-keras": f"tf-keras=={series}.*"}
    if series in ("2.15", "2.16", "2.17"):
        # They need NumPy 1; pyarrow needs NumPy 2 from version 26 on.
        pinned["pyarrow"] = "pyarrow>=18,<26"
    return [pinned.get(re.match(r"[\w.-]+", one).group(), one) for one in required]


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
