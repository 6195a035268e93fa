"""The schema: columns, their types and uses, label, weight, key, vocabularies.

A schema is a YAML file; its fields are the classes below:

    missing_values: ["", "?", "-999"]  # mean "no value"; NaN always does
    columns:                           # in the order of a CSV file without a header
      age: {type: float, default: mean, buckets: [18, 25, 35, 50, 65]}
      education: {type: string, vocabulary: [HS-grad, Bachelors, Masters]}
      occupation: {type: string, hash_buckets: 100, embedding: 8}
      fnlwgt: {type: float, use: []}
      income: {type: string}
    crosses:
      - {columns: [education, occupation], hash_buckets: 1000}
    shared_embeddings:
      - {columns: [native_country, birth_country], dimension: 8}
    label: {column: income, vocabulary: ["<=50K", ">50K"]}

A label has other forms: {column: claims, loss: poisson} predicts counts. {columns: [toxic, insult]}
predicts several labels of 0 or 1. more_labels: [{column: hours}] adds labels, with one head each.
"""

import math
import re
from typing import Any, Optional

import pydantic
from pydantic import Field

from trainer.errors import nearest
from trainer.schema.columns import Column, Node
from trainer.schema.labels import Label
from trainer.schema.vocabulary import Count, Width, check_vocabulary

# The name of a head is used as a scope of the graph and in the names of metrics.
_HEAD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
# The fields that determine the id of a value.
ID_FIELDS = ("type", "vocabulary", "vocabulary_file", "oov_buckets", "hash_buckets", "identities")


