"""Boosted trees beside TensorFlow 2.8.4, which stored what it computed for programs.py."""

import importlib
import importlib.util
import inspect
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import estimator_bridge
from estimator_bridge import tf
from estimator_bridge.array_datasets import row_batches
from estimator_bridge.boosted_trees import ensemble, model, quantiles, row_table
from estimator_bridge.boosted_trees.columns import Group, Layout, depend_on_rows
from estimator_bridge.process import batch_first

pytestmark = pytest.mark.versions

estimator_bridge.set_verbosity("error")

STORED = Path(__file__).parents[1] / "golden" / "2.8.4" / "boosted_trees"
_SPEC = importlib.util.spec_from_file_location(
    "boosted_trees_programs", Path(__file__).parent / "programs.py"
)
programs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(programs)

# The sums of a regressor are exact. Those of a classifier depend on the last bit of exp, which
# differs between TensorFlow versions, and in a small leaf little is left of their differences.
_LEAF_TOLERANCE = {"Regressor": 0.0, "Classifier": 5e-5}
_VALUE_TOLERANCE = {"Regressor": 0.0, "Classifier": 2e-6}


def read_stored(case):
    return json.loads((STORED / f"{case}.json").read_text(encoding="utf-8"))


def describe(serialized):
    """Returns the nodes of all trees without what rounding changes, and their leaves."""
    shape, leaves = [], []
    for tree in ensemble.parse(serialized).trees:
        for node in tree.nodes:
            kind = node.WhichOneof("node")
            if kind == "leaf":
                shape.append(kind)
                leaves += list(node.leaf.vector.value) or [node.leaf.scalar]
            else:
                split = getattr(node, kind)
                shape.append((kind, *(value for _, value in split.ListFields())))
    return shape, leaves


def check_values(case, found):
    stored, kind = read_stored(case), programs.CASES[case][0]
    assert found["stamp"] == stored["stamp"]
    assert found["boundaries"] == stored["boundaries"]
    shape, leaves = describe(bytes.fromhex(found["ensemble"]))
    stored_shape, stored_leaves = describe(bytes.fromhex(stored["ensemble"]))
    assert shape == stored_shape
    np.testing.assert_allclose(leaves, stored_leaves, rtol=0, atol=_LEAF_TOLERANCE[kind])
    tolerance = _VALUE_TOLERANCE[kind]
    np.testing.assert_allclose(found["values"], stored["values"], rtol=0, atol=tolerance)
    for ours, native in zip(found["importances"], stored["importances"]):
        assert dict(ours) == pytest.approx(dict(native), rel=1e-4, abs=1e-6)
        assert [value for _, value in ours] == sorted((value for _, value in ours), reverse=True)
    assert len(found["explained"]) == len(stored["explained"])
    for (bias, ours), (native_bias, native) in zip(found["explained"], stored["explained"]):
        assert bias == pytest.approx(native_bias, abs=1e-6)
        assert dict(ours) == pytest.approx(dict(native), abs=2e-6)
        amounts = [abs(value) for _, value in ours]
        assert amounts == sorted(amounts, reverse=True)
    assert found["metrics"].keys() == stored["metrics"].keys()
    for name, value in stored["metrics"].items():
        assert found["metrics"][name] == pytest.approx(value, abs=1e-6), name


def resume(case, folder):
    """Trains what 2.8.4 left in the middle of a tree to its end."""
    shutil.copytree(STORED / case, folder)
    model, make_input_fn = programs.build(tf, case, folder)
    assert model.get_variable_value("global_step") == programs.MIDDLE[case]
    model.train(make_input_fn(True), max_steps=10000)
    return model, make_input_fn


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """The regressor whose checkpoint 2.8.4 wrote in the middle of a tree, trained to its end."""
    return resume("regressor", tmp_path_factory.mktemp("boosted") / "job")


def test_a_native_checkpoint_grows_to_the_same_bytes(resumed):
    model, make_input_fn = resumed
    found = programs.examine(tf, "regressor", model, make_input_fn)
    assert found["ensemble"] == read_stored("regressor")["ensemble"]
    check_values("regressor", found)


def test_a_checkpoint_has_the_keys_and_types_of_a_native_one(resumed):
    ours = tf.train.load_checkpoint(resumed[0].model_dir)
    native = tf.train.load_checkpoint(str(STORED / "regressor"))
    assert ours.get_variable_to_dtype_map() == native.get_variable_to_dtype_map()
    shapes = native.get_variable_to_shape_map()
    assert ours.get_variable_to_shape_map() == shapes


