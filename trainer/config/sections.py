"""The configuration: the only place where an option and its default live.

The YAML files in hparams/, the flags, their help, the validation and the copy kept in job_dir
follow from the classes below. Values are validated by pydantic and frozen; text is accepted
wherever a flag or a tuning service would give text ("64,32" for a list, "true" for a boolean).
"""

import re
from typing import Annotated, Any, Literal, Optional

import pydantic
from pydantic import BeforeValidator, Field

from trainer.config.training import EvalConfig, ModelConfig, StopConfig, TrainConfig
from trainer.config.values import (
    OptionalCode,
    OptionalFloat,
    OptionalInt,
    OptionalSteps,
    OptionalStr,
    Section,
    StrList,
    auto_or_off,
    check_delimiter,
    split,
    yes_or_no,
)

Exporter = Literal["latest", "best", "final"]
# The section with the user's own names; its flags are --user.NAME.
USER = "user"
# What a night may lose where neither steps nor seconds between checkpoints are given.
DEFAULT_CHECKPOINT_SECS = 300


class DataConfig(Section):
    """Where the rows come from."""

    train: StrList = Field((), description="training files: paths, globs, directories")
    eval: StrList = Field((), description="evaluation files: paths, globs, directories")
    schema_file: OptionalStr = Field(
        None, description="YAML that names columns, types, label; relative to the hparams file"
    )
    format: Literal["auto", "csv", "tfrecord", "parquet"] = Field(
        "auto", description="file format; auto goes by the file's first bytes"
    )
    delimiter: Annotated[str, BeforeValidator(check_delimiter)] = Field(
        ",", min_length=1, max_length=1, description="CSV field delimiter; \\t or tab for a tab"
    )
    header: Annotated[Literal["auto", "yes", "no"], BeforeValidator(yes_or_no)] = Field(
        "auto", description="CSV header line; auto: a first line made of column names is one"
    )
    max_bad_rows: int = Field(
        0,
        ge=0,
        description="rows that do not fit the schema and are left out of each of the training and "
        "the evaluation data before it is an error",
    )
    shuffle_rows: int = Field(
        300_000, ge=1, description="rows shuffled together while training; 1 keeps their order"
    )
    cache: Annotated[str, BeforeValidator(auto_or_off)] = Field(
        "auto",
        min_length=1,
        description="folder that keeps encoded rows for later epochs and runs; auto: "
        "~/.cache/estimator_trainer; off: none (the fused engine uses it)",
    )
    cache_max_gb: float = Field(
        10.0,
        gt=0,
        description="most that the cache may take, GB; what was not used for longest goes",
    )


class ClusterConfig(Section):
    """Several devices or processes; TF_CONFIG or CLUSTER_SPEC says who they are."""

    strategy: Literal[
        "none",
        "one_device",
        "mirrored",
        "central_storage",
        "multi_worker_mirrored",
        "parameter_server",
        "tpu",
    ] = Field("none", description="none: one device, or parameter servers updated by each worker")
    devices: StrList = Field(
        (), description="all, a number of GPUs, or names such as gpu:0,gpu:2; unset: all"
    )
    watchdog_secs: int = Field(
        300, gt=0, description="a process that the job cannot do without may be silent so long"
    )
    stall_secs: int = Field(
        600,
        gt=0,
        description="a process of a cluster ends, to be started again, when a step takes longer "
        "than this and than ten times the longest before; the first, and between steps a "
        "checkpoint, an export, a hook or a batch of an evaluation, may take ten times this",
    )
    evaluator_wait_secs: int = Field(
        1800, ge=0, description="how long the chief waits at the end for the evaluator's last word"
    )


class RunConfig(Section):
    """Checkpoints, logs, seed and hardware."""

    save_checkpoints_steps: OptionalInt = Field(None, description="steps between checkpoints")
    save_checkpoints_secs: OptionalInt = Field(
        None,
        description=f"seconds between checkpoints ({DEFAULT_CHECKPOINT_SECS} if neither is given)",
    )
    keep_checkpoint_max: int = Field(5, ge=0, description="newest checkpoints kept; 0: all")
    keep_checkpoint_every_n_hours: OptionalFloat = Field(
        None, description="besides, one checkpoint kept for good every so many hours"
    )
    save_graph: bool = Field(
        False, description="write graph.pbtxt, and a .meta file with each checkpoint, as of old"
    )
    save_summary_steps: int = Field(100, gt=0, description="steps between summaries")
    log_step_count_steps: int = Field(100, gt=0, description="steps between recorded losses")
    seed: int = Field(1, ge=0, description="seed of initial values, dropout and shuffling")
    intra_op_threads: int = Field(0, ge=0, description="threads in an operation; 0: automatic")
    inter_op_threads: int = Field(0, ge=0, description="operations at once; 0: automatic")
    gpu_memory_growth: bool = Field(True, description="take GPU memory as needed, not all of it")
    profile_steps: OptionalSteps = Field(
        None, description="A:B: profile of these global steps, for TensorBoard"
    )

    @pydantic.model_validator(mode="after")
    def _one_interval(self):
        if self.save_checkpoints_steps is not None and self.save_checkpoints_secs is not None:
            raise ValueError(
                "save_checkpoints_steps and save_checkpoints_secs are both given; remove one"
            )
        return self

    @property
    def checkpoint_secs(self) -> Optional[int]:
        """Seconds between checkpoints; None where steps decide."""
        if self.save_checkpoints_steps is not None:
            return None
        return self.save_checkpoints_secs or DEFAULT_CHECKPOINT_SECS


