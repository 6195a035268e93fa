"""Compares the bridge with TensorFlow 1.15.5 itself: `make parity-1x`.

    python tools/parity_1x.py [AREA ...]

Runs the cases of tests/estimator_bridge/parity_1x/cases on 1.15.5 and stores the results. Then it
runs the cases under the bridge, prints the differences, and writes the table of docs/parity.md.

If the cases and packages of an area are unchanged, its stored results are used. An interrupted run
therefore continues when it is repeated. --anew runs every area on 1.15.5 again.

TensorFlow 1.15.5 is installed in .venv/ with a Python 3.7, which PYTHON37=/path/to/python3.7 names.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARITY = ROOT / "tests/estimator_bridge/parity_1x"
# Version of TensorFlow -> the other packages of its environment. 1.14.0 is the last version with
# tf.contrib.boosted_trees; `--environment=1.14.0` prints its Python.
PACKAGES = {
    "1.15.5": ["protobuf<3.21", "numpy<1.19", "pandas<1.2", "scipy", "h5py<3"],
    "1.14.0": ["protobuf<3.21", "numpy<1.17", "gast==0.2.2", "h5py<3"],
}
START, END = "<!-- parity-1x: written by `make parity-1x` -->", "<!-- end of parity-1x -->"

sys.path.insert(0, str(PARITY))
import compare  # noqa: E402


def goes_on(area):
    """Returns whether the cases of an area continue from a checkpoint, in both directions."""
    return any("checkpoint" in one or "end" in one for one in compare.read(area).values())


def find_python():
    """Returns a Python 3.7, or None."""
    candidates = [os.environ.get("PYTHON37"), shutil.which("python3.7")]
    candidates += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.7.*/bin/python")))
    program = "import sys; print(*sys.version_info[:2])"
    for candidate in filter(None, candidates):
        # A shim of pyenv also exists for a version that is not installed; it fails when run.
        done = shutil.which(candidate) and subprocess.run(
            [candidate, "-c", program], capture_output=True
        )
        if done and done.stdout.split() == [b"3", b"7"]:
            return candidate
    return None


def list_packages(version="1.15.5"):
    """Returns what pip installs for a version of TensorFlow."""
    return [f"tensorflow=={version}", *PACKAGES[version]]


def build_native(python, version="1.15.5"):
    """Makes the environment with a TensorFlow 1.x unless it is there; returns its Python."""
    native = ROOT / ".venv" / f"tf{version.rpartition('.')[0]}-py3.7"
    packages = list_packages(version)
    stamp, inside = native / "installed", str(native / "bin" / "python")
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        print(f"{native.relative_to(ROOT)}: installing {packages[0]}", flush=True, file=sys.stderr)
        subprocess.run([python, "-m", "venv", "--clear", native], check=True)
        install = [inside, "-m", "pip", "install", "-qq", "--no-input"]
        subprocess.run([*install, "--upgrade", "pip"], check=True)
        subprocess.run([*install, *packages], check=True)
        stamp.write_text("\n".join(packages))
    return inside


def start(command, areas, folder, log):
    """Starts a command that runs the cases of areas and writes a file for each into a folder."""
    quiet = {
        "CUDA_VISIBLE_DEVICES": "-1",
        **compare.KERNELS,
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    path = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        [*command, str(PARITY / "measure.py"), str(folder), *areas],
        env={**os.environ, **quiet, **path},
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def run(command, areas, store=lambda area, records: None):
    """Runs the cases of areas with a command.

    Args:
      command: list of strings.
      areas: their names; options may precede them.
      store: called with each area and its records when they are there.

    Returns:
      area -> records.
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as log:
        process = start(command, areas, folder, log)
        try:
            ended = False
            while not ended:
                ended = process.poll() is not None
                for path in sorted(Path(folder).glob("*.json")):
                    found[path.stem] = json.loads(path.read_text())
                    path.unlink()
                    store(path.stem, found[path.stem])
                time.sleep(0 if ended else 0.2)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            log.seek(0)
            sys.exit(log.read()[-4000:])
    return found


def measure_native(command, areas, anew):
    """Stores what the cases of areas compute natively, area after area.

    Args:
      command: Python of TensorFlow 1.15.5, as a list.
      areas: their names.
      anew: whether to run areas whose stored values were computed by the same cases too.
    """
    prints = {area: compare.fingerprint(area, list_packages()) for area in areas}
    measured_by = compare.measured_by()
    stored = {area for area in areas if measured_by.get(area) == prints[area]}
    left = [area for area in areas if anew or area not in stored]
    if len(left) < len(areas):
        print(
            f"{len(areas) - len(left)} of {len(areas)} areas have stored results; --anew runs them "
            "again"
        )

    def store(area, records):
        if area in stored:
            compare.keep_distances(records, compare.read(area))
        show_changes(area, records)
        compare.write(area, records, prints[area])

    if left:
        run(command, left, store)


