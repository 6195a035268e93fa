"""A column of the data: its type, its values, and the parts of the model that use it."""

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
    check_feature_vocabulary,
    check_vocabulary,
    find_problem,
)

Part = Literal["wide", "deep", "sequence"]
DatePart = Literal["year", "month", "day", "weekday", "hour"]
# ISO 8601, with or without a time. RE2 and Arrow interpret the pattern in the same way.
DATE_PATTERN = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])([:.].*)?)?"

# Up to this many ids, a categorical column without `embedding` is one-hot in the deep part.
MAX_INDICATOR_SIZE = 32


class Node(pydantic.BaseModel):
    """A frozen part of a schema; unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Moments(Node):
    """Normalisation with given moments: (value - mean) / std."""

    mean: Number = Field(description="subtracted")
    std: Factor = Field(description="divided by")


class NumberMoments(Moments):
    """Normalisation of a column with given moments of its values, or of their logarithms.

    With `log` it is (ln(1 + value) - mean) / std.
    """

    log: bool = Field(
        False, description="whether mean and std are those of ln(1+x), mirrored for negative x"
    )


class Text(Node):
    """Free text: each word, and each n-gram of words, is one value of the column."""

    ngrams: Annotated[int, Field(ge=1, le=5)] = Field(1, description="words in the longest n-gram")
    lower: bool = Field(True, description="whether to convert to lower case")
    max_words: Optional[Count] = Field(None, description="number of words to read; unset: all")


class Image(Node):
    """An image as text: base64 of a PNG, JPEG, GIF or BMP file."""

    size: Annotated[int, Field(ge=32, le=1024)] = Field(
        32, description="side of the square input of the model, pixels"
    )
    max_megapixels: Annotated[float, Field(gt=0)] = Field(
        50.0, description="images with more pixels are refused before they are decoded"
    )


class Growing(Node):
    """A table of fixed size for a column in which new ids keep appearing.

    An id gets a row of the table when it has occurred often enough. It loses the row if it does not
    occur for a long time, or to a new id if the table is full. All other ids share one more row.
    """

    # A smaller table would be one-hot in the deep part.
    capacity: Annotated[int, Field(ge=MAX_INDICATOR_SIZE, le=2**30)] = Field(
        description="number of ids that have a row of their own; a full table replaces the id that "
        "has not occurred for the longest time"
    )
    min_rows: Count = Field(1, description="an id gets a row when it has occurred in so many rows")
    max_age_steps: Optional[Count] = Field(
        None, description="an id is forgotten if it has not occurred in so many steps; unset: never"
    )


class Column(Node):
    """One column of the data, and its use in the model.

    The deep part of the model uses a numeric column as one normalised number. The wide part uses
    its buckets, or the normalised number if it has no buckets.

    A categorical column has a vocabulary, hash buckets, a number of identities or a growing table.
    The wide part uses its ids, and the deep part uses an embedding or a one-hot vector of the ids.
    The int category -1 is a missing value, as in TensorFlow's feature columns. Any other id outside
    the identities becomes id 0.

    A column with a separator is multivalent. The values of a multivalent categorical column have
    equal weights, or the weights that its weights column contains. A multivalent numeric column is
    either a weights column or a sequence. The sequence part reads the values in their order.
    """

    type: Literal["float", "int", "string"] = Field(description="type in the data")
    default: Any = Field(
        None, description="replaces a missing value; mean: the mean of the training data"
    )
    missing_indicator: bool = Field(
        False,
        description="float with default: whether a missing value is a feature of its own, too",
    )
    vocabulary: Optional[tuple[Any, ...]] = Field(None, description="known values")
    vocabulary_file: Optional[str] = Field(
        None, description="file of known values, one per line; relative to the schema"
    )
    oov_buckets: CountOrZero = Field(0, description="buckets for values outside the vocabulary")
    hash_buckets: Optional[Count] = Field(
        None, description="number of ids that values are hashed to"
    )
    identities: Optional[Count] = Field(
        None, description="int: values are ids from 0 to this number, excluded"
    )
    growing: Optional[Growing] = Field(
        None,
        description="new ids keep appearing: {capacity: 100000, min_rows: 2, max_age_steps: 50000}",
    )
    buckets: Optional[tuple[Number, ...]] = Field(None, description="boundaries, ascending")
    embedding: Optional[Width] = Field(None, description="dimensions in the deep part")
    normalize: Union[Literal["standard", "minmax", "log", "none"], NumberMoments] = Field(
        "standard",
        description="numeric: (x-mean)/std or (x-min)/(max-min) of the training data, ln(1+x), "
        "unchanged, or a given mean and std, of x or with log: true of ln(1+x)",
    )
    text: Optional[Text] = Field(
        None, description="string with vocabulary or hash_buckets: split into words, {ngrams: 2}"
    )
    image: Optional[Image] = Field(None, description="string: base64 of an image file, {size: 32}")
    separator: Optional[Annotated[str, Field(min_length=1)]] = Field(
        None, description="separator of multivalent values, such as | in a|b|c"
    )
    weights: Optional[str] = Field(
        None, description="with separator: float column of the values' weights, such as 0.5|1|2"
    )
    date: tuple[DatePart, ...] = Field(
        (), description="string 2020-12-31 or 2020-12-31 23:59: the parts to use as features"
    )
    use: tuple[Part, ...] = Field(
        ("wide", "deep"), description="parts of the model that use the column"
    )
    private: bool = Field(
        False, description="no message, report or export contains a value of the column"
    )

    @pydantic.field_validator("default")
    @classmethod
    def _read_number(cls, value: Any, given: pydantic.ValidationInfo) -> Any:
        if given.data.get("type") == "float" and isinstance(value, str):
            # YAML 1.1 reads 1e-3 as text.
            with contextlib.suppress(ValueError):
                return float(value)
        return value

    @pydantic.model_validator(mode="after")
    def _check(self) -> "Column":
        self._check_kinds()
        self._check_text()
        self._check_image()
        self._check_multivalent()
        self._check_sequence()
        self._check_date()
        self._check_type_of_kind()
        self._check_buckets()
        self._check_ids()
        self._check_growing()
        self._check_default()
        self._check_private()
        return self

    @property
    def _kinds(self) -> list[str]:
        names = (
            "vocabulary",
            "vocabulary_file",
            "hash_buckets",
            "identities",
            "growing",
            "buckets",
        )
        return [name for name in names if getattr(self, name) is not None]

    def _check_kinds(self) -> None:
        if len(self._kinds) > 1:
            raise ValueError(f"{' and '.join(self._kinds)} exclude each other; keep one")
        if self.type == "string" and self.buckets is not None:
            raise ValueError(
                "buckets need a numeric type; a string takes vocabulary or hash_buckets"
            )

    def _check_text(self) -> None:
        if self.text is not None and (
            self.type != "string" or not (self.is_categorical or self.vocabulary_file)
        ):
            raise ValueError("text needs type string and hash_buckets or a vocabulary of words")

    def _check_image(self) -> None:
        if self.image is not None and (self.type != "string" or self._kinds):
            raise ValueError("image needs type string, and no vocabulary or hash_buckets")

    def _check_multivalent(self) -> None:
        if self.separator is not None:
            if self.type == "string" and not self._kinds or self.text is not None:
                raise ValueError("separator needs a vocabulary or hash_buckets, and no text")
            if self.buckets is not None:
                raise ValueError("buckets need one number per row; remove separator or buckets")
            if self.type != "string" and self.default is not None:
                raise ValueError("default: a multivalent number has no default; remove it")
        elif self.weights is not None:
            raise ValueError("weights need a multivalent column; add separator")
        if self.weights is not None and not self._kinds:
            raise ValueError("weights need a vocabulary, hash_buckets or identities beside them")

    def _check_sequence(self) -> None:
        if "sequence" not in self.use:
            return
        if self.separator is None and self.text is None:
            raise ValueError("use: a sequence needs a multivalent column: add separator or text")
        if self.text is not None and self.text.ngrams > 1:
            raise ValueError("use: a sequence of words takes no ngrams; set ngrams to 1")
        if self.weights is not None:
            raise ValueError("use: a sequence takes no weights; remove one of them")

    def _check_date(self) -> None:
        if self.date and (self.type != "string" or self._kinds):
            raise ValueError("date needs type string, and no vocabulary or hash_buckets")

    def _check_type_of_kind(self) -> None:
        if self.identities is not None and self.type != "int":
            raise ValueError("identities need type int")
        if self.type == "float" and self._kinds and self._kinds != ["buckets"]:
            raise ValueError(f"{self._kinds[0]} needs type string or int; a float takes buckets")

    def _check_buckets(self) -> None:
        if self.buckets is None:
            return
        if not self.buckets:
            raise ValueError("buckets: no boundary given; give one or remove buckets")
        if list(self.buckets) != sorted(set(self.buckets)):
            raise ValueError("buckets must ascend")

    def _check_ids(self) -> None:
        if self.embedding is not None and not self.is_categorical:
            raise ValueError("embedding needs a vocabulary, hash_buckets or identities")
        if self.oov_buckets and not (self.vocabulary or self.vocabulary_file):
            raise ValueError("oov_buckets needs a vocabulary")
        if self.vocabulary is not None:
            check_vocabulary(self.vocabulary, self.type)
            check_feature_vocabulary(self.vocabulary)

    def _check_growing(self) -> None:
        if self.growing is None:
            return
        if self.separator is not None or self.text is not None:
            raise ValueError("growing needs one value per row; use hash_buckets")
        if self.private:
            raise ValueError("private: a growing table is a part of each export; use hash_buckets")

    def _check_default(self) -> None:
        if self.default == "mean" and self.type != "float":
            raise ValueError("default mean needs type float")
        if self.default is not None and self.default != "mean":
            problem = find_problem(self.default, self.type)
            if problem:
                raise ValueError(f"default {problem}")
        if self.missing_indicator and (self.type != "float" or self.default is None):
            raise ValueError("missing_indicator needs type float and a default, such as mean")

    def _check_private(self) -> None:
        if not self.private:
            return
        if self.vocabulary is not None or self.vocabulary_file is not None:
            raise ValueError(
                "private: a vocabulary is a part of each export; use hash_buckets or identities"
            )
        if self.normalize == "minmax":
            raise ValueError(
                "private: minmax is computed from the values of two rows; use standard, log or "
                "given moments"
            )

    @property
    def raw_type(self) -> str:
        """Type of a row's value in files and requests: multivalent values are one string."""
        return self.type if self.separator is None else "string"

    @property
    def is_multivalent_numeric(self) -> bool:
        """Whether a row has several numbers: weights, or a numeric sequence."""
        return self.separator is not None and not self.is_categorical

    @property
    def is_categorical(self) -> bool:
        """Whether the values are ids rather than numbers."""
        return (
            self.vocabulary is not None
            or self.vocabulary_file is not None
            or self.hash_buckets is not None
            or self.identities is not None
            or self.growing is not None
        )

    @property
    def size(self) -> int:
        """Number of ids of a categorical column; a vocabulary file must have been read."""
        if self.growing is not None:
            # Id 0 is that of all values without a row of their own.
            return self.growing.capacity + 1
        size = self.hash_buckets or self.identities
        return size or len(self.vocabulary or ()) + self.oov_buckets
