"""Converts canned Estimators of user code, of both API versions, to Keras models."""

import contextlib
import importlib.metadata
import re
import runpy
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from conversions import assert_same, convert, make_rows, train

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)


def make_columns(tf, folder):
    """Returns wide and deep columns of all kinds in programs of 2018."""
    column = tf.feature_column
    words = folder / "words.txt"
    words.write_text("red\ngreen\nblue\nbrown\n")
    age = column.numeric_column(
        "age", normalizer_fn=lambda x: tf.math.log1p(tf.maximum(x - 5.0, 0.0)) / 2.0
    )
    buckets = column.bucketized_column(column.numeric_column("age"), [20, 30.5, 40])
    color = column.categorical_column_with_vocabulary_file(
        "color", str(words), vocabulary_size=3, num_oov_buckets=2
    )
    tags = column.categorical_column_with_hash_bucket("tags", 9)
    weighted = column.weighted_categorical_column(tags, "share")
    count = column.categorical_column_with_identity("count", 5)
    inner = column.crossed_column(["color", buckets], 40)
    wide = [buckets, color, weighted, count, inner, column.crossed_column([inner, "shade"], 50)]
    wide.append(column.crossed_column(["tags", "color"], 30, hash_key=99))
    deep = [
        age,
        column.indicator_column(weighted),
        column.embedding_column(tags, 3, combiner="sum"),
        column.embedding_column(weighted, 2, combiner="mean"),
        column.indicator_column(color),
    ]
    return wide, deep


