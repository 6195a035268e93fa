"""The flags of `python -m trainer.vertex render`, and their checks."""

import re
from typing import NamedTuple, Optional

from absl import flags

from trainer import storage
from trainer.config import arguments
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
        module: the module that the job runs. Its flags are `task_flags`; those of another module
            than trainer.task have already been checked.
        as_version: TensorFlow version for which the job's own code was written, such as '2.8';
            None: the version in the image.
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


def define_render(values: flags.FlagValues) -> None:
    """Adds the flags of render.

    Args:
        values: where they are added.
    """
    meanings = {
        "name": "name of the job; 1 to 128 characters",
        "image": "container image with this package; with --package: image with TensorFlow, into "
        "which the service installs the package",
        "package": "gs:// address of a source distribution, as the command package prints it; "
        "unset: the image contains this package",
        "base_output_dir": "gs:// folder with subfolders for checkpoints, model and logs; required "
        "unless --job_dir is given after --",
        "machine": "machine of the chief: TYPE or TYPE:ACCELERATOR:COUNT, such as "
        "n1-standard-8:NVIDIA_TESLA_T4:2; unset: n1-standard-8",
        "worker_machine": "machine of each worker; unset: the value of --machine",
        "ps_machine": "machine of each parameter server; unset: the value of --machine",
        "evaluator_machine": "machine of the evaluator; unset: the value of --machine",
        "service_account": "service account that the job runs as: NAME@PROJECT.iam.gserviceaccount."
        "com; unset: the agent of the service, which has more permissions than a job needs",
        "kms_key": "key that encrypts what the service stores, in the region of the job: "
        "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY; unset: Google's keys",
        "network": "network of the machines: projects/NUMBER/global/networks/NAME; unset: the "
        "service's own",
        "tensorboard": "TensorBoard instance that shows the job, in the region of the job: "
        "projects/NUMBER/locations/REGION/tensorboards/ID; needs --service_account and "
        "--base_output_dir",
        "nfs": "SERVER:/PATH:/mnt/nfs/POINT, a shared folder that all machines mount; needs "
        "--network; parameter servers need such a folder",
        "tuning": "search space of a hyperparameter tuning job: a YAML file, or a name in "
        "hparams/tuning/; unset: a custom job",
        "output": "file for the job; unset: standard output",
    }
    for name, meaning in meanings.items():
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    text = "Google Cloud region of the job"
    flags.DEFINE_string("region", "us-central1", text, flag_values=values)
    arguments.define_version(
        values,
        "TensorFlow version for which your model code was written, such as 2.8; the job then runs "
        "it with python -m estimator_bridge run; unset: the version in the image",
    )
    text = "command that the job runs, trainer.task or trainer.watch; its flags follow after --"
    flags.DEFINE_enum("command", "task", ["task", "watch"], text, flag_values=values)
    text = "labels of the job: KEY=VALUE"
    flags.DEFINE_list("labels", [], text, flag_values=values)
    text = "number of workers besides the chief"
    flags.DEFINE_integer("workers", 0, text, 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "number of parameter servers", 0, flag_values=values)
    text = "add a machine that evaluates each checkpoint, so that the chief does not"
    flags.DEFINE_boolean("evaluator", False, text, flag_values=values)
    text = "use spot machines, which cost less and can be preempted at any time"
    flags.DEFINE_boolean("spot", False, text, flag_values=values)
    text = "time limit of the job, seconds, at most 604800; unset: the service's limit of 7 days"
    flags.DEFINE_integer("timeout_secs", None, text, flag_values=values)
    text = (
        "restart all processes when the service restarts one; set it for "
        "--strategy=multi_worker_mirrored, where all of them end together"
    )
    flags.DEFINE_boolean("restart_job", False, text, flag_values=values)
    text = "do not restart a failed process; the first failure ends the job"
    flags.DEFINE_boolean("disable_retries", False, text, flag_values=values)


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
        raise UserError("--nfs: the server is reached through your own network; set --network")
    _check_labels(request)
    _check_scheduling(request)


def _check_name(request: Request) -> None:
    if not request.name.isprintable():
        raise UserError(
            f"--name={request.name!r}: contains a character that cannot be printed, such as a line "
            "break; remove it"
        )
    if not 0 < len(request.name) <= 128:
        raise UserError(f"--name={request.name}: write 1 to 128 characters")
    if not REGION.fullmatch(request.region):
        raise UserError(f"--region={request.region}: write a region such as us-central1")


def _check_image(request: Request) -> None:
    if not request.image:
        raise UserError(
            "--image: not given, but required: container image with this package; with --package, "
            "image with TensorFlow"
        )
    if not IMAGE.fullmatch(request.image):
        raise UserError(
            f"--image={request.image}: write the name of an image, such as "
            "REGION-docker.pkg.dev/PROJECT/REPO/NAME:TAG"
        )


def _check_package(request: Request) -> None:
    if not request.package:
        return
    address = storage.parse_address(request.package, "--package")
    if not address.name.endswith(".tar.gz"):
        raise UserError(
            f"--package={request.package}: not a source distribution; write the address that "
            "python -m trainer.vertex package --upload=FOLDER prints"
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
            f"--kms_key={request.kms_key}: the key is in {match['region']}, and the job in "
            f"{request.region}; use one region for both"
        )


def _check_tensorboard(request: Request) -> None:
    if not request.tensorboard:
        return
    match = TENSORBOARD.fullmatch(request.tensorboard)
    if match and match["region"] != request.region:
        raise UserError(
            f"--tensorboard={request.tensorboard}: the instance is in {match['region']}, and the "
            f"job in {request.region}; use one region for both"
        )
    for name, value in (
        ("service_account", request.service_account),
        ("base_output_dir", request.base_output_dir),
    ):
        if not value:
            raise UserError(f"--tensorboard: needs --{name}; set it")


def _check_labels(request: Request) -> None:
    for key, value in request.labels.items():
        if not LABEL.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            raise UserError(
                f"--labels: {key}={value}: write lower-case letters, digits, - and _, at most 63"
            )


def _check_scheduling(request: Request) -> None:
    if request.restart_job and request.disable_retries:
        raise UserError(
            "--restart_job and --disable_retries: the service restarts nothing with "
            "--disable_retries; remove one of them"
        )
    seconds = request.timeout_secs
    if seconds is not None and not 0 < seconds <= MAX_TIMEOUT_SECS:
        raise UserError(f"--timeout_secs={seconds}: write 1 to 604800 seconds, which are 7 days")
