"""User code: models, metrics, receivers, hooks and experiments."""

import json
import shutil
import signal
import sys
import textwrap

import numpy as np
import pytest

from estimator_bridge import tf
from trainer import config as config_lib
from trainer import task
from trainer.errors import UserError
from trainer.models.code import HParams, call_code, load_code, translate_user_errors
from trainer.models.plugins import build_user_hooks, make_user_receiver_fn
from trainer.signals import Interrupted, SignalWatch
from trainer.training.stopping import InterruptHook

LABEL = {"column": "label", "num_classes": 2}

MODEL = """
    import tensorflow as tf
    from trainer.features import build_feature_columns

    def build(run_config, hparams, schema):
        columns = build_feature_columns(schema, hparams.statistics)
        return tf.estimator.DNNClassifier(
            hidden_units=hparams.widths,
            feature_columns=columns.deep,
            optimizer=lambda: tf.keras.optimizers.legacy.Adam(hparams.learning_rate),
            config=run_config,
        )

    def own_spec(features, labels, mode, params):
        scale = tf.compat.v1.get_variable("scale", [], initializer=tf.zeros_initializer())
        guess = scale * features["x"]
        predictions = {"guess": guess}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions=predictions)
        loss = tf.reduce_mean((guess - tf.cast(labels, tf.float32)) ** params["power"])
        step = tf.compat.v1.train.get_or_create_global_step()
        train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)

    def raw(hparams, run_config):
        return tf.estimator.Estimator(own_spec, config=run_config, params={"power": hparams.power})

    def keras(run_config, hparams):
        column = tf.keras.Input((), name="x")
        logit = tf.keras.layers.Dense(1, activation="sigmoid", name="logistic")(column[:, None])
        model = tf.keras.Model({"x": column}, logit)
        model.compile("adam", "binary_crossentropy")
        return model

    def nothing(run_config):
        return 5

    def elsewhere(run_config, hparams, schema):
        other = run_config.replace(model_dir=run_config.model_dir + "-2")
        return tf.estimator.Estimator(own_spec, config=other, params={"power": 2})

    def wants_more(run_config, batch_norm):
        pass

    def metrics(labels, predictions, hparams):
        mean = tf.keras.metrics.Mean(name="mean")
        mean.update_state(predictions["logistic"] * hparams.factor)
        return {"mean_score": mean}

    def wrong_metrics(labels):
        return {"mean": 3.0}

    def receiver():
        features = {
            "x": tf.compat.v1.placeholder(tf.float32, [None]),
            "color": tf.compat.v1.placeholder(tf.string, [None]),
        }
        return tf.estimator.export.ServingInputReceiver(features, features)

    def poor_receiver():
        features = {"x": tf.compat.v1.placeholder(tf.float32, [None])}
        return tf.estimator.export.ServingInputReceiver(features, features)

    class Counter(tf.estimator.SessionRunHook):
        def __init__(self, hparams):
            self.counted = hparams.counted

        def after_run(self, run_context, run_values):
            self.counted.append(1)

    def two_hooks():
        return [Counter(type("H", (), {"counted": []})) for _ in range(2)]

    class Fails(tf.estimator.SessionRunHook):
        def before_run(self, run_context):
            raise KeyError("weights")
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """theirs(text) → folder of an importable module theirs.py with that text."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "theirs", raising=False)

    def write(text=MODEL, name="theirs"):
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return folder

    write()
    return write


def build(bench, name, **user):
    config = bench.build_config(model={"type": f"theirs:{name}"}, user=user)
    return bench.build(config, bench.build_schema(LABEL), name)


def test_user_model_gets_our_metrics_and_exports(bench, theirs):
    built = build(bench, "build", widths=[6])
    built.train(bench.feed(bench.positive), steps=80)
    metrics = built.evaluate(bench.feed(bench.positive, epochs=1))
    assert metrics["auc"] > 0.9 and 0 < metrics["log_loss"] < 0.6
    assert built.get_variable_value("dnn/hiddenlayer_0/kernel").shape[1] == 6


