"""Builds the hooks that observe and end a run, both of jobs and of users' experiments."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer.cluster.strategies import SYNCHRONOUS, count_batches
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_layout import EVAL_DATA_KEY
from trainer.phase_timer import Times, TimesHook, TimesListener
from trainer.signals import SignalWatch
from trainer.training.divergence import FiniteListener
from trainer.training.hooks import EvaluationRecorder
from trainer.training.pace import Pace, PauseListener
from trainer.training.profiling import build_profile_hooks
from trainer.training.progress import Replication, Schedule, TrainingHook
from trainer.training.stopping import DiscardListener, EarlyStop, EarlyStopHook, InterruptHook


class Session(NamedTuple):
    """Objects that a process creates at its start and uses until its end.

    Attributes:
        console: shows progress.
        watch: receives signals.
        times: measures the phases of the process.
    """

    console: Console
    watch: SignalWatch
    times: Times


class BestMetric(NamedTuple):
    """The metric by which the best evaluation is chosen.

    Attributes:
        name: name of the metric.
        direction: "min" or "max": whether lower or higher values are better.
        data: checksums of the data, as in MetricsLog; None: they are unknown.
    """

    name: str
    direction: str
    data: Optional[dict[str, int]] = None


class Monitor:
    """Builds the hooks and listeners that observe a run: progress, losses, early stop, signals.

    Args:
        config: job_dir, and the sections cluster, run and stop.
        session: console, signals and times of this process.
        best: the metric by which the best evaluation is chosen.
        schedule: the steps of the run.
        cluster: the processes that train together. Only the chief writes to job_dir.

    Attributes:
        finite: keeps a model that has diverged from being saved.
        metrics_log: records losses and evaluations.
        pace: measures the speed of training.
        early_stop: decides whether training continues.
        progress: shows progress and records losses.
    """

    def __init__(
        self,
        config: config_lib.Config,
        session: Session,
        *,
        best: BestMetric,
        schedule: Schedule,
        cluster: Cluster = ALONE,
    ):
        self._job_dir = config.require_job_dir()
        self._run = config.run
        self._session = session
        self._last = schedule.last
        self._is_chief = cluster.role == "chief"
        self.finite = FiniteListener()
        self.metrics_log = MetricsLog(self._job_dir, best.data)
        if self._is_chief:
            self.metrics_log.resume_from(schedule.first)
            self._announce_changed_data(best.data or {}, config.stop)
        self.pace = Pace()
        self.early_stop = EarlyStop(
            config.stop,
            config.stop.metric or best.name,
            direction=best.direction,
            # New rows may make a model better again.
            evaluations=self.metrics_log.read_comparable(best.data or {}),
        )
        strategy = config.cluster.strategy
        self.progress = TrainingHook(
            session.console,
            self.pace,
            schedule=schedule,
            metrics_log=self.metrics_log if self._is_chief else None,
            replication=Replication(
                count_batches(config.cluster, cluster),
                cluster.is_distributed and strategy in SYNCHRONOUS,
            ),
        )
        # Workers in step with the chief stop with it, not by their own clocks.
        self._decides = self._is_chief or strategy not in SYNCHRONOUS

    def _announce_changed_data(self, data: dict[str, int], stop: config_lib.StopConfig) -> None:
        changed = self.metrics_log.find_changed(data)
        counted = ""
        if stop.patience_evals is not None and changed:
            counted = "stop.patience_evals counts from here"
        if EVAL_DATA_KEY in changed:
            self._session.console.log(
                "evaluation data: they differ from those of earlier evaluations; the best one is "
                f"chosen among those on the same data{counted and f', and {counted}'}"
            )
        elif counted:
            self._session.console.log(f"data: they differ from those of earlier runs; {counted}")

    def build_train_hooks(self, given: Sequence[Any] = (), first: Sequence[Any] = ()) -> list[Any]:
        """Returns the hooks of training.

        Args:
            given: further hooks.
            first: hooks that run before all others. `progress` counts their time as a pause, not
                as training.
        """
        profile = []
        if self._is_chief:
            profile = build_profile_hooks(
                self._run.profile_steps,
                self._job_dir,
                max_steps=self._last,
                console=self._session.console,
            )
        return [
            *first,
            TimesHook(self._session.times),
            self.progress,
            *([EarlyStopHook(self.early_stop)] if self._decides else []),
            InterruptHook(
                self._session.watch,
                self._job_dir,
                training=self._is_chief,
                listener=self.finite,
            ),
            *given,
            *profile,
        ]

    def build_listeners(self, given: Sequence[Any] = ()) -> list[Any]:
        """Returns the checkpoint listeners.

        Args:
            given: further listeners.
        """
        # Before all else: a model that has diverged is not saved, so it is not evaluated either.
        first = [DiscardListener(self._session.watch), self.finite]
        return [*first, TimesListener(self._session.times), PauseListener(self.pace), *given]

    def build_eval_hooks(self, given: Sequence[Any] = ()) -> list[Any]:
        """Returns the hooks of evaluation.

        Args:
            given: further hooks.
        """
        return [InterruptHook(self._session.watch, self._job_dir, training=False), *given]

    def build_recorder(self, shown: str) -> EvaluationRecorder:
        """Returns the exporter that records evaluations.

        Args:
            shown: the metric that is logged together with the loss.
        """
        return EvaluationRecorder(
            self._session.console,
            self.metrics_log,
            shown=shown,
            early_stop=self.early_stop,
        )
