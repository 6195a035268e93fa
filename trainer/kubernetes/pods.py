"""The pods of a job: container, resources, rights and machines."""

from typing import Any

from trainer.kubernetes import names, security
from trainer.kubernetes.request import PORT, ROLES, Request, read_config

# Seconds for saving and uploading a checkpoint before a pod is killed.
GRACE_SECS = 120


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
    if request.node_selector:
        spec["nodeSelector"] = names.parse_node_selector(request.node_selector)
    if request.toleration:
        spec["tolerations"] = names.parse_tolerations(request.toleration)
    match = names.CLAIM.fullmatch(request.volume or "")
    if match is not None:
        container["volumeMounts"].append({"name": "job", "mountPath": match["path"]})
        claim = {"claimName": match["claim"]}
        spec["volumes"].append({"name": "job", "persistentVolumeClaim": claim})
    labels = {"estimator-trainer/job": request.name, "estimator-trainer/role": role}
    return {"metadata": {"labels": labels}, "spec": spec}
