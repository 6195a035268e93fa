"""Uses of deepctr: each of its Estimators trains, is evaluated, predicts and is exported."""

import numpy as np
import pytest
import tensorflow as tf
from deepctr import estimator as ctr

NAMES = sorted(name for name in dir(ctr) if name.endswith("Estimator"))


def columns():
    made = tf.feature_column
    wide, deep = [], []
    for name in ("a", "b", "c"):
        ids = made.categorical_column_with_identity(name, 10)
        deep.append(made.embedding_column(ids, 4))
        wide.append(ids)
    number = made.numeric_column("x")
    return [*wide, number], [*deep, number]


def input_fn():
    random = np.random.default_rng(0)
    features = {name: random.integers(0, 10, 64) for name in ("a", "b", "c")}
    features["x"] = random.normal(size=64).astype(np.float32)
    labels = (features["a"] > 4).astype(np.float32)[:, None]
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(16)


@pytest.mark.parametrize("name", NAMES)
def test_train_evaluate_predict_and_export(name, tmp_path):
    wide, deep = columns()
    made = [deep] if name == "PNNEstimator" else [wide, deep]
    model = getattr(ctr, name)(*made, model_dir=str(tmp_path))
    model.train(input_fn)
    metrics = model.evaluate(input_fn)
    assert metrics["global_step"] == 4 and np.isfinite(metrics["loss"])
    assert len(list(model.predict(input_fn))) == 64
    spec = tf.feature_column.make_parse_example_spec([*wide, *deep])
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_saved_model(str(tmp_path / "export"), receiver)
    assert tf.saved_model.load(path.decode() if isinstance(path, bytes) else path).signatures
