"""Runs the doctor's trials of Estimators on small data; prints one JSON record per trial."""

import json
import os
import sys
import tempfile
import time
from typing import Any

__all__ = ["main"]


def _import():
    from estimator_bridge import estimator, tf

    return tf.__version__, estimator


def _input_fn():
    import numpy as np

    from estimator_bridge import tf

    x = np.linspace(0, 1, 32, dtype=np.float32)[:, None]
    rows = tf.data.Dataset.from_tensor_slices(({"x": x}, (x > 0.5).astype(np.int32)))
    return rows.batch(8)


def _linear(folder):
    from estimator_bridge import estimator, tf

    column = tf.feature_column.numeric_column("x")
    return estimator.LinearClassifier([column], model_dir=folder)


def _train_and_evaluate(folder):
    from estimator_bridge import estimator

    estimator.train_and_evaluate(
        _linear(folder),
        estimator.TrainSpec(lambda: _input_fn().repeat(), max_steps=4),
        estimator.EvalSpec(_input_fn, steps=1),
    )


def _predict_and_export(folder):
    from estimator_bridge import estimator, tf

    model = _linear(folder)
    next(model.predict(_input_fn))
    columns = [tf.feature_column.numeric_column("x")]
    spec = tf.feature_column.make_parse_example_spec(columns)
    receiver = estimator.export.build_parsing_serving_input_receiver_fn(spec)
    model.export_saved_model(os.path.join(folder, "export"), receiver)


def _canned_v1(folder):
    from estimator_bridge import tf

    columns = [tf.feature_column.numeric_column("x")]
    model = tf.compat.v1.estimator.DNNClassifier([4], columns, model_dir=folder)
    model.train(_input_fn, steps=2)


def _keras2_model(folder):
    from estimator_bridge import tf

    inputs = tf.keras.Input((1,), name="x")
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    tf.keras.estimator.model_to_estimator(model, model_dir=folder).train(_input_fn, steps=2)


def _keras3_beside(folder):
    import keras

    from estimator_bridge import tf

    if keras.__version__.startswith("3") and keras.Model is tf.keras.Model:
        raise RuntimeError("`import keras` and tf.keras are the same")


def main() -> int:
    """Runs the trials in order; returns 0, since the records contain the errors."""
    with tempfile.TemporaryDirectory() as folder:
        trials = (
            ("import tensorflow and tf.estimator", _import),
            ("train_and_evaluate", lambda: _train_and_evaluate(os.path.join(folder, "a"))),
            ("predict and export", lambda: _predict_and_export(os.path.join(folder, "a"))),
            ("canned DNN, v1 view", lambda: _canned_v1(os.path.join(folder, "b"))),
            ("model_to_estimator", lambda: _keras2_model(os.path.join(folder, "c"))),
            ("Keras of `import keras` beside it", lambda: _keras3_beside(folder)),
        )
        for name, trial in trials:
            start = time.monotonic()
            record: dict[str, Any] = {"name": name}
            try:
                trial()
                record["secs"] = time.monotonic() - start
            except Exception as error:  # The doctor reports any error.
                record["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
