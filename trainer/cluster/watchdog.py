"""Ends this process when the job has ended, even if the main thread hangs."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Optional

from trainer import config as config_lib
from trainer.cluster.heartbeat import (
    ENDED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    RUNNING,
    TRAINED,
    HeartbeatFile,
    Status,
)
from trainer.cluster.step_timer import BETWEEN_TIMES
from trainer.cluster.strategies import SYNCHRONOUS
from trainer.environment.cluster_spec import Cluster
from trainer.errors import FOLLOWED_STATUS, USER_ERROR_STATUS, JobEnded

# Seconds that a process has to close its session after the job has ended.
GRACE_SECS = 20.0
# Seconds that a process has to report its own error after another process of the same synchronous
# training has ended.
LOST_SECS = 5.0
# Seconds within which a process that fails tells why, after its connections have been closed.
REPORT_SECS = 3.0
# If a synchronous step hangs in all processes, workers wait this many seconds longer than the
# chief. So only the chief fails, and the workers end because of it.
AFTER_CHIEF_SECS = 20.0
POLL_SECS = 0.5
CHIEF, EVALUATOR = "chief-0", "evaluator-0"
REPLACED = "is gone or has been started again, and this process was in step with it; it ends too"


class Watchdog:
    """Ends this process if the job has ended or cannot continue but the main thread does not end.

    Args:
        heartbeat: the heartbeat file; its thread must call `check` after each refresh.
        cluster: the cluster, and which process of it this is.
        config: strategy and time limits.
        log: called with a line of text.
        ask_end: makes the main thread save a checkpoint and end with Interrupted.
        exit_now: ends the process with an exit status; replaced in tests.

    Attributes:
        cause: the JobEnded with which the chief must end because another process failed; else None.
    """

    def __init__(
        self,
        heartbeat: HeartbeatFile,
        cluster: Cluster,
        config: config_lib.ClusterConfig,
        *,
        log: Callable[[str], None],
        ask_end: Callable[[], None],
        exit_now: Callable[[int], Any] = os._exit,
    ):
        self._heartbeat = heartbeat
        self._cluster = cluster
        self._limit = config.watchdog_secs
        self._stall_secs = config.stall_secs
        self._is_synchronous = config.strategy in SYNCHRONOUS
        self._log = log
        self._ask_end = ask_end
        self._exit_now = exit_now
        self.cause: Optional[JobEnded] = None
        self._over_since: Optional[float] = None
        # When a needed process was last seen dead, or alive but outside a synchronous step.
        self._others_busy = -math.inf

    def check(self) -> None:
        """Ends this process if the heartbeat files show that it has to end."""
        own = self._heartbeat.status
        if own["state"] in (FAILED, INTERRUPTED):
            # The main thread ends this process, after a limited wait for the others.
            return
        if self._heartbeat.is_replaced():
            # This process was suspended or cut off, and whoever replaced it takes its place.
            self._leave(FOLLOWED_STATUS, f"{self._cluster.name} has been started again elsewhere")
        elif own["state"] == LOST:
            # The main thread may hang while it closes its session.
            self._end_after(LOST_SECS, FOLLOWED_STATUS, own["message"])
        elif not self._follow_end():
            self._check_others()

    def _follow_end(self) -> bool:
        """Returns whether the chief has ended the job; then ends this process after GRACE_SECS."""
        if self._cluster.role == "chief":
            self._end_with_failed()
            return False
        chief = self._heartbeat.read(CHIEF)
        if chief.get("state") not in ENDED:
            return False
        status = 0 if chief["state"] == FINISHED else build_end(chief).status
        self._end_after(GRACE_SECS, status, f"the job has {chief['state']}; this process ends")
        return True

    def _check_others(self) -> None:
        """Ends this process if a process that it needs has ended, or if its own step hangs."""
        replaced = self._find_replaced()
        if replaced is not None:
            self._end_after(LOST_SECS, FOLLOWED_STATUS, f"{replaced} {REPLACED}")
            return
        silent = self.find_silent()
        if silent is None:
            stalled = self._describe_stall()
            if stalled is not None:
                self._leave(1, stalled)
        elif silent == CHIEF and self._heartbeat.last_status(CHIEF).get("state") == FINISHED:
            self._leave(0, "the job had finished before this process began, and has not begun anew")
        else:
            known = bool(self._heartbeat.read(silent))
            line = (
                f"{silent} has been silent for {self._limit} s"
                if known
                else f"{silent} ({self._cluster.find_address(silent)}) has not started within "
                f"{self._limit} s, or has another job_dir; start all processes of the cluster"
            )
            self._leave(FOLLOWED_STATUS, f"{line}; this process ends")

    def await_cause(self) -> None:
        """Waits shortly for the error of the process whose end aborted the chief's last step."""
        deadline = time.monotonic() + REPORT_SECS
        while self.cause is None and time.monotonic() < deadline:
            self._note_cause(self._find_failed())
            time.sleep(POLL_SECS)

    def _note_cause(self, failed: Optional[str]) -> None:
        if failed is not None:
            status = self._heartbeat.read(failed)
            secs = status["awaited_secs"]
            late = f" and has not been started again within {secs} s" if secs else ""
            self.cause = JobEnded(
                f"{failed} has failed{late}: {status['message']}; this process ends with it",
                FOLLOWED_STATUS if secs else USER_ERROR_STATUS,
            )

    def _end_with_failed(self) -> None:
        """Makes the chief save and end if another process has failed; then all others end too."""
        failed = self._find_failed()
        if self.cause is None and failed is not None and self._heartbeat.status["state"] == RUNNING:
            self._note_cause(failed)
            self._ask_end()
        if self.cause is not None and failed is not None and failed.startswith("ps-"):
            # Without the variables of this parameter server no checkpoint can be saved, and the
            # current step may never end.
            self._end_after(GRACE_SECS, self.cause.status, str(self.cause))

    def _find_failed(self) -> Optional[str]:
        """Returns a failed process that will not be restarted or was not restarted in time."""
        for name in [*self._cluster.names, EVALUATOR]:
            status = self._heartbeat.read(name)
            secs = status.get("awaited_secs", math.inf)
            if status.get("state") == FAILED and self._heartbeat.silent_secs(name) >= secs:
                return name
        return None

    def find_silent(self) -> Optional[str]:
        """Returns a process that this one needs and that has been silent for too long, or None."""
        trains = self._heartbeat.status["state"] == RUNNING
        for name in self._list_needed():
            # A parameter server ends with the job. If this chief still trains, a later chief has
            # ended the job while this one was suspended.
            is_lost = self._cluster.role == "chief" and trains and name.startswith("ps-")
            gone = self._heartbeat.read(name).get("state") == FINISHED and not is_lost
            if not gone and self._heartbeat.silent_secs(name) > self._limit:
                return name
        return None

    def _list_needed(self) -> list[str]:
        needed = []
        if self._cluster.role != "chief":
            needed.append(CHIEF)
        if self._cluster.role in ("chief", "worker"):
            needed += [name for name in self._cluster.names if name.startswith("ps-")]
            if self._is_synchronous:
                needed += [name for name in self._cluster.names if name.startswith("worker-")]
        return [name for name in needed if name != self._cluster.name]

    def _describe_stall(self) -> Optional[str]:
        """Returns the error message if this process's step or pause takes too long, else None.

        The time limit of a step starts anew while a process that this one waits for is dead or, in
        synchronous training, outside a step.
        """
        steps, now = self._heartbeat.steps, self._heartbeat.now()
        began = steps.step_began
        if began is None:
            return self._describe_long_pause(now)
        if not all(map(self._waits_too, self._list_needed())):
            self._others_busy = now
        secs = now - max(began, self._others_busy)
        limit = steps.limit(self._stall_secs)
        if self._is_synchronous and self._cluster.role != "chief":
            limit += AFTER_CHIEF_SECS
        if secs <= limit:
            return None
        return (
            f"{self._cluster.name}: a training step has not ended within {secs:.0f} s "
            f"(cluster.stall_secs {self._stall_secs}); this process ends, to be started again from "
            "the last checkpoint"
        )

    def _describe_long_pause(self, now: float) -> Optional[str]:
        """Returns the error message if a pause between steps makes no progress, else None."""
        progress = self._heartbeat.steps.last_progress
        if progress is None or now - progress <= BETWEEN_TIMES * self._stall_secs:
            return None
        main_thread = threading.main_thread().ident
        assert main_thread is not None
        code = sys._current_frames()[main_thread].f_code
        return (
            f"{self._cluster.name}: the scan of the data, a checkpoint, an evaluation, an export "
            f"or a hook has made no progress for {now - progress:.0f} s (cluster.stall_secs "
            f"{self._stall_secs}, {BETWEEN_TIMES} times), in {code.co_name} of {code.co_filename}; "
            "this process ends, to be started again from the last checkpoint"
        )

    def _waits_too(self, name: str) -> bool:
        """Returns whether a needed process is alive and, if training is synchronous, in a step.

        A process that is not alive is limited by `find_silent`. A live process outside a step is
        saving or evaluating, or is slower than this one.
        """
        in_step = self._is_synchronous and not name.startswith("ps-")
        is_alive = self._heartbeat.is_alive(name)
        return is_alive and (not in_step or bool(self._heartbeat.read(name).get("in_step")))

    def _find_replaced(self) -> Optional[str]:
        """Returns a process of this one's synchronous cluster that has failed or was restarted."""
        for name, incarnation in self._heartbeat.status.get("lineup", {}).items():
            status = self._heartbeat.read(name)
            is_same = name == self._cluster.name or status.get("incarnation") == incarnation
            if not is_same or status.get("state") in (FAILED, INTERRUPTED, LOST):
                return str(name)
        return None

    def _end_after(self, secs: float, status: int, line: str) -> None:
        """Ends this process when `secs` seconds have passed since the first call."""
        now = time.monotonic()
        self._over_since = self._over_since or now
        if now - self._over_since > secs:
            self._leave(status, line)

    def _leave(self, status: int, line: str) -> None:
        if self.cause is not None:
            status, line = self.cause.status, str(self.cause)
        self._log(f"error: {line}" if status else line)
        sys.stderr.flush()
        state = {0: FINISHED, FOLLOWED_STATUS: LOST}.get(status, FAILED)
        # If another process has failed, the state is FAILED, so that no process waits for a
        # restarted chief.
        self._heartbeat.end(FAILED if self.cause is not None else state, message=line)
        self._exit_now(status)


