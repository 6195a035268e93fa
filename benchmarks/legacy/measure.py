"""Measures one program: python measure.py PROGRAM DATA JOB_FOLDER OUTPUT.json

LEGACY_STARTED is the time at which the process was started, in seconds since 1970.
"""

import glob
import json
import os
import resource
import statistics
import sys
import time

import tensorflow as tf

tf.train.SessionRunHook  # noqa: B018 - 1.15 imports all of itself on the first use of a name
IMPORTED = time.time(), time.process_time()
IMPORTED_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
import canned  # noqa: E402,F401
import jobs  # noqa: E402
import sequences  # noqa: E402,F401
import sessions  # noqa: E402,F401


def timed(function, *arguments):
    started, processor = time.perf_counter(), time.process_time()
    function(*arguments)
    return time.perf_counter() - started, time.process_time() - processor


def main():
    name, data, folder, output = sys.argv[1:]
    started = float(os.environ["LEGACY_STARTED"])
    tf.logging.set_verbosity(tf.logging.ERROR)
    job = jobs.PROGRAMS[name](data, folder)
    clock = jobs.Clock()
    saves = job.train(clock)
    ends = clock.ends[jobs.WARM_UP :]
    steps = [later - earlier for earlier, later in zip(ends, ends[1:])]
    found = {
        "batch": job.batch,
        "import": IMPORTED[0] - started,
        "import, processor": IMPORTED[1],
        "first step": clock.first[0] - started,
        "first step, processor": clock.first[1],
        "median step": statistics.median(steps),
        "mean step": statistics.mean(steps),
        "mean step, processor": (clock.processor[-1] - clock.processor[jobs.WARM_UP]) / len(steps),
    }
    if clock.operations:
        found["operations"] = clock.operations
    if job.rows:
        found["evaluate"], found["evaluate, processor"] = timed(job.evaluate)
    if job.predicts:
        found["predict"], found["predict, processor"] = timed(job.predict)
    if job.receiver:
        found["export"], found["export, processor"] = timed(
            job.export, os.path.join(folder, "export")
        )
    parts = glob.glob((tf.train.latest_checkpoint(folder) or "none") + ".*")
    found["checkpoint MB"] = sum(map(os.path.getsize, parts)) / 1e6
    if saves:
        found["save"] = statistics.median(saves)
    found["import MB"] = IMPORTED_MB
    found["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open(output, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