def test_a_native_checkpoint_of_data_in_memory_grows_on_and_can_go_back(tmp_path):
    model, make_input_fn = resume("in_memory", tmp_path / "job")
    found = programs.examine(tf, "in_memory", model, make_input_fn)
    assert found["ensemble"] == read_stored("in_memory")["ensemble"]
    check_values("in_memory", found)
    ours = tf.train.load_checkpoint(model.model_dir)
    native = tf.train.load_checkpoint(str(STORED / "in_memory"))
    assert ours.get_variable_to_dtype_map() == native.get_variable_to_dtype_map()
    # TensorFlow computes the buckets of the rows anew, instead of reading copies of them.
    assert not ours.get_tensor("boosted_trees/are_features_cached")
    copies = {key for key in ours.get_variable_to_dtype_map() if "/cached_feature_" in key}
    assert len(copies) == 10 and all(ours.get_tensor(key).size == 0 for key in copies)


def test_a_checkpoint_of_data_in_memory_without_copies_of_them_is_restored(tmp_path):
    # Earlier versions wrote such checkpoints.
    native = tf.train.load_checkpoint(str(STORED / "in_memory"))
    names = [key for key in native.get_variable_to_dtype_map() if "/cached_" not in key]
    names.remove("boosted_trees/are_features_cached")
    folder = tmp_path / "job"
    folder.mkdir()
    path = str(folder / f"model.ckpt-{programs.MIDDLE['in_memory']}")
    tf.raw_ops.SaveV2(
        prefix=path,
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[native.get_tensor(name) for name in names],
    )
    tf.compat.v1.train.update_checkpoint_state(str(folder), path)
    model, make_input_fn = programs.build(tf, "in_memory", folder)
    model.train(make_input_fn(True), max_steps=10000)
    stored = read_stored("in_memory")["ensemble"]
    assert model.get_variable_value("boosted_trees:0_serialized").hex() == stored


def test_an_export_has_standard_operations_and_answers_like_predict(resumed, tmp_path):
    model, make_input_fn = resumed
    spec = tf.feature_column.make_parse_example_spec(programs.build_columns(tf))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_saved_model(str(tmp_path), receiver).decode()
    features, _ = programs.read_data()
    rows = [_serialize(features, row) for row in range(50)]
    predictions = list(model.predict(make_input_fn(False)))[:50]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = meta.signature_def["predict"]
        answers = session.run(
            signature.outputs["predictions"].name, {signature.inputs["examples"].name: rows}
        )
        # Those of the functions too.
        operations = set(re.findall(r'^ +op: "(\w+)"', str(meta.graph_def), re.MULTILINE))
    assert [list(row["predictions"]) for row in predictions] == answers.tolist()
    assert {"GatherV2", "Cumsum"} <= operations
    assert not [name for name in operations if "PyFunc" in name or "Boosted" in name]
    # A loader of TensorFlow 2 reads it too.
    loaded = tf.saved_model.load(path).signatures["predict"]
    assert loaded is not None


def _serialize(features, row):
    def convert(value):
        if value.dtype.kind == "U":
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[str(value).encode()]))
        return tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(value)))

    converted = {name: convert(values[row]) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=converted)).SerializeToString()


@pytest.mark.parametrize(
    "case", ["regressor_l1_l2", "classifier", "pruned", "centered", "three_classes"]
)
def test_a_program_grows_the_trees_of_2_8(case, tmp_path):
    model, make_input_fn = programs.build(tf, case, tmp_path)
    model.train(make_input_fn(True), max_steps=10000)
    check_values(case, programs.examine(tf, case, model, make_input_fn))


def slices(arrays):
    return tf.data.Dataset.from_tensor_slices(arrays)


BATCHES = {
    "in turn": lambda rows: slices(rows).batch(20).repeat(),
    "across the end": lambda rows: slices(rows).repeat().batch(24),
    "shuffled": lambda rows: slices(rows).shuffle(50).repeat().batch(20).prefetch(1),
    "shuffled batches": lambda rows: (
        slices(rows).skip(1).batch(20, drop_remainder=True).shuffle(5).repeat()
    ),
    "arrays of batches": lambda rows: (
        slices(tf.nest.map_structure(lambda one: one.reshape(5, 20), rows)).shuffle(3).repeat()
    ),
}


