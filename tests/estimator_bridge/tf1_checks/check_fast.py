"""`--fast`: canned Estimators with one lookup for a column train as without it."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_bridge.private_tf import feature_column_v2
from estimator_bridge.tf1.fast import lookups, training

training.install()
column = tf.feature_column
ROWS, STEPS = 12, 4
DRAW = np.random.RandomState(1)
WORDS = np.array(["a", "b", "", "c", "unknown"], object)


def features():
    draw = DRAW.randint
    found = {
        "age": DRAW.uniform(0, 90, [ROWS * STEPS, 1]).astype(np.float32),
        "word": WORDS[draw(0, 5, ROWS * STEPS)],
        "other": WORDS[draw(0, 5, [ROWS * STEPS, 1])],
        "number": draw(-1, 9, ROWS * STEPS).astype(np.int32),
        "wide": draw(-3, 9, ROWS * STEPS),
        "full": draw(0, 5, ROWS * STEPS),
    }
    # A model has one column of a name.
    for name in ("word_2", "other_2", "number_2", "number_3"):
        found[name] = found[name.split("_")[0]]
    return found


FEATURES = features()
LABELS = DRAW.randint(0, 2, ROWS * STEPS)


def batches(values=FEATURES):
    def read():
        return tf.data.Dataset.from_tensor_slices((dict(values), LABELS)).batch(ROWS).repeat()

    return read


def categorical(tmp_path):
    """Returns a column of each kind."""
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\n")
    ages = column.bucketized_column(column.numeric_column("age"), [20.0, 40.0, 60.0])
    identity = column.categorical_column_with_identity("number", 9)
    in_file = column.categorical_column_with_vocabulary_file
    in_list = column.categorical_column_with_vocabulary_list
    few = in_list("other", ["a", "b"])
    return [
        ages,
        column.categorical_column_with_hash_bucket("word", 7),
        identity,
        column.categorical_column_with_hash_bucket("number_2", 5, tf.int32),
        column.categorical_column_with_identity("wide", 6, default_value=2),
        in_file("word_2", str(path), 3, num_oov_buckets=2),
        few,
        in_list("other_2", ["a", "b", "c"], default_value=1),
        in_list("number_3", [1, 3, 5], tf.int64),
        column.crossed_column(["word", "other"], 11),
        column.crossed_column([ages, few, "word"], 13, hash_key=5),
        column.crossed_column([identity, column.crossed_column(["number", ages], 3)], 17),
    ]


def train(model, read, steps, monkeypatch, is_fast):
    """Trains; returns the losses."""
    losses = []

    class Losses(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[-1])

        def after_run(self, run_context, run_values):
            losses.append(run_values.results)

    training._said.clear()
    with monkeypatch.context() as patch:
        if not is_fast:
            patch.setattr(training, "_find_obstacle", lambda estimator: "as before")
        model.train(read, steps=steps, hooks=[Losses()])
    return losses


def read_variables(folder):
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def compare(folders):
    ours, theirs = map(read_variables, folders)
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=2e-6, atol=1e-7, err_msg=name)


def test_sums_indicators_and_gradients_equal_those_of_tensorflow(tmp_path, run):
    tensors = {name: tf.constant(value) for name, value in FEATURES.items()}

    def build(one, table):
        cache = feature_column_v2.FeatureTransformationCache(tensors)
        summed = feature_column_v2._create_weighted_sum(
            column=one,
            transformation_cache=cache,
            state_manager=None,
            sparse_combiner="sum",
            weight_var=table,
        )
        indicator = column.indicator_column(one).get_dense_tensor(cache, None)
        factors = tf.cast(tf.range(ROWS * STEPS)[:, tf.newaxis] % 7 - 3, tf.float32)
        (gradient,) = tf.gradients(summed * factors, table)
        # Rows without a gradient, and rows with a gradient of zero, are not the same.
        touched = tf.unique(gradient.indices).y
        return summed, indicator, tf.convert_to_tensor(gradient), touched

    found, wanted = {}, {}
    for one in categorical(tmp_path):
        shape = [one.num_buckets, 3]
        table = tf.get_variable(
            f"table_{len(found)}",
            shape,
            use_resource=True,
            initializer=tf.random_uniform_initializer(seed=1),
        )
        wanted[one.name] = build(one, table)
        with lookups.substituting() as substitution:
            found[one.name] = build(one, table)
        assert (len(substitution.fused), substitution.others) == (2, {})
    ours, theirs = run([found, wanted])
    for name, parts in theirs.items():
        for one, other in zip(ours[name][:2], parts):
            np.testing.assert_array_equal(one, other, name)
        np.testing.assert_allclose(ours[name][2], parts[2], rtol=1e-6, err_msg=name)
        np.testing.assert_array_equal(*map(np.sort, (ours[name][3], parts[3])), name)


OPTIMIZERS = [
    ("Ftrl", "Adagrad"),
    (lambda: tf.train.MomentumOptimizer(0.05, 0.9), lambda: tf.train.AdamOptimizer(0.01)),
]


@pytest.mark.parametrize("linear, dnn", OPTIMIZERS)
def test_both_parts_train_as_without(linear, dnn, tmp_path, monkeypatch, capfd):
    # Numbers, a hash, words outside of the vocabulary, and a cross.
    texts = [categorical(tmp_path)[number] for number in (0, 1, 6, 10)]
    embedded = [
        column.embedding_column(one, 3, combiner=["mean", "sum", "sqrtn"][number % 3])
        for number, one in enumerate(texts)
    ]
    deep = [*embedded, column.indicator_column(texts[2]), column.numeric_column("age")]
    losses, folders = [], []
    for is_fast in (True, False):
        folders.append(tmp_path / str(is_fast))
        model = tf.estimator.DNNLinearCombinedClassifier(
            str(folders[-1]),
            linear_feature_columns=texts,
            linear_optimizer=linear() if callable(linear) else linear,
            dnn_feature_columns=deep,
            dnn_optimizer=dnn() if callable(dnn) else dnn,
            dnn_hidden_units=[5, 4],
            dnn_dropout=0.2,
            config=tf.estimator.RunConfig(tf_random_seed=3),
        )
        losses.append(train(model, batches(), STEPS + 1, monkeypatch, is_fast))
        said = capfd.readouterr().err
        assert ("with 9 fused lookups" in said) is is_fast, said
    np.testing.assert_allclose(*losses, rtol=2e-6)
    compare(folders)


def test_either_goes_on_from_the_other(tmp_path, monkeypatch):
    texts = [column.categorical_column_with_hash_bucket("word", 7)]
    losses, folders = [], []
    for order in ([True, False], [False, True]):
        folders.append(tmp_path / str(order[0]))
        found = []
        for is_fast in order:
            model = tf.estimator.LinearRegressor(texts, str(folders[-1]))
            found += train(model, batches(), STEPS, monkeypatch, is_fast)
        losses.append(found)
    np.testing.assert_allclose(*losses, rtol=1e-6)
    compare(folders)


def sparse(values):
    def read():
        def change(features, label):
            word = features["word"]
            indices = tf.where(tf.not_equal(word, "b"))
            word = tf.SparseTensor(
                tf.concat([indices, tf.zeros_like(indices)], 1),
                tf.gather_nd(word, indices),
                [tf.size(word, out_type=tf.int64), 1],
            )
            return {**features, "word": word}, label

        return batches(values)().map(change)

    return read


WORD = column.categorical_column_with_hash_bucket("word", 7)
PAIRS = {"word": np.stack([FEATURES["word"]] * 2, 1), "age": FEATURES["age"]}
FULL = column.categorical_column_with_identity("full", 5)
WEIGHTED = column.weighted_categorical_column(FULL, "age")


@pytest.mark.parametrize(
    "columns, read, reason",
    [
        ([WEIGHTED], batches(), "full_weighted_by_age: a WeightedCategoricalColumn"),
        ([column.numeric_column("age")], batches(), "it has no categorical columns"),
    ],
)
def test_a_column_that_cannot_be_fused_is_named(
    columns, read, reason, tmp_path, monkeypatch, capfd
):
    losses = []
    for is_fast in (True, False):
        model = tf.estimator.LinearClassifier(columns, str(tmp_path / str(is_fast)))
        losses.append(train(model, read, 2, monkeypatch, is_fast))
        if is_fast:
            said = capfd.readouterr().err
            assert f"--fast: LinearClassifier trains as before: {reason}." in said
    assert losses[0] == losses[1]


def of_several_values(tmp_path):
    """Returns features with 0 to 3 values in a row, and columns of each kind of lookup."""
    draw = np.random.RandomState(4).randint
    count = ROWS * STEPS
    found = {
        "words": WORDS[draw(0, 5, [count, 3])],
        "numbers": draw(-1, 9, [count, 2]),
        "shared": WORDS[draw(0, 5, [count, 2])],
        "other": FEATURES["other"],
        "one": FEATURES["number"],
    }
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\n")
    words = column.categorical_column_with_hash_bucket("words", 7)
    numbers = column.categorical_column_with_identity("numbers", 9)
    known = column.categorical_column_with_vocabulary_file("shared", str(path), 3)
    other = column.categorical_column_with_vocabulary_file("other", str(path), 3)
    crossed = column.crossed_column(["words", known], 11)
    one = column.categorical_column_with_identity("one", 9)
    deep = [
        column.embedding_column(words, 3, combiner="sum"),
        column.embedding_column(numbers, 2, combiner="sqrtn"),
        column.embedding_column(crossed, 2),
        column.indicator_column(known),
        column.embedding_column(one, 2),
    ]
    return found, [words, numbers, known, crossed, one], deep, [known, other]


def as_sparse(features, label):
    def convert(values):
        places = tf.where(tf.not_equal(values, "" if values.dtype == tf.string else -1))
        return tf.SparseTensor(
            places, tf.gather_nd(values, places), tf.shape(values, out_type=tf.int64)
        )

    # An id of -1 that is there, and one value in a row.
    return {name: one if name == "other" else convert(one) for name, one in features.items()}, label


@pytest.mark.parametrize(
    "form, count, reason",
    [
        ("dense", 9, "its feature has the shape (?, 2), not one value in a row"),
        ("sparse", 9, "its feature is no dense tensor"),
        ("shared", 11, "an indicator beside shared embeddings"),
    ],
)
def test_several_values_in_a_row_train_evaluate_and_predict_as_without(
    form, count, reason, tmp_path, monkeypatch, capfd
):
    values, wide, deep, several = of_several_values(tmp_path)
    if form == "shared":
        deep = [*deep, *column.shared_embedding_columns(several, 2)]
    read = batches(values)
    inputs = (lambda: read().map(as_sparse)) if form == "sparse" else read
    results = []
    for is_fast in (True, False):
        model = tf.estimator.DNNLinearCombinedClassifier(
            str(tmp_path / str(is_fast)),
            linear_feature_columns=wide,
            dnn_feature_columns=deep,
            dnn_optimizer=tf.train.MomentumOptimizer(0.05, 0.9),
            dnn_hidden_units=[5, 4],
            config=tf.estimator.RunConfig(tf_random_seed=3),
        )
        losses = train(model, inputs, STEPS + 1, monkeypatch, is_fast)
        said = capfd.readouterr().err
        if is_fast:
            # TensorFlow may warn too: a hook reads the global step while another thread adds to it.
            (line,) = (one for one in said.splitlines() if "--fast" in one)
            assert f"with {count} fused lookups; " in line
            assert line.endswith(f"As before: shared_indicator: {reason}.")
        with monkeypatch.context() as patch:
            if not is_fast:
                patch.setattr(training, "_find_obstacle", lambda estimator: "as before")
            found = model.evaluate(inputs, steps=2)
            rows = [row["logits"] for row, _ in zip(model.predict(inputs), range(ROWS))]
        results.append((losses, found, rows))
    (losses, found, rows), (other_losses, other_found, other_rows) = results
    # The first loss is that of the same variables.
    assert losses[0] == other_losses[0]
    np.testing.assert_allclose(losses, other_losses, rtol=2e-6)
    assert found == pytest.approx(other_found, rel=2e-6)
    np.testing.assert_allclose(rows, other_rows, rtol=1e-5, atol=1e-6)
    compare([tmp_path / "True", tmp_path / "False"])


def test_columns_beside_one_that_cannot_be_fused(tmp_path, monkeypatch, capfd):
    deep = [
        column.embedding_column(WORD, 2, max_norm=0.1),
        column.embedding_column(column.categorical_column_with_identity("number", 9), 2),
    ]
    folders = [tmp_path / "fast", tmp_path / "as before"]
    for folder in folders:
        config = tf.estimator.RunConfig(tf_random_seed=3)
        model = tf.estimator.DNNRegressor([3], deep, str(folder), config=config)
        train(model, batches(), 2, monkeypatch, folder.name == "fast")
        if folder.name == "fast":
            said = capfd.readouterr().err
            assert "DNNRegressor trains with 1 fused lookups;" in said
            assert "As before: word_embedding: max_norm." in said
    compare(folders)


def test_another_estimator_is_named(tmp_path, capfd):
    def model_fn(features, labels, mode):
        loss = tf.reduce_mean(features["age"]) * tf.get_variable("v", [])
        step = tf.train.get_global_step()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.assign_add(step, 1).op)

    training._said.clear()
    tf.estimator.Estimator(model_fn, str(tmp_path)).train(batches(), steps=1)
    assert "--fast: Estimator trains as before: only the canned Linear" in capfd.readouterr().err


def test_an_id_out_of_range_is_an_error(tmp_path):
    columns = [column.categorical_column_with_identity("wide", 4)]
    model = tf.estimator.LinearClassifier(columns, str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 4\)"):
        model.train(batches(), steps=STEPS)


def test_a_model_fn_that_calls_a_canned_one_has_its_line(tmp_path, capfd):
    training._said.clear()
    model = tf.estimator.LinearClassifier([WORD], str(tmp_path))
    model = tf.contrib.estimator.add_metrics(model, lambda predictions: {})
    model.train(batches(PAIRS), steps=1)
    said = [line for line in capfd.readouterr().err.splitlines() if "--fast" in line]
    (line,) = said
    assert "--fast: LinearClassifier trains with 1 fused lookups;" in line


def test_an_export_has_the_operations_of_tensorflow(tmp_path, monkeypatch):
    model = tf.estimator.LinearClassifier([WORD], str(tmp_path / "job"))
    train(model, batches(), 1, monkeypatch, True)

    def receive():
        word = tf.placeholder(tf.string, [None])
        return tf.estimator.export.ServingInputReceiver({"word": word}, {"word": word})

    export = model.export_saved_model(str(tmp_path / "export"), receive)
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], export)
        kinds = {one.type for one in session.graph.get_operations()}
        attributes = {name for one in session.graph.get_operations() for name in one.node_def.attr}
    assert "SparseFillEmptyRows" in kinds and "_gradient_op_type" not in attributes
