"""Less used parts of tf.contrib."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
import tensorflow as tf

from estimator_bridge.boosted_trees import ensemble

contrib = tf.contrib


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("kind", ["CudnnLSTM", "CudnnGRU"])
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_cudnn_layers_shapes_and_variables(kind, direction):
    layer = getattr(contrib.cudnn_rnn, kind)(2, 4, direction=direction, dropout=0.3)
    inputs = tf.constant(numbers(5, 3, 6))
    outputs, state = layer(inputs, training=False)
    again, _ = layer(tf.transpose(inputs, [1, 0, 2]), state, time_major=False, training=True)
    ways = layer.num_dirs
    assert outputs.shape.as_list() == [5, 3, 4 * ways]
    assert [part.shape.as_list() for part in state] == [[2 * ways, 3, 4]] * len(state)
    names = [variable.name for variable in layer.trainable_variables]
    assert len(names) == len(tf.trainable_variables()) == 2 * ways * (2 if "LSTM" in kind else 6)
    part = "multi_rnn_cell/cell_0" if ways == 1 else "bidirectional_rnn/fw"
    cell = f"cudnn_compatible_{kind[5:].lower()}_cell"
    assert any(part in name and cell in name for name in names), names
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        outputs, state, again = session.run([outputs, state, again])
    assert again.shape == (3, 5, 4 * ways)
    # The final forward h of the last layer is its last output.
    np.testing.assert_allclose(outputs[-1, :, :4], state[0][-ways], atol=1e-6)


def test_cudnn_lstm_is_an_lstm_without_the_forget_bias(run):
    inputs = tf.constant(numbers(4, 2, 3))
    start = tf.constant_initializer(0.1)
    with tf.variable_scope("a", initializer=start):
        layer = contrib.cudnn_rnn.CudnnLSTM(1, 5, kernel_initializer=start)
        got, (h, c) = layer(inputs)
    with tf.variable_scope("b", initializer=start):
        cell = tf.nn.rnn_cell.LSTMCell(5, forget_bias=0.0)
        want, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32, time_major=True)
    got, want, h, c, state = run([got, want, h, c, state])
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_allclose([c[0], h[0]], [state.c, state.h], atol=1e-6)


def test_linear_of_custom_cells(run):
    from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear
    from tensorflow.python.ops.rnn_cell_impl import _Linear

    one, two = tf.constant(numbers(2, 3)), tf.constant(numbers(2, 4, seed=1))
    with tf.variable_scope("cell"):
        out = _linear([one, two], 5, True)
    with tf.variable_scope("cell", reuse=True):
        again = _Linear([one, two], 5, True)([one, two])
    assert [v.name for v in tf.trainable_variables()] == ["cell/kernel:0", "cell/bias:0"]
    out, again = run([out, again])
    assert out.shape == (2, 5)
    np.testing.assert_array_equal(out, again)
    with pytest.raises(ValueError, match="2D"):
        _linear(tf.zeros([2, 3, 4]), 5, False)


def test_pearson_correlation_and_covariance():
    a, b = numbers(30), numbers(30, seed=1) + 0.5 * numbers(30)
    p, label = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    pearson = contrib.metrics.streaming_pearson_correlation(p, label)
    covariance = contrib.metrics.streaming_covariance(p, label)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert np.isnan(session.run(covariance[0]))
        for i in range(0, 30, 10):
            feed = {p: a[i : i + 10], label: b[i : i + 10]}
            updated = session.run([pearson[1], covariance[1]], feed)
        values = session.run([pearson[0], covariance[0]])
    np.testing.assert_allclose(values, [np.corrcoef(a, b)[0, 1], np.cov(a, b)[0, 1]], rtol=1e-4)
    np.testing.assert_allclose(updated, values, rtol=1e-6)


def test_cohen_kappa():
    random = np.random.RandomState(0)
    labels, found = random.randint(3, size=40), random.randint(3, size=40)
    found[:20] = labels[:20]
    a, b = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    value, update = contrib.metrics.cohen_kappa(a, b, 3)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for i in (0, 20):
            session.run(update, {a: labels[i : i + 20], b: found[i : i + 20]})
        got = session.run(value)
    assert got == pytest.approx(sklearn.metrics.cohen_kappa_score(labels, found), abs=1e-6)


def test_triplet_semihard_loss(run):
    labels = np.array([0, 0, 1, 1, 2, 0])
    points = numbers(6, 3)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    square = ((points[:, None] - points[None]) ** 2).sum(-1)
    losses = []
    for a in range(6):
        negatives = square[a][labels != labels[a]]
        for b in np.flatnonzero(labels == labels[a]):
            if a != b:
                farther = negatives[negatives > square[a, b]]
                negative = farther.min() if len(farther) else negatives.max()
                losses.append(max(0, 0.4 + square[a, b] - negative))
    got = contrib.losses.metric_learning.triplet_semihard_loss(
        tf.constant(labels), tf.constant(points), margin=0.4
    )
    assert run(got) == pytest.approx(np.mean(losses), rel=1e-4)


def test_contrastive_and_npairs_loss(run):
    learning = contrib.losses.metric_learning
    a, b = numbers(4, 3), numbers(4, 3, seed=1)
    labels = np.array([1, 0, 1, 0])
    d = np.linalg.norm(a - b, axis=1)
    want = np.where(labels == 1, d**2, np.maximum(1.5 - d, 0) ** 2).mean()
    assert run(learning.contrastive_loss(labels, a, b, 1.5)) == pytest.approx(want, rel=1e-4)
    log = a @ b.T - np.log(np.exp(a @ b.T).sum(1, keepdims=True))
    same = (labels[:, None] == labels[None]) / 2
    want = -(same * log).sum(1).mean() + 0.25 * 0.1 * ((a**2).sum(1).mean() + (b**2).sum(1).mean())
    got = learning.npairs_loss(tf.constant(labels), tf.constant(a), tf.constant(b), 0.1)
    assert run(got) == pytest.approx(want, rel=1e-4)


def test_alpha_dropout_keeps_mean_and_variance(run):
    x = tf.constant(numbers(20000))
    got = run(contrib.nn.alpha_dropout(x, 0.8))
    assert abs(got.mean()) < 0.05 and abs(got.std() - 1) < 0.05


def test_recurrent_classifier(tmp_path):
    columns = contrib.feature_column
    words = columns.sequence_categorical_column_with_identity("words", 6)

    def read():
        rows = [[1, 2, 0], [3, -1, -1], [4, 5, -1], [1, 1, 1]]
        ids = tf.contrib.layers.dense_to_sparse(tf.constant(rows, tf.int64), eos_token=-1)
        return {"words": ids, "x": tf.constant([[1.0], [2], [3], [4]])}, tf.constant([0, 1, 1, 0])

    model = contrib.estimator.RNNClassifier(
        [tf.feature_column.embedding_column(words, 4)],
        [tf.feature_column.numeric_column("x")],
        num_units=[8, 4],
        cell_type="lstm",
        optimizer=tf.train.AdamOptimizer(0.1),
        model_dir=str(tmp_path),
    )
    model.train(read, steps=40)
    assert model.evaluate(read, steps=1)["accuracy"] == 1.0
    slots = {name for name in model.get_variable_names() if "Adam" in name}
    # Those of 1.15.5, which names slots of partitioned variables so.
    inputs = "rnn/sequence_input_layer/sequence_input_layer/words_embedding/embedding_weights"
    cells = [f"rnn/rnn/multi_rnn_cell/cell_{i}/basic_lstm_cell" for i in range(2)]
    parts = [
        f"{scope}/{name}" for scope in (*cells, "rnn/logits/dense") for name in ("kernel", "bias")
    ]
    named = {*parts, inputs}
    assert slots == {f"{name}/t_0/{slot}" for name in named for slot in ("Adam", "Adam_1")}
    assert set(model.get_variable_names()) - slots - named == {
        *("global_step", "rnn/head/beta1_power", "rnn/head/beta2_power")
    }
    with pytest.raises(ValueError, match="either num_units or rnn_cell_fn"):
        contrib.estimator.RNNClassifier([tf.feature_column.embedding_column(words, 4)])


def test_replicate_model_fn_on_one_device(tmp_path):
    def model_fn(features, labels, mode):
        loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
        optimizer = contrib.estimator.TowerOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    replicated = contrib.estimator.replicate_model_fn(model_fn)
    model = tf.estimator.Estimator(replicated, str(tmp_path))
    read = lambda: (tf.ones([4, 2]), tf.ones([4, 1]))  # noqa: E731
    model.train(read, steps=40)
    assert model.evaluate(read, steps=1)["loss"] < 0.1
    with pytest.raises(AttributeError, match="MirroredStrategy"):
        contrib.estimator.replicate_model_fn(model_fn, devices=["/gpu:0", "/gpu:1"])


def test_csv_files_load_with_and_without_header(tmp_path):
    from tensorflow.contrib.learn.python.learn.datasets import base

    path = tmp_path / "iris.csv"
    path.write_text("2,3,a,b\n1.5,2,3,0\n4,5,6,1\n", encoding="utf-8")
    found = base.load_csv_with_header(str(path), np.int32, np.float32)
    assert found.data.tolist() == [[1.5, 2, 3], [4, 5, 6]] and found.target.tolist() == [0, 1]
    same = contrib.learn.datasets.base.load_csv_with_header(
        filename=str(path), target_dtype=np.int32, features_dtype=np.float32
    )
    assert same.target.dtype == np.int32
    path.write_text("3,3\n1,2,3,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="3 rows"):
        base.load_csv_with_header(str(path), np.int32, np.float32)


def test_validation_monitor_stops_training(tmp_path):
    x, y = numbers(40, 2), np.zeros(40, np.int32)
    columns = contrib.learn.infer_real_valued_columns_from_input(x)
    config = contrib.learn.RunConfig(save_checkpoints_steps=5, save_checkpoints_secs=None)
    model = contrib.learn.LinearClassifier(columns, model_dir=str(tmp_path), config=config)
    monitor = contrib.learn.monitors.ValidationMonitor(
        x,
        y,
        every_n_steps=5,
        early_stopping_rounds=5,
        early_stopping_metric="accuracy",
        early_stopping_metric_minimize=False,
        # These steps take less than the default, five seconds.
        check_interval_secs=0,
    )
    model.fit(x, y, steps=200, monitors=[monitor])
    assert monitor.early_stopped and monitor.best_value == 1.0
    assert model.get_variable_value("global_step") < 60


def test_projector_configuration_is_written(tmp_path):
    from estimator_bridge.tf1.contrib.tensorboard import projector

    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words:0"
    embedding.metadata_path = "a\\b.tsv"
    embedding.sprite.image_path = "s.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")
    assert text.splitlines() == [
        "embeddings {",
        '  tensor_name: "words:0"',
        '  metadata_path: "a\\\\b.tsv"',
        "  sprite {",
        '    image_path: "s.png"',
        "    single_image_dim: 28",
        "    single_image_dim: 28",
        "  }",
        "}",
    ]
    assert hasattr(contrib.tensorboard.plugins.projector, "visualize_embeddings")


class EagerNames(tf.test.TestCase):
    @contrib.eager.run_test_in_graph_and_eager_modes()
    def test_in_both_modes(self):
        assert contrib.eager.in_eager_mode() != contrib.eager.in_graph_mode()
        self.assertEqual(self.evaluate(tf.constant(2) + 1), 3)
        assert contrib.eager.num_gpus() >= 0


def test_moved_private_paths_import(run):
    from tensorflow.contrib.keras.api.keras.layers import Dense
    from tensorflow.python.feature_column import feature_column_lib
    from tensorflow.python.keras._impl.keras.layers import Embedding
    from tensorflow.python.keras.engine.topology import Layer
    from tensorflow.python.keras.layers.normalization import BatchNormalization
    from tensorflow.python.ops import array_ops
    from tensorflow.python.training.gen_training_ops import resource_apply_adam
    from tensorflow.python.training.tracking import base, graph_view, util
    from tensorflow.python.training.tracking.tracking import AutoTrackable

    assert issubclass(Dense, tf.keras.layers.Layer) and Embedding is tf.keras.layers.Embedding
    assert Layer is tf.keras.layers.Layer and issubclass(tf.keras.Model, tf.keras.layers.Layer)
    assert issubclass(BatchNormalization, Layer) and callable(resource_apply_adam)
    assert array_ops.stack([1, 2]).shape == (2,)
    assert issubclass(AutoTrackable, base.Trackable)
    assert callable(graph_view.ObjectGraphView) and callable(util.Checkpoint)
    columns = [feature_column_lib.numeric_column("x", shape=(2,))]
    dense = feature_column_lib.DenseFeatures(columns)({"x": tf.constant([[1, 2]])})
    assert run(dense).tolist() == [[1.0, 2.0]]


def test_handlers_decode_examples(run, tmp_path):
    decoders = contrib.slim.tfexample_decoder
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    with tf.Session() as session:
        png = session.run(tf.image.encode_png(pixels))
    floats = lambda *v: tf.train.Feature(float_list=tf.train.FloatList(value=v))  # noqa: E731
    ints = lambda *v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))  # noqa: E731
    text = lambda *v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))  # noqa: E731
    feature = {"image/encoded": text(png), "image/format": text(b"png"), "label": ints(3)}
    feature.update({f"box/{side}": floats(0.1, 0.2) for side in ("ymin", "xmin", "ymax", "xmax")})
    feature.update(matrix=ints(1, 2, 3, 4, 5, 6), rows=ints(2), columns=ints(3))
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "jpeg"),
        "label": tf.FixedLenFeature([], tf.int64),
        "matrix": tf.VarLenFeature(tf.int64),
        "rows": tf.FixedLenFeature([1], tf.int64),
        "columns": tf.FixedLenFeature([1], tf.int64),
    }
    features.update({name: tf.VarLenFeature(tf.float32) for name in feature if "box" in name})
    decoder = decoders.TFExampleDecoder(
        features,
        {
            "image": decoders.Image(),
            "label": decoders.Tensor("label"),
            "boxes": decoders.BoundingBox(prefix="box/"),
            "matrix": decoders.Tensor("matrix", shape_keys=["rows", "columns"]),
            "twice": decoders.ItemHandlerCallback("label", lambda given: 2 * given["label"]),
        },
    )
    assert decoder.list_items() == ["image", "label", "boxes", "matrix", "twice"]
    image, boxes, label, matrix, twice = run(
        decoder.decode(example, ["image", "boxes", "label", "matrix", "twice"])
    )
    assert image.tolist() == pixels.tolist() and (label, twice) == (3, 6)
    np.testing.assert_allclose(boxes, [[0.1] * 4, [0.2] * 4])
    assert matrix.tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "a-1").write_bytes(b"")
    found = contrib.slim.parallel_reader.get_data_files([str(tmp_path / "a-*")])
    assert found == [str(tmp_path / "a-1")]


def test_what_needs_a_tpu_or_a_cloud_trains_here(run, capsys):
    contrib.cloud.configure_gcs(
        None, credentials="{}", block_cache=contrib.cloud.BlockCacheParams()
    )
    assert isinstance(contrib.cloud.ConfigureGcsHook(), tf.train.SessionRunHook)
    with pytest.raises(AttributeError, match="BigQueryReader.*google-cloud-bigquery"):
        contrib.cloud.BigQueryReader  # noqa: B018
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    strategy = contrib.tpu.TPUDistributionStrategy(contrib.cluster_resolver.TPUClusterResolver)
    assert contrib.tpu.keras_to_tpu_model(model, strategy=strategy) is model
    looped = contrib.tpu.repeat(4, lambda x: x * 2.0, [tf.constant(1.0)])
    counted = contrib.tpu.while_loop(lambda n: n < 5, lambda n: n + 1, [tf.constant(0)])
    assert [float(np.ravel(value)[0]) for value in run([looped, counted])] == [16.0, 5.0]
    with pytest.raises(AttributeError, match="infeed_enqueue.*use_tpu=False"):
        contrib.tpu.infeed_enqueue()


# Eager execution can only be enabled before a graph is built.
EAGER = """
import sys
import tensorflow as tf
import tensorflow.contrib.eager as tfe

