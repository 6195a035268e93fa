"""Starts the clusters of k-means as TensorFlow 1.15 does.

There, `random_seed` is the seed of the operations that choose the first clusters. Later versions
replace it by the seed of the graph, so that it has no effect.
"""

import functools
import inspect

from estimator_bridge.private_tf import clustering_ops

__all__ = ["install"]


def install() -> None:
    """Makes `random_seed` the seed of KMeans, and so of the Estimators that use it."""
    cls = clustering_ops.KMeans
    start = cls.__init__
    if hasattr(start, "__wrapped__"):
        return
    signature = inspect.signature(start)

    @functools.wraps(start)
    def start_with_seed(self, *args, **kwargs):
        start(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        self._seed = given.arguments["random_seed"]

    cls.__init__ = start_with_seed
