"""How a program is measured. Runs on TensorFlow 1.15 and Python 3.7, and under the bridge."""

import collections
import os
import time

import tensorflow as tf

# Steps whose times do not count: kernels are made, pipelines are filled.
WARM_UP = 20
PROFILED = 10
PROGRAMS = {}
# Of all Estimators; None for their default.
SESSION_CONFIG = None


def program(function):
    """Adds a function from (data folder, job folder) to a job."""
    PROGRAMS[function.__name__] = function
    return function


class Clock(tf.train.SessionRunHook):
    """Takes the time of each step: as a hook, or by `tick`."""

    def __init__(self):
        self.ends, self.first, self.processor = [], None, []
        self.operations = collections.Counter()

    def tick(self):
        if self.first is None:
            self.first = time.time(), time.process_time()
        self.processor.append(time.process_time())
        self.ends.append(time.perf_counter())

    def before_run(self, run_context):
        if os.environ.get("LEGACY_PROFILE") and WARM_UP <= len(self.ends) < WARM_UP + PROFILED:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            return tf.train.SessionRunArgs(None, options=options)
        return None

    def after_run(self, run_context, run_values):
        if run_values.run_metadata.HasField("step_stats"):
            for device in run_values.run_metadata.step_stats.dev_stats:
                for node in device.node_stats:
                    kind = node.timeline_label.partition(" = ")[2].partition("(")[0] or "others"
                    self.operations[kind] += node.op_end_rel_micros / 1e3 / PROFILED
        self.tick()


class SaveTimes(tf.train.CheckpointSaverListener):
    """Takes the time of each checkpoint."""

    def __init__(self):
        self.secs, self._started = [], 0.0

    def before_save(self, session, global_step_value):
        self._started = time.perf_counter()

    def after_save(self, session, global_step_value):
        self.secs.append(time.perf_counter() - self._started)


class EstimatorJob:
    """A program around one Estimator.

    Args:
      estimator: the Estimator.
      inputs: input_fn of training; of evaluation and prediction, one pass.
      batch: examples in a step.
      rows: examples of an evaluation; None without evaluation.
      receiver: serving_input_receiver_fn; None without export.
      steps: steps of the training.
    """

    def __init__(
        self, estimator, inputs, batch, rows=None, receiver=None, steps=150, predicts=True
    ):
        self.estimator, (self.train_input, self.eval_input) = estimator, inputs
        self.batch, self.rows, self.receiver, self.steps = batch, rows, receiver, steps
        self.predicts = predicts and rows is not None
        self.saves = SaveTimes()

    def train(self, clock):
        self.estimator.train(
            self.train_input, steps=self.steps, hooks=[clock], saving_listeners=[self.saves]
        )
        return self.saves.secs

    def evaluate(self):
        self.estimator.evaluate(self.eval_input)

    def predict(self):
        return sum(1 for _ in self.estimator.predict(self.eval_input))

    def export(self, folder):
        self.estimator.export_saved_model(folder, self.receiver)


class SessionJob:
    """A program with sessions of its own, which is only trained.

    Args:
      train: function of a clock; returns the seconds of each checkpoint.
      batch: examples in a step.
    """

    rows = receiver = None
    predicts = False

    def __init__(self, train, batch):
        self.train, self.batch = train, batch


def config(folder, **options):
    return tf.estimator.RunConfig(
        folder, 1, save_summary_steps=100, session_config=SESSION_CONFIG, **options
    )


def receiver(**placeholders):
    """Returns a serving_input_receiver_fn of placeholders: name -> (dtype, shape)."""

    def receive():
        found = {name: tf.placeholder(*one, name=name) for name, one in placeholders.items()}
        return tf.estimator.export.ServingInputReceiver(found, found)

    return receive