def _read(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class Cross(Node):
    """A hashed crossing of categorical or bucketed columns."""

    columns: tuple[str, ...] = Field(min_length=2, description="names of columns")
    hash_buckets: Count = Field(description="number of ids that crossings are hashed to")
    embedding: Optional[Width] = Field(
        None, description="dimensions in the deep part; unset: wide part only"
    )


class SharedEmbedding(Node):
    """Categorical columns with the same ids that share one embedding table."""

    columns: tuple[str, ...] = Field(min_length=2, description="names of columns")
    dimension: Optional[Width] = Field(
        None, description="dimension of the embedding; unset: by the number of ids"
    )


class Schema(Node):
    """Every column of a data set, and the label, weight, key, crosses and shared embeddings."""

    columns: dict[str, Column] = Field(min_length=1, description="name → column, in file order")
    label: Label = Field(description="what is predicted")
    more_labels: tuple[Label, ...] = Field((), description="further labels, one head each")
    weight: Optional[str] = Field(None, description="column of the rows' weights")
    key: Optional[str] = Field(None, description="column to copy to predictions")
    crosses: tuple[Cross, ...] = Field((), description="crossed columns")
    shared_embeddings: tuple[SharedEmbedding, ...] = Field(
        (), description="columns that share an embedding table in the deep part"
    )
    missing_values: tuple[str, ...] = Field(
        ("",), description="text, and numbers as text, that mean no value, in every file format"
    )

    def list_missing(self, kind: str) -> tuple[Any, ...]:
        """Returns the values of a type that stand for a missing value.

        NaN always stands for one, and is not among them.

        Args:
            kind: raw type of the column: string, float or int (64 bits).
        """
        if kind == "string":
            return self.missing_values
        numbers = [number for text in self.missing_values if not math.isnan(number := _read(text))]
        if kind == "float":
            return tuple(numbers)
        return tuple(int(each) for each in numbers if each.is_integer() and abs(each) < 2**63)

    @pydantic.model_validator(mode="after")
    def _check(self) -> "Schema":
        self._check_roles()
        for label in self.labels:
            self._check_label(label)
        self._check_heads()
        for cross in self.crosses:
            self._check_cross(cross)
        for name in self.features:
            self._check_feature(name)
        for name in self.features:
            self._check_derived_names(name)
        self._check_text_sequences()
        for shared in self.shared_embeddings:
            self._check_shared(shared)
        self._check_shared_once()
        return self

    def _check_roles(self) -> None:
        for role, name in (
            *(("label", name) for name in self.label_columns),
            ("weight", self.weight),
            ("key", self.key),
        ):
            if name is not None and name not in self.columns:
                raise ValueError(f"{role}: no column {name!r:.60}{nearest(name, self.columns)}")
        if "" in self.columns:
            raise ValueError("columns: a column without a name; name it")
        roles = [*self.label_columns, *(name for name in (self.weight, self.key) if name)]
        for name in self.label_columns:
            if self.columns[name].private:
                raise ValueError(
                    f"columns.{name}.private: a label is what the model predicts; remove private"
                )
        for name in roles:
            if roles.count(name) > 1 and self.label_columns.count(name) < 2:
                raise ValueError(f"column {name!r} is two of label, weight and key; keep one role")
        if self.weight is not None and self.columns[self.weight].raw_type == "string":
            raise ValueError(
                f"weight: column {self.weight!r} must be float or int; correct its type"
            )

    def _check_label(self, label: Label) -> None:
        for name in label.columns:
            if self.columns[name].type != "int":
                raise ValueError(f"label: column {name!r} must be of type int, with values 0 and 1")
        if self.columns[label.column].separator is not None:
            raise ValueError(f"label: column {label.column!r} has a separator; remove it")
        kind = self.columns[label.column].type
        if label.num_classes is not None and kind != "int":
            raise ValueError("label: num_classes needs a column of type int; or give a vocabulary")
        if label.vocabulary is not None:
            if kind == "float":
                raise ValueError("label: a vocabulary needs a column of type string or int")
            check_vocabulary(label.vocabulary, kind)
        if kind == "string" and label.vocabulary is None:
            raise ValueError("label: a string label needs a vocabulary")

    def _check_heads(self) -> None:
        if len(set(self.label_columns)) != len(self.label_columns):
            raise ValueError("more_labels: a column appears twice; keep one label per column")
        for name in self.label_columns if self.more_labels else ():
            if not _HEAD_NAME.fullmatch(name):
                raise ValueError(
                    f"more_labels: column {name!r} is also the name of a head, which takes only "
                    "letters without accents, digits, dots, dashes and underscores; rename it"
                )

    def _check_cross(self, cross: Cross) -> None:
        for name in cross.columns:
            if name not in self.columns:
                raise ValueError(f"crosses: no column {name!r:.60}{nearest(name, self.columns)}")
            if name not in self.features:
                raise ValueError(
                    f"crosses: column {name!r} is the label, the weight or the key; remove it"
                )
            column = self.columns[name]
            if not (column.is_categorical or column.buckets):
                raise ValueError(
                    f"crosses: column {name!r} is numeric without buckets; give it buckets"
                )

    def _check_feature(self, name: str) -> None:
        column = self.columns[name]
        if column.is_multivalent_numeric and name not in self.weights_of:
            if not set(column.use) <= {"sequence"}:
                raise ValueError(
                    f"columns.{name}: a multivalent number is a sequence or another column's "
                    "weights; set use: [sequence], name it as weights, or exclude it (use: [])"
                )
            return
        has_ids = column.is_categorical or column.image or column.date
        if column.type == "string" and column.use and not has_ids:
            raise ValueError(
                f"columns.{name}: a string needs a vocabulary, a vocabulary_file or "
                "hash_buckets (or use: [] to exclude it)"
            )
        if column.weights is not None:
            self._check_weights(name, column.weights)

    def _check_weights(self, name: str, weights: str) -> None:
        where = f"columns.{name}.weights"
        if weights not in self.features:
            raise ValueError(f"{where}: no feature {weights!r}{nearest(weights, self.features)}")
        column = self.columns[weights]
        if column.type != "float" or column.separator is None:
            raise ValueError(f"{where}: column {weights!r} must be a float with a separator")
        users = [each for each in self.features if self.columns[each].weights == weights]
        if len(users) > 1:
            raise ValueError(
                f"{where}: {users[0]} has the weights {weights!r} too; copy the column"
            )

    def _check_derived_names(self, name: str) -> None:
        """Checks that no column has the name of a feature derived from another column."""
        column = self.columns[name]
        is_used = name in self.used_features
        parts = [*column.date, *(["sequence"] if "sequence" in column.use else [])]
        parts += ["missing"] if column.missing_indicator and is_used else []
        for part in parts:
            if f"{name}_{part}" in self.columns:
                raise ValueError(
                    f"columns.{name}_{part}: a feature derived from column {name!r} has this name; "
                    "rename one of them"
                )

    def _check_text_sequences(self) -> None:
        texts = [name for name in self.sequences if self.columns[name].text is not None]
        if texts and len(self.sequences) > 1:
            raise ValueError(
                f"columns.{texts[0]}: a sequence of words cannot be joined with other sequences; "
                "remove sequence from the use of one of them"
            )

    def _check_shared(self, shared: SharedEmbedding) -> None:
        for name in shared.columns:
            where = f"shared_embeddings: column {name!r}"
            if name not in self.columns:
                raise ValueError(
                    f"shared_embeddings: no column {name!r:.60}{nearest(name, self.columns)}"
                )
            if name not in self.features:
                raise ValueError(f"{where} is the label, the weight or the key; remove it")
            column, first = self.columns[name], self.columns[shared.columns[0]]
            if not column.is_categorical:
                raise ValueError(f"{where} needs a vocabulary, hash_buckets or identities")
            if "deep" not in column.use:
                raise ValueError(f"{where} is not used in the deep part; add deep to its use")
            if column.growing is not None:
                raise ValueError(
                    f"{where} is growing; use hash_buckets, or an embedding of its own"
                )
            if column.embedding is not None:
                raise ValueError(f"{where} has an embedding of its own; remove one of them")
            for field in ID_FIELDS:
                if getattr(column, field) != getattr(first, field):
                    raise ValueError(
                        f"{where} differs from {shared.columns[0]!r} in {field}; a shared "
                        "embedding needs the same ids in all of its columns"
                    )

    def _check_shared_once(self) -> None:
        names = [name for shared in self.shared_embeddings for name in shared.columns]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"shared_embeddings: column {name!r} appears twice; keep one")

    @property
    def features(self) -> list[str]:
        """Names of the columns that can be features, in file order."""
        roles = {*self.label_columns, self.weight, self.key}
        return [name for name in self.columns if name not in roles]

    @property
    def labels(self) -> tuple[Label, ...]:
        """All labels, in order."""
        return (self.label, *self.more_labels)

    def hides(self, name: str) -> bool:
        """Returns whether messages must not contain the values of a column.

        Args:
            name: name of the column; "" for whole rows.
        """
        if name in self.columns:
            return self.columns[name].private
        return any(column.private for column in self.columns.values())

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns of all labels."""
        return tuple(name for label in self.labels for name in label.all_columns)

    @property
    def input_columns(self) -> list[str]:
        """Names of the columns that are read: used features, labels, weight and key."""
        roles = (*self.label_columns, self.weight, self.key)
        wanted = {*self.used_features, *(name for name in roles if name)}
        return [name for name in self.columns if name in wanted]

    @property
    def used_features(self) -> list[str]:
        """Names of the features in use: the inputs of an export."""
        crossed = {name for cross in self.crosses for name in cross.columns}
        return [
            name
            for name in self.features
            if self.columns[name].use or name in crossed or name in self.weights_of
        ]

    @property
    def growing(self) -> list[str]:
        """Names of the columns in use that have a growing table of ids."""
        return [
            name
            for name in self.features
            if self.columns[name].use and self.columns[name].growing is not None
        ]

    @property
    def weights_of(self) -> dict[str, str]:
        """Weights column → the column in use that has these weights."""
        features = set(self.features)
        return {
            column.weights: name
            for name, column in self.columns.items()
            if column.weights is not None and column.use and name in features
        }

    @property
    def sequences(self) -> list[str]:
        """Names of the columns that the sequence part uses."""
        return [name for name in self.features if "sequence" in self.columns[name].use]

    @property
    def num_classes(self) -> int:
        """Number of classes of the first label; 0 without classes."""
        return len(self.label.classes)

    @property
    def task(self) -> str:
        """binary, multiclass, multilabel, regression, or, with more_labels, multihead."""
        return "multihead" if self.more_labels else self.label.task