def build_end(chief: Status) -> JobEnded:
    """Returns the exception that ends this process after the chief failed or was interrupted.

    Args:
        chief: the chief's status.
    """
    happened = "was interrupted" if chief["state"] == INTERRUPTED else "has failed"
    reason = f": {chief['message']}" if chief.get("message") else ""
    # A launcher that names the run ends all processes itself, and reports the one that has failed.
    is_repeated = is_final(chief) and chief.get("run") is None
    return JobEnded(
        f"the chief {happened}, and this process ends with it{reason}",
        USER_ERROR_STATUS if is_repeated else FOLLOWED_STATUS,
    )


def is_final(status: Status) -> bool:
    """Returns whether a process has failed with an error that a restart repeats.

    Args:
        status: its status.
    """
    return status.get("awaited_secs") == 0


def await_chief(heartbeat: HeartbeatFile) -> None:
    """Waits until the chief has checked job_dir and, if --fresh was given, emptied it.

    Args:
        heartbeat: this process's heartbeat file.
    """
    while "target" not in heartbeat.read(CHIEF) and not is_over(heartbeat):
        time.sleep(POLL_SECS)


def is_over(heartbeat: HeartbeatFile) -> bool:
    """Returns whether training has ended.

    Args:
        heartbeat: this process's heartbeat file.
    """
    return heartbeat.read(CHIEF).get("state") in (TRAINED, *ENDED)


def has_finished(heartbeat: HeartbeatFile, cluster: Cluster) -> bool:
    """Returns whether the chief has finished the job, so that nothing is left for this process.

    A chief may be started again after that, because it was killed before it had ended.

    Args:
        heartbeat: this process's heartbeat file.
        cluster: the cluster, and which process of it this is.
    """
    if cluster.role != "chief":
        return heartbeat.read(CHIEF).get("state") == FINISHED
    # Without an ID of the run, this may be the same job again, which goes on with more steps.
    previous = heartbeat.previous_status
    is_known = cluster.run_id is not None and previous.get("run") == cluster.run_id
    return is_known and previous["state"] == FINISHED
