"""How the chief and the evaluator agree which of them evaluates and exports.

Only one of them does at a time. The chief takes over only from an evaluator that is not alive: it
publishes that it evaluates, and then checks once more whether the evaluator is alive. The evaluator
checks before each evaluation whether the chief has taken over, and waits until it releases
evaluation. If both start at once, one of them reads what the other has published.
"""

import time

from trainer import config as config_lib
from trainer.cluster.heartbeat import RUNNING, TRAINED, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, EVALUATOR, POLL_SECS
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster


def may_evaluate(heartbeat: HeartbeatFile) -> bool:
    """Returns whether the evaluator may evaluate: the chief has not taken over.

    Args:
        heartbeat: of the evaluator.
    """
    # The evaluator may have been suspended for so long that the chief considers it dead.
    heartbeat.publish(RUNNING)
    heartbeat.refresh()
    return not (heartbeat.read(CHIEF).get("evaluates") and heartbeat.is_alive(CHIEF))


def take_over(heartbeat: HeartbeatFile) -> bool:
    """Returns whether the chief may evaluate instead of the evaluator; it then calls `release`.

    Args:
        heartbeat: of the chief.
    """
    if heartbeat.is_alive(EVALUATOR):
        return False
    heartbeat.publish(heartbeat.status["state"], evaluates=True)
    heartbeat.refresh()
    if heartbeat.is_alive(EVALUATOR):
        release(heartbeat)
        return False
    return True


def release(heartbeat: HeartbeatFile) -> None:
    """Publishes that the chief no longer evaluates.

    Args:
        heartbeat: of the chief.
    """
    heartbeat.publish(heartbeat.status["state"], evaluates=False)


def await_evaluator(
    config: config_lib.ClusterConfig,
    cluster: Cluster,
    heartbeat: HeartbeatFile,
    *,
    step: int,
    console: Console,
) -> bool:
    """Waits until the evaluator has evaluated the last step.

    Args:
        config: the time limits.
        cluster: the cluster; tells whether an evaluator is expected.
        heartbeat: of the chief.
        step: the last global step.
        console: shows progress.

    Returns:
        Whether the evaluator has done it; if not, the chief has taken over.
    """
    deadline = time.monotonic() + config.evaluator_wait_secs
    if heartbeat.is_alive(EVALUATOR):
        console.log(f"waiting for the evaluator to evaluate and export step {step:,}")
    while True:
        is_late = time.monotonic() >= deadline
        is_coming = not heartbeat.read(EVALUATOR) and cluster.expects_evaluator
        is_coming = is_coming and heartbeat.silent_secs(EVALUATOR) < config.watchdog_secs
        gives_up = is_late or not is_coming and take_over(heartbeat)
        # Read after is_alive: the evaluator publishes its last status when it ends.
        if heartbeat.read(EVALUATOR).get("final_step") == step:
            return True
        if gives_up:
            break
        time.sleep(POLL_SECS)
    heartbeat.publish(TRAINED, evaluates=True)
    if heartbeat.read(EVALUATOR):
        console.warn("the evaluator has ended or is late: the chief evaluates and exports instead")
    return False
