"""Starts a command, such as the training pipeline, if something turned red or labels arrived."""

import os
import shlex
import shutil
import subprocess
from typing import NamedTuple, Optional

from estimator_bridge.command_line.signals import SignalReceived
from trainer.console import Console
from trainer.errors import UserError
from trainer.watching.findings import RED
from trainer.watching.report import Outcome
from trainer.watching.state import State

NOTE, LABELS_NOTE = "then", "then labels"


class Following(NamedTuple):
    """The command to start, and when.

    Attributes:
        command: command of --then, as in a shell; None: none.
        labels: number of new labelled rows that also start it; 0: only findings that turn red do.
    """

    command: Optional[str]
    labels: int


def split_command(command: str) -> list[str]:
    """Returns the words of --then.

    Args:
        command: command line, as in a shell.

    Raises:
        UserError: the command is empty, or a quotation does not end.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--then={command}: {error}; correct the quotation marks") from error
    if not words:
        raise UserError("--then: the command is empty; write for example --then='sh retrain.sh'")
    return words


def find_program(command: str) -> None:
    """Raises if this machine does not have the program of --then.

    Args:
        command: command line, as in a shell.

    Raises:
        UserError: there is no such program.
    """
    program = split_command(command)[0]
    if shutil.which(program) is None:
        raise UserError(
            f"--then={command}: there is no program {program!r}; correct the name, or add its "
            "folder to PATH"
        )


def start_following(following: Following, outcome: Outcome, state: State, console: Console) -> None:
    """Runs the command and waits for its end, if something turned red or enough labels arrived.

    The command runs once for a finding that turns red, and again only after that finding was not
    red in between. If the command fails, the next run starts it again.

    Args:
        following: the command.
        outcome: results of the watch.
        state: stores the reasons for which the command was started.
        console: prints messages.
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
    """Runs a command; returns its exit status. Signals are forwarded to all of its processes.

    Args:
        command: command line, as in a shell.
    """
    # Ctrl-C must reach only this process: a second signal would end training at once.
    process = subprocess.Popen(split_command(command), start_new_session=True)
    try:
        return process.wait()
    except SignalReceived as received:
        os.killpg(process.pid, received.signal)
        process.wait()
        raise


def _count_new(now: dict[str, int], then: dict[str, int]) -> int:
    """Returns the number of labelled rows that arrived since; old periods may have been removed."""
    return sum(max(0, count - then.get(period, 0)) for period, count in now.items())
