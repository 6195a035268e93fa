"""The fused engine compared with the canned models: losses, checkpoints, evaluations, exports."""

import numpy as np
import pytest

from estimator_bridge import estimator, tf
from trainer.cluster.run_config import build_run_config
from trainer.errors import UserError
from trainer.export.receivers import make_serving_receiver_fn
from trainer.export.serving_session import ServingSession
from trainer.features.raw_inputs import list_inputs
from trainer.inputs.dataset import DTYPES, make_eval_input_fn, make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.job_dir.checkpoints import latest_checkpoint
from trainer.models.build import build_estimator, build_preparation
from trainer.models.fused import layout, training
from trainer.models.fused.engine import Engine, choose_engine
from trainer.schema import Range, Schema, Statistics
from trainer.training.job import build_source

CANNED, FUSED = Engine("canned"), Engine("fused")


class _Losses(estimator.SessionRunHook):
    def __init__(self):
        self.values = []

    def begin(self):
        self._loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        self.values.append(float(run_values.results))


class _Bench:
    """Jobs on the shop's rows, with missing values."""

    def __init__(self, make, folder):
        self._make = make
        self.folder = folder
        self.path = make.csv(folder / "rows.csv", make.rows(400, seed=3, missing=True))

    def prepare(self, label="bought", schema=None, **sections):
        """Returns a prepared job for one of the shop's labels."""
        options = {"hidden_units": [8, 4], **sections.pop("model", {})}
        train = {"learning_rate": 0.05, "batch_size": 50, "max_steps": 40, **sections["train"]}
        config = self._make.config(
            self.folder / "unused",
            self.path,
            model=options,
            train=train,
            run={"save_checkpoints_steps": 10_000, "save_summary_steps": 20},
        )
        return self._make.prepare(config, schema or self._make.schema(label))

    def build(self, job, engine, name):
        """Returns the Estimator of a job, in a folder of that name."""
        run_config = build_run_config(job.config).replace(model_dir=str(self.folder / name))
        parts = (job.config, job.schema, job.statistics)
        return build_estimator(*parts, run_config, job.max_steps, engine)

    def train(self, job, engine, name, steps=20, first=0, together=0):
        """Trains; returns the loss of each run of the session, of `together` steps or of one."""
        built, losses = self.build(job, engine, name), _Losses()
        size = job.config.train.batch_size
        input_fn = make_train_input_fn(
            build_source(job, True), job.schema, BatchSchedule(lambda step: size, first), (1, 0)
        )

        def stacked():
            data = input_fn().take(steps)
            return data.batch(together) if together else data

        # max_steps ends training before the input does: at its end, a canned step would run the
        # operations that do not depend on a batch.
        built.train(stacked, hooks=[losses], max_steps=first + steps)
        return losses.values

    def read(self, name):
        """Returns variable name → value of the newest checkpoint."""
        checkpoint = latest_checkpoint(str(self.folder / name))
        return {
            variable: tf.train.load_variable(checkpoint, variable)
            for variable, _ in tf.train.list_variables(checkpoint)
        }


@pytest.fixture(scope="module")
def bench(make, tmp_path_factory):
    return _Bench(make, tmp_path_factory.mktemp("fused"))


def _assert_same_checkpoints(found, wanted, rtol=2e-5):
    assert {name: value.shape for name, value in found.items()} == {
        name: value.shape for name, value in wanted.items()
    }
    for name, value in wanted.items():
        atol = 2e-6
        if name.endswith("/linear"):
            # Sums of gradients, which cancel: their error is relative to the largest of them.
            atol = max(atol, float(np.finfo(np.float32).eps * np.abs(value).max()))
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)


CASES = {
    "adagrad-ftrl": (
        "bought",
        {"type": "wide_deep", "dropout": 0.2},
        {"l1": 0.01, "l2": 0.01, "decay": "exponential", "warmup_steps": 5},
    ),
    "adam-adam": (
        "price",
        {"type": "wide_deep"},
        {"optimizer": "adam", "linear_optimizer": "adam"},
    ),
    "ftrl-momentum": (
        "colour",
        {"type": "wide_deep", "activation": "tanh"},
        {
            "optimizer": "ftrl",
            "linear_optimizer": "momentum",
            "loss_reduction": "sum",
            "learning_rate": 0.002,
        },
    ),
    "momentum": ("grade", {"type": "dnn"}, {"optimizer": "momentum"}),
    "rmsprop-sgd": (
        "flag",
        {"type": "wide_deep"},
        {"optimizer": "rmsprop", "linear_optimizer": "sgd", "learning_rate": 0.01},
    ),
    "linear": ("bought", {"type": "linear"}, {"decay": "cosine"}),
    "momentum-linear": ("price", {"type": "linear"}, {"linear_optimizer": "momentum"}),
}


