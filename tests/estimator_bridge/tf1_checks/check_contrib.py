"""The smaller packages of tf.contrib."""

import os
import time

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

contrib = tf.contrib


def test_hparams_keep_the_types_of_their_defaults():
    hparams = contrib.training.HParams(rate=0.1, layers=[64, 32], name="a", deep=True, steps=3)
    hparams.parse("rate=1,layers=[8,4,2],name=b c,deep=false")
    assert hparams.values() == {
        "rate": 1.0,
        "layers": [8, 4, 2],
        "name": "b c",
        "deep": False,
        "steps": 3,
    }
    assert isinstance(hparams.rate, float)
    hparams.parse("layers[1]=5")
    assert hparams.layers == [8, 5, 2]
    assert hparams.parse_json('{"steps": 7}').steps == 7
    assert "rate" in hparams and hparams.get("none", 4) == 4
    assert contrib.training.HParams(a=1, b="x").to_json(sort_keys=True) == '{"a": 1, "b": "x"}'
    hparams.del_hparam("rate")
    hparams.add_hparam("rate", "text")
    assert hparams.rate == "text"


@pytest.mark.parametrize(
    "text",
    ["rate=fast", "unknown=1", "steps=1.5", "steps=1,steps=2", "layers=3", "deep=maybe", "=1"],
)
def test_hparams_reject_invalid_values(text):
    hparams = contrib.training.HParams(rate=0.1, layers=[64, 32], deep=True, steps=3)
    with pytest.raises(ValueError):
        hparams.parse(text)


def test_lookup_tables_in_both_directions(run, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\n")
    words = tf.constant(["c", "zzz", "a"])
    by_tensor = contrib.lookup.index_table_from_tensor(tf.constant(["a", "b", "c"]))
    by_file = contrib.lookup.index_table_from_file(str(path), num_oov_buckets=1)
    back = contrib.lookup.index_to_string_table_from_file(str(path))
    back_tensor = contrib.lookup.index_to_string_table_from_tensor(["a", "b", "c"], "?")
    table = contrib.lookup.HashTable(
        contrib.lookup.KeyValueTensorInitializer(["x", "y"], [1.5, 2.5]), default_value=-1.0
    )
    ids = tf.constant([2, 9], tf.int64)
    results = run(
        [
            by_tensor.lookup(words),
            by_file.lookup(words),
            back.lookup(ids),
            back_tensor.lookup(ids),
            table.lookup(tf.constant(["y", "z"])),
        ]
    )
    assert [r.tolist() for r in results] == [
        [2, -1, 0],
        [2, 3, 0],
        [b"c", b"UNK"],
        [b"c", b"?"],
        [2.5, -1.0],
    ]


def test_metrics_with_predictions_first():
    labels, predictions = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 1, 0])
    metrics = contrib.metrics
    pairs = {
        "accuracy": metrics.streaming_accuracy(predictions, labels),
        "precision": metrics.streaming_precision(predictions, labels),
        "recall": metrics.streaming_recall(predictions, labels),
        "count": metrics.count(labels),
        "concat": metrics.streaming_concat(labels),
        "f1": metrics.f1_score(labels, tf.constant([0.9, 0.2, 0.8, 0.4])),
    }
    values, updates = metrics.aggregate_metric_map(pairs)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(updates)
        session.run(updates)
        got = session.run(values)
    assert got["accuracy"] == 0.5
    assert got["precision"] == got["recall"] == pytest.approx(2 / 3)
    assert got["count"] == 8
    assert got["concat"].tolist() == [1, 0, 1, 1] * 2
    assert got["f1"] == pytest.approx(1.0, abs=1e-4)


def test_losses_with_predictions_first(run):
    logits = tf.constant([[2.0, -1.0], [0.5, 0.5]])
    onehot = tf.constant([[1.0, 0.0], [0.0, 1.0]])
    losses = [
        contrib.losses.softmax_cross_entropy(logits, onehot),
        contrib.losses.sparse_softmax_cross_entropy(logits, tf.constant([[0], [1]])),
        tf.losses.softmax_cross_entropy(onehot, logits),
    ]
    values = run([*losses, contrib.losses.get_total_loss()])
    assert values[0] == pytest.approx(values[1]) == pytest.approx(values[2])
    assert values[3] == pytest.approx(3 * values[0], rel=1e-5)


