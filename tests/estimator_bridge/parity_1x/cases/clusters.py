"""Cases of tf.contrib.learn's Experiment in a cluster, whose tasks are threads of one process.

A record has the calls of each task in their order.
"""

import functools
import json
import os
import re
import shutil
import socket
import tempfile
import threading
import time

import tensorflow as tf
from values import np

from cases import experiments

CASES = {}
learn = tf.contrib.learn
STEPS, WAIT_SECS = 12, 20


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def addresses(number):
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return found


def cluster(**numbers):
    return {job: addresses(number) for job, number in numbers.items()}


def configured(folder, jobs, job, index=0, environment="cloud"):
    """Returns the RunConfig of a task."""
    described = {"cluster": jobs, "task": {"type": job, "index": index}}
    os.environ["TF_CONFIG"] = json.dumps(dict(described, environment=environment))
    try:
        return learn.RunConfig(model_dir=folder, save_checkpoints_steps=9999)
    finally:
        del os.environ["TF_CONFIG"]


class Together(tf.train.SessionRunHook):
    """Notes the training of a task; nobody trains on before all have made a step."""

    def __init__(self, diary, own, others):
        self.diary, self.own, self.others = diary, own, others

    def begin(self):
        self.step = tf.train.get_global_step()
        self.diary.note("variables on", self.step.device)

    def after_create_session(self, session, coord):
        self.diary.note("trains")

    def before_run(self, context):
        return tf.train.SessionRunArgs(self.step)

    def after_run(self, context, run_values):
        self.own.set()
        for other in self.others:
            other.wait(WAIT_SECS)

    def end(self, session):
        self.diary.note("has trained")


def experiment(config, diary, hook, **options):
    estimator = learn.Estimator(experiments.learn_fn, model_dir=config.model_dir, config=config)
    return learn.Experiment(
        experiments.watch(estimator, diary),
        experiments.read,
        experiments.read,
        train_steps=STEPS,
        eval_steps=1,
        train_monitors=[hook],
        eval_hooks=[experiments.Evaluated(diary)],
        eval_delay_secs=0,
        min_eval_frequency=0,
        export_strategies=experiments.strategy(diary),
        **options,
    )


@case("by default")
def run():
    jobs = ("ps", "master", "worker")
    folder = tempfile.mkdtemp()
    described = cluster(**{job: 1 for job in jobs})
    diaries = {job: experiments.Diary() for job in jobs}
    trains = [job for job in jobs if job != "ps"]
    steps = {job: threading.Event() for job in trains}
    results, sleep = {}, time.sleep

    def act(job, config):
        others = [steps[one] for one in trains if one != job]
        hook = Together(diaries[job], steps.get(job), others)
        try:
            result = learn.learn_runner.run(
                lambda run_config, hparams: experiment(run_config, diaries[job], hook),
                run_config=config,
            )
            results[job] = experiments.describe(result)
        except Exception as error:
            results[job] = type(error).__name__
            for one in steps.values():
                one.set()

    threads = {}
    try:
        for job in jobs:
            config = configured(folder, described, job)
            diaries[job].note("chief" if config.is_chief else "not chief", config.task_type)
            threads[job] = threading.Thread(target=act, args=(job, config), daemon=True)
        # A worker that comes before the variables looks for them every 30 seconds.
        time.sleep = lambda seconds: sleep(min(seconds, 0.1))
        for job in jobs:
            threads[job].start()
        for job in trains:
            threads[job].join(WAIT_SECS)
        # Two processes may end some steps after the last one.
        found = {
            f"{job}: calls": np.array([re.sub(r"\b1\d\b", "N", line) for line in one.lines])
            for job, one in diaries.items()
        }
        found["results"] = np.array(str(sorted(results.items())))
        found["serves"] = threads["ps"].is_alive()
        return found
    finally:
        time.sleep = sleep
        shutil.rmtree(folder)


@case("delay of a worker", 2)
@case("delay of the first worker", 0)
@case("delay of a late worker", 20)
@case("delay of a worker, global step", 2, delay_workers_by_global_step=True)
@case("delay of a worker, given", 2, delay_secs=3)
@case("delay of a worker, local", 2, environment="local")
def delayed(index, delay_secs=None, environment="cloud", **options):
    described = cluster(master=1, ps=1, worker=21)
    config = configured(tempfile.mkdtemp(), described, "worker", index, environment)
    made = experiment(config, experiments.Diary(), tf.train.SessionRunHook(), **options)
    found, sleep = [], time.sleep
    made.estimator.fit = lambda **given: found.append(
        [type(one).__name__ for one in given["monitors"]]
    )
    time.sleep = lambda seconds: found.append(round(seconds))
    try:
        made.train(delay_secs)
    finally:
        time.sleep = sleep
    port = int(described["worker"][index].split(":")[1])
    with socket.socket() as one:
        serves = one.connect_ex(("127.0.0.1", port)) == 0
    return {"found": np.array(str(found)), "serves": serves}


