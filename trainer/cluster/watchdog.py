"""How a process of a cluster hears that the job is over, and ends even if its main thread hangs."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Optional

from estimator_bridge import BridgeError
from trainer import config as config_lib
from trainer.cluster.heartbeat import (
    ENDED,
    FAILED,
    FINISHED,
    GONE,
    INTERRUPTED,
    LOST,
    RUNNING,
    TRAINED,
    Board,
)
from trainer.cluster.step_timer import BETWEEN_TIMES
from trainer.cluster.strategies import SYNCHRONOUS
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import FOLLOWED_STATUS, USER_ERROR_STATUS, JobEnded, UserError
from trainer.signals import Interrupted, SignalWatch

# Seconds that a process may go on after the job has ended, to close its session.
GRACE_SECS = 20.0
# Seconds that one in step with a process that is gone may go on, to say itself what is wrong.
LOST_SECS = 5.0
# Where all are stuck in a step, the others wait so much longer than the chief: one is to fail, and
# they are to follow it.
AFTER_CHIEF_SECS = 20.0
POLL_SECS = 0.5
CHIEF, EVALUATOR = "chief-0", "evaluator-0"
REPLACED = "is gone or has been started again, and this process was in step with it; it ends too"


class Watchdog:
    """Ends this process when the job is over or cannot go on, and the main thread does not.

    Args:
        board: the board; `check` is to be called after each look at it.
        cluster: who this process is.
        config: strategy and patience.
        log: takes a line.
        ask_end: has the main thread save a checkpoint and end with Interrupted.
        exit_now: ends the process with a status; a test hands in its own.

    Attributes:
        cause: another process's error, because of which the chief was asked to end; else None.
    """

    def __init__(
        self,
        board: Board,
        cluster: Cluster,
        config: config_lib.ClusterConfig,
        log: Callable[[str], None],
        ask_end: Callable[[], None],
        exit_now: Callable[[int], None] = os._exit,
    ):
        self._board = board
        self._cluster = cluster
        self._limit = config.watchdog_secs
        self._stall_secs = config.stall_secs
        self._is_synchronous = config.strategy in SYNCHRONOUS
        self._log = log
        self._ask_end = ask_end
        self._exit_now = exit_now
        self.cause: Optional[JobEnded] = None
        self._over_since: Optional[float] = None
        # When another process was last seen to have something else to do than wait in a step.
        self._others_busy = -math.inf

    def check(self) -> None:
        """Looks at what the board says."""
        own = self._board.posted
        if own["state"] == LOST:
            # The main thread has said so, and may hang in the session that it closes.
            self._end_after(LOST_SECS, FOLLOWED_STATUS, own["message"])
            return
        if self._cluster.role == "chief":
            self._end_with_failed()
        else:
            word = self._board.read(CHIEF)
            if word.get("state") in ENDED:
                status = 0 if word["state"] == FINISHED else build_end(word).status
                line = f"the job has {word['state']}; this process ends"
                self._end_after(GRACE_SECS, status, line)
                return
        if self._find_replaced() is not None:
            self._end_after(LOST_SECS, FOLLOWED_STATUS, f"{self._find_replaced()} {REPLACED}")
            return
        silent = self.find_silent()
        if silent is None:
            stalled = self._find_stall()
            if stalled is not None:
                self._leave(1, stalled)
            return
        if silent == CHIEF and self._board.last_word(CHIEF).get("state") == FINISHED:
            self._leave(0, "the job had finished before this process began, and has not begun anew")
        else:
            line = f"{silent} has been silent for {self._limit} s; this process ends"
            self._leave(FOLLOWED_STATUS, line)

    def _end_with_failed(self) -> None:
        """Has the chief save and end because of an error elsewhere; the others follow it."""
        failed = self._find_failed()
        if self.cause is None and failed is not None and self._board.posted["state"] == RUNNING:
            word = self._board.read(failed)
            secs = word["awaited_secs"]
            late = f" and has not been started again within {secs} s" if secs else ""
            self.cause = JobEnded(
                f"{failed} has failed{late}: {word['message']}; this process ends with it",
                FOLLOWED_STATUS if secs else USER_ERROR_STATUS,
            )
            self._ask_end()
        if self.cause is not None and failed is not None and failed.startswith("ps-"):
            # Nothing can be saved without its variables, and its step may wait for ever.
            self._end_after(GRACE_SECS, self.cause.status, str(self.cause))

    def _find_failed(self) -> Optional[str]:
        """Who ended by an error that no restart mends, or after which none has come in time."""
        for name in [*self._cluster.names, EVALUATOR]:
            word = self._board.read(name)
            secs = word.get("awaited_secs", math.inf)
            if word.get("state") == FAILED and self._board.silence(name) >= secs:
                return name
        return None

    def find_silent(self) -> Optional[str]:
        """A process that this one cannot do without and that has been silent too long."""
        for name in self._list_needed():
            gone = self._board.read(name).get("state") == FINISHED
            if not gone and self._board.silence(name) > self._limit:
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

    def _find_stall(self) -> Optional[str]:
        """Says that this process's step does not end, though nobody is there to wait for."""
        steps, now = self._board.steps, self._board.now()
        began = steps.began
        if began is None:
            return self._find_pause(now)
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

    def _find_pause(self, now: float) -> Optional[str]:
        """Says that what this process does between two steps does not get on."""
        moved, limit = self._board.steps.moved, BETWEEN_TIMES * self._stall_secs
        if moved is None or now - moved <= limit:
            return None
        code = sys._current_frames()[threading.main_thread().ident].f_code
        return (
            f"{self._cluster.name}: a checkpoint, an evaluation, an export or a hook has not got "
            f"on for {now - moved:.0f} s (cluster.stall_secs {self._stall_secs}, {BETWEEN_TIMES} "
            f"times), in {code.co_name} of {code.co_filename}; this process ends, to be started "
            "again from the last checkpoint"
        )

    def _waits_too(self, name: str) -> bool:
        """Whether a process that this one needs is there and, if in step with it, in a step too.

        Where it is not there, its silence is limited; else it saves, evaluates or lags behind.
        """
        in_step = self._is_synchronous and not name.startswith("ps-")
        is_there = self._board.is_alive(name)
        return is_there and (not in_step or bool(self._board.read(name).get("in_step")))

    def _find_replaced(self) -> Optional[str]:
        """A process in step with this one that has been started again, or has failed."""
        for name, incarnation in self._board.posted.get("lineup", {}).items():
            word = self._board.read(name)
            is_same = name == self._cluster.name or word.get("incarnation") == incarnation
            if not is_same or word.get("state") in (FAILED, INTERRUPTED, LOST):
                return name
        return None

    def _end_after(self, secs: float, status: int, line: str) -> None:
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
        # The others are not to wait for the chief that follows.
        self._board.end(FAILED if self.cause is not None else state, message=line)
        self._exit_now(status)


