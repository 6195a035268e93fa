"""Session hooks, each in a real training run."""

import glob
import os

import numpy as np
import pytest

from estimator_bridge import tf

from .api import x_only


def checkpoint_saver(api):
    e = api.estimator
    seen = []

    class Listener(e.CheckpointSaverListener):
        def begin(self):
            seen.append("begin")

        def before_save(self, session, global_step_value):
            seen.append(("before", int(global_step_value)))

        def after_save(self, session, global_step_value):
            seen.append(("after", int(global_step_value)))

        def end(self, session, global_step_value):
            seen.append(("end", int(global_step_value)))

    hook = e.CheckpointSaverHook(f"{api.folder}/extra", save_steps=2, listeners=[Listener()])
    api.custom().train(x_only(), hooks=[hook], steps=4)
    assert os.path.exists(f"{api.folder}/extra/model.ckpt-4.index")
    assert seen[0] == "begin" and seen[-1] == ("end", 4)
    assert ("before", 2) in seen and ("after", 2) in seen


def session_run_hook(api):
    e = api.estimator
    calls = []

    class Hook(e.SessionRunHook):
        def begin(self):
            self.doubled = tf.compat.v1.get_default_graph().get_tensor_by_name("doubled:0")
            calls.append("begin")

        def after_create_session(self, session, coord):
            calls.append("session")

        def before_run(self, run_context):
            assert isinstance(run_context, e.SessionRunContext)
            return e.SessionRunArgs({"twice": self.doubled, "once": "the_loss:0"})

        def after_run(self, run_context, run_values):
            assert isinstance(run_values, e.SessionRunValues)
            results = run_values.results
            np.testing.assert_allclose(results["twice"], 2 * results["once"], rtol=1e-6)
            calls.append("run")
            if calls.count("run") == 2:
                run_context.request_stop()

        def end(self, session):
            calls.append("end")

    api.custom().train(x_only(), hooks=[Hook()], steps=50)
    assert calls == ["begin", "session", "run", "run", "end"]


def feed_fn(api):
    e = api.estimator

    def fn():
        x = tf.compat.v1.placeholder_with_default(np.zeros((2, 1), np.float32), (None, 1), "fed")
        return {"x": x}, 3 * x

    hook = e.FeedFnHook(lambda: {"fed:0": np.ones((4, 1), np.float32)})
    model = api.custom()
    model.train(fn, hooks=[hook], steps=3)
    # Zeros have no gradient, so the kernel changes only if the hook feeds ones.
    before = tf.train.load_checkpoint(f"{api.folder}/custom/model.ckpt-0")
    after = tf.train.load_checkpoint(f"{api.folder}/custom")
    assert before.get_tensor("dense/kernel") != after.get_tensor("dense/kernel")


def final_ops(api):
    hook_made = []

    def hook_fn():
        hook_made.append(api.estimator.FinalOpsHook({"step": tf.compat.v1.train.get_global_step()}))
        return hook_made

    api.custom(hook_fn=hook_fn).train(x_only(), steps=3)
    assert hook_made[0].final_ops_values["step"] == 3


def global_step_waiter(api):
    model = api.custom()
    model.train(x_only(), steps=2)
    model.train(x_only(), hooks=[api.estimator.GlobalStepWaiterHook(2)], steps=1)
    assert model.get_variable_value("global_step") == 3


def logging_tensor(api):
    lines = []
    hook = api.estimator.LoggingTensorHook(
        {"twice": "doubled:0"}, every_n_iter=1, formatter=lambda values: lines.append(values) or ""
    )
    api.custom().train(x_only(), hooks=[hook], steps=3)
    assert len(lines) == 3 and all(set(line) == {"twice"} for line in lines)


def nan_tensor(api):
    e = api.estimator

    def nothing():
        return {"x": tf.constant([[np.nan]])}, tf.constant([[1.0]])

    model = api.custom()
    with pytest.raises(e.NanLossDuringTrainingError):
        model.train(nothing, hooks=[e.NanTensorHook("the_loss:0")], steps=2)
    quiet = e.NanTensorHook("doubled:0", fail_on_nan_loss=False)
    with pytest.raises(e.NanLossDuringTrainingError):  # The Estimator's own hook.
        api.custom("other").train(nothing, hooks=[quiet], steps=2)


def profiler(api):
    with tf.Graph().as_default():  # The hook's summary writer needs graph mode.
        hook = api.estimator.ProfilerHook(save_steps=2, output_dir=api.folder)
    api.custom().train(x_only(), hooks=[hook], steps=4)
    assert glob.glob(f"{api.folder}/timeline-*.json")


def timer(api):
    timer = api.estimator.SecondOrStepTimer(every_steps=3)
    triggered = []
    for step in range(7):
        if timer.should_trigger_for_step(step):
            timer.update_last_triggered_step(step)
            triggered.append(step)
    assert triggered == [0, 3, 6] and timer.last_triggered_step() == 6


def step_counter(api):
    hook = api.estimator.StepCounterHook(every_n_steps=2, output_dir=f"{api.folder}/count")
    api.custom().train(x_only(), hooks=[hook], steps=6)
    assert "global_step/sec" in _tags(f"{api.folder}/count")


def stop_at_step(api):
    model = api.custom()
    model.train(x_only(), hooks=[api.estimator.StopAtStepHook(num_steps=3)])
    assert model.get_variable_value("global_step") == 3
    model.train(x_only(), hooks=[api.estimator.StopAtStepHook(last_step=5)])
    assert model.get_variable_value("global_step") == 5


def summary_saver(api):
    def hook_fn():
        summary = tf.compat.v1.summary.scalar("ours", tf.constant(1.0))
        folder = f"{api.folder}/summaries"
        return [api.estimator.SummarySaverHook(save_steps=1, output_dir=folder, summary_op=summary)]

    api.custom(hook_fn=hook_fn).train(x_only(), steps=2)
    assert "ours" in _tags(f"{api.folder}/summaries")


def _tags(folder):
    """Returns the tags of the scalar summaries in a folder's event files."""
    return {
        value.tag
        for path in glob.glob(f"{folder}/events*")
        for event in tf.compat.v1.train.summary_iterator(path)
        for value in event.summary.value
    }


USES = {
    "CheckpointSaverHook": checkpoint_saver,
    "CheckpointSaverListener": checkpoint_saver,
    "FeedFnHook": feed_fn,
    "FinalOpsHook": final_ops,
    "GlobalStepWaiterHook": global_step_waiter,
    "LoggingTensorHook": logging_tensor,
    "NanLossDuringTrainingError": nan_tensor,
    "NanTensorHook": nan_tensor,
    "ProfilerHook": profiler,
    "SecondOrStepTimer": timer,
    "SessionRunArgs": session_run_hook,
    "SessionRunContext": session_run_hook,
    "SessionRunHook": session_run_hook,
    "SessionRunValues": session_run_hook,
    "StepCounterHook": step_counter,
    "StopAtStepHook": stop_at_step,
    "SummarySaverHook": summary_saver,
}
