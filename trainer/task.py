"""python -m trainer.task: parse, resolve, run, report."""

import json
import sys
import traceback
from typing import Optional

import estimator_bridge
from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer import storage
from trainer.cluster import processes
from trainer.config import effects, flags
from trainer.console import Console, show
from trainer.environment.cluster_spec import Cluster, read_cluster
from trainer.environment.services import read_service
from trainer.environment.variables import read_secret, take_parent_pipe
from trainer.errors import USER_ERROR_STATUS, JobEnded, UserError, hide_secrets, redact_data
from trainer.signals import Interrupted, SignalWatch
from trainer.storage import disk, workspace
from trainer.training.resources import translate_resource_errors
from trainer.vertex import job_environment


def main(argv: list[str]) -> int:
    """Runs a job; returns the exit status.

    Args:
        argv: the command line, without the program's name.

    Returns:
        0: done; 2: an error in the user's input; 75: a temporary error; 128 + number: ended by that
        signal. docs/cluster.md lists all of them.
    """
    config = None
    try:
        command = flags.parse_command_line(argv)
        if command is None:
            return 0
        if command.prints == "json_schema":
            print(json.dumps(config_lib.Config.model_json_schema(), indent=2))
            return 0
        config = config_lib.load_config(command.hparams, command.overrides)
        if command.prints == "config":
            print(config_lib.to_yaml(config), end="")
            return 0
        with SignalWatch() as watch:
            _run_in_workspace(config, command, watch)
    except UserError as error:
        cause = error.__cause__
        if config is not None and config.verbosity == "debug" and cause is not None:
            lines = traceback.format_exception(type(cause), cause, cause.__traceback__)
            print(hide_secrets("".join(lines)), file=sys.stderr)
        print(f"error: {error}", file=sys.stderr)
        return error.status
    except estimator_bridge.BridgeError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return USER_ERROR_STATUS
    except JobEnded as end:
        print(f"error: {end}", file=sys.stderr)
        return end.status
    except Interrupted as interruption:
        print(
            f"stopped by {interruption.signal.name}{interruption.saved}; the same command resumes "
            "from the last checkpoint",
            file=sys.stderr,
        )
        return 128 + interruption.signal.value
    return 0


def _run_in_workspace(
    config: config_lib.Config, command: flags.CommandLine, watch: SignalWatch
) -> None:
    """Resolves cluster and job_dir, and runs the job in a local folder."""
    redact_data(config.redact)
    cluster = read_cluster()
    processes.end_with_parent(take_parent_pipe(), saves=cluster.role == "chief")
    service = read_service()
    config = job_environment.place(config, cluster, service)
    for name, variable in config.secret.items():
        read_secret(name, variable)
    settings = storage.Settings(**config.storage.model_dump())
    storage.configure(settings)
    quiet = config.verbosity in ("warning", "error")
    with workspace.open_workspace(
        config.require_job_dir(),
        settings,
        cluster,
        Console(quiet=quiet).log,
        stores=not command.dry_run,
        events_dir=service.log_dir,
    ) as space:
        config = config.model_copy(update={"job_dir": space.folder})
        if command.fresh is not None and command.fresh.rstrip("/") == space.job_dir:
            command = command._replace(fresh=space.folder)
        console = Console(quiet=quiet, display_path=space.display_path)
        for name in config.exposed_secrets:
            console.warn(
                f"user.{name}: is stored in config.yaml; give a secret as --secret.{name}=VARIABLE"
            )
        if cluster.role == "chief":
            for name, reason in effects.find_unused(config, command.overrides).items():
                console.warn(f"--{name}: has no effect: {reason}")
        try:
            with translate_resource_errors(space.folder):
                if config.experiment or config.tfx.trainer_fn:
                    _run_experiment(config, command, watch, space=space, console=console)
                else:
                    _run_job(config, command, watch, cluster=cluster, space=space, console=console)
        except UserError as error:
            raise type(error)(space.display_path(str(error))) from error.__cause__


def _run_job(
    config: config_lib.Config,
    command: flags.CommandLine,
    watch: SignalWatch,
    *,
    cluster: Cluster,
    space: workspace.Workspace,
    console: Console,
) -> None:
    schema = _load_schema(config.data)
    # TensorFlow takes seconds to load. All checks that do not need it have been done before.
    _configure_tensorflow(config)
    from trainer.roles import dispatch

    place = dispatch.Place(cluster, space, console, watch)
    if command.dry_run:
        dispatch.rehearse_job(config, schema, place)
    else:
        dispatch.run_job(config, schema, place, command.fresh, command.reuse)


def _run_experiment(
    config: config_lib.Config,
    command: flags.CommandLine,
    watch: SignalWatch,
    *,
    space: workspace.Workspace,
    console: Console,
) -> None:
    if command.reuse:
        raise UserError("--reuse: not for experiments, whose data are not known; remove it")
    _configure_tensorflow(config)
    from trainer.job_dir import compatibility
    from trainer.training import experiment

    if command.dry_run:
        experiment.rehearse_experiment(config, console, watch)
        return
    disk.check_writable(space.folder, make=True)
    with space.lock(console.warn):
        if command.fresh is not None:
            compatibility.list_doomed(space.folder, command.fresh)
        # The user's code may write to the folder at any time.
        with space.claim(watch.discard):
            if command.fresh is not None:
                compatibility.delete_job(space.folder, command.fresh)
                space.start_over()
            show(space.display_path(experiment.run_experiment(config, console, watch)))


def _configure_tensorflow(config: config_lib.Config) -> None:
    estimator_bridge.set_verbosity("debug" if config.verbosity == "debug" else "error")
    estimator_bridge.prefer_onednn()


def _load_schema(data: config_lib.DataConfig) -> schema_lib.Schema:
    if not data.schema_file:
        raise UserError(
            "data.schema_file: not given; set --data.schema_file=FILE or --hparams=PRESET"
        )
    return schema_lib.load_schema(data.schema_file, storage.fetch_data)


def run_as_program(argv: Optional[list[str]] = None) -> None:
    """Runs a job and exits with the status of `main`.

    Args:
        argv: the command line, without the program's name; None: that of this process.
    """
    sys.exit(main(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    run_as_program()
