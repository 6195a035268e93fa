"""Builds custom jobs, as the JSON of the service, from the command line."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pydantic
import yaml

from trainer import config as config_lib
from trainer import storage
from trainer.config import flags
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.vertex import paths, program
from trainer.vertex.request import POOL_ROLES, Request, check_request
from trainer.vertex.tuning import Study

PORT = 2222


class Job(NamedTuple):
    """A rendered job.

    Attributes:
        name: name of the job.
        region: region of the job.
        labels: labels of the job.
        spec: JSON of a CustomJobSpec; {studySpec, trialJobSpec} for a tuning job.
        max_trials: number of trials of a tuning job; 0 for a custom job.
        parallel_trials: number of trials that run at the same time; 0 for a custom job.
        kms_key: resource name of the key that encrypts what the service stores; empty: a key of
            the service.
    """

    name: str
    region: str
    labels: dict[str, str]
    spec: dict[str, Any]
    max_trials: int = 0
    parallel_trials: int = 0
    kms_key: str = ""

    @property
    def is_tuning(self) -> bool:
        """Whether the job is a HyperparameterTuningJob."""
        return "studySpec" in self.spec

    @property
    def job_spec(self) -> dict[str, Any]:
        """The CustomJobSpec; for a tuning job, the CustomJobSpec of each trial."""
        spec: dict[str, Any] = self.spec["trialJobSpec"] if self.is_tuning else self.spec
        return spec

    def to_resource(self) -> dict[str, Any]:
        """Returns the JSON of the CustomJob or HyperparameterTuningJob."""
        named: dict[str, Any] = {"displayName": self.name, "labels": self.labels}
        if self.kms_key:
            named["encryptionSpec"] = {"kmsKeyName": self.kms_key}
        if not self.is_tuning:
            return {**named, "jobSpec": self.spec}
        counts = {"maxTrialCount": self.max_trials, "parallelTrialCount": self.parallel_trials}
        return {**named, **self.spec, **counts}


def build_job(request: Request, study: Optional[Study] = None) -> Job:
    """Checks a request and builds the job.

    Args:
        request: the options of render.
        study: the search space of a tuning job.

    Raises:
        UserError: an option or a flag is invalid, or two of them contradict each other.
    """
    check_request(request)
    if request.module == program.TRAINING:
        _check_study(study, request, check_task_flags(request))
    elif study is not None or sum(request.counts.values()) > 1:
        raise UserError(
            f"--command: {request.module} runs as a single process; remove --tuning, --workers, "
            "--ps and --evaluator"
        )
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
        return Job(
            request.name, request.region, request.labels, spec, kms_key=request.kms_key or ""
        )
    tuning = {"studySpec": study.spec, "trialJobSpec": spec}
    return Job(
        request.name, request.region, request.labels, tuning,
        study.max_trials, study.parallel_trials, request.kms_key or "",
    )  # fmt: skip


def _build_pools(request: Request) -> list[dict[str, Any]]:
    pools: list[dict[str, Any]] = []
    for role in POOL_ROLES:
        count = request.counts[role]
        if not count:
            # The position of a pool determines its role.
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
        module, *options = program.describe(request.module, request.as_version, ())
        if request.package:
            pool["pythonPackageSpec"] = {
                "executorImageUri": request.image,
                "packageUris": [request.package],
                "pythonModule": module,
                "args": [*options, *request.task_flags],
            }
        else:
            pool["containerSpec"] = {
                "imageUri": request.image,
                "command": [*program.START, module, *options],
                "args": list(request.task_flags),
            }
        pools.append(pool)
    while not pools[-1]:
        pools.pop()
    return pools


def check_task_flags(request: Request) -> config_lib.Config:
    """Checks the flags of trainer.task, and that the pools fit its strategy.

    Args:
        request: the options of render.

    Returns:
        The configuration that results from the flags.

    Raises:
        UserError: a flag is invalid, the pools do not fit the strategy, or there is no job_dir.
    """
    command = flags.parse_command_line(request.task_flags)
    if command is None:
        raise UserError("--help after --: the job would only print its flags; remove it")
    config = config_lib.load_config(command.hparams, command.overrides)
    job_dir = config.job_dir or request.base_output_dir
    if not job_dir:
        raise UserError(
            "--base_output_dir: not given, so nothing would be saved; set it, or set --job_dir "
            "after --"
        )
    paths.check_paths(config, request.nfs, sum(request.counts.values()) == 1)
    if command.fresh is not None:
        raise UserError(
            "--fresh: a restarted process would delete the results of the job; empty the folder "
            "yourself, or name another folder"
        )
    _check_pools(request, config, job_dir)
    return config


def _check_pools(request: Request, config: config_lib.Config, job_dir: str) -> None:
    from trainer.cluster.strategies import check_strategy

    counts = request.counts
    if counts["evaluator"] > 1:
        raise UserError(
            f"--evaluator: {counts['evaluator']} evaluators are given; a job has at most one"
        )
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
            f"--ps={counts['ps']}: parameter servers write parts of a checkpoint, which needs a "
            f"shared folder, and {job_dir} is not one; mount one with --nfs and name it in "
            "--job_dir=/mnt/nfs/..., or set --strategy=multi_worker_mirrored without servers"
        )
    has_accelerators = any(
        request.machines[role].count for role in ("chief", "worker") if counts[role]
    )
    several = max(request.machines[role].count for role in ("chief", "worker") if counts[role]) > 1
    if has_accelerators and several and config.cluster.strategy in ("none", "one_device"):
        raise UserError(
            f"--strategy={config.cluster.strategy}: uses only one accelerator of each machine; "
            "set --strategy=mirrored for one machine, or multi_worker_mirrored for several"
        )


def _check_study(study: Optional[Study], request: Request, config: config_lib.Config) -> None:
    if study is None:
        return
    if not request.base_output_dir and not config.job_dir:
        raise UserError(
            "--tuning: needs --base_output_dir, in which each trial gets a folder; set it"
        )
    aliases = flags.list_aliases()
    fixed = flags.parse_command_line(request.task_flags)
    overrides = fixed.overrides if fixed is not None else {}
    for name in study.samples:
        if aliases.get(name, name) in overrides:
            raise UserError(
                f"--tuning: {name} is in the search space and also given as a flag; remove one"
            )


def to_yaml(job: Job, path: str) -> str:
    """Returns a job as YAML for gcloud; a comment in the first line contains the gcloud command.

    Args:
        job: the job.
        path: name of the file, for the command.

    Raises:
        UserError: the name of the file has a line break, which would end the comment.
    """
    if not path.isprintable():
        raise UserError(
            f"--output={path!r}: contains a character that cannot be printed; name another file"
        )
    kind = "hp-tuning-jobs" if job.is_tuning else "custom-jobs"
    words = ["gcloud", "ai", kind, "create", f"--region={job.region}"]
    words.append(f"--display-name={job.name}")
    if job.labels:
        labels = ",".join(f"{key}={value}" for key, value in job.labels.items())
        words.append(f"--labels={labels}")
    if job.kms_key:
        words.append(f"--kms-key={job.kms_key}")
    if job.is_tuning:
        words.append(f"--max-trial-count={job.max_trials}")
        words.append(f"--parallel-trial-count={job.parallel_trials}")
    words.append(f"--config={path}")
    return f"# {shlex.join(words)}\n" + yaml.safe_dump(job.spec, sort_keys=False, width=100)


class _Container(pydantic.BaseModel):
    command: list[Any] = []
    args: list[Any] = []


class _Package(pydantic.BaseModel):
    args: list[Any] = []


class _Pool(pydantic.BaseModel):
    replicas: int = pydantic.Field(1, alias="replicaCount", ge=0)
    container: Optional[_Container] = pydantic.Field(None, alias="containerSpec")
    package: Optional[_Package] = pydantic.Field(None, alias="pythonPackageSpec")


class _Output(pydantic.BaseModel):
    prefix: Optional[str] = pydantic.Field(None, alias="outputUriPrefix")


class _Spec(pydantic.BaseModel):
    """The fields of a CustomJobSpec that this package reads; others are ignored."""

    pools: list[Optional[_Pool]] = pydantic.Field(alias="workerPoolSpecs")
    output: Optional[_Output] = pydantic.Field(None, alias="baseOutputDirectory")


def read_job(path: str) -> Job:
    """Reads a job that to_yaml has written; users may have edited it.

    Args:
        path: the file.

    Raises:
        UserError: the file cannot be read, is not YAML or not a job.
    """
    spec = config_lib.read_yaml(Path(path), "job")
    first = Path(path).read_text(encoding="utf-8").partition("\n")[0]
    try:
        words = shlex.split(first.lstrip("# ")) if first.startswith("#") else []
        options = dict(word[2:].partition("=")[::2] for word in words if word[:2] == "--")
        counts = [int(options.get(f"{name}-trial-count", "0")) for name in ("max", "parallel")]
    except ValueError as error:
        raise UserError(
            f"job {path}: the first line is not the gcloud command that render writes ({error}); "
            "render the job again, or remove the line"
        ) from error
    inner = spec.get("trialJobSpec") if "studySpec" in spec else spec
    if not isinstance(inner, dict) or not inner.get("workerPoolSpecs"):
        raise UserError(
            f"job {path}: not a job file, because workerPoolSpecs is missing; name a file that "
            "python -m trainer.vertex render has written"
        )
    try:
        _Spec.model_validate(inner)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise UserError(
            f"job {path}: {field:.80}: {problem['msg']}, not {problem['input']!r:.60}; render the "
            "job again"
        ) from error
    labels = dict(pair.partition("=")[::2] for pair in options.get("labels", "").split(",") if pair)
    return Job(
        options.get("display-name", Path(path).stem),
        options.get("region", ""),
        labels,
        json.loads(json.dumps(spec, default=str)),
        max_trials=counts[0],
        parallel_trials=counts[1],
        kms_key=options.get("kms-key", ""),
    )
