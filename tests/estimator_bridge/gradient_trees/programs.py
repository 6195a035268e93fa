"""Programs with tf.contrib.boosted_trees, which run on TensorFlow 1.14 and under `--tf1`.

python programs.py FOLDER [CASE ...]      (on TensorFlow 1.14.0: writes the stored values anew)
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

ROWS = 900
BATCH = 300
ROWS_OF_LAYER = 600
# In the middle of a layer of the first tree, and after all batches.
MIDDLE = 9
STEPS = 60
COLORS = ["red", "green", "blue", "black", "white", "gray"]
CONFIG = {"learning_rate_tuner": {"fixed": {"learning_rate": 0.3}}}

# Case -> kind of Estimator, label, LearnerConfig, arguments. Cases with True keep a checkpoint.
CASES = {
    "mixed": ("Classifier", "two", {"regularization": {"l2": 0.01}}, {}, True),
    "full": (
        "Classifier",
        "three",
        {"num_classes": 3, "multi_class_strategy": "FULL_HESSIAN", "regularization": {"l2": 0.01}},
        {"n_classes": 3},
        True,
    ),
    "per_class": (
        "Classifier",
        "three",
        {
            "num_classes": 3,
            "multi_class_strategy": "TREE_PER_CLASS",
            "regularization": {"l2": 0.01},
        },
        {"n_classes": 3, "num_trees": 4},
        False,
    ),
    "diagonal": (
        "Classifier",
        "three",
        {
            "num_classes": 3,
            "multi_class_strategy": "DIAGONAL_HESSIAN",
            "regularization": {"l2": 0.01},
        },
        {"n_classes": 3},
        False,
    ),
    "pair": (
        "Regressor",
        "pair",
        {"regularization": {"l2": 0.1}},
        {"label_dimension": 2},
        False,
    ),
    "columns": (
        "Regressor",
        "number",
        {"regularization": {"l1": 0.01, "l2": 0.1, "tree_complexity": 0.02}},
        {"center_bias": True, "weight_column_name": "weight", "examples_per_layer": ROWS},
        False,
    ),
    "whole": (
        "Classifier",
        "two",
        {
            "growing_mode": "WHOLE_TREE",
            "pruning_mode": "PRE_PRUNE",
            "regularization": {"l2": 0.01, "tree_complexity": 0.001},
            "constraints": {"min_node_weight": 0.02},
        },
        {"center_bias": True, "examples_per_layer": ROWS},
        False,
    ),
    "averaged": (
        "Regressor",
        "number",
        {
            "averaging_config": {"average_last_n_trees": 2},
            "constraints": {"max_number_of_unique_feature_columns": 2},
        },
        {"output_leaf_index": True},
        False,
    ),
    "deep": (
        "DNNBoostedTreeCombinedClassifier",
        "two",
        {"regularization": {"l2": 0.01}},
        {"dnn_hidden_units": [4], "dnn_steps_to_train": 12},
        True,
    ),
    "ranked": (
        "Ranker",
        "first",
        {"regularization": {"l2": 0.01}},
        {"ranking_model_pair_keys": ("a", "b")},
        False,
    ),
}


def read_data():
    """Returns features, and labels by name.

    With this many rows and colors, and with values that are missing at random, hardly any node has
    two splits with the same gain. Rounding would decide between them.
    """
    random = np.random.RandomState(5)
    numbers = random.randn(ROWS, 3).astype(np.float32)
    color = random.randint(0, len(COLORS), ROWS)
    target = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + (color == 2)
    target = (target + 0.3 * random.randn(ROWS)).astype(np.float32)
    weight = random.uniform(0.5, 2, ROWS).astype(np.float32)
    sparse = numbers[:, :2] + random.randn(ROWS, 2).astype(np.float32)
    features = {
        "numbers": numbers,
        "sparse": np.where(random.rand(ROWS, 2) < 0.7, sparse, np.float32(np.nan)),
        "color": color.astype(np.int64),
        "weight": weight,
    }
    labels = {
        "two": (target > 0.3).astype(np.int32)[:, None],
        "three": np.digitize(target, [-0.3, 0.8]).astype(np.int32)[:, None],
        "number": target[:, None],
        "pair": np.stack([target, numbers[:, 0]], axis=1),
        "first": (target > target[::-1]).astype(np.int32)[:, None],
    }
    return features, labels


def read_single_rows(tf):
    """Returns the features of rows that a Ranker predicts, without keys."""
    numbers = read_data()[0]["numbers"][:BATCH]
    return {name: tf.constant(numbers[:, n : n + 1]) for n, name in enumerate("xyz")}


def build_columns(tf):
    """Returns columns that are not sorted by their names."""
    layers = tf.contrib.layers
    return [
        layers.sparse_column_with_keys("color", COLORS),
        layers.real_valued_column("z"),
        layers.real_valued_column("numbers", dimension=3),
    ]


def make_input_fn(tf, case, repeat=True, start=0):
    """Returns the input function of a case, from a batch on."""
    features, labels = read_data()
    label = labels[CASES[case][1]]
    rows = np.roll(np.arange(ROWS), -(start * BATCH) % ROWS)

    def input_fn():
        tensors = {name: values[rows] for name, values in features.items()}
        tensors["other"] = features["numbers"][::-1][rows]
        data = tf.data.Dataset.from_tensor_slices((tensors, label[rows])).batch(BATCH)
        data = data.repeat() if repeat else data
        given, target = tf.compat.v1.data.make_one_shot_iterator(data).get_next()
        return build_features(tf, case, given), target

    return input_fn


def build_features(tf, case, given):
    """Returns the features of a case: dense, sparse and categorical tensors, or for columns."""
    numbers, color = given["numbers"], given["color"]
    if case == "columns":
        return {
            "numbers": numbers,
            "z": numbers[:, :1] * 2,
            "color": tf.gather(tf.constant(COLORS), color)[:, None],
            "weight": given["weight"][:, None],
        }
    if case == "deep":
        return {"numbers": numbers, "z": numbers[:, :1] * 2, "a_number": numbers[:, 1:2]}
    if case == "ranked":
        numbers = {"a": numbers, "b": given["other"]}
        return {
            f"{key}.{name}": numbers[key][:, place : place + 1]
            for key in "ab"
            for place, name in enumerate("xyz")
        }
    size = tf.shape(numbers, out_type=tf.int64)[0]
    places = tf.where(tf.logical_not(tf.math.is_nan(given["sparse"])))
    positions = tf.stack([tf.range(size), tf.zeros([size], tf.int64)], axis=1)
    sparse = tf.SparseTensor(places, tf.gather_nd(given["sparse"], places), tf.stack([size, 2]))
    # The rows of a batch are not known, but the second dimension is.
    sparse.indices.set_shape([None, 2])
    features = {
        "b": numbers[:, 1:2],
        "c": numbers[:, 2:],
        "sparse": sparse,
        "color": tf.SparseTensor(positions, color, tf.stack([size, 1])),
    }
    return features


def fill(message, values):
    """Sets the fields of a message from a dict; enumerations by name."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, getattr(message, value) if isinstance(value, str) else value)
    return message


