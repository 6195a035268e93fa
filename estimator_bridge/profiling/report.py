"""The report of `run --profile`, printed at the end of a program."""

import re
import time
from dataclasses import dataclass, field

from ..output.terminal import format_secs
from .recording import FetchRuns, GraphRuns, Recorder
from .traces import Division

__all__ = ["format_report"]

# Graphs with a smaller share of the time are added up in one line.
_LEAST_SHARE = 0.02
# Graphs with a smaller share are not described run by run.
_DETAIL_SHARE = 0.2
# A part with this share of a run is worth a remedy.
_REMEDY_SHARE = 0.25
# Some parts are left out if they are smaller.
_LEAST_PART = 0.005
_MOST_TYPES = 6
_WIDTH = 80
# Operations that change variables, in graphs that train.
_TRAINS = re.compile(r"(Resource)?(Sparse)?Apply|_?Fused.*Apply")


@dataclass
class _Group:
    """Graphs with the same operations, such as those of several calls of `train`."""

    graphs: int = 0
    count: int = 0
    secs: float = 0.0
    between_secs: float = 0.0
    fed: int = 0
    operations: set[str] = field(default_factory=set)
    fetches: dict[tuple[str, ...], FetchRuns] = field(default_factory=dict)

    @property
    def all_secs(self) -> float:
        """Seconds in the runs and between them."""
        return self.secs + self.between_secs

    @property
    def name(self) -> str:
        """What the graphs are for."""
        trains = any(map(_TRAINS.match, self.operations))
        kind = "training" if trains else "evaluation or prediction"
        return kind if self.graphs == 1 else f"{kind} ({self.graphs} graphs)"

    def add(self, runs: GraphRuns) -> None:
        """Adds the runs of another graph."""
        self.graphs += 1
        self.count += runs.count
        self.secs += runs.secs
        self.between_secs += runs.between_secs
        self.fed += runs.fed
        self.operations |= set(runs.operations)
        for names, some in runs.fetches.items():
            self.fetches.setdefault(names, FetchRuns()).add(some)


def format_report(recorder: Recorder) -> list[str]:
    """Returns the lines that say where the time of the program went.

    Args:
      recorder: what it measured until now.
    """
    total = time.perf_counter() - recorder.began
    if recorder.first_run is None:
        return [
            f"where the time of this program went: {format_secs(total)}, without a session run.",
            "  --profile measures sessions, those of Estimators among them. For eager code, use",
            "  the TensorFlow Profiler (tf.profiler.experimental.start).",
        ]
    main = max(recorder.runs, key=lambda runs: runs.secs + runs.between_secs).thread
    groups = _group([runs for runs in recorder.runs if runs.thread == main])
    lines = [f"where the time of this program went ({format_secs(total)}):"]
    lines += _list_parts(recorder, groups, total)
    beside = [runs for runs in recorder.runs if runs.thread != main]
    if beside:
        count, secs = sum(runs.count for runs in beside), sum(runs.secs for runs in beside)
        lines.append(f"  at the same time, in other threads: {count:,} session runs, {secs:.1f} s")
    for group in groups:
        if group.all_secs >= _DETAIL_SHARE * total:
            lines += _describe_run(group)
    return lines


def _group(recorded: list[GraphRuns]) -> list[_Group]:
    """Returns the graphs with the same operations together, those that took longest first."""
    groups: dict[frozenset[tuple[str, int]], _Group] = {}
    for runs in recorded:
        groups.setdefault(frozenset(runs.operations.items()), _Group()).add(runs)
    return sorted(groups.values(), key=lambda group: -group.all_secs)


