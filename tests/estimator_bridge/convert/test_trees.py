"""Boosted trees as Keras models, and as files of LightGBM, XGBoost and ydf."""

import importlib.metadata
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge.convert.plan.model import Head
from estimator_bridge.convert.plan.trees import TreeFeatures, Trees
from estimator_bridge.convert.write.plain_trees import list_plain_trees, name_numbers
from estimator_bridge.convert.write.tree_files import write_tree_file
from estimator_bridge.errors import BridgeError

KERAS = importlib.metadata.version("keras")
FOLDER = Path(__file__).parents[1]
STORED = FOLDER / "golden" / "2.8.4" / "boosted_trees" / "regressor"
NUMBERS = ["a0", "a1", "a2", "bucketed", "color=red", "color=green", "color=blue", "color=grey"]


def convert(built, checkpoint):
    """Returns the plan and the Keras model."""
    from estimator_bridge.convert.read.canned import InputReader, Loaded
    from estimator_bridge.convert.read.checkpoint import open_checkpoint
    from estimator_bridge.convert.read.trees import describe_trees
    from estimator_bridge.convert.write.build import build_model
    from estimator_bridge.convert.write.module import write_module

    checkpoint = open_checkpoint(str(checkpoint))
    loaded = Loaded(built, "test:build")
    plan = describe_trees(loaded, checkpoint, InputReader("test:build", (), (), None))
    written = write_module(plan, "a test")
    return plan, build_model(plan, written, checkpoint).model


def check(built, plan, model, input_fn, key, checkpoint=None):
    """Compares the logits with those of the Estimator; returns the numbers and the logits."""
    import keras

    from estimator_bridge import tf

    expected = [row[key] for row in built.predict(input_fn, checkpoint_path=checkpoint)]
    rows = [features for features, _ in input_fn().as_numpy_iterator()]
    names = {one.name for one in plan.inputs}
    given = {name: tf.constant(np.concatenate([r[name] for r in rows])) for name in names}
    np.testing.assert_array_equal(model(given)[key].numpy(), np.array(expected))
    numbers = keras.Model(model.input, model.get_layer("tree_features").output)(given).numpy()
    check_plain_trees(plan.trees, numbers, expected)
    return numbers, np.array(expected)


def check_plain_trees(trees, numbers, expected):
    """Walks the trees of the files of other libraries, which may also get NaN."""
    sums = np.zeros((len(numbers), trees.logits), np.float32)
    for number, tree in enumerate(list_plain_trees(trees)):
        place = np.zeros(len(numbers), int)
        while (tree.left[place] >= 0).any():
            value = numbers[np.arange(len(numbers)), np.maximum(tree.feature[place], 0)]
            right = np.where(np.isnan(value), tree.nan_right[place], value > tree.threshold[place])
            following = np.where(right, tree.right[place], tree.left[place])
            place = np.where(tree.left[place] >= 0, following, place)
        sums[:, number % trees.logits] += tree.value[place]
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.skipif(KERAS.startswith("2."), reason=f"writes Keras 3 models; Keras {KERAS}")
def test_a_native_checkpoint_becomes_a_keras_model():
    from estimator_bridge import tf

    programs = runpy.run_path(str(FOLDER / "boosted_trees" / "programs.py"))
    built, make_input_fn = programs["build"](tf, "regressor", STORED)
    plan, model = convert(built, STORED)
    assert name_numbers(plan.trees) == [*NUMBERS, "pair_0", "pair_1"]
    check(built, plan, model, make_input_fn(False), "predictions")
    assert not model.trainable_weights and len(model.weights) == 1


def make_classifier(folder, **options):
    from estimator_bridge import tf

    column = tf.feature_column
    age = column.numeric_column("age")
    crossed = column.crossed_column(["color", column.bucketized_column(age, [0.0])], 5)
    columns = [
        column.categorical_column_with_vocabulary_list("color", ["red", "green", "blue"]),
        column.bucketized_column(column.numeric_column("pay"), [-0.5, 0.0, 0.5]),
        column.numeric_column("pay"),
        column.indicator_column(crossed),
    ]
    sizes = {"n_trees": 2, "max_depth": 3, "learning_rate": 0.5, **options}
    return tf.estimator.BoostedTreesClassifier(
        columns, 1, str(folder), 3, l2_regularization=0.1, **sizes
    )


def read_rows():
    from estimator_bridge import tf

    random = np.random.default_rng(3)
    age, pay = random.standard_normal((2, 400)).astype(np.float32)
    pay[::7] = np.nan
    color = random.choice(np.array(["red", "green", "blue", "mauve", ""]), 400)
    labels = (age > 0).astype(np.int32) + ((color == "green") | (pay > 0.2))
    features = {"age": age, "pay": pay, "color": color}
    return tf.data.Dataset.from_tensors((features, labels))


