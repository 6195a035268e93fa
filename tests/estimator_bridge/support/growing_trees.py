"""Ensembles of boosted trees that grow at random."""

import numpy as np

from estimator_bridge.boosted_trees.ensemble import Growth, grow, parse
from estimator_bridge.boosted_trees.splits import Splits

GROWTH = Growth(learning_rate=0.3, max_depth=3, pruning_mode="none", logits=1)


def grow_layers(seed=0, layers=12):
    """Yields the serialized ensemble after each layer of random splits."""
    random = np.random.RandomState(seed)
    ensemble = parse(b"")
    yield ensemble.SerializeToString()
    for _ in range(layers):
        growing = ensemble.growing_metadata
        nodes = np.arange(growing.last_layer_node_start, growing.last_layer_node_end or 1)
        count = len(nodes)
        splits = Splits(
            nodes.astype(np.int32),
            np.ones(count, np.float32),
            random.randint(0, 4, count),
            random.randint(0, 9, count),
            random.randn(count, 1).astype(np.float32),
            random.randn(count, 1).astype(np.float32),
            np.zeros(count, bool),
            np.zeros(count, bool),
        )
        grow(ensemble, [splits], GROWTH)
        yield ensemble.SerializeToString()
