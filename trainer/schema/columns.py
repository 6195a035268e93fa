"""A column of the data: its type, what its values mean, and who sees it."""

import contextlib
from typing import Annotated, Any, Literal, Optional, Union

import pydantic
from pydantic import ConfigDict, Field

from trainer.schema.vocabulary import (
    Count,
    CountOrZero,
    Factor,
    Number,
    Width,
    check_vocabulary,
    find_problem,
    refuse_no_value,
)

Part = Literal["wide", "deep", "sequence"]
DatePart = Literal["year", "month", "day", "weekday", "hour"]
# ISO 8601, with a time or without; RE2 and Arrow read it alike.
DATE_PATTERN = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])([:.].*)?)?"

# A categorical column of at most so many values is one-hot in the deep part unless told otherwise.
MAX_INDICATOR_SIZE = 32


class Node(pydantic.BaseModel):
    """A frozen part of a schema; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Moments(Node):
    """Given normalisation: (value - mean) / std."""

    mean: Number = Field(description="subtracted")
    std: Factor = Field(description="divided by")


class Text(Node):
    """A free text: each word, and each sequence of words, is one value of the column."""

    ngrams: Annotated[int, Field(ge=1, le=5)] = Field(1, description="words in the longest one")
    lower: bool = Field(True, description="whether A and a are the same")
    max_words: Optional[Count] = Field(None, description="words after these are left out")


class Image(Node):
    """An image as text: base64 of a PNG, JPEG, GIF or BMP file."""

    size: Annotated[int, Field(ge=32, le=1024)] = Field(
        32, description="pixels of the square that the model sees"
    )


class Column(Node):
    """One column of the data, and what the model makes of it.

    A numeric column reaches the deep part as one normalised number and the wide part as its buckets
    (as the normalised number where it has none). A categorical column, one with a vocabulary, hash
    buckets or a number of identities, reaches the wide part as ids and the deep part as an
    embedding or one-hot. An int category -1 counts as no value, as feature columns have it; any
    other id outside its identities counts as id 0.

    A column with a separator has several values in a row. Those of a categorical column count
    alike, or as its weights say. Several numbers are the weights of another column, or a sequence.
    The sequence part sees the values in their order.
    """

    type: Literal["float", "int", "string"] = Field(description="type in the data")
    default: Any = Field(
        None, description="stands for a missing value; mean: the mean of the training data"
    )
    vocabulary: Optional[tuple[Any, ...]] = Field(None, description="known values")
    vocabulary_file: Optional[str] = Field(
        None, description="known values, a line each; relative to the schema"
    )
    oov_buckets: CountOrZero = Field(0, description="buckets for values outside the vocabulary")
    hash_buckets: Optional[Count] = Field(None, description="values hashed into so many ids")
    identities: Optional[Count] = Field(None, description="int: values are ids from 0 to this")
    buckets: Optional[tuple[Number, ...]] = Field(None, description="boundaries, ascending")
    embedding: Optional[Width] = Field(None, description="dimensions in the deep part")
    normalize: Union[Literal["standard", "minmax", "log", "none"], Moments] = Field(
        "standard",
        description="numeric: (x-mean)/std or (x-min)/(max-min) of the training data, ln(1+x), "
        "as it is, or a given mean and std",
    )
    text: Optional[Text] = Field(
        None, description="string with vocabulary or hash_buckets: split into words, {ngrams: 2}"
    )
    image: Optional[Image] = Field(None, description="string: base64 of an image file, {size: 32}")
    separator: Optional[Annotated[str, Field(min_length=1)]] = Field(
        None, description="between the values of a row that has several, as in a|b|c"
    )
    weights: Optional[str] = Field(
        None, description="with separator: float column with as many weights, as in 0.5|1|2"
    )
    date: tuple[DatePart, ...] = Field(
        (), description="string 2020-12-31 or 2020-12-31 23:59: the parts that the model sees"
    )
    use: tuple[Part, ...] = Field(("wide", "deep"), description="parts of the model that see it")

    @pydantic.field_validator("default")
    @classmethod
    def _read_number(cls, value, given):
        if given.data.get("type") == "float" and isinstance(value, str):
            # To YAML 1e-3 is text.
            with contextlib.suppress(ValueError):
                return float(value)
        return value

    @pydantic.model_validator(mode="after")
    def _consistent(self):
        kinds = [
            name
            for name in ("vocabulary", "vocabulary_file", "hash_buckets", "identities", "buckets")
            if getattr(self, name) is not None
        ]
        if len(kinds) > 1:
            raise ValueError(f"{' and '.join(kinds)} exclude each other; keep one")
        if self.type == "string" and self.buckets is not None:
            raise ValueError(
                "buckets need a numeric type; a string takes vocabulary or hash_buckets"
            )
        if self.text is not None and (
            self.type != "string" or not (self.is_categorical or self.vocabulary_file)
        ):
            raise ValueError("text needs type string and hash_buckets or a vocabulary of words")
        if self.image is not None and (self.type != "string" or kinds):
            raise ValueError("image needs type string, and no vocabulary or hash_buckets")
        self._check_parts(kinds)
        if self.identities is not None and self.type != "int":
            raise ValueError("identities need type int")
        if self.type == "float" and kinds and kinds != ["buckets"]:
            raise ValueError(f"{kinds[0]} needs type string or int; a float takes buckets")
        if self.buckets is not None and not self.buckets:
            raise ValueError("buckets: there is no boundary; give one or leave buckets out")
        if self.buckets is not None and list(self.buckets) != sorted(set(self.buckets)):
            raise ValueError("buckets must ascend")
        if self.embedding is not None and not self.is_categorical:
            raise ValueError("embedding needs a vocabulary, hash_buckets or identities")
        if self.oov_buckets and not (self.vocabulary or self.vocabulary_file):
            raise ValueError("oov_buckets needs a vocabulary")
        if self.vocabulary is not None:
            check_vocabulary(self.vocabulary, self.type)
            refuse_no_value(self.vocabulary)
        if self.default == "mean" and self.type != "float":
            raise ValueError("default mean needs type float")
        if self.default is not None and self.default != "mean":
            problem = find_problem(self.default, self.type)
            if problem:
                raise ValueError(f"default {problem}")
        return self

    def _check_parts(self, kinds):
        if self.separator is not None:
            if self.type == "string" and not kinds or self.text is not None:
                raise ValueError("separator needs a vocabulary or hash_buckets, and no text")
            if self.buckets is not None:
                raise ValueError("buckets are for one number a row; remove separator or buckets")
            if self.type != "string" and self.default is not None:
                raise ValueError("default: a row without numbers has none; remove it")
        elif self.weights is not None:
            raise ValueError("weights are for several values a row; add separator")
        if self.weights is not None and not kinds:
            raise ValueError("weights need a vocabulary, hash_buckets or identities beside them")
        if "sequence" in self.use:
            if self.separator is None and self.text is None:
                raise ValueError("use: a sequence needs several values a row: separator or text")
            if self.text is not None and self.text.ngrams > 1:
                raise ValueError("use: a sequence of words has an order, ngrams have none; set 1")
            if self.weights is not None:
                raise ValueError("use: a sequence takes no weights; remove one of them")
        if self.date and (self.type != "string" or kinds):
            raise ValueError("date needs type string, and no vocabulary or hash_buckets")

    @property
    def raw_type(self) -> str:
        """Type of a row's value as it is read and served: several values are one text."""
        return self.type if self.separator is None else "string"

    @property
    def is_several_numbers(self) -> bool:
        """Whether a row holds several numbers: weights, or a numeric sequence."""
        return self.separator is not None and not self.is_categorical

    @property
    def is_categorical(self) -> bool:
        """Whether the column is a set of ids rather than a number."""
        return (
            self.vocabulary is not None
            or self.vocabulary_file is not None
            or self.hash_buckets is not None
            or self.identities is not None
        )

    @property
    def size(self) -> int:
        """Number of ids of a categorical column whose vocabulary has been read."""
        return self.hash_buckets or self.identities or len(self.vocabulary) + self.oov_buckets
