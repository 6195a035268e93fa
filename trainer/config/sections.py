"""The configuration: the only place where an option and its default are defined.

The classes below determine the YAML files in hparams/, the flags, their help, the validation and
the copy in job_dir. pydantic validates and freezes the values. The text of a flag or of a tuning
service is converted: "64,32" to a list, "true" to a boolean.
"""

import math
import re
from typing import Annotated, Any, Literal, Optional

import pydantic
from pydantic import BeforeValidator, Field

from trainer.config.data import DataConfig
from trainer.config.model import ModelConfig
from trainer.config.training import EvalConfig, ExportConfig, StopConfig, TrainConfig
from trainer.config.values import (
    Ints,
    OptionalCode,
    OptionalFloat,
    OptionalInt,
    OptionalPath,
    OptionalSteps,
    OptionalStr,
    Section,
    StrList,
)
from trainer.errors import UserError

# The section of the user's own hyperparameters; their flags are --user.NAME.
USER = "user"
# The section of the secrets of the user's code; their flags are --secret.NAME.
SECRET = "secret"  # noqa: S105
# Rows of a batch of boosted trees, unless a batch size is given.
ROWS_OF_TREES = 4096
# Only capital letters, because a secret that is given by mistake must be recognised.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# Names of user options that should be secrets.
_SECRET_NAME = re.compile(
    r"(.*_)?(password|passwd|secret|api_?key|secret_key|access_key|access_token|auth_token|api_token)",
    re.IGNORECASE,
)
# Seconds between checkpoints if neither steps nor seconds are given.
DEFAULT_CHECKPOINT_SECS = 300


class ClusterConfig(Section):
    """Several devices or processes; TF_CONFIG or CLUSTER_SPEC lists the processes."""

    strategy: Literal[
        "none",
        "one_device",
        "mirrored",
        "central_storage",
        "multi_worker_mirrored",
        "parameter_server",
        "tpu",
    ] = Field(
        "none",
        description="none: one device, or parameter servers with the canned engine; "
        "parameter_server: parameter servers, with the fused engine if it supports the model",
    )
    devices: StrList = Field(
        (),
        description="all, a number of GPUs, or names such as gpu:0,gpu:2; unset: all",
    )
    watchdog_secs: int = Field(
        300,
        gt=0,
        description="longest time without a heartbeat from a process that the job needs, seconds",
    )
    stall_secs: int = Field(
        600,
        gt=0,
        description="time limit of a training step, seconds; other work: ten times as long",
    )
    evaluator_wait_secs: int = Field(
        1800,
        ge=0,
        description="how long the chief waits for the last evaluation, seconds",
    )


