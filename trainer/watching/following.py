"""Starts a command, such as the training pipeline, for what turned red or for new labels."""

import os
import shlex
import subprocess
from typing import NamedTuple, Optional

from estimator_bridge.signals import SignalReceived
from trainer.console import Console
from trainer.watching.findings import RED
from trainer.watching.report import Outcome
from trainer.watching.state import State

NOTE, LABELS_NOTE = "then", "then labels"


class Following(NamedTuple):
    """What is started, and when.

    Attributes:
        command: command of --then, as in a shell; None: none.
        labels: number of new labelled rows that start it too; 0: only what turns red does.
    """

    command: Optional[str]
    labels: int


def start_following(following: Following, outcome: Outcome, state: State, console: Console) -> None:
    """Runs a command and waits for its end, if something has turned red or enough labels are there.

    For what is red it runs once, until that is no longer red. A command that fails is started again
    by the next run.

    Args:
        following: the command.
        outcome: what was found.
        state: remembers what the command was started for.
        console: for messages.
    """
    command = following.command
    if command is None:
        return
    red = [
        f"{one.finding.name}\n{one.finding.slice}"
        for one in outcome.current
        if one.finding.status == RED
    ]
    red += ["replay"] if outcome.replay and outcome.replay["status"] == RED else []
    labels = {str(period): labelled for period, (_, labelled) in outcome.labels.items()}
    new_labels = _count_new(labels, state.read_note(LABELS_NOTE) or {})
    enough = 0 < following.labels <= new_labels
    if set(red) <= set(state.read_note(NOTE) or ()) and not enough:
        state.write_note(NOTE, red)
        return
    why = f" ({new_labels:,} new labelled rows)" if enough else ""
    console.log(f"--then: {command}{why}")
    try:
        status = _run(command)
    except (OSError, ValueError) as error:
        console.warn(f"--then={command}: {error}; the next run starts it again")
        return
    if status:
        console.warn(f"--then={command}: exit status {status}; the next run starts it again")
        return
    state.write_note(NOTE, red)
    state.write_note(LABELS_NOTE, labels)


def _run(command: str) -> int:
    """Returns the exit status of a command; a signal to this process goes to all of its processes.

    Args:
        command: command line, as in a shell.
    """
    # Ctrl-C then interrupts only this process: a second signal would end training at once.
    process = subprocess.Popen(shlex.split(command), start_new_session=True)
    try:
        return process.wait()
    except SignalReceived as received:
        os.killpg(process.pid, received.signal)
        process.wait()
        raise


def _count_new(now: dict[str, int], then: dict[str, int]) -> int:
    """Returns the number of labelled rows that have come since; old periods may be forgotten."""
    return sum(max(0, count - then.get(period, 0)) for period, count in now.items())