class ExportConfig(Section):
    """What is exported for serving."""

    exporters: Annotated[tuple[Exporter, ...], BeforeValidator(split)] = Field(
        ("best", "final"), description="which of latest, best, final; empty exports nothing"
    )
    keep: int = Field(3, gt=0, description="newest exports kept of latest and of best")
    best_metric: OptionalStr = Field(
        None, description="metric by which best is chosen; unset: loss"
    )
    best_mode: Literal["auto", "min", "max"] = Field(
        "auto", description="whether a lower or a higher best_metric is better"
    )
    receiver: Literal["example", "json", "csv"] = Field(
        "example", description="input of the default signature; the other two are alternatives"
    )
    receiver_fn: OptionalCode = Field(
        None, description="your own serving_input_receiver_fn: package.module:function"
    )
    verify: bool = Field(True, description="load each export in a fresh process and query it")


class StorageConfig(Section):
    """How gs:// paths are reached."""

    reader: Literal["auto", "mount", "client", "tensorflow"] = Field(
        "auto",
        description="auto: data from /gcs/BUCKET where that is mounted, all else through "
        "google-cloud-storage; mount: job_dir too is used there; tensorflow: data through "
        "TensorFlow's own file system",
    )
    cache_dir: OptionalStr = Field(
        None, description="folder for what is kept on this machine; unset: among temporary files"
    )
    cache_gib: float = Field(20.0, gt=0, description="most that data files may take there, GiB")
    timeout_secs: float = Field(60.0, gt=0, description="how long one answer may take")
    patience_secs: float = Field(300.0, gt=0, description="how long a request is repeated")


class TfxConfig(Section):
    """A trainer_fn written for TFX, run without TFX."""

    trainer_fn: OptionalCode = Field(
        None, description="package.module:function of (trainer_fn_args, schema)"
    )
    transform_output: OptionalStr = Field(None, description="folder of the transform's output")
    base_model: OptionalStr = Field(None, description="model that training starts from")


def _read_user(values: Any) -> Any:
    if values is None:
        return {}
    if isinstance(values, dict):
        for name in values:
            if not str(name).isidentifier():
                raise ValueError(f"{name!r} is no name; use letters, digits and _")
        return {name: _float_like(value) for name, value in values.items()}
    return values


def _float_like(value: Any) -> Any:
    """1e-3 is text to YAML 1.1 and a number to everyone else."""
    if isinstance(value, list):
        return [_float_like(part) for part in value]
    if isinstance(value, dict):
        return {name: _float_like(part) for name, part in value.items()}
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", value):
        return float(value)
    return value


class Config(Section):
    """Everything a run is told."""

    job_dir: OptionalStr = Field(None, description="where checkpoints, logs and exports are kept")
    verbosity: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="debug brings TensorFlow's own messages back"
    )
    experiment: OptionalCode = Field(
        None,
        description="your own estimator, train_spec and eval_spec: package.module:function",
    )
    user: Annotated[dict[str, Any], BeforeValidator(_read_user)] = Field(
        default_factory=dict, description="hyperparameters of your own code, any name"
    )
    data: DataConfig = Field(default_factory=DataConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)
    eval: EvalConfig = Field(default_factory=EvalConfig)
    stop: StopConfig = Field(default_factory=StopConfig)
    cluster: ClusterConfig = Field(default_factory=ClusterConfig)
    run: RunConfig = Field(default_factory=RunConfig)
    export: ExportConfig = Field(default_factory=ExportConfig)
    storage: StorageConfig = Field(default_factory=StorageConfig)
    tfx: TfxConfig = Field(default_factory=TfxConfig)

    @pydantic.model_validator(mode="after")
    def _one_experiment(self):
        if self.experiment and self.tfx.trainer_fn:
            raise ValueError("experiment and tfx.trainer_fn are both given; remove one of them")
        return self
