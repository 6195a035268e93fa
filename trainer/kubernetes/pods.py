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
# The TFJob operator requires this name.
CONTAINER = "tensorflow"
TTL = "ttlSecondsAfterFinished"
# If the health file is older than this, the pod is replaced. The file is not written during the
# transfer of a large file.
SILENT_MINUTES = 60


def _list_secrets(request: Request) -> list[dict[str, Any]]:
    """Returns the environment variables whose values come from the Secret."""
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
        environment: environment variables of the container, without those of the Secret.
    """
    environment = [*environment, *_list_secrets(request)]
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": request.image,
        "command": ["python", "-m", "trainer.task"],
        "args": list(request.task_flags),
        # The TFJob operator requires this name.
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
    """Returns a liveness probe that fails if the health file is too old.

    The thread that stores a job in a bucket writes this file every few seconds, even if the bucket
    is unavailable. If the thread or the whole process hangs, nothing is stored, and only a new pod
    can continue. A missing file is not an error, because the job may still be fetched from the
    bucket.

    Returns:
        The probe; None if job_dir is not in a bucket, so that there is no health file.
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
    """Returns the PodSpec of a container: resources, permissions, nodes and mounts.

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
        # Linux discards a SIGTERM for process 1 of a container until the process has a handler.
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
    """Returns the fields of a PodSpec that select its nodes.

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
    """Returns the mounts of a container and the volumes of its pod; without --volume, none.

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
        final: exit statuses that a restart cannot correct. All others are retried.
    """
    codes = {"containerName": CONTAINER, "operator": "In", "values": list(final)}
    lost = {"type": "DisruptionTarget", "status": "True"}
    return {
        "rules": [
            {"action": "FailJob", "onExitCodes": codes},
            # A preempted node does not count as a failure.
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
    """Returns the time limits of a JobSpec.

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
        name: name of the object.
    """
    metadata: dict[str, Any] = {"name": name, "labels": label_job(request)}
    if request.namespace:
        metadata["namespace"] = request.namespace
    return metadata
