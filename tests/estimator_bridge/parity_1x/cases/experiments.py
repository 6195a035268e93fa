"""Cases of tf.contrib.learn's Experiment: what it trains, evaluates and exports, and when.

A record has the calls in their order, the exports, and the steps of the events in each folder.
"""

import functools
import logging
import os
import re
import shutil
import tempfile

import tensorflow as tf
import values

CASES = {}
learn, np = tf.contrib.learn, values.np


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def network(features, labels):
    weight = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
    found = features["x"][:, 0] * weight
    loss = tf.reduce_mean((found - labels) ** 2)
    step = tf.train.get_global_step()
    return found, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)


def core_fn(features, labels, mode):
    return tf.estimator.EstimatorSpec(mode, *network(features, labels))


def learn_fn(features, labels, mode):
    return learn.ModelFnOps(mode, *network(features, labels))


def read(rows=None):
    x = np.array([[1.0], [2.0]], np.float32)
    data = tf.data.Dataset.from_tensors(({"x": x}, x[:, 0])).repeat(rows)
    return data.make_one_shot_iterator().get_next()


class Diary(tf.train.SessionRunHook):
    """Notes what happens, in training and around it."""

    def __init__(self):
        self.lines, self.place = [], "before training"

    def note(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def begin(self):
        self.step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        self.at = int(session.run(self.step))
        self.note("training from", self.at)

    def after_run(self, context, run_values):
        self.at += 1
        self.place = f"after step {self.at}"

    def end(self, session):
        self.place = "after training"


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, diary):
        self.diary = diary

    def after_save(self, session, step):
        self.diary.note("listener: saved", int(step))

    def end(self, session, step):
        self.diary.note("listener: end", int(step))


class Evaluated(tf.train.SessionRunHook):
    def __init__(self, diary):
        self.diary = diary

    def begin(self):
        self.step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        self.diary.note("evaluates", int(session.run(self.step)), self.diary.place)


def base(path):
    return None if path is None else os.path.basename(path)


def watch(estimator, diary):
    """Makes an estimator note the calls of its methods."""

    def noted(name):
        method = getattr(estimator, name)

        def call(**given):
            shown = [
                f"{key}={base(given[key]) if key == 'checkpoint_path' else given[key]}"
                for key in ("steps", "max_steps", "name", "checkpoint_path")
                if given.get(key) is not None
            ]
            # In 1.15 `fit` trains by itself, without `train`.
            diary.note("train" if name == "fit" else name, *shown)
            return method(**given)

        setattr(estimator, name, call)

    for name in ("evaluate", "fit" if hasattr(estimator, "fit") else "train"):
        noted(name)
    return estimator


def strategy(diary):
    def export(estimator, path, checkpoint_path=None, eval_result=None):
        folder = (
            type(path).__name__
            + " "
            + os.path.relpath(tf.compat.as_text(path), estimator.model_dir)
        )
        shown = sorted(eval_result.items()) if eval_result else eval_result
        step = [int(value) for name, value in shown or () if name == "global_step"]
        diary.note(
            "exports", folder, base(checkpoint_path), step, [name for name, _ in shown or ()]
        )
        return "made"

    return learn.ExportStrategy(name="mine", export_fn=export)


def evaluated_steps(folder):
    """Returns "folder: step tag" of what evaluations have written."""
    found = []
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if "tfevents" in name and parent != folder:
                for event in tf.train.summary_iterator(os.path.join(parent, name)):
                    inside = os.path.relpath(parent, folder)
                    tags = [one.tag for one in event.summary.value]
                    found += [f"{inside}: {event.step} {tag}" for tag in sorted(tags)]
    return found


def describe(result):
    if isinstance(result, tuple):
        return [describe(one) for one in result]
    return sorted(result) if isinstance(result, dict) else type(result).__name__


