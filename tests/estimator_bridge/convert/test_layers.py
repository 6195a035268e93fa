"""Damages one weight of a converted model, and expects the names of its column or layer."""

import importlib.metadata

import numpy as np
import pytest
from conversions import convert, make_rows, train

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)

# Layer and attribute of a weight -> what is named.
DAMAGES = {
    "dnn_tags_embedding/embeddings": "column tags_embedding of the deep part",
    "dnn_hidden_0/kernel": "layer dnn_hidden_0 with dnn_batchnorm_0",
    "dnn_hidden_1/bias": "layer dnn_hidden_1 with dnn_batchnorm_1",
    "dnn_batchnorm_0/moving_mean": "layer dnn_hidden_0 with dnn_batchnorm_0",
    "dnn_logits/bias": "layer dnn_logits",
    "linear_color/embeddings": "column color of the linear part",
    "linear_count/embeddings": "column count of the linear part",
    "linear_age_2/kernel": "column age of the linear part",
    "linear_bias/kernel": "layer linear_bias",
}


def make_combined(tf, version, folder):
    column = tf.feature_column
    color = column.categorical_column_with_vocabulary_list("color", ["red", "green"], None, -1, 1)
    tags = column.categorical_column_with_hash_bucket("tags", 9)
    count = column.categorical_column_with_identity("count", 5)
    age = column.numeric_column("age")
    api = tf.compat.v1.estimator if version == 1 else tf.estimator
    return api.DNNLinearCombinedClassifier(
        model_dir=str(folder / "model"),
        linear_feature_columns=[color, count, age],
        dnn_feature_columns=[age, column.embedding_column(tags, 3), column.indicator_column(color)],
        dnn_hidden_units=[6, 4],
        batch_norm=True,
        # With some initial values, no row activates a unit of the second layer.
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )


class Sides:
    """Both models of an Estimator, with what the Estimator computes."""

    def __init__(self, built, converted, plan, features):
        from estimator_bridge import tf
        from estimator_bridge.convert.read.checkpoint import open_checkpoint
        from estimator_bridge.convert.read.rows import Rows
        from estimator_bridge.convert.verify.estimator_layers import compute_layers
        from estimator_bridge.convert.verify.layers import list_taps, list_weights
        from estimator_bridge.convert.write.module import write_module

        self.model = converted.model
        checkpoint = open_checkpoint(built.model_dir)
        tables = write_module(plan, "a test").tables
        self.taps = list_taps(plan, tables)
        self.weights = list_weights(plan, tables, checkpoint)
        rows = Rows(features, None)
        self.expected = compute_layers(built, checkpoint.path, rows, (), self.taps)
        names = {feature.name for feature in plan.inputs}
        self.given = {name: tf.constant(value) for name, value in features.items() if name in names}

    def compare(self):
        """Returns the differences at all places, and the lines that name the first."""
        from estimator_bridge.convert.verify import layers
        from estimator_bridge.convert.verify.keras_layers import compute_taps, find_weights

        found = compute_taps(self.model, [tap._asdict() for tap in self.taps], self.given)
        rows = np.arange(len(next(iter(self.given.values()))))
        places = layers.compare_places(self.taps, self.expected, found, rows)
        variables = find_weights(self.model, [weight.name for weight in self.weights])
        values = {name: variable.numpy() for name, variable in variables.items()}
        weights = layers.compare_weights(self.weights, values)
        return places, layers.describe_first("keras", places, weights, 1e-6)

    def damage(self, name):
        """Changes all numbers of a weight; returns a function that restores them."""
        from estimator_bridge.convert.verify.keras_layers import find_weights

        variable = find_weights(self.model, [name])[name]
        before = variable.numpy()
        variable.assign(before + 0.25)
        return lambda: variable.assign(before)


@pytest.mark.parametrize("version", [1, 2])
def test_the_damaged_layer_or_column_is_named(version, tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    built = make_combined(tf, version, tmp_path)
    train(tf, built, features, labels)
    plan, converted = convert(built, multivalued=("tags",))
    sides = Sides(built, converted, plan, features)
    places, lines = sides.compare()
    assert set(DAMAGES.values()) <= {one["place"] for one in places}
    # Every column of both parts, two hidden layers, and the logits of both parts.
    assert len(places) == len(plan.wide) + len(plan.deep) + 4
    assert max(one["scaled"] for one in places) <= 1e-6
    assert lines == ["keras: no column and no layer differs; only what is computed of the logits"]
    for weight, place in DAMAGES.items():
        restore = sides.damage(weight)
        _, (first, second) = sides.compare()
        restore()
        assert first.startswith(f"keras: the first to differ: {place} (by "), (weight, first)
        assert "," not in first, (weight, first)
        assert f"not those of the checkpoint: {weight} (by 0.25; " in second
