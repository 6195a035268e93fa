"""Tries out the first trial of a search before anything is recorded."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from estimator_bridge.command_line.current_folder import list_words
from trainer.cluster.forking import ForkServer
from trainer.cluster.processes import Processes, to_exit_status
from trainer.environment.variables import copy_environment
from trainer.errors import TEMPORARY_STATUS, TemporaryError, UserError
from trainer.tuning.search import Search
from trainer.tuning.trials import POLL_SECS, Signals


def rehearse(
    search: Search,
    folder: Path,
    signals: Signals,
    log: Callable[[str], None],
    server: Optional[ForkServer] = None,
) -> None:
    """Checks data, model and metric with the flags of a trial, before anything is recorded.

    Args:
        search: what is searched.
        folder: of the study.
        signals: end the check.
        log: writes a line.
        server: forks the process that checks; None: it is started in the usual way.

    Raises:
        UserError: the trainer refuses the flags, or the check was killed.
    """
    lines: list[str] = []
    first = {name: given.samples[0] for name, given in search.parameters.items()}
    temporary = folder / ".rehearsal"
    flags, _ = search.plan_trial(first, str(temporary))
    processes = Processes(on_line=lambda name, line, is_output: lines.append(line), server=server)
    log("checking data, model and metric with one step")
    try:
        command = [sys.executable, *list_words("trainer.task"), "--dry_run", *flags]
        processes.start("check", command, copy_environment({}))
        ended: list[tuple[str, int]] = []
        while not ended and not signals.received:
            time.sleep(POLL_SECS)
            ended = processes.take_ended()
        if ended:
            processes.wait_for_output()
    finally:
        processes.close()
        shutil.rmtree(temporary, ignore_errors=True)
    code = ended[0][1] if ended else 0
    if code < 0 or code == TEMPORARY_STATUS:
        raise TemporaryError(
            f"the check ended with status {to_exit_status(code)}; give the same command again"
        )
    if code != 0:
        errors = [line for line in lines if line.startswith("error: ")] or lines[-1:]
        shown = errors[-1].removeprefix("error: ") if errors else "no message"
        raise UserError(f"a trial would fail: {shown}")
