"""Runs the trials of a study, each in a process of its own."""

import contextlib
import math
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.command_line.current_folder import list_words
from trainer.cluster.forking import ForkServer
from trainer.cluster.processes import Processes, to_exit_status
from trainer.console import Console
from trainer.environment.variables import copy_environment
from trainer.errors import TEMPORARY_STATUS, UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_layout import CHECKPOINT_FILE, CHECKPOINT_STATE
from trainer.storage.files import append_lines
from trainer.tuning import judging
from trainer.tuning.report import describe_length, describe_trial, list_headings
from trainer.tuning.search import Search
from trainer.tuning.study import FLAGS, REASON, SECS, STEPS, Study

TRIALS_FOLDER = "trials"
LOGS_FOLDER = "logs"
POLL_SECS = 0.05
# The programs of a trial, and what they import while they run; if they draw, DRAWING too.
PROGRAMS = ("trainer.task", "trainer.gate")
MODULES = (
    "trainer.gating.answers",
    "trainer.gating.page",
    "trainer.roles.dispatch",
    "trainer.training.dry_run",
    "trainer.training.inputs_record",
    "pyarrow.parquet",
    "tensorflow_estimator.python.estimator.api._v1.estimator",
)
DRAWING = ("matplotlib.backends.backend_agg", "matplotlib.figure")
# Processes of one trial in one run of the tuner: a process that was killed is started again.
MAX_STARTS = 3
# The search ends if so many trials fail and none succeeds.
MAX_FAILURES = 3


class Budget(NamedTuple):
    """How much a study may run.

    Attributes:
        max_trials: number of trials.
        max_hours: hours of all commands together; None: no limit.
        parallel: number of trials that run at a time.
        keeps_checkpoints: whether pruned and failed trials keep their checkpoints.
    """

    max_trials: int
    max_hours: Optional[float]
    parallel: int
    keeps_checkpoints: bool


class Running(NamedTuple):
    """A trial whose process runs.

    Attributes:
        trial: of Optuna.
        folder: the trial's job_dir.
        steps: number of steps to train.
        started: time.monotonic() at the first start of its process by this tuner.
    """

    trial: Any
    folder: Path
    steps: int
    started: float

    @property
    def name(self) -> str:
        """Name of its process."""
        return f"trial-{self.trial.number}"

    def read(self) -> list[dict[str, Any]]:
        """Returns its evaluations, in order of step."""
        return MetricsLog(str(self.folder)).read("eval")

    def read_parts(self, metric: str, parts: int) -> dict[int, float]:
        """Returns part of the trial → value of a metric, where it was evaluated.

        A trial that was started again is evaluated at other steps than its neighbours.

        Args:
            metric: its name.
            parts: number of parts of a trial, each of which ends with an evaluation.
        """
        found = {
            round(line["step"] * parts / self.steps): line[metric]
            for line in self.read()
            if metric in line
        }
        return {part: value for part, value in found.items() if part}


