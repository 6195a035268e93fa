"""The options of `python -m trainer.vertex render`, and their checks."""

import re
from typing import NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.vertex import paths
from trainer.vertex.machines import Machine, parse_machine
from trainer.vertex.program import TRAINING

# Position of a pool → role of its replicas.
POOL_ROLES = ("chief", "worker", "ps", "evaluator")
LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
SERVICE_ACCOUNT = re.compile(r"[a-z0-9.-]+@[a-z0-9.-]+\.(iam\.gserviceaccount\.com|[a-z.]+)")
NETWORK = re.compile(r"projects/[a-z0-9-]+/global/networks/[a-z0-9-]+")
TENSORBOARD = re.compile(r"projects/[a-z0-9-]+/locations/(?P<region>[a-z0-9-]+)/tensorboards/\w+")
KMS_KEY = re.compile(
    r"projects/[a-z0-9:.-]+/locations/(?P<region>[a-z0-9-]+)/keyRings/[A-Za-z0-9_-]{1,63}"
    r"/cryptoKeys/[A-Za-z0-9_-]{1,63}"
)
REGION = re.compile(r"[a-z]+-[a-z]+\d+")
LOCATION = re.compile(r"projects/(?P<project>[a-z0-9:.-]+)/locations/(?P<region>[a-z]+-[a-z]+\d+)")
MODEL_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
MODEL = re.compile(rf"{LOCATION.pattern}/models/[a-z0-9_-]{{1,63}}(@[A-Za-z0-9-]+)?")
IMAGE = re.compile(r"[a-z0-9.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?")
MAX_TIMEOUT_SECS = 7 * 24 * 3600


class Request(NamedTuple):
    """The options of render.

    Attributes:
        name: name of the job.
        region: region of the job.
        image: container image; with `package`, the executor image.
        package: gs:// address of a source distribution; None: the image contains the trainer.
        base_output_dir: gs:// folder for checkpoints, model and logs.
        machines: role → machine.
        counts: role → number of replicas.
        task_flags: flags of trainer.task.
        service_account: account under which the job runs.
        network: network of the job's machines.
        tensorboard: resource name of a TensorBoard instance.
        labels: labels of the job.
        nfs: SERVER:/PATH:/mnt/nfs/POINT, a folder that all replicas mount.
        spot: whether to use spot machines.
        timeout_secs: maximum duration of the job.
        restart_job: whether a restarted replica restarts the whole job.
        disable_retries: whether a failed replica is not restarted.
        kms_key: resource name of the key that encrypts what the service stores.
        module: what the job runs; `task_flags` are its flags, and have been checked if it is not
            trainer.task.
        as_version: the TensorFlow whose names the job's code gets, such as '2.8'; None: today's.
    """

    name: str
    region: str
    image: Optional[str]
    package: Optional[str]
    base_output_dir: Optional[str]
    machines: dict[str, Machine]
    counts: dict[str, int]
    task_flags: list[str]
    service_account: Optional[str] = None
    network: Optional[str] = None
    tensorboard: Optional[str] = None
    labels: dict[str, str] = {}
    nfs: Optional[str] = None
    spot: bool = False
    timeout_secs: Optional[int] = None
    restart_job: bool = False
    disable_retries: bool = False
    kms_key: Optional[str] = None
    module: str = TRAINING
    as_version: Optional[str] = None


def parse_machines(values: dict[str, Optional[str]]) -> dict[str, Machine]:
    """Returns role → machine; a role without a value gets the machine of the chief.

    Args:
        values: role → TYPE or TYPE:ACCELERATOR:COUNT or None.

    Raises:
        UserError: a machine type or accelerator is invalid.
    """
    chief = values["chief"] or "n1-standard-8"
    names = {role: "machine" if role == "chief" else f"{role}_machine" for role in POOL_ROLES}
    return {role: parse_machine(values[role] or chief, f"--{names[role]}") for role in POOL_ROLES}


