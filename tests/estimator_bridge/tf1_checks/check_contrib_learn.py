"""Estimators, runners and readers of tf.contrib.learn, as programs use them."""

import logging

import numpy as np
import pytest
import tensorflow as tf

learn = tf.contrib.learn


@pytest.fixture
def regressor(tmp_path):
    return learn.LinearRegressor(
        [tf.contrib.layers.real_valued_column("x")], model_dir=str(tmp_path / "model")
    )


@pytest.fixture
def warnings():
    found = []

    class Collecting(logging.Handler):
        def emit(self, record):
            found.append(record.getMessage())

    handler = Collecting(logging.WARNING)
    logging.getLogger("tensorflow").addHandler(handler)
    yield found
    logging.getLogger("tensorflow").removeHandler(handler)


def rows():
    return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[2.0], [4.0]])


def test_an_experiment_fn_names_its_second_argument_as_it_likes(regressor):
    def make(run_config, params):
        assert params.rate == 3
        return learn.Experiment(regressor, rows, rows, train_steps=2, eval_steps=1)

    config = learn.RunConfig(model_dir=regressor.model_dir)
    hparams = tf.contrib.training.HParams(rate=3)
    learn.learn_runner.run(make, run_config=config, schedule="train", hparams=hparams)
    assert regressor.get_variable_value("global_step") == 2


def test_training_and_predicting_constants_give_no_warning(regressor, warnings):
    # With a second step, TensorFlow may read the global step before it is incremented, and warns.
    regressor.fit(input_fn=rows, steps=1)
    assert len(list(regressor.predict(input_fn=lambda: rows()[0]))) == 2
    assert warnings == []
    with tf.Graph().as_default():
        tf.train.import_meta_graph(f"{regressor.model_dir}/model.ckpt-1.meta")
        assert [one.op.name for one in tf.get_collection("summaries")].count("loss") == 1


@pytest.mark.parametrize("steps", [1, None])
def test_the_loss_is_logged_every_100_steps(caplog, steps):
    # As on 1.15, whatever the RunConfig says.
    caplog.set_level("INFO", "tensorflow")
    columns = [tf.contrib.layers.real_valued_column("x")]
    config = learn.RunConfig(log_step_count_steps=steps)
    learn.LinearRegressor(columns, config=config).fit(input_fn=rows, steps=102)
    lines = [line for line in caplog.messages if line.startswith(("loss = ", "global_step/sec"))]
    assert [line.split(", ")[1].split(" (")[0] for line in lines if "loss" in line] == [
        *("step = 1", "step = 101"),
    ]
    assert len(lines) == 3


def test_parameters_are_read_and_set_as_in_scikit_learn():
    class Own(learn.Estimator):
        def __init__(self, number, inner=None):
            self.number, self.inner = number, inner
            super().__init__(lambda features, labels, mode, params: None, params={"rate": 1})

    estimator = Own(5, inner=Own(6))
    assert estimator.get_params(deep=False) == {
        "number": 5,
        "inner": estimator.inner,
        "params": {"rate": 1},
    }
    assert estimator.get_params()["inner__number"] == 6
    assert estimator.set_params(number=7, params={"rate": 2}, inner__number=8) is estimator
    assert (estimator.number, estimator.params, estimator.inner.number) == (7, {"rate": 2}, 8)
    assert estimator.set_params(**estimator.get_params()) is estimator
    assert learn.SKCompat(estimator).get_params() == {}
    with pytest.raises(ValueError, match="no parameter 'other'"):
        estimator.set_params(other__rate=1)


@pytest.mark.parametrize(("kind", "batch"), [(list, 1), (dict, 1), (dict, 2)])
def test_batches_of_examples_are_parsed_one_by_one(tmp_path, kind, batch):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{number},{2 * number}\n" for number in range(7)))

    def parse(line):
        assert line.shape.as_list() == ([] if batch == 1 else [None])
        columns = tf.decode_csv(line, [[0], [0]])
        return columns if kind is list else dict(zip("ab", columns))

    examples = learn.read_batch_examples(
        str(path), 3, tf.TextLineReader, False, 1, read_batch_size=batch, parse_fn=parse
    )
    found = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            values = session.run(examples)
            found.append(values if kind is list else np.stack([values["a"], values["b"]], 1))
    expected = np.stack([np.arange(7), 2 * np.arange(7)], 1)
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert [len(one) for one in found] == [3, 3, 1]


def test_fit_trains_on_the_batches_of_1_15():
    # The values are those of 1.15.5, which draws the same orders in each call. Each pass ends with
    # a batch of the rows that are left.
    x = np.linspace(-1, 1, 10).astype(np.float32)

    def model_fn(features, labels, mode):
        assert features.shape.as_list() == [None, 1]
        weight = tf.get_variable("weight", [1], initializer=tf.zeros_initializer())
        predictions = features * weight
        if labels is None:
            return {"p": predictions}, None, None
        loss = tf.reduce_mean((tf.squeeze(predictions, 1) - labels) ** 2)
        train_op = tf.contrib.layers.optimize_loss(loss, None, 0.1, "SGD")
        return {"p": predictions}, loss, train_op

    for _ in range(2):
        trained = learn.Estimator(model_fn).fit(x, 2 * x, steps=5, batch_size=4)
        last = list(trained.predict(x))[0]["p"]
        np.testing.assert_allclose(last, [-0.6823932], rtol=1e-6)
    compat = learn.SKCompat(learn.Estimator(model_fn)).fit(x, 2 * x, batch_size=3, steps=5)
    np.testing.assert_allclose(compat.score(x, 2 * x)["loss"], 0.6510256, rtol=1e-6)


def test_fit_takes_a_dictionary_of_labels():
    def model_fn(features, labels, mode):
        loss = tf.reduce_sum(labels["sum"] - features["x"] * tf.get_variable("weight", [2]))
        return {"p": features["x"]}, loss, tf.assign_add(tf.train.get_global_step(), 1)

    trained = learn.Estimator(model_fn)
    ones = np.ones([3, 2], np.float32)
    trained.fit({"x": ones}, {"sum": ones}, steps=2)
    assert trained.get_variable_value("global_step") == 2
