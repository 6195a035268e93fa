"""The options of the training, the evaluation, early stopping and the exports."""

import math
from typing import Annotated, Literal, Optional

import pydantic
from pydantic import BeforeValidator, Field

from trainer.config.values import (
    CodeName,
    Floats,
    Ints,
    OptionalCode,
    OptionalFloat,
    OptionalInt,
    OptionalPath,
    OptionalStr,
    Section,
    none,
    split,
)

# Without --epochs and --max_steps, a job has one epoch, but at least this many steps.
MIN_STEPS = 2_000
# If such a job reads each row more often than this, it has this dropout, unless one is given.
MANY_EPOCHS, MANY_EPOCHS_DROPOUT = 250, 0.2
# If it reads each row more often than this, it begins as a linear model, if it can.
LINEAR_START_EPOCHS = 1_000

Optimizer = Literal["adagrad", "adam", "sgd", "momentum", "rmsprop", "ftrl"]
Exporter = Literal["latest", "best", "final"]


class TrainConfig(Section):
    """Length of the training, optimizers and learning rates."""

    max_steps: OptionalInt = Field(
        None,
        description="global step at which training ends",
    )
    epochs: OptionalFloat = Field(
        None,
        description="passes over the training data, instead of max_steps; if neither is given: 1, "
        "but at least 2,000 steps",
    )
    batch_size: int = Field(
        512,
        gt=0,
        description="rows per step; default of boosted_trees: 4,096",
    )
    steps_per_run: int = Field(
        0,
        ge=0,
        description="steps of the fused engine per session run; 0: automatic",
    )
    bfloat16: bool = Field(
        False,
        description="train hidden layers of the fused engine in bfloat16, if the processor has "
        "AVX512_BF16 or AMX",
    )
    optimizer: Optimizer = Field(
        "adagrad",
        description="optimizer of dnn and of the deep part of wide_deep",
    )
    learning_rate: float = Field(
        0.05,
        gt=0,
        description="learning rate of train.optimizer, of baseline and of boosted_trees",
    )
    linear_optimizer: Optimizer = Field(
        "ftrl",
        description="optimizer of linear and of the wide part of wide_deep",
    )
    linear_learning_rate: OptionalFloat = Field(
        None,
        description="learning rate of linear_optimizer; unset: learning_rate",
    )
    linear_start: bool = Field(
        False,
        description="wide_deep: initialize the linear part with a regression on the training "
        "rows; one process; "
        "without epochs and max_steps: true if each row is read more than 1,000 times",
    )
    warm_start: OptionalPath = Field(
        None,
        description="checkpoint or job_dir that initialises the variables of a new job",
    )
    warm_start_vars: str = Field(
        ".*",
        description="regular expression for the variables to warm-start",
    )
    decay: Literal["constant", "exponential", "cosine", "piecewise"] = Field(
        "constant",
        description="schedule of both learning rates",
    )
    decay_steps: OptionalInt = Field(
        None,
        description="steps over which the learning rate decays; unset: all",
    )
    decay_rate: float = Field(
        0.1,
        ge=0,
        le=1,
        description="learning rate after decay_steps, as a share of the first one",
    )
    piecewise_steps: Ints = Field(
        (),
        description="piecewise: steps at which the learning rate changes",
    )
    piecewise_shares: Floats = Field(
        (),
        description="piecewise: share of the learning rate from each of these steps on",
    )
    warmup_steps: int = Field(
        0,
        ge=0,
        description="steps over which both learning rates rise from 0 at the start",
    )
    batch_growth_steps: Ints = Field(
        (),
        description="steps at which the batch size changes",
    )
    batch_growth_sizes: Ints = Field(
        (),
        description="batch size from each of these steps on",
    )
    loss_reduction: Literal["mean", "sum"] = Field(
        "mean",
        description="loss of a batch: mean over its rows, or sum as in TensorFlow 1",
    )
    l1: float = Field(
        0.0,
        ge=0,
        description="L1 regularisation of the ftrl optimizer and of the leaves of boosted_trees",
    )
    l2: float = Field(
        0.0,
        ge=0,
        description="L2 regularisation of the ftrl optimizer and of the leaves of boosted_trees",
    )
    hooks: Annotated[tuple[CodeName, ...], BeforeValidator(split)] = Field(
        (),
        description="your own SessionRunHooks: package.module:name of a class or a factory",
    )

    @pydantic.model_validator(mode="after")
    def _check_schedules(self) -> "TrainConfig":
        if self.max_steps is not None and self.epochs is not None:
            raise ValueError("max_steps and epochs are both given; remove one of them")
        _check_pairs(self.piecewise_steps, self.piecewise_shares, "piecewise", "shares")
        _check_pairs(self.batch_growth_steps, self.batch_growth_sizes, "batch_growth", "sizes")
        if (self.decay == "piecewise") != bool(self.piecewise_steps):
            raise ValueError("decay piecewise and piecewise_steps go together; set both or none")
        return self

    def batch_size_at(self, step: int) -> int:
        """Returns the number of rows in the batch of one step.

        Args:
            step: the global step before the batch; after the batch it is `step` + 1.
        """
        size = self.batch_size
        for start, grown in zip(self.batch_growth_steps, self.batch_growth_sizes):
            if step >= start:
                size = grown
        return size

    def plan_steps(self, num_rows: int, batches: int = 1) -> int:
        """Returns the number of steps of a whole job.

        Args:
            num_rows: number of training rows.
            batches: number of batches that one step reads.
        """
        if self.max_steps is not None:
            return self.max_steps
        steps = self.count_steps(num_rows * (self.epochs or 1) / batches)
        return steps if self.epochs is not None else max(steps, MIN_STEPS)

    def count_rows(self, steps: int) -> int:
        """Returns the number of rows that the first steps of a job read.

        Args:
            steps: number of steps, counted from the start of the job.
        """
        starts = [0, *(min(start, steps) for start in self.batch_growth_steps), steps]
        sizes = [self.batch_size, *self.batch_growth_sizes]
        return sum(size * (end - start) for size, start, end in zip(sizes, starts, starts[1:]))

    def count_steps(self, rows: float) -> int:
        """Returns the smallest number of steps that read at least `rows` rows.

        Args:
            rows: number of rows.
        """
        starts, sizes = [0, *self.batch_growth_steps], [self.batch_size, *self.batch_growth_sizes]
        for start, size, end in zip(starts, sizes, [*starts[1:], None]):
            here = rows if end is None else min(rows, size * (end - start))
            rows -= here
            if rows <= 0 or end is None:
                return start + math.ceil(here / size)
        raise AssertionError("the last phase has no end")


