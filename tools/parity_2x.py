"""Compares `run --as` with TensorFlow 2.4.4, 2.8.4 and 2.12.1 themselves: `make parity-2x`.

    python tools/parity_2x.py [--work=FOLDER] [VERSION ...]

The programs of tests/estimator_bridge/era/parity train 100 steps natively. From these checkpoints
the original and the bridge evaluate, predict, and train 50 steps more; then the original evaluates
the bridge's checkpoint. Names, shapes, values, metrics and tags of summaries are compared. A value
may differ by twice what another native run, or one rounding step of the variables, moves it. The
table of bridge.md is written if no program is named. FOLDER keeps what has been computed.

The originals are installed in .venv/, with Python 3.8, 3.10 and 3.11 on PATH or in pyenv.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
START, END = "<!-- parity-2x: written by `make parity-2x` -->", "<!-- end of parity-2x -->"
# Differences that are the original's own: bridge.md, "Behaviour that changed".
KNOWN = {("2.4.4", "preprocessing"): "2.4.4 looks no word up in a model_fn"}
# float32 has 7 digits; the order of sums differs between versions of TensorFlow.
ROUNDING = 2e-6


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


def is_legacy(version):
    return tuple(map(int, version.split(".")[:2])) >= LEGACY_SINCE


def run(command, version, task, folder, names):
    """Runs a task of measure.py; returns program -> record."""
    output = folder.with_suffix(f".{task}.json")
    if not output.exists():
        quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        quiet["PYTHONPATH"] = str(ROOT) if sys.executable in command else ""
        quiet["PROGRAMS_USE_LEGACY"] = str(int(is_legacy(version)))
        partial = folder.with_suffix(".partial")
        arguments = [str(PARITY / "measure.py"), task, str(folder), str(partial), *names]
        with folder.with_suffix(f".{task}.log").open("w") as log:
            subprocess.run(
                [*command, *arguments], env={**os.environ, **quiet}, stderr=log, check=True
            )
        partial.rename(output)
    return json.loads(output.read_text())


def measure(version, names, work):
    """Returns (native, again, nudged, ours, back): what each run has computed."""
    top = work / version
    top.mkdir(parents=True, exist_ok=True)
    native = [build_native(version)]
    bridge = [sys.executable, "-m", "estimator_bridge", "run", f"--as={version}"]
    run(native, version, "start", top / "start", names)
    found = []
    for name, command, task in (
        ("native", native, "go_on"),
        ("again", native, "go_on_again"),
        ("nudged", native, "go_on_nudged"),
        ("ours", bridge, "go_on"),
    ):
        if not (top / name).exists():
            shutil.copytree(top / "start", top / name)
        found.append(run(command, version, task, top / name, names))
    return [*found, run(native, version, "evaluate", top / "ours", names)]


def scale(value):
    return max([1.0, *map(abs, value["values"])]) if value["is_real"] else 1.0


def distance(one, other):
    """Returns the largest difference relative to the largest value; infinite for other shapes."""
    if one["shape"] != other["shape"] or one["is_real"] != other["is_real"]:
        return float("inf")
    if not one["is_real"]:
        return 0.0 if one["values"] == other["values"] else float("inf")
    pairs = zip(one["values"], other["values"])
    return max((abs(a - b) for a, b in pairs), default=0.0) / scale(one)


def compare(native, moved, ours, part):
    """Yields (name, distance, whether it is allowed) of the values of a part."""
    for name in sorted({*native[part], *ours[part]}):
        if name not in native[part] or name not in ours[part]:
            yield (
                f"{name}: only {'here' if name in ours[part] else 'natively'}",
                float("inf"),
                False,
            )
            continue
        away = distance(native[part][name], ours[part][name])
        steps = [distance(native[part][name], one[part][name]) for one in moved if part in one]
        yield name, away, away <= max([ROUNDING, *(2 * step for step in steps)])


def judge(native, again, nudged, ours, back):
    """Returns (worst distance, lines on what differs more than it may) of one program."""
    failed = [one["message"] for one in (native, again, nudged, ours, back) if "error" in one]
    if failed:
        return float("inf"), failed
    worst, lines = 0.0, []
    pairs = [(native, (again, nudged), ours, part) for part in ("restored", "after", "variables")]
    returned = {"after": back["restored"]}
    pairs.append((ours, (), returned, "after"))
    for one, moved, other, part in pairs:
        for name, away, is_allowed in compare(one, moved, other, part):
            worst = max(worst, away)
            if not is_allowed:
                lines.append(f"{part}: {name}: {away:.1e}")
    if native["tags"] != ours["tags"]:
        lines.append(f"tags: {sorted(set(native['tags']) ^ set(ours['tags']))}")
    return worst, lines


def table(kinds, found):
    """Returns the table as lines.

    Args:
      kinds: program -> kind of program.
      found: version -> program -> worst distance.
    """
    lines = [f"| kind of program | programs | {' | '.join(found)} |"]
    lines.append("|---|---|" + "---|" * len(found))
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name in kinds if kinds[name] == kind]
        worst = [
            max(found[version][name] for name in names if (version, name) not in KNOWN)
            for version in found
        ]
        cells = " | ".join("fails" if one == float("inf") else f"{one:.1e}" for one in worst)
        lines.append(f"| {kind} | {', '.join(names)} | {cells} |")
    known = [f"`{name}` on {version}: {reason}" for (version, name), reason in KNOWN.items()]
    return [*lines, "", f"Not counted: {'; '.join(known)}."]


def read_kinds():
    """Returns program -> kind, in the order of the programs."""
    code = (
        "import estimator_bridge, json; estimator_bridge.install(); import programs; "
        "print(json.dumps({name: kind for name, (kind, _) in programs.PROGRAMS.items()}))"
    )
    command = [sys.executable, "-c", code]
    path = os.pathsep.join([str(PARITY), str(ROOT)])
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    return json.loads(done.stdout)


def write_table(lines):
    path = ROOT / "docs" / "bridge.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    text = "\n".join([START, "", *lines, "", END])
    path.write_text(before + text + rest.partition(END)[2], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=", ".join(ORIGINALS))
    parser.add_argument("--work", help="folder that keeps what has been computed")
    options = parser.parse_args()
    versions, kinds = options.versions or list(ORIGINALS), read_kinds()
    found, differing = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        for version in versions:
            records = measure(version, list(kinds), Path(options.work or temporary))
            found[version] = {}
            for name in kinds:
                worst, lines = judge(*(one[name] for one in records))
                found[version][name] = worst
                if (version, name) in KNOWN:
                    continue
                differing += [f"{version}: {name}: {line}" for line in lines]
    print("\n".join(table(kinds, found)))
    print("\n".join(differing) or "no difference beyond rounding")
    if versions == list(ORIGINALS):
        write_table(table(kinds, found))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
