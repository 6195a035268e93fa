"""The schema: columns, their types and uses, label, weight, key, vocabularies.

A schema is a YAML file; its fields are the classes below:

    missing_values: ["", "?"]          # CSV text that means "no value"
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

A label has other forms too: {column: claims, loss: poisson} counts; {columns: [toxic, insult]} is
several answers of 0 or 1; more_labels: [{column: hours}] predicts further labels, a head each.
"""

import re
from typing import Optional

import pydantic
from pydantic import Field

from trainer import config as config_lib
from trainer.schema.columns import Column, Node
from trainer.schema.labels import Label
from trainer.schema.vocabulary import Count, Width, check_vocabulary

# A scope of the graph, and a part of the names of metrics.
_HEAD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
# What decides which id a value has.
ID_FIELDS = ("type", "vocabulary", "vocabulary_file", "oov_buckets", "hash_buckets", "identities")


class Cross(Node):
    """A hashed crossing of categorical or bucketed columns."""

    columns: tuple[str, ...] = Field(min_length=2, description="names of columns")
    hash_buckets: Count = Field(description="crossings hashed into so many ids")
    embedding: Optional[Width] = Field(
        None, description="dimensions in the deep part; unset: wide part only"
    )


class SharedEmbedding(Node):
    """Categorical columns of the same values, looked up in one table in the deep part."""

    columns: tuple[str, ...] = Field(min_length=2, description="names of columns")
    dimension: Optional[Width] = Field(
        None, description="of the table; unset: by the number of ids"
    )


