"""A program with boosted trees, which runs on TensorFlow 1.15.5 and under `--tf1`.

python programs_1x.py FOLDER       (on TensorFlow 1.15.5: writes the stored values anew)

Its columns are bucketized: 1.15.5 writes behind the end of its sums for numbers, and often aborts.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

ROWS = 300
BATCH = 100
COLORS = ["red", "green", "blue"]
# In the middle of the second tree, and after all batches of a layer.
MIDDLE = 12
OPTIONS = {"n_trees": 3, "max_depth": 3, "learning_rate": 0.3, "l2_regularization": 0.01}


def read_data():
    """Returns features and a noisy label of two classes."""
    random = np.random.RandomState(4)
    features = {name: random.randn(ROWS).astype(np.float32) for name in "ab"}
    color = random.randint(0, 3, ROWS)
    target = features["a"] * features["b"] + (color == 2) + 0.3 * random.randn(ROWS)
    return {**features, "color": np.array(COLORS)[color]}, (target > 0.2).astype(np.int32)


def build_columns(tf):
    fc = tf.feature_column
    color = fc.categorical_column_with_vocabulary_list("color", COLORS)
    bounds = {"a": [-1.0, -0.5, 0.0, 0.5, 1.0], "b": [-0.7, 0.0, 0.7]}
    numbers = [fc.bucketized_column(fc.numeric_column(name), bounds[name]) for name in "ab"]
    return [*numbers, fc.indicator_column(color)]


def make_input_fn(tf, batch, repeat=True):
    def input_fn():
        if batch == ROWS:
            # 1.15 keeps where rows are only if their number is known.
            rows = tf.data.Dataset.from_tensors(read_data())
        else:
            rows = tf.data.Dataset.from_tensor_slices(read_data()).batch(batch)
        return rows.repeat() if repeat else rows

    return input_fn


def build(tf, folder):
    """Returns the Estimator that grows each layer by several batches."""
    return tf.estimator.BoostedTreesClassifier(
        build_columns(tf), ROWS // BATCH, model_dir=str(folder), **OPTIONS
    )


def train_in_memory(tf, folder):
    """Returns the Estimator that tf.contrib trained by all rows at once."""
    return tf.contrib.estimator.boosted_trees_classifier_train_in_memory(
        make_input_fn(tf, ROWS, repeat=False),
        build_columns(tf),
        model_dir=str(folder),
        center_bias=True,
        **OPTIONS,
    )


def examine(tf, model):
    """Returns what the test compares, as JSON can hold it."""
    rows = make_input_fn(tf, ROWS, repeat=False)
    metrics = model.evaluate(rows)
    reader = tf.train.load_checkpoint(model.model_dir)
    caches = [name for name in reader.get_variable_to_shape_map() if name.endswith("_cache")]
    return {
        "ensemble": reader.get_tensor("boosted_trees:0_serialized").hex(),
        "stamp": int(reader.get_tensor("boosted_trees:0_stamp")),
        "caches": {name: reader.get_tensor(name).tolist() for name in caches},
        "logits": [row["logits"].tolist() for row in model.predict(rows)],
        "metrics": {name: float(value) for name, value in metrics.items()},
    }


def main(folder):
    import tensorflow as tf

    tf.logging.set_verbosity("ERROR")
    path = Path(folder) / "job"
    build(tf, path).train(make_input_fn(tf, BATCH), max_steps=MIDDLE)
    for file in path.iterdir():
        if not file.name.startswith(("checkpoint", f"model.ckpt-{MIDDLE}.")):
            file.unlink()
    (path / f"model.ckpt-{MIDDLE}.meta").unlink()
    shutil.copytree(path, path.with_name("resumed"))
    resumed = build(tf, path.with_name("resumed"))
    resumed.train(make_input_fn(tf, BATCH), max_steps=10000)
    values = {
        "resumed": examine(tf, resumed),
        "in_memory": examine(tf, train_in_memory(tf, path.with_name("in_memory"))),
    }
    (Path(folder) / "values.json").write_text(json.dumps(values), encoding="utf-8")
    for name in ("resumed", "in_memory"):
        shutil.rmtree(path.with_name(name))


if __name__ == "__main__":
    main(sys.argv[1])
