"""Joins a cluster: runs this process's heartbeat and watchdog, and publishes how it ends."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from estimator_bridge import BridgeError
from trainer import config as config_lib
from trainer.cluster.heartbeat import (
    ENDED,
    FAILED,
    FINISHED,
    GONE,
    INTERRUPTED,
    LOST,
    HeartbeatFile,
    Status,
)
from trainer.cluster.watchdog import (
    CHIEF,
    EVALUATOR,
    GRACE_SECS,
    POLL_SECS,
    Watchdog,
    build_end,
    is_final,
)
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import USER_ERROR_STATUS, JobEnded, TemporaryError, UserError, hide_secrets
from trainer.signals import Interrupted, SignalWatch
from trainer.storage.workspace import Workspace

# A process that sends no heartbeat for so many seconds has ended, or is suspended or cut off.
QUIET_SECS = 3.0


@contextlib.contextmanager
def join_cluster(
    space: Workspace,
    config: config_lib.ClusterConfig,
    cluster: Cluster,
    *,
    console: Console,
    watch: SignalWatch,
) -> Iterator[HeartbeatFile]:
    """Runs this process's heartbeat and watchdog during the body of the `with` statement.

    Args:
        space: the job's folder on this machine. If the chief fetches the job into it from a bucket,
            this process waits for that. The watchdog begins after this wait.
        config: strategy and time limits.
        cluster: the cluster, and which process of it this is.
        console: shows the watchdog's messages.
        watch: ends the main thread when the watchdog requires it.

    Yields:
        The heartbeat file.

    Raises:
        JobEnded: an error of another process has ended this one; replaces Interrupted.
        TemporaryError: another process is at work in the place of this one.
    """
    heartbeat = HeartbeatFile(space.folder, cluster.name, run_id=cluster.run_id, relay=space.relay)
    if cluster.role != "chief" and cluster.run_id is None and space.relay is None:
        # A chief has locked job_dir, a launcher ends a process before it restarts it, and a bucket
        # tells too late what another machine does.
        _await_predecessor(heartbeat, cluster, space)
    watchdog = Watchdog(heartbeat, cluster, config, log=console.warn, ask_end=watch.request_stop)
    is_fetched = threading.Event()
    heartbeat.start(lambda: watchdog.check() if is_fetched.is_set() else None)
    try:
        if not space.await_fetched(lambda: heartbeat.read(CHIEF).get("state") in ENDED):
            chief = heartbeat.read(CHIEF)
            if chief["state"] != FINISHED:
                raise build_end(chief)
        is_fetched.set()
        yield heartbeat
    except (Interrupted, JobEnded) as end:
        if cluster.role == "chief" and isinstance(end, JobEnded):
            heartbeat.publish(LOST, message=str(end))
            with contextlib.suppress(Interrupted):
                watchdog.await_cause()
        if watchdog.cause is not None:
            saved = end.saved if isinstance(end, Interrupted) else ""
            end = JobEnded(f"{watchdog.cause}{saved}", watchdog.cause.status)
            fields = {"awaited_secs": 0} if end.status == USER_ERROR_STATUS else {}
            _end_badly(heartbeat, cluster, config, console, FAILED, message=str(end), **fields)
            raise end from None
        if isinstance(end, Interrupted):
            _end_badly(heartbeat, cluster, config, console, INTERRUPTED)
        else:
            heartbeat.end(LOST, message=str(end))
        raise
    except BaseException as error:
        message = hide_secrets(str(error).splitlines()[0] if str(error) else repr(error))
        fields = _restart_fields(error, config, cluster)
        _end_badly(heartbeat, cluster, config, console, FAILED, message=message, **fields)
        raise
    heartbeat.end(FINISHED)


def _await_predecessor(heartbeat: HeartbeatFile, cluster: Cluster, space: Workspace) -> None:
    """Waits until a process of the same name, that was started before, has ended.

    Without this, a cluster that is started twice takes over the workers of its first start, whose
    chief fails, while the second chief is refused.

    Raises:
        TemporaryError: it goes on. A killed, suspended or separated process sends no heartbeat.
    """
    last, now = heartbeat.previous_status, time.monotonic()
    quiet, limit = now + QUIET_SECS, now + GRACE_SECS
    try:
        while last.get("state", LOST) not in GONE and now < quiet:
            time.sleep(POLL_SECS)
            heartbeat.refresh()
            before, last, now = last, heartbeat.last_status(cluster.name), time.monotonic()
            quiet = now + QUIET_SECS if last != before else quiet
            if now > limit:
                raise TemporaryError(
                    f"job_dir {space.job_dir}: another {cluster.name} is at work on it (process "
                    f"{last.get('pid')} of its machine); end that cluster, or give this one "
                    "another --job_dir"
                )
    except BaseException:
        heartbeat.withdraw()
        raise


def _restart_fields(
    error: BaseException, config: config_lib.ClusterConfig, cluster: Cluster
) -> Status:
    """Returns a status field: how many seconds the chief waits for a restart of this process."""
    is_temporary = isinstance(error, TemporaryError)
    if isinstance(error, (UserError, BridgeError)) and not is_temporary:
        # A restarted process would fail with the same error.
        return {"awaited_secs": 0}
    # The chief does not wait for an evaluator, because the chief can evaluate itself.
    is_waited_for = cluster.role != "evaluator"
    return {"awaited_secs": config.watchdog_secs} if is_waited_for else {}


def _end_badly(
    heartbeat: HeartbeatFile,
    cluster: Cluster,
    config: config_lib.ClusterConfig,
    console: Console,
    state: str,
    **fields: Any,
) -> None:
    """Publishes the last status, waits until others have read it, and ends the heartbeat.

    The heartbeat goes on during the wait, so that processes that are just starting use the status
    too: without an ID of the run, they recognise a status of this run only by a change of the file.
    """
    heartbeat.publish(state, **fields)
    waiting = {name for name in cluster.names if name != cluster.name}
    secs = GRACE_SECS if cluster.role == "chief" else 0.0
    if is_final(fields) and cluster.run_id is None:
        # Nothing restarts this process to tell them once more, and pods may start minutes apart.
        secs = config.watchdog_secs
        if cluster.role != "chief":
            # All others end with the chief.
            waiting = {CHIEF}
        elif cluster.expects_evaluator:
            waiting.add(EVALUATOR)
        console.warn(
            f"{cluster.name}: {fields['message']}; this process waits up to {secs} s until "
            f"{', '.join(sorted(waiting))} has read this"
        )
    deadline = time.monotonic() + secs
    # A second signal ends only the wait.
    with contextlib.suppress(Interrupted):
        while waiting and time.monotonic() < deadline:
            # A process counts as ended from then on, because it may be restarted during this wait.
            waiting -= {name for name in waiting if heartbeat.read(name).get("state") in GONE}
            time.sleep(POLL_SECS)
    heartbeat.end(state, **fields)