@pytest.mark.parametrize("order", BATCHES)
def test_rows_that_are_known_again_grow_the_same_trees(order, tmp_path, monkeypatch):
    random = np.random.RandomState(0)
    x = {name: random.randn(100).astype(np.float32) for name in "abc"}
    x["weight"] = random.rand(100).astype(np.float32)
    x["text"] = random.choice(["u", "v", "w"], 100)
    label = (x["a"] * x["b"] > x["c"]).astype(np.int32)
    columns = [tf.feature_column.numeric_column(name) for name in "abc"]
    columns.append(tf.feature_column.categorical_column_with_vocabulary_list("text", ["u", "v"]))
    monkeypatch.setattr(row_batches, "_FEWEST_IN_BATCH", 1)
    monkeypatch.setattr(row_batches, "_FEWEST", 1)
    kept = []
    keep = row_table.RowTable.keep

    def count(self, rows, buckets):
        kept.extend(rows.tolist())
        return keep(self, rows, buckets)

    monkeypatch.setattr(row_table.RowTable, "keep", count)

    def train(is_wanted):
        monkeypatch.setenv(batch_first.VARIABLE, "yes" if is_wanted else "no")
        model = tf.estimator.BoostedTreesClassifier(
            columns,
            5,
            model_dir=str(tmp_path / str(is_wanted)),
            weight_column="weight",
            n_trees=3,
            max_depth=3,
            pruning_mode="post",
            tree_complexity=1e-4,
            quantile_sketch_epsilon=0.05,
            config=tf.estimator.RunConfig(tf_random_seed=1),
        )
        # The second session begins in the middle of a tree.
        for steps in (30, 10_000):
            model.train(lambda: BATCHES[order]((x, label)), max_steps=steps)
        reader = tf.train.load_checkpoint(model.model_dir)
        return reader.get_tensor("boosted_trees:0_serialized")

    expected = train(False)
    assert not kept
    assert train(True) == expected and len(expected) > 300
    assert len(set(kept)) >= 80


class _Functions(tf.compat.v1.train.SessionRunHook):
    """Counts the functions of Python that a step calls."""

    def __init__(self, step):
        self.step, self.count = step, 0

    def before_run(self, run_context):
        self.step -= 1
        full = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
        return tf.compat.v1.train.SessionRunArgs(None, options=None if self.step else full)

    def after_run(self, run_context, run_values):
        if not self.step:
            run_context.request_stop()
            for device in run_values.run_metadata.step_stats.dev_stats:
                kinds = [node.timeline_label.partition(" = ")[2] for node in device.node_stats]
                self.count += sum(kind.startswith("PyFunc") for kind in kinds)


def test_a_step_of_known_rows_calls_python_twice(tmp_path, monkeypatch):
    x = np.random.RandomState(0).randn(100).astype(np.float32)
    monkeypatch.setattr(row_batches, "_FEWEST_IN_BATCH", 1)
    monkeypatch.setattr(row_batches, "_FEWEST", 1)
    model = tf.estimator.BoostedTreesClassifier(
        [tf.feature_column.numeric_column("x")], 5, model_dir=str(tmp_path)
    )
    functions = _Functions(step=13)
    model.train(lambda: BATCHES["in turn"](({"x": x}, (x > 0).astype(np.int32))), [functions])
    assert functions.count == 2


def test_accumulators_of_a_cluster_grow_the_same_trees(tmp_path, monkeypatch):
    def train(is_alone):
        # It is imported together with TensorFlow's Estimators.
        estimators = importlib.import_module("estimator_bridge.boosted_trees.estimators")
        for module in (estimators, model):
            monkeypatch.setattr(module, "is_alone", lambda config: is_alone)
        one, make_input_fn = programs.build(tf, "centered", tmp_path / str(is_alone))
        one.train(make_input_fn(True), max_steps=10000)
        reader = tf.train.load_checkpoint(one.model_dir)
        return reader.get_tensor("boosted_trees:0_serialized")

    assert train(False) == train(True)


