"""trainer.phase_timer: every second belongs to one phase; the wait for batches is measured."""

import subprocess
import sys
import time

import pytest

from estimator_bridge import estimator, tf
from trainer.phase_timer import Times, TimesHook, TimesListener, process_age
from trainer.training.hooks import NearEndHook


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_nested_phases_and_their_sum():
    clock = Clock()
    times = Times(clock, before=2.0)
    clock.now += 1
    with times.within("checkpoint"):
        clock.now += 0.5
    times.turn_to("training")
    clock.now += 10
    times.add_wait(4)
    with times.within("evaluation"):
        clock.now += 3
        with times.within("export"):
            clock.now += 2
        clock.now += 1
    with pytest.raises(ValueError, match="stop"), times.within("export"):
        clock.now += 0.25
        raise ValueError("stop")
    times.turn_to("report")
    clock.now += 0.25
    each = times.read_each()
    assert each == {"checkpoint": [0.5], "export": [2.0, 0.25], "evaluation": [6.0]}
    told = times.read()
    assert told == {
        "start-up": 3.0,
        "input wait": 4.0,
        "compute": 6.0,
        "checkpoint": 0.5,
        "evaluation": 4.0,
        "export": 2.25,
        "verify": 0.0,
        "report": 0.25,
        "all": 20.0,
    }
    assert list(told)[-1] == "all"
    # One leave too many ends nothing.
    times.leave()
    clock.now += 1
    assert times.read()["report"] == 1.25


def test_no_more_wait_than_training():
    clock = Clock()
    times = Times(clock)
    times.turn_to("training")
    clock.now += 1
    times.add_wait(5)
    assert (times.read()["input wait"], times.read()["compute"]) == (1, 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="told by /proc")
def test_the_age_of_the_process():
    program = (
        "import time; time.sleep(0.3); from trainer.phase_timer import process_age; "
        "began = time.monotonic(); print(process_age())"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 0.3 < float(done.stdout) < time.monotonic() - began + 0.05
    assert process_age() > 0.3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="told by /proc")
def test_the_age_of_a_process_that_has_replaced_another_program():
    age = "from trainer.phase_timer import process_age; print(process_age())"
    program = (
        "import os, sys, time; from trainer.environment.variables import note_replaced; "
        "time.sleep(1); note_replaced(); "
        f"os.execv(sys.executable, [sys.executable, '-c', {age!r}])"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 0 < float(done.stdout) < time.monotonic() - began - 1


def _train(tmp_path, times, slow_input, slow_step, steps=8):
    def rest(secs):
        def wait(value):
            time.sleep(secs)
            return value

        return wait

    def input_fn():
        data = tf.data.Dataset.range(1000)
        return data.map(lambda x: {"x": tf.numpy_function(rest(slow_input), [x], tf.int64)})

    def model_fn(features, labels, mode):
        weight = tf.compat.v1.get_variable("weight", [])
        x = tf.numpy_function(rest(slow_step), [features["x"]], tf.int64)
        loss = weight * tf.cast(tf.reshape(x, []), tf.float32)
        train = tf.compat.v1.assign_add(tf.compat.v1.train.get_global_step(), 1)
        with tf.control_dependencies([loss]):
            return estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(train, loss))

    config = estimator.RunConfig(str(tmp_path), save_checkpoints_steps=4)
    built = estimator.Estimator(model_fn=model_fn, config=config)
    built.train(
        input_fn,
        max_steps=steps,
        hooks=[TimesHook(times)],
        saving_listeners=[TimesListener(times)],
    )


@pytest.mark.parametrize(
    ("slow_input", "slow_step", "larger"),
    [(0.3, 0.0, "input wait"), (0.0, 0.3, "compute")],
)
def test_waiting_for_rows_and_computing(tmp_path, slow_input, slow_step, larger):
    began = time.monotonic()
    times = Times()
    _train(tmp_path, times, slow_input, slow_step)
    times.turn_to("report")
    told = times.read()
    # Seven steps: the first belongs to the start-up. What is told of one phase is told of no other:
    # together they are no longer than it took.
    # At least 93 % of 2.1 s: on a busy machine reading overlaps with the rest of a step.
    assert told[larger] >= 1.95
    assert told["all"] <= time.monotonic() - began
    assert told["checkpoint"] > 0 and told["start-up"] > 0
    assert told["all"] == pytest.approx(sum(told.values()) - told["all"])


def test_shortly_before_the_end(tmp_path):
    called, clock = [], Clock()

    class Ticks(estimator.SessionRunHook):
        """A step takes a second."""

        def before_run(self, run_context):
            clock.now += 1

    def model_fn(features, labels, mode):
        loss = tf.compat.v1.get_variable("weight", [])
        step = tf.compat.v1.assign_add(tf.compat.v1.train.get_global_step(), 1)
        return estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    built = estimator.Estimator(model_fn, config=estimator.RunConfig(str(tmp_path)))
    near = NearEndHook(lambda: called.append(clock.now), 60, lead_secs=20.0, clock=clock)
    built.train(
        lambda: tf.data.Dataset.from_tensors({"x": 0}).repeat(), hooks=[Ticks(), near], max_steps=60
    )
    assert called == [140.0]
