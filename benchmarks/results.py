"""Writes the results of the benchmarks as Markdown tables."""

import datetime
import os
import platform
import re
import statistics
from pathlib import Path

from estimator_bridge.processor import list_features

# Ratios of medians: name, contender, its opponent, the target.
AIMS = (
    ("from CSV text, first epoch, against the reference", "text", ("reference",), 25.0),
    ("from the id cache, against the reference", "cache", ("reference",), 33.0),
    ("from the id cache, against the best Keras", "cache", ("keras 2", "keras 3"), 1.8),
    ("canned engine with our input, against the reference", "canned", ("reference",), 10.0),
)
HEAD = """# Benchmarks

All figures of a table come from one run of `make bench` on one machine. The contenders take turns,
each in its own process, and the ratios are ratios of medians. Absolute rates depend on the machine;
ratios are more portable.

- *reference*: a classic published trainer (`reference.py`): CSV line by line, canned Estimator
- *canned*: this trainer with `--model.engine=canned`, from CSV text
- *text*: this trainer with its defaults, first epoch from CSV text; it builds its cache meanwhile
- *cache*: this trainer with its defaults, from the cache of encoded rows (ids)
- *keras 2*, *keras 3*: `fit` on precomputed ids, 32 steps per execution (`keras_fit.py`)
- *limit*: the same computation in C++ (`limit.cc`), from CSV text or from ids

The rows of census, natality and flights are real, and are repeated to reach the stated number. The
rows of clicks are generated in the shape of the Criteo data (`clicks.py`): 13 counts with missing
values, and 26 columns of words with up to 262,144 hash buckets and embeddings of 16 each, which
makes 40 million parameters.

The limit shows what the machine can do. The reference waits for Python and uses one core on any
machine, so on a machine with a lower limit, all ratios to the reference are lower. If the lowest
and the highest rate of a row are far apart, other work disturbed the measurement.
"""


_MEASURED = "Measured on "
# Precedes the tables of benchmarks/legacy, which end the file.
LEGACY = "<!-- legacy -->"
SETTINGS = "<!-- settings -->"


