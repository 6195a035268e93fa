"""Runs a job in the role of this process: as a single process or as a member of a cluster."""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer.cluster import strategies, watchdog
from trainer.cluster.heartbeat import HeartbeatFile
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.export.checker import Checker
from trainer.export.exporters import read_best
from trainer.job_dir import compatibility, leftovers, quarantine
from trainer.job_layout import BEST_STATE, EXPORT_FOLDER, SUMMARY
from trainer.phase_timer import Times
from trainer.roles.chief import run_chief
from trainer.roles.evaluator import run_evaluator
from trainer.roles.parameter_server import run_parameter_server
from trainer.roles.process import ClusterProcess
from trainer.roles.worker import run_worker
from trainer.schema import Schema
from trainer.signals import SignalWatch
from trainer.storage import disk
from trainer.storage.workspace import Workspace
from trainer.training import dry_run
from trainer.training.job import Job
from trainer.training.job import prepare as prepare_job
from trainer.training.report import publish_model, report_job, write_page
from trainer.training.reuse import find_unchanged, list_job_exports
from trainer.training.run import train_and_evaluate


class Place(NamedTuple):
    """Where this process runs.

    Attributes:
        cluster: the cluster, and which process of it this is.
        workspace: the job's folder on this machine.
        console: shows progress.
        watch: receives signals.
        show: shows the text of the summary.
        before_secs: time before the job began that belongs to it, seconds.
        heartbeat: this process's heartbeat file, if it has joined a cluster; else None.
    """

    cluster: Cluster
    workspace: Workspace
    console: Console
    watch: SignalWatch
    show: Callable[[str], None]
    before_secs: float
    heartbeat: Optional[HeartbeatFile] = None


def rehearse_job(config: config_lib.Config, schema: Schema, place: Place) -> None:
    """Checks that a job would succeed, without writing to job_dir.

    Args:
        config: the resolved configuration.
        schema: schema of the data.
        place: where this process runs.

    Raises:
        UserError: the job would fail.
    """
    strategies.check_strategy(config.cluster, place.cluster)
    _check_job_dir(config, schema)
    dry_run.rehearse(config, schema, place.console, place.watch)


def run_job(
    config: config_lib.Config,
    schema: Schema,
    place: Place,
    fresh: Optional[str] = None,
    reuse: bool = False,
) -> None:
    """Runs a job in the role of this process.

    Args:
        config: the resolved configuration.
        schema: schema of the data.
        place: where this process runs.
        fresh: value of --fresh, the folder to empty first; None if the flag was not given.
        reuse: whether to end at once if the job in job_dir is complete and unchanged.

    Raises:
        UserError: the data, the options, the model or job_dir are wrong.
        Interrupted: a signal arrived; a checkpoint has been saved.
        JobEnded: this process ends because another process of the cluster has ended.
    """
    times, cluster = Times(before=place.before_secs), place.cluster
    strategies.check_strategy(config.cluster, cluster)
    if place.heartbeat is not None:
        if reuse:
            raise UserError("--reuse: for a job of one process only; remove it")
        _run_member(config, schema, place, place.heartbeat, times=times, fresh=fresh)
        return
    disk.check_writable(config.require_job_dir(), make=True)
    with place.workspace.lock(place.console.warn):
        if reuse and _reuse(config, schema, place):
            return
        _run_trainer(config, schema, place, times=times, fresh=fresh)


def _reuse(config: config_lib.Config, schema: Schema, place: Place) -> bool:
    """Reports the complete and unchanged job in job_dir again; returns whether there is one."""
    job_dir, console = config.require_job_dir(), place.console
    ended, reason = find_unchanged(config, schema)
    if ended is None:
        console.log(f"not reused: {reason}")
        return False
    console.log(
        f"reused: data, options and code are those of the complete run that ended at {ended}"
    )
    summary = (Path(job_dir) / SUMMARY).read_text(encoding="utf-8", errors="replace")
    place.show(place.workspace.display_path(summary))
    publish_model(list_job_exports(config), config.storage, console)
    return True


