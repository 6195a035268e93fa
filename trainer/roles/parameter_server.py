"""The parameter server of a cluster."""

import time

from trainer.cluster.heartbeat import ENDED, FINISHED, RUNNING, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, GRACE_SECS, POLL_SECS, build_end
from trainer.environment.cluster_spec import Cluster
from trainer.roles.process import start_server


def run_parameter_server(cluster: Cluster, heartbeat: HeartbeatFile) -> None:
    """Serves variables until the chief has ended and the workers have closed their sessions.

    Args:
        cluster: the cluster, and which process of it this is.
        heartbeat: heartbeat file of this process.

    Raises:
        UserError: the address is in use.
        JobEnded: the job failed or was interrupted.
    """
    server = start_server(cluster, None)
    heartbeat.publish(RUNNING, serving=True)
    while heartbeat.read(CHIEF).get("state") not in ENDED:
        time.sleep(POLL_SECS)
    status = heartbeat.read(CHIEF)
    deadline = time.monotonic() + GRACE_SECS
    workers = [name for name in cluster.names if name.startswith("worker-")]
    while any(map(heartbeat.is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(POLL_SECS)
    del server
    if status["state"] != FINISHED:
        raise build_end(status)