def show_changes(area, records):
    """Prints the cases whose result on TensorFlow 1.15.5 differs from the stored one.

    The bytes of a SavedModel differ in each run. If only they differ, the stored record is kept.
    """
    try:
        stored = compare.read(area)
    except FileNotFoundError:
        stored = {}
    changed = {}
    for case in sorted(records.keys() & stored.keys()):
        one, other = stored[case], records[case]
        if isinstance(other, dict):
            parts = {part for part in {*one, *other} if one.get(part) != other.get(part)}
            if parts == {"export"}:
                records[case] = one
                continue
            changed[case] = ", ".join(sorted(parts))
        else:
            changed[case] = f"{other} for {one}" if one != other else ""
    changed = {case: text for case, text in changed.items() if text}
    new, gone = records.keys() - stored.keys(), stored.keys() - records.keys()
    print(
        f"{area}: {len(records)} results stored; {len(new)} new, {len(gone)} removed, "
        f"{len(changed)} changed",
        flush=True,
    )
    for case, text in list(changed.items())[:20]:
        print(f"  changed: {case}: {text[:200]}")


def compare_way_back(area, native, bridge, ours):
    """Compares how 1.15.5 and the bridge continue from checkpoints and SavedModels of the bridge.

    Args:
      area: an area whose cases continue from a checkpoint.
      native: Python of TensorFlow 1.15.5.
      bridge: command that runs a program under the bridge.
      ours: records of the bridge, with its last variables and its SavedModels.

    Returns:
      A line for each difference.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(ours, file)
        file.flush()
        first, second = (
            run(command, [f"--start={file.name}", area])[area] for command in ([native], bridge)
        )
    lines = [
        f"{area}, on 1.15.5 from a checkpoint of the bridge: {case}: {aspect}: {text[:600]}"
        for case, record in first.items()
        for aspect, text in compare.compare(record, second[case]).items()
    ]
    print(f"{area}: 1.15.5 continues {len(first)} cases from checkpoints of the bridge")
    for case, record in ours[area].items():
        if "export" in record:
            apart = [
                compare.distance(one, second[case]["outputs"][name])
                for name, one in first[case].get("outputs", {}).items()
                if name.startswith("stored export")
            ]
            # Empty if 1.15.5 has failed; `lines` then contains the error.
            away = max(apart, default=float("inf"))
            print(f"  {case}: 1.15.5 serves its SavedModel; largest difference {away:.1e}")
    return lines


def write_table(lines):
    """Puts the table between its two marks in docs/parity.md."""
    path = ROOT / "docs" / "parity.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    text = "\n".join([START, "", *lines, "", END])
    path.write_text(before + text + after, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*compare.AREAS, "signatures"]
    parser.add_argument(
        "areas", nargs="*", metavar="AREA", help=f"of {', '.join(every)}; default: all"
    )
    text = "run only the bridge, and compare with the stored results of 1.15.5"
    parser.add_argument("--stored", action="store_true", help=text)
    text = "run every area on 1.15.5 again, even if its stored results are up to date"
    parser.add_argument("--anew", action="store_true", help=text)
    text = "only install this version of TensorFlow, and print the path of its Python"
    parser.add_argument("--environment", choices=sorted(PACKAGES), help=text)
    options = parser.parse_args(arguments)
    areas = options.areas or every
    unknown = sorted({*areas} - {*every})
    if unknown:
        parser.error(f"no such area: {', '.join(unknown)}; choose from {', '.join(every)}")
    if options.environment or not options.stored:
        python = find_python()
        if python is None:
            print(
                "TensorFlow 1.x needs Python 3.7, which was not found; install it, or name it with "
                "PYTHON37=/path/to/python3.7",
                file=sys.stderr,
            )
            return 2
    if options.environment:
        print(build_native(python, options.environment))
        return 0
    if not options.stored:
        measure_native([build_native(python)], areas, options.anew)
    bridge = [sys.executable, "-m", "estimator_bridge", "run", "--tf1", "--exports_for=1.15"]
    ours = run(bridge, areas)
    lines = [line for area in areas for line in compare.unexpected(area, ours[area])]
    for area in () if options.stored else filter(goes_on, areas):
        lines += compare_way_back(area, build_native(python), bridge, ours)
    print("\n".join(lines) or "no difference other than those in known.json")
    if areas == every:
        write_table(compare.table(ours))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
