"""trainer.export.exporters and receivers: which exports are kept, and their signatures."""

import json
import shutil

import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.export.exporters import BestExporter, build_exporters, list_exports
from trainer.prediction.predictor import Predictor


class Fake:
    """A fake Estimator, whose exports are folders named by a timestamp."""

    def __init__(self):
        self.stamp = 1_700_000_000

    def export_saved_model(self, folder, receiver_fn, assets_extra=None, checkpoint_path=None):
        from pathlib import Path

        self.stamp += 1
        path = Path(folder) / str(self.stamp)
        path.mkdir(parents=True)
        (path / "saved_model.pb").write_text(str(checkpoint_path))
        return str(path)


def _best(tmp_path, values, metric="auc", direction="max", keep=3, exporter=None):
    """Passes evaluations to an exporter; returns for each whether it was exported."""
    exporter = exporter or BestExporter(None, metric, direction, keep)
    fake, folder = Fake(), str(tmp_path / "best")
    fake.stamp += len(list_exports(folder))
    return [
        exporter.export(fake, folder, f"ckpt-{step}", {metric: value, "global_step": step}, False)
        is not None
        for step, value in enumerate(values)
    ]


@pytest.mark.newest
def test_best_exports_only_improvements(tmp_path):
    assert _best(tmp_path, [0.7, 0.6, 0.8, 0.8, 0.9]) == [True, False, True, False, True]
    state = json.loads((tmp_path / "best" / "best.json").read_text())
    assert state == {"metric": "auc", "value": 0.9, "step": 4}


@pytest.mark.newest
def test_best_of_a_falling_metric(tmp_path):
    values = [0.7, 0.6, 0.8, 0.5]
    assert _best(tmp_path, values, "loss", "min") == [True, True, False, True]


def test_best_remembers_across_restarts(tmp_path):
    _best(tmp_path, [0.7, 0.9])
    # A new process has a new exporter, and the event files may have been deleted.
    assert _best(tmp_path, [0.8, 0.95]) == [False, True]


@pytest.mark.newest
def test_best_restarts_with_another_metric(tmp_path):
    _best(tmp_path, [0.9])
    assert _best(tmp_path, [0.3], "accuracy") == [True]


@pytest.mark.newest
def test_best_restarts_with_other_evaluation_data(tmp_path):
    """A job that is trained every night may be evaluated on the rows of that day."""

    def export(values, data):
        exporter = BestExporter(None, "auc", "max", 3, eval_data=data)
        return _best(tmp_path, values, exporter=exporter)

    # An older version has recorded no data.
    _best(tmp_path, [0.7])
    assert export([0.6, 0.9], data=1) == [False, True]
    assert export([0.8, 0.95], data=1) == [False, True]
    assert export([0.8, 0.7], data=2) == [True, False]


@pytest.mark.newest
def test_best_keeps_the_newest_exports(tmp_path):
    _best(tmp_path, [0.1, 0.2, 0.3, 0.4], keep=2)
    kept = list_exports(str(tmp_path / "best"))
    assert [path[-1] for path in kept] == ["3", "4"]


@pytest.mark.newest
def test_best_ignores_values_that_are_not_finite(tmp_path):
    assert _best(tmp_path, [float("nan"), 0.5, float("nan")]) == [False, True, False]


@pytest.mark.newest
def test_best_of_an_unknown_metric(tmp_path):
    exporter = BestExporter(None, "acu", "max", 3)
    with pytest.raises(UserError, match="no metric 'acu'; did you mean auc?"):
        exporter.export(Fake(), str(tmp_path), "ckpt", {"auc": 1.0, "global_step": 1}, False)


@pytest.mark.newest
def test_unfinished_exports_are_not_listed(tmp_path):
    for name in ("1700000010", "999", "temp-1700000011", "best.json"):
        (tmp_path / name).mkdir()
    assert [path.rpartition("/")[2] for path in list_exports(str(tmp_path))] == [
        "999",
        "1700000010",
    ]
    assert list_exports(str(tmp_path / "nowhere")) == []