@pytest.mark.skipif(KERAS.startswith("2."), reason=f"writes Keras 3 models; Keras {KERAS}")
def test_missing_values_equality_and_classes(tmp_path):
    built = make_classifier(tmp_path)
    built.train(lambda: read_rows().repeat(), max_steps=100)
    plan, model = convert(built, tmp_path)
    splits = {one.names for one in plan.trees.features if one.ids}
    assert splits and "color" in str(splits)
    numbers, logits = check(built, plan, model, read_rows, "logits")
    assert np.isposinf(numbers).any() and np.isnan(numbers).any()
    for kind, path in (("lightgbm", "m.txt"), ("xgboost", "m.json"), ("ydf", "m")):
        try:
            __import__(kind)
        except ImportError:
            continue
        from estimator_bridge.convert.verify.tree_side import predict_trees

        write_tree_file(plan, kind, str(tmp_path / path))
        columns = dict(zip(name_numbers(plan.trees), numbers.T))
        found = predict_trees(kind, str(tmp_path / path), columns, "multiclass")
        np.testing.assert_allclose(found["logits"], logits, rtol=0, atol=1e-6)


@pytest.mark.skipif(KERAS.startswith("2."), reason=f"writes Keras 3 models; Keras {KERAS}")
def test_another_models_checkpoint_and_an_embedding_are_refused(tmp_path):
    from estimator_bridge import tf

    column = tf.feature_column
    built = tf.estimator.BoostedTreesRegressor([column.numeric_column("x")], 1)
    with pytest.raises(BridgeError, match="its trees read feature 9, but the described columns"):
        convert(built, STORED)
    colors = column.categorical_column_with_identity("color", 4)
    built = tf.estimator.BoostedTreesRegressor([column.embedding_column(colors, 2)], 1)
    with pytest.raises(BridgeError, match="column 'color_embedding': boosted trees with it"):
        convert(built, STORED)


def make_trees():
    """Returns a tree of two splits, of which one has no row on its right side."""
    nodes = np.zeros((6, 5), np.float32)
    nodes[:, 2] = nodes[:, 3] = np.arange(6)
    nodes[0] = [1, 0.5, 1, 2, 0]
    nodes[2] = [0, np.inf, 3, 4, 0]
    nodes[[1, 3, 4, 5], 4] = [1.5, -2, 7, 0.25]
    features = (TreeFeatures(None, ("a b",)), TreeFeatures(None, ("a,b",), nan_is_above=True))
    return Trees(features, nodes, (0, 5), 2)


@pytest.mark.quick
def test_plain_trees_leave_out_splits_that_no_row_passes():
    first, second = list_plain_trees(make_trees())
    assert first.feature.tolist() == [1, -1, -1] and first.value.tolist() == [0, 1.5, -2]
    assert first.left.tolist() == [1, -1, -1] and first.parent.tolist() == [-1, 0, 0]
    assert first.nan_right.tolist() == [True, False, False]
    assert second.value.tolist() == [0.25]
    assert name_numbers(make_trees()) == ["a_b", "a_b_2"]


class _Plan:
    trees = make_trees()
    head = Head("binary", 1, None, "sum_over_batch_size", None)


@pytest.mark.quick
def test_the_files_of_lightgbm_and_xgboost(tmp_path):
    write_tree_file(_Plan, "lightgbm", str(tmp_path / "model.txt"))
    text = (tmp_path / "model.txt").read_text()
    blocks = text.split("\n\n", 1)[1].split("end of trees")[0]
    sizes = [int(size) for size in text.split("tree_sizes=")[1].split("\n")[0].split()]
    assert len(blocks) == sum(sizes) and blocks[sizes[0] :].startswith("Tree=1\n")
    for line in ("split_feature=1", "threshold=0.5", "decision_type=8", "left_child=-1"):
        assert f"\n{line}\n" in blocks
    write_tree_file(_Plan, "xgboost", str(tmp_path / "model.json"))
    learner = json.loads((tmp_path / "model.json").read_text())["learner"]
    tree = learner["gradient_booster"]["model"]["trees"][0]
    assert learner["learner_model_param"]["base_score"] == "5E-1"
    assert tree["split_conditions"] == [
        float(np.nextafter(np.float32(0.5), np.float32(1))),
        1.5,
        -2,
    ]
    assert tree["default_left"][0] == 0


@pytest.mark.quick
def test_a_file_has_the_unit_of_a_normalised_label(tmp_path):
    class Scaled(_Plan):
        head = Head("regression", 1, None, "sum_over_batch_size", None, moments=(100.0, 10.0))

    write_tree_file(Scaled, "lightgbm", str(tmp_path / "model.txt"))
    lines = (tmp_path / "model.txt").read_text().splitlines()
    leaves = [line.split("=")[1] for line in lines if line.startswith("leaf_value=")]
    assert leaves == ["115.0 80.0", "2.5"]


@pytest.mark.quick
def test_heads_without_a_counterpart_are_refused(tmp_path):
    class Pair(_Plan):
        head = Head("regression", 2, None, "sum_over_batch_size", None)

    with pytest.raises(BridgeError, match="--xgboost: a regression of several numbers"):
        write_tree_file(Pair, "xgboost", str(tmp_path / "model.json"))

    class Linear(_Plan):
        trees = None

    with pytest.raises(BridgeError, match="--lightgbm: only boosted trees can be written"):
        write_tree_file(Linear, "lightgbm", str(tmp_path / "model.txt"))
