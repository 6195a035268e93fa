"""Small data, and the Estimators that are built for it."""

import numpy as np
import pytest


class Bench:
    """Makes schemas, input functions and Estimators of a small data set.

    The rows: x uniform in -1 … 1, color one of three; `score` = 2x + (color is red), noiseless.
    """

    num_rows = 240

    def __init__(self, folder):
        from trainer import config, schema

        self.folder = folder
        self._config, self._schema = config, schema
        rng = np.random.default_rng(7)
        self.rows = {
            "x": rng.uniform(-1, 1, self.num_rows).astype(np.float32),
            "color": rng.choice(np.array([b"red", b"green", b"blue"], object), self.num_rows),
        }
        self.score = 2 * self.rows["x"] + (self.rows["color"] == b"red")
        self.positive = (self.score > 0.3).astype(np.int64)

    def build_schema(self, label, kinds=None, **fields):
        """A schema of the two columns, what `kinds` adds, and the label as a dict."""
        columns = {
            "x": {"type": "float", "buckets": [-0.5, 0, 0.5]},
            "color": {"type": "string", "vocabulary": ["red", "green", "blue"]},
            **(kinds or {"label": {"type": "int"}}),
        }
        return self._schema.Schema.model_validate({"columns": columns, "label": label, **fields})

    def build_config(self, **sections):
        """A configuration; sections are dicts."""
        train = {"learning_rate": 0.1, "optimizer": "adam", **sections.pop("train", {})}
        model = {"hidden_units": [8, 8], "batch_norm_momentum": 0.9, **sections.pop("model", {})}
        return self._config.Config.model_validate({"train": train, "model": model, **sections})

    def build(self, config, schema, name="job", seed=1, max_steps=100):
        """The Estimator of a configuration, in a folder of its own."""
        from estimator_bridge import estimator
        from trainer.models.build import build_estimator

        moments = {"mean": 0.0, "std": 0.6, "min": -1.0, "max": 1.0}
        seen = self._schema.Range(count=self.num_rows, missing=0, **moments)
        ranges = {key: seen for key, column in schema.columns.items() if column.type != "string"}
        run_config = estimator.RunConfig(
            model_dir=str(self.folder / name), tf_random_seed=seed, save_summary_steps=10_000
        )
        statistics = self._schema.Statistics(self.num_rows, ranges)
        return build_estimator(config, schema, statistics, run_config, max_steps)

    def feed(self, labels, batch=60, epochs=None, rows=None, **more):
        """An input_fn of the rows and more columns; endless unless epochs are given."""
        from estimator_bridge import tf

        features = {**(rows or self.rows), **more}

        def input_fn():
            tensors = {
                name: tf.constant(values.tolist() if values.dtype == object else values)
                for name, values in features.items()
            }
            data = tf.data.Dataset.from_tensor_slices((tensors, tf.constant(labels)))
            return data.repeat(epochs).batch(batch)

        return input_fn


@pytest.fixture
def bench(tmp_path):
    """A Bench whose jobs live in tmp_path."""
    return Bench(tmp_path)
