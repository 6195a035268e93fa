"""Starts a command, such as the training pipeline, when something turns red."""

import shlex
import subprocess
from typing import Optional

from trainer.console import Console
from trainer.watching.findings import RED
from trainer.watching.report import Outcome
from trainer.watching.state import State

NOTE = "then"


def start_following(
    command: Optional[str], outcome: Outcome, state: State, console: Console
) -> None:
    """Runs a command and waits for its end, once for what is red, until that is no longer red.

    A command that fails is started again by the next run.

    Args:
        command: of --then, as in a shell; None: none.
        outcome: what was found.
        state: remembers what the command was started for.
        console: for messages.
    """
    if command is None:
        return
    red = [
        f"{one.finding.name}\n{one.finding.slice}"
        for one in outcome.current
        if one.finding.status == RED
    ]
    red += ["replay"] if outcome.replay and outcome.replay["status"] == RED else []
    done = set(state.read_note(NOTE) or ())
    if set(red) <= done:
        state.write_note(NOTE, red)
        return
    console.log(f"--then: {command}")
    try:
        status = subprocess.run(shlex.split(command), check=False).returncode
    except (OSError, ValueError) as error:
        console.warn(f"--then={command}: {error}; the next run starts it again")
        return
    if status:
        console.warn(f"--then={command}: exit status {status}; the next run starts it again")
        return
    state.write_note(NOTE, red)