def step(optimizer, gradient, variable):
    apply = optimizer.apply_gradients([(gradient, variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(apply)
        return session.run(variable)


def test_decoupled_weight_decay_reduces_selected_variables():
    values = np.array([1.0, -2.0], np.float32)
    gradient = tf.constant([0.5, 0.5])
    plain = step(tf.train.AdamOptimizer(0.1), gradient, tf.get_variable("a", initializer=values))
    for i, optimizer in enumerate(
        (
            contrib.opt.AdamWOptimizer(0.01, learning_rate=0.1),
            contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdamOptimizer)(0.01, 0.1),
        )
    ):
        got = step(optimizer, gradient, tf.get_variable(f"b{i}", initializer=values))
        np.testing.assert_allclose(got, plain - 0.01 * values, rtol=1e-5)


def test_lazy_adam_updates_only_the_rows_of_the_gradient():
    table = tf.get_variable("table", initializer=np.ones([4, 2], np.float32))
    rows = tf.gather(table, [1, 3])
    optimizer = contrib.opt.LazyAdamOptimizer(0.1)
    loss = tf.reduce_sum(rows**2)
    train = optimizer.minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        values, m = session.run([table, optimizer.get_slot(table, "m")])
    assert (values[[0, 2]] == 1.0).all() and (values[[1, 3]] < 0.9).all()
    assert (m[[0, 2]] == 0.0).all() and (m[[1, 3]] > 0.0).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: contrib.opt.NadamOptimizer(0.1),
        lambda: contrib.opt.AdaMaxOptimizer(0.1),
        lambda: contrib.opt.MomentumWOptimizer(1e-4, 0.1, 0.9),
        lambda: contrib.opt.MovingAverageOptimizer(tf.train.AdamOptimizer(0.1)),
        lambda: contrib.estimator.clip_gradients_by_norm(tf.train.AdagradOptimizer(0.5), 1.0),
        lambda: contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1)),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("resource", [False, True])
def test_optimizers_reduce_the_loss(make, sparse, resource):
    x = tf.get_variable("x", initializer=np.ones([3, 2], np.float32), use_resource=resource)
    loss = tf.reduce_sum((tf.gather(x, [0, 2]) if sparse else x) ** 2)
    train = make().minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(20):
            session.run(train)
        assert session.run(loss) < 0.6 * first
        assert session.run(tf.train.get_global_step()) == 20


def test_swapping_saver_saves_the_averages(tmp_path):
    x = tf.get_variable("x", initializer=1.0)
    optimizer = contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 0.5)
    train = optimizer.minimize(x * 1.0)
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        now = session.run(x)
        path = saver.save(session, str(tmp_path / "model"))
    assert now == pytest.approx(0.9)
    assert tf.train.load_variable(path, "x") == pytest.approx(0.95)


def linear_model_fn(features, labels, mode):
    prediction = tf.layers.dense(features["x"], 1, name="linear")
    predictions = {"y": prediction}
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"serving_default": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=outputs)
    loss = tf.losses.mean_squared_error(labels, prediction)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, predictions, loss, train)


def linear_input_fn():
    x = np.random.RandomState(0).normal(size=[64, 2]).astype(np.float32)
    features = {"x": x, "key": np.arange(64)}
    return tf.estimator.inputs.numpy_input_fn(features, x[:, :1], 16, shuffle=False)()