def _check_pairs(steps: Ints, values: tuple[float, ...], name: str, values_name: str) -> None:
    if len(steps) != len(values):
        raise ValueError(f"{name}_steps and {name}_{values_name} must have the same length")
    if list(steps) != sorted(set(steps)):
        raise ValueError(f"{name}_steps must ascend")


class EvalConfig(Section):
    """When and how the model is evaluated."""

    batch_size: int = Field(
        2048,
        gt=0,
        description="rows per evaluation step",
    )
    steps: OptionalInt = Field(
        None,
        description="evaluation steps; unset: all evaluation data",
    )
    start_delay_secs: int = Field(
        0,
        ge=0,
        description="seconds that a cluster's evaluator waits before its first evaluation",
    )
    throttle_secs: int = Field(
        0,
        ge=0,
        description="minimum time between two evaluations, seconds",
    )
    name: OptionalStr = Field(
        None,
        description="name of the evaluation in TensorBoard",
    )
    threshold: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="decision threshold of precision and recall",
    )
    baseline_column: OptionalStr = Field(
        None,
        description="numeric column whose values the summary compares with the model's predictions",
    )
    metric_fn: OptionalCode = Field(
        None,
        description="your own metrics: package.module:function, as for add_metrics",
    )


class StopConfig(Section):
    """When training stops early."""

    metric: OptionalStr = Field(
        None,
        description="evaluation metric to watch; unset: export.best_metric",
    )
    patience_evals: OptionalInt = Field(
        None,
        description="stop after this many evaluations without an improvement",
    )
    min_delta: float = Field(
        0.0,
        ge=0,
        description="smallest change of the metric that counts as an improvement",
    )
    target: Annotated[Optional[float], BeforeValidator(none)] = Field(
        None,
        description="stop when the metric is at least as good as this",
    )
    max_secs: OptionalInt = Field(
        None,
        description="stop after this many seconds of one run",
    )


class ExportConfig(Section):
    """What is exported for serving."""

    exporters: Annotated[tuple[Exporter, ...], BeforeValidator(split)] = Field(
        ("best", "final"),
        description="any of latest, best, final; empty: no export",
    )
    keep: int = Field(
        3,
        gt=0,
        description="number of newest exports to keep, separately for latest, best and final",
    )
    best_metric: OptionalStr = Field(
        None,
        description="metric that selects the best model; unset: loss",
    )
    best_mode: Literal["auto", "min", "max"] = Field(
        "auto",
        description="whether a lower or a higher best_metric is better",
    )
    receiver: Literal["example", "json", "csv"] = Field(
        "example",
        description="input format of the default signature; the other two formats have their own "
        "signatures",
    )
    receiver_fn: OptionalCode = Field(
        None,
        description="your own serving_input_receiver_fn: package.module:function",
    )
    statistics: Literal["all", "none"] = Field(
        "all",
        description="statistics of the training data in each export; none: no statistics.json",
    )
    verify: bool = Field(
        True,
        description="load each export in a new process and query it",
    )
