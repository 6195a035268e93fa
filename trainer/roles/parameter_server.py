"""The parameter server of a cluster."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from trainer import config as config_lib
from trainer.cluster.clients import Clients, Service
from trainer.cluster.heartbeat import ENDED, FINISHED, RUNNING, HeartbeatFile
from trainer.cluster.watchdog import CHIEF, GRACE_SECS, POLL_SECS, build_end
from trainer.environment.cluster_spec import Cluster
from trainer.errors import JobEnded
from trainer.roles.process import start_server
from trainer.signals import Interrupted
from trainer.training.parameter_servers import build_service, may_serve


def run_parameter_server(
    config: config_lib.Config, cluster: Cluster, heartbeat: HeartbeatFile
) -> None:
    """Serves variables until the chief has ended and the workers have closed their sessions.

    Args:
        config: of the job.
        cluster: the cluster, and which process of it this is.
        heartbeat: heartbeat file of this process.

    Raises:
        UserError: the address is in use.
        JobEnded: the job failed or was interrupted.
        Interrupted: a signal arrived, and the chief has ended or trains on without this process;
            it has saved a checkpoint, unless it has not got to that.
    """
    engine = _await_engine(heartbeat) if may_serve(config) else "canned"
    if engine == "fused":
        with _serve(build_service(config, cluster), cluster, heartbeat) as thread:
            _serve_until_end(cluster, heartbeat, thread)
    else:
        server = start_server(cluster, None)
        _serve_until_end(cluster, heartbeat)
        del server
    status = heartbeat.read(CHIEF)
    if status["state"] != FINISHED:
        raise build_end(status)


def _await_engine(heartbeat: HeartbeatFile) -> str:
    """Waits until the chief has chosen the engine; returns its name, or canned after its end."""
    while True:
        status = heartbeat.read(CHIEF)
        if "engine" in status or status.get("state") in ENDED:
            return str(status.get("engine", "canned"))
        time.sleep(POLL_SECS)


class _AnsweringThread(threading.Thread):
    """Answers messages until its end is asked for.

    Args:
        clients: the connections.
        service: answers their messages.
    """

    def __init__(self, clients: Clients, service: Service):
        super().__init__(name="serving", daemon=True)
        self._clients, self._service = clients, service
        self._error: Optional[BaseException] = None

    def run(self) -> None:
        """Answers messages."""
        try:
            self._clients.run(self._service)
        except BaseException as error:
            self._error = error

    def raise_error(self) -> None:
        """Raises the error that has ended the thread early, if one has."""
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Ends the thread; waits for that, but not for ever."""
        self._clients.end()
        self.join(GRACE_SECS)


@contextmanager
def _serve(
    service: Service, cluster: Cluster, heartbeat: HeartbeatFile
) -> Iterator[_AnsweringThread]:
    """Answers messages in a thread within the block."""
    thread = _AnsweringThread(Clients(cluster, heartbeat.incarnation), service)
    thread.start()
    try:
        yield thread
    finally:
        thread.end()


def _serve_until_end(
    cluster: Cluster, heartbeat: HeartbeatFile, thread: Optional[_AnsweringThread] = None
) -> None:
    heartbeat.publish(RUNNING, serving=True)
    try:
        _await_end(cluster, heartbeat, thread)
    except Interrupted:
        # The chief saves a checkpoint of the variables, then or because of the same signal.
        heartbeat.publish(RUNNING, leaving=True)
        deadline = time.monotonic() + GRACE_SECS
        while not _has_saved(heartbeat) and time.monotonic() < deadline:
            time.sleep(POLL_SECS)
        raise


def _has_saved(heartbeat: HeartbeatFile) -> bool:
    """Returns whether the chief has ended, or has saved a checkpoint because this server ends."""
    chief = heartbeat.read(CHIEF)
    return chief.get("state") in ENDED or heartbeat.incarnation in chief.get("saved_for", ())


def _await_end(
    cluster: Cluster, heartbeat: HeartbeatFile, thread: Optional[_AnsweringThread] = None
) -> None:
    """Waits until the chief has ended, and then shortly for the workers."""
    while heartbeat.read(CHIEF).get("state") not in ENDED:
        if thread is not None:
            thread.raise_error()
            if heartbeat.read(CHIEF).get("engine", "fused") != "fused":
                raise JobEnded(
                    "the chief has been started again with another engine; this process ends"
                )
        time.sleep(POLL_SECS)
    deadline = time.monotonic() + GRACE_SECS
    workers = [name for name in cluster.names if name.startswith("worker-")]
    while any(map(heartbeat.is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(POLL_SECS)