@contextmanager
def on_board(config: config_lib.Config, cluster: Cluster, console: Console, watch: SignalWatch):
    """Keeps this process's file on the board, from its start to its last word.

    Raises:
        JobEnded: instead of Interrupted, where another process's error has ended this one.
    """
    board = Board(config.job_dir, cluster.name, run_id=cluster.run_id)
    watchdog = Watchdog(board, cluster, config.cluster, console.warn, watch.ask)
    board.start(watchdog.check)
    try:
        yield board
    except (Interrupted, JobEnded) as end:
        if watchdog.cause is not None:
            saved = end.saved if isinstance(end, Interrupted) else ""
            end = JobEnded(f"{watchdog.cause}{saved}", watchdog.cause.status)
            _end_badly(board, cluster, FAILED, message=str(end))
            raise end from None
        if isinstance(end, Interrupted):
            _end_badly(board, cluster, INTERRUPTED)
        else:
            board.end(LOST, message=str(end))
        raise
    except BaseException as error:
        message = str(error).splitlines()[0] if str(error) else repr(error)
        facts = _await_restart(error, config, cluster)
        _end_badly(board, cluster, FAILED, message=message, **facts)
        raise
    board.end(FINISHED)


def _await_restart(error: BaseException, config: config_lib.Config, cluster: Cluster) -> dict:
    """How long the chief is to wait, after an error, until this process is started again."""
    if isinstance(error, (UserError, BridgeError)):
        # The next time it would be the same.
        return {"awaited_secs": 0}
    # In an evaluator's place the chief evaluates.
    is_waited_for = cluster.role != "evaluator"
    return {"awaited_secs": config.cluster.watchdog_secs} if is_waited_for else {}


def _end_badly(board: Board, cluster: Cluster, state: str, **facts: Any) -> None:
    """Ends; a chief first lets the others hear of it, those too that are only just starting."""
    board.post(state, **facts)
    waiting = {name for name in cluster.names if name != cluster.name}
    deadline = time.monotonic() + GRACE_SECS
    while cluster.role == "chief" and waiting and time.monotonic() < deadline:
        # One that has ended may have been started again since.
        waiting -= {name for name in waiting if board.read(name).get("state") in GONE}
        time.sleep(POLL_SECS)
    board.end(state, **facts)


def build_end(word: dict[str, Any]) -> JobEnded:
    """What ends this process once the chief has failed or was interrupted."""
    return JobEnded(f"the chief has {word['state']}; this process ends with it")


def await_chief(board: Board) -> None:
    """Waits until the chief has looked at job_dir, and emptied it if it was told to."""
    while "target" not in board.read(CHIEF) and not is_over(board):
        time.sleep(POLL_SECS)


def is_over(board: Board) -> bool:
    """Whether there is nothing left to train."""
    return board.read(CHIEF).get("state") in (TRAINED, *ENDED)


def has_finished(board: Board) -> bool:
    """Whether the chief is done with everything: who starts now comes too late."""
    return board.read(CHIEF).get("state") == FINISHED
