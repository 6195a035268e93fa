"""The labels: the columns that a model predicts."""

from typing import Annotated, Any, Literal, Optional

import pydantic
from pydantic import Field

from trainer.schema.columns import Moments, Node
from trainer.schema.vocabulary import Count, Factor

# The logits contain one float per row and class.
MAX_CLASSES = 1_000_000


class Label(Node):
    """One label of a model; a vocabulary or num_classes makes the task a classification."""

    column: str = Field(description="name of the label's column")
    columns: tuple[str, ...] = Field(
        (), description="instead of column: int columns of 0 and 1, which are independent"
    )
    vocabulary: Optional[tuple[Any, ...]] = Field(
        None, description="the classes in order; of two, the second is positive"
    )
    num_classes: Optional[Annotated[Count, Field(ge=2, le=MAX_CLASSES)]] = Field(
        None, description="int label: the classes are 0 to this number, excluded"
    )
    loss: Literal["squared", "poisson"] = Field(
        "squared", description="of a numeric label: squared error, or Poisson for counts and rates"
    )
    normalize: Optional[Moments] = Field(
        None,
        description="numeric label, {mean: 5, std: 2}: the model computes (label-mean)/std; "
        "predictions and metrics are in the label's unit",
    )
    class_weights: Optional[dict[Any, Factor]] = Field(
        None, description="class → factor on the weight of its rows, in training only; unset: 1"
    )
    importance: Factor = Field(
        1.0, description="with more_labels: weight of this label's loss in the sum"
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _name_first(cls, values: Any) -> Any:
        if isinstance(values, dict) and not values.get("column") and values.get("columns"):
            # If there are several columns, `column` is the first one.
            columns = values["columns"]
            first = columns[0] if isinstance(columns, (list, tuple)) else columns
            values = {**values, "column": first}
        return values

    @pydantic.model_validator(mode="after")
    def _check(self) -> "Label":
        if self.columns:
            self._check_multi_label()
        if self.vocabulary is not None and self.num_classes is not None:
            raise ValueError("vocabulary and num_classes exclude each other; keep one")
        if self.vocabulary is not None and len(self.vocabulary) < 2:
            raise ValueError("a label's vocabulary needs two classes or more")
        if self.loss == "poisson" and self.task != "regression":
            raise ValueError("loss poisson needs a numeric label; remove the loss or the classes")
        if self.normalize and (self.task != "regression" or self.loss == "poisson"):
            raise ValueError("normalize needs a numeric label with squared loss; remove it")
        for value in self.class_weights or ():
            # In JSON every key is text.
            if str(value) not in map(str, self.classes):
                raise ValueError(f"class_weights: {value!r:.80} is not a class of the label")
        return self

    def _check_multi_label(self) -> None:
        if self.vocabulary is not None or self.num_classes is not None:
            raise ValueError("columns of 0 and 1 take neither vocabulary nor num_classes")
        if len(self.columns) < 2 or len(set(self.columns)) != len(self.columns):
            raise ValueError("columns: give at least two different columns; for one, use column:")
        if self.column != self.columns[0]:
            raise ValueError("column and columns are both given; remove one of them")
        if self.class_weights:
            raise ValueError("class_weights: columns of 0 and 1 take none; use weight:")

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order; empty for a numeric label and for columns of 0 and 1."""
        return self.vocabulary or tuple(range(self.num_classes or 0))

    @property
    def task(self) -> str:
        """binary, multiclass, multilabel or regression."""
        if self.columns:
            return "multilabel"
        return {0: "regression", 2: "binary"}.get(len(self.classes), "multiclass")

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Names of the label's columns."""
        return self.columns or (self.column,)
