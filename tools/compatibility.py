"""Runs the tests of public projects on the oldest and the newest TensorFlow, and counts them.

    make compatibility [ARGS='--projects=tf-slim --environments=.venv/tf2.15-py3.11,...']

Fetches each project with pip, and runs the test files of its wheel: on 2.15.1 without the bridge,
and on the newest TensorFlow under `python -m estimator_bridge run` (with --tf1 for a project of
TensorFlow 1.x). If a wheel contains no tests, the programs of tools/compatibility_uses are run
instead. Writes the results to the table of docs/parity.md; the rows of projects that are not run
stay as they are.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs/parity.md"
BEGIN, END = (
    "<!-- compatibility: written by `make compatibility` -->",
    "<!-- end of compatibility -->",
)
USES = ROOT / "tools/compatibility_uses"
HEAD = "| project | tests | 2.15.1: passed, failed, skipped | {}: passed, failed, skipped |"
OPTIONS = [
    "-q",
    "--continue-on-collection-errors",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore",
    "-o",
    "addopts=",
]


class Project(NamedTuple):
    """A project of the package index.

    Attributes:
      version: its version on the package index.
      tests: patterns of its test files in the wheel; () for uses of this repository.
      needs: requirements that it has beside TensorFlow.
      oldest: what replaces some of them on the oldest TensorFlow.
      tf1: whether it is of TensorFlow 1.x, and runs with --tf1.
    """

    version: str
    tests: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    oldest: tuple[str, ...] = ()
    tf1: bool = False


PROJECTS = {
    "tf-slim": Project(
        "1.1.0",
        # Without its layers, whose tests take an hour.
        ("tf_slim/data/*_test.py", "tf_slim/losses/*_test.py", "tf_slim/training/*_test.py"),
    ),
    "tensorflow-gan": Project(
        "2.1.0",
        ("tensorflow_gan/python/**/*_test.py",),
        ("tensorflow-hub==0.16.1", "tensorflow-probability==0.25.0", "dm-tree", "cloudpickle",
         "decorator", "six"),
        ("tensorflow-probability==0.23.0",),
    ),
    "adanet": Project("0.9.0", needs=("six", "mock==3.0.5")),
    "deepctr": Project("0.9.4", needs=("requests", "h5py")),
    "tensor2tensor": Project(
        "1.12.0",
        # The others take hours, or need data sets of the network.
        ("tensor2tensor/layers/common_*_test.py", "tensor2tensor/utils/*_test.py"),
        ("six", "future", "sympy", "mpmath", "tqdm", "requests", "mesh-tensorflow==0.1.9",
         "tensorflow-probability==0.25.0", "dm-tree", "cloudpickle", "decorator"),
        ("tensorflow-probability==0.23.0",),
        tf1=True,
    ),
    "tensorflow-ranking": Project(
        "0.5.5", needs=("tensorflow-serving-api==2.21.0", "six"),
        oldest=("tensorflow-serving-api==2.15.1",),
    ),
}  # fmt: skip


def fetch(name, project, python, folder, is_newest):
    """Installs a project and what it needs into a folder; returns its test files."""
    replaced = () if is_newest else project.oldest
    names = {one.partition("==")[0] for one in replaced}
    kept = [one for one in project.needs if one.partition("==")[0] not in names]
    requirements = [f"{name}=={project.version}", *kept, *replaced]
    wheels, packages = folder / "wheels", folder / "packages"
    command = [python, "-m", "pip", "download", "-q", "--no-deps", "--dest", wheels, *requirements]
    subprocess.run(command, check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    if not project.tests:
        return packages, [USES / f"use_{name.replace('-', '_')}.py"]
    return packages, sorted(path for one in project.tests for path in packages.glob(one))


def count(python, packages, files, options, folder):
    """Runs test files; returns [passed, failed, skipped].

    Args:
      python: path of a Python with TensorFlow.
      packages: folder of the packages that the files import.
      files: paths of the files.
      options: options of `estimator_bridge run`; None without the bridge.
      folder: folder for results.
    """
    results = folder / "results.xml"
    is_newest = options is not None
    bridge = ["-m", "estimator_bridge", "run", *options] if is_newest else []
    command = [python, *bridge, "-m", "pytest", *OPTIONS, f"--junitxml={results}", *files]
    paths = [str(packages), *([str(ROOT)] if is_newest else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": ""}
    log = folder / "log.txt"
    with log.open("w") as stream:
        subprocess.run(
            command, env=environment, stdout=stream, stderr=subprocess.STDOUT, cwd=folder
        )
    if not results.exists():
        raise SystemExit(
            f"pytest wrote no results; its output ends with: {log.read_text()[-3000:]}"
        )
    counts = [0, 0, 0]
    failed = []
    for case in ElementTree.parse(results).iter("testcase"):
        kinds = {part.tag for part in case}
        outcome = 1 if kinds & {"failure", "error"} else 2 if "skipped" in kinds else 0
        counts[outcome] += 1
        if outcome == 1:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    for name in failed:
        print(f"    failed: {name}")
    return counts


def measure(names, environments):
    """Runs each project on both TensorFlows, and writes its row."""
    versions = []
    for environment in environments:
        python = str(ROOT / environment / "bin/python")
        asked = "import importlib.metadata as m; print(m.version('tensorflow'))"
        done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
        versions.append(done.stdout.strip())
    for name in names:
        project = PROJECTS[name]
        cells = []
        for environment, version in zip(environments, versions):
            python = str(ROOT / environment / "bin/python")
            with tempfile.TemporaryDirectory() as folder:
                is_newest = environment != environments[0]
                packages, files = fetch(name, project, python, Path(folder), is_newest)
                mode = (["--tf1"] if project.tf1 else []) if is_newest else None
                found = count(python, packages, files, mode, Path(folder))
            print(f"{name} {project.version} on {version}: {found}", flush=True)
            cells.append(", ".join(map(str, found)))
        tests = f"{len(files)} test files of the project"
        tests = tests if project.tests else "programs of this repository"
        row = f"| {name} {project.version} | {tests} | {' | '.join(cells)} |"
        write(versions[-1], {name: row})


def write(version, rows):
    """Writes the table; rows of projects that were not run stay."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {
        match[1]: match[0] for match in re.finditer(r"^\| (\S+) [\d.]+ \|.*$", old, re.MULTILINE)
    }
    lines = [HEAD.format(version), "|---|---|---|---|"]
    lines += [row for _, row in sorted({**kept, **rows}.items())]
    table = "\n".join(lines)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--projects", default=",".join(PROJECTS), help="names, separated by commas")
    parser.add_argument(
        "--environments",
        default=".venv/tf2.15-py3.11,.venv/tf2.21-py3.13",
        help="environments made by `make environment`: the oldest TensorFlow, then the newest",
    )
    options = parser.parse_args()
    names = options.projects.split(",")
    unknown = sorted(set(names) - set(PROJECTS))
    if unknown:
        known = ", ".join(PROJECTS)
        print(f"--projects: no such project: {', '.join(unknown)}; use {known}", file=sys.stderr)
        return 2
    measure(names, options.environments.split(","))
    return 0


if __name__ == "__main__":
    sys.exit(main())
