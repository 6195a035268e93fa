"""Models of tf.contrib compared with TensorFlow 1.15.5: names, shapes and outputs."""

import json
import logging
from pathlib import Path

import models_1x
import numpy as np
import pytest
import tensorflow as tf

# Written on TensorFlow 1.15.5 by `python models_1x.py FILE`.
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "1.15.5" / "models.json").read_text(encoding="utf-8")
)


def test_all_models_have_an_answer():
    assert set(GOLDEN) == set(models_1x.MODELS)
    assert not [name for name, answer in GOLDEN.items() if "error" in answer]


@pytest.mark.parametrize("name", sorted(models_1x.MODELS))
def test_model_has_the_variables_and_outputs_of_tensorflow_1(name):
    got, want = models_1x.run(models_1x.MODELS[name]), GOLDEN[name]
    assert got["variables"] == want["variables"]
    assert got["collections"] == want["collections"]
    assert len(got["outputs"]) == len(want["outputs"])
    for one, other in zip(got["outputs"], want["outputs"]):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6)


# Model → names of the version before: present name → old name.
OLD = {
    "bahdanau_named_normalized": lambda name: name.replace("bahdanau_attention", "MyAttention"),
    "two_mechanisms": lambda name: name.replace("bahdanau_attention", "BahdanauAttention"),
    "highway_in_stack": lambda name: name.replace("/gru_cell", "/highway_wrapper/gru_cell").replace(
        "/carry", "/highway_wrapper/carry"
    ),
    "stack_bidirectional": lambda name: name.replace("/fw/", "/bidirectional_rnn/fw/").replace(
        "/bw/", "/bidirectional_rnn/bw/"
    ),
    "gru_block_cell": lambda name: (
        name.replace("w_ru", "gates/kernel")
        .replace("b_ru", "gates/bias")
        .replace("w_c", "candidate/kernel")
        .replace("b_c", "candidate/bias")
    ),
    "coupled_peepholes": lambda name: (
        name.replace("W_0", "kernel")
        .replace("/B", "/bias")
        .replace("W_F", "w_f")
        .replace("W_O", "w_o")
    ),
    "sequence_layer_twice": lambda name: name.replace("/ids", "/columns/ids"),
    "legacy_linear_and_relu": lambda name: name.replace("/bias", "/biases"),
    "input_of_columns": lambda name: name.replace("inputs/", "inputs/input_layer/").replace(
        "/weights", "/embedding_weights"
    ),
    "weighted_sum": lambda name: (
        name.replace("lin/", "lin/linear_model/")
        .replace("bias_weight", "bias_weights")
        .replace("x/weight", "x/weights")
        .replace("z/weight", "z/weights")
    ),
}


@pytest.mark.parametrize("name", sorted(OLD))
def test_a_checkpoint_with_the_names_of_an_earlier_version_is_read(name, tmp_path, caplog):
    models_1x.MODELS[name]()
    loss = tf.add_n([tf.reduce_sum(v) for v in tf.trainable_variables()])
    tf.train.AdamOptimizer().minimize(loss)
    known = tf.global_variables()
    old = {OLD[name](v.op.name): v for v in known}
    assert set(old) != {v.op.name for v in known}
    saver, writer = tf.train.Saver(), tf.train.Saver(old)
    zeros = tf.group(*[v.assign(tf.zeros_like(v)) for v in known])
    tf.get_default_graph().finalize()
    with tf.Session() as session:
        for number, variable in enumerate(known):
            variable.load(np.full(variable.shape.as_list(), number + 0.5), session)
        prefix = writer.save(session, str(tmp_path / "model.ckpt"))
        session.run(zeros)
        with caplog.at_level(logging.WARNING):
            saver.restore(session, prefix)
        for number, value in enumerate(session.run(known)):
            np.testing.assert_array_equal(value, np.full(value.shape, number + 0.5))
    lines = [r for r in caplog.records if "earlier version" in r.getMessage()]
    assert len(lines) == 1