class RunConfig(Section):
    """Checkpoints, logs, seed and hardware."""

    save_checkpoints_steps: OptionalInt = Field(
        None,
        description="steps between checkpoints",
    )
    save_checkpoints_secs: OptionalInt = Field(
        None,
        description=f"seconds between checkpoints; {DEFAULT_CHECKPOINT_SECS} if neither is given",
    )
    checkpoint_at_steps: Ints = Field(
        (),
        description="global steps at which to save and evaluate an additional checkpoint; one "
        "process; without "
        "epochs and max_steps: 10, 20, 40, 60, 80 if each row is read more than 250 times",
    )
    keep_checkpoint_max: int = Field(
        5,
        ge=0,
        description="number of newest checkpoints to keep; 0: all",
    )
    keep_checkpoint_every_n_hours: OptionalFloat = Field(
        None,
        description="also keep one checkpoint per this many hours",
    )
    save_graph: bool = Field(
        False,
        description="write graph.pbtxt, and a .meta file with each checkpoint",
    )
    save_summary_steps: int = Field(
        100,
        gt=0,
        description="steps between summaries",
    )
    log_step_count_steps: int = Field(
        100,
        gt=0,
        description="steps between recorded losses",
    )
    seed: int = Field(
        1,
        ge=0,
        description="random seed of initial values, dropout and shuffling",
    )
    intra_op_threads: int = Field(
        0,
        ge=0,
        description="threads per operation; 0: automatic; several processes of the fused engine "
        "on a host share its cores",
    )
    inter_op_threads: int = Field(
        0,
        ge=0,
        description="operations that run in parallel; 0: automatic",
    )
    gpu_memory_growth: bool = Field(
        True,
        description="allocate GPU memory as needed instead of all at once",
    )
    profile_steps: OptionalSteps = Field(
        None,
        description="FIRST:LAST global step to profile, for TensorBoard",
    )
    report: bool = Field(
        True,
        description="write curves.png at the end of a job, and report.html for up to 200,000 "
        "evaluation rows",
    )

    @pydantic.model_validator(mode="after")
    def _one_interval(self) -> "RunConfig":
        if self.save_checkpoints_steps is not None and self.save_checkpoints_secs is not None:
            raise ValueError(
                "save_checkpoints_steps and save_checkpoints_secs are both given; remove one"
            )
        return self

    @property
    def checkpoint_secs(self) -> Optional[int]:
        """Seconds between checkpoints; None if save_checkpoints_steps is set."""
        if self.save_checkpoints_steps is not None:
            return None
        return self.save_checkpoints_secs or DEFAULT_CHECKPOINT_SECS


class StorageConfig(Section):
    """Access to gs:// paths."""

    reader: Literal["auto", "mount", "client", "tensorflow"] = Field(
        "auto",
        description="how gs:// paths are accessed: mount: the files below /gcs/BUCKET; client: the "
        "package google-cloud-storage; tensorflow: TensorFlow's file system; auto: the mount for "
        "data if there is one, otherwise the client",
    )
    cache_dir: OptionalStr = Field(
        None,
        description="folder for local copies of gs:// files; unset: a folder in ~/.cache",
    )
    cache_gib: float = Field(
        20.0,
        gt=0,
        description="size limit of the local copies of data files, GiB",
    )
    timeout_secs: float = Field(
        60.0,
        gt=0,
        description="timeout of one request to the bucket, seconds",
    )
    patience_secs: float = Field(
        300.0,
        gt=0,
        description="how long a failed request to the bucket is repeated, seconds",
    )


class TfxConfig(Section):
    """A trainer_fn written for TFX, run without TFX; and the output of its Transform component."""

    trainer_fn: OptionalCode = Field(
        None,
        description="package.module:function of (trainer_fn_args, schema)",
    )
    transform_output: OptionalStr = Field(
        None,
        description="folder of the Transform component's output; exports apply its graph",
    )
    raw_label: OptionalStr = Field(
        None,
        description="raw column of the label, which requests lack; unset: the label without _xf",
    )
    base_model: OptionalStr = Field(
        None,
        description="model that training starts from",
    )


def _read_user(values: Any) -> Any:
    if values is None:
        return {}
    if isinstance(values, dict):
        for name in values:
            if not str(name).isidentifier():
                raise ValueError(f"{name!r} is not a valid name; use letters, digits and _")
        return {name: _read_float(value) for name, value in values.items()}
    return values


def _read_float(value: Any) -> Any:
    """Converts numbers such as 1e-3, which YAML 1.1 reads as text."""
    if isinstance(value, list):
        return [_read_float(part) for part in value]
    if isinstance(value, dict):
        return {name: _read_float(part) for name, part in value.items()}
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", value):
        return float(value)
    return value


def _read_secrets(value: Any) -> Any:
    """Checks the names of variables; a message never contains what was given, maybe a secret."""
    if not isinstance(value, dict):
        raise ValueError("write 'name: VARIABLE' lines")
    for name, variable in value.items():
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise ValueError(
                f"{name}: give the name, in capital letters, of the environment variable that "
                "contains the secret, not the secret itself"
            )
    return value


