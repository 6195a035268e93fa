"""Batch prediction jobs of Vertex AI with a model of the model registry."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.vertex.machines import Machine
from trainer.vertex.request import MODEL, SERVICE_ACCOUNT

# Pattern of the end of a file name → format of the file. CSV is missing because the service sends
# its rows as lists, which an export with named columns does not accept. The service cannot read
# Parquet.
FORMATS = {
    r"\.(jsonl|json|ndjson)": "jsonl",
    r"\.(tfrecords?|tfr)": "tf-record",
    r"\.(tfrecords?|tfr)\.gz": "tf-record-gzip",
}
MAX_REPLICAS = 1000


class Options(NamedTuple):
    """The options of a batch prediction.

    Attributes:
        name: name of the job.
        model: projects/PROJECT/locations/REGION/models/ID@VERSION.
        data: gs:// files; * in a name matches any characters.
        format: jsonl, tf-record or tf-record-gzip; None: by the file names.
        output: gs:// folder for the predictions.
        machine: machine of each replica.
        replicas: number of replicas at the start, and maximum number.
        batch_size: rows per request; None: the service chooses.
        service_account: service account that the job runs as; None: the agent of the service.
    """

    name: str
    model: str
    data: Sequence[str]
    format: Optional[str]
    output: str
    machine: Machine
    replicas: tuple[int, int]
    batch_size: Optional[int]
    service_account: Optional[str]


def build(options: Options) -> dict[str, Any]:
    """Returns the JSON of a BatchPredictionJob.

    Args:
        options: the options.

    Raises:
        UserError: an option is invalid.
    """
    if not MODEL.fullmatch(options.model):
        raise UserError(
            f"--model={options.model}: write projects/PROJECT/locations/REGION/models/ID@stable"
        )
    for option, address in (*(("data", one) for one in options.data), ("output", options.output)):
        storage.parse_address(address.rstrip("/"), f"--{option}")
    account = options.service_account
    if account and not SERVICE_ACCOUNT.fullmatch(account):
        raise UserError(f"--service_account={account}: write NAME@PROJECT.iam.gserviceaccount.com")
    least, greatest = options.replicas
    if not 1 <= least <= greatest <= MAX_REPLICAS:
        raise UserError(
            f"--replicas={least},{greatest}: write START,MAXIMUM, such as 1,10, of at most "
            f"{MAX_REPLICAS}"
        )
    job: dict[str, Any] = {
        "displayName": options.name,
        "model": options.model,
        "inputConfig": {
            "instancesFormat": options.format or _find_format(options.data),
            "gcsSource": {"uris": list(options.data)},
        },
        "outputConfig": {
            "predictionsFormat": "jsonl",
            "gcsDestination": {"outputUriPrefix": options.output},
        },
        "dedicatedResources": {
            "machineSpec": options.machine.to_spec(),
            "startingReplicaCount": least,
            "maxReplicaCount": greatest,
        },
    }
    if options.batch_size:
        job["manualBatchTuningParameters"] = {"batchSize": options.batch_size}
    if account:
        job["serviceAccount"] = account
    return job


def _find_format(data: Sequence[str]) -> str:
    found = {
        next((name for end, name in FORMATS.items() if re.search(f"{end}$", path)), path)
        for path in data
    }
    if len(found) != 1 or not found <= set(FORMATS.values()):
        raise UserError(
            f"--data={','.join(data)}: the service reads JSON lines or TFRecord files, one format "
            "per job; name the format in --data_format, or for CSV and Parquet use python -m "
            "trainer.kubernetes render --command=predict"
        )
    return found.pop()