def test_a_row_that_its_batch_changes_is_not_kept():
    def column(**options):
        return tf.feature_column.numeric_column("x", **options)

    bucketized = tf.feature_column.bucketized_column(column(), [0.0])
    crossed = tf.feature_column.crossed_column([bucketized, "y"], 9)
    assert depend_on_rows([column(), bucketized, tf.feature_column.indicator_column(crossed)])
    normalized = column(normalizer_fn=lambda x: x - tf.reduce_mean(x))
    assert not depend_on_rows([column(), normalized])
    assert not depend_on_rows([tf.feature_column.bucketized_column(normalized, [0.0])])
    assert not depend_on_rows([tf.feature_column.embedding_column(crossed, 2)])


def test_training_in_memory_grows_the_trees_of_one_batch_a_layer(tmp_path):
    features = {"x": np.linspace(-1, 1, 64, dtype=np.float32)}
    labels = (features["x"] ** 2).astype(np.float32)

    def input_fn():
        return {"x": tf.constant(features["x"])}, tf.constant(labels)

    def train(**options):
        model = tf.estimator.BoostedTreesRegressor(
            [tf.feature_column.numeric_column("x")],
            1,
            model_dir=str(tmp_path / str(len(options))),
            n_trees=2,
            max_depth=2,
            **options,
        )
        model.train(input_fn, max_steps=10000)
        reader = tf.train.load_checkpoint(model.model_dir)
        return reader, *describe(reader.get_tensor("boosted_trees:0_serialized"))

    reader, shape, leaves = train(train_in_memory=True)
    # Before the last layer, all rows were in the second tree, below its root.
    assert set(reader.get_tensor("boosted_trees/tree_ids_cache")) == {1}
    assert set(reader.get_tensor("boosted_trees/node_ids_cache")) == {1, 2}
    _, other_shape, other_leaves = train()
    assert len(shape) > 10 and shape == other_shape
    np.testing.assert_allclose(leaves, other_leaves, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trees": 0}, "n_trees: expected > 0, received: 0"),
        ({"l2_regularization": -1}, "l2_regularization: expected >= 0, received: -1"),
        ({"pruning_mode": "some"}, "pruning_mode: 'some' is none of none, post, pre"),
        ({"tree_complexity": 0.1}, "tree_complexity: give one above 0 together with"),
        ({"pruning_mode": "pre"}, "tree_complexity: give one above 0 together with"),
        ({"n_classes": 3, "center_bias": True}, "center_bias: not supported with n_classes > 2"),
        ({"train_in_memory": True, "n_batches_per_layer": 2}, "n_batches_per_layer: 2, but"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options, message):
    given = {"n_batches_per_layer": 1, **options}
    with pytest.raises(ValueError, match=message):
        tf.estimator.BoostedTreesClassifier([tf.feature_column.numeric_column("x")], **given)


def test_a_bucketized_column_of_several_values_is_refused(tmp_path):
    numbers = tf.feature_column.numeric_column("x", shape=(2,))
    column = tf.feature_column.bucketized_column(numbers, [0.0])
    model = tf.estimator.BoostedTreesRegressor([column], 1, model_dir=str(tmp_path))
    rows = {"x": np.zeros((4, 2), np.float32)}, np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="x_bucketized must bucketize one value"):
        model.train(lambda: tf.data.Dataset.from_tensors(rows))


def test_a_value_that_comes_often_in_a_row_counts_as_twice(tmp_path):
    ids = tf.feature_column.categorical_column_with_identity("ids", 2)
    rows = np.array([[1, -1, -1, -1], [0, -1, -1, -1], [1, 1, 1, 1], [1, 1, -1, -1]])

    def train(rows, name):
        model = tf.estimator.BoostedTreesRegressor(
            [tf.feature_column.indicator_column(ids)],
            1,
            model_dir=str(tmp_path / name),
            n_trees=1,
            max_depth=1,
        )
        labels = np.array([5, -5, 4, 4], np.float32)
        model.train(lambda: tf.data.Dataset.from_tensors(({"ids": rows}, labels)).repeat())
        return model.get_variable_value("boosted_trees:0_serialized")

    twice = np.where(rows[:, :1] == rows, rows, -1)[:, :2]
    assert train(rows, "often") == train(twice, "twice")


def _build_centered(folder, **options):
    return tf.estimator.BoostedTreesClassifier(
        [tf.feature_column.numeric_column("x")], 1, model_dir=str(folder), n_trees=1, **options
    )


def _read_four_rows():
    x = np.array([0, 1, 2, 3], np.float32)
    return tf.data.Dataset.from_tensors(({"x": x}, (x > 1).astype(np.int32))).repeat()


