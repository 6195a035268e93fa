"""Records the public names of TensorFlow 2.0 to 2.15, and how `run --as` handles each.

    python tools/record_tf2_names.py [--work=FOLDER] [--kept]

Writes two files in tests/estimator_bridge/era/names/. `names.json.gz` contains the names of each
version. `table.json` contains the names that the installed TensorFlow lacks, and how the bridge
handles each of them. The program fetches a wheel of each version with pip, and reads the files that
declare the public names. Nothing is installed, and no other Python is needed. The wheels take 7 GB;
--work keeps the results for another run. With --kept, only table.json is written. This needs the
environment of `make environment`.
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from record_operations import PLATFORMS, WHEELS

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "tests/estimator_bridge/era"
OLDEST, NEWEST = (2, 0), (2, 15)
# From this version on, tf.keras is a package of its own.
KERAS_APART = (2, 6)
# Files that declare public names, and the package that they are. Files of compat.v1.compat and
# compat.v2 repeat others.
PUBLIC = (
    (r"(?:tensorflow|tensorflow_core)/_api/v2/(?:v2/)?(?!compat/v2/|compat/v1/compat/)(.*)", ""),
    (r"(?:(?:tensorflow|tensorflow_core)/python/)?keras/api/_v2/keras/(.*)", "keras/"),
    (r"(?:(?:tensorflow|tensorflow_core)/python/)?keras/api/_v1/keras/(.*)", "compat/v1/keras/"),
    (r"tensorflow_estimator/python/estimator/api/_v2/estimator/(.*)", "estimator/"),
    (r"tensorflow_estimator/python/estimator/api/_v1/estimator/(.*)", "compat/v1/estimator/"),
)
# Operations as such: record_operations.py has them.
LEFT_OUT = ("raw_ops", "compat.v1.raw_ops")

sys.path.insert(0, str(HERE))
import names as stored  # noqa: E402


def package_of(file):
    """Returns the public package that a file declares, '' for `tf` itself; None for other files."""
    if not file.endswith("/__init__.py"):
        return None
    folder = file[: -len("__init__.py")]
    for pattern, prefix in PUBLIC:
        found = re.fullmatch(pattern, folder)
        if found:
            return (prefix + found.group(1)).strip("/").replace("/", ".")
    return None


def names_of(file, source):
    """Yields the public names that a file declares, with their package."""
    package = package_of(file)
    if package is None or package.startswith(LEFT_OUT):
        return
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                if not name.startswith("_"):
                    yield f"{package}.{name}".lstrip(".")


def fetch(requirement, python):
    """Returns the public names that one wheel declares."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", folder]
        command += ["--no-cache-dir", "--only-binary=:all:", f"--python-version={python}"]
        command += [f"--platform={platform}_x86_64" for platform in PLATFORMS]
        subprocess.run([*command, "--platform=any", requirement], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return {
                name
                for file in archive.namelist()
                if package_of(file) is not None
                for name in names_of(file, archive.read(file).decode())
            }


def read(version, python, distribution, work):
    """Returns the public names of a version."""
    kept = work / f"{version}.names"
    if not kept.exists():
        minor = version.rpartition(".")[0]
        wanted = [f"{distribution}=={version}", f"tensorflow-estimator=={minor}.*"]
        if tuple(map(int, minor.split("."))) >= KERAS_APART:
            wanted.append(f"keras=={minor}.*")
        found = set().union(*(fetch(one, python) for one in wanted))
        kept.write_text("\n".join(sorted(found)), encoding="utf-8")
        print(f"{version}: {len(found)} names", flush=True)
    return kept.read_text(encoding="utf-8").split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", help="folder that keeps the results for another run")
    text = "keep names.json.gz, and write only table.json"
    parser.add_argument("--kept", action="store_true", help=text)
    options = parser.parse_args()
    if not options.kept:
        with tempfile.TemporaryDirectory() as temporary:
            work = Path(options.work or temporary)
            work.mkdir(parents=True, exist_ok=True)
            found = {}
            for wheel in WHEELS:
                version = tuple(map(int, wheel[0].split(".")[:2]))
                if OLDEST <= version <= NEWEST:
                    found[".".join(map(str, version))] = read(*wheel, work)
            stored.write(found)
    missing = stored.write_table()
    print("\n".join(missing) or "each name exists, is supplied, or is rejected with a message")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
