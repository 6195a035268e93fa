"""Custom jobs as the service's JSON names them, from what the command line says."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml

from trainer import config as config_lib
from trainer import storage
from trainer.config import flags
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.vertex import paths
from trainer.vertex.machines import Machine, parse_machine
from trainer.vertex.tuning import Study

MODULE = "trainer.task"
# Position of a pool → what its replicas are.
POOL_ROLES = ("chief", "worker", "ps", "evaluator")
PORT = 2222
LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
SERVICE_ACCOUNT = re.compile(r"[a-z0-9.-]+@[a-z0-9.-]+\.(iam\.gserviceaccount\.com|[a-z.]+)")
NETWORK = re.compile(r"projects/[a-z0-9-]+/global/networks/[a-z0-9-]+")
TENSORBOARD = re.compile(r"projects/[a-z0-9-]+/locations/(?P<region>[a-z0-9-]+)/tensorboards/\w+")
REGION = re.compile(r"[a-z]+-[a-z]+\d+")
IMAGE = re.compile(r"[a-z0-9.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?")
MAX_TIMEOUT_SECS = 7 * 24 * 3600


class Request(NamedTuple):
    """What render was asked for; see its --help for what each means."""

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


class Job(NamedTuple):
    """A rendered job.

    Attributes:
        name, region, labels: of the job.
        spec: CustomJobSpec, or {studySpec, trialJobSpec} of a tuning job, as JSON names it.
        max_trials, parallel_trials: of a tuning job; else 0.
    """

    name: str
    region: str
    labels: dict[str, str]
    spec: dict[str, Any]
    max_trials: int = 0
    parallel_trials: int = 0

    @property
    def is_tuning(self) -> bool:
        """Whether it is a HyperparameterTuningJob."""
        return "studySpec" in self.spec

    @property
    def job_spec(self) -> dict[str, Any]:
        """The CustomJobSpec: of a tuning job, of each of its trials."""
        return self.spec["trialJobSpec"] if self.is_tuning else self.spec

    def to_resource(self) -> dict[str, Any]:
        """The whole CustomJob or HyperparameterTuningJob."""
        named = {"displayName": self.name, "labels": self.labels}
        if not self.is_tuning:
            return {**named, "jobSpec": self.spec}
        counts = {"maxTrialCount": self.max_trials, "parallelTrialCount": self.parallel_trials}
        return {**named, **self.spec, **counts}


def build_job(request: Request, study: Optional[Study] = None) -> Job:
    """Checks a request and makes the job.

    Raises:
        UserError: something in it cannot be; names it.
    """
    _check_names(request)
    config = check_task_flags(request)
    _check_study(study, request, config)
    spec: dict[str, Any] = {"workerPoolSpecs": _build_pools(request)}
    scheduling: dict[str, Any] = {}
    if request.timeout_secs is not None:
        scheduling["timeout"] = f"{request.timeout_secs}s"
    if request.restart_job:
        scheduling["restartJobOnWorkerRestart"] = True
    if request.disable_retries:
        scheduling["disableRetries"] = True
    if request.spot:
        scheduling["strategy"] = "SPOT"
    if scheduling:
        spec["scheduling"] = scheduling
    if request.base_output_dir:
        spec["baseOutputDirectory"] = {"outputUriPrefix": request.base_output_dir}
    for key, value in (
        ("serviceAccount", request.service_account),
        ("network", request.network),
        ("tensorboard", request.tensorboard),
    ):
        if value:
            spec[key] = value
    if study is None:
        return Job(request.name, request.region, request.labels, spec)
    tuning = {"studySpec": study.spec, "trialJobSpec": spec}
    return Job(
        request.name, request.region, request.labels, tuning,
        study.max_trials, study.parallel_trials,
    )  # fmt: skip


def _build_pools(request: Request) -> list[dict[str, Any]]:
    pools: list[dict[str, Any]] = []
    for role in POOL_ROLES:
        count = request.counts[role]
        if not count:
            # Its place in the list is what gives the next pool its role.
            pools.append({})
            continue
        pool: dict[str, Any] = {
            "machineSpec": request.machines[role].to_spec(),
            "replicaCount": str(count),
        }
        if request.nfs:
            match = paths.NFS.fullmatch(request.nfs)
            assert match is not None
            pool["nfsMounts"] = [
                {"server": match["server"], "path": match["path"], "mountPoint": match["point"]}
            ]
        if request.package:
            pool["pythonPackageSpec"] = {
                "executorImageUri": request.image,
                "packageUris": [request.package],
                "pythonModule": MODULE,
                "args": list(request.task_flags),
            }
        else:
            pool["containerSpec"] = {
                "imageUri": request.image,
                "command": ["python", "-m", MODULE],
                "args": list(request.task_flags),
            }
        pools.append(pool)
    while not pools[-1]:
        pools.pop()
    return pools


def _check_names(request: Request) -> None:
    if not 0 < len(request.name) <= 128:
        raise UserError(f"--name={request.name}: a name has 1 to 128 characters")
    if not REGION.fullmatch(request.region):
        raise UserError(f"--region={request.region}: no region; write one such as us-central1")
    if not request.image:
        raise UserError(
            "--image: not given; name the container, or with --package the executor image"
        )
    if not IMAGE.fullmatch(request.image):
        raise UserError(
            f"--image={request.image}: no image; write REGION-docker.pkg.dev/PROJECT/REPO/NAME:TAG"
        )
    if request.package:
        address = storage.parse_address(request.package, "--package")
        if not address.name.endswith(".tar.gz"):
            raise UserError(
                f"--package={request.package}: no source distribution; name the .tar.gz that "
                "python -m trainer.vertex package --upload=... has stored"
            )
    if request.base_output_dir:
        storage.parse_address(request.base_output_dir.rstrip("/"), "--base_output_dir")
    for option, value, pattern, example in (
        ("service_account", request.service_account, SERVICE_ACCOUNT,
         "NAME@PROJECT.iam.gserviceaccount.com"),
        ("network", request.network, NETWORK, "projects/NUMBER/global/networks/NAME"),
        ("nfs", request.nfs, paths.NFS, "SERVER:/PATH:/mnt/nfs/POINT"),
        ("tensorboard", request.tensorboard, TENSORBOARD,
         "projects/NUMBER/locations/REGION/tensorboards/ID"),
    ):  # fmt: skip
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    if request.tensorboard:
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
    if request.nfs and not request.network:
        raise UserError("--nfs: the server is reached over your own network; set --network too")
    for key, value in request.labels.items():
        if not LABEL.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            raise UserError(
                f"--labels: {key}={value}: write lower-case letters, digits, - and _, at most 63"
            )
    if request.restart_job and request.disable_retries:
        raise UserError(
            "--restart_job and --disable_retries: to the service the second takes the first back; "
            "remove one of them"
        )
    seconds = request.timeout_secs
    if seconds is not None and not 0 < seconds <= MAX_TIMEOUT_SECS:
        raise UserError(f"--timeout_secs={seconds}: a job may take from 1 s to 7 days (604800 s)")


def check_task_flags(request: Request) -> config_lib.Config:
    """Holds the trainer's flags against its options, and the pools against its strategy.

    Raises:
        UserError: a flag that the trainer would refuse, pools that contradict the strategy, nowhere
            to keep the job.
    """
    command = flags.parse_command_line(request.task_flags)
    if command is None:
        raise UserError("--help: a job with it would only print its flags; remove it")
    config = config_lib.load_config(command.hparams, command.overrides)
    job_dir = config.job_dir or request.base_output_dir
    if not job_dir:
        raise UserError(
            "neither --base_output_dir nor, after --, --job_dir is given: nothing would be kept"
        )
    paths.check_paths(config, request.nfs, sum(request.counts.values()) == 1)
    if command.fresh is not None:
        raise UserError(
            "--fresh: a replica that is started again would delete what the job has; empty the "
            "folder by hand, or name another one"
        )
    _check_pools(request, config, job_dir)
    return config


def _check_pools(request: Request, config: config_lib.Config, job_dir: str) -> None:
    from trainer.cluster.strategies import check_strategy

    counts = request.counts
    if counts["evaluator"] > 1:
        raise UserError(f"--evaluator: {counts['evaluator']} of them; a job has one at most")
    spec = {
        role: tuple(f"{role}-{index}:{PORT}" for index in range(counts[role]))
        for role in POOL_ROLES[:3]
        if counts[role]
    }
    alone = sum(counts.values()) == 1
    cluster = Cluster({} if alone else spec, expects_evaluator=counts["evaluator"] > 0)
    check_strategy(config.cluster, cluster)
    if counts["ps"] and storage.is_remote(job_dir):
        raise UserError(
            f"--ps={counts['ps']}: parameter servers write their parts of a checkpoint themselves, "
            f"and {job_dir} is no folder that they share; mount one with --nfs and name it in "
            "--job_dir=/mnt/nfs/..., or set --strategy=multi_worker_mirrored without servers"
        )
    has_accelerators = any(
        request.machines[role].count for role in ("chief", "worker") if counts[role]
    )
    several = max(request.machines[role].count for role in ("chief", "worker") if counts[role]) > 1
    if has_accelerators and several and config.cluster.strategy in ("none", "one_device"):
        raise UserError(
            f"--strategy={config.cluster.strategy}: uses one accelerator of a machine with several;"
            " set --strategy=mirrored (one machine) or multi_worker_mirrored (several)"
        )


def _check_study(study: Optional[Study], request: Request, config: config_lib.Config) -> None:
    if study is None:
        return
    if not request.base_output_dir and not config.job_dir:
        raise UserError("--tuning: needs --base_output_dir, under which each trial has a folder")
    aliases = flags.list_aliases()
    fixed = flags.parse_command_line(request.task_flags)
    said = fixed.overrides if fixed is not None else {}
    for name in study.samples:
        if aliases.get(name, name) in said:
            raise UserError(
                f"--tuning: {name} is searched for and given as a flag too; remove one of them"
            )


def to_yaml(job: Job, path: str) -> str:
    """The file that gcloud takes, its command in the first line."""
    kind = "hp-tuning-jobs" if job.is_tuning else "custom-jobs"
    words = ["gcloud", "ai", kind, "create", f"--region={job.region}"]
    words.append(f"--display-name={job.name}")
    if job.labels:
        labels = ",".join(f"{key}={value}" for key, value in job.labels.items())
        words.append(f"--labels={labels}")
    if job.is_tuning:
        words.append(f"--max-trial-count={job.max_trials}")
        words.append(f"--parallel-trial-count={job.parallel_trials}")
    words.append(f"--config={path}")
    return f"# {shlex.join(words)}\n" + yaml.safe_dump(job.spec, sort_keys=False, width=100)


def read_job(path: str) -> Job:
    """Reads what to_yaml wrote, also after a person has changed it.

    Raises:
        UserError: no such file, not YAML, or not a job.
    """
    spec = config_lib.read_yaml(Path(path), "job")
    first = Path(path).read_text(encoding="utf-8").partition("\n")[0]
    said = dict(
        word[2:].partition("=")[::2] for word in shlex.split(first.lstrip("# ")) if word[:2] == "--"
    )
    inner = spec.get("trialJobSpec") if "studySpec" in spec else spec
    if not isinstance(inner, dict) or not inner.get("workerPoolSpecs"):
        raise UserError(
            f"job {path}: no workerPoolSpecs in it; make it with python -m trainer.vertex render"
        )
    labels = dict(pair.partition("=")[::2] for pair in said.get("labels", "").split(",") if pair)
    counts = (said.get(f"{name}-trial-count", "0") for name in ("max", "parallel"))
    return Job(
        said.get("display-name", Path(path).stem),
        said.get("region", ""),
        labels,
        json.loads(json.dumps(spec, default=str)),
        *(int(count) for count in counts),
    )


def parse_machines(values: dict[str, Optional[str]]) -> dict[str, Machine]:
    """Role → machine; a role without one of its own has the chief's.

    Args:
        values: role → TYPE or TYPE:ACCELERATOR:COUNT or None.

    Raises:
        UserError: see parse_machine.
    """
    chief = values["chief"] or "n1-standard-8"
    names = {role: "machine" if role == "chief" else f"{role}_machine" for role in POOL_ROLES}
    return {role: parse_machine(values[role] or chief, f"--{names[role]}") for role in POOL_ROLES}
