"""A SparkApplication of the Spark operator, which runs a command with --engine=spark."""

import re
from typing import Any, NamedTuple, Optional

from trainer.errors import UserError
from trainer.kubernetes import security
from trainer.kubernetes.names import BYTES
from trainer.kubernetes.pods import build_metadata, choose_nodes, label_job, mount_claim
from trainer.kubernetes.programs import Program
from trainer.kubernetes.request import Request, check_machines

KIND = "spark-application"
# Memory of the Java process. The Python processes, which hold the model and the rows, get the rest.
HEAP_MIB = 1024
RETRY_SECS = 30
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES.update({"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40})


class Runtime(NamedTuple):
    """What the image contains.

    Attributes:
        spark: version of Spark.
        python: path of the Python interpreter that has this package.
        main: path of trainer/engines/submitted.py.
    """

    spark: str
    python: str
    main: str


def build_application(
    request: Request, program: Program, workers: int, runtime: Runtime
) -> dict[str, Any]:
    """Returns the SparkApplication.

    Args:
        request: name, image, machine, and the flags of the command.
        program: the command.
        workers: number of executors.
        runtime: what the image contains.

    Raises:
        UserError: an option is invalid.
    """
    check_machines(request)
    for option, path in (("spark_python", runtime.python), ("spark_main", runtime.main)):
        if not path.startswith("/"):
            raise UserError(f"--{option}={path}: write the absolute path of the file in the image")
    if not re.fullmatch(r"\d+\.\d+\.\d+", runtime.spark):
        raise UserError(f"--spark_version={runtime.spark}: write a version such as 4.0.1")
    if request.gpus or request.disk:
        option = "gpus" if request.gpus else "disk"
        raise UserError(f"--{option}: has no effect with --kind={KIND}; remove it")
    pod = _build_pod(request)
    # The operator cannot distinguish a verdict from a failure, and would repeat both.
    retries: dict[str, Any] = {"type": "Never"}
    if not program.verdicts:
        retries = {
            "type": "OnFailure",
            "onFailureRetries": request.backoff_limit,
            "onFailureRetryInterval": RETRY_SECS,
        }
    spec: dict[str, Any] = {
        "type": "Python",
        "pythonVersion": "3",
        "mode": "cluster",
        "sparkVersion": runtime.spark,
        "image": request.image,
        "mainApplicationFile": f"local://{runtime.main}",
        "arguments": [*program.words, *request.task_flags, "--engine=spark"],
        "sparkConf": {"spark.pyspark.python": runtime.python},
        "restartPolicy": retries,
        "driver": {**pod, "cores": 1},
        "executor": {**pod, "instances": workers},
    }
    if request.service_account:
        spec["driver"]["serviceAccount"] = request.service_account
    _, volumes = mount_claim(request)
    if volumes:
        spec["volumes"] = volumes
    if request.ttl_secs is not None:
        spec["timeToLiveSeconds"] = request.ttl_secs
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": build_metadata(request, request.name),
        "spec": spec,
    }


def _build_pod(request: Request) -> dict[str, Any]:
    """Returns the fields that the driver and the executors have in common."""
    pod: dict[str, Any] = {
        "cores": _count_cores(request.cpu),
        "labels": label_job(request),
        "securityContext": {**security.USER, **security.PROCESSES},
        **choose_nodes(request),
    }
    if request.memory:
        pod["memory"] = f"{HEAP_MIB}m"
        pod["memoryOverhead"] = f"{_count_mib(request.memory) - HEAP_MIB}m"
    mounts, _ = mount_claim(request)
    if mounts:
        pod["volumeMounts"] = mounts
    return pod


def _count_cores(cpu: Optional[str]) -> int:
    if cpu is not None and not (cpu.isdecimal() and int(cpu)):
        raise UserError(f"--cpu={cpu}: Spark needs whole cores; write a number such as 4")
    return int(cpu or 1)


def _count_mib(memory: str) -> int:
    match = BYTES.fullmatch(memory)
    mib = int(float(match["number"]) * _BYTES[match["unit"] or ""]) >> 20 if match else 0
    if mib < 2 * HEAP_MIB:
        raise UserError(
            f"--memory={memory}: Java gets 1 GiB of it, and Python the rest; write at least 2Gi"
        )
    return mib
