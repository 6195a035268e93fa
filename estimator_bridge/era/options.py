"""Options of `tf.data` that later versions removed. They changed the speed only."""

import types
from typing import Any

__all__ = ["MapVectorizationOptions", "StatsOptions", "allow"]

# Programs may set them; nothing follows.
_OPTIMIZATIONS = (
    "autotune",
    "autotune_buffers",
    "autotune_cpu_budget",
    "autotune_ram_budget",
    "filter_with_random_uniform_fusion",
    "hoist_random_uniform",
    "reorder_data_discarding_ops",
)


class MapVectorizationOptions:
    """The options of vectorized maps, until TensorFlow 2.5; they have no effect.

    Attributes:
      enabled: whether maps are vectorized.
      use_choose_fastest: whether the faster of both is chosen.
    """

    def __init__(self) -> None:
        self.enabled: Any = None
        self.use_choose_fastest: Any = None


class StatsOptions:
    """The options of statistics, until TensorFlow 2.5; they have no effect.

    Attributes:
      aggregator: a StatsAggregator; none can be made any more.
      prefix: of the statistics' names.
      counter_prefix: of the counters' names.
      latency_all_edges: whether every transformation is measured.
    """

    def __init__(self) -> None:
        self.aggregator: Any = None
        self.prefix = ""
        self.counter_prefix = ""
        self.latency_all_edges: Any = None


def allow(tf: types.ModuleType) -> None:
    """Lets programs set the options.

    Args:
      tf: TensorFlow.
    """
    optimizations = tf.data.experimental.OptimizationOptions
    for name in _OPTIMIZATIONS:
        _allow(optimizations, name, lambda: None)
    _allow(optimizations, "map_vectorization", MapVectorizationOptions)
    _allow(tf.data.Options, "experimental_stats", StatsOptions)


def _allow(kind: type, name: str, default: Any) -> None:
    """Gives a class of options a property that keeps what is set and does nothing else."""
    if hasattr(kind, name):
        return
    kept = f"_kept_{name}"
    # Options refuse attributes that they do not know; an instance's dictionary takes any.
    setattr(
        kind,
        name,
        property(
            lambda options: vars(options).setdefault(kept, default()),
            lambda options, value: vars(options).__setitem__(kept, value),
        ),
    )
