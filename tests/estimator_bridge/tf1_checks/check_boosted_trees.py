"""tf.contrib.boosted_trees beside TensorFlow 1.14.0, which stored what it computed."""

import importlib.util
import inspect
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib.boosted_trees.estimator_batch import (
    dnn_tree_combined_estimator,
    estimator,
)
from tensorflow.contrib.boosted_trees.proto import learner_pb2, tree_config_pb2

FOLDER = Path(__file__).parents[1]
STORED = FOLDER / "golden" / "1.14.0" / "gradient_trees"
_SPEC = importlib.util.spec_from_file_location(
    "gradient_trees_programs", FOLDER / "gradient_trees" / "programs.py"
)
programs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(programs)

# The last bit of exp differs between TensorFlow versions, and small leaves keep little else.
TOLERANCE = {"Regressor": 5e-6}
LARGER = 2e-5


def read_stored(case):
    return json.loads((STORED / f"{case}.json").read_text(encoding="utf-8"))


def describe(serialized):
    """Returns the nodes of all trees without what rounding changes, and their leaves."""
    shape, leaves = [], []
    ensemble = tree_config_pb2.DecisionTreeEnsembleConfig.FromString(bytes.fromhex(serialized))
    for node in [node for tree in ensemble.trees for node in tree.nodes]:
        kind = node.WhichOneof("node")
        if kind == "leaf":
            shape.append((kind, list(node.leaf.sparse_vector.index)))
            leaves += [*node.leaf.vector.value, *node.leaf.sparse_vector.value]
        else:
            shape.append((kind, str(getattr(node, kind))))
    meta = [str(one) for one in ensemble.tree_metadata]
    return [*shape, *meta, str(ensemble.growing_metadata), list(ensemble.tree_weights)], leaves


def check(case, found):
    stored, tolerance = read_stored(case), TOLERANCE.get(programs.CASES[case][0], LARGER)
    shape, leaves = describe(found["ensemble"])
    stored_shape, stored_leaves = describe(stored["ensemble"])
    assert shape == stored_shape
    np.testing.assert_allclose(leaves, stored_leaves, rtol=0, atol=tolerance)
    for name in ("global_step", "shapes", "boundaries"):
        assert found[name] == stored[name], name
    assert found["predictions"].keys() == stored["predictions"].keys()
    for name, values in stored["predictions"].items():
        # An input function without a queue gives one batch of predictions.
        assert len(values) == programs.BATCH
        np.testing.assert_allclose(
            found["predictions"][name], values, rtol=0, atol=tolerance, err_msg=name
        )
    assert found["metrics"] == pytest.approx(stored["metrics"], abs=1e-5)


# The first weights of hidden layers are random, so these go on from a checkpoint only.
FRESH = [case for case in programs.CASES if case != "deep"]


@pytest.mark.parametrize("case", FRESH)
def test_a_program_grows_the_trees_of_1_14(case, tmp_path):
    model = programs.build(tf, case, tmp_path)
    model.fit(input_fn=programs.make_input_fn(tf, case), max_steps=programs.STEPS)
    check(case, programs.examine(tf, case, model))


