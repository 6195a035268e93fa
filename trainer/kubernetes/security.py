"""What a pod may do, and who may reach it: the defaults of every rendered manifest."""

from typing import Any

# The group of the image's user. Without it, that user cannot write a claim that root owns.
GROUP = 1000
# Folders in which a process writes; the rest of the container's file system is read-only.
WRITABLE = {"tmp": "/tmp", "cache": "/home/trainer/.cache"}  # noqa: S108 - of the container

# Rights of the user, and of the processes, in every container.
USER = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
PROCESSES = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def restrict(spec: dict[str, Any]) -> None:
    """Takes from a pod every right that training does not need.

    Args:
        spec: the PodSpec, which is changed; its containers have no mounts yet.
    """
    # The trainer does not use the API of Kubernetes.
    spec["automountServiceAccountToken"] = False
    spec["securityContext"] = {
        **USER,
        "fsGroup": GROUP,
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    spec["volumes"] = [{"name": name, "emptyDir": {}} for name in WRITABLE]
    for container in spec["containers"]:
        container["securityContext"] = {**PROCESSES, "readOnlyRootFilesystem": True}
        container["volumeMounts"] = [
            {"name": name, "mountPath": path} for name, path in WRITABLE.items()
        ]


def build_policy(metadata: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Returns a NetworkPolicy that admits only the pods of the job.

    TensorFlow's gRPC ports have no authentication and run any graph that they receive.

    Args:
        metadata: metadata of the policy.
        labels: labels that the pods of the job have.
    """
    pods = {"podSelector": {"matchLabels": labels}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata,
        "spec": {**pods, "policyTypes": ["Ingress"], "ingress": [{"from": [pods]}]},
    }