class Signals:
    """Counts SIGINT and SIGTERM; the second one kills the trials at once.

    Attributes:
        received: numbers of the signals.
        kill: called at the second signal.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self.kill: Callable[[], None] = lambda: None

    def note(self, number: int, frame: Any) -> None:
        """Handles a signal.

        Args:
            number: of the signal.
            frame: unused.
        """
        self.received.append(number)
        if len(self.received) > 1:
            self.kill()


class Trials:
    """Starts trials, observes their evaluations, and records their ends.

    Args:
        folder: of the study.
        search: what is searched.
        study: records the trials.
        budget: how much may run.
        console: shows the trials.
        signals: end the search.
        lock: file descriptor that the processes inherit.
        server: forks the trials.
    """

    def __init__(  # noqa: PLR0913
        self,
        folder: Path,
        search: Search,
        study: Study,
        budget: Budget,
        console: Console,
        signals: Signals,
        lock: int,
        server: ForkServer,
    ):
        self._folder, self._search, self._study = folder, search, study
        self._budget, self._console, self._signals = budget, console, signals
        self._processes = Processes(on_line=self._write_line, inherited=(lock,), server=server)
        # They are shown before the first trial that is not done.
        self._headings = [describe_length(search), *list_headings(search, console.width)]
        self._running: dict[str, Running] = {}
        self._starts: dict[str, int] = {}
        self._pruned: set[str] = set()
        # Trials that have trained, and whose exports the gate measures.
        self._judged: set[str] = set()
        self._errors: dict[str, str] = {}
        self._log_sizes: dict[str, int] = {}
        self._clock = time.monotonic()
        signals.kill = lambda: self._processes.send(signal.SIGKILL)
        (folder / LOGS_FOLDER).mkdir(exist_ok=True)

    def run(self) -> None:
        """Runs trials until the budget is used up or a signal arrives.

        Raises:
            UserError: all of the first trials failed.
        """
        for trial in self._study.trials:
            if trial.state.name in ("PRUNED", "FAIL"):
                self._clean(self._folder / TRIALS_FOLDER / str(trial.number))
        try:
            while not self._is_over():
                while len(self._running) < self._budget.parallel and self._start_next():
                    pass
                if not self._running:
                    break
                time.sleep(POLL_SECS)
                self._observe()
        finally:
            self._stop()

    def _is_over(self) -> bool:
        limit = self._budget.max_hours
        secs = self._study.secs + time.monotonic() - self._clock
        if limit is not None and secs >= limit * 3600:
            self._console.log(f"the budget of {limit:g} h is used up")
            return True
        return bool(self._signals.received)

    def _start_next(self) -> bool:
        """Starts a trial; returns False if there is none to start."""
        active = {each.trial.number for each in self._running.values()}
        trials = self._study.trials
        for frozen in trials:
            if frozen.state.name == "RUNNING" and frozen.number not in active:
                self._prepare(self._study.resume(frozen))
                return True
        begun = [trial for trial in trials if trial.state.name != "WAITING"]
        if len(begun) >= self._study.limit(self._budget.max_trials):
            return False
        self._prepare(self._study.ask())
        return True

    def _prepare(self, trial: Any) -> None:
        while self._headings:
            self._console.log(self._headings.pop(0))
        folder = self._folder / TRIALS_FOLDER / str(trial.number)
        texts = self._study.to_texts(trial)
        try:
            flags, steps = self._search.plan_trial(texts, str(folder))
        except UserError as error:
            trial.set_user_attr(REASON, str(error))
            self._tell(Running(trial, folder, 0, time.monotonic()), "FAIL")
            return
        if trial.user_attrs.get(FLAGS) != flags:
            trial.set_user_attr(FLAGS, flags)
            trial.set_user_attr(STEPS, steps)
        running = Running(trial, folder, steps, time.monotonic())
        # The process may have ended after an earlier tuner was killed.
        has_trained = any(line["step"] >= steps for line in running.read())
        if has_trained and not (self._search.is_judged and not judging.has_export(folder)):
            self._finish(running, 0)
            return
        self._running[running.name] = running
        self._start_process(running)

    def _start_process(self, running: Running) -> None:
        self._starts[running.name] = self._starts.get(running.name, 0) + 1
        command = [sys.executable, *list_words("trainer.task"), *running.trial.user_attrs[FLAGS]]
        if running.name in self._judged:
            command = judging.build_command(self._search, self._folder, running.folder)
        self._processes.start(running.name, command, copy_environment({}))

    def _write_line(self, name: str, line: str, is_output: bool) -> None:
        if not is_output and line.startswith("error: "):
            self._errors[name] = line.removeprefix("error: ")
        with contextlib.suppress(OSError):
            append_lines(self._folder / LOGS_FOLDER / f"{name}.log", [line])

    def _observe(self) -> None:
        for running in self._running.values():
            self._observe_trial(running)
        for name, code in self._processes.take_ended():
            self._processes.wait_for_output(name)
            running = self._running[name]
            is_temporary = code < 0 or code in (TEMPORARY_STATUS, *_stopped())
            if is_temporary and name not in self._pruned and self._starts[name] < MAX_STARTS:
                status = to_exit_status(code)
                self._console.log(f"{name}: ended with status {status}; it is started again")
                self._start_process(running)
                continue
            del self._running[name]
            self._finish(running, code)
        if self._console.is_due() and self._running:
            shown = (
                f"trial {each.trial.number}: the gate asks its export"
                if each.name in self._judged
                else _describe_progress(each)
                for each in self._running.values()
            )
            self._console.progress("; ".join(shown))

    def _observe_trial(self, running: Running) -> None:
        done = self._pruned | self._judged
        if len(self._search.objectives) > 1 or running.name in done:
            return
        # The log only grows, and is read only when it has grown.
        size = MetricsLog(str(running.folder)).measure()
        if size != self._log_sizes.get(running.name) and self._report(running):
            self._pruned.add(running.name)
            self._processes.send(signal.SIGTERM, running.name)
        self._log_sizes[running.name] = size

    def _report(self, running: Running) -> bool:
        """Reports the evaluations of the only objective; returns whether to prune the trial."""
        metric = self._search.objectives[0].metric
        values = running.read_parts(metric, self._search.evaluations)
        return self._study.report(running.trial, values)

    def _finish(self, running: Running, code: int) -> None:
        if running.name in self._judged and code in judging.STATUSES:
            code = 0
        report = judging.read_report(running.folder) if self._search.is_judged else None
        if code == 0 and self._search.is_judged and report is None and self._can_judge(running):
            self._running[running.name] = running
            self._judged.add(running.name)
            self._starts[running.name] = 0
            self._start_process(running)
            return
        evaluations = running.read()
        running.trial.set_user_attr(SECS, self._count_secs(running))
        if running.name in self._pruned:
            self._tell(running, "PRUNED")
            return
        costs = judging.read_costs(report) if report is not None else {}
        values = self._measure([{**line, **costs} for line in evaluations])
        if code == 0 and values is not None:
            if len(values) == 1:
                self._report(running)
            if report is not None and self._search.rules is not None:
                self._constrain(running, report)
            self._tell(running, "COMPLETE", values)
            return
        reason = self._errors.get(running.name, f"exit status {to_exit_status(code)}")
        if code == 0:
            known = ", ".join(sorted(set().union(*evaluations) - {"step"})) or "none"
            wanted = ", ".join(each.metric for each in self._search.objectives)
            reason = f"no finite value of {wanted}; its evaluations have: {known}"
        running.trial.set_user_attr(REASON, reason)
        self._tell(running, "FAIL")

    def _can_judge(self, running: Running) -> bool:
        """Whether the trial has trained to its end, and the gate has not been asked."""
        return running.name not in self._judged | self._pruned

    def _constrain(self, running: Running, report: dict[str, Any]) -> None:
        """Records how far the export of a trial is beyond the rules."""
        for rule, violation in judging.measure_violations(report).items():
            running.trial.set_constraint(rule, violation)
        broken = judging.describe_violation(report)
        if broken is not None:
            running.trial.set_user_attr(REASON, broken)

    def _measure(self, evaluations: list[dict[str, Any]]) -> Optional[list[float]]:
        """Returns the values of the objectives; None if one has none.

        With one objective, it is that of the best evaluation, whose model a job exports. With two,
        both are those of the last evaluation.
        """
        objectives = self._search.objectives
        having = [line for line in evaluations if all(each.metric in line for each in objectives)]
        if not having:
            return None
        if len(objectives) == 1:
            values = [objectives[0].choose([line[objectives[0].metric] for line in having])]
        else:
            values = [having[-1][each.metric] for each in objectives]
        return values if all(math.isfinite(value) for value in values) else None

    def _tell(self, running: Running, state: str, values: Optional[Sequence[float]] = None) -> None:
        self._study.tell(running.trial, state, values)
        now = time.monotonic()
        self._study.add_secs(now - self._clock)
        self._clock = now
        if state != "COMPLETE":
            self._clean(running.folder)
        trials = self._study.trials
        trial = trials[running.trial.number]
        self._console.log(describe_trial(trial, self._search, self._console.width))
        failed = [trial for trial in trials if trial.state.name == "FAIL"]
        succeeded = any(trial.state.name in ("COMPLETE", "PRUNED") for trial in trials)
        if len(failed) >= MAX_FAILURES and not succeeded:
            reason = failed[-1].user_attrs.get(REASON, "")
            raise UserError(
                f"the first {len(failed)} trials failed, the last one with: {reason} "
                f"({self._folder / LOGS_FOLDER} has their output); correct it, and name another "
                "--study_dir"
            )

    def _count_secs(self, running: Running) -> float:
        return round(time.monotonic() - running.started, 1)

    def _clean(self, folder: Path) -> None:
        if self._budget.keeps_checkpoints or not folder.is_dir():
            return
        for path in folder.iterdir():
            if CHECKPOINT_FILE.fullmatch(path.name) or path.name == CHECKPOINT_STATE:
                path.unlink(missing_ok=True)
        shutil.rmtree(folder / judging.EXPORTS, ignore_errors=True)

    def _stop(self) -> None:
        """Ends the trials; they save checkpoints, and the next tuner continues them."""
        if self._running:
            self._console.log(f"saving the checkpoints of {len(self._running)} running trial(s)")
        self._processes.send(signal.SIGTERM)
        while self._processes.running:
            time.sleep(POLL_SECS)
            self._processes.take_ended()
        self._processes.wait_for_output()
        self._processes.close()
        self._study.add_secs(time.monotonic() - self._clock)


def _stopped() -> tuple[int, int]:
    """Returns the exit statuses of a job that a signal has ended after a checkpoint."""
    return 128 + signal.SIGTERM, 128 + signal.SIGINT


def _describe_progress(running: Running) -> str:
    evaluations = running.read()
    step = evaluations[-1]["step"] if evaluations else 0
    return f"trial {running.trial.number}: step {step:,} of {running.steps:,}"