@pytest.mark.parametrize("case", CASES)
def test_training_equals_the_canned_model(bench, case):
    label, model, train = CASES[case]
    job = bench.prepare(label, model=model, train=train)
    wanted = bench.train(job, CANNED, f"{case}-canned")
    # Five steps in a run of the session must have the results of five runs.
    found = bench.train(job, FUSED, f"{case}-fused", together=5)
    np.testing.assert_allclose(found, wanted[4::5], rtol=1e-5)
    _assert_same_checkpoints(bench.read(f"{case}-fused"), bench.read(f"{case}-canned"))


@pytest.mark.newest
@pytest.mark.parametrize("case", ["adagrad-ftrl", "ftrl-momentum", "rmsprop-sgd"])
def test_large_tables_equal_small_tables(bench, monkeypatch, case):
    monkeypatch.setattr(layout, "MAX_SMALL", 12)
    label, model, train = CASES[case]
    job = bench.prepare(label, model=model, train=train)
    found = bench.train(job, FUSED, f"{case}-large", together=5)
    monkeypatch.undo()
    wanted = bench.train(job, FUSED, f"{case}-small", together=5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    _assert_same_checkpoints(bench.read(f"{case}-large"), bench.read(f"{case}-small"))


@pytest.mark.newest
def test_weight_column_and_class_weights(bench, make):
    values = make.schema_values("bought", weight=True)
    values["label"] = {**values["label"], "class_weights": {"yes": 3.0}}
    values["more_labels"] = [{"column": "price", "importance": 0.5}]
    job = bench.prepare(schema=Schema.model_validate(values), model={"type": "wide_deep"}, train={})
    wanted = bench.train(job, CANNED, "weights-canned")
    found = bench.train(job, FUSED, "weights-fused")
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.newest
def test_numeric_features_only(bench, make):
    values = make.schema_values("price")
    values["crosses"] = []
    for name, column in values["columns"].items():
        column["use"] = ["wide", "deep"] if name == "hours" else []
    job = bench.prepare(schema=Schema.model_validate(values), model={"type": "wide_deep"}, train={})
    wanted = bench.train(job, CANNED, "numbers-canned", steps=10)
    found = bench.train(job, FUSED, "numbers-fused", steps=10, together=5)
    np.testing.assert_allclose(found, wanted[4::5], rtol=1e-5)
    _assert_same_checkpoints(bench.read("numbers-fused"), bench.read("numbers-canned"))


@pytest.mark.newest
def test_losses_of_500_steps(bench):
    job = bench.prepare(model={"type": "wide_deep"}, train={"learning_rate": 0.1})
    wanted = bench.train(job, CANNED, "long-canned", steps=500)
    found = bench.train(job, FUSED, "long-fused", steps=500)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_checkpoint_continues_in_the_other_engine(bench):
    job = bench.prepare(model={"type": "wide_deep"}, train={"decay": "exponential"})
    for name, engines in (("stays", [CANNED] * 3), ("moves", [CANNED, FUSED, CANNED])):
        for number, engine in enumerate(engines):
            bench.train(job, engine, name, steps=10, first=10 * number)
    found, wanted = bench.read("moves"), bench.read("stays")
    assert found["global_step"] == 30 and found["training/Ftrl/iter"] == 30
    _assert_same_checkpoints(found, wanted)


@pytest.mark.parametrize("max_small", [layout.MAX_SMALL, 12])
def test_evaluation_prediction_and_export_equal_the_canned_model(bench, monkeypatch, max_small):
    monkeypatch.setattr(layout, "MAX_SMALL", max_small)
    job = bench.prepare("colour", model={"type": "wide_deep"}, train={})
    bench.train(job, FUSED, "used", together=5)
    rows = build_source(job, False)
    receiver_fn = make_serving_receiver_fn(job.schema, job.statistics, "json", ",")
    results, predictions, exports = [], [], []
    for engine in (CANNED, FUSED):
        built = bench.build(job, engine, "used")
        results.append(built.evaluate(make_eval_input_fn(rows, job.schema, 64), name=engine.name))
        one_batch = make_eval_input_fn(rows, job.schema, 64)
        predictions.append(next(built.predict(one_batch, yield_single_examples=False)))
        base = str(bench.folder / f"export-{engine.name}-{max_small}")
        exports.append(built.export_saved_model(base, receiver_fn).decode())
    assert results[0].keys() == results[1].keys()
    for name, value in results[0].items():
        assert results[1][name] == pytest.approx(value, rel=1e-5), name
    _assert_same_answers(predictions[1], predictions[0])
    _assert_same_exports(exports[1], exports[0], next(rows.read()))


def _assert_same_answers(found, wanted):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        if values.dtype == np.float32:
            np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], values, err_msg=name)


