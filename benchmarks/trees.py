"""Measures the boosted trees of the bridge, of TensorFlow 2.8.4 and of LightGBM side by side.

    python benchmarks/trees.py --original=PYTHON --lightgbm=PYTHON --rounds=2
    python benchmarks/trees.py --rows=11000000 --trees=100 --only="ours, in memory"

--original and --lightgbm are the interpreters of environments with TensorFlow 2.8.4 (Python 3.10)
and with LightGBM. The rows are made up: 28 numbers and two classes. Each contender runs in turn in
a process of its own. Measured is the training alone: processor time of all threads, which depends
less than the clock on what else runs; beside it the clock, the largest resident size of the
process, and the AUC on 20,000 other rows. With --progress, an Estimator also prints its resident
size and processor time after each tenth of the trees.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

FEATURES, BATCH, TEST_ROWS = 28, 10_000, 20_000
BRIDGE, ORIGINAL, LIGHTGBM = "bridge", "original", "lightgbm"

# How an Estimator reads: one batch of all rows, batches that are ready-made, or rows one by one, of
# which tf.data makes batches.
MEMORY, BATCHES, ROWS = "in memory", "batches", "rows"

# Contender -> (what runs it, how it reads).
CONTENDERS = {
    "ours, in memory": (BRIDGE, MEMORY),
    "ours, batches": (BRIDGE, BATCHES),
    "ours, rows": (BRIDGE, ROWS),
    "2.8.4, in memory": (ORIGINAL, MEMORY),
    "2.8.4, batches": (ORIGINAL, BATCHES),
    "2.8.4, rows": (ORIGINAL, ROWS),
    "LightGBM": (LIGHTGBM, MEMORY),
}


def make_rows(rows, seed):
    import numpy as np

    random = np.random.RandomState(seed)
    features = {f"x{n:02d}": random.randn(rows).astype(np.float32) for n in range(FEATURES)}
    x = [features[f"x{n:02d}"] for n in range(4)]
    score = x[0] * x[1] + x[2] + x[3] * x[3] / 2 + random.randn(rows).astype(np.float32)
    return features, (score > 0.5).astype(np.int32)


def compute_auc(labels, scores):
    import numpy as np

    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    positive = labels == 1
    count = positive.sum()
    rest = len(labels) - count
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * rest))


def measure(train):
    """Returns what a function returns, with the processor time and the time that it takes."""
    clock, processor = time.perf_counter(), time.process_time()
    found = train()
    return found, time.process_time() - processor, time.perf_counter() - clock


def print_progress(tf, layers):
    """Returns a hook that prints the resident size and the processor time after each tenth."""
    started = time.process_time()

    class Progress(tf.estimator.SessionRunHook):
        steps = 0

        def after_run(self, run_context, run_values):
            self.steps += 1
            if self.steps % (layers // 10) == 0:
                with open("/proc/self/statm", encoding="ascii") as file:
                    mib = int(file.read().split()[1]) * resource.getpagesize() >> 20
                seconds = time.process_time() - started
                print(f"{self.steps} steps: {mib:,} MiB, {seconds:.0f} s", file=sys.stderr)

    return Progress()


def keep_in_memory(tf, features, labels):
    """Returns one batch of all rows, which the graph does not have as constants."""
    arrays = [*features.values(), labels]

    def read(_):
        tensors = tf.numpy_function(lambda: arrays, [], [one.dtype for one in arrays])
        for one in tensors:
            one.set_shape([len(labels)])
        return dict(zip(features, tensors)), tensors[-1]

    return tf.data.Dataset.range(1).map(read).cache().repeat()


def run_estimator(tf, options, reading, folder):
    features, labels = make_rows(options.rows, 0)
    others, other_labels = make_rows(TEST_ROWS, 1)
    in_memory = reading == MEMORY

    def input_fn():
        if in_memory:
            return keep_in_memory(tf, features, labels)
        if reading == ROWS:
            rows = tf.data.Dataset.from_tensor_slices((features, labels))
            return rows.batch(BATCH).repeat()
        batches = {name: values.reshape(-1, BATCH) for name, values in features.items()}
        return tf.data.Dataset.from_tensor_slices((batches, labels.reshape(-1, BATCH))).repeat()

    model = tf.estimator.BoostedTreesClassifier(
        [tf.feature_column.numeric_column(name) for name in features],
        1 if in_memory else options.rows // BATCH,
        n_trees=options.trees,
        max_depth=options.depth,
        train_in_memory=in_memory,
        model_dir=folder,
        config=tf.estimator.RunConfig(save_summary_steps=10**9, save_checkpoints_steps=10**9),
    )
    hooks = [print_progress(tf, options.trees * options.depth)] if options.progress else None
    _, processor, clock = measure(lambda: model.train(input_fn, hooks, max_steps=10**9))
    rows = model.predict(lambda: tf.data.Dataset.from_tensors((others, other_labels)))
    return processor, clock, compute_auc(other_labels, [row["logistic"][0] for row in rows])


def run_lightgbm(options):
    import lightgbm
    import numpy as np

    features, labels = make_rows(options.rows, 0)
    others, other_labels = make_rows(TEST_ROWS, 1)
    table = np.stack(list(features.values()), axis=1)
    parameters = {
        "objective": "binary",
        "max_depth": options.depth,
        "num_leaves": 2**options.depth,
        "max_bin": 100,
        "num_threads": os.cpu_count(),
        "verbose": -1,
    }
    model, processor, clock = measure(
        lambda: lightgbm.train(parameters, lightgbm.Dataset(table, labels), options.trees)
    )
    scores = model.predict(np.stack(list(others.values()), axis=1))
    return processor, clock, compute_auc(other_labels, scores)


def run_contender(options):
    kind, reading = CONTENDERS[options.contender]
    with tempfile.TemporaryDirectory() as folder:
        if kind == LIGHTGBM:
            processor, clock, auc = run_lightgbm(options)
        else:
            if kind == BRIDGE:
                from estimator_bridge import tf
            else:
                import tensorflow as tf
            tf.compat.v1.logging.set_verbosity("ERROR")
            processor, clock, auc = run_estimator(tf, options, reading, folder)
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"processor": processor, "clock": clock, "auc": auc, "mib": size}))


def start(name, options):
    kind, _ = CONTENDERS[name]
    python = {BRIDGE: sys.executable, ORIGINAL: options.original, LIGHTGBM: options.lightgbm}[kind]
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    if kind != BRIDGE:
        environment.pop("PYTHONPATH", None)
    command = [python, __file__, f"--contender={name}", f"--rows={options.rows}"]
    command += [f"--trees={options.trees}", f"--depth={options.depth}"]
    command += ["--progress"] if options.progress else []
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def print_table(results, names):
    medians = {
        name: {
            key: statistics.median(one[key] for one in results[name]) for key in results[name][0]
        }
        for name in names
    }
    print("\n| contender | processor, s | lowest to highest | clock, s | AUC | peak memory, MiB |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, median in medians.items():
        times = [one["processor"] for one in results[name]]
        print(
            f"| {name} | {median['processor']:.1f} | {min(times):.1f} to {max(times):.1f} "
            f"| {median['clock']:.1f} | {median['auc']:.4f} | {median['mib']:,.0f} |"
        )
    for name, (kind, _) in CONTENDERS.items():
        ours = [own for own in names if CONTENDERS[own][0] == BRIDGE]
        if kind == BRIDGE or name not in names:
            continue
        for own in ours:
            ratio = medians[name]["processor"] / medians[own]["processor"]
            print(f"{name} / {own}: {ratio:.2f}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--original", help="the Python of an environment with TensorFlow 2.8.4")
    parser.add_argument("--lightgbm", help="the Python of an environment with LightGBM")
    parser.add_argument("--rows", type=int, default=200_000, help=f"a multiple of {BATCH:,}")
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--progress", action="store_true", help="print size and time in between")
    parser.add_argument("--only", action="append", choices=CONTENDERS, help="may be repeated")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    if options.contender:
        run_contender(options)
        return
    known = {BRIDGE: True, ORIGINAL: options.original, LIGHTGBM: options.lightgbm}
    names = [
        name
        for name, (kind, _) in CONTENDERS.items()
        if known[kind] and (not options.only or name in options.only)
    ]
    results = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            results[name].append(start(name, options))
            print(name, json.dumps(results[name][-1]), flush=True)
    print_table(results, names)


if __name__ == "__main__":
    main()
