"""Runs the steps of a pipeline on this machine."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, Callable

from estimator_bridge.output.terminal import quote_command
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
            status, name = 0, ""
            done: dict[str, Step] = {}
            for number, step in enumerate(self._pipeline.steps):
                name = step.name
                status, done[name] = self._run_step(number, step, done, lock)
                if status:
                    self._log(f"{name}: the pipeline ends with status {status}")
                    break
            secs = round(time.monotonic() - started, 1)
            self._history.add("end", status=status, step=name, secs=secs)
            return status

    def _run_step(
        self, number: int, step: Step, earlier: dict[str, Step], lock: BinaryIO
    ) -> tuple[int, Step]:
        later = self._pipeline.steps[number:]
        written = {path for one in later for path in fill(one, earlier, _KEY).list_outputs()}
        key, inputs = compute_key(fill(step, earlier, _KEY), written)
        filled = fill(step, earlier, key)
        last = self._history.find_last(step.name)
        is_same = last is not None and last.key == key and last.status == 0
        if is_same and step.name not in self._force and has_outputs(filled):
            self._log(f"{step.name}: skipped, nothing changed ({key})")
            self._history.add("step", step=step.name, key=key, status=0, skipped=True, secs=0.0)
            return 0, filled
        if last is not None and last.key != key:
            self._log(f"{step.name}: changed: {describe_changes(last.inputs, inputs)}")
        filled = admit_first_model(replace_own_output(filled, step), written)
        started = time.monotonic()
        status = self._start(filled, lock)
        self._history.add(
            "step",
            step=step.name,
            key=key,
            status=status,
            secs=round(time.monotonic() - started, 1),
            command=filled.list_arguments(),
            inputs=inputs,
        )
        return status, filled

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
                [sys.executable, "-m", *arguments],
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


def open_history(pipeline: Pipeline) -> History:
    """Returns the history of a pipeline.

    Args:
        pipeline: the pipeline.
    """
    return History(Path(pipeline.folder))
