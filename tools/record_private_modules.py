"""Records the private modules of each TensorFlow version.

    python tools/record_private_modules.py [--work=FOLDER]

Updates "modules" and "gone" of estimator_bridge/audit/symbols/private.json. It fetches a wheel of
each version in record_operations.WHEELS with pip, and reads only its list of files. Nothing is
installed, and no other Python is needed. The wheels take 6 GB; --work keeps the results for another
run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from record_operations import PLATFORMS, WHEELS

TARGET = Path(__file__).resolve().parents[1] / "estimator_bridge/audit/symbols/private.json"
TOPS = ("tensorflow.python", "tensorflow.core")
# The name of the package in the wheels of 1.15 to 2.1.
OTHER_ROOT = "tensorflow_core."


def modules_of(files):
    """Returns the private modules and packages among the files of a TensorFlow.

    Args:
      files: paths below site-packages, with `/`.
    """
    found = set()
    for file in files:
        folder, _, name = file.rpartition("/")
        stem, _, suffix = name.partition(".")
        # Libraries such as libtfkernel_sobol_op.so are no modules.
        is_module = suffix == "py" or (suffix.endswith("so") and stem.startswith("_"))
        if not is_module:
            continue
        parts = folder.split("/") + ([] if stem == "__init__" else [stem])
        # Old wheels have the modules in tensorflow-1.13.2.data/purelib.
        dotted = ".".join(parts[2:] if parts[0].endswith(".data") else parts)
        if dotted.startswith(OTHER_ROOT):
            dotted = "tensorflow." + dotted[len(OTHER_ROOT) :]
        # A folder without an __init__ is a namespace package.
        while dotted.startswith(TOPS) and dotted not in found:
            found.add(dotted)
            dotted = dotted.rpartition(".")[0]
    return found


def read(version, python, distribution, work):
    """Returns the private modules of a version."""
    kept = work / f"{version}.modules"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=work) as folder:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", folder]
            command += ["--no-cache-dir", "--only-binary=:all:", f"--python-version={python}"]
            command += [f"--platform={platform}_x86_64" for platform in PLATFORMS]
            subprocess.run([*command, f"{distribution}=={version}"], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                found = sorted(modules_of(archive.namelist()))
        kept.write_text("\n".join(found), encoding="utf-8")
    return set(kept.read_text(encoding="utf-8").split())


def fates(listed):
    """Returns (modules of the newest version, removed module -> first version without it).

    Args:
      listed: (version, modules) of each version, oldest first.
    """
    present = listed[-1][1]
    gone = {}
    for (_, before), (version, now) in zip(listed, listed[1:]):
        for module in before - now - present:
            gone[module] = ".".join(version.split(".")[:2])
    return present, gone


def in_lines(words):
    """Returns JSON of a list, filled to lines."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > 98:
            lines.append("")
        lines[-1] += ("" if not lines[-1] else " ") + word + ","
    return "\n".join(lines).rstrip(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", help="folder that keeps the results for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        present, gone = fates([(wheel[0], read(*wheel, work)) for wheel in WHEELS])
    table = json.loads(TARGET.read_text(encoding="utf-8"))
    table["modules"], table["gone"] = sorted(present), dict(sorted(gone.items()))
    rooms = []
    for key, value in table.items():
        is_list = isinstance(value, list)
        words = map(json.dumps, value)
        if not is_list:
            words = [f"{json.dumps(name)}: {json.dumps(value[name])}" for name in value]
        start, end = "[]" if is_list else "{}"
        rooms.append(f'"{key}": {start}\n{in_lines(words)}\n{end}')
    TARGET.write_text("{\n" + ",\n".join(rooms) + "\n}\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(present)} modules, {len(gone)} removed")


if __name__ == "__main__":
    main()