def test_build_exporters(make):
    export = make.config(export={"exporters": "final,latest,best,final"}).export
    made = build_exporters(export, None, "loss", "min")
    assert [exporter.name for exporter in made] == ["final", "latest", "best"]


@pytest.fixture(scope="module")
def exported(trained):
    """A job with exports of every exporter."""
    return trained(
        "linear",
        "bought",
        run={"save_checkpoints_steps": 15},
        export={"exporters": ["latest", "best", "final"], "keep": 2, "best_metric": "auc"},
    )


def test_number_of_exports(exported):
    exports = exported.result.exports
    assert len(exported.read("eval")) == 4
    assert len(exports["latest"]) == 2
    assert 1 <= len(exports["best"]) <= 2
    assert len(exports["final"]) == 1


def test_a_job_that_ends_every_night_keeps_the_newest_final_exports(exported, make, tmp_path):
    folder = shutil.copytree(exported.folder, tmp_path / "job")
    for steps in (70, 80, 90):
        train = exported.config.train.model_copy(update={"max_steps": steps})
        changes = {"train": train, "job_dir": str(folder)}
        _, result = make.run(exported.config.model_copy(update=changes), exported.schema)
        assert len(result.exports["final"]) <= 2


def test_best_export_is_of_the_best_evaluation(exported):
    state = json.loads((exported.folder / "export" / "best" / "best.json").read_text())
    best = max(exported.read("eval"), key=lambda record: record["auc"])
    assert (state["step"], state["value"]) == (best["step"], pytest.approx(best["auc"]))


@pytest.mark.parametrize(
    ("label", "outputs"),
    [
        ("bought", {"predict", "classification", "regression"}),
        ("price", {"predict", "regression"}),
        ("grade", {"predict", "classification"}),
    ],
)
def test_signatures(trained, label, outputs):
    names = set(Predictor(trained("linear", label).export).signatures)
    if label == "price":
        # The default signature of a regressor is its "regression".
        outputs = outputs - {"regression"}
    assert {"serving_default", *outputs} <= names
    # The other two inputs; classification and regression take tf.Example strings only.
    assert {"json:predict", "csv:predict"} <= names


@pytest.mark.parametrize("receiver", ["json", "csv"])
def test_receiver_decides_the_default_signature(trained, make, receiver):
    done = trained("baseline", "bought", export={"exporters": ["final"], "receiver": receiver})
    predictor = Predictor(done.export)
    default = predictor.signatures["serving_default"]
    wanted = {"csv"} if receiver == "csv" else {"age", "hours", "city", "job", "level", "id"}
    assert set(default.inputs) == wanted
    assert {"probabilities", "id"} <= set(default.outputs)
    rows = make.rows(2, missing=False)
    assert len(predictor.predict(rows)) == 2


def test_classify_and_regress_of_examples(trained, make):
    rows = make.rows(3, seed=8, missing=True)
    for label, signature, output in (
        ("bought", "classification", "scores"),
        ("price", "serving_default", "outputs"),
    ):
        done = trained("linear", label)
        names = done.schema.used_features
        serialized = [make.example({name: row[name] for name in names}) for row in rows]
        model = tf.saved_model.load(done.export)
        answer = model.signatures[signature](tf.constant(serialized))
        assert answer[output].shape[0] == 3


def test_a_copied_export_needs_no_other_files(exported, tmp_path):
    # A copy elsewhere works: nothing in it refers to job_dir.
    shutil.copytree(exported.result.exports["final"][-1], tmp_path / "model")
    model = tf.saved_model.load(str(tmp_path / "model"))
    line = "r1,30.5,20,Ulm,nurse,3,,,,,,"
    answer = model.signatures["csv:predict"](csv=tf.constant([line]))
    assert answer["id"].numpy().tolist() == [b"r1"]
