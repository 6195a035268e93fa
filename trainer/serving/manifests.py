"""Renders what runs TensorFlow Serving itself: a Docker command, or Kubernetes manifests."""

import math
import shlex
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, SANDBOX_REPORT
from trainer.kubernetes import names, security
from trainer.kubernetes.documents import to_yaml
from trainer.release import registry
from trainer.release.pushing import Deployment
from trainer.release.state import CANARY, LABEL_CONFIGS, MODELS_CONFIG, STABLE, State
from trainer.vertex import endpoints
from trainer.vertex.request import LOCATION

GRPC_PORT, REST_PORT = 8500, 8501
# Kind of a route of the Gateway API → port of the servers.
ROUTES = {"HTTPRoute": REST_PORT, "GRPCRoute": GRPC_PORT}
# Of the user in the container; the files need not belong to it.
USER = 1000
# Seconds between two looks at models.config.
POLL_SECS = 10
# The step to which memory is rounded up, in MiB.
MEMORY_STEP = 256
# Replicas are added above this mean use of the requested processors, in percent.
TARGET_PERCENT = 70


class Options(NamedTuple):
    """The options of a rendering.

    Attributes:
        image: container image with tensorflow_model_server.
        replicas: least and greatest number of replicas.
        cpu: processors that a replica requests.
        memory: of a replica, requested and at most; None: from the measurement of the sandbox.
        volume: CLAIM:/PATH, for a folder that is not in a bucket.
        namespace: of the manifests; None: that of kubectl.
        canary: percent of the requests that the canary answers; None: the clients choose by label.
        gateway: Gateway that divides the requests.
    """

    image: str
    replicas: tuple[int, int]
    cpu: str
    memory: Optional[str]
    volume: Optional[str]
    namespace: Optional[str]
    canary: Optional[int] = None
    gateway: Optional[str] = None


def list_server_arguments(config: str) -> list[str]:
    """Returns the arguments of tensorflow_model_server for a folder of trainer.push.

    Args:
        config: path of its models.config, as the server sees it.
    """
    return [
        f"--port={GRPC_PORT}",
        f"--rest_api_port={REST_PORT}",
        f"--model_config_file={config}",
        f"--model_config_file_poll_wait_seconds={POLL_SECS}",
        "--allow_version_labels_for_unavailable_models",
    ]


def render_docker(place: str, image: str) -> str:
    """Returns the command that serves a folder of trainer.push with Docker.

    Args:
        place: the folder, on this machine.
        image: container image.

    Raises:
        UserError: nothing has been pushed there, or it is in a bucket.
    """
    if storage.is_remote(place):
        raise UserError(f"{place}: --render=docker is for a folder on this machine")
    state = _read(place)
    words = ["docker", "run", "--rm", "--read-only", f"--user={USER}"]
    words += [f"--publish=127.0.0.1:{port}:{port}" for port in (GRPC_PORT, REST_PORT)]
    words += [f"--volume={Path(place).resolve()}:{state.base_path}:ro"]
    words += ["--entrypoint=tensorflow_model_server", image]
    words += list_server_arguments(f"{state.base_path}/{MODELS_CONFIG}")
    return shlex.join(words) + "\n"


def render_kubernetes(place: str, options: Options) -> str:
    """Returns the manifests that serve a folder of trainer.push.

    Args:
        place: the folder, on this machine or gs://.
        options: of the manifests.

    Raises:
        UserError: an option is wrong or missing.
    """
    state = _read(place)
    _check(state, options)
    if options.canary is None:
        return to_yaml(_build_server(place, state, options, state.name, MODELS_CONFIG))
    canary = f"{state.name}-{CANARY}"
    shares = {state.name: 100 - options.canary, canary: options.canary}
    documents: list[dict[str, Any]] = []
    for label, name in ((STABLE, state.name), (CANARY, canary)):
        documents += _build_server(place, state, options, name, LABEL_CONFIGS[label])
    documents += [_build_route(state, options, kind, shares) for kind in ROUTES]
    return to_yaml(documents)


def render_vertex(
    place: str, location: str, canary: Optional[int], options: endpoints.Options
) -> str:
    """Returns the Endpoint of Vertex AI that serves a folder of trainer.push.

    Args:
        place: the folder; its versions are registered with trainer.push --register.
        location: projects/PROJECT/locations/REGION of the registry.
        canary: percent of the requests that the canary answers; None: none.
        options: of the endpoint; the model gives it its name.

    Raises:
        UserError: an option is wrong, or there is no canary.
    """
    state = _read(place)
    if not LOCATION.fullmatch(location):
        raise UserError(f"--registry={location}: write projects/PROJECT/locations/REGION")
    shares = {STABLE: 100}
    if canary is not None:
        if CANARY not in state.labels:
            raise UserError(f"--canary={canary}: {place} has no canary; push one, or leave it out")
        shares = {STABLE: 100 - canary, CANARY: canary}
    model = f"{location}/models/{registry.name_model(state)}"
    models = {
        str(state.labels[label]): (f"{model}@{registry.name_alias(state.labels[label])}", share)
        for label, share in shares.items()
    }
    return to_yaml([endpoints.build(models, options._replace(name=state.name))])


