"""Draws the tables of the old programs."""

import datetime
import importlib.metadata
import statistics
from pathlib import Path

import results

SIDES = ("native", "bridge")
# Which part of a step must be larger under the bridge to be called the reason, milliseconds.
LEAST_MS = 0.05
# Above this load of the machine, elapsed times are not reliable.
BUSY = 4.0
STEPS = ("median step", "mean step", "mean step, processor")
PASSES = ("evaluate", "predict", "export")


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


def draw_table(titles, rows, texts=0):
    """Returns a table whose first and last `texts` columns are texts."""
    numbers = len(titles) - 1 - texts
    head = [f"| {' | '.join(titles)} |", "|---" + "|--:" * numbers + "|---" * texts + "|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def training(name, made, reason):
    """Returns the cells of a program in the table of training."""
    cells = [name]
    for side in SIDES:
        speeds = [
            statistics.median(one["batch"] / one[part] for one in made[side]) for part in STEPS[:2]
        ]
        cells.append(f"{speeds[0]:,.0f}, {speeds[1]:,.0f}")
    return [*cells, *(show(ratios(made, part)) for part in STEPS), reason]


def passes(name, made):
    """Returns the cells of a program in the table of evaluation, predict and export."""
    keys = [f"{part}{kind}" for part in PASSES for kind in ("", ", processor")]
    return [name, *(show(ratios(made, key)) for key in keys)]


def starts(name, made):
    """Returns the cells of a program in the table of start, memory and checkpoints."""
    cells = [name]
    for side in SIDES:
        first, imports = (
            median(made, side, f"{part}, processor") for part in ("first step", "import")
        )
        cells.append(f"{first:.1f} ({imports:.1f})")
    cells.append(show(ratios(made, "first step")))
    peaks = [median(made, side, "peak MB") for side in SIDES]
    for side, peak in zip(SIDES, peaks):
        cells.append(f"{peak:,.0f} ({median(made, side, 'import MB'):,.0f})")
    size = median(made, "bridge", "checkpoint MB")
    return [*cells, f"{peaks[1] / peaks[0]:.2f}", f"{size:.1f}", show(ratios(made, "save"))]


def sum_up(done, kind):
    """Returns what the medians of the ratios reach, of all programs.

    Args:
      done: program -> side -> measurements.
      kind: "" for elapsed time, or ", processor".
    """
    keys = [f"mean step{kind}", f"evaluate{kind}", f"predict{kind}"]
    found = {
        (name, key): statistics.median(ratios(made, key))
        for name, made in done.items()
        for key in keys
        if ratios(made, key)
    }
    low = [f"{name}, {key.split(',')[0]}: {ratio:.2f}" for (name, key), ratio in found.items()
           if ratio < 1]  # fmt: skip
    steps = [ratio for (_, key), ratio in found.items() if key == keys[0]]
    text = f"median of a step {statistics.median(steps):.2f}; below 1: "
    return text + ("; ".join(low) or "none")


def write(path: Path, done, reasons):
    """Puts the tables into a file.

    Args:
      path: the file, which exists.
      done: program -> side -> measurements of each round.
      reasons: program -> why it is slower.
    """
    measured = [one for made in done.values() for side in SIDES for one in made[side]]
    rounds = min(len(made[side]) for made in done.values() for side in SIDES)
    load = statistics.median(one["load"] for one in measured)
    busy = " (the cores were busy: elapsed times are not reliable)" if load > BUSY else ""
    tensorflow = importlib.metadata.version("tensorflow")
    trained = draw_table(
        ["program", "1.15.5, examples/s", "bridge, examples/s", "step, median", "step, mean",
         "step, processor", "where the bridge is slower"],
        [training(name, made, reasons.get(name, "")) for name, made in done.items()], 1,
    )  # fmt: skip
    passed = draw_table(
        ["program", *(f"{part}{kind}" for part in PASSES for kind in ("", ", processor"))],
        [passes(name, made) for name, made in done.items() if any(passes(name, made)[1:])],
    )
    started = draw_table(
        ["program", "1.15.5, s", "bridge, s", "to the first step, elapsed", "1.15.5, MiB",
         "bridge, MiB", "bridge / 1.15.5", "checkpoint, MB", "time to write it"],
        [starts(name, made) for name, made in done.items()],
    )  # fmt: skip
    text = f"""
## Old programs: TensorFlow 1.15.5, and {tensorflow} under the bridge

{datetime.date.today().isoformat()}, {results.describe_machine()}; rounds: {rounds}, interleaved;
load of the machine: {load:.1f}{busy}. Written by `make bench-legacy`. The ratios are
1.15.5 / bridge within a round (median and range); above 1, the bridge is faster. Times are elapsed
times unless a heading says *processor*: processor time depends less on other work on the machine.
The two rates in examples/s are those of the median step and of the mean step.

- Elapsed time: {sum_up(done, "")}
- Processor time: {sum_up(done, ", processor")}

{trained}
Evaluation, `predict` and export:

{passed}
Start, memory and checkpoints. The seconds are processor time from the start of the process to the
end of the first step, with that of the import of TensorFlow in brackets. The memory is the peak of
the process, with that after the import in brackets.

{started}""".lstrip()
    results.put_legacy(path, text)
