"""Decides whether the chief or the evaluator evaluates and exports.

Only one of them evaluates at a time. The chief takes over only if it knows that the evaluator is
not alive. To take over, the chief publishes that it evaluates, and then checks again whether the
evaluator is alive. Before each evaluation, the evaluator checks whether the chief has taken over,
and waits until the chief has released evaluation. Each publishes first and reads second. So if both
start at once, at least one of them reads the other's status.
"""

import time

from trainer import config as config_lib
from trainer.cluster.heartbeat import RUNNING, TRAINED, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, EVALUATOR, POLL_SECS
from trainer.console import Console


def may_evaluate(heartbeat: HeartbeatFile) -> bool:
    """Returns whether the evaluator may evaluate, because the chief has not taken over.

    Args:
        heartbeat: heartbeat file of the evaluator.
    """
    # Publish first: if this process was suspended for long, the chief considers it dead.
    heartbeat.publish(RUNNING)
    heartbeat.refresh()
    return not (heartbeat.read(CHIEF).get("evaluates") and heartbeat.is_alive(CHIEF))


def take_over(heartbeat: HeartbeatFile) -> bool:
    """Returns whether the chief may evaluate; if so, it must call `release` afterwards.

    Args:
        heartbeat: heartbeat file of the chief.
    """
    if heartbeat.may_be_alive(EVALUATOR):
        return False
    heartbeat.publish(heartbeat.status["state"], evaluates=True)
    heartbeat.refresh()
    if heartbeat.may_be_alive(EVALUATOR):
        release(heartbeat)
        return False
    return True


def release(heartbeat: HeartbeatFile) -> None:
    """Publishes that the chief no longer evaluates.

    Args:
        heartbeat: heartbeat file of the chief.
    """
    heartbeat.publish(heartbeat.status["state"], evaluates=False)


def await_evaluator(
    config: config_lib.ClusterConfig,
    heartbeat: HeartbeatFile,
    *,
    step: int,
    is_expected: bool,
    console: Console,
) -> bool:
    """Waits until the evaluator has evaluated the last step.

    Args:
        config: the time limits.
        heartbeat: heartbeat file of the chief.
        step: the last global step.
        is_expected: whether an evaluator that has not started yet may still do so.
        console: shows progress.

    Returns:
        True if the evaluator has evaluated the last step; False if the chief has taken over.
    """
    deadline = time.monotonic() + config.evaluator_wait_secs
    if heartbeat.may_be_alive(EVALUATOR):
        console.log(f"waiting for the evaluator to evaluate and export step {step:,}")
    while True:
        is_late = time.monotonic() >= deadline
        is_coming = is_expected and not heartbeat.read(EVALUATOR)
        is_coming = is_coming and heartbeat.silent_secs(EVALUATOR) < config.watchdog_secs
        gives_up = is_late or not is_coming and take_over(heartbeat)
        # Read this after take_over: the evaluator may have published its last status and ended.
        if heartbeat.read(EVALUATOR).get("final_step") == step:
            return True
        if gives_up:
            break
        time.sleep(POLL_SECS)
    heartbeat.publish(TRAINED, evaluates=True)
    if heartbeat.read(EVALUATOR):
        console.warn("the evaluator has ended or is late: the chief evaluates and exports instead")
    return False
