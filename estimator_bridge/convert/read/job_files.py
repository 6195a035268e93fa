"""Reads config.yaml, schema.json and statistics.json of a job_dir, and checks their values.

A job_dir may come from somebody else, and its values are written into Python code. Each field that
the conversion reads is therefore checked for its type and, where it is a name, for the known names.
Fields may be missing: older versions of the trainer did not write all of them.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Callable, Literal, NamedTuple, Optional, Union

import pydantic
import yaml
from pydantic import AfterValidator, ConfigDict, Field

from estimator_bridge.errors import BridgeError
from estimator_bridge.user_files.limits import load_yaml
from estimator_bridge.user_files.text_encoding import find_encoding

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic reads the TypedDict of these versions only from here.
    from typing_extensions import TypedDict

__all__ = ["JobFiles", "read_config", "read_job_files"]

_Json = dict[str, Any]
_CHECKS = ConfigDict(strict=True, extra="ignore")

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1)]
_CountOrZero = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, lt=1)]
_Value = Union[str, int, _Number]
_Optimizer = Literal["adagrad", "adam", "sgd", "momentum", "rmsprop", "ftrl"]


class _Data(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    train: list[str]
    eval: list[str]
    eval_share: Optional[_Share]
    eval_after: Optional[str]
    delimiter: Annotated[str, Field(min_length=1, max_length=1)]
    encoding: Annotated[str, AfterValidator(find_encoding)]


class _Model(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    type: str
    hidden_units: list[_Count]
    activation: Literal["relu", "elu", "selu", "tanh", "sigmoid", "swish", "gelu"]
    cell: Literal["lstm", "gru", "simple"]
    dropout: _Share
    batch_norm: bool


class _Train(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    max_steps: Optional[_Count]
    epochs: Optional[_Number]
    batch_size: _Count
    optimizer: _Optimizer
    learning_rate: _Number
    linear_optimizer: _Optimizer
    linear_learning_rate: Optional[_Number]
    decay: str
    decay_steps: Optional[_Count]
    decay_rate: _Number
    piecewise_steps: list[_Count]
    piecewise_shares: list[_Number]
    warmup_steps: _CountOrZero
    loss_reduction: Literal["mean", "sum"]
    l1: _Number
    l2: _Number


class _Config(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    data: _Data
    model: _Model
    train: _Train


class _Moments(TypedDict):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    mean: _Number
    std: _Number


class _NumberMoments(_Moments, total=False):
    log: bool


class _Text(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    ngrams: _Count
    lower: bool
    max_words: Optional[_Count]


class _Column(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    type: Literal["float", "int", "string"]
    use: list[Literal["wide", "deep", "sequence"]]
    default: Optional[_Value]
    vocabulary: Optional[list[_Value]]
    oov_buckets: _CountOrZero
    hash_buckets: Optional[_Count]
    identities: Optional[_Count]
    buckets: Optional[list[_Number]]
    embedding: Optional[_Count]
    missing_indicator: bool
    normalize: Union[Literal["standard", "minmax", "log", "none"], _NumberMoments]
    text: Optional[_Text]
    image: Any
    growing: Any
    separator: Optional[Annotated[str, Field(min_length=1)]]
    weights: Optional[str]
    date: list[Literal["year", "month", "day", "weekday", "hour"]]


class _Cross(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    columns: list[str]
    hash_buckets: _Count
    embedding: Optional[_Count]


class _SharedEmbedding(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    columns: list[str]
    dimension: Optional[_Count]


class _Label(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    column: str
    columns: list[str]
    vocabulary: Optional[list[_Value]]
    num_classes: Optional[_Count]
    loss: Literal["squared", "poisson"]
    normalize: Optional[_Moments]
    class_weights: Optional[dict[str, _Number]]
    importance: _Number


class _Schema(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    columns: dict[str, _Column]
    label: _Label
    more_labels: list[_Label]
    weight: Optional[str]
    key: Optional[str]
    crosses: list[_Cross]
    shared_embeddings: list[_SharedEmbedding]
    missing_values: list[str]


class _Range(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    mean: Optional[float]
    std: Optional[float]
    min: Optional[float]
    max: Optional[float]


class _Statistics(TypedDict, total=False):
    __pydantic_config__ = _CHECKS  # type: ignore[misc]
    num_rows: _CountOrZero
    columns: dict[str, _Range]


class JobFiles(NamedTuple):
    """The checked content of the files; fields that are not read are left out.

    Attributes:
      config: content of config.yaml.
      schema: content of schema.json.
      statistics: content of statistics.json.
    """

    config: _Json
    schema: _Json
    statistics: _Json


def read_config(folder: Path) -> _Json:
    """Reads and checks config.yaml.

    Args:
      folder: folder of a finished run of the trainer.

    Raises:
      BridgeError: as for `read_job_files`.
    """
    return _read(folder / "config.yaml", load_yaml, _Config)


def read_job_files(folder: Path) -> JobFiles:
    """Reads and checks the files.

    Args:
      folder: folder of a finished run of the trainer.

    Raises:
      BridgeError: a file is missing or corrupt, or contains a value that the trainer never writes.
    """
    return JobFiles(
        read_config(folder),
        _read(folder / "schema.json", json.loads, _Schema),
        _read(folder / "statistics.json", json.loads, _Statistics),
    )


def _read(path: Path, parse: Callable[[str], Any], kind: Any) -> _Json:
    try:
        content: _Json = pydantic.TypeAdapter(kind).validate_python(
            parse(path.read_text(encoding="utf-8"))
        )
    except OSError as error:
        raise BridgeError(
            f"job_dir: {path} cannot be read ({error.strerror}); give the folder of a finished "
            "training run, or --estimator=MODULE:FUNCTION for an Estimator of your own"
        ) from error
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "content"
        raise BridgeError(
            f"job_dir: {path}: {field!r} is {first['input']!r:.60}, which the trainer never "
            f"writes ({first['msg']}); give the unchanged files of a training run"
        ) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise BridgeError(f"job_dir: {path} is corrupt: {str(error).splitlines()[0]}") from error
    return content