def test_a_whole_tree_is_predicted_once_it_has_grown(tmp_path):
    """As 1.14 did: until then, only the bias is predicted, also while it is moved."""
    for steps, bias in [(1, 0), (3, -0.1733334), (6, -0.1737692), (9, -0.1737692)]:
        model = programs.build(tf, "whole", tmp_path / str(steps))
        model.fit(input_fn=programs.make_input_fn(tf, "whole"), max_steps=steps)
        rows = programs.make_input_fn(tf, "whole", repeat=False)
        found = tf.contrib.learn.Estimator.predict(model, input_fn=rows)
        logits = [row["logits"] for row in found]
        np.testing.assert_allclose(logits, np.full([programs.BATCH, 1], bias), rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", [case for case, given in programs.CASES.items() if given[-1]])
def test_a_native_checkpoint_in_the_middle_of_a_layer_goes_on(case, tmp_path):
    job = tmp_path / "job"
    shutil.copytree(STORED / case, job)
    reader = tf.train.load_checkpoint(str(job))
    model = programs.build(tf, case, job)
    assert model.get_variable_value("global_step") == programs.MIDDLE
    model.fit(
        input_fn=programs.make_input_fn(tf, case, start=programs.MIDDLE), max_steps=programs.STEPS
    )
    check(case, programs.examine(tf, case, model))
    ours = tf.train.load_checkpoint(str(job))
    assert ours.get_variable_to_dtype_map() == reader.get_variable_to_dtype_map()
    examples = tf.train.summary_iterator(str(next(job.glob("events*"))))
    tags = {value.tag for event in examples for value in event.summary.value}
    scopes = {"mixed": "binary_logistic_head", "deep": "binary_logistic_head_2"}
    scope = scopes.get(case, "multi_class_head")
    # Without a bias, its accumulator is left as it was.
    assert ours.get_tensor(f"{scope}/train_op/BiasAccumulator:0_stamp") == 0
    assert ours.get_tensor(f"{scope}/train_op/StepsAccumulator:0_stamp") > 0
    names = ("layer_stats/num_examples", "layer_stats/num_steps")
    names += ("ensemble_stats/active_tree", "ensemble_stats/active_layer")
    assert {f"{scope}/train_op/{name}" for name in names} <= tags


def test_an_export_has_standard_operations_and_answers_like_predict(tmp_path):
    case = "mixed"
    model = programs.build(tf, case, tmp_path / "job")
    model.fit(input_fn=programs.make_input_fn(tf, case), max_steps=30)
    features, _ = programs.read_data()

    def serve():
        given = {
            "numbers": tf.placeholder(tf.float32, [None, 3]),
            "sparse": tf.placeholder(tf.float32, [None, 2]),
            "color": tf.placeholder(tf.int64, [None]),
        }
        built = programs.build_features(tf, case, given)
        return tf.contrib.learn.InputFnOps(built, None, given)

    path = model.export_savedmodel(str(tmp_path / "export"), serve).decode()
    expected = [
        row["logits"]
        for row in tf.contrib.learn.Estimator.predict(
            model, input_fn=programs.make_input_fn(tf, case, repeat=False)
        )
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, ["serve"], path)
        signature = meta.signature_def["serving_default"]
        feeds = {signature.inputs[name].name: features[name] for name in signature.inputs}
        output = signature.outputs["probabilities"].name
        answers = session.run(output, feeds)
        operations = set(re.findall(r'^ +op: "(\w+)"', str(meta.graph_def), re.MULTILINE))
    np.testing.assert_allclose(
        answers[: programs.BATCH, 1], 1 / (1 + np.exp(-np.ravel(expected))), rtol=0, atol=1e-6
    )
    assert "Cumsum" in operations and not [name for name in operations if "PyFunc" in name]


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"num_classes": 4}, {}, r"n_classes \(4\) doesn't match learner_config \(2\)."),
        ({"learning_rate_tuner": {"line_search": {"num_steps": 2}}}, {}, "Line search learning"),
        ({"weak_learner_type": 1}, {}, "weak_learner_type"),
        ({}, {"feature_columns": "bucketized"}, "x_bucketized is a BucketizedColumn"),
        ({"num_classes": 3}, {"n_classes": 3, "center_bias": True}, "Center bias should be False"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_name(options, arguments, message, tmp_path):
    config = programs.fill(learner_pb2.LearnerConfig(num_classes=2), options)
    if "feature_columns" in arguments:
        number = tf.contrib.layers.real_valued_column("x")
        arguments = {"feature_columns": [tf.contrib.layers.bucketized_column(number, [0.0])]}
    rows = {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[0], [1]])
    with pytest.raises(ValueError, match=message):
        estimator.GradientBoostedDecisionTreeClassifier(
            config, 2, model_dir=str(tmp_path), **arguments
        ).fit(input_fn=lambda: rows, steps=1)


def test_the_arguments_are_those_of_1_14():
    end = ["logits_modifier_function", "center_bias", "use_core_libs", "output_leaf_index"]
    end += ["override_global_step_value", "num_quantiles"]
    middle = ["num_trees", "feature_columns", "weight_column_name", "model_dir", "config"]
    named = ["num_trees", "feature_columns", "label_name", *middle[2:]]
    expected = {
        "Classifier": ["n_classes", *middle, "label_keys", "feature_engineering_fn", *end],
        "Regressor": ["label_dimension", *named, "feature_engineering_fn", *end],
        "Estimator": ["head", *middle, "feature_engineering_fn", *end],
        "Ranker": [
            *("head", "ranking_model_pair_keys", *middle, "label_keys", "feature_engineering_fn"),
            *end,
        ],
    }
    for kind, names in expected.items():
        make = getattr(estimator, f"GradientBoostedDecisionTree{kind}").__init__
        found = list(inspect.signature(make).parameters)
        assert found == ["self", "learner_config", "examples_per_layer", *names]


def test_the_arguments_of_the_combined_estimators_are_those_of_1_14():
    first = ["dnn_hidden_units", "dnn_feature_columns", "tree_learner_config", "num_trees"]
    first += ["tree_examples_per_layer"]
    end = ["dnn_optimizer", "dnn_activation_fn", "dnn_dropout", "dnn_input_layer_partitioner"]
    end += ["dnn_input_layer_to_tree", "dnn_steps_to_train", "predict_with_tree_only"]
    end += ["tree_feature_columns", "tree_center_bias", "dnn_to_tree_distillation_param"]
    end += ["use_core_versions", "override_global_step_value"]
    shared = ["weight_column_name", "model_dir", "config", "label_name"]
    expected = {
        "Classifier": ["n_classes", *shared, "label_keys", "feature_engineering_fn"],
        "Regressor": [*shared, "label_dimension", "feature_engineering_fn"],
    }
    for kind, names in expected.items():
        make = getattr(dnn_tree_combined_estimator, f"DNNBoostedTreeCombined{kind}")
        found = list(inspect.signature(make.__init__).parameters)
        assert found == ["self", *first, *names, *end]
    with pytest.raises(ValueError, match="dnn_to_tree_distillation_param: not supported"):
        make([4], [], learner_pb2.LearnerConfig(), 1, 2, dnn_to_tree_distillation_param=(0.5, None))


