"""Keeps equal graphs out of the event files of a job, which TensorBoard reads.

TensorFlow writes the graph into each event file, into that of training three times. A job that is
trained every night would have gigabytes of equal graphs after a year, which TensorBoard reads at
each start. Here, only the first event file of a folder gets a graph.
"""

import itertools
from pathlib import Path
from typing import Any

from estimator_bridge import tf
from estimator_bridge.private_tf import writer_cache
from trainer.job_layout import is_event_file

# The version of the format and the graph come first in an event file.
_FIRST_EVENTS = 4


class _GraphlessWriter(tf.compat.v1.summary.FileWriter):
    """Writes all events but graphs."""

    def add_graph(self, *args: Any, **options: Any) -> None:
        pass

    def add_meta_graph(self, *args: Any, **options: Any) -> None:
        pass


def keep_graph(folder: str) -> None:
    """Makes this process write no graph into a folder whose earlier event files have one.

    Must be called before a hook opens the event file.

    Args:
        folder: of the event files.
    """
    cache = writer_cache.FileWriterCache
    with cache._lock:
        if folder not in cache._cache and _has_graph(folder):
            with tf.Graph().as_default():
                cache._cache[folder] = _GraphlessWriter(folder)


def _has_graph(folder: str) -> bool:
    found = (path for path in Path(folder).glob("events.*") if is_event_file(path.name))
    return any(map(_begins_with_graph, sorted(found)))


def _begins_with_graph(path: Path) -> bool:
    try:
        events = tf.compat.v1.train.summary_iterator(str(path))
        first = list(itertools.islice(events, _FIRST_EVENTS))
    except tf.errors.OpError:
        return False
    return any(event.HasField("graph_def") for event in first)
