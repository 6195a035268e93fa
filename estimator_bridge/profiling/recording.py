"""Records how long the session runs of a program take, and traces a few of them.

A traced run takes longer, so only a few are traced: a fifth of a second apart, or fifty times what
it takes to read a trace, and later at intervals of a hundredth of the time since the start. Only
the fetches that have taken longest in their graph are traced: the run after a long one may always
be a short one.
"""

import functools
import threading
import time
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Optional

from ..process.importing import call_when_imported
from .traces import Division, divide

__all__ = ["FetchRuns", "GraphRuns", "Recorder"]

# The first runs of a graph initialize variables and prepare the later ones.
_WARM_UP_RUNS = 10
_TRACE_EVERY_SECS = 0.2
_TRACE_EVERY_SHARE = 0.01
_TRACE_EVERY_COST = 50
_SOFTWARE_TRACE = 1
# A program may make new fetches all the time.
_MOST_FETCHES = 1000


@dataclass
class FetchRuns:
    """The session runs of a graph that fetch the same, after the warm-up.

    Attributes:
      count: how many there were.
      secs: their elapsed seconds.
      division: how the time of the traced ones divides.
    """

    count: int = 0
    secs: float = 0.0
    division: Division = field(default_factory=Division)

    def add(self, other: "FetchRuns") -> None:
        """Adds other runs.

        Args:
          other: the runs.
        """
        self.count += other.count
        self.secs += other.secs
        self.division.add(other.division)


@dataclass
class GraphRuns:
    """The session runs of one graph in one thread, without those that save checkpoints.

    Attributes:
      thread: number of the thread.
      operations: type of an operation -> how many the graph has; empty before the warm-up's end.
      count: how many runs there were.
      secs: their elapsed seconds.
      between_secs: seconds between runs after the warm-up, without other sessions and checkpoints.
      fed: how many runs had a feed_dict.
      fetches: names of what is fetched -> the runs after the warm-up that fetch it.
    """

    thread: int
    operations: Counter[str] = field(default_factory=Counter)
    count: int = 0
    secs: float = 0.0
    between_secs: float = 0.0
    fed: int = 0
    fetches: dict[tuple[str, ...], FetchRuns] = field(default_factory=dict)

    def is_longest(self, names: tuple[str, ...]) -> bool:
        """Returns whether no other fetches have taken longer until now.

        Args:
          names: those of the fetches.
        """
        most = max((runs.secs for runs in self.fetches.values()), default=0.0)
        return names in self.fetches and self.fetches[names].secs == most

    def note(self, names: tuple[str, ...], secs: float, metadata: Any) -> None:
        """Counts a run.

        Args:
          names: those of what it has fetched.
          secs: its elapsed seconds.
          metadata: the RunMetadata of a traced run; None for others.
        """
        self.count += 1
        self.secs += secs
        if self.count <= _WARM_UP_RUNS:
            return
        if names not in self.fetches and len(self.fetches) >= _MOST_FETCHES:
            names = ()
        runs = self.fetches.setdefault(names, FetchRuns())
        if metadata is not None:
            # A trace makes a run longer.
            runs.division.add(divide(metadata.step_stats))
        else:
            runs.count += 1
            runs.secs += secs


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.graphs: Any = weakref.WeakKeyDictionary()
        self.is_saving = False
        # The graph of the last run, if nothing else has been measured since, and when it ended.
        self.last: Optional[GraphRuns] = None
        self.last_end = 0.0


class Recorder:
    """Measures the sessions of this process from its construction on.

    Attributes:
      began: when it was made, by time.perf_counter.
      first_run: when the first session run began; None before that.
      runs: those of each graph in each thread.
      saved: how many checkpoints were saved.
      save_secs: how many seconds this took.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.first_run: Optional[float] = None
        self.runs: list[GraphRuns] = []
        self.saved = 0
        self.save_secs = 0.0
        self._next_trace = 0.0
        self._state = _ThreadState()

    def attach(self) -> None:
        """Measures the sessions and savers of TensorFlow, once the program imports it."""
        call_when_imported("tensorflow", self._replace)

    def _replace(self) -> None:
        from ..private_tf import config_pb2, saver, session

        run: Any = session.BaseSession.run
        save: Any = saver.Saver.save

        @functools.wraps(run)
        def measured_run(
            self_: Any,
            fetches: Any,
            feed_dict: Any = None,
            options: Any = None,
            run_metadata: Any = None,
        ) -> Any:
            if self._state.is_saving:
                return run(self_, fetches, feed_dict, options, run_metadata)
            start = time.perf_counter()
            runs = self._begin(self_.graph, start)
            names = tuple(_list_names(fetches))
            metadata = None
            # A MonitoredSession always gives options and metadata.
            wants_more = options and (options.trace_level or options.output_partition_graphs)
            if not wants_more and self._is_due(runs, names, start):
                given, options = options, config_pb2.RunOptions()
                if given is not None:
                    options.CopyFrom(given)
                options.trace_level = _SOFTWARE_TRACE
                run_metadata = metadata = config_pb2.RunMetadata()
            start = time.perf_counter()
            try:
                return run(self_, fetches, feed_dict, options, run_metadata)
            finally:
                end = time.perf_counter()
                runs.note(names, end - start, metadata)
                runs.fed += bool(feed_dict)
                if runs.count == _WARM_UP_RUNS:
                    operations = self_.graph.get_operations()
                    runs.operations = Counter(operation.type for operation in operations)
                self._state.last, self._state.last_end = runs, time.perf_counter()
                if metadata is not None:
                    cost = self._state.last_end - end
                    self._next_trace = max(self._next_trace, end + _TRACE_EVERY_COST * cost)

        @functools.wraps(save)
        def measured_save(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            outer, self._state.is_saving = self._state.is_saving, True
            try:
                return save(*args, **kwargs)
            finally:
                self._state.is_saving = outer
                self._state.last = None
                self.saved += 1
                self.save_secs += time.perf_counter() - start

        session.BaseSession.run = measured_run
        saver.Saver.save = measured_save

    def _begin(self, graph: Any, start: float) -> GraphRuns:
        """Returns where the runs of a graph are counted, after counting the time between runs."""
        state = self._state
        runs: Optional[GraphRuns] = state.graphs.get(graph)
        if runs is None:
            runs = state.graphs[graph] = GraphRuns(threading.get_ident())
            self.runs.append(runs)
        if self.first_run is None:
            self.first_run = start
        if state.last is runs and runs.count >= _WARM_UP_RUNS:
            runs.between_secs += start - state.last_end
        return runs

    def _is_due(self, runs: GraphRuns, names: tuple[str, ...], now: float) -> bool:
        if now < self._next_trace or not runs.is_longest(names):
            return False
        interval = max(_TRACE_EVERY_SECS, _TRACE_EVERY_SHARE * (now - self.began))
        self._next_trace = now + interval
        return True


def _list_names(fetches: Any) -> list[str]:
    """Returns the names of what a run fetches; a MonitoredSession fetches a dict of structures."""
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        return [name for one in fetches for name in _list_names(one)]
    return [str(getattr(fetches, "name", fetches))]
