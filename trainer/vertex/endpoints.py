"""Endpoints of Vertex AI, which serve versions of a model, and their deployment.

An Endpoint resource in a file lists the deployed models and their shares of the traffic. The
command deploy changes the endpoint of the service until it is the same. If the command is
interrupted, the next one continues.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.vertex.connection import Connection, to_message
from trainer.vertex.machines import Machine
from trainer.vertex.request import SERVICE_ACCOUNT

# Replicas are added if the mean CPU utilization is above this, in percent.
TARGET_PERCENT = 70
TABLE = re.compile(r"bq://[a-z0-9:.-]+\.\w+\.[\w-]+")
_CPU = "aiplatform.googleapis.com/prediction/online/cpu/utilization"


class Options(NamedTuple):
    """The options of an endpoint.

    Attributes:
        name: name of the endpoint.
        machine: machine of each replica.
        replicas: minimum and maximum number of replicas of each model.
        service_account: service account that the replicas run as; None: the agent of the service.
        log_table: bq://PROJECT.DATASET.TABLE for logged requests; None: requests are not logged.
        sampling_rate: share of the requests that are logged.
    """

    name: str
    machine: Machine
    replicas: tuple[int, int]
    service_account: Optional[str]
    log_table: Optional[str]
    sampling_rate: float


def build(models: dict[str, tuple[str, int]], options: Options) -> dict[str, Any]:
    """Returns the JSON of an Endpoint.

    Args:
        models: ID of a deployed model → (name of its version in the registry, percentage of the
            traffic).
        options: the options.

    Raises:
        UserError: an option is invalid.
    """
    least, greatest = options.replicas
    if not 1 <= least <= greatest:
        raise UserError(f"--replicas={least},{greatest}: write MINIMUM,MAXIMUM, such as 2,10")
    for option, value, pattern, example in (
        ("service_account", options.service_account, SERVICE_ACCOUNT,
         "NAME@PROJECT.iam.gserviceaccount.com"),
        ("log_table", options.log_table, TABLE, "bq://PROJECT.DATASET.TABLE"),
    ):  # fmt: skip
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    account = {"serviceAccount": options.service_account} if options.service_account else {}
    deployed = [
        {
            "id": number,
            "model": model,
            "displayName": f"{options.name}-{number}",
            "dedicatedResources": {
                "machineSpec": options.machine.to_spec(),
                "minReplicaCount": least,
                "maxReplicaCount": greatest,
                "autoscalingMetricSpecs": [{"metricName": _CPU, "target": TARGET_PERCENT}],
            },
            **account,
        }
        for number, (model, _) in models.items()
    ]
    endpoint: dict[str, Any] = {
        "displayName": options.name,
        "deployedModels": deployed,
        "trafficSplit": {number: share for number, (_, share) in models.items() if share},
    }
    if options.log_table:
        endpoint["predictRequestResponseLoggingConfig"] = {
            "enabled": True,
            "samplingRate": options.sampling_rate,
            "bigqueryDestination": {"outputUri": options.log_table},
        }
    return endpoint


def read_endpoint(path: str) -> Any:
    """Returns the Endpoint that a file describes.

    Args:
        path: the file.

    Raises:
        UserError: the file cannot be read, or is not an Endpoint.
    """
    wanted = to_message("Endpoint", config_lib.read_yaml(Path(path), "deployment"))
    if not wanted.display_name or not wanted.deployed_models:
        raise UserError(
            f"{path}: displayName or deployedModels is missing; write the file again with python "
            "-m trainer.serve --render=vertex"
        )
    return wanted


def deploy(wanted: Any, connection: Connection, log: Callable[[str], None]) -> str:
    """Creates or changes an endpoint as a file describes it; returns its resource name.

    Args:
        wanted: the Endpoint that read_endpoint returned.
        connection: a connection to the EndpointService.
        log: is called with one line for each change.

    Raises:
        UserError: the service rejects a request.
    """
    types, client = connection.types, connection.client
    name = f"{connection.parent}/endpoints/{wanted.display_name}"
    found = _find(connection, name)
    if found is None:
        made = types.Endpoint(
            display_name=wanted.display_name,
            predict_request_response_logging_config=wanted.predict_request_response_logging_config,
        )
        operation = connection.call(
            client.create_endpoint,
            parent=connection.parent,
            endpoint=made,
            endpoint_id=wanted.display_name,
        )
        connection.wait(operation)
        log(f"{name}: created")
        found = _find(connection, name) or made
    present = {one.id for one in found.deployed_models}
    for one in wanted.deployed_models:
        if one.id not in present:
            # Without a traffic split, the new model gets no traffic yet.
            operation = connection.call(client.deploy_model, endpoint=name, deployed_model=one)
            connection.wait(operation)
            log(f"{one.model}: deployed as {one.id}")
    if dict(found.traffic_split) != dict(wanted.traffic_split):
        changed = types.Endpoint(name=name, traffic_split=wanted.traffic_split)
        mask = {"paths": ["traffic_split"]}
        connection.call(client.update_endpoint, endpoint=changed, update_mask=mask)
        shares = sorted(wanted.traffic_split.items())
        log("traffic: " + ", ".join(f"{number} gets {share}%" for number, share in shares))
    for number in sorted(present - {one.id for one in wanted.deployed_models}):
        operation = connection.call(client.undeploy_model, endpoint=name, deployed_model_id=number)
        connection.wait(operation)
        log(f"{number}: no longer deployed")
    return name


def _find(connection: Connection, name: str) -> Any:
    """Returns an endpoint, or None if there is none."""
    from google.api_core import exceptions

    try:
        return connection.call(connection.client.get_endpoint, name=name)
    except UserError as error:
        if isinstance(error.__cause__, exceptions.NotFound):
            return None
        raise
