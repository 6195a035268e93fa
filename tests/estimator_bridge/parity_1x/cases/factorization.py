"""Cases of tf.contrib.factorization: the first clusters of k-means, and WALSModel."""

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

SIDES, FACTORS = (7, 5), 2
ENTRIES = [(0, 0), (0, 3), (1, 1), (2, 0), (2, 4), (3, 2), (4, 1), (4, 3), (5, 4), (6, 2), (6, 0)]
RATINGS = [3.0, -1.0, 2.0, 4.0, 0.5, 1.0, -2.0, 5.0, 1.5, 2.5, 0.0]


def ratings(rows):
    """Returns the entries of some rows, in this order, as a tensor of the whole matrix."""
    chosen = [place for row in rows for place, one in enumerate(ENTRIES) if one[0] == row]
    return tf.SparseTensor(
        [ENTRIES[place] for place in chosen], [RATINGS[place] for place in chosen], SIDES
    )


def factorized(sweeps=2, shards=1, **options):
    """Returns what the operations of a model compute, in the order of a training."""
    with tf.Graph().as_default() as graph, tf.Session(config=values.one_thread()) as session:
        starts = [values.array(size, FACTORS, seed=size) for size in SIDES]
        if shards > 1:
            starts = [
                [start[: -(-len(start) // 2)], start[-(-len(start) // 2) :]] for start in starts
            ]
            options.update(num_row_shards=2, num_col_shards=2)
        model = factorization.WALSModel(
            *SIDES, n_components=FACTORS, row_init=starts[0], col_init=starts[1], **options
        )
        parts = [model.update_row_factors(ratings(rows)) for rows in ([2, 0, 1], [6, 3], [4, 5])]
        everything = ratings(range(SIDES[0]))
        columns = [model.update_col_factors(everything)]
        transposed = tf.sparse_transpose(everything)
        again = model.update_col_factors(transposed, transpose_input=True)
        found = {"variables": [one.name for one in tf.global_variables()]}
        found["local"] = [one.name for one in tf.local_variables()]
        session.run([model.initialize_op])
        session.run(model.worker_init)
        for sweep in range(sweeps):
            session.run(model.row_update_prep_gramian_op)
            session.run(model.initialize_row_update_op)
            for place, part in enumerate(parts):
                found[f"{sweep}/row/{place}"] = run_update(session, part)
            projected = model.project_row_factors(ratings([3, 2]), projection_weights=[0.5, 2.0])
            found[f"{sweep}/projected"] = session.run(projected)
            session.run(model.col_update_prep_gramian_op)
            session.run(model.initialize_col_update_op)
            found[f"{sweep}/column"] = run_update(session, columns[0])
            found[f"{sweep}/transposed"] = run_update(session, again)
            projected = model.project_col_factors(transposed, transpose_input=True)
            found[f"{sweep}/projected column"] = session.run(projected)
        found["factors"] = session.run([model.row_factors, model.col_factors])
        found["weights"] = session.run([model.row_weights or [], model.col_weights or []])
        del graph
    return found


def run_update(session, update):
    factors, operation, *losses = update
    found = session.run([factors] + losses)
    session.run(operation)
    return found


for _name, _options in {
    "default": {},
    "without caches": {"use_factors_weights_cache": False, "use_gramian_cache": False},
    "without weights": {"row_weights": None, "col_weights": None, "regularization": 0.1},
    "weights": {
        "row_weights": values.array(SIDES[0]) ** 2,
        "col_weights": [1, 2, 3, 4, 5],
        "unobserved_weight": 2.0,
    },
    "regularized": {"regularization": 0.5, "use_scoped_vars": True},
    "shards": {
        "shards": 2,
        "regularization": 3.0,
        "unobserved_weight": 1.0,
        "row_weights": [[1, 2, 3, 4], [5, 6, 7]],
        "col_weights": [[1, 1, 2], [2, 3]],
    },
}.items():
    CASES[f"WALSModel, {_name}"] = functools.partial(factorized, **_options)


def two_models():
    models = [factorization.WALSModel(3, 2, 2) for _ in range(2)]
    return {
        "names": [one.name for model in models for one in model.row_factors + model.col_factors]
    }


CASES["WALSModel, two"] = two_models
