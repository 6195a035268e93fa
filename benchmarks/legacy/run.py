"""Runs old trainers on TensorFlow 1.15.5 and under `run --tf1` on the TensorFlow installed here.

    make bench-legacy
    make bench-legacy ARGS='--rounds=2 --only=tagger_short_sentences,wide_deep_csv'

The two sides take turns, each program in a process of its own, on the same data and with the same
seeds. TensorFlow 1.15.5 needs Python 3.7, and is installed in .venv/. The table is put into
benchmarks/RESULTS.md. A run that was stopped goes on with --resume.
"""

import argparse
import datetime
import importlib.metadata
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

import old_data  # noqa: E402
import parity_1x  # noqa: E402
import results  # noqa: E402

PROGRAMS = [
    *("wide_deep_csv", "wide_deep_queues", "numpy_input", "pandas_input", "million_rows"),
    *("tagger_short_sentences", "tagger_with_characters", "seq2seq_with_attention", "transformer"),
    *("slim_cnn", "wals", "kmeans", "feed_dict", "py_func_in_map", "summaries_each_step"),
]
SIDES = ("native", "bridge")
# Which part of a step must be larger under the bridge to be called the reason, milliseconds.
LEAST_MS = 0.05


def run(side, name, options, profile=False):
    """Returns what one process measured."""
    job, output = options.work / "job", options.work / "measured.json"
    shutil.rmtree(job, ignore_errors=True)
    command = [str(options.native)]
    if side == "bridge":
        command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1"]
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
    return json.loads(output.read_text())


def ratios(made, key):
    """Returns native / bridge of each round: above 1, the bridge is faster."""
    pairs = zip(made["native"], made["bridge"])
    return [one[key] / other[key] for one, other in pairs if key in one and key in other]


def show(values):
    if not values:
        return ""
    text = f"{statistics.median(values):.2f}"
    return f"{text} ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else text


def median(made, side, key):
    return statistics.median(one[key] for one in made[side] if key in one)


def find_reason(profiles):
    """Returns in which operations a step of the bridge takes longer than natively."""
    if not all("operations" in profiles[side] for side in SIDES):
        return "its time is outside of operations that can be traced"
    ours, theirs = (profiles[side]["operations"] for side in ("bridge", "native"))
    more = {kind: ours[kind] - theirs.get(kind, 0) for kind in ours}
    worst = sorted((kind for kind in more if more[kind] > LEAST_MS), key=more.get)[::-1][:3]
    parts = [f"{kind} +{more[kind]:.2f} ms" for kind in worst]
    outside = [
        profiles[side]["mean step"] * 1e3 - sum(profiles[side]["operations"].values())
        for side in SIDES
    ]
    parts.append(f"rest of the step {outside[1] - outside[0]:+.2f} ms")
    return ", ".join(parts)


def draw_head(titles, texts=0):
    """Returns the two first lines of a table whose first and last `texts` columns are texts."""
    numbers = len(titles) - 1 - texts
    return "\n".join(
        [f"| {' | '.join(titles)} |", "|---" + "|--:" * numbers + "|---" * texts + "|"]
    )


def row(name, made, reason):
    """Returns the lines of the two tables."""
    rate = {side: [one["batch"] / one["median step"] for one in made[side]] for side in SIDES}
    mean = {side: [one["batch"] / one["mean step"] for one in made[side]] for side in SIDES}
    speed = [
        f"{statistics.median(rate[side]):,.0f}, {statistics.median(mean[side]):,.0f}"
        for side in SIDES
    ]
    parts = ["median step", "mean step", "mean step, processor"]
    parts += ["evaluate, processor", "predict, processor", "export, processor"]
    first = f"| {name} | {speed[0]} | {speed[1]} | "
    first += " | ".join(show(ratios(made, part)) for part in parts) + f" | {reason} |"
    starts = [f"{median(made, side, 'first step, processor'):.1f}" for side in SIDES]
    imports = [f"{median(made, side, 'import, processor'):.1f}" for side in SIDES]
    peaks = [median(made, side, "peak MB") for side in SIDES]
    bare = [median(made, side, "import MB") for side in SIDES]
    second = f"| {name} | {starts[0]} ({imports[0]}) | {starts[1]} ({imports[1]}) | "
    second += f"{show(ratios(made, 'first step'))} | "
    second += " | ".join(f"{peak:,.0f} ({one:,.0f})" for peak, one in zip(peaks, bare)) + " | "
    second += f"{peaks[1] / peaks[0]:.2f} | {median(made, 'bridge', 'checkpoint MB'):.1f} | "
    second += f"{show(ratios(made, 'save'))} |"
    return first, second