def check_request(request: Request) -> None:
    """Checks the options of render, without the flags of trainer.task.

    Args:
        request: the options.

    Raises:
        UserError: an option is invalid, or two options contradict each other.
    """
    _check_name(request)
    _check_image(request)
    _check_package(request)
    if request.base_output_dir:
        storage.parse_address(request.base_output_dir.rstrip("/"), "--base_output_dir")
    _check_resources(request)
    _check_key(request)
    _check_tensorboard(request)
    if request.nfs and not request.network:
        raise UserError("--nfs: needs your own network to reach the server; set --network too")
    _check_labels(request)
    _check_scheduling(request)


def _check_name(request: Request) -> None:
    if not request.name.isprintable():
        raise UserError(
            f"--name={request.name!r}: a character that cannot be printed, such as a line break; "
            "remove it"
        )
    if not 0 < len(request.name) <= 128:
        raise UserError(f"--name={request.name}: a name has 1 to 128 characters")
    if not REGION.fullmatch(request.region):
        raise UserError(f"--region={request.region}: not a region; write one such as us-central1")


def _check_image(request: Request) -> None:
    if not request.image:
        raise UserError(
            "--image: not given; name the container, or with --package the executor image"
        )
    if not IMAGE.fullmatch(request.image):
        raise UserError(
            f"--image={request.image}: not an image; "
            "write REGION-docker.pkg.dev/PROJECT/REPO/NAME:TAG"
        )


def _check_package(request: Request) -> None:
    if not request.package:
        return
    address = storage.parse_address(request.package, "--package")
    if not address.name.endswith(".tar.gz"):
        raise UserError(
            f"--package={request.package}: not a source distribution; name the .tar.gz that "
            "python -m trainer.vertex package --upload=... has stored"
        )


def _check_resources(request: Request) -> None:
    for option, value, pattern, example in (
        ("service_account", request.service_account, SERVICE_ACCOUNT,
         "NAME@PROJECT.iam.gserviceaccount.com"),
        ("network", request.network, NETWORK, "projects/NUMBER/global/networks/NAME"),
        ("nfs", request.nfs, paths.NFS, "SERVER:/PATH:/mnt/nfs/POINT"),
        ("tensorboard", request.tensorboard, TENSORBOARD,
         "projects/NUMBER/locations/REGION/tensorboards/ID"),
        ("kms_key", request.kms_key, KMS_KEY,
         "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"),
    ):  # fmt: skip
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")


def _check_key(request: Request) -> None:
    match = KMS_KEY.fullmatch(request.kms_key or "")
    if match and match["region"] != request.region:
        raise UserError(
            f"--kms_key={request.kms_key}: it is in {match['region']}, and the job in "
            f"{request.region}; both must be in one region"
        )


def _check_tensorboard(request: Request) -> None:
    if not request.tensorboard:
        return
    match = TENSORBOARD.fullmatch(request.tensorboard)
    if match and match["region"] != request.region:
        raise UserError(
            f"--tensorboard={request.tensorboard}: it is in {match['region']}, and the job in "
            f"{request.region}; both must be in one region"
        )
    for name, value in (
        ("service_account", request.service_account),
        ("base_output_dir", request.base_output_dir),
    ):
        if not value:
            raise UserError(f"--tensorboard: needs --{name} too")


def _check_labels(request: Request) -> None:
    for key, value in request.labels.items():
        if not LABEL.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            raise UserError(
                f"--labels: {key}={value}: write lower-case letters, digits, - and _, at most 63"
            )


def _check_scheduling(request: Request) -> None:
    if request.restart_job and request.disable_retries:
        raise UserError(
            "--restart_job and --disable_retries: with the second, the service ignores the first; "
            "remove one of them"
        )
    seconds = request.timeout_secs
    if seconds is not None and not 0 < seconds <= MAX_TIMEOUT_SECS:
        raise UserError(f"--timeout_secs={seconds}: a job may take from 1 s to 7 days (604800 s)")
