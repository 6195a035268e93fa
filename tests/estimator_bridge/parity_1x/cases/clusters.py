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