CLUSTERS = {
    "none": {},
    "a master": {"master": 1},
    "a worker": {"worker": 1},
    "a server": {"ps": 1},
    "master, server": {"master": 1, "ps": 1},
    "master, worker": {"master": 1, "worker": 1},
    "worker, server": {"worker": 1, "ps": 1},
    "workers": {"worker": 2},
    "workers, server": {"worker": 2, "ps": 1},
    "masters, server": {"master": 2, "ps": 1},
    "all": {"master": 1, "worker": 3, "ps": 2},
}
TASKS = [{}, {"index": 1}] + [
    dict(type=job, index=index)
    for job in ("master", "worker", "ps", "evaluator")
    for index in (0, 1, "1", 5, -1)
]
PROPERTIES = (
    *("task_type", "task_id", "is_chief", "master", "evaluation_master", "num_ps_replicas"),
    *("num_worker_replicas", "environment"),
)


def chosen_schedule(config, schedule=None):
    """Returns the method of an Experiment that is run, or the type of the error."""
    calls = []
    made = learn.Experiment(learn.Estimator(experiments.learn_fn, config=config), None, None)
    for name in ("train", "train_and_evaluate", "run_std_server"):
        setattr(made, name, functools.partial(calls.append, name))
    try:
        learn.learn_runner.run(lambda run_config, hparams: made, None, schedule, config)
    except ValueError:
        return "ValueError"
    return calls[0]


def positions(name, environment):
    jobs = {
        job: [f"127.0.0.1:{port}" for port in range(9000, 9000 + number)]
        for job, number in CLUSTERS[name].items()
    }
    found = {}
    for task in TASKS:
        described = {"cluster": jobs, "task": task, "environment": environment}
        os.environ["TF_CONFIG"] = json.dumps(described)
        try:
            config = learn.RunConfig(model_dir="nowhere")
            found[str(task)] = " ".join(str(getattr(config, one)) for one in PROPERTIES)
            if environment == "cloud":
                found[str(task) + " runs"] = chosen_schedule(config)
                found[str(task) + " is told"] = chosen_schedule(config, "train")
        except ValueError:
            found[str(task)] = "ValueError"
        finally:
            del os.environ["TF_CONFIG"]
    return {key: np.array(one) for key, one in found.items()}


for _name in CLUSTERS:
    for _environment in ("cloud", "local"):
        CASES[f"RunConfig, {_name}, {_environment}"] = functools.partial(
            positions, _name, _environment
        )
CASES["RunConfig, addresses"] = lambda: {
    name: np.array(getattr(learn.RunConfig("one", evaluation_master="two"), name))
    for name in ("master", "evaluation_master")
}


@case("a server trains", "ps", {"master": 1, "worker": 1, "ps": 1})
@case("a server trains, no master", "ps", {"worker": 1, "ps": 1})
@case("a server trains, local", "ps", {"worker": 1, "ps": 1}, environment="local")
@case("a worker trains, no master", "worker", {"worker": 1, "ps": 1})
def trained(job, numbers, environment="cloud"):
    described = cluster(**numbers)
    config = configured(tempfile.mkdtemp(), described, job, environment=environment)
    made = experiment(config, experiments.Diary(), tf.train.SessionRunHook())
    found = []
    made.estimator.fit = lambda **given: found.append("fits")
    learn.learn_runner.run(lambda run_config, hparams: made, None, "train", config)
    port = int(described[job][0].split(":")[1])
    with socket.socket() as one:
        serves = one.connect_ex(("127.0.0.1", port)) == 0
    return {"found": np.array(str(found)), "serves": serves}


@case("run_std_server without a cluster", "run_std_server")
@case("no such schedule", "nothing")
def refused(schedule):
    config = learn.RunConfig(model_dir=tempfile.mkdtemp())
    hook = tf.train.SessionRunHook()
    return learn.learn_runner.run(
        lambda run_config, hparams: experiment(run_config, experiments.Diary(), hook),
        run_config=config,
        schedule=schedule,
    )