@pytest.mark.parametrize("version", [1, 2])
def test_linear_combined_with_every_column(version, tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    wide, deep = make_columns(tf, tmp_path)
    api = tf.compat.v1.estimator if version == 1 else tf.estimator
    built = api.DNNLinearCombinedClassifier(
        model_dir=str(tmp_path / "model"),
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[6, 4],
        dnn_activation_fn=tf.nn.tanh,
    )
    built = tf.estimator.add_metrics(built, lambda labels, predictions: {})
    train(tf, built, features, labels)
    plan, converted = convert(built, multivalued=("tags",))
    assert converted.notes == []
    assert plan.head.reduction == ("sum" if version == 1 else "sum_over_batch_size")
    assert assert_same(built, converted, plan, features, labels) < 1e-5


def test_crosses_ignore_missing_values_of_sparse_features(tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.write.module import write_module

    features, labels = make_rows()
    column = tf.feature_column
    buckets = column.bucketized_column(column.numeric_column("age"), [30])
    built = tf.estimator.LinearRegressor(
        [column.crossed_column(["tags", buckets], 20), column.crossed_column(["tags", "color"], 9)],
        model_dir=str(tmp_path),
    )
    train(tf, built, features, labels, sparse=("tags",))
    plan, converted = convert(built, sparse=("tags",))
    assert assert_same(built, converted, plan, features, labels, sparse=("tags",)) < 1e-5
    # In a CSV file, a row has one of the values.
    written = {"__name__": "written"}
    exec(write_module(plan, "written").code, written)
    (tmp_path / "rows.csv").write_text("age,tags,color,label\n30,a,red,1\n20,,green,2\n")
    read, labels, weights = written["read_rows"](tmp_path / "rows.csv")
    (batch,) = written["make_dataset"](read, labels, weights, 2)
    assert converted.model(batch[0])["predictions"].shape == (2, 1)


def test_unsupported_estimators_are_errors(tmp_path):
    from estimator_bridge import BridgeError, tf

    column = tf.feature_column
    summed = column.numeric_column("age", shape=2, normalizer_fn=lambda x: tf.cumsum(x, axis=1))
    built = tf.estimator.LinearRegressor([summed], model_dir=str(tmp_path))
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator

    with pytest.raises(BridgeError, match=r"column 'age': its normalizer_fn uses .* Cumsum"):
        describe_estimator(Loaded(built, "test:build"), 0)
    other = tf.estimator.Estimator(lambda features, labels, mode: None, model_dir=str(tmp_path))
    with pytest.raises(BridgeError, match="--model_fn wraps any other"):
        describe_estimator(Loaded(other, "test:build"), 0)


def heads_with_own_functions(tf):
    """Returns heads whose loss or predictions are not those of their class."""
    api = tf.estimator

    def loss_fn(labels, logits):
        return tf.abs(logits - tf.cast(labels, tf.float32))

    own = {"loss_fn": loss_fn, "name": "own"}
    yield "loss_fn loss_fn", api.RegressionHead(**own)
    yield "loss_fn loss_fn", api.BinaryClassHead(**own)
    yield "loss_fn loss_fn", api.MultiClassHead(3, **own)
    yield "loss_fn loss_fn", api.MultiLabelHead(3, **own)
    # Squared error of the logits, and their exponential as predictions: not Poisson.
    yield "inverse_link_fn exp", api.RegressionHead(inverse_link_fn=tf.exp, name="own")
    yield "inverse_link_fn sigmoid", api.RegressionHead(inverse_link_fn=tf.sigmoid, name="own")


def test_heads_with_own_functions_are_refused(tmp_path):
    from estimator_bridge import BridgeError, tf
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator

    column = tf.feature_column.numeric_column("age")

    def describe(head):
        built = tf.estimator.LinearEstimator(head, [column], model_dir=str(tmp_path))
        return describe_estimator(Loaded(built, "test:build"), 0).head.task

    for what, head in heads_with_own_functions(tf):
        with pytest.raises(BridgeError, match=f"its {what} cannot be converted.*--model_fn"):
            describe(head)
        both = tf.estimator.MultiHead([tf.estimator.RegressionHead(name="plain"), head])
        with pytest.raises(BridgeError, match=f"its {what} cannot be converted"):
            describe(both)
    assert describe(tf.estimator.PoissonRegressionHead()) == "poisson"
    assert describe(tf.estimator.LogisticRegressionHead()) == "logistic"
    assert describe(tf.estimator.RegressionHead()) == "regression"


FLAGS_MODULE = textwrap.dedent(
    """
    import argparse
    import tensorflow as tf

    def build():
        argparse.ArgumentParser().parse_args()
        fc = tf.feature_column
        age = fc.numeric_column("age")
        rank = fc.categorical_column_with_identity("rank", 5)
        cross = fc.crossed_column(["shade", fc.bucketized_column(age, [9.0, 20.0])], 11)
        return tf.estimator.LinearClassifier([age, rank, cross], model_dir="model")

    def make_rows(bad=None, value=None):
        rows = {
            "age": [[float(row)] for row in range(40)],
            "rank": [row % 5 for row in range(40)],
            "shade": [["red", "green"][row % 2] for row in range(40)],
            "label": [row % 2 for row in range(40)],
        }
        if bad:
            rows[bad][30] = value
        return tf.data.Dataset.from_tensor_slices((rows, rows.pop("label"))).batch(8)

    input_fn = make_rows

    def leave():
        parser = argparse.ArgumentParser()
        parser.add_argument("--job", required=True)
        parser.parse_args()

    def wrong_rank():
        return make_rows("rank", 5)

    def wrong_label():
        return make_rows("label", 2)

    def wrong_label_type():
        return make_rows().map(lambda rows, label: (rows, tf.strings.as_string(label)))

    def wrong_shape():
        return make_rows().map(lambda rows, label: (rows, tf.stack([label, label], 1)))

    def wrong_labels():
        return make_rows().map(lambda rows, label: (rows, {"age": label}))

    def wrong_sparse_label():
        def read(rows, label):
            return rows, tf.sparse.from_dense(tf.reshape(label, [-1, 1]))

        return make_rows().map(read)

    def wrong_age():
        return make_rows("age", [float("nan")])

    def wrong_text():
        def read(features, labels):
            return {**features, "age": tf.strings.to_number(features["shade"])}, labels

        return make_rows().map(read)

    def wrong_name():
        return make_rows().map(lambda features, labels: ({"size": features["age"]}, labels))
    """
)

WRONG_ROWS = {
    "wrong_rank": r"^the Estimator fails on row 31 of the compared rows: .*\[0, 5\)$",
    "wrong_label": "^label: 2 in row 31 of the compared rows is not a class; "
    "the classes are 0 to 1$",
    "wrong_label_type": "^label: 0 in row 1 .* is a text; .* of this binary head are numbers$",
    "wrong_shape": r"^label: the shape of the labels is \[40, 2\], .* head takes 1 of each row$",
    "wrong_labels": "^label: for this head, the labels have to be a tensor$",
    "wrong_sparse_label": "^--input_fn: only the labels of a multi-label head may be sparse$",
    "wrong_age": "^training: the Estimator fails at step 2, with rows 17 to 32 .*: NanLoss",
    "wrong_text": r"^--input_fn: reading fails after 0 rows: .*StringToNumber.*: (red|green)$",
    "wrong_name": "^--input_fn: it did not return the features age, rank, shade$",
}


@contextlib.contextmanager
def damaged_value(checkpoint, ending):
    """Flips a bit of a variable in a checkpoint while the context lasts."""
    from estimator_bridge.model_files.checkpoint_index import read_values

    values = read_values(Path(f"{checkpoint}.index"))
    (value,) = (one for one in values if one.name.endswith(ending))
    (path,) = Path(checkpoint).parent.glob(f"{Path(checkpoint).name}.data-*")
    good = path.read_bytes()
    bad = bytearray(good)
    bad[value.offset] ^= 4
    path.write_bytes(bad)
    yield
    path.write_bytes(good)


def test_commands_convert_and_verify(tmp_path, monkeypatch, capsys):
    from estimator_bridge import BridgeError, tf
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    module = "commands_module_under_test"
    (tmp_path / f"{module}.py").write_text(FLAGS_MODULE)
    flag = f"--estimator={module}:build"
    monkeypatch.setattr(sys, "argv", ["train"])
    built = load_function(f"{module}:build", "--estimator")()
    built.train(load_function(f"{module}:input_fn", "--input_fn"))
    # The program reads flags of its own, not those of the commands.
    monkeypatch.setattr(sys, "argv", ["convert", flag])
    with pytest.raises(BridgeError, match=f"^--estimator={module}:leave raises SystemExit at "):
        command.main([f"--estimator={module}:leave", "--output=other.keras"])
    assert command.main([flag, "--output=model.keras", "--saved_model=saved"]) == 0
    printed = capsys.readouterr()
    assert "converted linear (binary), step 5" in printed.out
    # A sparse feature would be hashed in another order.
    assert "assumed to be dense tensors: shade" in printed.err
    flags = ["--keras_model=model.keras", "--saved_model=saved", "--steps=20", "--batch_size=16"]
    assert verify.main([flag, f"--input_fn={module}:input_fn", *flags]) == 0
    assert "PASSED" in capsys.readouterr().out
    for function, message in WRONG_ROWS.items():
        with pytest.raises(BridgeError, match=message):
            verify.main([flag, f"--input_fn={module}:{function}", *flags])
    # Damaged values are not the fault of a row: predicting needs the first, training the second.
    for ending in ("age/weights", "age/weights/linear"):
        message = rf"^checkpoint \S+: \S+{ending} cannot be read "
        with (
            damaged_value(tf.train.latest_checkpoint("model"), ending),
            pytest.raises(BridgeError, match=message),
        ):
            verify.main([flag, f"--input_fn={module}:input_fn", *flags])
    with pytest.raises(BridgeError, match="^--job_dir=gs://bucket/job: only files of this machine"):
        command.main(["--job_dir=gs://bucket/job", "--output=model.keras"])


WEIGHTED_MODULE = textwrap.dedent(
    """
    import tensorflow as tf

    fc, api = tf.feature_column, tf.estimator

    def build():
        heads = [
            api.BinaryClassHead(name="one", weight_column="share"),
            api.RegressionHead(name="two"),
            api.MultiLabelHead(3, name="three", label_vocabulary=["a", "b", "c"])]
        columns = [fc.numeric_column("age"), fc.categorical_column_with_identity("kind", 5)]
        momentum = tf.keras.optimizers.legacy.SGD(1e-4, momentum=0.9)
        head = api.MultiHead(heads, [1.0, 0.25, 0.5])
        return api.LinearEstimator(head, columns, "weighted", optimizer=momentum)

    def input_fn():
        rows = {
            "age": [[float(row)] for row in range(40)],
            "kind": [[row // 8] for row in range(40)],
            "share": [0.5 + row % 3 for row in range(40)],
        }
        labels = {"one": [[row % 2] for row in range(40)], "two": [[row / 9] for row in range(40)]}
        labels["three"] = [["a", "cb"[row % 2]][: 1 + row // 35] for row in range(40)]
        labels["three"] = tf.ragged.constant(labels["three"]).to_tensor("")
        def make_sparse(rows, labels):
            return rows, {**labels, "three": tf.sparse.from_dense(labels["three"])}
        return tf.data.Dataset.from_tensor_slices((rows, labels)).batch(8).map(make_sparse)

    def without_weights():
        return input_fn().map(lambda rows, labels: ({k: rows[k] for k in ("age", "kind")}, labels))

    def receiver_fn():
        types = {"age": "float", "key": "float", "kind": "int64"}
        given = {name: tf.compat.v1.placeholder(types[name], [None, 1]) for name in types}
        return api.export.ServingInputReceiver(given, given)
    """
)


def test_weights_are_compared_and_other_exports_are_left_out(tmp_path, monkeypatch, capsys):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    name = "weighted_module_under_test"
    (tmp_path / f"{name}.py").write_text(WEIGHTED_MODULE)
    built = load_function(f"{name}:build", "--estimator")()
    built.train(load_function(f"{name}:input_fn", "--input_fn"))
    receiver_fn = load_function(f"{name}:receiver_fn", "--input_fn")
    built.export_saved_model(f"{built.model_dir}/export/all", receiver_fn)
    estimator, rows = f"--estimator={name}:build", f"--input_fn={name}:input_fn"
    assert command.main([estimator, rows, "--output=model.keras", "--emit_code=written.py"]) == 0
    written = runpy.run_path("written.py")
    names = ("one/logits", "two/predictions", "three/logits")
    labels = {name: np.ones((4, 1)) for name in names}
    # The weights of the rows are those of the first head only.
    batches = written["make_dataset"]({}, labels, {"one/logits": np.zeros(4, "f")}, 4)
    (_, _, weights), *_ = batches.as_numpy_iterator()
    assert {name: value.tolist() for name, value in weights.items()} == {
        "one/logits": [0.0] * 4,
        "two/predictions": [1.0] * 4,
        "three/logits": [1.0] * 4,
    }
    assert written["WEIGHTS"] == {"one/logits": "share"}
    for steps in ("0", "20"):
        flags = [estimator, "--keras_model=model.keras", f"--steps={steps}", "--batch_size=16"]
        assert verify.main([*flags, rows]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "PASSED" in printed
        assert "it has inputs that the compared rows do not have: key" in printed
        found = re.search(r"without it, the losses of the file differ .* at most (\S+) ", printed)
        assert (found is not None and float(found[1]) > 1e-6) == (steps == "20")
        with pytest.raises(BridgeError, match="did not return the features share$"):
            verify.main([*flags, f"--input_fn={name}:without_weights"])


PARSED_MODULE = textwrap.dedent(
    """
    import tensorflow as tf

    COLORS = [b"red", b"green", b"blue", b"red"]
    fc = tf.feature_column
    buckets = fc.bucketized_column(fc.numeric_column("age"), [10.0, 20.0])
    tags = fc.categorical_column_with_hash_bucket("tags", 7)
    cross = fc.crossed_column(["color", buckets, "size"], 40)
    COLUMNS = [tags, cross]

    def build():
        return tf.estimator.LinearClassifier(COLUMNS, model_dir="parsed")

    def input_fn():
        records = []
        for row in range(40):
            tags = [b"a", b"b", b"c"][: row % 4]
            example = tf.train.Example()
            example.features.feature["color"].bytes_list.value.append(COLORS[row % 4])
            example.features.feature["tags"].bytes_list.value.extend(tags)
            example.features.feature["size"].int64_list.value.append(row % 5)
            example.features.feature["age"].float_list.value.append(float(row))
            example.features.feature["label"].int64_list.value.append(row % 2)
            records.append(example.SerializeToString())
        spec = {
            "color": tf.io.VarLenFeature(tf.string),
            "tags": tf.io.VarLenFeature(tf.string),
            "size": tf.io.VarLenFeature(tf.int64),
            "age": tf.io.FixedLenFeature([1], tf.float32),
            "label": tf.io.FixedLenFeature([1], tf.int64),
        }

        def parse(serialized):
            features = tf.io.parse_example(serialized, spec)
            return features, features.pop("label")

        return tf.data.Dataset.from_tensor_slices(records).batch(8).map(parse)
    """
)


def test_sparse_features_are_found_in_the_input_function(tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    name = "parsed_module_under_test"
    (tmp_path / f"{name}.py").write_text(PARSED_MODULE)
    built = load_function(f"{name}:build", "--estimator")()
    built.train(load_function(f"{name}:input_fn", "--input_fn"))
    flags = [f"--estimator={name}:build", f"--input_fn={name}:input_fn"]
    assert command.main([*flags, "--output=found.keras"]) == 0
    assert "assumed to be dense" not in capsys.readouterr().err
    assert verify.main([*flags, "--keras_model=found.keras", "--steps=20"]) == 0
    assert "PASSED" in capsys.readouterr().out


def test_module_and_function_are_checked(tmp_path, monkeypatch):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert.read.canned import load_estimator, load_function

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["convert"])
    (tmp_path / "flags_module_under_test.py").write_text(FLAGS_MODULE)
    assert load_estimator("flags_module_under_test:build").estimator.model_dir == "model"
    (tmp_path / "broken_module_under_test.py").write_text("def build():\n    return 1 / 0\n")
    with pytest.raises(BridgeError, match="ZeroDivisionError at broken_module_under_test.py:2"):
        load_estimator("broken_module_under_test:build")
    with pytest.raises(BridgeError, match="has no function 'make'"):
        load_function("flags_module_under_test:make", "--estimator")
    with pytest.raises(BridgeError, match="cannot be imported"):
        load_function("no_such_module_here:make", "--estimator")
    with pytest.raises(BridgeError, match="expected MODULE:FUNCTION"):
        load_function("no_colon", "--estimator")


def test_shared_tables(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    column = tf.feature_column
    words = ["red", "green", "blue"]
    parts = [
        column.categorical_column_with_vocabulary_list(name, words, num_oov_buckets=1)
        for name in ("color", "shade")
    ]
    with tf.Graph().as_default():
        shared = tf.compat.v1.feature_column.shared_embedding_columns(parts, 3)
    built = tf.compat.v1.estimator.DNNClassifier(
        feature_columns=shared,
        hidden_units=[4],
        activation_fn=tf.nn.tanh,
        model_dir=str(tmp_path),
        optimizer=tf.compat.v1.train.AdagradOptimizer(0.1),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert plan.deep[0].table == plan.deep[1].table
    assert converted.notes == []
    assert assert_same(built, converted, plan, features, labels) < 1e-5


@pytest.mark.parametrize("kind", ["Adagrad", "Adam"])
def test_large_tables_are_updated_by_the_written_classes(kind, tmp_path, monkeypatch):
    from estimator_bridge import tf
    from estimator_bridge.convert.write import columns, training

    for module in (columns, training):
        monkeypatch.setattr(module, "MAX_WHOLE_TABLE", 5)
    features, labels = make_rows()
    column = tf.feature_column
    tags = column.categorical_column_with_hash_bucket("tags", 9)
    built = tf.estimator.DNNClassifier(
        feature_columns=[column.embedding_column(tags, 3)],
        hidden_units=[4],
        activation_fn=tf.nn.tanh,
        model_dir=str(tmp_path),
        optimizer=lambda: getattr(tf.keras.optimizers.legacy, kind)(0.01),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built, multivalued=("tags",))
    assert f"Summed{kind}" in vars(converted.module)
    apart = assert_same(built, converted, plan, features, labels)
    assert apart < {"Adagrad": 1e-5, "Adam": 1e-4}[kind]


SETTINGS_MODULE = textwrap.dedent(
    """
    import tensorflow as tf

    fc, api, keras = tf.feature_column, tf.estimator, tf.keras.optimizers.legacy
    kind = fc.categorical_column_with_identity("kind", 5)
    columns = [fc.numeric_column("age"), kind]

    def shrinkage():
        rate = keras.Ftrl(0.1, l2_shrinkage_regularization_strength=0.1)
        return api.LinearRegressor(
            columns, "shrinkage", label_dimension=2, weight_column="share", optimizer=rate)

    def poisson():
        head = api.PoissonRegressionHead(2, weight_column="share", loss_reduction="sum")
        return api.LinearEstimator(head, columns, "poisson", optimizer=lambda: keras.SGD(1e-4))

    def mean_poisson():
        head = api.PoissonRegressionHead(2, weight_column="share")
        return api.LinearEstimator(head, columns, "mean_poisson", optimizer="SGD")

    def centered():
        rate = keras.RMSprop(0.01, momentum=0.5, centered=True)
        return api.DNNRegressor(
            [4], [fc.embedding_column(kind, 3)], "centered", label_dimension=2, optimizer=rate)

    def epsilon():
        rate = keras.Adagrad(0.01, epsilon=0.001)
        return api.LinearRegressor(columns, "epsilon", label_dimension=2, optimizer=rate)

    def changed_weights():
        weight = fc.numeric_column("share", normalizer_fn=lambda x: x * 2)
        return api.LinearRegressor(
            columns, "changed_weights", label_dimension=2, weight_column=weight)

    def input_fn():
        rows = {
            "age": [[row / 40] for row in range(40)],
            "kind": [[row // 8] for row in range(40)],
            "share": [[0.5 + row % 3] for row in range(40)],
        }
        labels = [[row % 5, row / 9] for row in range(40)]
        rows = tf.data.Dataset.from_tensor_slices((rows, labels))
        return rows.map(lambda rows, labels: (rows, tf.cast(labels, tf.float32))).batch(8)
    """
)
SETTINGS = {
    "shrinkage": (None, r"use_estimator_updates.* the losses of the file differ"),
    "poisson": (None, None),
    "mean_poisson": (None, None),
    "centered": (None, r"use_estimator_updates.* without it, Keras fails: indices"),
    "epsilon": ("the epsilon 0.001 of adagrad", None),
    "changed_weights": ("has a normalizer_fn", "training was not compared: the weight column"),
}


@pytest.mark.parametrize("build", SETTINGS)
def test_unusual_settings_train_alike_or_are_noted(build, tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    name = f"settings_module_{build}"
    (tmp_path / f"{name}.py").write_text(SETTINGS_MODULE)
    rows = load_function(f"{name}:input_fn", "--input_fn")
    load_function(f"{name}:{build}", "--estimator")().train(rows)
    flags = [f"--estimator={name}:{build}", f"--input_fn={name}:input_fn"]
    assert command.main([*flags, "--output=model.keras"]) == 0
    noted, found = SETTINGS[build]
    assert noted is None or noted in capsys.readouterr().err
    # With that epsilon, each step differs by some thousandths.
    tolerance = "--loss_tolerance=0.01" if build == "epsilon" else "--loss_tolerance=1e-5"
    status = verify.main([*flags, "--keras_model=model.keras", "--steps=60", tolerance])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert found is None or re.search(found, printed), printed
