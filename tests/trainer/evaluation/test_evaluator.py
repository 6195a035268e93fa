"""trainer.evaluation.evaluator: a reused graph returns the results of a new one."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge import estimator, tf
from trainer.evaluation.evaluator import EvaluationListener, Evaluator, train_and_evaluate

BINARY = {"column": "label", "num_classes": 2}
REGRESSION = {"column": "label"}


def _train(built, input_fn, times=2):
    """Trains in several calls; returns the checkpoints."""
    checkpoints = []
    for _ in range(times):
        built.train(input_fn, steps=5)
        checkpoints.append(built.latest_checkpoint())
    return checkpoints


def _rebuild(built, folder):
    """The same model in another folder, for its own event files."""
    config = built.config.replace(model_dir=str(folder))
    return estimator.Estimator(model_fn=built.model_fn, config=config)


def _read_events(folder):
    """(step, tag, value) of all summaries below a folder, in order."""
    found = []
    for path in sorted(Path(folder).rglob("events.*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                found.append((event.step, value.tag, kind, str(getattr(value, kind))))
    return found


def _compare(built, input_fn, checkpoints, folder, **spec):
    """Evaluates all checkpoints in both ways; returns the Evaluator and its results."""
    evaluator = Evaluator(built, estimator.EvalSpec(input_fn, **{"steps": None, **spec}))
    # Back and forth: each result is of the checkpoint that was asked for.
    order = [*checkpoints, checkpoints[0]]
    kept = [evaluator.evaluate(path) for path in order]
    other = _rebuild(built, folder)
    options = {name: value for name, value in spec.items() if name != "throttle_secs"}
    fresh = [other.evaluate(input_fn, checkpoint_path=path, **options) for path in order]
    for ours, theirs in zip(kept, fresh):
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            np.testing.assert_array_equal(ours[name], value, err_msg=name)
            assert type(ours[name]) is type(value)
    name = spec.get("name")
    ours, theirs = _read_events(built.eval_dir(name)), _read_events(other.eval_dir(name))
    assert ours == theirs and len(ours) > len(order)
    return evaluator, kept


@pytest.mark.parametrize("kind", ["wide_deep", "residual"])
def test_results_equal_those_of_estimator_evaluate(bench, tmp_path, kind):
    config = bench.build_config(
        model={"type": kind}, train={"optimizer": "adagrad", "learning_rate": 0.3}
    )
    built = bench.build(config, bench.build_schema(BINARY))
    checkpoints = _train(built, bench.feed(bench.positive))
    evaluate = bench.feed(bench.positive, epochs=1)
    evaluator, results = _compare(built, evaluate, checkpoints, tmp_path / "other")
    assert evaluator._graph is not None, "the graph was not kept"
    assert results[0]["loss"] != results[1]["loss"]
    assert [result["global_step"] for result in results] == [5, 10, 5]
    evaluator.close()


class Counter(estimator.SessionRunHook):
    """Counts its calls; `grows` adds to the graph as some hooks do."""

    def __init__(self, grows=False):
        self.grows = grows
        self.calls = []

    def begin(self):
        self.calls.append("begin")
        self.step = tf.compat.v1.train.get_global_step()
        if self.grows:
            self.doubled = self.step * 2

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, run_context):
        return estimator.SessionRunArgs(self.doubled if self.grows else self.step)

    def after_run(self, run_context, run_values):
        self.calls.append(int(run_values.results))

    def end(self, session):
        self.calls.append("end")


@pytest.mark.parametrize("grows", [False, True])
def test_hooks_steps_and_name(bench, tmp_path, grows):
    built = bench.build(
        bench.build_config(model={"type": "linear"}), bench.build_schema(REGRESSION)
    )
    score = bench.score.astype(np.float32)
    checkpoints = _train(built, bench.feed(score))
    hook = Counter(grows)
    spec = {"steps": 3, "name": "part", "hooks": [hook]}
    evaluator, _ = _compare(
        built, bench.feed(score, batch=20), checkpoints, tmp_path / "other", **spec
    )
    steps = [5, 10, 5]
    cycle = [[*["begin", "create"], *[step * (2 if grows else 1)] * 3, "end"] for step in steps]
    assert hook.calls == sum(cycle, []) * 2
    assert (evaluator._graph is None) == grows


def _model_fn(eval_noise=0.0, hooks=(), scaffold=None, tables=False):
    """A model_fn with one weight; parameters add what users' Estimators may contain."""

    def model_fn(features, labels, mode):
        weight = tf.compat.v1.get_variable("weight", [], initializer=tf.ones_initializer())
        x = features["x"]
        if tables:
            keys = tf.constant(["red", "green", "blue"])
            initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1.0, 2.0, 3.0]))
            table = tf.lookup.StaticHashTable(initializer, 0.0)
            x = x + table.lookup(features["color"])
        answer = x * weight
        loss = tf.reduce_mean((answer - tf.cast(labels, tf.float32)) ** 2)
        step = tf.compat.v1.train.get_or_create_global_step()
        if mode == estimator.ModeKeys.TRAIN:
            train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
            return estimator.EstimatorSpec(mode, loss=loss, train_op=train)
        metrics = {"mean": tf.compat.v1.metrics.mean(answer)}
        if eval_noise:
            noise = tf.random.normal([]) * eval_noise
            metrics["noise"] = tf.compat.v1.metrics.mean(noise)
        counts = tf.compat.v1.metrics.true_positives(labels, answer > 0)
        metrics["table"] = (tf.stack([counts[0], counts[0] * 2]), counts[1])
        metrics["picture"] = (
            tf.compat.v1.summary.scalar("inner", counts[0], collections=[]),
            tf.no_op(),
        )
        return estimator.EstimatorSpec(
            mode,
            loss=loss,
            eval_metric_ops=metrics,
            evaluation_hooks=[make() for make in hooks],
            scaffold=scaffold() if scaffold and mode == estimator.ModeKeys.EVAL else None,
        )

    return model_fn


