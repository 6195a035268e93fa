"""Cases of tf.contrib.factorization: the first clusters of k-means."""

import functools

import tensorflow as tf
import values

CASES = {}
factorization = tf.contrib.factorization
ROWS = 20
STARTS = {
    "random": factorization.RANDOM_INIT,
    "kmeans_plus_plus": factorization.KMEANS_PLUS_PLUS_INIT,
    "kmc2": "kmc2",
    "array": values.array(3, 2, seed=2),
    "function": lambda inputs, number: inputs[0][:number] * 2,
}


def started(count=3, parts=(0,), **options):
    """Returns what a graph of k-means computes once its clusters have been chosen."""
    points = values.real(ROWS, 2)
    inputs = [points[start:stop] for start, stop in zip(parts, (*parts[1:], ROWS))]
    kmeans = factorization.KMeans(inputs, count, **options)
    distances, nearest, to_nearest, ready, start, _ = kmeans.training_graph()
    # The variables are recorded after `start` has run; without clusters nothing can be computed.
    del distances, nearest, to_nearest
    return {"ready": tf.identity(ready)}, [start]


for _start in sorted(STARTS):
    for _seed in (0, 7):
        CASES[f"KMeans, {_start}, seed {_seed}"] = functools.partial(
            started, initial_clusters=STARTS[_start], random_seed=_seed
        )
    CASES[f"KMeans, {_start}, cosine"] = functools.partial(
        started, initial_clusters=STARTS[_start], distance_metric="cosine"
    )
for _name, _options in {
    "mini-batch": {"use_mini_batch": True},
    "mini-batch, 3 steps": {"use_mini_batch": True, "mini_batch_steps_per_iteration": 3},
    "two inputs": {"parts": (0, 8)},
    "more clusters than points": {"count": 25},
    "retries": {"initial_clusters": "kmeans_plus_plus", "kmeans_plus_plus_num_retries": 6},
    # With a length of at most ROWS / 2, one run adds two clusters, and TensorFlow may read the
    # clusters before it has added the first one.
    "chain": {"initial_clusters": "kmc2", "kmc2_chain_length": 15},
    "wrong initialization": {"initial_clusters": "first"},
    "wrong distance": {"distance_metric": "manhattan"},
}.items():
    CASES[f"KMeans, {_name}"] = functools.partial(started, **_options)


def mixed(start="random", parts=None, **options):
    """Returns what a graph of a mixture has chosen; see `started`."""
    points = values.real(ROWS, 2)
    inputs = [points[:8], points[8:]] if parts else points
    *_, begin, ready = factorization.gmm(inputs, start, 3, 7, **options)
    return {"ready": tf.identity(ready)}, [begin]


def of_class(**options):
    found = factorization.GmmAlgorithm([values.real(ROWS, 2)], 2, **options)
    assert [found.clusters().name, found.covariances().name] == ["clusters:0", "clusters_covs:0"]
    return {"shares": tf.identity(found.alphas())}, [found.init_ops()]


for _name, _options in {
    "default": {},
    "diagonal": {"covariance_type": "diag"},
    "given": {"start": values.array(3, 2, seed=2)},
    "given, diagonal": {"start": values.array(3, 2, seed=2), "covariance_type": "diag"},
    "two inputs": {"parts": True, "params": "wm"},
    "wrong covariance": {"covariance_type": "round"},
    "wrong start": {"start": "first"},
}.items():
    CASES[f"gmm, {_name}"] = functools.partial(mixed, **_options)
CASES["GmmAlgorithm"] = of_class
CASES["GmmAlgorithm, diagonal"] = functools.partial(of_class, covariance_type="diag")
