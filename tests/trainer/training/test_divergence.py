"""A model that diverges is neither saved nor exported, and the printed advice helps."""

import math

import numpy as np
import pytest

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.job_dir import checkpoints, compatibility
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_dir.quarantine import quarantine_corrupt
from trainer.signals import SignalWatch
from trainer.training.divergence import Diverged, FiniteListener
from trainer.training.stopping import ListenersHook

pytestmark = pytest.mark.newest


def _run(make, shop, folder, watch=None, **train):
    config = make.config(
        folder,
        shop / "train.csv",
        shop / "eval.csv",
        model={"type": "linear", "engine": train.pop("engine")},
        train={"batch_size": 50, "linear_optimizer": "sgd", **train},
        run={"save_checkpoints_steps": 4},
        export={"exporters": ["latest", "final"], "verify": False},
    )
    return make.run(config, make.schema("price"), watch=watch)


# The update of the last step is the first that diverges: no later loss shows it.
@pytest.mark.parametrize("engine", ["fused", "canned"])
def test_the_job_goes_on_with_the_advised_rate(make, shop, tmp_path, engine):
    folder = tmp_path / "job"
    with pytest.raises(UserError, match=r"became infinite or NaN at step 1\b.*--learning_rate"):
        _run(make, shop, folder, engine=engine, learning_rate=1e38, max_steps=1)
    assert not list(folder.glob("export/*/*"))
    steps = map(checkpoints.read_step, checkpoints.list_checkpoints(str(folder)))
    assert max(steps, default=0) == 0
    _, result = _run(make, shop, folder, engine=engine, learning_rate=1e-6, max_steps=8)
    assert result.end_step == 8
    assert result.exports["final"] and result.exports["latest"]
    weights = tf.train.load_checkpoint(result.checkpoints[-1])
    for name in weights.get_variable_to_shape_map():
        assert np.isfinite(weights.get_tensor(name)).all(), name


def test_a_model_whose_predictions_are_not_finite_is_not_exported(make, shop, tmp_path):
    folder = tmp_path / "job"
    # The weights are finite, and their squared errors are not.
    with pytest.raises(UserError, match=r"ckpt-1: its loss .* is inf, .* lower --learning_rate"):
        _run(make, shop, folder, engine="fused", learning_rate=1e30, max_steps=1)
    assert not list(folder.glob("export/*/*"))
    # It is recorded, so that a search of hyperparameters sees it.
    assert [line["loss"] for line in MetricsLog(str(folder)).read("eval")] == [math.inf]
    compatibility.delete_job(str(folder), str(folder))
    _, result = _run(make, shop, folder, engine="fused", learning_rate=1e-6, max_steps=1)
    assert result.exports["final"] and result.exports["latest"]


def _save(folder, step, value):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.get_variable("bias", initializer=np.float32(value))
        count = tf.compat.v1.train.create_global_step()
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(count.assign(step))
        path = str(folder / "model.ckpt")
        tf.compat.v1.train.Saver().save(session, path, step, write_meta_graph=False)


def test_a_job_resumes_from_the_newest_checkpoint_without_nan(tmp_path):
    for step, value in ((10, 0.5), (20, math.nan), (30, math.nan)):
        _save(tmp_path, step, value)
    told = []
    assert quarantine_corrupt(str(tmp_path), told.append)
    assert checkpoints.read_step(checkpoints.latest_checkpoint(str(tmp_path))) == 10
    assert len(told) == 1 and "bias is NaN" in told[0]


INTERRUPT = """
import os
import signal

from estimator_bridge import estimator


class Interrupt(estimator.SessionRunHook):
    def __init__(self, hparams):
        pass

    def before_run(self, run_context):
        os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_signal_in_the_step_that_diverges_saves_nothing(make, shop, tmp_path, monkeypatch):
    (tmp_path / "diverging_hooks.py").write_text(INTERRUPT)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "job"
    rates = {"engine": "canned", "learning_rate": 1e38, "max_steps": 5}
    with SignalWatch() as watch, pytest.raises(UserError, match="infinite or NaN at step 1"):
        _run(make, shop, folder, **rates, hooks="diverging_hooks:Interrupt", watch=watch)
    steps = map(checkpoints.read_step, checkpoints.list_checkpoints(str(folder)))
    assert list(steps) == [0]


def test_a_saver_without_listeners_saves_no_nan(tmp_path):
    saved = []

    class Listener(estimator.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            saved.append(global_step_value)

    with tf.Graph().as_default():
        step = tf.compat.v1.train.create_global_step()
        value = tf.compat.v1.get_variable("bias", initializer=0.5)
        with tf.control_dependencies([step.assign_add(1)]):
            train = value.assign(tf.where(step < 3, 0.5, math.nan))
        session = tf.compat.v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            save_checkpoint_steps=1,
            hooks=[ListenersHook([FiniteListener(), Listener()])],
        )
        with pytest.raises(Diverged, match="variable bias is infinite or NaN"), session:
            while not session.should_stop():
                session.run(train)
    assert saved
    for path in checkpoints.list_checkpoints(str(tmp_path)):
        assert checkpoints.find_corruption(path) is None