def test_spec_without_a_head_gets_a_predict_signature(bench, theirs):
    from estimator_bridge import tf
    from trainer.export.receivers import make_serving_receiver_fn
    from trainer.schema import Statistics

    config = bench.build_config(model={"type": "theirs:raw"}, user={"power": 2})
    columns = {"label": {"type": "int"}, "id": {"type": "string"}}
    schema = bench.build_schema(LABEL, columns, key="id")
    built = bench.build(config, schema)
    ids = np.array([f"r{index}" for index in range(bench.num_rows)], object)
    built.train(bench.feed(bench.positive, id=ids), steps=50)
    metrics = built.evaluate(bench.feed(bench.positive, epochs=1, id=ids))
    assert set(metrics) == {"loss", "global_step"}
    receiver_fn = make_serving_receiver_fn(schema, Statistics(0, {}), "json", ",")
    path = built.export_saved_model(str(bench.folder / "export"), receiver_fn).decode()
    answer = tf.saved_model.load(path).signatures["predict"](
        x=tf.constant([0.5, 1.0]), color=tf.constant(["red", "blue"]), id=tf.constant(["a", "b"])
    )
    scale = built.get_variable_value("scale")
    assert np.allclose(answer["guess"], [0.5 * scale, scale]) and scale > 0.2
    assert answer["id"].numpy().tolist() == [b"a", b"b"]


def test_a_signal_saves_with_the_own_saver_of_a_user_model(bench, theirs):
    saver = "tf.compat.v1.train.Scaffold(saver=tf.compat.v1.train.Saver())"
    theirs(MODEL.replace("loss, train_op)", f"loss, train_op, scaffold={saver})"))
    built = build(bench, "raw", power=2)
    watch = SignalWatch()
    watch.pending = signal.SIGTERM
    with pytest.raises(Interrupted) as raised:
        hook = InterruptHook(watch, built.model_dir, training=True)
        built.train(bench.feed(bench.positive), hooks=[hook], steps=5)
    assert raised.value.step == 1
    assert tf.train.latest_checkpoint(built.model_dir).endswith("model.ckpt-1")


def test_a_compiled_keras_model_becomes_an_estimator(bench, theirs):
    losses = []
    for name in ("keras", "again"):
        config = bench.build_config(model={"type": "theirs:keras"})
        built = bench.build(config, bench.build_schema(LABEL), name)
        rows = {"x": bench.rows["x"]}
        built.train(bench.feed(bench.positive, rows=rows), steps=3)
        metrics = built.evaluate(bench.feed(bench.positive, epochs=1, rows=rows))
        losses.append(metrics["loss"])
        assert metrics["log_loss"] == pytest.approx(metrics["loss"], rel=1e-4)
    assert losses[0] == losses[1]  # the run's seed decides its initial values


@pytest.mark.newest
@pytest.mark.parametrize(
    "name, told",
    [
        ("nothing", "it returned 5, not an Estimator"),
        ("elsewhere", "build it with config=run_config"),
        (
            "wants_more",
            "it requires batch_norm; the parameters available are run_config, hparams, sch",
        ),
        ("biuld", "module theirs has no 'biuld'; did you mean build?"),
        ("MODEL_DIR", "module theirs has no 'MODEL_DIR'"),
        ("build", "AttributeError: no hyperparameter 'widths'; give --user.widths= ("),
    ],
)
def test_errors_of_a_user_model_are_one_line(bench, theirs, name, told):
    with pytest.raises(UserError) as error:
        build(bench, name)
    assert told in str(error.value) and str(error.value).startswith(f"model.type theirs:{name}: ")
    assert "\n" not in str(error.value)


def test_error_in_a_user_model_fn_names_mode_file_and_line(bench, theirs):
    folder = theirs(MODEL.replace('features["x"]', 'features["xx"]'))
    built = build(bench, "raw", power=2)
    with pytest.raises(
        UserError, match=r"its model_fn in mode 'train' failed: KeyError: 'xx'"
    ) as e:
        built.train(bench.feed(bench.positive), steps=1)
    line = 1 + MODEL.splitlines().index('        guess = scale * features["x"]')
    assert f"({folder / 'theirs.py'} line {line})" in str(e.value)
    assert isinstance(e.value.__cause__, KeyError)