def _assert_same_exports(found, wanted, chunk):
    lists = [tf.train.list_variables(f"{path}/variables/variables") for path in (found, wanted)]
    assert lists[0] == lists[1]
    with ServingSession(found) as fused, ServingSession(wanted) as canned:
        assert fused.signatures.keys() == canned.signatures.keys()
        for name, signature in canned.signatures.items():
            assert fused.signatures[name].inputs == signature.inputs
            assert fused.signatures[name].outputs == signature.outputs
        asked = {name: chunk[name] for name in canned.signatures["predict"].inputs}
        _assert_same_answers(fused.run("predict", asked), canned.run("predict", asked))
        sizes = [len(each._session.graph.get_operations()) for each in (fused, canned)]
    assert sizes[0] < 0.75 * sizes[1], sizes


@pytest.mark.newest
def test_the_input_finds_the_distinct_rows_of_each_step(bench, monkeypatch):
    monkeypatch.setattr(layout, "MAX_SMALL", 2)
    job = bench.prepare(model={"type": "wide_deep"}, train={"linear_optimizer": "adam"})
    parts = (job.config, job.schema, job.statistics)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        tf.compat.v1.train.create_global_step()
        preparation = build_preparation(*parts)
        data = make_train_input_fn(
            build_source(job, True), job.schema, BatchSchedule(lambda step: 50), (1, 0)
        )()
        data = data.batch(3).map(preparation.begin())
        features = tf.compat.v1.data.make_initializable_iterator(data)
        rows = features.get_next()
        built = build_estimator(*parts, build_run_config(job.config), 1, FUSED)
        built.model_fn(rows, None, estimator.ModeKeys.TRAIN, built.config)
        kinds = [op.type for op in graph.get_operations()]
        assert "Unique" not in kinds
        # A step hands on its number and its loss; all that it reads enters the loop once.
        assert kinds.count("NextIteration") == 2 and "While" not in kinds
        assert tf.compat.v1.control_flow_v2_enabled()
        session.run([tf.compat.v1.tables_initializer(), features.initializer])
        found = session.run(rows)
    # Adam updates all rows.
    assert preparation.distinct == tuple(t for t in preparation.layout.deep.tables if t.is_large)
    for table in preparation.distinct:
        distinct, bounds = (
            found[f"//distinct/{table.name}"],
            found[f"//bounds//distinct/{table.name}"],
        )
        assert len(bounds) == 4 and bounds[-1] == len(distinct)
        for step in range(3):
            mine = distinct[bounds[step] : bounds[step + 1]]
            touched = (found.get(f"//touched/{table.name}", found[table.name]))[step].reshape(-1)
            assert sorted(mine) == sorted(set(touched))
            places, segments = found[f"//places/{table.name}"][step], found[table.name][step]
            wanted = segments.reshape(-1)
            assert (np.where(places < 0, -1, mine[places]) == wanted).all()


@pytest.mark.newest
@pytest.mark.parametrize("mode", [estimator.ModeKeys.EVAL, estimator.ModeKeys.PREDICT])
def test_each_column_adds_few_operations(bench, mode):
    sizes = []
    for number in (2, 22):
        names = [(f"n{each}", f"w{each}") for each in range(number)]
        columns = {"bought": {"type": "int"}}
        for number_name, word_name in names:
            columns[number_name] = {"type": "float"}
            columns[word_name] = {"type": "string", "vocabulary": ["a", "b"]}
        schema = Schema.model_validate(
            {"columns": columns, "label": {"column": "bought", "num_classes": 2}}
        )
        seen = Range(count=4, missing=0, mean=10.0, std=4.0, min=2.0, max=22.0)
        statistics = Statistics(4, {name: seen for name, _ in names})
        job = bench.prepare(model={"type": "wide_deep"}, train={})
        built = build_estimator(
            job.config, schema, statistics, build_run_config(job.config), 1, FUSED
        )
        with tf.Graph().as_default() as graph:
            tf.compat.v1.train.create_global_step()
            features = {
                name: tf.compat.v1.placeholder(DTYPES[schema.columns[name].raw_type], [None])
                for name in schema.used_features
            }
            labels = tf.compat.v1.placeholder(tf.int64, [None])
            built.model_fn(features, labels, mode, built.config)
            sizes.append(len(graph.get_operations()))
    assert sizes[1] - sizes[0] <= 4 * 40, sizes


