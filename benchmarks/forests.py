"""Trains the same random forests on TensorFlow 1.15.5 and under the bridge, and compares them.

    python benchmarks/forests.py tables FOLDER        (needs scikit-learn)
    python3.7 benchmarks/forests.py train FOLDER/native.json FOLDER
    python -m estimator_bridge run --tf1 benchmarks/forests.py train FOLDER/bridge.json FOLDER
    python benchmarks/forests.py compare FOLDER       (needs SciPy)

Trains 20 times on each of five tables of scikit-learn, each time on another 70 % of the rows. Both
packages get the same rows in the same order; only their own draws differ. The measure is the share
of correct classes of the other 30 %, for diabetes the root of the mean squared error.
"""

import json
import os
import sys
import time

import numpy as np

TABLES = ("iris", "wine", "breast_cancer", "digits", "diabetes")
SEEDS, EPOCHS, BATCH = 20, 10, 50
PARAMS = {"num_trees": 30, "max_nodes": 1000, "split_after_samples": 10}


def write_tables(folder):
    """Writes the tables as NumPy arrays."""
    from sklearn import datasets

    for name in TABLES:
        table = getattr(datasets, "load_" + name)()
        path = os.path.join(folder, name + ".npz")
        np.savez(path, data=table.data.astype(np.float32), target=table.target)


def train(name, data, target):
    """Returns the measure and the processor time of each run on a table."""
    import tensorflow as tf
    from tensorflow.contrib.tensor_forest.python import tensor_forest

    regression = name == "diabetes"
    classes = 1 if regression else int(target.max()) + 1
    params = tensor_forest.ForestHParams(
        num_features=data.shape[1], num_classes=classes, regression=regression, **PARAMS
    ).fill()
    found = []
    with tf.Graph().as_default() as graph:
        forest = tensor_forest.RandomForestGraphs(params)
        rows = tf.placeholder(tf.float32, [None, data.shape[1]])
        labels = tf.placeholder(tf.float32 if regression else tf.int32, [None])
        step = forest.training_graph(rows, labels)
        answer = forest.inference_graph(rows)[0]
        resources = [one.create for one in tf.get_collection("resources")]
        init = [tf.global_variables_initializer(), resources]
        graph.finalize()
        for seed in range(SEEDS):
            order = np.random.RandomState(seed).permutation(len(data))
            kept, others = np.split(order, [int(0.7 * len(data))])
            with tf.Session() as session:
                session.run(init)
                start = time.process_time()
                for epoch in range(EPOCHS):
                    places = np.random.RandomState(1000 * seed + epoch).permutation(kept)
                    for first in range(0, len(places), BATCH):
                        some = places[first : first + BATCH]
                        session.run(step, {rows: data[some], labels: target[some]})
                seconds = time.process_time() - start
                output = session.run(answer, {rows: data[others]})
            if regression:
                measure = np.sqrt(np.mean((output[:, 0] - target[others]) ** 2))
            else:
                measure = np.mean(output.argmax(1) == target[others])
            found.append({"measure": float(measure), "seconds": seconds})
    return found


def compare(folder):
    """Returns the lines of a table of both packages."""
    from scipy.stats import mannwhitneyu

    results = []
    for name in ("native", "bridge"):
        with open(os.path.join(folder, name + ".json")) as file:
            results.append(json.load(file))
    lines = [
        "| table | measure | 1.15.5 | this package | p | processor, s: 1.15.5 | this package |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in TABLES:
        both = [np.array([run["measure"] for run in result[name]]) for result in results]
        seconds = [np.median([run["seconds"] for run in result[name]]) for result in results]
        test = mannwhitneyu(*both, alternative="two-sided")
        kind = "error" if name == "diabetes" else "accuracy"
        digits = 2 if name == "diabetes" else 4
        means = [f"{one.mean():.{digits}f} ± {one.std(ddof=1):.{digits}f}" for one in both]
        lines.append(
            f"| {name} | {kind} | {means[0]} | {means[1]} | {test.pvalue:.2f} "
            f"| {seconds[0]:.2f} | {seconds[1]:.2f} |"
        )
    return lines


def main(command, *arguments):
    if command == "tables":
        write_tables(*arguments)
    elif command == "train":
        path, folder = arguments
        found = {}
        for name in TABLES:
            table = np.load(os.path.join(folder, name + ".npz"))
            found[name] = train(name, table["data"], table["target"])
            print(name, np.mean([run["measure"] for run in found[name]]), flush=True)
            with open(path, "w") as file:
                json.dump(found, file)
    else:
        print("\n".join(compare(*arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