def _own(tmp_path, **options):
    config = estimator.RunConfig(str(tmp_path / "own"), tf_random_seed=3)
    return estimator.Estimator(model_fn=_model_fn(**options), config=config)


def _scaffold():
    counted = tf.compat.v1.get_variable(
        "counted",
        [],
        trainable=False,
        collections=[tf.compat.v1.GraphKeys.LOCAL_VARIABLES],
        initializer=tf.zeros_initializer(),
    )
    return tf.compat.v1.train.Scaffold(
        local_init_op=tf.group(counted.initializer, tf.compat.v1.tables_initializer())
    )


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, True),
        ({"tables": True}, True),
        ({"tables": True, "scaffold": _scaffold}, True),
        ({"eval_noise": 1.0}, False),
        ({"hooks": [Counter]}, False),
    ],
)
def test_models_of_users_reuse_or_rebuild_the_graph(bench, tmp_path, options, kept):
    built = _own(tmp_path, **options)
    checkpoints = _train(built, bench.feed(bench.positive))
    evaluate = bench.feed(bench.positive, epochs=1)
    evaluator, results = _compare(built, evaluate, checkpoints, tmp_path / "other")
    assert (evaluator._graph is not None) == kept
    assert {"table", "picture", "mean"} <= set(results[0])


def _shuffled(feed):
    def input_fn():
        return feed().unbatch().shuffle(100).batch(10)

    return input_fn


def _tensors(feed):
    def input_fn():
        return tf.compat.v1.data.make_one_shot_iterator(feed()).get_next()

    return input_fn


def _drawn(feed):
    def add_noise(features, labels):
        noise = tf.random.uniform(tf.shape(features["x"]))
        return {**features, "x": features["x"] + noise}, labels

    return lambda: feed().map(add_noise)


@pytest.mark.parametrize("wrap", [_shuffled, _tensors, _drawn])
def test_inputs_that_cannot_be_restarted_rebuild_the_graph(bench, tmp_path, wrap):
    built = _own(tmp_path)
    checkpoints = _train(built, bench.feed(bench.positive))
    evaluate = wrap(bench.feed(bench.positive, batch=20, epochs=1))
    evaluator, _ = _compare(built, evaluate, checkpoints, tmp_path / "other", steps=3)
    assert evaluator._graph is None


@pytest.mark.newest
def test_a_generator_is_restarted(bench, tmp_path):
    built = _own(tmp_path)
    checkpoints = _train(built, bench.feed(bench.positive))
    begun = []

    def generate():
        begun.append(1)
        for x, label in zip(bench.rows["x"], bench.positive):
            yield {"x": x}, label

    types = ({"x": tf.TensorSpec([], tf.float32)}, tf.TensorSpec([], tf.int64))

    def input_fn():
        return tf.data.Dataset.from_generator(generate, output_signature=types).batch(50)

    evaluator, _ = _compare(built, input_fn, checkpoints, tmp_path / "other")
    assert evaluator._graph is not None
    assert len(begun) == 6


@pytest.mark.newest
def test_an_error_discards_the_graph(bench, tmp_path):
    built = _own(tmp_path)
    first, second = _train(built, bench.feed(bench.positive))

    class Fails(estimator.SessionRunHook):
        wanted = False

        def after_run(self, run_context, run_values):
            if self.wanted:
                raise RuntimeError("enough")

    hook = Fails()
    spec = estimator.EvalSpec(bench.feed(bench.positive, epochs=1), steps=None, hooks=[hook])
    evaluator = Evaluator(built, spec)
    before = evaluator.evaluate(first)
    session = evaluator._graph._session
    hook.wanted = True
    with pytest.raises(RuntimeError, match="enough"):
        evaluator.evaluate(second)
    assert evaluator._graph is None
    with pytest.raises(RuntimeError, match="closed"):
        session.run([])
    hook.wanted = False
    np.testing.assert_equal(evaluator.evaluate(first), before)
    evaluator.close()
    evaluator.close()