def test_forward_features_and_predictor(tmp_path):
    estimator = tf.estimator.Estimator(linear_model_fn, str(tmp_path / "model"))
    estimator.train(linear_input_fn, steps=4)
    estimator = contrib.estimator.forward_features(estimator, "key")
    first = next(estimator.predict(linear_input_fn))
    assert first["key"] == 0 and first["y"].shape == (1,)

    def receiver_fn():
        features = {
            "x": tf.placeholder(tf.float32, [None, 2]),
            "key": tf.placeholder(tf.int64, [None]),
        }
        return tf.estimator.export.ServingInputReceiver(features, features)

    question = {"x": [[1.0, 2.0]], "key": [7]}
    export = estimator.export_savedmodel(str(tmp_path / "export"), receiver_fn)
    predictors = (
        contrib.predictor.from_saved_model(export.decode()),
        contrib.predictor.from_estimator(estimator, receiver_fn),
    )
    served, direct = (predict(question) for predict in predictors)
    for predict in predictors:
        assert predict._fetch_tensors is predict.fetch_tensors and set(served) == {"key", "y"}
        assert predict._feed_tensors is predict.feed_tensors
        assert predict._graph is predict.graph and predict._session is predict.session
    assert served["key"].tolist() == direct["key"].tolist() == [7]
    np.testing.assert_allclose(served["y"], direct["y"], rtol=1e-6)
    with pytest.raises(ValueError, match="available signatures"):
        contrib.predictor.from_saved_model(export.decode(), signature_def_key="none")
    # As in 1.15.5: a signature is given once, and whole.
    ways = {
        "signature_def_key": "predict",
        "signature_def": tf.saved_model.signature_def_utils.build_signature_def(),
        "input_names": {"x": "Placeholder:0"},
        "output_names": {"y": "add:0"},
    }
    for names in (["input_names"], ["output_names", "signature_def"]):
        with pytest.raises(ValueError, match="give both, or none of them"):
            contrib.predictor.from_saved_model("none", **{name: ways[name] for name in names})
    for names in (["signature_def_key", "signature_def"], list(ways)):
        with pytest.raises(ValueError, match="give one of them"):
            contrib.predictor.from_saved_model("none", **{name: ways[name] for name in names})
    bad = contrib.estimator.forward_features(estimator, "nothing")
    with pytest.raises(ValueError, match="no feature 'nothing'"):
        next(bad.predict(linear_input_fn))


@pytest.mark.parametrize(
    ("head", "labels"),
    [
        (lambda: contrib.estimator.multi_class_head(3), [[0], [2]]),
        (lambda: contrib.estimator.binary_classification_head(), [[0], [1]]),
        (lambda: contrib.estimator.regression_head(), [[0.5], [1.5]]),
        (lambda: contrib.estimator.poisson_regression_head(), [[1.0], [2.0]]),
        (lambda: contrib.estimator.logistic_regression_head(), [[0.2], [0.9]]),
        (lambda: contrib.estimator.multi_label_head(2), [[0, 1], [1, 1]]),
        (
            lambda: contrib.estimator.multi_head(
                [
                    contrib.estimator.multi_label_head(2, name="a"),
                    tf.estimator.RegressionHead(name="b"),
                ]
            ),
            {"a": [[0, 1], [1, 1]], "b": [[0.5], [1.5]]},
        ),
    ],
)
def test_heads_train_a_dnn_estimator(tmp_path, head, labels):
    estimator = contrib.estimator.DNNEstimator(
        head(),
        hidden_units=[4],
        feature_columns=[tf.feature_column.numeric_column("x", shape=2)],
        optimizer=tf.train.AdagradOptimizer(0.1),
        model_dir=str(tmp_path),
    )

    def input_fn():
        features = {"x": tf.constant([[1.0, 2.0], [3.0, 4.0]])}
        return features, contrib.framework.nest.map_structure_up_to(
            dict.fromkeys(labels) if isinstance(labels, dict) else 0, tf.constant, labels
        )

    estimator.train(input_fn, steps=2)
    assert np.isfinite(estimator.evaluate(input_fn, steps=1)["loss"])


def test_kmeans_clustering(tmp_path):
    points = np.concatenate(
        [np.random.RandomState(i).normal(c, 0.1, [50, 2]) for i, c in enumerate((-2, 2))]
    ).astype(np.float32)

    def input_fn():
        return tf.train.limit_epochs(tf.convert_to_tensor(points), num_epochs=1)

    kmeans = contrib.factorization.KMeansClustering(
        num_clusters=2, use_mini_batch=False, random_seed=1, model_dir=str(tmp_path)
    )
    for _ in range(3):
        kmeans.train(input_fn)
    centers = sorted(kmeans.cluster_centers()[:, 0])
    np.testing.assert_allclose(centers, [-2, 2], atol=0.1)


