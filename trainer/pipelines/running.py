"""Runs the steps of a pipeline on this machine."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, Callable, NamedTuple, Optional

from estimator_bridge.command_line.current_folder import list_words
from estimator_bridge.output.terminal import quote_command
from trainer.errors import TEMPORARY_STATUS
from trainer.pipelines.definition import (
    Pipeline,
    Step,
    admit_first_model,
    fill,
    replace_own_output,
)
from trainer.pipelines.history import History
from trainer.pipelines.identity import compute_key, describe_changes, has_outputs, list_versions

# {key} is replaced by itself while the key is computed.
_KEY = "{key}"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Commands that must read only what a check before them has read.
_TRAINING = ("task", "tune")
# How often a run checks data again that have changed after their check.
MAX_REPEATS = 3


class _Planned(NamedTuple):
    """A step that is about to start.

    Attributes:
        step: the step; its references have been replaced.
        key: its key.
        inputs: path → fingerprint.
        written: paths that this step and later ones write.
    """

    step: Step
    key: str
    inputs: dict[str, str]
    written: set[str]


class Runner:
    """Runs a pipeline.

    Args:
        pipeline: the pipeline.
        history: history of the pipeline's runs.
        log: writes one line for the user.
        force: names of steps to run even if their inputs are unchanged.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        history: History,
        log: Callable[[str], None],
        force: frozenset[str] = frozenset(),
    ):
        self._pipeline = pipeline
        self._history = history
        self._log = log
        self._force = force
        self._received = 0

    def run(self) -> int:
        """Runs the steps whose inputs have changed; returns 0, or the status of a failed step.

        Raises:
            TemporaryError: another run of the pipeline is still running.
        """
        with self._history.lock() as lock:
            started = time.monotonic()
            versions = list_versions()
            self._history.add("start", file=self._pipeline.fingerprint, versions=versions)
            status, name = self._run_steps(lock)
            secs = round(time.monotonic() - started, 1)
            self._history.add("end", status=status, step=name, secs=secs)
            return status

    def _run_steps(self, lock: BinaryIO) -> tuple[int, str]:
        """Returns the status, and the name of the last step that was started."""
        done: dict[str, Step] = {}
        checked: dict[int, dict[str, str]] = {}
        number = repeats = 0
        while number < len(self._pipeline.steps):
            step = self._pipeline.steps[number]
            planned = self._plan(number, step, done)
            stale = _find_stale(planned, checked)
            if stale is not None:
                first, path = stale
                name = self._pipeline.steps[first].name
                if repeats == MAX_REPEATS:
                    self._log(
                        f"{step.name}: {path} changes again and again; repeat the command when it "
                        "is complete"
                    )
                    return TEMPORARY_STATUS, step.name
                self._log(
                    f"{step.name}: {path} has changed since {name} read it; {name} runs again"
                )
                number, repeats = first, repeats + 1
                continue
            status = self._run_step(step, planned, lock)
            done[step.name] = planned.step
            if status:
                self._log(f"{step.name}: the pipeline ends with status {status}")
                return status, step.name
            if step.command == "schema check":
                checked[number] = planned.inputs
            number += 1
        return 0, self._pipeline.steps[-1].name

    def _plan(self, number: int, step: Step, earlier: dict[str, Step]) -> _Planned:
        later = self._pipeline.steps[number:]
        written = {path for one in later for path in fill(one, earlier, _KEY).list_outputs()}
        key, inputs = compute_key(fill(step, earlier, _KEY), written)
        return _Planned(fill(step, earlier, key), key, inputs, written)

    def _run_step(self, given: Step, planned: _Planned, lock: BinaryIO) -> int:
        filled, key, inputs, written = planned
        name = given.name
        last = self._history.find_last(name)
        is_same = last is not None and last.key == key and last.status == 0
        if is_same and name not in self._force and has_outputs(filled):
            self._log(f"{name}: skipped, nothing changed ({key})")
            self._history.add("step", step=name, key=key, status=0, skipped=True, secs=0.0)
            return 0
        if last is not None and last.key != key:
            self._log(f"{name}: changed: {describe_changes(last.inputs, inputs)}")
        filled = admit_first_model(replace_own_output(filled, given), written)
        started = time.monotonic()
        status = self._start(filled, lock)
        self._history.add(
            "step",
            step=name,
            key=key,
            status=status,
            secs=round(time.monotonic() - started, 1),
            command=filled.list_arguments(),
            inputs=inputs,
        )
        return status

    def _start(self, step: Step, lock: BinaryIO) -> int:
        """Runs the command of a step, and forwards the signals of this process to it."""
        arguments = step.list_arguments()
        self._log(f"{step.name}: {quote_command('python', '-m', *arguments)}")

        def note(number: int, frame: Any) -> None:
            self._received = number

        def forward(number: int, frame: Any) -> None:
            self._received = number
            process.send_signal(number)

        # Under nohup, SIGHUP is ignored, so that a run outlives its terminal. It must stay ignored.
        outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        handled = [each for each in _SIGNALS if each != signal.SIGHUP or not outlives]
        # If a signal handler raised an exception, a process that has just started would be left.
        before = {number: signal.signal(number, note) for number in handled}
        try:
            process = subprocess.Popen(
                [sys.executable, *list_words(arguments[0]), *arguments[1:]],
                pass_fds=[lock.fileno()],
                # Ctrl-C must reach only this process: a second signal would end training at once.
                start_new_session=True,
            )
            for number in handled:
                signal.signal(number, forward)
            if self._received:
                # At SIGINT, Python would print a traceback of its own start.
                process.terminate()
            status = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._received:
            return 128 + self._received
        return status if status >= 0 else 128 - status


def _find_stale(planned: _Planned, checked: dict[int, dict[str, str]]) -> Optional[tuple[int, str]]:
    """Returns the first check that has read other content of what a training reads, and its path.

    Args:
        planned: the step that is about to start.
        checked: number of a check → path → fingerprint of what it has read.
    """
    if planned.step.command not in _TRAINING:
        return None
    for number, inputs in checked.items():
        for path, fingerprint in inputs.items():
            if planned.inputs.get(path, fingerprint) != fingerprint:
                return number, path
    return None


def open_history(pipeline: Pipeline) -> History:
    """Returns the history of a pipeline.

    Args:
        pipeline: the pipeline.
    """
    return History(Path(pipeline.folder))
