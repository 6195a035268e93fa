"""The security context and the network policy of the pods in every rendered manifest."""

from typing import Any

# Group of the image's user. Without fsGroup, this user cannot write to a claim that root owns.
GROUP = 1000
# Writable folders; the rest of the container's file system is read-only.
WRITABLE = {"tmp": "/tmp", "cache": "/home/trainer/.cache"}  # noqa: S108 - of the container

# Restrictions of the user and of the processes in every container.
USER = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
PROCESSES = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def restrict(spec: dict[str, Any]) -> None:
    """Removes from a pod all permissions that training does not need.

    Args:
        spec: the PodSpec, which is modified; its containers must not have mounts yet.
    """
    # The trainer does not use the Kubernetes API.
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