def test_contrib_learn_estimator_with_arrays(tmp_path):
    def model_fn(features, labels, mode, params):
        prediction = tf.contrib.layers.linear(features, 1, scope="linear")
        loss = tf.losses.mean_squared_error(labels, prediction) if labels is not None else None
        train = None
        if mode == contrib.learn.ModeKeys.TRAIN:
            train = contrib.layers.optimize_loss(
                loss, contrib.framework.get_global_step(), params["rate"], "SGD"
            )
        return contrib.learn.ModelFnOps(mode, {"y": prediction}, loss, train)

    x = np.random.RandomState(0).normal(size=[64, 2]).astype(np.float32)
    y = x[:, :1] * 3.0
    estimator = contrib.learn.Estimator(model_fn, model_dir=str(tmp_path), params={"rate": 0.3})
    estimator.fit(x, y, steps=100)
    mean_error = contrib.learn.MetricSpec(contrib.metrics.streaming_mean_absolute_error, "y")
    result = estimator.evaluate(x, y, metrics={"error": mean_error})
    assert result["error"] < 0.05 and result["global_step"] == 100
    predicted = list(estimator.predict(x[:3]))
    np.testing.assert_allclose([p["y"] for p in predicted], y[:3], atol=0.1)
    compat = contrib.learn.SKCompat(estimator).fit(x, y, steps=1)
    assert compat.score(x, y, metrics={"error": mean_error})["error"] < 0.05
    assert compat.predict(x)["y"].shape == (64, 1)
    with pytest.raises(ValueError, match="output_dir"):
        contrib.learn.learn_runner.run(lambda: None)


def test_contrib_learn_model_fn_may_return_numbers(tmp_path):
    def model_fn(features, labels, mode):
        prediction = tf.contrib.layers.linear(features, 1)
        if mode == contrib.learn.ModeKeys.INFER:
            return prediction, 0.0, None
        loss = tf.reshape(tf.losses.mean_squared_error(labels, prediction), [1])
        step = contrib.layers.optimize_loss(loss[0], tf.train.get_global_step(), 0.1, "SGD")
        return prediction, loss, step

    x = np.ones([8, 2], np.float32)
    estimator = contrib.learn.Estimator(model_fn, model_dir=str(tmp_path))
    estimator.fit(x, x[:, :1], steps=2)
    assert np.shape(list(estimator.predict(x))) == (8, 1)


def test_a_contrib_learn_model_fn_without_a_mode_predicts(tmp_path):
    def model_fn(features, labels):
        prediction = tf.contrib.layers.linear(features, 1)
        loss = tf.losses.mean_squared_error(tf.reshape(labels, [-1, 1]), prediction)
        step = contrib.layers.optimize_loss(loss, tf.train.get_global_step(), 0.1, "SGD")
        return prediction, loss, step

    x = np.ones([8, 2], np.float32)
    estimator = contrib.learn.SKCompat(contrib.learn.Estimator(model_fn, model_dir=str(tmp_path)))
    estimator.fit(x, x[:, 0], steps=2)
    assert np.shape(estimator.predict(x)) == (8, 1)