def test_bias_and_contributions_add_up_to_the_prediction(tmp_path):
    model = _build_centered(tmp_path, center_bias=True, max_depth=2)
    model.train(_read_four_rows, max_steps=100)
    rows = model.experimental_predict_with_explanations(
        lambda: _read_four_rows().take(1), predict_keys=["logistic"]
    )
    for row in rows:
        assert set(row) == {"logistic", "bias", "dfc"} and row["dfc"]["x"] != 0
        assert row["bias"] + sum(row["dfc"].values()) == pytest.approx(row["logistic"][0], abs=1e-6)


def test_what_cannot_be_explained_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="center_bias: experimental_predict_with_explanations"):
        _build_centered(tmp_path).experimental_predict_with_explanations(_read_four_rows)
    model = _build_centered(tmp_path, center_bias=True)
    with pytest.raises(ValueError, match="model_dir: no checkpoint in"):
        model.experimental_predict_with_explanations(_read_four_rows)
    model = _build_centered(tmp_path, max_depth=1, min_node_weight=100.0)
    model.train(_read_four_rows, max_steps=10)
    assert list(model.experimental_feature_importances().values()) == [0]
    with pytest.raises(AssertionError, match="normalize: the trees have no split"):
        model.experimental_feature_importances(normalize=True)


def test_the_arguments_are_those_of_2_8():
    names = {
        kind: list(
            inspect.signature(getattr(tf.estimator, f"BoostedTrees{kind}").__init__).parameters
        )
        for kind in ("Classifier", "Regressor", "Estimator")
    }
    shared = ["n_trees", "max_depth", "learning_rate", "l1_regularization", "l2_regularization"]
    shared += ["tree_complexity", "min_node_weight", "config", "center_bias", "pruning_mode"]
    shared += ["quantile_sketch_epsilon"]
    first = ["self", "feature_columns", "n_batches_per_layer"]
    labels = ["model_dir", "n_classes", "weight_column", "label_vocabulary"]
    assert names["Classifier"] == [*first, *labels, *shared, "train_in_memory"]
    labels = ["model_dir", "label_dimension", "weight_column"]
    assert names["Regressor"] == [*first, *labels, *shared, "train_in_memory"]
    assert names["Estimator"] == [*first, "head", "model_dir", "weight_column", *shared]


@pytest.mark.parametrize("largest", [1e4, 0])
def test_a_summary_is_compressed_as_value_by_value(largest):
    random = np.random.RandomState(5)
    weights = (1 + random.rand(700) * largest).astype(np.float32)
    summary = quantiles._summarize_values(random.randn(700).astype(np.float32), weights)
    _, weight, least, most = summary.T
    before, after = most - weight, least + weight
    for size, epsilon in ((50, 0.01), (300, 0.0001), (400, 0.1)):
        allowed = float(most[-1]) * max(1 / size, epsilon)
        kept, read, credit = [0], 0, 0
        while read < 699:
            following = read + 1
            while following < 700 and credit < 700:
                if float(before[following] - after[read]) > allowed:
                    break
                credit, following = credit + size, following + 1
            read, credit = max(read + 1, following - 1), credit - 700
            kept.append(read)
        found = quantiles._compress(summary, size, epsilon)
        assert 0 < len(kept) < 700 and found.tolist() == summary[kept].tolist()


def test_quantiles_stay_within_their_error():
    values = np.random.RandomState(3).permutation(20000).astype(np.float32)
    batches = [
        quantiles.summarize(part, np.ones(1, np.float32), 0.02) for part in np.split(values, 20)
    ]
    boundaries = quantiles.compute_boundaries(batches, 0.02, 50)
    assert 40 <= len(boundaries) <= 50
    # Two errors of 0.02 and the distance of two of 50 boundaries, of 20,000 values.
    assert np.diff(boundaries).max() <= 20000 * 0.06


@pytest.mark.parametrize(
    ("num_buckets", "expected"),
    [(2, np.int8), (127, np.int8), (128, np.int16), (32_767, np.int16), (32_768, np.int32)],
)
def test_a_bucket_takes_few_bytes(num_buckets, expected):
    groups = [Group(2, [0], ["inequality"]), Group(num_buckets, [1], ["inequality"])]
    assert Layout([], ["x", "y"], groups, 2).dtype is expected
