"""Compares `run --as` with TensorFlow 2.4.4, 2.8.4 and 2.12.1 themselves: `make parity-2x`.

    python tools/parity_2x.py [--work=FOLDER] [--store] [--programs=A,B] [VERSION ...]

The programs of tests/estimator_bridge/era/parity train for 100 steps on each of these versions, the
originals. From these checkpoints, the original and the bridge each evaluate, predict, train for 50
more steps and export. Then the original evaluates the checkpoint of the bridge, and each of them
predicts with the export of the other. Names, shapes, values, metrics and summaries are compared.
The tolerance of a value is twice its change in a second run of the original, or if the variables or
the rows change by one rounding step.

The results are written to results.json and to the table of docs/parity.md. --work keeps
intermediate results, so that a run that was interrupted continues. --store also writes the
checkpoints of a few programs, and the results of the original for them, for the tests.

The originals are installed in .venv/. This needs Python 3.8, 3.10 and 3.11 on PATH or in pyenv.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import parity_judge as judge
from parity_judge import Records
from record_operations import find_python

ROOT = Path(__file__).resolve().parents[1]
PARITY = ROOT / "tests/estimator_bridge/era/parity"
# Version -> its Python, and packages beside it.
ORIGINALS = {
    "2.4.4": ("3.8", "numpy<1.20", "protobuf<3.21"),
    "2.8.4": ("3.10", "numpy<1.24", "protobuf<3.21"),
    "2.12.1": ("3.11", "numpy<1.24", "protobuf<4.24"),
}
# From this version on, Estimators take the optimizers of `legacy` only.
LEGACY_SINCE = (2, 11)
# The results, for the test of the table; and what --store writes, of these programs.
RESULTS, STORED = PARITY / "results.json", PARITY.parent / "stored" / "parity"
STORED_PROGRAMS = ("adam", "deep_adam", "head", "layers")
START, END = "<!-- parity-2x: written by `make parity-2x` -->", "<!-- end of parity-2x -->"
# The notebooks are compared with this version: it draws the first values of today.
NOTEBOOKS_VERSION = "2.12.1"


def build_native(version):
    """Makes the environment of an original unless it is there; returns its Python."""
    python, *packages = ORIGINALS[version]
    folder = ROOT / ".venv" / f"original-{version}"
    inside, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.exists():
        print(f"{folder.relative_to(ROOT)}: installing tensorflow=={version}", flush=True)
        subprocess.run([find_python(python), "-m", "venv", "--clear", folder], check=True)
        install = [inside, "-m", "pip", "install", "-qq", "--no-input", "--no-cache-dir"]
        subprocess.run([*install, f"tensorflow=={version}", *packages], check=True)
        stamp.touch()
    return str(inside)


def environment_of(command, version):
    """Returns the environment of a program that runs natively, or with the bridge."""
    is_legacy = tuple(map(int, version.split(".")[:2])) >= LEGACY_SINCE
    return {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": str(ROOT) if sys.executable in command else "",
        "PROGRAMS_USE_LEGACY": str(int(is_legacy)),
    }


def run(command, version, task, folder, names, start=None):
    """Runs a task of measure.py for programs that it has not run yet.

    Args:
      command: Python, or the bridge's `run`.
      version: of the original.
      task: of measure.py.
      folder: for the jobs of the programs.
      names: of the programs.
      start: the folder from which their jobs are copied; None: the task finds them.

    Returns:
      Program -> record.
    """
    output, partial = folder.with_suffix(f".{task}.json"), folder.with_suffix(f".{task}.partial")
    found = {}
    for path in (output, partial):
        if path.exists():
            found.update(json.loads(path.read_text()))
    missing = [name for name in names if name not in found]
    if missing:
        if start is not None:
            copy_jobs(start, folder, missing)
        output.write_text(json.dumps(found))
        arguments = [str(PARITY / "measure.py"), task, str(folder), str(partial), *missing]
        with folder.with_suffix(f".{task}.log").open("w") as log:
            environment = environment_of(command, version)
            subprocess.run([*command, *arguments], env=environment, stderr=log, check=True)
        found.update(json.loads(partial.read_text()))
    output.write_text(json.dumps(found))
    partial.unlink(missing_ok=True)
    return {name: found[name] for name in names}


def copy_jobs(source, target, names):
    """Copies the jobs of programs, and those that they start from."""
    for job in (f"{name}{suffix}" for name in names for suffix in ("", "_source")):
        shutil.rmtree(target / job, ignore_errors=True)
        if (source / job).exists():
            shutil.copytree(source / job, target / job)
            state = target / job / "checkpoint"
            # Of an object-based checkpoint, it names the whole path.
            state.write_text(state.read_text().replace(str(source / job), str(target / job)))


def measure(version, names, work, repeated=()):
    """Returns program -> Records.

    Args:
      version: of the original.
      names: of the programs.
      work: folder that keeps what has been computed.
      repeated: the programs that run a second time, and from moved variables, in any case; others
        do so where a value differs by more than rounding.
    """
    top = work / version
    top.mkdir(parents=True, exist_ok=True)
    native = [build_native(version)]
    bridge = [sys.executable, "-m", "estimator_bridge", "run", f"--as={version}"]
    writer = [*bridge, f"--exports_for={version}"]
    start = top / "start"
    run(native, version, "start", start, names)
    computed = (
        run(native, version, "go_on", top / "native", names, start),
        run(writer, version, "go_on", top / "ours", names, start),
        run(native, version, "evaluate", top / "ours", names),
        run(bridge, version, "serve", top / "native", names),
    )
    found = {name: Records(*(one[name] for one in computed)) for name in names}
    unclear = [name for name in names if name in repeated or judge.judge(found[name])[2]]
    for field, task in (("again", "go_on_again"), ("nudged", "go_on_nudged")):
        more = run(native, version, task, top / field, unclear, start)
        for name in unclear:
            found[name] = found[name]._replace(**{field: more[name]})
    return found


def read_kinds():
    """Returns program -> kind, in the order of the programs."""
    code = (
        "import estimator_bridge, json; estimator_bridge.install(); import more_programs; "
        "print(json.dumps({name: one.kind for name, one in more_programs.ALL.items()}))"
    )
    command = [sys.executable, "-c", code]
    path = os.pathsep.join([str(PARITY), str(ROOT)])
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    return json.loads(done.stdout)


def write_table(lines):
    path = ROOT / "docs" / "parity.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    text = "\n".join([START, "", *lines, "", END])
    path.write_text(before + text + rest.partition(END)[2], encoding="utf-8")


def run_notebooks(command, output, *names):
    """Runs the notebooks of notebooks.py, or some; returns notebook -> figure -> numbers."""
    subprocess.run(
        [*command, str(PARITY / "notebooks.py"), str(output), *names],
        env=environment_of(command, NOTEBOOKS_VERSION),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return json.loads(output.read_text())


def measure_notebooks(work):
    """Returns lines on the notebooks' figures that differ."""
    bridge = [sys.executable, "-m", "estimator_bridge", "run", f"--as={NOTEBOOKS_VERSION}"]
    native = run_notebooks([build_native(NOTEBOOKS_VERSION)], work / "notebooks.native.json")
    return compare_notebooks(native, run_notebooks(bridge, work / "notebooks.ours.json"))


