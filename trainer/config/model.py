"""The options of the model."""

from typing import Annotated, Literal

import pydantic
from pydantic import AfterValidator, Field

from trainer.config.values import CODE_REFERENCE, Layers, OptionalInt, OptionalStr, Section
from trainer.errors import nearest

MODEL_TYPES = (
    "baseline",
    "linear",
    "dnn",
    "wide_deep",
    "residual",
    "rnn",
    "image",
    "boosted_trees",
)


def _check_model_type(value: str) -> str:
    if value in MODEL_TYPES or CODE_REFERENCE.fullmatch(value):
        return value
    raise ValueError(
        f"got {value!r:.80}: use one of {', '.join(MODEL_TYPES)}, or package.module:function"
        f"{nearest(value, MODEL_TYPES)}"
    )


class ModelConfig(Section):
    """The architecture of the model."""

    type: Annotated[str, AfterValidator(_check_model_type)] = Field(
        "wide_deep",
        description=f"{', '.join(MODEL_TYPES)}, or your own package.module:function",
    )
    engine: Literal["auto", "fused", "canned"] = Field(
        "auto",
        description="implementation of linear, dnn and wide_deep: fused is faster, canned is "
        "TensorFlow's; auto: fused if it supports the model",
    )
    hidden_units: Layers = Field(
        (128, 64),
        min_length=1,
        description="units of each hidden layer",
    )
    activation: Literal["relu", "elu", "selu", "tanh", "sigmoid", "swish", "gelu"] = Field(
        "relu",
        description="activation of the hidden layers",
    )
    cell: Literal["lstm", "gru", "simple"] = Field(
        "lstm",
        description="rnn: type of cell; hidden_units has one layer of cells per number",
    )
    dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of hidden units that are dropped in training; dnn and wide_deep without "
        "epochs and max_steps: 0.2 if each row is read more than 250 times",
    )
    batch_norm: bool = Field(
        False,
        description="batch normalisation after each hidden layer; residual always has it",
    )
    batch_norm_momentum: float = Field(
        0.99,
        gt=0,
        lt=1,
        description="residual, image: momentum of the moving averages",
    )
    base_alpha: float = Field(
        0.35,
        gt=0,
        le=2,
        description="image: width multiplier of MobileNetV2",
    )
    base_weights: OptionalStr = Field(
        None,
        description="image: file of MobileNetV2's weights without the top; unset: random",
    )
    base_trainable: bool = Field(
        False,
        description="image: whether to train MobileNetV2 further",
    )
    n_trees: int = Field(
        100,
        gt=0,
        description="boosted_trees: number of trees",
    )
    max_depth: int = Field(
        6,
        gt=0,
        le=16,
        description="boosted_trees: number of layers of a tree",
    )
    batches_per_layer: OptionalInt = Field(
        None,
        description="boosted_trees: batches per layer; unset: all training rows once",
    )
    max_buckets: int = Field(
        100,
        gt=1,
        le=10_000,
        description="boosted_trees: number of buckets of a numeric column; trees split between "
        "them",
    )
    tree_complexity: float = Field(
        0.0,
        ge=0,
        description="boosted_trees: penalty that is subtracted from the gain of each split; needs "
        "pruning",
    )
    pruning: Literal["none", "pre", "post"] = Field(
        "none",
        description="boosted_trees: pre does not make splits without a gain, post removes them "
        "later",
    )
    min_node_weight: float = Field(
        0.0,
        ge=0,
        description="boosted_trees: a node with a smaller mean hessian is not split",
    )

    @pydantic.model_validator(mode="after")
    def _check_pruning(self) -> "ModelConfig":
        if (self.tree_complexity > 0) != (self.pruning != "none"):
            raise ValueError(
                "tree_complexity above 0 and pruning (pre or post) go together; set both or none"
            )
        return self