def test_a_regressor_of_hidden_layers_and_trees_learns(tmp_path):
    features, labels = programs.read_data()
    column = tf.contrib.layers.real_valued_column

    def input_fn():
        return {"x": tf.constant(features["numbers"])}, tf.constant(labels["number"])

    def build(only_trees):
        return dnn_tree_combined_estimator.DNNBoostedTreeCombinedRegressor(
            [4],
            [column("x", dimension=3)],
            learner_pb2.LearnerConfig(),
            4,
            programs.ROWS,
            model_dir=str(tmp_path),
            config=tf.contrib.learn.RunConfig(tf_random_seed=1),
            dnn_steps_to_train=5,
            predict_with_tree_only=only_trees,
            tree_feature_columns=[column("x", dimension=3)],
            dnn_input_layer_to_tree=False,
        )

    def predict(only_trees):
        rows = build(only_trees).predict(input_fn=input_fn, as_iterable=False)
        return np.ravel(rows["scores"] if isinstance(rows, dict) else rows)

    model = build(False)
    losses, of_layers = [], None
    for steps in (5, 100):
        model.fit(input_fn=input_fn, max_steps=steps)
        losses.append(model.evaluate(input_fn=input_fn, steps=1)["loss"])
        if of_layers is None:
            of_layers = predict(only_trees=False)
            assert np.array_equal(predict(only_trees=True), np.zeros_like(of_layers))
    # A layer without boundaries, and four trees of six layers.
    assert model.get_variable_value("global_step") == 5 + 1 + 4 * 6
    assert losses[1] < 0.8 * losses[0]
    of_trees = predict(only_trees=True)
    np.testing.assert_allclose(predict(only_trees=False), of_layers + of_trees, rtol=0, atol=1e-6)
    loss = build(True).evaluate(input_fn=input_fn, steps=1)["loss"]
    assert loss == pytest.approx(np.mean((of_trees - np.ravel(labels["number"])) ** 2), rel=1e-6)


def test_the_global_step_is_set_after_the_last_tree(tmp_path):
    model = estimator.GradientBoostedDecisionTreeRegressor(
        learner_pb2.LearnerConfig(),
        2,
        num_trees=1,
        center_bias=False,
        override_global_step_value=1000,
        model_dir=str(tmp_path),
    )
    rows = [[1.0], [2.0], [4.0]]
    model.fit(input_fn=lambda: ({"x": tf.constant(rows)}, tf.constant(rows)), steps=50)
    assert model.get_variable_value("global_step") == 1000
    assert model.get_variable_value("finalized_trees") == 1


def test_names_of_features_that_differ_in_other_signs_only_are_refused(tmp_path):
    rows = {"a_b": tf.constant([[1.0]]), "ab": tf.constant([[1.0]])}, tf.constant([[1.0]])
    model = estimator.GradientBoostedDecisionTreeRegressor(
        learner_pb2.LearnerConfig(), 1, model_dir=str(tmp_path)
    )
    with pytest.raises(ValueError, match="features: ab is there twice"):
        model.fit(input_fn=lambda: rows, steps=1)


def test_messages_have_the_names_of_1_14():
    config = learner_pb2.LearnerConfig()
    config.growing_mode = learner_pb2.LearnerConfig.LAYER_BY_LAYER
    config.pruning_mode = config.POST_PRUNE
    assert config.DESCRIPTOR.full_name == "tensorflow.boosted_trees.learner.LearnerConfig"
    assert config.SerializeToString() == b"\x40\x02\x48\x02"
    assert learner_pb2.LearnerConfig.MultiClassStrategy.Name(3) == "DIAGONAL_HESSIAN"


def test_each_module_of_1_14_can_be_imported():
    import tensorflow.contrib.boosted_trees.estimator_batch.custom_export_strategy as exporting
    import tensorflow.contrib.boosted_trees.estimator_batch.custom_loss_head as heads
    import tensorflow.contrib.boosted_trees.estimator_batch.distillation_loss as distillation
    import tensorflow.contrib.boosted_trees.estimator_batch.estimator_utils as utils
    import tensorflow.contrib.boosted_trees.estimator_batch.model as model
    import tensorflow.contrib.boosted_trees.estimator_batch.trainer_hooks as hooks
    from tensorflow.contrib.boosted_trees.estimator_batch.trainer_hooks import StopAfterNTrees

    for module in (exporting, heads, distillation, utils, model):
        with pytest.raises(AttributeError, match="is not supplied to TensorFlow 1.x programs: "):
            module.anything()
    with pytest.raises(AttributeError, match="leave out the hooks"):
        hooks.StopAfterNTrees(1, None, None)
    with pytest.raises(AttributeError, match="leave out the hooks"):
        StopAfterNTrees(1, None, None)