@pytest.mark.newest
@pytest.mark.parametrize(
    "text, told",
    [
        ("import numpty", "importing theirs failed: ModuleNotFoundError: No module named 'numpty'"),
        ("x = 1 +", "importing theirs failed: SyntaxError: invalid syntax (theirs.py, line 1)"),
        ("1 / 0", "importing theirs failed: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "importing theirs failed: SystemExit: 3"),
    ],
)
def test_module_that_fails_to_import(theirs, text, told):
    theirs(text)
    with pytest.raises(UserError, match="^model.type theirs:build: ") as error:
        load_code("theirs:build", "model.type")
    assert told in str(error.value) and "theirs.py line 1)" in str(error.value)


@pytest.mark.newest
def test_missing_module():
    with pytest.raises(
        UserError, match="no module 'no_such'; start from the folder that contains it"
    ):
        load_code("no_such.module:f", "model.type")
    with pytest.raises(UserError, match="no module 'trainer.mine'; trainer is this program's own"):
        load_code("trainer.mine:f", "model.type")
    with pytest.raises(UserError, match="no module 'json.mine'"):
        load_code("json.mine:f", "experiment")
    assert load_code("json:JSONDecoder.decode", "model.type") is json.JSONDecoder.decode


@pytest.mark.newest
def test_hparams_prefer_user_values():
    config = config_lib.load_config(None, {"user.dropout": "0.7", "user.deep": "{a: [1, 2e-3]}"})
    hparams = HParams(config, max_steps=70)
    assert (hparams.dropout, hparams["max_steps"], hparams.batch_size) == (0.7, 70, 512)
    assert hparams.deep == {"a": [1, 0.002]}
    assert hparams.get("depth", 3) == 3 and "depth" not in hparams
    assert dict(hparams)["hidden_units"] == (128, 64)
    with pytest.raises(AttributeError, match="no hyperparameter 'hiden_units'; did you mean hidd"):
        _ = hparams.hiden_units
    seen = call_code(lambda hparams, **rest: (hparams, rest), "x", hparams=1, schema=2)
    assert seen == (1, {"schema": 2})


SECRET = "sk-0a1b2c3d4e5f"


@pytest.mark.newest
def test_a_secret_is_used_and_written_nowhere(theirs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("API_KEY", SECRET)
    guard = f"    assert hparams.api_key == {SECRET!r} and dict(hparams)['api_key'] == {SECRET!r}\n"
    start = "    def experiment(run_config, hparams):\n"
    theirs(EXPERIMENT.replace(start, f"{start}    {guard}"))
    job = tmp_path / "job"
    flags = ["--experiment=theirs:experiment", "--user.value=3.0", "--user.steps=2"]
    flags += [f"--job_dir={job}", "--secret.api_key=API_KEY"]
    status, told = run_task(capsys, *flags)
    assert status == 0, told.err
    assert SECRET not in told.out + told.err
    files = [path for path in job.rglob("*") if path.is_file()]
    assert len(files) > 10 and not [path for path in files if SECRET.encode() in path.read_bytes()]
    assert "api_key: API_KEY" in (job / "config.yaml").read_text()
    # An error of the user's code that quotes it.
    raising = "        raise RuntimeError('401 for ' + hparams.api_key)\n"
    theirs(EXPERIMENT.replace(start, start + raising))
    status, told = run_task(capsys, *flags, "--verbosity=debug")
    assert status == 2 and "401 for <secret.api_key>" in told.err and "Traceback" in told.err
    assert SECRET not in told.out + told.err
    monkeypatch.delenv("API_KEY")
    status, told = run_task(capsys, *flags)
    assert status == 2
    assert told.err == (
        "error: secret.api_key: the environment variable API_KEY is not set; set it for this "
        "process\n"
    )


@pytest.mark.newest
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(capsys, tmp_path):
    status, told = run_task(capsys, f"--job_dir={tmp_path}", f"--secret.api_key={SECRET}")
    assert status == 2 and SECRET not in told.out + told.err
    assert "secret: api_key: give the name, in capital letters, of the environment" in told.err
    status, told = run_task(
        capsys, "--experiment=json:loads", f"--job_dir={tmp_path}", "--user.api_key=abc"
    )
    assert "user.api_key: is stored in config.yaml; give a secret as --secret.api_key=" in told.err


def test_user_metrics(bench, theirs):
    def evaluate(metric_fn):
        config = bench.build_config(
            model={"type": "dnn"}, user={"factor": 3}, eval={"metric_fn": f"theirs:{metric_fn}"}
        )
        built = bench.build(config, bench.build_schema(LABEL), metric_fn)
        built.train(bench.feed(bench.positive), steps=1)
        return built.evaluate(bench.feed(bench.positive, epochs=1))

    metrics = evaluate("metrics")
    assert metrics["mean_score"] == pytest.approx(3 * metrics["prediction/mean"], rel=1e-4)
    assert "log_loss" in metrics
    with pytest.raises(UserError, match="eval.metric_fn theirs:wrong_metrics: it returned"):
        evaluate("wrong_metrics")


def test_user_receivers(bench, theirs):
    schema, hparams = bench.build_schema(LABEL), HParams(bench.build_config())
    built = bench.build(bench.build_config(model={"type": "dnn"}), schema)
    built.train(bench.feed(bench.positive), steps=1)
    receiver_fn = make_user_receiver_fn("theirs:receiver", hparams, schema)
    built.export_saved_model(str(bench.folder / "export"), receiver_fn)
    for name, told in (
        ("poor_receiver", "its features lack color, which the model needs"),
        ("nothing", "it requires run_config; the parameters available are hparams, schema"),
    ):
        with pytest.raises(UserError, match=f"export.receiver_fn theirs:{name}: {told}"):
            make_user_receiver_fn(f"theirs:{name}", hparams, schema)


def test_user_hooks(bench, theirs):
    counted = []
    hparams = HParams(bench.build_config(user={"counted": counted}))
    # Validation would copy the list, so it is set afterwards.
    hparams._values["counted"] = counted
    schema = bench.build_schema(LABEL)
    built = bench.build(bench.build_config(model={"type": "linear"}), schema)
    hooks = build_user_hooks(["theirs:Counter", "theirs:two_hooks"], None, hparams, schema)
    assert len(hooks) == 3
    built.train(bench.feed(bench.positive), steps=4, hooks=hooks)
    assert len(counted) == 4
    failing = build_user_hooks(["theirs:Fails"], None, hparams, schema)
    with pytest.raises(UserError, match="train.hooks theirs:Fails: its before_run failed: KeyErr"):
        built.train(bench.feed(bench.positive), steps=1, hooks=failing)
    for name in ("nothing", "tf"):
        with pytest.raises(UserError, match=f"train.hooks theirs:{name}: "):
            build_user_hooks([f"theirs:{name}"], None, hparams, schema)


EXPERIMENT = """
    import tensorflow as tf

    def input_fn(value, epochs=None):
        def make():
            data = tf.data.Dataset.from_tensor_slices(({"x": [1.0, 2.0]}, [value, 2 * value]))
            return data.repeat(epochs).batch(2)
        return make

    def receiver():
        x = tf.compat.v1.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    def parts(config, value, max_steps):
        estimator = tf.estimator.LinearRegressor(
            [tf.feature_column.numeric_column("x")], config=config
        )
        train_spec = tf.estimator.TrainSpec(input_fn(value, None if max_steps else 6), max_steps)
        exporter = tf.estimator.FinalExporter("theirs", receiver)
        eval_spec = tf.estimator.EvalSpec(
            input_fn(value, 1), steps=None, exporters=exporter, throttle_secs=0
        )
        return estimator, train_spec, eval_spec

    def experiment(run_config, hparams):
        return parts(run_config, hparams.value, hparams.get("steps"))

    def trainer_fn(trainer_fn_args, schema):
        args = trainer_fn_args
        config = tf.estimator.RunConfig(save_checkpoints_steps=3).replace(
            model_dir=args.serving_model_dir
        )
        print("ARGS", sorted(vars(args)), args.train_files, args.hyperparameters, schema)
        estimator, train_spec, eval_spec = parts(config, 4.0, args.train_steps)
        return {
            "estimator": estimator,
            "train_spec": train_spec,
            "eval_spec": eval_spec,
            "eval_input_receiver_fn": receiver,
        }

    def half(run_config):
        return parts(run_config, 1.0, 5)[:2]

    def swapped(run_config):
        estimator, train_spec, eval_spec = parts(run_config, 1.0, 5)
        return estimator, eval_spec, train_spec
"""


def run_task(capsys, *argv):
    status = task.main(list(argv))
    return status, capsys.readouterr()


@pytest.mark.parametrize("steps", [7, None])
def test_user_experiment(tmp_path, theirs, capsys, steps):
    theirs(EXPERIMENT)
    job = tmp_path / "job"
    flags = ["--experiment=theirs:experiment", "--user.value=3.0", f"--job_dir={job}"]
    flags += [f"--user.steps={steps}"] if steps else []
    status, told = run_task(capsys, *flags)
    assert status == 0, told.err
    # Without max_steps the input decides: six epochs of one batch.
    end = steps or 6
    assert f"step {end}/{end}" in told.err if steps else f"step {end} " in told.err
    assert "steps/s" in told.err and "examples/s" not in told.err
    metrics = json.loads((job / "metrics.json").read_text())
    assert metrics["end_step"] == end and metrics["last"]["step"] == end
    assert len(metrics["exports"]["theirs"]) == 1 and metrics["exports"]["theirs"][0] in told.out
    assert (job / "curves.png").stat().st_size > 1000 and (job / "summary.txt").exists()
    if steps:
        status, told = run_task(capsys, *flags)
        assert status == 0 and "final evaluation and export" in told.err


@pytest.mark.newest
def test_a_copied_experiment_leaves_the_original_checkpoints_alone(tmp_path, theirs, capsys):
    theirs(EXPERIMENT)
    job, copied = tmp_path / "job", tmp_path / "copied"

    def flags(folder, steps):
        own = ["--experiment=theirs:experiment", "--user.value=3.0", f"--user.steps={steps}"]
        return [*own, f"--job_dir={folder}", "--run.keep_checkpoint_max=1"]

    assert run_task(capsys, *flags(job, 3))[0] == 0
    shutil.copytree(job, copied)
    state = (copied / "checkpoint").read_text()
    (copied / "checkpoint").write_text(state.replace('"model', f'"{job}/model'))
    before = {path.name: path.read_bytes() for path in job.glob("model.ckpt-*")}
    status, told = run_task(capsys, *flags(copied, 6))
    assert status == 0 and "which are left alone" in told.err
    assert {path.name: path.read_bytes() for path in job.glob("model.ckpt-*")} == before
    assert [path.name for path in copied.glob("model.ckpt-*.index")] == ["model.ckpt-6.index"]


def test_dry_run_of_an_experiment_does_not_change_job_dir(tmp_path, theirs, capsys):
    theirs(EXPERIMENT)
    job = tmp_path / "job"
    flags = ["--experiment=theirs:experiment", "--user.value=3.0", f"--job_dir={job}", "--dry_run"]
    status, told = run_task(capsys, *flags)
    assert status == 0 and "dry run: all is well" in told.err
    assert not job.exists()


def test_tfx_trainer_fn(tmp_path, theirs, capsys):
    folder = theirs(EXPERIMENT)
    job = tmp_path / "job"
    status, told = run_task(
        capsys,
        "--trainer_fn=theirs:trainer_fn",
        f"--train_data={folder}",
        "--eval_data=a*,b",
        "--train_steps=5",
        "--user.units=[3, 4]",
        f"--job_dir={job}",
    )
    assert status == 0, told.err
    attributes = (
        "train_files eval_files transform_output serving_model_dir eval_model_dir train_steps "
        "eval_steps schema_path base_model custom_config hyperparameters"
    )
    for name in attributes.split():
        assert f"'{name}'" in told.out
    assert f"['{folder}/*'] {{'units': [3, 4]}} None" in told.out
    assert "tensorflow_model_analysis is not installed" in told.err
    assert json.loads((job / "metrics.json").read_text())["end_step"] == 5
    # The user's own RunConfig decides about checkpoints.
    assert {path.name for path in job.glob("model.ckpt-*.index")} >= {"model.ckpt-3.index"}


@pytest.mark.newest
@pytest.mark.parametrize(
    "flags, told",
    [
        (["--experiment=theirs:half"], "experiment theirs:half: it returned "),
        (["--experiment=theirs:swapped"], "its train_spec is EvalSpec("),
        (["--experiment=theirs:experiment"], "no hyperparameter 'value'; give --user.value="),
        (["--experiment=theirs:gone"], "experiment theirs:gone: module theirs has no 'gone'"),
        (["--trainer_fn=theirs:receiver"], "tfx.trainer_fn theirs:receiver: it failed: TypeError"),
        (
            ["--trainer_fn=theirs:trainer_fn", "--tfx.base_model=/no/such"],
            "tfx.base_model: nothing at '/no/such'",
        ),
        (
            ["--trainer_fn=theirs:trainer_fn", "--data.schema_file=s.pbtxt"],
            "data.schema_file ",
        ),
        (["--experiment=theirs"], "--experiment: got 'theirs': write package.module:name"),
    ],
)
def test_errors_of_a_user_experiment_are_one_line(tmp_path, theirs, capsys, flags, told):
    theirs(EXPERIMENT)
    status, output = run_task(capsys, *flags, f"--job_dir={tmp_path / 'job'}")
    lines = output.err.splitlines()
    assert status == 2 and told in lines[-1] and lines[-1].startswith("error: ")
    assert "Traceback" not in output.err


@pytest.mark.newest
def test_debug_shows_the_traceback(tmp_path, theirs, capsys):
    theirs("def experiment():\n    return {}['lost']\n")
    flags = ["--experiment=theirs:experiment", f"--job_dir={tmp_path / 'job'}"]
    status, told = run_task(capsys, *flags, "--verbosity=debug")
    assert status == 2 and "Traceback" in told.err and "return {}['lost']" in told.err
    assert told.err.splitlines()[-1].startswith("error: experiment theirs:experiment: it failed: ")


@pytest.mark.newest
def test_error_of_a_failed_operation_is_shortened():
    # TensorFlow's message starts with stack frames.
    message = (
        "Graph execution error:\n\nDetected at node 'head/Cast' defined at (most recent call last):"
        '\n    File "<frozen runpy>", line 198, in _run_module_as_main\n'
        "Node: 'head/Cast'\nCast string to float is not supported\n\t [[{{node head/Cast}}]]\n\n"
        "Original stack trace for 'head/Cast':\n  File \"task.py\", line 3, in <module>\n"
    )
    with pytest.raises(UserError) as caught, translate_user_errors("model.type a:b", "its graph"):
        raise tf.errors.UnimplementedError(None, None, message)
    told = str(caught.value)
    assert "UnimplementedError: Cast string to float is not supported (operation head/Cast)" in told
    assert "frozen" not in told and "\n" not in told


@pytest.mark.newest
def test_examples_in_the_documentation(make, theirs, shop, tmp_path, capsys):
    blocks = (make.root / "docs" / "models.md").read_text().split("```python\n")[1:]
    theirs("\n".join(block.split("```")[0] for block in blocks))
    job = tmp_path / "job"
    schema = make.yaml(tmp_path / "schema.yaml", make.schema_values("bought", key=False))
    status, told = run_task(
        capsys,
        "--model=theirs:build",
        "--user.width=4",
        "--eval.metric_fn=theirs:metrics",
        "--export.receiver_fn=theirs:receiver",
        "--export.best_metric=mean_score",
        "--export.best_mode=max",
        "--train.hooks=theirs:CountSteps",
        f"--data.schema_file={schema}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        "--train_steps=5",
        f"--job_dir={job}",
    )
    assert status == 0, told.err
    last = json.loads((job / "metrics.json").read_text())["last"]
    assert last["step"] == 5 and 0 < last["mean_score"] < 1 and "auc" in last
    assert "exports: 2 loaded in a fresh process\n" in told.err
    # export.best_metric is a column of the summary.
    (header,) = [line for line in told.out.splitlines() if line.split()[:2] == ["loss", "auc"]]
    assert header.endswith("  mean_score")
    flags = ["--experiment=theirs:experiment", "--train_steps=3", f"--job_dir={tmp_path / 'own'}"]
    status, told = run_task(capsys, *flags)
    assert status == 0 and "step 3/3" in told.err, told.err
