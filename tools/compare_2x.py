"""Compares the public names of TensorFlow 2.4.4, 2.8.4 and 2.12.1 with those under `run --as`.

    python tools/compare_2x.py [VERSION ...]

Compares the arguments, defaults and members of all public names, the default configurations of
Keras classes, and the values of functions that differ between versions (resizing, seeds, layers,
losses). It prints one line for each group of differences. docs/tf2.md describes the important
ones under "Behaviour that changed". The original versions are installed as for parity_2x.py.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from parity_2x import ORIGINALS, PARITY, ROOT, build_native
from parity_judge import ROUNDING, apart

sys.path[:0] = [str(PARITY.parent), str(PARITY.parents[1] / "parity_1x")]
import compare  # noqa: E402
import names  # noqa: E402

# Number of names that are shown of a group of differences.
SHOWN = 4


def run(command, script, *arguments):
    """Runs a script; returns the JSON that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        quiet["PYTHONPATH"] = str(ROOT) if sys.executable in command else ""
        subprocess.run(
            [*command, str(PARITY / script), *arguments, str(output)],
            env={**os.environ, **quiet},
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(output.read_text())


def surface_lines(native, ours):
    """Yields a line for each way in which signatures and members differ."""
    groups = {}
    for path, signature in native.items():
        other = ours.get(path)
        text = "missing" if other is None else compare.compare_signatures(signature, other)
        if text:
            groups.setdefault(text, []).append(path)
    for text, paths in sorted(groups.items(), key=lambda one: -len(one[1])):
        yield f"{len(paths)} x {text}: {', '.join(paths[:SHOWN])}"


def configuration_lines(native, ours, path=""):
    """Yields a line for each default that differs."""
    if isinstance(native, dict) and isinstance(ours, dict):
        for key, value in native.items():
            if key not in ours:
                yield f"{path}.{key}: missing; the original has {value}"[:200]
            else:
                yield from configuration_lines(value, ours[key], f"{path}.{key}")
    elif native != ours and not path.endswith(".name"):
        yield f"{path}: {ours}, not {native}"[:200]


def value_lines(native, ours):
    """Yields a line for each value that differs by more than rounding."""
    for name, numbers in native.items():
        other = ours.get(name, [])
        away = max(map(apart, numbers, other), default=0.0)
        if len(numbers) != len(other) or away > ROUNDING * max([1.0, *map(abs, numbers)]):
            yield f"{name}: {other[:3]}, not {numbers[:3]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = f"versions to compare, of {', '.join(ORIGINALS)}; default: all"
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=text)
    public = names.read()
    for version in parser.parse_args().versions or ORIGINALS:
        native = [build_native(version)]
        bridge = [sys.executable, "-m", "estimator_bridge", "run", f"--as={version}"]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(public[version.rpartition(".")[0]], file)
            file.flush()
            first, second = (run(one, "surface.py", file.name) for one in (native, bridge))
        lines = list(surface_lines(first, second))
        first, second = (run(one, "defaults.py") for one in (native, bridge))
        lines += configuration_lines(first["configurations"], second["configurations"])
        lines += value_lines(first["values"], second["values"])
        print(f"{version}: {len(lines)} groups of differences", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
