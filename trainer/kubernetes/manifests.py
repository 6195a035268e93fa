"""python -m trainer.kubernetes: renders the manifests of a cluster, as plain Jobs or as a TFJob.

  python -m trainer.kubernetes render --name=census --image=IMAGE --workers=2 --evaluator \\
      --output=census.yaml -- --hparams=census --strategy=multi_worker_mirrored \\
      --job_dir=gs://BUCKET/jobs/census --train_data=gs://... --eval_data=gs://...

Flags of trainer.task go after --. `kubectl apply -f census.yaml` starts the cluster.

Plain Jobs are one Indexed Job per role with TF_CONFIG, and a headless Service that provides the
host names of the pods. For a TFJob, Kubeflow's operator starts the pods and sets TF_CONFIG.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml
from absl import flags

from estimator_bridge.terminal import quote_command
from trainer import config as config_lib
from trainer import storage
from trainer.config import arguments, commands
from trainer.config import flags as task_flags_lib
from trainer.environment.cluster_spec import Cluster
from trainer.errors import USER_ERROR_STATUS, UserError
from trainer.kubernetes import names, security

PORT = 2222
ROLES = ("chief", "worker", "ps", "evaluator")
TFJOB_ROLES = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
# Seconds for saving and uploading a checkpoint before a pod is killed.
GRACE_SECS = 120
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
INDEX_VARIABLE = "REPLICA_INDEX"


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
        memory: memory of each replica, requested and at most.
        service_account: service account of the pods.
        volume: CLAIM:/PATH, a claim to mount in each replica.
        backoff_limit: restarts of failed pods.
        secret: a Secret, whose keys are the variables that the flags --secret.NAME name.
        disk: local disk of each replica for copies of gs:// files, requested and at most.
        deadline_secs: longest time of the job.
        ttl_secs: seconds after which a finished job is deleted.
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


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the command and its arguments.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    if not argv or argv[0] in ("--help", "-h", "help"):
        print(__doc__.strip())
        return 0
    if argv[0] == "--version":
        print(arguments.describe_version())
        return 0
    if argv[0] != "render":
        raise UserError(f"{argv[0]!r}: no such command; use render")
    ours, task_flags = arguments.split_task_flags(argv[1:])
    values = arguments.parse_flags(
        "trainer.kubernetes render",
        _define,
        ours,
        __doc__,
        stray_hint=arguments.TASK_FLAGS_HINT,
    )
    if values is None:
        return 0
    arguments.require(values, "name", "image")
    counts = {
        "chief": 1,
        "worker": values.workers,
        "ps": values.ps,
        "evaluator": int(values.evaluator),
    }
    request = Request(
        values.name,
        values.image,
        counts,
        task_flags,
        values.namespace,
        values.gpus,
        values.cpu,
        values.memory,
        values.service_account,
        values.volume,
        values.backoff_limit,
        values.secret,
        values.disk,
        values.deadline_secs,
        values.ttl_secs,
    )
    check(request)
    documents = build_jobs(request) if values.kind == "jobs" else [build_tfjob(request)]
    if _list_addresses(request):
        # Before the pods start.
        labels = {"estimator-trainer/job": request.name}
        documents.insert(0, security.build_policy(_metadata(request, request.name), labels))
    text = yaml.safe_dump_all(documents, sort_keys=False, width=100)
    commands.write_result(
        text, values.output, quote_command("kubectl", "apply", "-f", str(values.output))
    )
    return 0


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("name", "name of the job"),
        ("image", "container image"),
        ("namespace", "namespace; unset: that of kubectl"),
        ("cpu", "CPU request of each replica: 4, 500m"),
        ("memory", "memory of each replica, requested and at most: 8Gi"),
        ("disk", "local disk of each replica, requested and at most: 50Gi"),
        ("service_account", "service account of the pods"),
        ("volume", "CLAIM:/PATH, a ReadWriteMany claim to mount in each replica"),
        ("secret", "Secret with the variables that --secret.NAME=VARIABLE names"),
        ("output", "file to write; unset: standard output"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_enum("kind", "jobs", ["jobs", "tfjob"], "kind of manifest", flag_values=values)
    flags.DEFINE_integer("workers", 0, "workers besides the chief", 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "parameter servers", 0, flag_values=values)
    flags.DEFINE_boolean("evaluator", False, "whether to add an evaluator", flag_values=values)
    flags.DEFINE_integer("gpus", 0, "GPUs of the chief and of each worker", 0, flag_values=values)
    flags.DEFINE_integer("backoff_limit", 6, "restarts of failed pods", 0, flag_values=values)
    for name, meaning in (
        ("deadline_secs", "longest time of the job"),
        ("ttl_secs", "delete the finished job after this time"),
    ):
        flags.DEFINE_integer(name, None, meaning, 1, flag_values=values)


def check(request: Request) -> None:
    """Checks a request, so that errors are found before the job runs.

    Args:
        request: the options of render.

    Raises:
        UserError: an option or a flag is invalid, or the job's results would be lost.
    """
    from trainer.cluster.strategies import check_strategy

    names.check_names(request._asdict())
    command, config = _read_config(request)
    if not config.job_dir:
        raise UserError("--job_dir: not given after --; nothing would be saved")
    if config.secret and not request.secret:
        raise UserError(
            f"--secret.{next(iter(config.secret))}: the pods read it from a Secret; name that in "
            "--secret before --"
        )
    if command.fresh is not None:
        raise UserError(
            "--fresh: a restarted pod would delete the job's results; empty the folder "
            "yourself, or name another one"
        )
    counts = request.counts
    check_strategy(config.cluster, Cluster(_list_addresses(request)))
    if storage.is_remote(config.job_dir):
        storage.parse_address(config.job_dir.rstrip("/"), "job_dir")
        if counts["ps"]:
            raise UserError(
                f"--ps={counts['ps']}: parameter servers write parts of a checkpoint, which needs "
                f"a shared folder, and {config.job_dir} is not one; mount one with --volume and "
                "name it in --job_dir"
            )
    else:
        match = names.CLAIM.fullmatch(request.volume or "")
        if match is None or not Path(config.job_dir).is_relative_to(match["path"]):
            raise UserError(
                f"--job_dir={config.job_dir}: is deleted with the container; name a gs:// "
                "address, or a folder of a --volume=CLAIM:/PATH"
            )


def _list_addresses(request: Request) -> dict[str, tuple[str, ...]]:
    """Returns the cluster of TF_CONFIG; empty for a job of one process."""
    if sum(request.counts.values()) == 1:
        return {}
    return {
        role: tuple(
            f"{request.name}-{role}-{index}.{request.name}:{PORT}"
            for index in range(request.counts[role])
        )
        for role in ROLES[:3]
        if request.counts[role]
    }


def build_jobs(request: Request) -> list[dict[str, Any]]:
    """Returns a headless Service and one Indexed Job per role.

    Args:
        request: the options of render.
    """
    documents = [_build_job(request, role) for role in ROLES if request.counts[role]]
    if not _list_addresses(request):
        return documents
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(request, request.name),
        "spec": {
            "clusterIP": "None",
            "selector": {"estimator-trainer/job": request.name},
            # The processes connect to each other before any of them is ready.
            "publishNotReadyAddresses": True,
            "ports": [{"name": "grpc", "port": PORT}],
        },
    }
    return [service, *documents]


def _build_job(request: Request, role: str) -> dict[str, Any]:
    count = request.counts[role]
    addresses = _list_addresses(request)
    environment: list[dict[str, Any]] = []
    if addresses:
        place = {"type": role, "index": f"$({INDEX_VARIABLE})"}
        config = json.dumps({"cluster": addresses, "task": place})
        environment = [
            {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
            {"name": "TF_CONFIG", "value": config},
        ]
    template = _build_template(request, role, environment)
    # The Job replaces a failed pod by a new pod with the same index and the same host name.
    template["spec"].update(restartPolicy="Never", subdomain=request.name)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(request, f"{request.name}-{role}"),
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            "backoffLimit": request.backoff_limit,
            **_limit_time(request),
            "podFailurePolicy": {
                "rules": [
                    # A restart cannot correct a user error. Every other status is retried.
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": "tensorflow",
                            "operator": "In",
                            "values": [USER_ERROR_STATUS],
                        },
                    },
                    # The loss of a preempted machine does not count as a failure.
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    },
                ]
            },
            "template": template,
        },
    }


def _list_secrets(request: Request) -> list[dict[str, Any]]:
    """Returns the variables that the cluster sets from the Secret."""
    variables = sorted(set(_read_config(request)[1].secret.values()))
    return [
        {
            "name": variable,
            "valueFrom": {"secretKeyRef": {"name": request.secret, "key": variable}},
        }
        for variable in variables
    ]


def _read_config(request: Request) -> tuple[task_flags_lib.CommandLine, config_lib.Config]:
    command = task_flags_lib.parse_command_line(request.task_flags)
    if command is None:
        raise UserError("--help: a job would only print the flags; remove it")
    return command, config_lib.load_config(command.hparams, command.overrides)


def build_tfjob(request: Request) -> dict[str, Any]:
    """Returns the manifest of a TFJob; the operator sets TF_CONFIG.

    Args:
        request: the options of render.
    """
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": _metadata(request, request.name),
        "spec": {
            "runPolicy": {
                "cleanPodPolicy": "None",
                "backoffLimit": request.backoff_limit,
                **_limit_time(request),
            },
            "tfReplicaSpecs": {
                TFJOB_ROLES[role]: {
                    "replicas": request.counts[role],
                    "restartPolicy": "OnFailure",
                    "template": _build_template(request, role, []),
                }
                for role in ROLES
                if request.counts[role]
            },
        },
    }


def _limit_time(request: Request) -> dict[str, int]:
    limits = {
        "activeDeadlineSeconds": request.deadline_secs,
        "ttlSecondsAfterFinished": request.ttl_secs,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _metadata(request: Request, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {"estimator-trainer/job": request.name}}
    if request.namespace:
        metadata["namespace"] = request.namespace
    return metadata


def _build_template(
    request: Request, role: str, environment: list[dict[str, Any]]
) -> dict[str, Any]:
    environment = [*environment, *_list_secrets(request)]
    container: dict[str, Any] = {
        # The operator of TFJobs requires this name and the name of the port.
        "name": "tensorflow",
        "image": request.image,
        "command": ["python", "-m", "trainer.task"],
        "args": list(request.task_flags),
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
    }
    if environment:
        container["env"] = environment
    sizes = {"memory": request.memory, "ephemeral-storage": request.disk}
    limits = {name: value for name, value in sizes.items() if value}
    requests = {**({"cpu": request.cpu} if request.cpu else {}), **limits}
    if request.gpus and role in ROLES[:2]:
        limits["nvidia.com/gpu"] = str(request.gpus)
    resources = {
        name: value for name, value in (("requests", requests), ("limits", limits)) if value
    }
    if resources:
        container["resources"] = resources
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": GRACE_SECS,
        "containers": [container],
    }
    security.restrict(spec)
    if request.service_account:
        spec["serviceAccountName"] = request.service_account
    match = names.CLAIM.fullmatch(request.volume or "")
    if match is not None:
        container["volumeMounts"].append({"name": "job", "mountPath": match["path"]})
        claim = {"claimName": match["claim"]}
        spec["volumes"].append({"name": "job", "persistentVolumeClaim": claim})
    labels = {"estimator-trainer/job": request.name, "estimator-trainer/role": role}
    return {"metadata": {"labels": labels}, "spec": spec}