def _run_member(
    config: config_lib.Config,
    schema: Schema,
    place: Place,
    heartbeat: HeartbeatFile,
    *,
    times: Times,
    fresh: Optional[str],
) -> None:
    """Runs a job as a member of a cluster."""
    if watchdog.has_finished(heartbeat, place.cluster):
        place.console.log(
            f"{place.cluster.name}: the job has finished already; nothing is left to do"
        )
    elif place.cluster.role == "chief":
        _run_trainer(config, schema, place, times=times, fresh=fresh)
    else:
        _run_other(config, schema, place, heartbeat)


def _run_trainer(
    config: config_lib.Config,
    schema: Schema,
    place: Place,
    *,
    times: Times,
    fresh: Optional[str],
) -> None:
    """Trains as a single process or as the chief of a cluster, and writes the report."""
    console, cluster = place.console, place.cluster
    job_dir, claim = config.require_job_dir(), place.workspace.claim(place.watch.discard)
    with ExitStack() as stack:
        if fresh is not None:
            compatibility.list_doomed(job_dir, fresh)
            stack.enter_context(claim)
            compatibility.delete_job(job_dir, fresh)
            place.workspace.start_over()
        quarantine.forget_outside(job_dir, console.warn)
        compatibility.check_same_model(config, schema)
        if quarantine.quarantine_corrupt(job_dir, console.warn):
            # The newest checkpoint is now another one, which has not been checked yet.
            compatibility.check_same_model(config, schema)
        compatibility.check_warm_start(job_dir, config.train.warm_start)
        # What the run reads later is checked before it begins.
        compatibility.load_statistics(job_dir, schema)
        read_best(Path(job_dir) / EXPORT_FOLDER / "best" / BEST_STATE)
        checker = stack.enter_context(Checker(config.export.verify))
        job = _prepare(config, schema, place, times=times, checker=checker)
        if fresh is None:
            # Not earlier: a job that fails before this must not end another one.
            stack.enter_context(claim)
        leftovers.remove_leftovers(config, cluster.has_others, console.log)
        place.workspace.check_restored()
        if place.heartbeat is None:
            result = train_and_evaluate(job, console, place.watch)
        else:
            process = _make_process(place, place.heartbeat)
            result = run_chief(job, process)
        place.show(place.workspace.display_path(report_job(job, result, console)))
        publish_model(result.exports, config.storage, console)
        write_page(job, result, console, place.workspace.display_path)
        if cluster.has_others:
            # When they read that this process has finished, the others leave for good.
            place.workspace.push()


def _prepare(
    config: config_lib.Config,
    schema: Schema,
    place: Place,
    *,
    times: Optional[Times] = None,
    checker: Optional[Checker] = None,
) -> Job:
    """Prepares the job; in a cluster, the watchdog ends a scan of the data that hangs."""
    prepare = functools.partial(
        prepare_job, config, schema, cluster=place.cluster, times=times, checker=checker
    )
    if place.heartbeat is None:
        return prepare(place.console)
    steps = place.heartbeat.steps
    with steps.time_pause():
        # A scan that goes on reports each block of rows.
        return prepare(place.console.observed(steps.note_progress))


def _make_process(place: Place, heartbeat: HeartbeatFile) -> ClusterProcess:
    return ClusterProcess(
        place.console, place.watch, place.cluster, heartbeat, place.workspace.push
    )


def _run_other(
    config: config_lib.Config, schema: Schema, place: Place, heartbeat: HeartbeatFile
) -> None:
    """Runs a worker, a parameter server or an evaluator."""
    if place.cluster.role == "ps":
        run_parameter_server(config, place.cluster, heartbeat)
        return
    job = _prepare(config, schema, place)
    if place.cluster.role == "worker":
        run_worker(job, _make_process(place, heartbeat))
    else:
        run_evaluator(job, place.console, place.watch, heartbeat)


def _check_job_dir(config: config_lib.Config, schema: Schema) -> None:
    compatibility.check_same_model(config, schema)
    compatibility.check_warm_start(config.require_job_dir(), config.train.warm_start)
