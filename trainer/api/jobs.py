"""Runs a job: for `python -m trainer.task`, and for `trainer.train`."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Callable, NamedTuple, Optional

import estimator_bridge
from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer import storage
from trainer.cluster import processes, strategies
from trainer.cluster.heartbeat import HeartbeatFile
from trainer.cluster.joining import join_cluster
from trainer.config import effects, flags
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster, read_cluster
from trainer.environment.services import read_service
from trainer.environment.variables import read_secret, take_parent_pipe
from trainer.errors import USER_ERROR_STATUS, UserError, redact_data
from trainer.signals import SignalWatch
from trainer.storage import disk, workspace
from trainer.training.resources import translate_resource_errors
from trainer.vertex import job_environment

# Longest wait for an answer of a bucket in order to tell other processes of an error.
ANNOUNCING_SECS = 30.0


class Host(NamedTuple):
    """The process that runs a job.

    Attributes:
        watch: receives signals.
        show: shows the text of the summary.
        is_program: whether the process exists for this job alone. If so, the time since its start
            belongs to the job.
    """

    watch: SignalWatch
    show: Callable[[str], None]
    is_program: bool


class _Rooms(NamedTuple):
    """Where a job runs: its cluster, its folder, its messages, its heartbeat file."""

    cluster: Cluster
    space: workspace.Workspace
    console: Console
    heartbeat: Optional[HeartbeatFile] = None


def run_in_workspace(
    config: config_lib.Config,
    command: flags.CommandLine,
    host: Host,
    schema: Optional[schema_lib.Schema] = None,
) -> str:
    """Resolves cluster and job_dir, and runs the job in a local folder.

    Args:
        config: the configuration.
        command: what is to be done with it.
        host: this process.
        schema: of the data; None: that of data.schema_file.

    Returns:
        the job's folder on this machine.

    Raises:
        UserError: the data, the options, the model or job_dir are wrong.
        Interrupted: a signal arrived; a checkpoint has been saved.
        JobEnded: this process ends because another process of the cluster has ended.
    """
    redact_data(config.redact)
    cluster = read_cluster()
    processes.end_with_parent(take_parent_pipe(), saves=cluster.role == "chief")
    service = read_service()
    config = job_environment.place(config, cluster, service)
    quiet = config.verbosity in ("warning", "error")
    with _open_workspace(config, command, host, cluster, service.log_dir) as space:
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
        rooms = _Rooms(cluster, space, console)
        try:
            with ExitStack() as stack:
                if _is_member(config, command, cluster):
                    joined = stack.enter_context(_join_cluster(config, host, rooms))
                    rooms = rooms._replace(heartbeat=joined)
                else:
                    space.await_fetched()
                # Errors must be translated before the heartbeat file publishes them. The other
                # processes expect a restart to fail again only after a UserError.
                stack.enter_context(translate_resource_errors(space.folder))
                for name, variable in config.secret.items():
                    read_secret(name, variable)
                if _is_experiment(config):
                    _run_experiment(config, command, host, rooms)
                else:
                    schema = schema or schema_lib.load_job_schema(config.data, storage.fetch_data)
                    _run_job(config, command, host, rooms, schema)
        except (UserError, estimator_bridge.BridgeError) as error:
            raise type(error)(space.display_path(str(error))) from error.__cause__
        return space.folder


@contextmanager
def _open_workspace(
    config: config_lib.Config,
    command: flags.CommandLine,
    host: Host,
    cluster: Cluster,
    events_dir: Optional[str],
) -> Iterator[workspace.Workspace]:
    """Opens the folder of the job; tells the others on this machine why it cannot be opened."""
    settings = storage.Settings(**config.storage.model_dump())
    console = Console(quiet=config.verbosity in ("warning", "error"))
    storage.configure(settings, console)
    with ExitStack() as stack:
        try:
            opened = workspace.open_workspace(
                config.require_job_dir(),
                settings,
                cluster,
                console,
                stores=not command.dry_run,
                events_dir=events_dir,
            )
            space = stack.enter_context(opened)
        except UserError as error:
            is_final = error.status == USER_ERROR_STATUS and not cluster.is_spread
            if is_final and config.job_dir and _is_member(config, command, cluster):
                _announce(error, config, host, cluster)
            raise
        yield space


def announce_error(error: UserError, argv: list[str], watch: SignalWatch) -> None:
    """Tells the other processes of a cluster that this one has wrong flags or a wrong hparams file.

    Without a configuration, job_dir is known only from the flags and the service.

    Args:
        error: what is wrong.
        argv: the command line, without the program's name.
        watch: receives signals.
    """
    with suppress(UserError):
        cluster, service = read_cluster(), read_service()
        if not flags.runs_job(argv):
            return
        config = config_lib.load_config(None, {"job_dir": flags.find_job_dir(argv)})
        config = job_environment.place(config, cluster, service)
        if cluster.has_others and config.job_dir:
            _announce(error, config, Host(watch, print, is_program=True), cluster)


def _announce(error: UserError, config: config_lib.Config, host: Host, cluster: Cluster) -> None:
    """Joins the cluster only to tell the others of an error; does nothing if that is impossible."""
    console = Console(quiet=config.verbosity in ("warning", "error"))
    # The user must not wait long for the error while the bucket is away.
    settings = storage.Settings(**config.storage.model_dump())
    settings = settings._replace(timeout_secs=ANNOUNCING_SECS, patience_secs=ANNOUNCING_SECS)
    folder = config.require_job_dir()
    with (
        suppress(UserError),
        workspace.open_statuses(folder, settings, cluster, console) as space,
        _join_cluster(config, host, _Rooms(cluster, space, console)),
    ):
        raise error


def _is_experiment(config: config_lib.Config) -> bool:
    return bool(config.experiment or config.tfx.trainer_fn)


def _is_member(config: config_lib.Config, command: flags.CommandLine, cluster: Cluster) -> bool:
    """Returns whether the job runs as a cluster whose processes know of each other."""
    return cluster.has_others and not command.dry_run and not _is_experiment(config)


@contextmanager
def _join_cluster(config: config_lib.Config, host: Host, rooms: _Rooms) -> Iterator[HeartbeatFile]:
    """Joins the cluster before anything else is checked, so that any error reaches all processes.

    A job that is refused because another one uses the folder must not disturb that one's files.
    """
    disk.check_writable(rooms.space.folder, make=True)
    with (
        rooms.space.lock(rooms.console.warn),
        join_cluster(
            rooms.space,
            config.cluster,
            rooms.cluster,
            console=rooms.console,
            watch=host.watch,
        ) as heartbeat,
    ):
        yield heartbeat


def _run_job(
    config: config_lib.Config,
    command: flags.CommandLine,
    host: Host,
    rooms: _Rooms,
    schema: schema_lib.Schema,
) -> None:
    strategies.check_strategy(config.cluster, rooms.cluster)
    _check_data(config.data, schema)
    _check_metrics(config, schema)
    if rooms.cluster.role == "chief":
        _check_job_dir(config, command, schema)
    # TensorFlow takes seconds to load. What can be known without it has been checked before.
    before_secs = _start_tensorflow(config, host)
    from trainer.roles import dispatch

    place = dispatch.Place(
        rooms.cluster,
        rooms.space,
        rooms.console,
        host.watch,
        host.show,
        before_secs,
        rooms.heartbeat,
    )
    if command.dry_run:
        dispatch.rehearse_job(config, schema, place)
    else:
        dispatch.run_job(config, schema, place, command.fresh, command.reuse)


def _check_data(data: config_lib.DataConfig, schema: schema_lib.Schema) -> None:
    """Checks that there are data files."""
    # Imported here, because NumPy and Arrow, which it needs, take a third of a second.
    from trainer.inputs.data_sets import find_eval_files, find_train_files

    evaluated = data.train if data.is_split else data.eval
    patterns = {find_train_files: data.train, find_eval_files: evaluated}
    for find, given in patterns.items():
        # Lists in buckets are requests over the network, and are made once, later.
        if not any(storage.is_remote(pattern) for pattern in given):
            find(data, schema)


def _check_metrics(config: config_lib.Config, schema: schema_lib.Schema) -> None:
    from trainer.metrics.included import check_metrics

    check_metrics(config, schema)


def _check_job_dir(
    config: config_lib.Config, command: flags.CommandLine, schema: schema_lib.Schema
) -> None:
    """Checks that the folder of the job can be written, and continued or deleted."""
    from trainer.job_dir import compatibility

    job_dir = config.require_job_dir()
    disk.check_writable(job_dir, make=False)
    if command.fresh is not None:
        compatibility.list_doomed(job_dir, command.fresh)
    else:
        compatibility.check_same_model(config, schema)
        compatibility.check_warm_start(job_dir, config.train.warm_start)


def _run_experiment(
    config: config_lib.Config, command: flags.CommandLine, host: Host, rooms: _Rooms
) -> None:
    if command.reuse:
        raise UserError("--reuse: not for experiments, whose data are not known; remove it")
    from trainer.job_dir import compatibility

    space, console = rooms.space, rooms.console
    disk.check_writable(space.folder, make=not command.dry_run)
    if command.fresh is not None and not command.dry_run:
        compatibility.list_doomed(space.folder, command.fresh)
    before_secs = _start_tensorflow(config, host)
    from trainer.training import experiment

    if command.dry_run:
        experiment.rehearse_experiment(config, console, host.watch)
        return
    with space.lock(console.warn):
        if command.fresh is not None:
            compatibility.list_doomed(space.folder, command.fresh)
        # The user's code may write to the folder at any time.
        with space.claim(host.watch.discard):
            if command.fresh is not None:
                compatibility.delete_job(space.folder, command.fresh)
                space.start_over()
            text = experiment.run_experiment(config, console, host.watch, before_secs=before_secs)
            host.show(space.display_path(text))


def _start_tensorflow(config: config_lib.Config, host: Host) -> float:
    """Imports TensorFlow; returns the seconds of this process that belong to the job."""
    estimator_bridge.set_verbosity("debug" if config.verbosity == "debug" else "error")
    estimator_bridge.prefer_onednn()
    from trainer.phase_timer import process_age

    return process_age() if host.is_program else 0.0