def write(options, found, reasons):
    done = {name: made for name, made in found.items() if all(made[side] for side in SIDES)}
    rounds = min(len(made[side]) for made in done.values() for side in SIDES)
    rows = [row(name, made, reasons.get(name, "")) for name, made in done.items()]
    tensorflow = importlib.metadata.version("tensorflow")
    fastest = [statistics.median(ratios(made, "mean step, processor")) for made in done.values()]
    load = os.getloadavg()[1]
    busy = " (other work kept the cores busy: ratios by the clock say little)" if load > 4 else ""
    head = [
        *("program", "1.15.5, examples/s", "bridge, examples/s", "step, median", "step, mean"),
        *("step, processor", "evaluate, processor", "predict, processor", "export, processor"),
        "where the bridge is slower",
    ]
    text = f"""
## Old programs: TensorFlow 1.15.5, and {tensorflow} under the bridge

{datetime.date.today().isoformat()}, {results.describe_machine()};
rounds: {rounds}; load at the end: {load:.1f}{busy}. Written by `make bench-legacy`.
Ratios are 1.15.5 / bridge in a round: the median and the range; above 1, the bridge is faster.
*Processor* is processor time, which other work on the machine changes less than the time by the
clock. Examples a second: by the median step, by the mean step. The median of all ratios of the
processor time of a step is {statistics.median(fastest):.2f}.

{draw_head(head, 1)}
""".lstrip()
    text += "\n".join(first for first, _ in rows)
    head = [
        *("program", "1.15.5, s", "bridge, s", "to the first step, by the clock", "1.15.5, MiB"),
        *("bridge, MiB", "bridge / 1.15.5", "checkpoint, MB", "time to write it"),
    ]
    text += f"""

Processor seconds from the start to the end of the first step, of which the import of TensorFlow in
brackets; peak memory of the process, that after the import in brackets; checkpoints.

{draw_head(head)}
"""
    text += "\n".join(second for _, second in rows) + "\n"
    results.put_legacy(options.output, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs, comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", action="store_true", help="keep what has been measured")
    parser.add_argument("--native", type=Path, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench" / "legacy")
    parser.add_argument("--output", type=Path, default=HERE.parent / "RESULTS.md")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = sorted(set(names) - set(PROGRAMS))
    if unknown:
        print(f"--only: no such program: {unknown[0]}; of {', '.join(PROGRAMS)}", file=sys.stderr)
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
    kept = options.work / "results.json"
    found = json.loads(kept.read_text()) if options.resume and kept.exists() else {}
    for turn in range(options.rounds):
        for name in names:
            made = found.setdefault(name, {side: [] for side in SIDES})
            for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
                if len(made[side]) <= turn:
                    made[side].append(run(side, name, options))
                    kept.write_text(json.dumps(found))
            speed = show(ratios(made, "mean step, processor")[turn:])
            print(f"round {turn + 1}: {name}: {speed}", flush=True)
    reasons = {}
    for name in names:
        if statistics.median(ratios(found[name], "mean step, processor")) < 1:
            reasons[name] = find_reason({side: run(side, name, options, True) for side in SIDES})
    write(options, {name: found[name] for name in names}, reasons)
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
