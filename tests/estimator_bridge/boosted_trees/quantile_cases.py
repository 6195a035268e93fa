"""Numbers whose bucket boundaries TensorFlow 2.8.4 computed, in one batch and in several.

python quantile_cases.py FILE       (on TensorFlow 2.8.4: writes the stored boundaries anew)
"""

import json
import sys

import numpy as np

# Name -> numbers of a random state.
NUMBERS = {
    "normal": lambda random: random.randn(20000),
    "whole": lambda random: random.randint(0, 700, 20000),
    "rounded": lambda random: np.round(random.randn(6000), 2),
    "skewed": lambda random: random.exponential(size=9000) ** 4,
    "half zero": lambda random: np.where(random.rand(9000) < 0.5, 0, random.randn(9000)),
    "ascending": lambda random: np.sort(random.rand(5000)),
    "few": lambda random: random.randint(0, 5, 300),
}


def list_cases():
    """Yields name, the batches of numbers, the weights of each, and the error."""
    for number, (name, make) in enumerate(NUMBERS.items()):
        random = np.random.RandomState(number)
        values = make(random).astype(np.float32)
        weights = np.round(random.rand(len(values)), 3).astype(np.float32)
        for batches in (1, 7, 20):
            for epsilon in (0.05, 0.01):
                parts = np.array_split(values, batches)
                ones = [np.ones(1, np.float32)] * batches
                yield f"{name}, {batches}, {epsilon}", parts, ones, epsilon
        shares = np.array_split(weights, 7)
        yield f"{name}, weighted", np.array_split(values, 7), shares, 0.02


def main(path):
    import tensorflow as tf

    ops, found = tf.raw_ops, {}
    for name, batches, weights, epsilon in list_cases():
        stream = ops.BoostedTreesQuantileStreamResourceHandleOp(shared_name=name)
        ops.BoostedTreesCreateQuantileStreamResource(
            quantile_stream_resource_handle=stream, epsilon=epsilon, num_streams=1
        )
        for values, shares in zip(batches, weights):
            summaries = ops.BoostedTreesMakeQuantileSummaries(
                float_values=[values], example_weights=shares, epsilon=epsilon
            )
            ops.BoostedTreesQuantileStreamResourceAddSummaries(
                quantile_stream_resource_handle=stream, summaries=summaries
            )
        ops.BoostedTreesQuantileStreamResourceFlush(
            quantile_stream_resource_handle=stream, num_buckets=int(1 / epsilon)
        )
        (boundaries,) = ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
            quantile_stream_resource_handle=stream, num_features=1
        )
        found[name] = [float(one) for one in boundaries.numpy()]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(sys.argv[1])
