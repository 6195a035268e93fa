"""Runs old trainers on TensorFlow 1.15.5 and under `run --tf1` on the TensorFlow installed here.

    make bench-legacy
    make bench-legacy ARGS='--rounds=2 --only=tagger_short_sentences,wide_deep_csv'
    make bench-legacy ARGS='--fast --only=wide_deep_csv'   # run --tf1 --fast; prints ratios

The two sides take turns, each program in a process of its own, on the same data and with the same
seeds. TensorFlow 1.15.5 needs Python 3.7, and is installed in .venv/. The tables, also that of the
options of sessions (settings.py), are put into benchmarks/RESULTS.md. What has been measured is
stored: a run that was stopped goes on where it was, and more --rounds add to it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tools"), str(HERE)]

import kept  # noqa: E402
import old_data  # noqa: E402
import old_tables  # noqa: E402
import parity_1x  # noqa: E402
import settings  # noqa: E402

PROGRAMS = [
    *("wide_deep_csv", "wide_deep_queues", "numpy_input", "pandas_input", "million_rows"),
    *("tagger_short_sentences", "tagger_with_characters", "seq2seq_with_attention", "transformer"),
    *("slim_cnn", "wals", "kmeans", "feed_dict", "py_func_in_map", "summaries_each_step"),
]
SIDES = old_tables.SIDES
SETTINGS_ROUNDS = 3


def run(side, name, options, profile=False):
    """Returns what one process measured."""
    job, output = options.work / "job", options.work / "measured.json"
    shutil.rmtree(job, ignore_errors=True)
    command = [str(options.native)]
    if side == "bridge":
        command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1"]
        command += ["--fast"] if options.fast else []
    log = options.work / "log"
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": str(ROOT) if side == "bridge" else "",
        "LEGACY_PROFILE": "1" if profile else "",
        "LEGACY_STARTED": str(time.time()),
    }
    words = [*command, HERE / "measure.py", name, options.data, job, output]
    with log.open("w") as file:
        done = subprocess.run(
            list(map(str, words)), env=environment, stdout=file, stderr=subprocess.STDOUT
        )
    if done.returncode:
        sys.exit(f"{name}, {side}: {log.read_text()[-3000:]}")
    return {**json.loads(output.read_text()), "load": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs, comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--anew", action="store_true", help="forget what has been measured")
    parser.add_argument("--fast", action="store_true", help="prints ratios with run --tf1 --fast")
    parser.add_argument("--native", type=Path, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench" / "legacy")
    parser.add_argument("--output", type=Path, default=HERE.parent / "RESULTS.md")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = sorted(set(names) - set(PROGRAMS))
    if unknown:
        print(f"--only: no such program: {unknown[0]}; of {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    if not options.output.is_file():
        print(
            f"--output: no such file: {options.output}; the tables replace its own", file=sys.stderr
        )
        return 2
    if options.native is None:
        python = parity_1x.find_python()
        if python is None:
            print(
                "TensorFlow 1.15.5 needs Python 3.7: install it, or name it with PYTHON37=...",
                file=sys.stderr,
            )
            return 2
        options.native = Path(parity_1x.build_native(python))
    options.data = options.work / "data"
    options.data.mkdir(parents=True, exist_ok=True)
    old_data.write(options.data)
    results = "results-fast.json" if options.fast else "results.json"
    stored = kept.Kept(options.work / results, options.anew)
    found = {name: {side: [] for side in SIDES} for name in names}
    for turn in range(options.rounds):
        for name, made in found.items():
            for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
                one = stored.get(f"{name}/{side}/{turn}", lambda: run(side, name, options))  # noqa: B023
                made[side].append(one)
            speed = old_tables.show(old_tables.ratios(made, "mean step, processor")[turn:])
            print(f"round {turn + 1}: {name}: {speed}", flush=True)
    if options.fast:
        for name, made in found.items():
            clock, processor = (
                old_tables.show(old_tables.ratios(made, f"mean step{kind}"))
                for kind in ("", ", processor")
            )
            print(f"{name}: elapsed time {clock}, processor time {processor}")
        return 0
    reasons = {}
    for name, made in found.items():
        if statistics.median(old_tables.ratios(made, "mean step, processor")) < 1:
            profiles = {
                side: stored.get(f"{name}/{side}/profile", lambda: run(side, name, options, True))  # noqa: B023
                for side in SIDES
            }
            reasons[name] = old_tables.find_reason(profiles)
    old_tables.write(options.output, found, reasons)
    if set(names) == set(PROGRAMS):
        rounds = min(options.rounds, SETTINGS_ROUNDS)
        settings.write(options.output, settings.measure_all(options.data, stored, rounds))
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
