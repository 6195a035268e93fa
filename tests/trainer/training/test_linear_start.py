"""trainer.training.linear_start: both engines begin as the same linear model."""

import io

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.console import Console
from trainer.errors import UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.models import linear_start


@pytest.fixture(autouse=True)
def _few_rows_suffice(monkeypatch):
    """The schema of these rows has crosses, so it has more weights than its rows are good for."""
    monkeypatch.setattr(linear_start, "MIN_ROWS", 1)


def _train(make, shop, folder, label, steps=3, **sections):
    """Trains a small job; returns (name → value of each checkpoint by step, what was shown)."""
    stream = io.StringIO()
    train = {"max_steps": steps, "batch_size": 50, "linear_start": True}
    config = make.config(
        folder,
        shop / "train.csv",
        shop / "eval.csv",
        train={**train, **sections.pop("train", {})},
        model={"hidden_units": [8], **sections.pop("model", {})},
        run={"keep_checkpoint_max": 0, "checkpoint_at_steps": [1]},
        export={"exporters": []},
        **sections,
    )
    make.run(config, make.schema(label), Console(stream))
    values = {}
    for path in folder.glob("model.ckpt-*.index"):
        reader = tf.train.load_checkpoint(str(path)[: -len(".index")])
        names = reader.get_variable_to_shape_map()
        step = int(path.stem.rpartition("-")[2])
        values[step] = {name: reader.get_tensor(name) for name in names}
    return values, stream.getvalue()


@pytest.mark.versions
@pytest.mark.parametrize("label", ["bought", "price", "colour"])
def test_both_engines_begin_as_the_same_linear_model(make, shop, tmp_path, label):
    found, said = {}, ""
    for engine in ("canned", "fused"):
        model = {"engine": engine}
        found[engine], said = _train(make, shop, tmp_path / engine, label, model=model)
    assert "start: as the linear model of 600 training rows" in said
    for step, canned in found["canned"].items():
        for name, value in canned.items():
            fused = found["fused"][step][name]
            np.testing.assert_allclose(fused, value, rtol=2e-5, atol=2e-5, err_msg=f"{step} {name}")
    start = found["fused"][0]
    assert not start["dnn/logits/kernel"].any()
    assert np.abs(start["linear/linear_model/bias_weights"]).min() > 0
    # Ftrl keeps the weights: none is taken back to 0 by the first step.
    after = found["fused"][1]
    for name in start:
        if name.startswith("linear/"):
            np.testing.assert_allclose(after[name], start[name], atol=0.06, err_msg=name)


def test_the_first_evaluation_is_better_than_the_untrained_models(make, shop, tmp_path):
    losses = {}
    for begins in (True, False):
        folder = tmp_path / str(begins)
        _train(make, shop, folder, "price", 1, train={"linear_start": begins})
        losses[begins] = MetricsLog(str(folder)).read("eval")[0]["loss"]
    assert losses[True] < 0.5 * losses[False]


def test_a_resumed_job_goes_on(make, shop, tmp_path):
    before, _ = _train(make, shop, tmp_path, "bought", 3)
    after, said = _train(make, shop, tmp_path, "bought", 4)
    assert "start:" not in said
    name = "linear/linear_model/bias_weights"
    np.testing.assert_allclose(after[4][name], before[3][name], atol=0.1)
    assert after[4]["dnn/logits/kernel"].any()


def test_too_few_rows_for_the_weights_begin_without_it(make, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(linear_start, "MIN_ROWS", 100)
    values, said = _train(make, shop, tmp_path, "bought", 1)
    assert "start: untrained, as 600 rows are too few for the " in said
    assert values[0]["dnn/logits/kernel"].any()


def test_a_start_that_is_not_possible_is_refused(make, shop, tmp_path):
    with pytest.raises(UserError, match="train.linear_start: not with model.type linear; set it"):
        _train(make, shop, tmp_path, "bought", model={"type": "linear"})