def compare_notebooks(native, ours):
    """Yields a line for each figure that differs by more than rounding, from the first step on."""
    for name, figures in native.items():
        for key, numbers in figures.items():
            one, other = (
                {"shape": [len(found)], "values": found, "is_real": True}
                for found in (numbers, ours[name].get(key, []))
            )
            if judge.distance(one, other) > judge.ROUNDING:
                yield f"{NOTEBOOKS_VERSION}: notebook {name}: {key}"


def store(version, records, work):
    """Writes what tests/estimator_bridge/era/test_parity.py goes on from."""
    folder = STORED / version
    shutil.rmtree(folder, ignore_errors=True)
    for name in STORED_PROGRAMS:
        job, kept = work / version / "start" / name, folder / name
        kept.mkdir(parents=True)
        for path in (job / "checkpoint", *job.glob("model.ckpt-100.*")):
            if path.suffix != ".meta":
                shutil.copy(path, kept)
        (kept / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-100"\n')
    parts = ("native", "again", "nudged")
    computed = {
        name: {part: getattr(records[name], part) for part in parts} for name in STORED_PROGRAMS
    }
    text = json.dumps(computed, sort_keys=True)
    STORED.joinpath(f"{version}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = f"versions to compare, of {', '.join(ORIGINALS)}; default: all"
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=text)
    text = "folder that keeps intermediate results, to continue an interrupted run"
    parser.add_argument("--work", help=text)
    text = "also write the checkpoints and results that the tests need"
    parser.add_argument("--store", action="store_true", help=text)
    text = "names of programs, separated by commas; default: all"
    parser.add_argument("--programs", help=text)
    options = parser.parse_args()
    kinds = read_kinds()
    names = options.programs.split(",") if options.programs else list(kinds)
    repeated = STORED_PROGRAMS if options.store else ()
    judged, differing = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary)
        for version in options.versions or ORIGINALS:
            records = measure(version, names, work, repeated)
            for name in names:
                *judged[version, name], lines = judge.judge(records[name])
                if (version, name) not in judge.KNOWN:
                    differing += [f"{version}: {name}: {line}" for line in lines]
            if version == NOTEBOOKS_VERSION and not options.programs:
                differing += measure_notebooks(work)
                if options.store:
                    shutil.copy(work / "notebooks.native.json", STORED / "notebooks.json")
            if options.store:
                store(version, records, work)
    found = read_results(kinds)
    for (version, name), worst in judged.items():
        found[version][name] = worst
    lines = judge.table(kinds, found)
    print("\n".join([*lines, "", *(differing or ["no difference above the tolerances"])]))
    results = json.dumps({"kinds": kinds, "found": found}, indent=1)
    RESULTS.write_text(results + "\n", encoding="utf-8")
    write_table(lines)
    return 1 if differing else 0


def read_results(kinds):
    """Returns version -> program -> worst distances, as far as they have been measured."""
    found = {}
    if RESULTS.exists():
        found = json.loads(RESULTS.read_text(encoding="utf-8"))["found"]
    return {
        version: {name: one for name, one in found.get(version, {}).items() if name in kinds}
        for version in ORIGINALS
    }


if __name__ == "__main__":
    sys.exit(main())
