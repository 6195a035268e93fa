"""python -m trainer.kubernetes: manifests of a cluster, as plain Jobs or as a TFJob.

  python -m trainer.kubernetes render --name=census --image=IMAGE --workers=2 --evaluator \\
      --output=census.yaml -- --hparams=census --strategy=multi_worker_mirrored \\
      --job_dir=gs://BUCKET/jobs/census --train_data=gs://... --eval_data=gs://...

Flags of trainer.task go after --. kubectl apply -f census.yaml starts it.

Plain Jobs: an Indexed Job a role, whose pods are found by name through a headless Service, with
TF_CONFIG. A TFJob leaves that to Kubeflow's operator.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml
from absl import flags

from trainer import config as config_lib
from trainer import storage
from trainer.config import arguments, commands
from trainer.config import flags as task_flags_lib
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError

PORT = 2222
ROLES = ("chief", "worker", "ps", "evaluator")
TFJOB_ROLES = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
# A role's name and a number are added, and the whole is a host's name of 63 characters.
NAME = re.compile(r"[a-z]([a-z0-9-]{0,43}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(\.\d+)?(m|[KMGT]i?)?")
CLAIM = re.compile(r"(?P<claim>[a-z0-9]([a-z0-9.-]*[a-z0-9])?):(?P<path>/\S*)")
# To save a checkpoint and to store it.
GRACE_SECS = 120
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
INDEX_VARIABLE = "REPLICA_INDEX"


class Request(NamedTuple):
    """What render was asked for; see its --help for what each means."""

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


def main(argv: list[str]) -> int:
    """Runs the command; returns the exit status."""
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    if not argv or argv[0] in ("--help", "-h", "help"):
        print(__doc__.strip())
        return 0
    if argv[0] != "render":
        raise UserError(f"{argv[0]!r} is no command; write render")
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
    )
    check(request)
    documents = build_jobs(request) if values.kind == "jobs" else [build_tfjob(request)]
    text = yaml.safe_dump_all(documents, sort_keys=False, width=100)
    commands.write_result(text, values.output, f"kubectl apply -f {values.output}")
    return 0


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("name", "of the job"),
        ("image", "container image"),
        ("namespace", "unset: kubectl's own"),
        ("cpu", "that each replica asks for: 4, 500m"),
        ("memory", "that each replica asks for: 8Gi"),
        ("service_account", "of the pods"),
        ("volume", "CLAIM:/PATH, a claim that many can write, mounted in each replica"),
        ("output", "file to write; unset: standard output"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_enum("kind", "jobs", ["jobs", "tfjob"], "of manifest", flag_values=values)
    flags.DEFINE_integer("workers", 0, "workers besides the chief", 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "parameter servers", 0, flag_values=values)
    flags.DEFINE_boolean("evaluator", False, "whether there is an evaluator", flag_values=values)
    flags.DEFINE_integer("gpus", 0, "of the chief and of each worker", 0, flag_values=values)
    flags.DEFINE_integer("backoff_limit", 6, "restarts of failed pods", 0, flag_values=values)


def check(request: Request) -> None:
    """Refuses a request that would fail once it runs.

    Raises:
        UserError: names what is wrong.
    """
    from trainer.cluster.strategies import check_strategy

    for option, value, pattern, example in (
        ("name", request.name, NAME, "lower-case letters, digits and -, at most 45"),
        ("cpu", request.cpu, QUANTITY, "a quantity such as 4 or 500m"),
        ("memory", request.memory, QUANTITY, "a quantity such as 8Gi"),
        ("volume", request.volume, CLAIM, "CLAIM:/PATH"),
    ):
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    command = task_flags_lib.parse_command_line(request.task_flags)
    if command is None:
        raise UserError("--help: a job with it would only print its flags; remove it")
    config = config_lib.load_config(command.hparams, command.overrides)
    if not config.job_dir:
        raise UserError("--job_dir: not given after --; nothing would be kept")
    if command.fresh is not None:
        raise UserError(
            "--fresh: a pod that is started again would delete what the job has; empty the folder "
            "by hand, or name another one"
        )
    counts = request.counts
    check_strategy(config.cluster, Cluster(_list_addresses(request)))
    if storage.is_remote(config.job_dir):
        storage.parse_address(config.job_dir.rstrip("/"), "job_dir")
        if counts["ps"]:
            raise UserError(
                f"--ps={counts['ps']}: parameter servers write their parts of a checkpoint "
                f"themselves, and {config.job_dir} is no folder that they share; mount one with "
                "--volume and name it in --job_dir"
            )
    else:
        match = CLAIM.fullmatch(request.volume or "")
        if match is None or not Path(config.job_dir).is_relative_to(match["path"]):
            raise UserError(
                f"--job_dir={config.job_dir}: is in the container, and gone with it; name a gs:// "
                "address, or a folder of a --volume=CLAIM:/PATH"
            )


def _list_addresses(request: Request) -> dict[str, tuple[str, ...]]:
    """TF_CONFIG's cluster; a job of one process has none."""
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
    """The manifests: a headless Service, and a Job a role."""
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
            # The processes look for each other before any of them is ready.
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
    # The Job makes a new pod; that its index stays gives the pod its name back.
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
            "podFailurePolicy": {
                "rules": [
                    # A wrong flag or file is as wrong the next time.
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": "tensorflow",
                            "operator": "In",
                            "values": [2],
                        },
                    },
                    # A machine that is taken away is nobody's failure.
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    },
                ]
            },
            "template": template,
        },
    }


def build_tfjob(request: Request) -> dict[str, Any]:
    """The manifest of a TFJob; the operator sets TF_CONFIG."""
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": _metadata(request, request.name),
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None", "backoffLimit": request.backoff_limit},
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


def _metadata(request: Request, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {"estimator-trainer/job": request.name}}
    if request.namespace:
        metadata["namespace"] = request.namespace
    return metadata


def _build_template(request: Request, role: str, environment: list) -> dict[str, Any]:
    container: dict[str, Any] = {
        # The operator of TFJobs looks for this name, and for the port's.
        "name": "tensorflow",
        "image": request.image,
        "command": ["python", "-m", "trainer.task"],
        "args": list(request.task_flags),
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
    }
    if environment:
        container["env"] = environment
    asked = {
        name: value for name, value in (("cpu", request.cpu), ("memory", request.memory)) if value
    }
    limits = {"nvidia.com/gpu": str(request.gpus)} if request.gpus and role in ROLES[:2] else {}
    resources = {name: value for name, value in (("requests", asked), ("limits", limits)) if value}
    if resources:
        container["resources"] = resources
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": GRACE_SECS,
        "containers": [container],
    }
    if request.service_account:
        spec["serviceAccountName"] = request.service_account
    match = CLAIM.fullmatch(request.volume or "")
    if match is not None:
        container["volumeMounts"] = [{"name": "job", "mountPath": match["path"]}]
        claim = {"claimName": match["claim"]}
        spec["volumes"] = [{"name": "job", "persistentVolumeClaim": claim}]
    labels = {"estimator-trainer/job": request.name, "estimator-trainer/role": role}
    return {"metadata": {"labels": labels}, "spec": spec}
