"""python -m trainer.task: parse, resolve, run, report."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

import estimator_bridge
from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer import storage
from trainer.cluster import processes
from trainer.config import flags
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster, read_cluster
from trainer.environment.services import read_service
from trainer.environment.variables import take_parent_pipe
from trainer.errors import USER_ERROR_STATUS, JobEnded, UserError
from trainer.models import memory
from trainer.signals import Interrupted, SignalWatch
from trainer.storage import disk, workspace
from trainer.vertex import job_environment as service_lib


def main(argv: list[str]) -> int:
    """Runs a job; returns the exit status.

    0: done; 2: something the user gave is wrong; 128 + number: ended by that signal.
    """
    config = None
    try:
        command = flags.parse_command_line(argv)
        if command is None:
            return 0
        config = config_lib.load_config(command.hparams, command.overrides)
        with SignalWatch() as watch:
            return _run_in_workspace(config, command, watch)
    except UserError as error:
        cause = error.__cause__
        if config is not None and config.verbosity == "debug" and cause is not None:
            traceback.print_exception(type(cause), cause, cause.__traceback__)
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR_STATUS
    except estimator_bridge.BridgeError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return USER_ERROR_STATUS
    except JobEnded as end:
        print(f"error: {end}", file=sys.stderr)
        return end.status
    except Interrupted as interruption:
        print(
            f"stopped by {interruption.signal.name}{interruption.saved}; the same command goes on "
            "from the last checkpoint",
            file=sys.stderr,
        )
        return 128 + interruption.signal.value


def _run_in_workspace(
    config: config_lib.Config, command: flags.CommandLine, watch: SignalWatch
) -> int:
    """Runs the job in a folder of this machine, wherever its job_dir is."""
    cluster = read_cluster()
    processes.end_with_parent(take_parent_pipe(), saves=cluster.role == "chief")
    service = read_service()
    config = service_lib.place(config, cluster, service)
    _require_job_dir(config)
    settings = storage.Settings(**config.storage.model_dump())
    storage.configure(settings)
    console = Console(quiet=config.verbosity in ("warning", "error"))
    with workspace.open_workspace(
        config.job_dir,
        settings,
        cluster,
        console.log,
        stores=not command.dry_run,
        events_dir=service.log_dir,
    ) as space:
        config = config.model_copy(update={"job_dir": space.folder})
        if command.fresh is not None and command.fresh.rstrip("/") == space.job_dir:
            command = command._replace(fresh=space.folder)
        try:
            with _explained(space.folder):
                return _run(config, command, watch, cluster, space)
        except UserError as error:
            raise UserError(space.display_path(str(error))) from error.__cause__


@contextmanager
def _explained(folder: str) -> Iterator[None]:
    """Tells memory and a disk that have run out as what is the user's to mend."""
    from trainer.job_dir.full_disk import translate_full_disk

    with memory.translate_memory_errors(), translate_full_disk(folder):
        yield


def _run(
    config: config_lib.Config,
    command: flags.CommandLine,
    watch: SignalWatch,
    cluster: Cluster,
    space: workspace.Workspace,
) -> int:
    if config.experiment or config.tfx.trainer_fn:
        return _run_experiment(config, command, watch, space)
    schema = _load_schema(config)
    # TensorFlow takes seconds to load: what can be told to be wrong without it has been told.
    estimator_bridge.set_verbosity("debug" if config.verbosity == "debug" else "error")
    estimator_bridge.prefer_onednn()
    from trainer.cluster import strategies, watchdog
    from trainer.export.checker import Checker
    from trainer.phase_timer import Times, process_age
    from trainer.roles import chief, evaluator
    from trainer.training import dry_run, job, run

    console = _open_console(config, space)
    times = Times(before=process_age())
    strategies.check_strategy(config.cluster, cluster)
    if command.dry_run:
        _check_job_dir(config, schema, None)
        dry_run.rehearse(config, schema, console, watch)
        return 0
    disk.check_writable(config.job_dir, make=True)
    if not cluster.has_others:
        _check_job_dir(config, schema, command.fresh, console)
        with Checker(config.export.verify) as checker:
            prepared = job.prepare(config, schema, console, times=times, checker=checker)
            _report(prepared, run.train_and_evaluate(prepared, console, watch), console, space)
        return 0
    joined = watchdog.join_cluster(
        space.folder, config.cluster, cluster, console=console, watch=watch, relay=space.relay
    )
    # What the others hear of an error tells whether a restart may mend it.
    with joined as heartbeat, _explained(config.job_dir):
        if cluster.role != "chief" and watchdog.has_finished(heartbeat):
            console.log(f"{cluster.name}: the job has finished already; nothing is left to do")
        elif cluster.role == "ps":
            chief.serve(cluster, heartbeat)
        elif cluster.role == "chief":
            _check_job_dir(config, schema, command.fresh, console)
            with Checker(config.export.verify) as checker:
                prepared = job.prepare(config, schema, console, cluster, times, checker)
                result = chief.run_chief(prepared, console, watch, cluster, heartbeat)
                _report(prepared, result, console, space)
        else:
            prepared = job.prepare(config, schema, console, cluster)
            if cluster.role == "worker":
                chief.run_worker(prepared, console, watch, cluster, heartbeat)
            else:
                evaluator.run_evaluator(prepared, console, watch, heartbeat)
    return 0


