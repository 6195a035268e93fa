"""The trees of tf.contrib.boosted_trees beside the operations of TensorFlow 1.14.0."""

import json
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge.gradient_trees import ensemble, forest, splits, statistics
from estimator_bridge.gradient_trees.learner import Feature, Learner, Options
from estimator_bridge.gradient_trees.messages import Ensemble, LearnerConfig, StreamState
from estimator_bridge.gradient_trees.stream import Stream
from estimator_bridge.gradient_trees.tuning import Tuner

pytestmark = pytest.mark.quick

STORED = Path(__file__).parents[1] / "golden" / "1.14.0" / "gradient_trees" / "operations.json"
OPERATIONS = json.loads(STORED.read_text(encoding="utf-8"))


def floats(text):
    return np.frombuffer(bytes.fromhex(text), "<f4")


def describe(found, kind, place):
    """Returns a split as the operation of 1.14 described it."""
    name = ensemble._KINDS[kind, bool(found.default_right[place])]
    threshold = found.thresholds[place]
    threshold = int(threshold) if kind == "categorical" else threshold.tobytes().hex()
    leaves = [side[place].tobytes().hex() for side in (found.left, found.right)]
    return [name, threshold, int(found.dimensions[place]), *leaves]


@pytest.mark.parametrize("number", range(len(OPERATIONS["splits"])))
def test_splits_are_those_of_1_14_to_the_last_bit(number):
    stored = OPERATIONS["splits"][number]
    sums = statistics.Sums(
        np.array(stored["nodes"], np.int32),
        np.array(stored["buckets"], np.int64),
        floats(stored["gradients"]),
        floats(stored["hessians"]),
    )
    boundaries = stored["boundaries"] and floats(stored["boundaries"])
    found = splits.search(
        sums,
        stored["batches"],
        boundaries,
        stored["kind"],
        splits.Regularization(*stored["regularization"]),
    )
    expected = stored["found"]
    assert found.nodes.tolist() == expected["nodes"]
    assert found.gains.tobytes().hex() == expected["gains"]
    for place, split in enumerate(expected["splits"]):
        assert describe(found, stored["kind"], place) == split


@pytest.mark.parametrize("number", range(len(OPERATIONS["streams"])))
def test_quantiles_are_those_of_1_14(number):
    stored = OPERATIONS["streams"][number]
    stream = Stream(stored["epsilon"], stored["num_quantiles"])
    for values, weights in zip(stored["values"], stored["weights"]):
        stream.add(floats(values), floats(weights))
    native = bytes.fromhex(stored["state"])
    assert StreamState.FromString(stream.state) == StreamState.FromString(native)
    again = Stream(stored["epsilon"], stored["num_quantiles"])
    again.state = native
    for one in (stream, again):
        one.flush()
        assert one.boundaries.tolist() == floats(stored["boundaries"]).tolist()
        assert one.is_ready and one.state == b"\n\x00"


def build_learner(**fields):
    config = LearnerConfig(pruning_mode=2, growing_mode=2, multi_class_strategy=1)
    config.learning_rate_tuner.dropout.learning_rate = 0.5
    config.learning_rate_tuner.dropout.dropout_probability = 1.0
    config.constraints.max_tree_depth = 2
    for name, value in fields.items():
        setattr(config, name, value)
    features = [Feature("x", "dense", 0, 0, 1), Feature("y", "dense", 1, 1, 1)]
    return Learner(Options(config, 8, False, 10, 1), features)


def train(learner, steps):
    random = np.random.RandomState(2)
    numbers = random.randn(2, 8).astype(np.float32)
    target = (numbers[0] * 2 + numbers[1])[:, np.newaxis]
    rows = forest.Rows(numbers, np.zeros((0, 8, 0), np.int64))
    for _ in range(steps):
        found = learner.look_up(rows)
        learner.step(rows, found.node_ids, found.logits - target, np.ones_like(target))
    return rows


def test_trees_that_are_left_out_share_their_weight_with_the_new_one():
    learner = build_learner()
    train(learner, 1 + 3 * 2)
    # 0.5; then 0.5 / 2 each; then both lose a third to the new tree.
    assert list(learner.ensemble.tree_weights) == pytest.approx([1 / 6, 1 / 6, 1 / 6])
    assert [meta.num_tree_weight_updates for meta in learner.ensemble.tree_metadata] == [3, 3, 2]


def test_a_share_of_the_features_is_chosen_for_each_tree_or_layer():
    for name in ("feature_fraction_per_tree", "feature_fraction_per_level"):
        tuner = Tuner(LearnerConfig(**{name: 0.3}))
        message = Ensemble()
        shares, differ = [], False
        for layer in range(200):
            message.growing_metadata.num_layers_attempted = layer
            message.trees.add()
            message.tree_metadata.add().is_finalized = True
            now, later = tuner.choose_features(message, 20)
            shares.append(now.mean())
            differ = differ or (now != later).any()
        assert np.mean(shares) == pytest.approx(0.3, abs=0.03)
        assert differ == (name == "feature_fraction_per_level")


def test_oblivious_trees_of_a_checkpoint_are_walked():
    tree = Ensemble().trees.add()
    for column, threshold in ((0, 0.0), (1, 1.0)):
        split = tree.nodes.add().oblivious_dense_float_binary_split
        split.feature_column, split.threshold = column, threshold
    for value in (1, 2, 3, 4):
        tree.nodes.add().leaf.vector.value.append(value)
    flat = forest.flatten([tree], [0.5], 1, [])
    numbers = np.array([[-1, -1, 1, 1], [0, 2, 0, 2]], np.float32)
    walked = forest.walk(flat, forest.Rows(numbers, np.zeros((0, 4, 0), np.int64)))
    assert walked.logits[:, 0].tolist() == [0.5, 1, 1.5, 2] and flat.depth == 2


def test_a_split_that_no_estimator_makes_is_refused_by_name():
    tree = Ensemble().trees.add()
    tree.nodes.add().categorical_id_set_membership_binary_split.feature_ids.append(3)
    with pytest.raises(ValueError, match="categorical_id_set_membership_binary_split"):
        forest.flatten([tree], [1.0], 1, [])


def test_a_damaged_checkpoint_is_refused():
    with pytest.raises(ValueError, match="no ensemble of gradient trees"):
        ensemble.parse(b"\x0a\xff")