class Report:
    """Collects the tables for one version of TensorFlow."""

    def __init__(self, tensorflow: str):
        self._tensorflow = tensorflow
        self._parts: list[str] = []
        self._aims: list[str] = []

    def add_rates(self, case, batch: int, runs: dict) -> None:
        """Adds examples a second of each contender."""
        base = _median_rate(runs["reference"])
        lines = [
            f"### {case.name}, batch {batch} ({case.rows:,} rows, {len(runs['text'])} rounds)",
            "",
            "| contender | examples/s, median | lowest to highest | x reference | x limit "
            "| peak memory, MiB |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for name, made in runs.items():
            rate, rates = _median_rate(made), [run.rate for run in made]
            limit = runs["limit, text" if name in ("reference", "canned", "text") else "limit, ids"]
            peak = statistics.median(run.peak_mb for run in made)
            lines.append(
                f"| {name} | {rate:,.0f} | {min(rates):,.0f} to {max(rates):,.0f} "
                f"| {rate / base:.1f} | {rate / _median_rate(limit):.2f} "
                f"| {f'{peak:,.0f}' if peak else ''} |"
            )
        self._parts.append("\n".join(lines))
        if case.name == "census" and not self._aims:
            for what, name, others, aim in AIMS:
                best = max(_median_rate(runs[other]) for other in others if other in runs)
                self._aim(what, _median_rate(runs[name]) / best, aim)
            firsts = [
                statistics.median(run.first_step for run in runs[n]) for n in ("reference", "cache")
            ]
            self._aim(
                "first step after process start, reference / ours", firsts[0] / firsts[1], 2.0
            )
            peaks = [
                statistics.median(run.peak_mb for run in runs[n]) for n in ("reference", "text")
            ]
            # Our job includes an evaluation and the plot, theirs does not.
            self._aim("peak memory, training alone, reference / ours", peaks[0] / peaks[1], 1.0)

    def add_jobs(self, case, runs: dict) -> None:
        """Adds whole jobs, evaluations and exports."""
        walls = {name: [job_secs(run) for run in made] for name, made in runs.items()}
        wall = {name: statistics.median(secs) for name, secs in walls.items()}
        peak = {name: statistics.median(map(job_peak, made)) for name, made in runs.items()}
        lines = [
            f"### {case.name}: whole job ({case.rows:,} rows once, 4 evaluations and exports)",
            "",
            "| contender | seconds, median | lowest to highest | x reference | peak memory, MiB |",
            "|---|--:|--:|--:|--:|",
        ]
        for name, secs in walls.items():
            lines.append(
                f"| {name} | {wall[name]:.1f} | {min(secs):.1f} to {max(secs):.1f} "
                f"| {wall['reference'] / wall[name]:.1f} | {peak[name]:,.0f} |"
            )
        self._parts.append("\n".join(lines))
        self._aim("whole job, reference / ours", wall["reference"] / wall["trainer"], 12.0)
        ratio = peak["reference"] / peak["trainer"]
        self._aim("peak memory, whole job, reference / ours", ratio, 1.0)
        for what, aim in (("evaluation", 30.0), ("export", 50.0)):
            theirs = statistics.median(run.more["secs_each"][what][-1] for run in runs["reference"])
            # The first one of a run builds a graph; report the cost of a further one.
            ours = statistics.median(
                secs for run in runs["trainer"] for secs in run.more["secs_each"][what][1:]
            )
            label = f"one {what}, reference {theirs:.2f} s / ours {ours:.3f} s"
            self._aim(label, theirs / ours, aim)

    def add_processes(self, case, batch: int, runs: dict, alone: list) -> None:
        """Adds examples a second of one process, `alone` on one core, and of two on all cores."""
        base = _median_rate(alone)
        lines = [
            f"### {case.name}: from one process to two ({batch} rows a process)",
            "",
            "| processes | examples/s of all, median | lowest to highest | x one core |",
            "|---|--:|--:|--:|",
        ]
        for name, made in runs.items():
            rate, rates = _median_rate(made), [run.rate for run in made]
            lines.append(
                f"| {name} | {rate:,.0f} | {min(rates):,.0f} to {max(rates):,.0f} "
                f"| {rate / base:.2f} |"
            )
        self._parts.append("\n".join(lines))

    def add_sizes(self, made: list) -> None:
        """Adds (rows, seconds a row, peak MiB) of growing data."""
        lines = [
            "### census: growing data, from text, one epoch",
            "",
            "| rows | ns a row, training | peak memory, MiB |",
            "|--:|--:|--:|",
        ]
        lines += [f"| {rows:,} | {secs * 1e9:,.0f} | {peak:,.0f} |" for rows, secs, peak in made]
        self._parts.append("\n".join(lines))

    def _aim(self, what: str, ratio: float, aim: float) -> None:
        self._aims.append(f"| {what} | {aim:g} | {ratio:.2f} | {'yes' if ratio >= aim else 'no'} |")

    def write(self, path: Path) -> None:
        """Replaces the section of this version in the file.

        Of the older one the tables that have not been measured again stay, with the day on which
        they were measured, if they are of the same machine.
        """
        title = f"## TensorFlow {self._tensorflow}"
        today, machine = datetime.date.today().isoformat(), describe_machine()
        old = path.read_text() if path.exists() else ""
        sections = dict(
            re.findall(r"^(## TensorFlow \S+)\n(.*?)(?=^## |^<!-- |\Z)", old, re.M | re.S)
        )
        kept = {name: f"{name}\n{text}".strip() + "\n" for name, text in sections.items()}
        aims, tables = self._aims, {_title(part): part for part in self._parts}
        before, *parts = re.split(r"^(?=### )", sections.get(title, ""), flags=re.M)
        of_before = re.search(rf"^(\S+), {re.escape(machine)}$", before, re.M)
        day = today
        if of_before:
            if not aims:
                # The day of the section is that of its aims.
                day = of_before[1]
                aims = re.findall(r"^\| .* \| (?:yes|no) \|$", before, re.M)
            older = {_title(part): part.strip() for part in parts}
            older = {name: _tell_day(part, of_before[1], day) for name, part in older.items()}
            tables = {name: _tell_day(part, today, day) for name, part in tables.items()}
            tables = {**older, **tables}
        machine = f"{day}, {machine}"
        header = ["| aim (census) | at least | reached | |", "|---|--:|--:|---|"]
        kept[title] = (
            "\n\n".join([title, machine, "\n".join(header + aims), *tables.values()]) + "\n"
        )
        _, mark, legacy = old.partition(LEGACY)
        parts = [HEAD, *(kept[name] for name in sorted(kept, reverse=True)), mark + legacy]
        path.write_text("\n".join(part for part in parts if part))


def _tell_day(table: str, day: str, usual: str) -> str:
    """Returns a table with the day on which it was measured, unless it is that of the section."""
    if day == usual or _MEASURED in table:
        return table
    title, rest = table.split("\n", 1)
    return f"{title}\n\n{_MEASURED}{day}.\n{rest}"


def describe_machine() -> str:
    """Returns the Python, the number of cores and the processor."""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {_processor()}"


def put_legacy(path: Path, text: str) -> None:
    """Replaces the tables of old programs in the file; keeps that of the settings."""
    before, _, rest = path.read_text().partition(LEGACY)
    _, mark, settings = rest.partition(SETTINGS)
    kept = f"\n{mark}{settings}" if mark else ""
    path.write_text(f"{before.rstrip()}\n\n{LEGACY}\n\n{text}{kept}")


def put_settings(path: Path, text: str) -> None:
    """Replaces the table of options in the file, which follows that of the old programs."""
    before, mark, rest = path.read_text().partition(LEGACY)
    tables = rest.partition(SETTINGS)[0].strip()
    parts = [before.rstrip(), LEGACY, *([tables] if tables else []), f"{SETTINGS}\n\n{text}"]
    path.write_text("\n\n".join(parts))


def _title(part: str) -> str:
    """Returns the subject of a table, without the number of rounds."""
    return part.split("\n", 1)[0].split(" (")[0]


def job_secs(run) -> float:
    """The reference measures single evaluations and exports after its job."""
    return run.more.get("job_secs", run.wall)


def job_peak(run) -> float:
    """MiB, likewise; of one process, without the one that checks our exports."""
    return run.more.get("job_peak_mb", run.peak_mb)


def _median_rate(runs) -> float:
    return statistics.median(run.rate for run in runs)


def _processor() -> str:
    wide = "AVX-512" if "avx512f" in list_features() else "no AVX-512"
    try:
        with open("/proc/cpuinfo") as file:
            name = next(
                line.split(":")[1].strip() for line in file if line.startswith("model name")
            )
    except (OSError, StopIteration):
        name = platform.machine()
    return f"{name}, {wide}"