def run(call, core=True, every=1, rows=None, listens=False, strategies=True, **options):
    """Returns what an Experiment does.

    Args:
      call: function from the Experiment to its result.
      core: whether the estimator is one of tf.estimator, not of tf.contrib.learn.
      every: steps between two checkpoints.
      rows: number of batches of the training; None without end.
      listens: whether to pass a listener of checkpoints.
      strategies: whether to export.
    """
    folder, diary = tempfile.mkdtemp(), Diary()
    make = tf.estimator.RunConfig if core else learn.RunConfig
    config = make(model_dir=folder, save_checkpoints_steps=every, save_checkpoints_secs=None)
    if core:
        estimator = tf.estimator.Estimator(core_fn, config=config)
    else:
        estimator = learn.Estimator(learn_fn, model_dir=folder, config=config)
    given = {
        "train_steps": 5,
        "eval_steps": 1,
        "train_monitors": [diary],
        "eval_hooks": [Evaluated(diary)],
        "eval_delay_secs": 0,
        "continuous_eval_throttle_secs": 0,
        "check_interval_secs": 0,
        "export_strategies": strategy(diary) if strategies else None,
        "saving_listeners": [Listener(diary)] if listens else None,
    }
    given.update(options)
    try:
        one = watch(estimator, diary)
        made = learn.Experiment(one, functools.partial(read, rows), read, **given)
        result = call(made)
        saved = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths
        return {
            "order": np.array(diary.lines),
            "result": np.array(str(describe(result))),
            "events": np.array(evaluated_steps(folder)),
            "checkpoints": np.array([base(path) for path in saved]),
        }
    finally:
        shutil.rmtree(folder)


def train_and_evaluate(experiment):
    return experiment.train_and_evaluate()


case("train_and_evaluate", train_and_evaluate)(run)
case("train_and_evaluate, learn", train_and_evaluate, core=False, every=2)(run)
case("min_eval_frequency=2", train_and_evaluate, every=3, min_eval_frequency=2)(run)
case("min_eval_frequency=0", train_and_evaluate, min_eval_frequency=0, strategies=False)(run)
case("the input ends", train_and_evaluate, rows=4, train_steps=None, every=2, min_eval_frequency=3)(
    run
)
# The clock: the second look is too early.
case("check_interval_secs", train_and_evaluate, check_interval_secs=1000)(run)
case("saving_listeners", train_and_evaluate, every=2, listens=True)(run)
case("saving_listeners, learn", train_and_evaluate, core=False, listens=True)(run)
METRICS = {"mse": learn.MetricSpec(tf.contrib.metrics.streaming_mean_squared_error)}
case("eval_metrics", train_and_evaluate, eval_metrics=METRICS)(run)
case("eval_metrics, learn", train_and_evaluate, core=False, eval_metrics=METRICS, every=9)(run)
case(
    "checkpoint_and_export", train_and_evaluate, checkpoint_and_export=True, every=2, listens=True
)(run)
case(
    "checkpoint_and_export, learn",
    train_and_evaluate,
    core=False,
    checkpoint_and_export=True,
    every=3,
)(run)


@case("train_and_evaluate again")
@case("train_and_evaluate again, checkpoint_and_export", checkpoint_and_export=True)
def again(**options):
    def call(experiment):
        experiment.train_and_evaluate()
        return experiment.train_and_evaluate()

    return run(call, every=3, **options)


@case("local_run")
@case("local_run, min_eval_frequency", min_eval_frequency=1)
@case("local_run, local_eval_frequency", local_eval_frequency=3, min_eval_frequency=1)
@case("local_run, checkpoint_and_export", checkpoint_and_export=True, train_steps=2)
def local_run(**options):
    return run(lambda experiment: experiment.local_run(), every=2, **options)


case("test", lambda experiment: experiment.test())(run)
case("evaluate", lambda experiment: (experiment.train(), experiment.evaluate())[1])(run)
case("evaluate, name", lambda experiment: (experiment.train(), experiment.evaluate(0, "a"))[1])(run)


@case("continuous_train_and_eval", train_steps_per_iteration=3)
@case("continuous_train_and_eval, no steps", train_steps=9)
@case("continuous_train_and_eval, learn", core=False, train_steps_per_iteration=3)
def continuous_train_and_eval(**options):
    return run(lambda experiment: experiment.continuous_train_and_eval(), every=20, **options)


@case("continuous_train_and_eval, predicate", train_steps=None, train_steps_per_iteration=2)
@case("continuous_train_and_eval, a tenth of train_steps", train_steps=49)
def predicate(**options):
    def goes_on(metrics):
        return metrics is None or metrics["global_step"] < 4

    return run(
        lambda experiment: experiment.continuous_train_and_eval(goes_on), every=20, **options
    )


@case("continuous_eval")
@case("continuous_eval, on train data", "continuous_eval_on_train_data")
@case("continuous_eval, learn", core=False)
def continuous_eval(schedule="continuous_eval", **options):
    def call(experiment):
        experiment.train()
        return getattr(experiment, schedule)()

    return run(call, every=3, **options)


