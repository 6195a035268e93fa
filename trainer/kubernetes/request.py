"""The options of render that describe a job, its cluster and its machines, and their checks."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.config import flags as task_flags_lib
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.kubernetes import names

PORT = 2222
ROLES = ("chief", "worker", "ps", "evaluator")
# Host names of the pods of an Indexed Job, and of those of a Job in a JobSet.
HOST = "{name}-{role}-{index}"
JOBSET_HOST = "{name}-{role}-0-{index}"


class Request(NamedTuple):
    """The options of render.

    Attributes:
        name: name of the job.
        image: container image.
        counts: role → number of replicas.
        task_flags: flags of trainer.task.
        namespace: namespace of the manifests; None: that of kubectl.
        gpus: GPUs of the chief and of each worker.
        cpu: CPU request of each replica.
        memory: memory request and limit of each replica.
        service_account: service account of the pods.
        volume: CLAIM:/PATH, a claim to mount in each replica.
        backoff_limit: restarts of failed pods.
        secret: name of a Secret; its keys are the variables of the flags --secret.NAME.
        disk: request and limit of each replica's local disk, which holds copies of gs:// files.
        deadline_secs: time limit of the job.
        ttl_secs: seconds after which a finished job is deleted.
        node_selector: labels that a node must have, as KEY=VALUE.
        toleration: taints that the pods tolerate, as KEY[=VALUE][:EFFECT].
    """

    name: str
    image: str
    counts: dict[str, int]
    task_flags: list[str]
    namespace: Optional[str] = None
    gpus: int = 0
    cpu: Optional[str] = None
    memory: Optional[str] = None
    service_account: Optional[str] = None
    volume: Optional[str] = None
    backoff_limit: int = 6
    secret: Optional[str] = None
    disk: Optional[str] = None
    deadline_secs: Optional[int] = None
    ttl_secs: Optional[int] = None
    node_selector: Sequence[str] = ()
    toleration: Sequence[str] = ()


def check(request: Request) -> None:
    """Checks a request, so that errors are found before the job runs.

    Args:
        request: the options of render.

    Raises:
        UserError: an option or a flag is invalid, or the job's results would be lost.
    """
    from trainer.cluster.strategies import check_strategy

    check_machines(request)
    command, config = read_config(request)
    if not config.job_dir:
        raise UserError(
            "--job_dir: not given after --, so nothing would be saved; name a gs:// address, or a "
            "folder of --volume=CLAIM:/PATH"
        )
    if config.secret and not request.secret:
        raise UserError(
            f"--secret.{next(iter(config.secret))}: the pods read this variable from a Secret; "
            "name the Secret with --secret=NAME before --"
        )
    if command.fresh is not None:
        raise UserError(
            "--fresh: a restarted pod would delete the results of the job; empty the folder "
            "yourself, or name another folder"
        )
    counts = request.counts
    check_strategy(config.cluster, Cluster(list_addresses(request)))
    if storage.is_remote(config.job_dir):
        storage.parse_address(config.job_dir.rstrip("/"), "job_dir")
        if counts["ps"]:
            raise UserError(
                f"--ps={counts['ps']}: parameter servers write parts of a checkpoint, which needs "
                f"a shared folder, and {config.job_dir} is not one; mount one with --volume and "
                "name it in --job_dir"
            )
    elif not is_mounted(request, config.job_dir):
        raise UserError(
            f"--job_dir={config.job_dir}: is deleted with the container; name a gs:// address, or "
            "a folder of --volume=CLAIM:/PATH"
        )


def check_machines(request: Request) -> None:
    """Checks the options that name a job and choose its machines.

    Args:
        request: the options of render.

    Raises:
        UserError: an option is invalid.
    """
    names.check_names(request._asdict())
    names.parse_node_selector(request.node_selector)
    names.parse_tolerations(request.toleration)


def list_inside(request: Request) -> list[str]:
    """Returns one line for each option whose files a pod reads in its container.

    The command render cannot check these files.

    Args:
        request: the options of render.
    """
    command, config = read_config(request)
    data = {"--data.train": config.data.train, "--data.eval": config.data.eval}
    first = [(option, paths[0]) for option, paths in data.items() if paths]
    return [
        f"{line}; otherwise name a gs:// address, or a file of --volume=CLAIM:/PATH"
        for line in task_flags_lib.list_inside(
            command, lambda path, _: storage.is_remote(path) or is_mounted(request, path), first
        )
    ]


def is_mounted(request: Request, path: str) -> bool:
    """Returns whether a path is in the claim that each pod mounts.

    Args:
        request: the options of render.
        path: the path; a relative path is in no claim.
    """
    match = names.CLAIM.fullmatch(request.volume or "")
    return match is not None and Path(path).is_relative_to(match["path"])


def list_addresses(request: Request, host: str = HOST) -> dict[str, tuple[str, ...]]:
    """Returns the cluster of TF_CONFIG; empty for a job of one process.

    Args:
        request: the options of render.
        host: format of the host names of the pods.
    """
    if sum(request.counts.values()) == 1:
        return {}
    return {
        role: tuple(
            f"{host.format(name=request.name, role=role, index=index)}.{request.name}:{PORT}"
            for index in range(request.counts[role])
        )
        for role in ROLES[:3]
        if request.counts[role]
    }


def read_config(request: Request) -> tuple[task_flags_lib.CommandLine, config_lib.Config]:
    """Returns flags and configuration of trainer.task.

    Args:
        request: the options of render.

    Raises:
        UserError: the flags are invalid, or request only help.
    """
    command = task_flags_lib.parse_command_line(request.task_flags)
    if command is None:
        raise UserError("--help after --: the job would only print its flags; remove it")
    return command, config_lib.load_config(command.hparams, command.overrides)
