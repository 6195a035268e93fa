"""Programs with boosted trees, which run on TensorFlow 2.8.4 and under the bridge.

python programs.py FOLDER       (on TensorFlow 2.8.4: writes the stored values anew)
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

ROWS = 900
BATCH = 300
COLORS = ["red", "green", "blue", "grey"]
# Case -> a step in the middle of the second tree, and after all batches of a layer.
MIDDLE = {"regressor": 18, "in_memory": 7}


def read_data():
    """Returns features and a noisy number that depends on them."""
    random = np.random.RandomState(1)
    a = random.randn(ROWS, 3).astype(np.float32)
    color = random.randint(0, 4, ROWS)
    bucketed = random.randn(ROWS).astype(np.float32)
    pair = random.randn(ROWS, 2).astype(np.float32)
    target = a[:, 0] * a[:, 1] + 1.5 * (color == 2) - (bucketed > 0.3) + 0.3 * pair[:, 1]
    target = (target + 0.5 * random.randn(ROWS)).astype(np.float32)
    features = {f"a{number}": a[:, number] for number in range(3)}
    features.update(pair=pair, color=np.array(COLORS)[color], bucketed=bucketed)
    features.update(weight=random.rand(ROWS).astype(np.float32) + np.float32(0.5))
    return features, target


def build_columns(tf):
    fc = tf.feature_column
    vocabulary = fc.categorical_column_with_vocabulary_list("color", COLORS)
    return [
        *(fc.numeric_column(f"a{number}") for number in range(3)),
        fc.numeric_column("pair", shape=(2,)),
        fc.indicator_column(vocabulary),
        fc.bucketized_column(fc.numeric_column("bucketed"), [-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]),
    ]


# Case -> (class, its options, labels from the number).
CASES = {
    "regressor": ("Regressor", {"min_node_weight": 0.02}, lambda y: y),
    "in_memory": ("Regressor", {"train_in_memory": True}, lambda y: y),
    "regressor_l1_l2": (
        "Regressor",
        {"l1_regularization": 0.01, "l2_regularization": 0.05, "quantile_sketch_epsilon": 0.05},
        lambda y: y,
    ),
    "classifier": (
        "Classifier",
        {"center_bias": True, "weight_column": "weight", "label_vocabulary": ["no", "yes"]},
        lambda y: np.where(y > 0, "yes", "no"),
    ),
    "pruned": (
        "Classifier",
        {"pruning_mode": "post", "tree_complexity": 0.02},
        lambda y: (y > 0).astype(np.int32),
    ),
    "centered": (
        "Regressor",
        {"center_bias": True, "pruning_mode": "post", "tree_complexity": 0.02},
        lambda y: y + 2,
    ),
    "three_classes": (
        "Classifier",
        {"n_classes": 3, "l2_regularization": 0.1, "max_depth": 3},
        lambda y: np.digitize(y, [-0.7, 0.7]).astype(np.int32),
    ),
}


def build(tf, case, folder):
    """Returns the Estimator of a case and a function that makes its input_fn."""
    kind, options, label = CASES[case]
    features, target = read_data()
    in_memory = "train_in_memory" in options

    def make_input_fn(repeat):
        def input_fn():
            if in_memory:
                rows = tf.compat.v1.data.Dataset.from_tensors((features, label(target)))
                return rows.repeat() if repeat else rows
            rows = tf.compat.v1.data.Dataset.from_tensor_slices((features, label(target)))
            return (rows.repeat() if repeat else rows).batch(BATCH)

        return input_fn

    options = {"n_trees": 3, "max_depth": 4, "learning_rate": 0.3, **options}
    config = tf.estimator.RunConfig(tf_random_seed=1, save_summary_steps=1000)
    make = getattr(tf.estimator, f"BoostedTrees{kind}")
    batches = 1 if in_memory else ROWS // BATCH
    model = make(build_columns(tf), batches, model_dir=str(folder), config=config, **options)
    return model, make_input_fn


def examine(tf, case, model, make_input_fn):
    """Returns what the tests compare, as JSON can hold it."""
    reader = tf.train.load_checkpoint(model.model_dir)
    predictions = list(model.predict(make_input_fn(False)))
    key = "logits" if "logits" in predictions[0] else "predictions"
    metrics = model.evaluate(make_input_fn(False))
    prefix = "boosted_trees/QuantileAccumulator:0_bucket_boundaries_"
    explained = []
    if CASES[case][1].get("center_bias"):
        rows = model.experimental_predict_with_explanations(make_input_fn(False))
        explained = [[row["bias"], list(row["dfc"].items())] for row in rows][:20]
    return {
        "explained": explained,
        "importances": [
            list(model.experimental_feature_importances(normalize).items())
            for normalize in (False, True)
        ],
        "ensemble": reader.get_tensor("boosted_trees:0_serialized").hex(),
        "stamp": int(reader.get_tensor("boosted_trees:0_stamp")),
        "boundaries": [reader.get_tensor(f"{prefix}{n}").tolist() for n in range(5)],
        "values": [row[key].tolist() for row in predictions[:50]],
        "metrics": {name: float(value) for name, value in metrics.items()},
    }


def main(folder):
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    for case in CASES:
        path = Path(folder) / case
        model, make_input_fn = build(tf, case, path)
        if case in MIDDLE:
            model.train(make_input_fn(True), max_steps=MIDDLE[case])
            for file in path.iterdir():
                if not file.name.startswith(("checkpoint", f"model.ckpt-{MIDDLE[case]}.")):
                    file.unlink()
            (path / f"model.ckpt-{MIDDLE[case]}.meta").unlink()
            path = path.with_name("temporary")
            model, make_input_fn = build(tf, case, path)
        model.train(make_input_fn(True), max_steps=10000)
        values = json.dumps(examine(tf, case, model, make_input_fn))
        (Path(folder) / f"{case}.json").write_text(values, encoding="utf-8")
        shutil.rmtree(path)


if __name__ == "__main__":
    main(sys.argv[1])
