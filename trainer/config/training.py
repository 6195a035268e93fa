"""The options that say what is trained, how far, and how it is evaluated."""

import math
from typing import Annotated, Literal, Optional

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from trainer.config.values import (
    CODE_REFERENCE,
    CodeName,
    Floats,
    Ints,
    Layers,
    OptionalCode,
    OptionalFloat,
    OptionalInt,
    OptionalStr,
    Section,
    none,
    split,
)
from trainer.errors import nearest

MODEL_TYPES = ("baseline", "linear", "dnn", "wide_deep", "residual", "rnn", "image")


def _check_model_type(value: str) -> str:
    if value in MODEL_TYPES or CODE_REFERENCE.fullmatch(value):
        return value
    raise ValueError(
        f"got {value!r}: it is one of {', '.join(MODEL_TYPES)} or package.module:function"
        f"{nearest(value, MODEL_TYPES)}"
    )


Optimizer = Literal["adagrad", "adam", "sgd", "momentum", "rmsprop", "ftrl"]


class ModelConfig(Section):
    """What shapes the variables."""

    type: Annotated[str, AfterValidator(_check_model_type)] = Field(
        "wide_deep",
        description=f"{', '.join(MODEL_TYPES)}, or your own package.module:function",
    )
    engine: Literal["auto", "fused", "canned"] = Field(
        "auto",
        description="linear, dnn, wide_deep: fused trains the same model with fewer operations; "
        "auto: fused where it covers the model",
    )
    hidden_units: Layers = Field((128, 64), min_length=1, description="units of each hidden layer")
    activation: Literal["relu", "elu", "selu", "tanh", "sigmoid", "swish", "gelu"] = Field(
        "relu", description="activation of the hidden layers"
    )
    cell: Literal["lstm", "gru", "simple"] = Field(
        "lstm", description="rnn: kind of the cells; hidden_units has a layer of them each"
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="share of hidden units dropped in training")
    batch_norm: bool = Field(
        False, description="batch normalisation after each hidden layer; residual always has it"
    )
    batch_norm_momentum: float = Field(
        0.99,
        gt=0,
        lt=1,
        description="residual, image: share of its moving averages that a step keeps",
    )
    base_alpha: float = Field(0.35, gt=0, le=2, description="image: width of MobileNetV2's layers")
    base_weights: OptionalStr = Field(
        None, description="image: file with MobileNetV2's weights, without its top; unset: random"
    )
    base_trainable: bool = Field(False, description="image: whether MobileNetV2 is trained further")