def test_under_a_strategy_estimator_evaluate_is_called(bench, tmp_path):
    config = estimator.RunConfig(
        str(tmp_path / "own"), eval_distribute=tf.distribute.OneDeviceStrategy("/cpu:0")
    )
    built = estimator.Estimator(model_fn=_model_fn(), config=config)
    (checkpoint,) = _train(built, bench.feed(bench.positive), 1)
    spec = estimator.EvalSpec(bench.feed(bench.positive, epochs=1), steps=None)
    evaluator = Evaluator(built, spec)
    assert evaluator.evaluate(checkpoint)["global_step"] == 5
    assert evaluator._graph is None


def _resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.newest
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_stays_flat_over_200_evaluations(bench):
    receiver = {"x": tf.float32, "color": tf.string}

    def receiver_fn():
        given = {name: tf.compat.v1.placeholder(kind, [None]) for name, kind in receiver.items()}
        return estimator.export.ServingInputReceiver(given, given)

    built = bench.build(bench.build_config(model={"type": "dnn"}), bench.build_schema(BINARY))
    checkpoints = _train(built, bench.feed(bench.positive))
    exporter = estimator.LatestExporter("latest", receiver_fn, exports_to_keep=2)
    spec = estimator.EvalSpec(
        bench.feed(bench.positive, epochs=1), steps=None, exporters=[exporter]
    )
    evaluator = Evaluator(built, spec)
    sizes = []
    for number in range(200):
        evaluator.evaluate_and_export(checkpoints[number % 2], is_final=False)
        if number in (39, 199):
            gc.collect()
            sizes.append(_resident())
    # A graph of this model takes half a megabyte and more: one left behind each time is 100 MB.
    assert sizes[1] - sizes[0] < 16 * 2**20
    evaluator.close()


class Recorder(estimator.Exporter):
    """Records its calls."""

    name = "recorder"

    def __init__(self):
        self.seen = []

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        self.seen.append((int(eval_result["global_step"]), is_the_final_export))


def _run(bench, tmp_path, max_steps, epochs=None, hooks=(), **spec):
    config = estimator.RunConfig(str(tmp_path / "own"), save_checkpoints_steps=4)
    built = estimator.Estimator(model_fn=_model_fn(), config=config)
    recorder = Recorder()
    eval_spec = estimator.EvalSpec(
        bench.feed(bench.positive, epochs=1),
        steps=None,
        exporters=[recorder],
        **{"throttle_secs": 0, **spec},
    )
    train_spec = estimator.TrainSpec(
        bench.feed(bench.positive, epochs=epochs), max_steps=max_steps, hooks=hooks
    )
    evaluator = Evaluator(built, eval_spec)
    train_and_evaluate(built, train_spec, evaluator)
    return recorder.seen


class Stop(estimator.SessionRunHook):
    """Ends training after some steps."""

    def __init__(self, steps):
        self.left = steps

    def after_run(self, run_context, run_values):
        self.left -= 1
        if not self.left:
            run_context.request_stop()


@pytest.mark.newest
@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"max_steps": 10}, [(4, False), (8, False), (10, True)]),
        ({"max_steps": 8}, [(4, False), (8, True)]),
        # Ended by the input, and by somebody's hook: the last model is evaluated and exported.
        ({"max_steps": None, "epochs": 1}, [(4, False), (4, True)]),
        ({"max_steps": 100, "hooks": [Stop(6)]}, [(4, False), (6, True)]),
        # Too soon after the first: the last one always.
        ({"max_steps": 14, "throttle_secs": 600}, [(4, False), (14, True)]),
    ],
)
def test_the_listener_evaluates_at_these_steps(bench, tmp_path, options, seen):
    assert _run(bench, tmp_path, **options) == seen


@pytest.mark.newest
def test_the_listener_throttles_by_its_clock(bench, tmp_path):
    now, calls = [0.0], []

    class Fake:
        model_dir = str(tmp_path)
        estimator = type("Fake", (), {"latest_checkpoint": staticmethod(lambda: "ckpt")})

        def evaluate_and_export(self, checkpoint, is_final):
            calls.append((now[0], is_final))
            return {"global_step": 0}

        def export(self, checkpoint, result, is_final):
            calls.append(("export", is_final))

    listener = EvaluationListener(Fake(), throttle_secs=10, max_steps=100, clock=lambda: now[0])
    for second in (0, 1, 5, 11, 12, 22):
        now[0] = float(second)
        listener.after_save(None, second)
    listener.end(None, 22)
    assert calls == [(1.0, False), (11.0, False), (22.0, False), ("export", True)]
