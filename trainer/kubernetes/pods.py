"""The pods of a job: container, resources, rights and machines."""

import shlex
from collections.abc import Sequence
from typing import Any, Optional

from trainer import storage
from trainer.kubernetes import names, security
from trainer.kubernetes.request import PORT, ROLES, Request, read_config
from trainer.storage.health import HEALTH

# Seconds for saving and uploading a checkpoint before a pod is killed.
GRACE_SECS = 120
# The operator of TFJobs requires this name.
CONTAINER = "tensorflow"
TTL = "ttlSecondsAfterFinished"
# The age of a health file from which a pod is ended. The file is not written during the transfer
# of a large file.
SILENT_MINUTES = 60


def _list_secrets(request: Request) -> list[dict[str, Any]]:
    """Returns the variables that the cluster sets from the Secret."""
    variables = sorted(set(read_config(request)[1].secret.values()))
    return [
        {
            "name": variable,
            "valueFrom": {"secretKeyRef": {"name": request.secret, "key": variable}},
        }
        for variable in variables
    ]


def build_template(
    request: Request, role: str, environment: list[dict[str, Any]]
) -> dict[str, Any]:
    """Returns the PodTemplateSpec of a role.

    Args:
        request: the options of render.
        role: one of ROLES.
        environment: variables of the container besides the secrets.
    """
    environment = [*environment, *_list_secrets(request)]
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": request.image,
        "command": ["python", "-m", "trainer.task"],
        "args": list(request.task_flags),
        # The operator of TFJobs requires this name.
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
    }
    if environment:
        container["env"] = environment
    probe = _build_probe(request)
    if probe is not None:
        container["livenessProbe"] = probe
    spec = build_spec(request, container, request.gpus if role in ROLES[:2] else 0)
    labels = {**label_job(request), "estimator-trainer/role": role}
    return {"metadata": {"labels": labels}, "spec": spec}


def _build_probe(request: Request) -> Optional[dict[str, Any]]:
    """Returns a probe that ends a pod whose health file is not written any more; None without one.

    The thread that stores a job in a bucket writes this file every few seconds, also while the
    bucket is away. If the thread or the whole process hangs, nothing is stored any more, and only
    another pod goes on. A file that is not there yet is no error: the job is being fetched.
    """
    config = read_config(request)[1]
    if not storage.is_remote(config.job_dir or ""):
        return None
    folder = config.storage.cache_dir or security.WRITABLE["cache"]
    find = f"find {shlex.quote(folder)} -path '*/jobs/*/{HEALTH}' -mmin +{SILENT_MINUTES}"
    return {
        "exec": {"command": ["sh", "-c", f'test -z "$({find})"']},
        "periodSeconds": 60,
        "timeoutSeconds": 10,
        "failureThreshold": 3,
    }


def build_spec(request: Request, container: dict[str, Any], gpus: int) -> dict[str, Any]:
    """Returns the PodSpec of a container: its resources, its rights and its machine.

    Args:
        request: the options of render.
        container: name, image and command; the rest is added.
        gpus: GPUs of the container.
    """
    sizes = {"memory": request.memory, "ephemeral-storage": request.disk}
    limits = {name: value for name, value in sizes.items() if value}
    requests = {**({"cpu": request.cpu} if request.cpu else {}), **limits}
    if gpus:
        limits["nvidia.com/gpu"] = str(gpus)
    resources = {
        name: value for name, value in (("requests", requests), ("limits", limits)) if value
    }
    if resources:
        container["resources"] = resources
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": GRACE_SECS,
        # Linux discards a SIGTERM for process 1 of a container until that has a handler.
        "shareProcessNamespace": True,
        "containers": [container],
    }
    security.restrict(spec)
    if request.service_account:
        spec["serviceAccountName"] = request.service_account
    spec.update(choose_nodes(request))
    mounts, volumes = mount_claim(request)
    container["volumeMounts"] += mounts
    spec["volumes"] += volumes
    return spec


def choose_nodes(request: Request) -> dict[str, Any]:
    """Returns the fields that choose the nodes of a pod.

    Args:
        request: the options of render.
    """
    chosen: dict[str, Any] = {}
    if request.node_selector:
        chosen["nodeSelector"] = names.parse_node_selector(request.node_selector)
    if request.toleration:
        chosen["tolerations"] = names.parse_tolerations(request.toleration)
    return chosen


def mount_claim(request: Request) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the mounts of a container and the volumes of its pod for --volume; else none.

    Args:
        request: the options of render.
    """
    match = names.CLAIM.fullmatch(request.volume or "")
    if match is None:
        return [], []
    claim = {"claimName": match["claim"]}
    return (
        [{"name": "job", "mountPath": match["path"]}],
        [{"name": "job", "persistentVolumeClaim": claim}],
    )


def build_failure_policy(final: Sequence[int]) -> dict[str, Any]:
    """Returns the podFailurePolicy of a JobSpec.

    Args:
        final: exit statuses that a restart cannot correct. Every other one is retried.
    """
    codes = {"containerName": CONTAINER, "operator": "In", "values": list(final)}
    lost = {"type": "DisruptionTarget", "status": "True"}
    return {
        "rules": [
            {"action": "FailJob", "onExitCodes": codes},
            # The loss of a preempted machine does not count as a failure.
            {"action": "Ignore", "onPodConditions": [lost]},
        ]
    }


def label_job(request: Request) -> dict[str, str]:
    """Returns the labels that all objects of a job have.

    Args:
        request: the options of render.
    """
    return {"estimator-trainer/job": request.name}


def limit_time(request: Request) -> dict[str, int]:
    """Returns the fields of a JobSpec that limit its time.

    Args:
        request: the options of render.
    """
    limits = {
        "activeDeadlineSeconds": request.deadline_secs,
        TTL: request.ttl_secs,
    }
    return {name: value for name, value in limits.items() if value is not None}


def build_metadata(request: Request, name: str) -> dict[str, Any]:
    """Returns the metadata of an object.

    Args:
        request: the options of render.
        name: of the object.
    """
    metadata: dict[str, Any] = {"name": name, "labels": label_job(request)}
    if request.namespace:
        metadata["namespace"] = request.namespace
    return metadata