class TrainConfig(Section):
    """How far, and by which optimizer, it is trained."""

    max_steps: OptionalInt = Field(None, description="global step to stop at (absolute, not added)")
    epochs: OptionalFloat = Field(None, description="instead of max_steps: passes over the data")
    batch_size: int = Field(512, gt=0, description="rows in a step")
    steps_per_run: int = Field(
        0, ge=0, description="steps that the fused engine takes in one session run; 0: automatic"
    )
    optimizer: Optimizer = Field("adagrad", description="optimizer of dnn and the deep part")
    learning_rate: float = Field(0.05, gt=0, description="its learning rate; also that of baseline")
    linear_optimizer: Optimizer = Field("ftrl", description="optimizer of linear and the wide part")
    linear_learning_rate: OptionalFloat = Field(
        None, description="its learning rate; unset: learning_rate"
    )
    warm_start: OptionalStr = Field(
        None, description="checkpoint or job_dir whose values a new job starts from"
    )
    warm_start_vars: str = Field(
        ".*", description="regular expression: the variables that are warm-started"
    )
    decay: Literal["constant", "exponential", "cosine", "piecewise"] = Field(
        "constant", description="how both learning rates fall"
    )
    decay_steps: OptionalInt = Field(
        None, description="steps over which the rate falls; unset: the whole run"
    )
    decay_rate: float = Field(
        0.1, ge=0, le=1, description="what share of the rate is left after decay_steps"
    )
    piecewise_steps: Ints = Field((), description="piecewise: steps at which the rate changes")
    piecewise_shares: Floats = Field(
        (), description="piecewise: the share of the rate that is left from each of these steps on"
    )
    warmup_steps: int = Field(0, ge=0, description="steps over which both rates first rise from 0")
    batch_growth_steps: Ints = Field((), description="the steps at which the batch size changes")
    batch_growth_sizes: Ints = Field((), description="the batch size from each of these steps on")
    loss_reduction: Literal["mean", "sum"] = Field(
        "mean", description="the loss of a batch: mean over its rows, or sum as in TensorFlow 1"
    )
    l1: float = Field(0.0, ge=0, description="L1 regularisation, by ftrl")
    l2: float = Field(0.0, ge=0, description="L2 regularisation, by ftrl")
    hooks: Annotated[tuple[CodeName, ...], BeforeValidator(split)] = Field(
        (), description="your own hooks: package.module:name of a SessionRunHook, or what makes one"
    )

    @pydantic.model_validator(mode="after")
    def _one_length(self):
        if self.max_steps is not None and self.epochs is not None:
            raise ValueError("max_steps and epochs are both given; remove one of them")
        for steps, values in (
            ("piecewise_steps", "piecewise_shares"),
            ("batch_growth_steps", "batch_growth_sizes"),
        ):
            if len(getattr(self, steps)) != len(getattr(self, values)):
                raise ValueError(f"{steps} and {values} must have the same length")
            if list(getattr(self, steps)) != sorted(set(getattr(self, steps))):
                raise ValueError(f"{steps} must ascend")
        if (self.decay == "piecewise") != bool(self.piecewise_steps):
            raise ValueError("decay piecewise and piecewise_steps go together; set both or none")
        return self

    def batch_size_at(self, step: int) -> int:
        """Rows in the batch that takes the global step from `step` to `step` + 1."""
        size = self.batch_size
        for start, grown in zip(self.batch_growth_steps, self.batch_growth_sizes):
            if step >= start:
                size = grown
        return size

    def count_rows(self, steps: int) -> int:
        """Rows that the first `steps` steps of a job read."""
        starts = [0, *(min(start, steps) for start in self.batch_growth_steps), steps]
        sizes = [self.batch_size, *self.batch_growth_sizes]
        return sum(size * (end - start) for size, start, end in zip(sizes, starts, starts[1:]))

    def count_steps(self, rows: float) -> int:
        """Steps after which at least `rows` rows have been read."""
        starts, sizes = [0, *self.batch_growth_steps], [self.batch_size, *self.batch_growth_sizes]
        for start, size, end in zip(starts, sizes, [*starts[1:], None]):
            here = rows if end is None else min(rows, size * (end - start))
            rows -= here
            if rows <= 0 or end is None:
                return start + math.ceil(here / size)
        raise AssertionError("the last phase has no end")


class EvalConfig(Section):
    """When and how it is evaluated."""

    batch_size: int = Field(2048, gt=0, description="rows in an evaluation step")
    steps: OptionalInt = Field(None, description="evaluation steps; unset: the whole set")
    start_delay_secs: int = Field(
        0, ge=0, description="a cluster's evaluator waits so many seconds first"
    )
    throttle_secs: int = Field(0, ge=0, description="least seconds between two evaluations")
    name: OptionalStr = Field(None, description="name of the evaluation in TensorBoard")
    threshold: float = Field(
        0.5, gt=0, lt=1, description="score from which precision and recall call a row positive"
    )
    baseline_column: OptionalStr = Field(
        None, description="numeric column; the summary compares the model with it alone"
    )
    metric_fn: OptionalCode = Field(
        None, description="your own metrics: package.module:function, as for add_metrics"
    )


class StopConfig(Section):
    """When training stops before its last step."""

    metric: OptionalStr = Field(
        None, description="evaluation metric that is watched; unset: export.best_metric"
    )
    patience_evals: OptionalInt = Field(
        None, description="stop after so many evaluations without an improvement"
    )
    min_delta: float = Field(0.0, ge=0, description="the least change that is an improvement")
    target: Annotated[Optional[float], BeforeValidator(none)] = Field(
        None, description="stop once the metric is at least as good as this"
    )
    max_secs: OptionalInt = Field(None, description="stop after so many seconds of this run")