def _list_parts(recorder: Recorder, groups: list[_Group], total: float) -> list[str]:
    assert recorder.first_run is not None
    start = recorder.first_run - recorder.began
    parts = [(start, "start, imports and graph, until the first session run")]
    large = [one for one in groups if one.operations and one.all_secs >= _LEAST_SHARE * total]
    small = [one for one in groups if one not in large]
    for group in large:
        each = 1000 * group.all_secs / group.count
        parts.append(
            (group.all_secs, f"{group.name}: {group.count:,} session runs, {each:.2f} ms each")
        )
    if small:
        count = sum(group.count for group in small)
        parts.append((sum(group.all_secs for group in small), f"other session runs: {count:,}"))
    if recorder.saved:
        parts.append((recorder.save_secs, f"checkpoints saved: {recorder.saved:,}"))
    rest = max(total - sum(secs for secs, _ in parts), 0.0)
    parts.append((rest, "the rest: graphs, summaries, the program's own Python"))
    return [f"  {secs:8.1f} s {100 * secs / total:4.0f} %  {what}" for secs, what in parts]


def _describe_run(group: _Group) -> list[str]:
    """Returns what happens in the runs that take longest, and what would shorten them.

    Times are those of one such run, with a share of everything around it.
    """
    runs = max(group.fetches.values(), key=lambda one: one.secs, default=FetchRuns())
    traced = runs.division
    if not runs.count or not traced.runs:
        return []
    secs = {
        "input": traced.input_secs / traced.runs,
        "operations": traced.operation_secs / traced.runs,
        "waiting": traced.waiting_secs / traced.runs,
    }
    run_secs = runs.secs / runs.count
    # A trace makes a run longer.
    excess = max(sum(secs.values()) / run_secs, 1.0)
    secs = {name: part / excess for name, part in secs.items()}
    secs["session"] = max(run_secs - sum(secs.values()), 0.0)
    others = [one for one in group.fetches.values() if one is not runs]
    secs["others"] = sum(one.secs for one in others) / runs.count
    secs["between"] = group.between_secs / runs.count
    texts = {
        "input": f"waiting for input ({', '.join(sorted(traced.input_types))})",
        "operations": "operations",
        "waiting": "waiting for other devices and processes",
        "session": "the session: feeds, fetches, starting operations",
        "others": f"{sum(one.count for one in others):,} runs that fetch something else",
        "between": "Python between the runs: hooks, logging, making feeds",
    }
    total = sum(secs.values())
    lines = [f"  {group.name}, of each of {runs.count:,} equal runs (traced: {traced.runs:,}):"]
    for name, text in texts.items():
        if name in ("input", "waiting", "others") and secs[name] < _LEAST_PART * total:
            continue
        share = secs[name] / total
        lines.append(f"  {1000 * secs[name]:8.2f} ms{100 * share:4.0f} %  {text}")
        if name == "operations":
            lines += _list_types(traced, share)
    if traced.has_gpu:
        lines.append("  On a GPU, operations take longer than this: it is the time to start them.")
    remedy = _advise(group, traced, {name: part / total for name, part in secs.items()})
    return [*lines, f"  {remedy}"] if remedy else lines


def _list_types(traced: Division, share: float) -> list[str]:
    """Returns the types of operations that take longest, on lines that a terminal shows whole."""
    total = sum(traced.by_type.values())
    lines = [" " * 19]
    for kind, secs in traced.by_type.most_common(_MOST_TYPES):
        percent = round(100 * share * secs / total)
        if not percent:
            break
        text = f" {kind} {percent} %,"
        if len(lines[-1] + text) > _WIDTH:
            lines.append(" " * 19)
        lines[-1] += text
    lines[-1] = lines[-1].rstrip(",")
    return lines if lines[-1].strip() else []


def _advise(group: _Group, traced: Division, shares: dict[str, float]) -> str:
    """Returns what may make the longest part of a run shorter; "" if nothing general does."""
    name = max(shares, key=lambda each: shares[each])
    if shares[name] < _REMEDY_SHARE:
        return ""
    if name == "between" and group.fed:
        return "To try: a tf.data input function, or a thread that makes the next feeds."
    if name == "between":
        return "To try: hooks that act less often (log_step_count_steps, save_summary_steps)."
    if name == "input" and any("Dequeue" in kind for kind in traced.input_types):
        return "To try: more threads that fill the queue (num_threads)."
    if name == "input":
        return "To try: num_parallel_calls in `map`, `map` after `batch`, batches from generators."
    return ""