tfe.enable_eager_execution()
v = tfe.Variable(3.0, name="weight")
print(tfe.implicit_gradients(lambda: v * v)()[0][0].numpy())
print(tfe.gradients_function(lambda x: x * x * x)(2.0)[0].numpy())
batches = tfe.Iterator(tf.data.Dataset.range(3))
print(batches.next().numpy(), [int(x) for x in batches], batches.output_types.name)
path = tfe.Saver([v]).save(sys.argv[1] + "/saved", global_step=4)
v.assign(0.0)
tfe.Saver([v]).restore(path)
with tfe.restore_variables_on_create(path):
    print(v.numpy(), tfe.Variable(0.0, name="weight").numpy(), tfe.Variable(1.0, name="b").numpy())
"""


def test_a_program_enables_eager_execution(tmp_path):
    (tmp_path / "program.py").write_text(EAGER)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "estimator_bridge",
            "run",
            "--tf1",
            tmp_path / "program.py",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["6.0", "12.0", "0 [1, 2] int64", "3.0 3.0 1.0"], done.stderr


def test_experiment_evaluates_again_and_again(tmp_path):
    learn = contrib.learn
    x = np.array([[0.0], [1.0]], np.float32)

    def input_fn():
        return {"x": tf.constant(x)}, tf.constant(x[:, 0])

    def build(steps, **more):
        columns = [contrib.layers.real_valued_column("x")]
        config = learn.RunConfig(tf_random_seed=1, model_dir=str(tmp_path))
        # The metrics of a classifier would take half of the time.
        model = learn.LinearRegressor(columns, model_dir=str(tmp_path), config=config)
        return learn.Experiment(
            *(model, input_fn, input_fn),
            train_steps=steps,
            eval_steps=1,
            eval_delay_secs=0,
            continuous_eval_throttle_secs=0,
            **more,
        )

    seen = []

    def asked(metrics, checkpoint_path):
        seen.append((metrics and metrics["global_step"], checkpoint_path))
        return True

    metrics, exports = build(5, train_steps_per_iteration=2).continuous_train_and_eval(asked)
    # As in 1.15, the last turn is as long as the others.
    assert (metrics["global_step"], exports) == (6, [])
    paths = [path and path.rpartition("-")[2] for _, path in seen]
    assert [step for step, _ in seen] == [None, 2, 4, 6] and paths == [None, "2", "4", "6"]

    # A checkpoint with train_steps steps ends the evaluation; so does the predicate.
    build(5).continuous_eval()
    build(5).continuous_eval_on_train_data()
    names = {path.name for path in tmp_path.iterdir() if path.name.startswith("eval_")}
    assert names == {"eval_one_pass", "eval_continuous", "eval_continuous_on_train_data"}
    build(None).continuous_eval(
        evaluate_checkpoint_only_once=False, continuous_eval_predicate_fn=lambda found: not found
    )
    with pytest.raises(ValueError, match="continuous_eval_predicate_fn"):
        build(5).continuous_eval(continuous_eval_predicate_fn=3)
    metric = {"a": learn.MetricSpec(contrib.metrics.streaming_accuracy)}
    assert build(5, eval_metrics=metric).eval_metrics is metric

    # As in 1.15, `test` returns the metrics alone, and runs no hook of evaluations.
    class Refused(tf.train.SessionRunHook):
        def begin(self):
            raise AssertionError("test() runs no eval_hooks")

    assert build(5, eval_hooks=[Refused()]).test()["global_step"] == 7


def test_uid_tells_configurations_apart():
    build = contrib.learn.RunConfig
    first, seeded, moved = build(), build(tf_random_seed=2), build(model_dir="here")
    assert first.uid() == build().uid() == seeded.uid() != moved.uid()
    assert first.uid(whitelist=["model_dir"]) == moved.uid(whitelist=["model_dir"])
    assert first.uid(whitelist=[]) != seeded.uid(whitelist=[])


def _read_boosted():
    folder = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location(
        "boosted_trees_programs_1x", folder / "boosted_trees" / "programs_1x.py"
    )
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    stored = folder / "golden" / "1.15.5" / "boosted_trees"
    return programs, stored, json.loads((stored / "values.json").read_text(encoding="utf-8"))


def _check_boosted(found, stored):
    trees = [ensemble.parse(bytes.fromhex(one["ensemble"])).trees for one in (found, stored)]
    ours, native = (
        [
            (kind, *([] if kind == "leaf" else map(str, (getattr(node, kind),))))
            for tree in of
            for node in tree.nodes
            for kind in [node.WhichOneof("node")]
        ]
        for of in trees
    )
    assert ours == native and len(native) > 30
    assert found["stamp"] == stored["stamp"]
    assert found["caches"].keys() == stored["caches"].keys()
    for name, values in stored["caches"].items():
        np.testing.assert_allclose(found["caches"][name], values, rtol=0, atol=2e-6)
    np.testing.assert_allclose(found["logits"], stored["logits"], rtol=0, atol=2e-6)
    assert found["metrics"] == pytest.approx(stored["metrics"], abs=2e-6)


def test_boosted_trees_go_on_from_a_native_checkpoint_in_the_middle_of_a_tree(tmp_path):
    programs, stored, values = _read_boosted()
    shutil.copytree(stored / "job", tmp_path / "job")
    model = programs.build(tf, tmp_path / "job")
    assert model.get_variable_value("global_step") == programs.MIDDLE
    model.train(programs.make_input_fn(tf, programs.BATCH), max_steps=10000)
    _check_boosted(programs.examine(tf, model), values["resumed"])


def test_boosted_trees_trained_in_memory_are_those_of_1_15(tmp_path):
    programs, _, values = _read_boosted()
    model = programs.train_in_memory(tf, tmp_path)
    assert values["in_memory"]["caches"]
    _check_boosted(programs.examine(tf, model), values["in_memory"])


def test_paths_by_which_public_programs_import():
    from tensorflow.contrib import nccl
    from tensorflow.contrib.eager.python import metrics, tfe
    from tensorflow.contrib.graph_editor import get_backward_walk_ops
    from tensorflow.contrib.layers.python.layers import utils
    from tensorflow.contrib.memory_stats import MaxBytesInUse
    from tensorflow.contrib.nccl.ops import gen_nccl_ops
    from tensorflow.contrib.nccl.python.ops.nccl_ops import _validate_and_load_nccl_so
    from tensorflow.contrib.recurrent.python.ops import functional_rnn

    slim = contrib.slim
    assert utils is slim.utils and metrics is tfe.metrics is contrib.eager.metrics
    assert functional_rnn.functional_rnn is contrib.recurrent.functional_rnn
    assert nccl.gen_nccl_ops is gen_nccl_ops and _validate_and_load_nccl_so() is None
    assert get_backward_walk_ops(tf.identity(1.0, "one"))[0].name == "one"
    assert slim.optimize_loss is contrib.layers.optimize_loss
    with tf.device("/gpu:1"):
        peak = MaxBytesInUse()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="MaxBytes"):
        session.run(contrib.memory_stats.MaxBytesInUse())
    assert peak.shape == [] and peak.dtype == tf.int64


def test_gradients_of_memory_saving_programs():
    """As public programs do that compute activations again: a copy of the forward part."""
    editor = contrib.graph_editor
    x = tf.constant(numbers(4, 3))
    first = tf.nn.tanh(tf.matmul(x, tf.get_variable("w1", [3, 3])), name="kept")
    loss = tf.reduce_sum(tf.nn.tanh(tf.matmul(first, tf.get_variable("w2", [3, 3]))))
    variables = tf.trainable_variables()
    plain = tf.gradients(loss, variables)
    ahead = editor.get_backward_walk_ops([loss.op], within_ops_fn=lambda op: "/read" not in op.name)
    behind = editor.get_forward_walk_ops([x.op], within_ops=ahead)
    _, info = editor.copy_with_input_replacements(editor.sgv(behind), {}, dst_scope="again")
    assert all(op.name.startswith("again/") for op in info._transformed_ops.values())
    copied = tf.gradients(info.transformed(loss), variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for one, other in session.run(list(zip(plain, copied))):
            np.testing.assert_array_equal(one, other)


def test_private_modules_that_have_the_names_of_functions_are_modules():
    from tensorflow.contrib.data.python.ops import get_single_element, unique
    from tensorflow.contrib.estimator.python.estimator import multi_head, replicate_model_fn
    from tensorflow.contrib.factorization.python.ops import gmm
    from tensorflow.contrib.framework.python.ops import arg_scope
    from tensorflow.contrib.image.python.ops import (
        dense_image_warp,
        interpolate_spline,
        sparse_image_warp,
    )
    from tensorflow.contrib.nn.python.ops import alpha_dropout, scaled_softplus
    from tensorflow.contrib.sparsemax.python.ops import sparsemax, sparsemax_loss

    assert unique.unique is contrib.data.unique
    assert get_single_element.get_single_element is contrib.data.get_single_element
    assert multi_head.multi_head is contrib.estimator.multi_head
    assert replicate_model_fn.replicate_model_fn is contrib.estimator.replicate_model_fn
    assert replicate_model_fn.TowerOptimizer is contrib.estimator.TowerOptimizer
    assert gmm.GMM is contrib.factorization.GMM
    assert dense_image_warp.dense_image_warp is contrib.image.dense_image_warp
    assert interpolate_spline.interpolate_spline is contrib.image.interpolate_spline
    assert sparse_image_warp.sparse_image_warp is contrib.image.sparse_image_warp
    assert alpha_dropout.alpha_dropout is contrib.nn.alpha_dropout
    assert scaled_softplus.scaled_softplus is contrib.nn.scaled_softplus
    assert sparsemax.sparsemax is contrib.sparsemax.sparsemax
    assert sparsemax_loss.sparsemax_loss is contrib.sparsemax.sparsemax_loss
    # 1.15 imports all names of this module into its package, among them the function.
    assert arg_scope is contrib.framework.arg_scope


def test_private_names_of_contrib_estimator_can_be_used():
    from tensorflow.contrib.estimator.python.estimator import multi_head, rnn

    class Derived(multi_head._MultiHead):
        pass

    heads = [contrib.estimator.regression_head(name=name) for name in ("one", "other")]
    assert Derived(heads).logits_dimension == 2
    assert (rnn._DEFAULT_LEARNING_RATE, rnn._DEFAULT_CLIP_NORM) == (0.05, 5.0)
    assert not hasattr(rnn, "__path__")
    joined = rnn._concatenate_context_input(tf.zeros([2, 3, 4]), tf.ones([2, 5]))
    assert joined.shape.as_list()[2] == 9
    with tf.Session() as session:
        assert session.run(joined)[1, 2].tolist() == [0.0] * 4 + [1.0] * 5


def test_numeric_columns_of_sequences_are_columns_of_v1_too():
    from tensorflow.python.feature_column import feature_column as v1

    column = contrib.feature_column.sequence_numeric_column("x", normalizer_fn=lambda x: x * 2.0)
    expected = {"x": tf.VarLenFeature(tf.float32)}
    assert tf.feature_column.make_parse_example_spec([column]) == expected
    spec = tf.estimator.classifier_parse_example_spec([column], "y", tf.int64)
    assert sorted(spec) == ["x", "y"]
    values = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
    dense, lengths = column._get_sequence_dense_tensor(v1._LazyBuilder({"x": values}))
    layer, _ = contrib.feature_column.sequence_input_layer({"x": values}, [column])
    with tf.Session() as session:
        one, other, steps = session.run([dense, layer, lengths])
    assert one.tolist() == other.tolist() == [[[2.0], [4.0]], [[6.0], [0.0]]]
    assert steps.tolist() == [2, 1]


def test_functional_rnn_takes_a_cell_that_is_no_rnn_cell():
    class Sum:
        output_size = 3

        def zero_state(self, batch, dtype):
            return tf.zeros([batch, 3], dtype)

        def __call__(self, inputs, state):
            return state + inputs, state + inputs

    x = numbers(2, 4, 3)
    outputs, state = contrib.recurrent.functional_rnn(Sum(), tf.constant(x))
    with tf.Session() as session:
        found, last = session.run([outputs, state])
    np.testing.assert_allclose(found, np.cumsum(x, axis=1), rtol=1e-6)
    np.testing.assert_array_equal(last, found[:, -1])


def test_a_series_begins_again_only_when_it_has_been_read(tmp_path):
    """Where the file is opened again while it is read, the first record ends the series."""
    from tensorflow.contrib import timeseries

    path = tmp_path / "series.csv"
    path.write_text("0,1.0\n1,2.0\n2,3.0\n")
    with tf.Graph().as_default() as graph:
        timeseries.CSVReader(str(path)).read_full()
        (reset,) = [op for op in graph.get_operations() if op.type.startswith("ReaderReset")]
        before, waiting = set(), [reset]
        while waiting:
            op = waiting.pop()
            if op.name not in before:
                before.add(op.name)
                waiting += [*op.control_inputs, *(tensor.op for tensor in op.inputs)]
        kinds = {graph.get_operation_by_name(name).type for name in before}
    assert {"ReaderReadUpToV2", "TensorArrayConcatV3"} <= kinds


def test_own_external_optimizers_see_and_set_all_variables():
    class Newton(contrib.opt.ExternalOptimizerInterface):
        def _minimize(self, initial_val, loss_grad_func, packed_bounds, optimizer_kwargs, **others):
            assert initial_val.dtype == np.float64 and packed_bounds[0] == (0, 9)
            value, gradient = loss_grad_func(initial_val)
            assert value == 30 and gradient.tolist() == [2, 4, 6, 8, 0]
            assert [function(initial_val) for function in others["equality_funcs"]] == [10]
            return initial_val - gradient * optimizer_kwargs["rate"]

    matrix = tf.get_variable("matrix", initializer=tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    other = tf.get_variable("other", initializer=5.0, use_resource=True)
    loss, total = tf.reduce_sum(matrix**2), tf.reduce_sum(matrix)
    optimizer = Newton(loss, equalities=[total], var_to_bounds={matrix: (0, 9)}, rate=0.5)
    with pytest.raises(ValueError, match="session"):
        optimizer.minimize()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize()
        assert session.run(matrix).tolist() == [[0, 0], [0, 0]] and session.run(other) == 5


def test_messages_are_decoded_under_the_name_of_contrib():
    feature = tf.train.Int64List(value=[3, 5])
    _, (found,) = contrib.proto.decode_proto(
        [feature.SerializeToString()], "tensorflow.Int64List", ["value"], [tf.int64]
    )
    with tf.Session() as session:
        assert session.run(found).tolist() == [[3, 5]]


def test_frames_are_extracted_under_the_names_of_learn():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert contrib.learn.extract_pandas_data(frame).tolist() == [[1, 0.5], [2, 1.5]]
    assert contrib.learn.extract_pandas_labels(frame[["a"]]).tolist() == [[1], [2]]
    assert contrib.learn.extract_pandas_matrix([1, 2]) == [1, 2]