def _build_metadata(options: Options, name: str) -> dict[str, Any]:
    namespace = {"namespace": options.namespace} if options.namespace else {}
    return {"name": name, "labels": {"app": name}, **namespace}


def _build_server(
    place: str, state: State, options: Options, name: str, config: str
) -> list[dict[str, Any]]:
    """Returns what runs TensorFlow Serving with one of its configurations."""
    metadata = _build_metadata(options, name)
    pods = {"matchLabels": metadata["labels"]}
    pod = _build_pod(place, state, options, config)
    least, greatest = options.replicas
    own = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "selector": pods,
                # A new replica answers before an old one ends.
                "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "template": {"metadata": {"labels": metadata["labels"]}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "selector": metadata["labels"],
                "ports": [
                    {"name": "grpc", "port": GRPC_PORT},
                    {"name": "rest", "port": REST_PORT},
                ],
            },
        },
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata,
            "spec": {
                "scaleTargetRef": own,
                "minReplicas": least,
                "maxReplicas": greatest,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": TARGET_PERCENT},
                        },
                    }
                ],
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"selector": pods, "maxUnavailable": 1},
        },
    ]


def _build_route(
    state: State, options: Options, kind: str, shares: dict[str, int]
) -> dict[str, Any]:
    """Returns a route of the Gateway API that divides the requests by weights."""
    backends = [
        {"name": name, "port": ROUTES[kind], "weight": share} for name, share in shares.items()
    ]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": kind,
        "metadata": _build_metadata(options, state.name),
        "spec": {"parentRefs": [{"name": options.gateway}], "rules": [{"backendRefs": backends}]},
    }


def _read(place: str) -> State:
    state = Deployment(place, "FOLDER").read()
    if STABLE not in state.labels:
        raise UserError(f"{place}: no version is stable; push one with trainer.push first")
    return state


def _check(state: State, options: Options) -> None:
    given = {"name": state.name, **options._asdict(), "disk": None}
    names.check_names({**given, "service_account": None, "secret": None})
    least, greatest = options.replicas
    if not 1 <= least <= greatest:
        raise UserError(f"--replicas={least},{greatest}: write MINIMUM,MAXIMUM, such as 2,10")
    if (options.canary is None) != (options.gateway is None):
        raise UserError("--canary and --gateway: give both, or neither; the Gateway divides")
    if options.gateway and not names.SUBDOMAIN.fullmatch(options.gateway):
        raise UserError(f"--gateway={options.gateway}: write the name of a Gateway")
    if storage.is_remote(state.base_path) == bool(options.volume):
        raise UserError(
            f"--volume: the models are in {state.base_path}; give CLAIM:/PATH for a folder, and "
            "nothing for a bucket"
        )
    path = options.volume.partition(":")[2].rstrip("/") if options.volume else ""
    if options.volume and not f"{state.base_path}/".startswith(f"{path}/"):
        raise UserError(
            f"--volume={options.volume}: models.config names {state.base_path}, which is not in "
            f"{path}; mount the claim above it, or push with --base_path"
        )


def _build_pod(place: str, state: State, options: Options, config: str) -> dict[str, Any]:
    # One more than it serves: a new version is loaded while the others answer.
    loaded = 2 if options.canary is not None else max(2, len(state.list_served()) + 1)
    memory = options.memory or _measure_memory(place, state, loaded)
    # It answers only when the stable version has been loaded, or the only one.
    label = f"/labels/{STABLE}" if options.canary is None else ""
    ready = f"/v1/models/{state.name}{label}/metadata"
    container = {
        "name": "tensorflow-serving",
        "image": options.image,
        "command": ["tensorflow_model_server"],
        "args": list_server_arguments(f"{state.base_path}/{config}"),
        "ports": [{"containerPort": GRPC_PORT}, {"containerPort": REST_PORT}],
        "readinessProbe": {"httpGet": {"path": ready, "port": REST_PORT}, "periodSeconds": 5},
        "livenessProbe": {"tcpSocket": {"port": GRPC_PORT}, "failureThreshold": 6},
        "resources": {
            "requests": {"cpu": options.cpu, "memory": memory},
            "limits": {"memory": memory},
        },
    }
    spec: dict[str, Any] = {"containers": [container]}
    security.restrict(spec)
    spec["securityContext"]["runAsUser"] = USER
    if options.volume:
        claim, path = options.volume.split(":", 1)
        volume = {"claimName": claim, "readOnly": True}
        spec["volumes"].append({"name": "models", "persistentVolumeClaim": volume})
        mount = {"name": "models", "mountPath": path, "readOnly": True}
        spec["containers"][0]["volumeMounts"].append(mount)
    return spec


def _measure_memory(place: str, state: State, versions: int) -> str:
    """Returns the memory for some versions, from the sandbox's measurement of the stable one."""
    stable = state.labels[STABLE]
    report = None
    if not storage.is_remote(place):
        report = storage.read_json(Path(place, str(stable), EXTRA, SANDBOX_REPORT))
    peak = (report or {}).get("peak_mib")
    if not isinstance(peak, (int, float)) or not peak > 0:
        raise UserError(
            f"--memory: not given, and version {stable} has no measurement; run trainer.sandbox "
            "before the push, or write --memory=2Gi"
        )
    needed = peak * versions
    return f"{math.ceil(needed / MEMORY_STEP) * MEMORY_STEP}Mi"