def _check_job_dir(
    config: config_lib.Config,
    schema: schema_lib.Schema,
    fresh: Optional[str],
    console: Optional[Console] = None,
) -> None:
    """Empties job_dir if `fresh` names it, and holds what it has against what is to be run.

    Before training, which takes a console, corrupt checkpoints are renamed.
    """
    from trainer.job_dir import compatibility, quarantine

    if fresh is not None:
        compatibility.delete_job(config.job_dir, fresh)
    compatibility.check_same_model(config, schema)
    if console is not None and quarantine.quarantine_corrupt(config.job_dir, console.warn):
        # There is a checkpoint now that could not be found before.
        compatibility.check_same_model(config, schema)
    compatibility.check_warm_start(config.job_dir, config.train.warm_start)


def _report(prepared, result, console: Console, space: workspace.Workspace) -> None:
    """Checks the exports, writes the report and prints the summary."""
    from trainer.export import checker as verify
    from trainer.phase_timer import VERIFY
    from trainer.reporting import summary as report
    from trainer.training import job

    config, checker, times = prepared.config, prepared.checker, prepared.times
    rows = verify.read_sample_rows(job.build_source(prepared, training=False), prepared.schema)
    exports = [path for paths in result.exports.values() for path in paths[-1:]]
    # A receiver of the user's own takes questions that only they can ask.
    asked = [] if config.export.receiver_fn else rows
    if exports:
        checker.submit(exports, asked, prepared.schema, config.data.delimiter)
    # Meanwhile, what does not depend on the answer.
    baselines = job.measure_baselines(prepared)
    report.draw(config, prepared.schema.task)
    if exports and checker.enabled:
        with times.within(VERIFY):
            checker.wait()
        answered = ", each answered" if asked else ""
        console.log(f"exports: {len(exports)} loaded in a fresh process{answered}")
    result = result._replace(secs=times.read())
    facts = report.collect_facts(prepared, result, baselines, rows[0])
    print(space.display_path(report.write_report(config, facts)))
    _publish_model(result.exports, config.storage, console)


def _publish_model(
    exports: dict[str, list[str]], settings: config_lib.StorageConfig, console: Console
) -> None:
    """Copies the export that is served to AIP_MODEL_DIR, where the environment sets it."""
    from trainer.export.choose import choose_export

    model_dir = read_service().model_dir
    chosen = choose_export(exports)
    if model_dir and chosen:
        service_lib.publish(chosen, model_dir, storage.Settings(**settings.model_dump()))
        console.log(f"model: {chosen} is in {model_dir} too")


def _run_experiment(
    config: config_lib.Config,
    command: flags.CommandLine,
    watch: SignalWatch,
    space: workspace.Workspace,
) -> int:
    estimator_bridge.set_verbosity("debug" if config.verbosity == "debug" else "error")
    estimator_bridge.prefer_onednn()
    from trainer.job_dir import compatibility
    from trainer.training import experiment

    console = _open_console(config, space)
    if command.fresh is not None:
        compatibility.delete_job(config.job_dir, command.fresh)
    if not command.dry_run:
        disk.check_writable(config.job_dir, make=True)
    summary = experiment.run_experiment(config, console, watch, bool(command.dry_run))
    if summary is not None:
        print(space.display_path(summary))
    return 0


def _open_console(config: config_lib.Config, space: workspace.Workspace) -> Console:
    return Console(quiet=config.verbosity in ("warning", "error"), display_path=space.display_path)


def _require_job_dir(config: config_lib.Config) -> None:
    if not config.job_dir:
        raise UserError("job_dir: not given; set --job_dir=FOLDER for checkpoints and exports")


def _load_schema(config: config_lib.Config) -> schema_lib.Schema:
    if not config.data.schema_file:
        raise UserError(
            "data.schema_file: not given; set --data.schema_file=FILE or --hparams=PRESET"
        )
    return schema_lib.load_schema(config.data.schema_file, storage.fetch_data)


def run_as_program(argv: Optional[list[str]] = None) -> None:
    """The entry point: exits with main's status."""
    sys.exit(main(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    run_as_program()