def build(tf, case, folder):
    """Returns the Estimator of a case."""
    from tensorflow.contrib.boosted_trees.estimator_batch import estimator
    from tensorflow.contrib.boosted_trees.proto import learner_pb2

    kind, _, options, arguments, _ = CASES[case]
    config = fill(learner_pb2.LearnerConfig(num_classes=2), CONFIG)
    config.constraints.max_tree_depth = 3
    fill(config, options)
    arguments = {
        "examples_per_layer": ROWS_OF_LAYER,
        "num_trees": 2,
        "center_bias": False,
        "num_quantiles": 20,
        "feature_columns": build_columns(tf) if case == "columns" else None,
        "model_dir": str(folder),
        "use_core_libs": kind == "Ranker",
        **arguments,
    }
    if kind.startswith("DNN"):
        return build_combined(tf, kind, config, arguments)
    if kind == "Ranker":
        arguments["head"] = build_head(tf)
    make = getattr(estimator, f"GradientBoostedDecisionTree{kind}")
    return make(config, **arguments)


def build_combined(tf, kind, config, arguments):
    """Returns an Estimator of hidden layers and trees."""
    from tensorflow.contrib.boosted_trees.estimator_batch import dnn_tree_combined_estimator

    column = tf.contrib.layers.real_valued_column
    make = getattr(dnn_tree_combined_estimator, kind)
    return make(
        dnn_feature_columns=[column("z")],
        tree_learner_config=config,
        num_trees=arguments["num_trees"],
        tree_examples_per_layer=arguments["examples_per_layer"],
        tree_feature_columns=[column("numbers", dimension=3), column("a_number")],
        model_dir=arguments["model_dir"],
        dnn_hidden_units=arguments["dnn_hidden_units"],
        dnn_steps_to_train=arguments["dnn_steps_to_train"],
    )


def build_head(tf):
    """Returns a head of tf.estimator, which is to be had in all versions."""
    reduction = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    return tf.contrib.estimator.binary_classification_head(loss_reduction=reduction)


def examine(tf, case, model):
    """Returns what the test compares, as JSON can hold it."""
    rows = make_input_fn(tf, case, repeat=False)
    metrics = model.evaluate(input_fn=rows, steps=ROWS // BATCH)
    reader = tf.train.load_checkpoint(model.model_dir)
    shapes = reader.get_variable_to_shape_map()
    single = rows if case != "ranked" else lambda: read_single_rows(tf)
    found = list(tf.contrib.learn.Estimator.predict(model, input_fn=single))
    names = [name for name in ("logits", "scores", "leaf_index") if name in found[0]]
    return {
        "ensemble": reader.get_tensor("ensemble_model:0_config").hex(),
        "global_step": int(reader.get_tensor("global_step")),
        "shapes": {name: list(shape) for name, shape in sorted(shapes.items())},
        "boundaries": {
            name: reader.get_tensor(name).tolist() for name in shapes if name.endswith("/buckets")
        },
        "predictions": {name: [np.ravel(row[name]).tolist() for row in found] for name in names},
        "metrics": {name: float(value) for name, value in metrics.items()},
    }


def main(folder, cases):
    import tensorflow as tf

    tf.logging.set_verbosity("ERROR")
    for case in cases or CASES:
        path = Path(folder) / case
        shutil.rmtree(str(path), ignore_errors=True)
        if CASES[case][-1]:
            build(tf, case, path).fit(input_fn=make_input_fn(tf, case), max_steps=MIDDLE)
            for file in path.iterdir():
                if not file.name.startswith(("checkpoint", f"model.ckpt-{MIDDLE}.")):
                    file.unlink()
            (path / f"model.ckpt-{MIDDLE}.meta").unlink()
        trained = path.with_name(case + "_trained")
        shutil.rmtree(str(trained), ignore_errors=True)
        start = 0
        if path.exists():
            shutil.copytree(str(path), str(trained))
            start = MIDDLE
        model = build(tf, case, trained)
        model.fit(input_fn=make_input_fn(tf, case, start=start), max_steps=STEPS)
        values = json.dumps(examine(tf, case, model))
        (Path(folder) / f"{case}.json").write_text(values, encoding="utf-8")
        shutil.rmtree(str(trained))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