class Config(Section):
    """All options of a run."""

    job_dir: OptionalPath = Field(
        None,
        description="folder of checkpoints, logs and exports",
    )
    verbosity: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        description="which messages to log; debug includes TensorFlow's own",
    )
    redact: bool = Field(
        False,
        description="hide values of the data in messages: show their type instead",
    )
    experiment: OptionalCode = Field(
        None,
        description="your own estimator, train_spec and eval_spec: package.module:function",
    )
    user: Annotated[dict[str, Any], BeforeValidator(_read_user)] = Field(
        default_factory=dict,
        description="hyperparameters of your own code, any name",
    )
    secret: Annotated[dict[str, str], BeforeValidator(_read_secrets)] = Field(
        default_factory=dict,
        description="secrets of your own code: name, and the environment variable with the value",
    )
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    eval: EvalConfig = EvalConfig()
    stop: StopConfig = StopConfig()
    cluster: ClusterConfig = ClusterConfig()
    run: RunConfig = RunConfig()
    export: ExportConfig = ExportConfig()
    storage: StorageConfig = StorageConfig()
    tfx: TfxConfig = TfxConfig()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _enlarge_batches(cls, values: Any) -> Any:
        """Trees read all rows for each layer: with small batches, most time would go into steps."""
        model = values.get("model") if isinstance(values, dict) else None
        train = values.get("train", {}) if isinstance(values, dict) else None
        if not (isinstance(model, dict) and isinstance(train, dict)):
            return values
        if model.get("type") != "boosted_trees" or "batch_size" in train:
            return values
        return {**values, "train": {**train, "batch_size": ROWS_OF_TREES}}

    @pydantic.model_validator(mode="after")
    def _one_experiment(self) -> "Config":
        if self.experiment and self.tfx.trainer_fn:
            raise ValueError("experiment and tfx.trainer_fn are both given; remove one of them")
        return self

    @pydantic.model_validator(mode="after")
    def _separate_names(self) -> "Config":
        both = sorted(self.user.keys() & self.secret.keys())
        if both:
            raise ValueError(f"user.{both[0]} and secret.{both[0]} are both given; remove one")
        return self

    @pydantic.model_validator(mode="after")
    def _place_trees(self) -> "Config":
        strategy = self.cluster.strategy
        if self.model.type == "boosted_trees" and strategy not in ("none", "one_device"):
            raise ValueError(
                f"cluster.strategy {strategy}: model.type boosted_trees grows its trees in one "
                "replica; leave cluster.strategy out"
            )
        return self

    @property
    def exposed_secrets(self) -> list[str]:
        """Names of user options that seem to be secrets, although they are stored in job_dir."""
        return [name for name in self.user if _SECRET_NAME.fullmatch(name)]

    @property
    def has_planned_trees(self) -> bool:
        """Whether the trees determine the length of the job."""
        is_free = (self.train.max_steps, self.train.epochs) == (None, None)
        return self.model.type == "boosted_trees" and is_free

    def count_batches_per_layer(self, num_rows: int) -> int:
        """Returns the number of batches, which are also steps, by which a layer of trees grows.

        Args:
            num_rows: number of training rows.
        """
        return self.model.batches_per_layer or math.ceil(num_rows / self.train.batch_size)

    def plan_steps(self, num_rows: int, batches: int = 1) -> int:
        """Returns the number of steps of a whole job.

        Args:
            num_rows: number of training rows.
            batches: number of batches that one step reads.
        """
        if self.has_planned_trees:
            layers = self.model.n_trees * self.model.max_depth
            return layers * self.count_batches_per_layer(num_rows)
        return self.train.plan_steps(num_rows, batches)

    def require_job_dir(self) -> str:
        """Returns job_dir.

        Raises:
            UserError: it is not set.
        """
        if not self.job_dir:
            raise UserError("job_dir: not given; set --job_dir=FOLDER for checkpoints and exports")
        return self.job_dir