def test_receiver_with_sparse_features_uses_the_canned_model(bench):
    job = bench.prepare("bought", model={"type": "wide_deep"}, train={})
    bench.train(job, FUSED, "sparse", together=5)
    chunk = next(build_source(job, False).read())
    kinds = {name: job.schema.columns[name].raw_type for name in list_inputs(job.schema)}
    answers = []
    for as_sparse in (False, True):

        def receiver_fn(as_sparse=as_sparse):
            given = {
                name: tf.compat.v1.placeholder(DTYPES[kind], [None], name=name)
                for name, kind in kinds.items()
            }
            features = dict(given)
            if as_sparse:
                # A column without a cross, because crosses hash sparse columns first.
                features["job"] = tf.sparse.from_dense(given["job"][:, None])
            return estimator.export.ServingInputReceiver(features, given)

        built = bench.build(job, FUSED, "sparse")
        path = built.export_saved_model(str(bench.folder / f"sparse-{as_sparse}"), receiver_fn)
        with ServingSession(path.decode()) as served:
            answers.append(served.run("predict", {name: chunk[name] for name in kinds}))
    _assert_same_answers(*answers)


@pytest.mark.newest
def test_summaries_equal_the_canned_model(bench):
    label, model, train = CASES["adagrad-ftrl"]
    tags = []
    for engine, together in ((CANNED, 0), (FUSED, 5)):
        name, found = f"adagrad-ftrl-{engine.name}", set()
        if not (bench.folder / name).exists():
            job = bench.prepare(label, model=model, train=train)
            bench.train(job, engine, name, together=together)
        for path in (bench.folder / name).glob("events*"):
            for event in tf.compat.v1.train.summary_iterator(str(path)):
                found.update(value.tag for value in event.summary.value)
        tags.append({tag for tag in found if not tag.startswith("global_step")})
    assert tags[0] == tags[1] and "dnn/hiddenlayer_0/activation" in tags[0]


def test_bfloat16_rounds_only_hidden_layers_of_training(bench, monkeypatch):
    train = {"bfloat16": True, "optimizer": "sgd", "linear_optimizer": "sgd"}
    runs = []
    for name, has in (("low", True), ("lacks", False)):
        monkeypatch.setattr(training, "has_bfloat16", lambda has=has: has)
        job = bench.prepare(model={"type": "wide_deep"}, train=train)
        runs.append((bench.train(job, FUSED, name, together=5), bench.read(name)))
    job = bench.prepare(model={"type": "wide_deep"}, train={**train, "bfloat16": False})
    wanted = bench.train(job, FUSED, "high", together=5), bench.read("high")
    # Without the processor's instructions, the option changes nothing.
    assert runs[1][0] == wanted[0]
    assert runs[0][0] != wanted[0]
    np.testing.assert_allclose(runs[0][0], wanted[0], rtol=0.01)
    assert {name: (value.shape, value.dtype) for name, value in runs[0][1].items()} == {
        name: (value.shape, value.dtype) for name, value in wanted[1].items()
    }


def _choose(bench, job):
    return choose_engine(job.config, job.schema, job.statistics)


@pytest.mark.newest
def test_auto_chooses_fused_or_gives_the_reason(bench):
    job = bench.prepare(model={"type": "wide_deep"}, train={})
    assert _choose(bench, job) == FUSED
    for section, option, value, words in (
        ("model", "batch_norm", True, "batch_norm"),
        ("model", "type", "residual", "model.type residual"),
        ("cluster", "strategy", "mirrored", "cluster.strategy mirrored"),
    ):
        part = getattr(job.config, section).model_copy(update={option: value})
        other = job._replace(config=job.config.model_copy(update={section: part}))
        chosen = _choose(bench, other)
        assert chosen.name == "canned" and words in chosen.reason
        part = other.config.model.model_copy(update={"engine": "fused"})
        insisting = other._replace(config=other.config.model_copy(update={"model": part}))
        with pytest.raises(UserError, match=f"model.engine fused: .*{words}"):
            _choose(bench, insisting)
    model = job.config.model.model_copy(update={"engine": "canned"})
    told = job._replace(config=job.config.model_copy(update={"model": model}))
    assert _choose(bench, told) == CANNED
    train = job.config.train.model_copy(update={"bfloat16": True})
    low = told._replace(config=told.config.model_copy(update={"train": train}))
    with pytest.raises(UserError, match="train.bfloat16: only the fused engine .*engine canned"):
        _choose(bench, low)
