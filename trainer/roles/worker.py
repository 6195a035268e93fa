"""The worker of a cluster: trains together with the chief."""

import time

from estimator_bridge import tf
from trainer.cluster.heartbeat import (
    ENDED,
    FAILED,
    INTERRUPTED,
    RUNNING,
    TRAINED,
    HeartbeatFile,
    Status,
)
from trainer.cluster.watchdog import CHIEF, POLL_SECS, await_chief, build_end, is_over
from trainer.environment.cluster_spec import Cluster
from trainer.errors import JobEnded
from trainer.job_dir import pinning
from trainer.roles.process import ClusterProcess, build_process_plan, is_synchronous, train
from trainer.training.job import Job


def run_worker(job: Job, process: ClusterProcess) -> None:
    """Trains together with the chief until the chief has reached the last step.

    Args:
        job: what to train.
        process: this process.

    Raises:
        UserError: the data or the model are wrong.
        JobEnded: the job failed or was interrupted.
    """
    heartbeat = process.heartbeat
    await_chief(heartbeat)
    if is_synchronous(job):
        job = _join(job, process.cluster, heartbeat)
    if not is_over(heartbeat):
        _train(job, process)
    status = _await_end(heartbeat, job.max_steps)
    if status["state"] in (FAILED, INTERRUPTED):
        raise build_end(status)


def _await_end(heartbeat: HeartbeatFile, max_steps: int) -> Status:
    """Waits until no chief needs this worker any more; the watchdog limits the wait.

    A chief that is restarted after an early stop may train on. After the last step, it does not.

    Args:
        heartbeat: heartbeat file of this process.
        max_steps: the last global step.

    Returns:
        The chief's last status.

    Raises:
        JobEnded: a restarted chief trains on.
    """
    was_over = False
    while True:
        status = heartbeat.read(CHIEF)
        state = status.get("state")
        if state in ENDED or state == TRAINED and status["step"] >= max_steps:
            return status
        if was_over and state == RUNNING:
            raise JobEnded("the chief has been started again and trains on; this process ends")
        was_over = was_over or state == TRAINED
        time.sleep(POLL_SECS)


def _join(job: Job, cluster: Cluster, heartbeat: HeartbeatFile) -> Job:
    """Waits at the barrier of a synchronous cluster; returns the job with this worker's job_dir."""
    folder = pinning.claim_folder(
        heartbeat.folder, cluster.name, heartbeat.start_number, heartbeat.incarnation
    )
    joined = None
    while not is_over(heartbeat):
        chief = heartbeat.read(CHIEF)
        if "target" in chief and chief["incarnation"] != joined:
            # A chief that has been started again may have fetched an older checkpoint. It writes
            # none between the snapshot and the barrier, because all workers have to join first.
            pinning.snapshot(job.config.require_job_dir(), folder)
            joined = chief["incarnation"]
            heartbeat.publish(RUNNING, joined=joined)
        lineup = chief.get("lineup", {})
        if lineup.get(cluster.name) == heartbeat.incarnation:
            heartbeat.publish(RUNNING, joined=None, lineup=lineup)
            break
        time.sleep(POLL_SECS)
    return job._replace(config=job.config.model_copy(update={"job_dir": str(folder)}))


def _train(job: Job, process: ClusterProcess) -> None:
    heartbeat = process.heartbeat
    plan = build_process_plan(job, process)
    if not is_synchronous(job):
        # Without this wait, TensorFlow would check only every 30 s whether the chief has
        # initialised the variables.
        while not heartbeat.read(CHIEF).get("in_session"):
            if is_over(heartbeat):
                return
            time.sleep(POLL_SECS)
    try:
        if plan.run.first < job.max_steps:
            train(plan, process)
    except tf.errors.OpError:
        # Errors are expected after the chief has closed its session.
        if not is_over(heartbeat):
            raise
