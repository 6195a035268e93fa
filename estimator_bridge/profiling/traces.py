"""Divides the time of traced session runs among input, other devices and operations.

The trace of a run lists when each operation started and ended, in several threads. A moment belongs
to the operations if any of them computes; otherwise to the input if an operation waits for it; then
to other processes and devices if an operation waits for these. The rest is the session's own.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Division", "divide"]

Interval = tuple[float, float]

# Operations that wait for the next batch.
_INPUT = re.compile("(MultiDevice)?IteratorGetNext|QueueDequeue|BarrierTakeMany|Unstage|ReaderRead")
# Operations that wait for another device or process.
_WAITING = re.compile("_?(Host)?Recv|Collective|Nccl|.*TakeGrad")
# Operations whose parts are listed as well.
_CONTAINERS = re.compile(
    r"(Stateful|Stateless|TPU)?PartitionedCall|RemoteCall|(Stateless)?(If|Case|While)|"
    r"SymbolicGradient"
)
# What precedes the type in the names of oneDNN's kernels.
_ONEDNN = re.compile("^_Mkl(Native)?")
# What TensorFlow puts into a label: `name = Type(inputs)`, perhaps with sizes before it.
_TYPE = re.compile(r" = (\w+)\(")


@dataclass
class Division:
    """How the time of traced runs divides.

    Attributes:
      runs: how many runs were traced.
      input_secs: seconds in which operations waited only for input.
      waiting_secs: seconds in which they waited only for other processes or devices.
      operation_secs: seconds in which at least one operation computed.
      by_type: type of an operation -> its seconds, added up over threads.
      input_types: types of the operations that waited for input.
      has_gpu: whether operations ran on a GPU, where their times are those of starting them.
    """

    runs: int = 0
    input_secs: float = 0.0
    waiting_secs: float = 0.0
    operation_secs: float = 0.0
    by_type: Counter[str] = field(default_factory=Counter)
    input_types: set[str] = field(default_factory=set)
    has_gpu: bool = False

    def add(self, other: "Division") -> None:
        """Adds the times of other runs.

        Args:
          other: how their time divides.
        """
        self.runs += other.runs
        self.input_secs += other.input_secs
        self.waiting_secs += other.waiting_secs
        self.operation_secs += other.operation_secs
        self.by_type.update(other.by_type)
        self.input_types |= other.input_types
        self.has_gpu |= other.has_gpu


def divide(step_stats: Any) -> Division:
    """Divides the time of one traced run.

    Args:
      step_stats: the StepStats of its RunMetadata.
    """
    result = Division(runs=1)
    computing: list[Interval] = []
    reading: list[Interval] = []
    waiting: list[Interval] = []
    for device in step_stats.dev_stats:
        result.has_gpu |= "GPU" in device.device
        for node in device.node_stats:
            found = _TYPE.search(node.timeline_label)
            if found is None or _CONTAINERS.fullmatch(found[1]):
                continue
            kind, start = _ONEDNN.sub("", found[1]), node.all_start_nanos
            interval = start + node.op_start_rel_nanos, start + node.op_end_rel_nanos
            if _INPUT.match(kind):
                reading.append(interval)
                result.input_types.add(kind)
            elif _WAITING.match(kind):
                waiting.append(interval)
            else:
                computing.append(interval)
                result.by_type[kind] += (interval[1] - interval[0]) / 1e9
    busy = _measure(computing)
    with_input = _measure([*computing, *reading])
    result.operation_secs = busy
    result.input_secs = with_input - busy
    result.waiting_secs = _measure([*computing, *reading, *waiting]) - with_input
    return result


def _measure(intervals: Iterable[Interval]) -> float:
    """Returns how many seconds at least one of the intervals, in nanoseconds, covers."""
    covered = 0.0
    until = 0.0
    for start, end in sorted(intervals):
        if end > until:
            covered += end - max(start, until)
            until = end
    return covered / 1e9