def test_input_functions_of_contrib_learn_io():
    io = contrib.learn.io
    rows = {"x": np.arange(6.0)}

    def read(features):
        batches = []
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                batches.append(session.run(features))
        return batches

    with tf.Graph().as_default():
        features = io.numpy_input_fn(rows, np.arange(6), batch_size=4)()
        read_rows = np.concatenate([x["x"] for x, _ in read(features)])
    assert sorted(read_rows) == list(rows["x"])
    frame = pd.DataFrame({"x": [1.0, 2.0], "ok": [True, False]})
    with tf.Graph().as_default():
        features = io.pandas_input_fn(frame, shuffle=False)()
        assert read(features)[0]["x"].tolist() == [1.0, 2.0]
    assert io.extract_pandas_data(frame).tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert io.extract_pandas_labels(frame[["x"]]).tolist() == [[1.0], [2.0]]
    assert io.extract_pandas_data(3) == io.extract_pandas_labels(3) == 3
    with pytest.raises(ValueError, match="'t' type="):
        io.extract_pandas_data(pd.DataFrame({"t": ["a"]}))

    def samples():
        for number in range(5):
            yield {"y": np.int32(number), "x": np.full([number % 2 + 1], 1.0)}

    with tf.Graph().as_default():
        features = io.generator_input_fn(samples, "y", batch_size=3, shuffle=False, pad_value=0.0)()
        batches = read(features)
    # As in 1.x, the last batch of a generator is filled up from its beginning.
    assert [labels.tolist() for _, labels in batches] == [[0, 1, 2], [3, 4, 0]]
    assert batches[0][0]["x"].tolist() == [[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    with tf.Graph().as_default():
        x, labels = io.generator_input_fn(samples, ["y", "x"], shuffle=False, pad_value=0.0)()
        assert not x and sorted(labels) == ["x", "y"]
    with pytest.raises(TypeError, match="generator function"):
        io.generator_input_fn(lambda: [1])
    with pytest.raises(KeyError, match="'z' is not in a sample"):
        io.generator_input_fn(samples, "z")


def test_dnn_classifier_of_contrib_learn(tmp_path):
    x = np.random.RandomState(0).normal(size=[100, 2]).astype(np.float32)
    y = (x.sum(axis=1) > 0).astype(np.int64)
    columns = contrib.learn.infer_real_valued_columns_from_input_fn(
        lambda: ({"x": tf.constant(x)}, tf.constant(y))
    )
    classifier = contrib.learn.DNNClassifier(
        feature_columns=columns, hidden_units=[8], n_classes=2, model_dir=str(tmp_path)
    )
    classifier.fit(input_fn=lambda: ({"x": tf.constant(x)}, tf.constant(y)), steps=200)
    result = classifier.evaluate(input_fn=lambda: ({"x": tf.constant(x)}, tf.constant(y)), steps=1)
    assert result["accuracy"] > 0.9


def test_vocabulary_processor(tmp_path):
    processor = contrib.learn.preprocessing.VocabularyProcessor(4, min_frequency=0)
    ids = np.array(list(processor.fit_transform(["the red fox", "the fox's den is dark now"])))
    assert ids.tolist() == [[1, 2, 3, 0], [1, 4, 5, 6]]
    processor.save(str(tmp_path / "vocab"))
    again = contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert next(again.transform(["fox unknown the"])).tolist() == [3, 0, 1, 0]
    assert len(again.vocabulary_) == 9


def test_data_transformations(run, tmp_path):
    data = contrib.data
    dataset = tf.data.Dataset.range(5).apply(data.batch_and_drop_remainder(2))
    assert run(dataset.make_one_shot_iterator().get_next()).tolist() == [0, 1]
    assert dataset.output_shapes.as_list() == [2]
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    batch = data.make_csv_dataset(str(path), 2, num_epochs=1, shuffle=False)
    got = run(batch.make_one_shot_iterator().get_next())
    assert {k: v.tolist() for k, v in got.items()} == {"x": [1, 3], "y": [2, 4]}
    dataset = tf.data.Dataset.range(4).apply(
        data.parallel_interleave(lambda x: tf.data.Dataset.from_tensors(x), cycle_length=2)
    )
    dataset = dataset.apply(data.unbatch()) if dataset.output_shapes.ndims else dataset
    assert run(dataset.make_one_shot_iterator().get_next()) == 0


def test_slim_trains_contrib_layers(tmp_path, caplog):
    caplog.set_level("INFO", "tensorflow")
    slim = contrib.slim
    with slim.arg_scope([slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-4)):
        x = tf.constant(np.random.RandomState(0).normal(size=[32, 4]).astype(np.float32))
        net = slim.stack(x, slim.fully_connected, [8, 8], scope="fc")
        logits = slim.fully_connected(net, 1, activation_fn=None, scope="logits")
    assert {v.op.name for v in slim.get_model_variables()} >= {"fc/fc_1/weights", "fc/fc_2/biases"}
    tf.losses.mean_squared_error(x[:, :1], logits)
    train_op = slim.learning.create_train_op(
        tf.losses.get_total_loss(), tf.train.AdamOptimizer(0.01), clip_gradient_norm=4
    )
    loss = slim.learning.train(train_op, str(tmp_path), number_of_steps=150, log_every_n_steps=50)
    assert loss < 0.2
    assert os.path.isfile(tmp_path / "model.ckpt-150.index")
    # Scripts look for these lines.
    logged = [
        line for line in caplog.messages if line.split()[0] in ("Starting", "Stopping", "Finished")
    ]
    assert logged == [
        *("Starting Session.", "Starting Queues.", "Stopping Training."),
        "Finished training! Saving model to disk.",
    ]


def test_slim_traces_steps_and_checks_arguments(tmp_path):
    class Slow(tf.train.Saver):
        """Its first save, which a thread begins during training, ends late."""

        saves = 0

        def save(self, session, path, global_step):
            step, self.saves = tf.train.global_step(session, global_step), self.saves + 1
            if self.saves == 1:
                time.sleep(1)
            return super().save(session, path, step)

    slim = contrib.slim
    weight = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    train_op = slim.learning.create_train_op(
        tf.reduce_sum(weight * weight), tf.train.GradientDescentOptimizer(0.1)
    )
    slim.learning.train(
        train_op,
        str(tmp_path),
        number_of_steps=4,
        init_fn=lambda session: weight.load([2.0, 0.0], session),
        trace_every_n_steps=2,
        log_every_n_steps=None,
        saver=Slow(),
    )
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-4")
    trained = tf.train.load_variable(str(tmp_path), "w")
    np.testing.assert_allclose(trained, [2 * 0.8**4, 0.0], rtol=1e-6)
    assert {one.name for one in tmp_path.glob("tf_trace-*.json")} == {
        "tf_trace-1.json",
        "tf_trace-3.json",
    }


@pytest.mark.parametrize(
    ("logdir", "arguments", "message"),
    [
        ("x", {"number_of_steps": 0}, "number_of_steps"),
        (None, {"trace_every_n_steps": 1}, "trace_every_n_steps: needs a logdir"),
        (None, {"summary_op": "x"}, "summary_op: needs a logdir"),
    ],
)
def test_slim_refuses_arguments_that_do_not_fit(logdir, arguments, message):
    with pytest.raises(ValueError, match=message):
        contrib.slim.learning.train(tf.constant(0.0), logdir, **arguments)


def test_placement_balances_the_load():
    strategy = contrib.training.GreedyLoadBalancingStrategy(2, contrib.training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        sizes = [100, 10, 20, 60]
        devices = [tf.get_variable(f"v{size}", [size]).device for size in sizes]
    assert [d[-1] for d in devices] == ["0", "1", "1", "1"]


def test_images_are_rotated_and_translated(run):
    image = np.arange(9, dtype=np.float32).reshape([1, 3, 3, 1])
    rotated, moved = run(
        [
            contrib.image.rotate(tf.constant(image), np.pi / 2),
            contrib.image.translate(tf.constant(image), [1, 0]),
        ]
    )
    np.testing.assert_array_equal(rotated[0, :, :, 0], np.rot90(image[0, :, :, 0]))
    assert moved[0, :, :, 0].tolist() == [[0, 0, 1], [0, 3, 4], [0, 6, 7]]


def test_support_vector_machine_of_contrib_learn(tmp_path):
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, size=[200, 2]).astype(np.float32)
    x = x[np.abs(x[:, 0] - x[:, 1]) > 0.3]
    y = (x[:, 0] > x[:, 1]).astype(np.int64)

    def input_fn():
        return {
            "id": tf.constant([str(i) for i in range(len(x))]),
            "first": tf.constant(x[:, :1]),
            "second": tf.constant(x[:, 1:]),
        }, tf.constant(y[:, None])

    columns = [contrib.layers.real_valued_column(name) for name in ("first", "second")]
    machine = contrib.learn.SVM("id", columns, model_dir=str(tmp_path), l2_regularization=0.1)
    machine.fit(input_fn=input_fn, steps=30)
    assert machine.evaluate(input_fn=input_fn, steps=1)["accuracy"] > 0.97
    rows = list(machine.predict(input_fn=lambda: tf.data.Dataset.from_tensors(input_fn()[0])))
    classes = np.array([row["classes"] for row in rows])
    assert classes.dtype.kind == "i" and (classes == y).mean() > 0.97
    # The margin is wide, because the hinge loss ignores examples far from the boundary.
    (name,) = [n for n in machine.get_variable_names() if n == "linear/first/weight"]
    assert machine.get_variable_value(name)[0, 0] > 0.5
    logits = np.array([row["logits"][0] for row in rows])
    loss = np.maximum(1 - (2 * y - 1) * logits, 0).mean()
    assert machine.evaluate(input_fn=input_fn, steps=1)["loss"] == pytest.approx(loss, rel=1e-4)
    with pytest.raises(ValueError, match="kernels"):
        contrib.learn.SVM("id", columns, kernels=[1])


def test_an_export_without_a_default_signature_lists_its_signatures(tmp_path):
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], "x")
        sign = tf.saved_model.signature_def_utils.predict_signature_def
        signatures = {name: sign({"x": x}, {"y": x * 2.0}) for name in ("double", "again")}
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "export"))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    # 1.15.5 returned a function without inputs and outputs.
    with pytest.raises(ValueError) as caught:
        contrib.predictor.from_saved_model(str(tmp_path / "export"))
    assert str(caught.value) == (
        "signature_def_key: not given, and there is no 'serving_default'; the available signatures "
        "are ['again', 'double']"
    )
    asked = contrib.predictor.from_saved_model(str(tmp_path / "export"), "double")
    assert asked({"x": [3.0]})["y"].tolist() == [6.0]