def serving():
    x = tf.placeholder(tf.float32, [None, 1], "x")
    return learn.utils.input_fn_utils.InputFnOps({"x": x}, None, {"x": x})


# A checkpoint that is not there: in a folder that is, in none, and no name at all.
PLACES = {"no file": "model.ckpt-9", "no folder": "none/model.ckpt-9", "empty": ""}


def without(kind, place, steps):
    folder = tempfile.mkdtemp()
    try:
        path = PLACES[place] and os.path.join(folder, PLACES[place])
        make, model_fn = (learn.Estimator, learn_fn) if "learn" in kind else (None, core_fn)
        model = (make or tf.estimator.Estimator)(model_fn, folder)
        if steps:
            (model.fit if make else model.train)(input_fn=read, steps=steps)
        if "evaluate" in kind:
            found = model.evaluate(input_fn=read, steps=1, checkpoint_path=path)
            return {name: np.asarray(one) for name, one in found.items()}
        exported = model.export_savedmodel(
            os.path.join(folder, "exports"), serving, checkpoint_path=path
        )
        return {"exported": os.path.isdir(exported)}
    finally:
        shutil.rmtree(folder)


for _kind in ("evaluate", "evaluate, learn", "export, learn"):
    for _place in PLACES:
        for _steps in (0, 1):
            CASES[f"{_kind}, checkpoint: {_place}, {_steps} steps"] = functools.partial(
                without, _kind, _place, _steps
            )


class Noting(learn.monitors.EveryN):
    """A program's own monitor, which notes its calls."""

    def __init__(self, lines, **options):
        super().__init__(**options)
        self.lines = lines

    def begin(self, max_steps=None):
        super().begin(max_steps)
        self.lines.append(f"begin {max_steps}")

    def every_n_step_begin(self, step):
        self.lines.append(f"before {step}")
        return ["w:0", "now"]

    def every_n_step_end(self, step, outputs):
        names = sorted(str(getattr(key, "name", key)) for key in outputs)
        self.lines.append(f"after {step}: {names}, now {int(outputs['now'])}")
        return step >= 9

    def every_n_post_step(self, step, session):
        self.lines.append(f"post {step}: {int(session.run(tf.train.get_global_step()))}")

    def end(self, session=None):
        super().end(session)
        self.lines.append("end")


class Counting(learn.monitors.BaseMonitor):
    """One whose method `end` takes no session."""

    def __init__(self, lines):
        super().__init__()
        self.lines, self.steps = lines, 0

    def step_end(self, step, output):
        self.steps += 1
        return super().step_end(step, output)

    def end(self):
        super().end()
        self.lines.append(f"{self.steps} steps")


def monitored_fn(features, labels, mode):
    spec = learn_fn(features, labels, mode)
    tf.identity(tf.train.get_global_step(), "now")
    return spec


def monitored(steps, **options):
    """Returns what monitors note, keep and log."""
    monitors, lines, logged = learn.monitors, [], []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: logged.append(record.getMessage())
    logger = logging.getLogger("tensorflow")
    level, folder = logger.level, tempfile.mkdtemp()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        model = learn.Estimator(monitored_fn, folder)
        kept = monitors.CaptureVariable("w:0", every_n=4, first_n=2)
        printed = [
            monitors.PrintTensor({"weight": "w:0", "step": "now"}, every_n=3),
            monitors.LoggingTrainable("w", every_n=5, first_n=0),
            monitors.ValidationMonitor(input_fn=lambda: read(1), every_n_steps=4),
        ]
        own = [Noting(lines, **options), Counting(lines)]
        model.fit(input_fn=read, steps=steps, monitors=own + [kept] + printed)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        shutil.rmtree(folder)
    logged = [
        re.sub(r"= [^,]+", "= v", line)
        for line in logged
        if line.startswith(("Step", "Logging", "Validation", "Stopping"))
    ]
    values_kept = {str(step): np.asarray(value) for step, value in kept.values.items()}
    return {"lines": lines, "logged": logged, **values_kept}


CASES["monitors"] = functools.partial(monitored, 7, every_n_steps=3, first_n_steps=1)
CASES["monitors, one stops"] = functools.partial(monitored, 30, every_n_steps=4, first_n_steps=2)
CASES["monitors, few steps"] = functools.partial(monitored, 2, every_n_steps=50, first_n_steps=0)
