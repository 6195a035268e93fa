"""What is predicted."""

from typing import Annotated, Any, Literal, Optional

import pydantic
from pydantic import Field

from trainer.schema.columns import Node
from trainer.schema.vocabulary import Count, Factor

# Each has its logit for each row of a batch.
MAX_CLASSES = 1_000_000


class Label(Node):
    """What is predicted. It decides the task: a vocabulary or num_classes classifies."""

    column: str = Field(description="name of the label's column")
    columns: tuple[str, ...] = Field(
        (), description="instead of column: int columns of 0 and 1, any of which may be 1"
    )
    vocabulary: Optional[tuple[Any, ...]] = Field(
        None, description="the classes, in order; of two, the second is the positive one"
    )
    num_classes: Optional[Annotated[Count, Field(ge=2, le=MAX_CLASSES)]] = Field(
        None, description="int label: the classes are 0 to this"
    )
    loss: Literal["squared", "poisson"] = Field(
        "squared", description="of a number: squared error, or Poisson for counts and rates"
    )
    class_weights: Optional[dict[Any, Factor]] = Field(
        None, description="class → factor on the weight of its rows, in training only; others 1"
    )
    importance: Factor = Field(
        1.0, description="with more_labels: factor on this label's loss in the sum"
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_first(cls, values):
        if isinstance(values, dict) and not values.get("column") and values.get("columns"):
            # Whoever asks for the label's column gets the first of several.
            columns = values["columns"]
            first = columns[0] if isinstance(columns, (list, tuple)) else columns
            values = {**values, "column": first}
        return values

    @pydantic.model_validator(mode="after")
    def _one_kind(self):
        if self.columns:
            self._check_multi_label()
        if self.vocabulary is not None and self.num_classes is not None:
            raise ValueError("vocabulary and num_classes exclude each other; keep one")
        if self.vocabulary is not None and len(self.vocabulary) < 2:
            raise ValueError("a label's vocabulary needs two classes or more")
        if self.loss == "poisson" and self.task != "regression":
            raise ValueError("loss poisson is for a number, not for classes; remove one of them")
        for value in self.class_weights or ():
            # JSON has no keys but text.
            if str(value) not in map(str, self.classes):
                raise ValueError(f"class_weights: {value!r} is no class of the label")
        return self

    def _check_multi_label(self):
        if self.vocabulary is not None or self.num_classes is not None:
            raise ValueError("columns of 0 and 1 take neither vocabulary nor num_classes")
        if len(self.columns) < 2 or len(set(self.columns)) != len(self.columns):
            raise ValueError("columns: give two different ones or more; one label is column:")
        if self.column != self.columns[0]:
            raise ValueError("column and columns are both given; remove one of them")
        if self.class_weights:
            raise ValueError("class_weights: columns of 0 and 1 have no classes; use weight:")

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order; none where a number, or several answers, are predicted."""
        return self.vocabulary or tuple(range(self.num_classes or 0))

    @property
    def task(self) -> str:
        """binary, multiclass, multilabel or regression."""
        if self.columns:
            return "multilabel"
        return {0: "regression", 2: "binary"}.get(len(self.classes), "multiclass")

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return self.columns or (self.column,)