class Schema(Node):
    """Every column of a data set, and the roles of some."""

    columns: dict[str, Column] = Field(min_length=1, description="name → column, in file order")
    label: Label = Field(description="what is predicted")
    more_labels: tuple[Label, ...] = Field((), description="what else is, a head each")
    weight: Optional[str] = Field(None, description="column with a row's weight")
    key: Optional[str] = Field(None, description="column handed on to predictions")
    crosses: tuple[Cross, ...] = Field((), description="crossed columns")
    shared_embeddings: tuple[SharedEmbedding, ...] = Field(
        (), description="columns that share a table in the deep part"
    )
    missing_values: tuple[str, ...] = Field(("",), description="CSV text that means no value")

    @pydantic.model_validator(mode="after")
    def _consistent(self):
        for role, name in (
            *(("label", name) for name in self.label_columns),
            ("weight", self.weight),
            ("key", self.key),
        ):
            if name is not None and name not in self.columns:
                raise ValueError(
                    f"{role}: no column {name!r}{config_lib.nearest(name, self.columns)}"
                )
        if "" in self.columns:
            raise ValueError("columns: a column without a name; give it one")
        roles = [*self.label_columns, *(name for name in (self.weight, self.key) if name)]
        for name in roles:
            if roles.count(name) > 1 and self.label_columns.count(name) < 2:
                raise ValueError(f"column {name!r} is two of label, weight and key; it can be one")
        if self.weight is not None and self.columns[self.weight].raw_type == "string":
            raise ValueError(f"weight: column {self.weight!r} must be float or int")
        for label in self.labels:
            self._check_label(label)
        if len(set(self.label_columns)) != len(self.label_columns):
            raise ValueError("more_labels: a column is there twice; each is one label")
        for name in self.label_columns if self.more_labels else ():
            if not _HEAD_NAME.fullmatch(name):
                raise ValueError(
                    f"more_labels: column {name!r} would give a head its name, which takes "
                    "letters without accents, digits, dots, dashes and underscores; rename it"
                )
        for cross in self.crosses:
            for name in cross.columns:
                if name not in self.columns:
                    raise ValueError(
                        f"crosses: no column {name!r}{config_lib.nearest(name, self.columns)}"
                    )
                if name not in self.features:
                    raise ValueError(
                        f"crosses: column {name!r} is the label, the weight or the key"
                    )
                column = self.columns[name]
                if not (column.is_categorical or column.buckets):
                    raise ValueError(
                        f"crosses: column {name!r} is numeric without buckets; give it buckets"
                    )
        for name in self.features:
            column = self.columns[name]
            plain = not (column.is_categorical or column.image or column.date)
            if column.is_several_numbers and name not in self.weights_of:
                if not set(column.use) <= {"sequence"}:
                    raise ValueError(
                        f"columns.{name}: several numbers a row are a sequence (use: [sequence]) "
                        "or another column's weights; name it there, or leave it out (use: [])"
                    )
                continue
            if column.type == "string" and column.use and plain:
                raise ValueError(
                    f"columns.{name}: a string needs a vocabulary, a vocabulary_file or "
                    "hash_buckets (or use: [] to leave it out)"
                )
            if column.weights is not None:
                self._check_weights(name, column.weights)
        for name in self.features:
            column = self.columns[name]
            made = [*column.date, *(["sequence"] if "sequence" in column.use else [])]
            for part in made:
                if f"{name}_{part}" in self.columns:
                    raise ValueError(
                        f"columns.{name}_{part}: what is made of column {name!r} has this name; "
                        "rename one of them"
                    )
        texts = [name for name in self.sequences if self.columns[name].text is not None]
        if texts and len(self.sequences) > 1:
            raise ValueError(
                f"columns.{texts[0]}: the words of a text have no pendant in another sequence; "
                "give one of them another use"
            )
        for shared in self.shared_embeddings:
            self._check_shared(shared)
        together = [name for shared in self.shared_embeddings for name in shared.columns]
        for name in together:
            if together.count(name) > 1:
                raise ValueError(f"shared_embeddings: column {name!r} is there twice; keep one")
        return self

    def _check_weights(self, name, weights):
        where = f"columns.{name}.weights"
        if weights not in self.features:
            near = config_lib.nearest(weights, self.features)
            raise ValueError(f"{where}: no feature {weights!r}{near}")
        column = self.columns[weights]
        if column.type != "float" or column.separator is None:
            raise ValueError(f"{where}: column {weights!r} must be a float with a separator")
        twice = [each for each in self.features if self.columns[each].weights == weights]
        if len(twice) > 1:
            raise ValueError(f"{where}: {weights!r} is the weights of {twice[0]} too; copy it")

    def _check_shared(self, shared):
        for name in shared.columns:
            where = f"shared_embeddings: column {name!r}"
            if name not in self.columns:
                near = config_lib.nearest(name, self.columns)
                raise ValueError(f"shared_embeddings: no column {name!r}{near}")
            if name not in self.features:
                raise ValueError(f"{where} is the label, the weight or the key")
            column, first = self.columns[name], self.columns[shared.columns[0]]
            if not column.is_categorical:
                raise ValueError(f"{where} needs a vocabulary, hash_buckets or identities")
            if "deep" not in column.use:
                raise ValueError(f"{where} is not used in the deep part; add deep to its use")
            if column.embedding is not None:
                raise ValueError(f"{where} has an embedding of its own; remove one of them")
            for field in ID_FIELDS:
                if getattr(column, field) != getattr(first, field):
                    raise ValueError(
                        f"{where} has another {field} than {shared.columns[0]!r}; one table needs "
                        "the same ids in all of its columns"
                    )

    def _check_label(self, label):
        for name in label.columns:
            if self.columns[name].type != "int":
                raise ValueError(f"label: column {name!r} of several must be of type int, 0 or 1")
        if self.columns[label.column].separator is not None:
            raise ValueError(f"label: column {label.column!r} has a separator; it is one value")
        kind = self.columns[label.column].type
        if label.num_classes is not None and kind != "int":
            raise ValueError("label: num_classes needs a column of type int; or give a vocabulary")
        if label.vocabulary is not None:
            if kind == "float":
                raise ValueError("label: a vocabulary needs a column of type string or int")
            check_vocabulary(label.vocabulary, kind)
        if kind == "string" and label.vocabulary is None:
            raise ValueError("label: a string label needs a vocabulary")

    @property
    def features(self) -> list[str]:
        """Names of the columns that the model may see, in file order."""
        roles = {*self.label_columns, self.weight, self.key}
        return [name for name in self.columns if name not in roles]

    @property
    def labels(self) -> tuple[Label, ...]:
        """All labels, the first one first."""
        return (self.label, *self.more_labels)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns of all labels."""
        return tuple(name for label in self.labels for name in label.all_columns)

    @property
    def used_features(self) -> list[str]:
        """Those that the model does see: the inputs of an export."""
        crossed = {name for cross in self.crosses for name in cross.columns}
        return [
            name
            for name in self.features
            if self.columns[name].use or name in crossed or name in self.weights_of
        ]

    @property
    def weights_of(self) -> dict[str, str]:
        """Column of weights → the column in use whose values they weigh."""
        return {
            self.columns[name].weights: name
            for name in self.features
            if self.columns[name].weights is not None and self.columns[name].use
        }

    @property
    def sequences(self) -> list[str]:
        """Names of the columns that the sequence part sees."""
        return [name for name in self.features if "sequence" in self.columns[name].use]

    @property
    def num_classes(self) -> int:
        """Number of classes of the first label; 0 where it has none."""
        return len(self.label.classes)

    @property
    def task(self) -> str:
        """binary, multiclass, multilabel, regression, or multihead where there are more labels."""
        return "multihead" if self.more_labels else self.label.task