def _earlier_name(name):
    """Returns the name that an earlier version gave a variable of DNNLinearCombinedClassifier."""
    primary, slash, slot = name.partition("/part_0/")
    for new, old in (
        ("linear/", "linear/linear_model/"),
        ("bias_weight", "bias_weights"),
        ("x/weight", "x/weights"),
        ("columns/s_embedding/weights", "columns/input_layer/s_embedding/embedding_weights"),
    ):
        primary = primary.replace(new, old, 1)
    if primary.startswith("dnn/") and "columns" not in primary:
        primary = primary.replace("weights", "kernel", 1).replace("biases", "bias", 1)
    ends = [primary.find(end) + len(end) for end in ("weights", "kernel", "bias") if end in primary]
    return f"{primary[: min(ends)]}/{slot}" if slash else primary


def test_a_checkpoint_of_contrib_learn_of_an_earlier_version_is_read(tmp_path, caplog):
    layers, learn = tf.contrib.layers, tf.contrib.learn
    column = layers.sparse_column_with_hash_bucket("s", 5)

    def input_fn():
        features = {"x": tf.constant([[1.0], [2.0]]), "s": tf.constant([["a"], ["b"]])}
        return features, tf.constant([[0], [1]])

    def model(folder):
        return learn.DNNLinearCombinedClassifier(
            str(folder),
            linear_feature_columns=[layers.real_valued_column("x"), column],
            dnn_feature_columns=[layers.embedding_column(column, 2)],
            dnn_hidden_units=[3],
        )

    estimator = model(tmp_path / "new").fit(input_fn=input_fn, steps=3)
    want = estimator.evaluate(input_fn=input_fn, steps=1)
    names = [n for n in estimator.get_variable_names() if not n.endswith("learning_rate")]
    old = {_earlier_name(name): estimator.get_variable_value(name) for name in names}
    assert len(old) == len(names) and not [n for n in old if "part_0" in n]
    (tmp_path / "old").mkdir()
    prefix = str(tmp_path / "old" / "model.ckpt-3")
    with tf.Graph().as_default(), tf.Session() as session:
        known = {n: tf.Variable(value) for n, value in old.items()}
        session.run(tf.global_variables_initializer())
        tf.train.Saver(known).save(session, prefix)
    with caplog.at_level(logging.WARNING):
        assert model(tmp_path / "old").evaluate(input_fn=input_fn, steps=1) == want
        resumed = model(tmp_path / "old").fit(input_fn=input_fn, steps=1)
    assert set(resumed.get_variable_names()) == set(estimator.get_variable_names())
    assert [r for r in caplog.records if "earlier version" in r.getMessage()]


def test_a_checkpoint_with_the_scopes_of_cells_of_keras_is_read(tmp_path, caplog):
    keras = tf.keras.layers
    net = keras.LSTM(2, return_sequences=True)(models_1x.numbers(2, 3, 4))
    net = keras.Bidirectional(keras.GRU(3), name="both")(keras.LSTM(2, return_sequences=True)(net))
    loss = tf.reduce_sum(net) + tf.reduce_sum(
        keras.ConvLSTM2D(2, 1)(models_1x.numbers(1, 2, 3, 3, 1))
    )
    tf.train.AdamOptimizer().minimize(loss)
    known = tf.global_variables()
    old = {}
    for variable in known:
        name = variable.op.name.replace("conv_lst_m2d", "conv_lstm2d")
        for layer, cell in [
            *(("lstm_1/", "lstm_cell_1/"), ("lstm/", "lstm_cell/")),
            *(("forward_gru/", "gru_cell_2/"), ("backward_gru/", "gru_cell_3/")),
        ]:
            name = name.replace(layer, layer + cell)
        old[name] = variable
    saver, writer = tf.train.Saver(), tf.train.Saver(old)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        want = session.run(known)
        prefix = writer.save(session, str(tmp_path / "model.ckpt"))
        session.run(tf.global_variables_initializer())
        with caplog.at_level(logging.WARNING):
            saver.restore(session, prefix)
        for one, other in zip(session.run(known), want):
            np.testing.assert_array_equal(one, other)
    assert [one for one in caplog.records if "earlier version" in one.getMessage()]


def test_a_checkpoint_of_another_model_is_refused_as_before(tmp_path):
    tf.get_variable("rnn/gru_cell/w_ru", [3])
    other = tf.get_variable("other", [3])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver([other]).save(session, str(tmp_path / "model.ckpt"))
        with pytest.raises(tf.errors.NotFoundError, match="w_ru"):
            tf.train.Saver().restore(session, prefix)
