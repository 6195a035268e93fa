"""Predictions of an export in jobs of Apache Spark.

import trainer.spark

predict = trainer.spark.predictor("jobs/census/export/best/1700000000", columns=["age"])
people.mapInArrow(predict, predict.schema).write.parquet("predictions")

answer = trainer.spark.batch_udf("jobs/census/export/best/1700000000")
people.withColumn("answer", answer()).select("name", "answer.predictions")
"""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Callable

import numpy as np
import pyarrow as pa

from trainer.prediction.file_predictor import BATCH_ROWS
from trainer.prediction.loading import load_for_tables

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


class SparkPredictor:
    """A function for DataFrame.mapInArrow; each Python worker loads the export once.

    A row that the model cannot take has null predictions, and the reason in the column `error`.

    Args:
        export: folder of the export, as the executors can reach it: a path or gs://.
        columns: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all that are not constant.

    Attributes:
        schema: types of the predictions, as Spark writes them: "predictions float, error string".

    Raises:
        UserError: the export cannot be loaded, or a column or an output does not exist.
    """

    def __init__(self, export: str, columns: Sequence[str] = (), outputs: Sequence[str] = ()):
        self._key = (export, tuple(columns), tuple(outputs))
        types = load_for_tables(*self._key).schema
        self.schema = ", ".join(f"`{field.name}` {_name_type(field.type)}" for field in types)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the predictions for the rows of record batches, in their order.

        Args:
            batches: rows with at least the columns that the model reads.

        Raises:
            UserError: a column is missing, or the export fails.
        """
        predictor = load_for_tables(*self._key)
        for batch in batches:
            for found in predictor.predict(batch):
                # Spark has no lists of a fixed length.
                yield pa.RecordBatch.from_arrays(
                    [_to_list(column) for column in found.columns], names=found.schema.names
                )


def predictor(
    export: str, columns: Sequence[str] = (), outputs: Sequence[str] = ()
) -> SparkPredictor:
    """Returns a function for DataFrame.mapInArrow, with the types of its result as `schema`.

    Args:
        export: folder of the export, as the executors can reach it: a path or gs://.
        columns: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all that are not constant.

    Raises:
        UserError: the export cannot be loaded, or a column or an output does not exist.
    """
    return SparkPredictor(export, columns, outputs)


class BatchUdf:
    """A function of columns for DataFrame.withColumn, as `predict_batch_udf` of Spark makes them.

    Its result is a struct of the outputs. Of a row that the model cannot take, numbers with a point
    are NaN, the others null, and the field `error` has the reason.

    Args:
        export: folder of the export, as the executors can reach it: a path or gs://.
        outputs: outputs of the model to keep; empty: all that are not constant.
        batch_size: number of rows that are predicted at once.

    Attributes:
        columns: names of the columns that the model reads, in the order of the arguments.

    Raises:
        UserError: the export cannot be loaded, or an output does not exist.
    """

    def __init__(self, export: str, outputs: Sequence[str] = (), batch_size: int = BATCH_ROWS):
        from pyspark.ml.functions import predict_batch_udf
        from pyspark.sql.types import StructField, StructType

        key = (export, (), tuple(outputs))
        found = load_for_tables(*key)
        names = self.columns = found.columns

        def make() -> Callable[..., dict[str, np.ndarray]]:
            def predict(*columns: np.ndarray) -> dict[str, np.ndarray]:
                arrays = [pa.array(values, from_pandas=True) for values in columns]
                rows = pa.RecordBatch.from_arrays(arrays, names=names)
                parts = pa.Table.from_batches(load_for_tables(*key).predict(rows))
                answers = parts.combine_chunks()
                return {name: _to_numpy(answers.column(name)) for name in answers.column_names}

            # Spark counts the parameters.
            kind = inspect.Parameter.POSITIONAL_ONLY
            parameters = [inspect.Parameter(f"x{n}", kind) for n in range(len(names))]
            predict.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
            return predict

        fields = [StructField(field.name, _find_type(field.type)) for field in found.schema]
        self._udf = predict_batch_udf(make, return_type=StructType(fields), batch_size=batch_size)

    def __call__(self, *columns: "Column") -> "Column":
        """Returns the predictions for some columns.

        Args:
            *columns: those that the model reads; none: the columns of these names.
        """
        from pyspark.sql.functions import col

        return self._udf(*(columns or [col(f"`{name}`") for name in self.columns]))


def batch_udf(export: str, outputs: Sequence[str] = (), batch_size: int = BATCH_ROWS) -> BatchUdf:
    """Returns a function of columns for DataFrame.withColumn; its result is a struct.

    Args:
        export: folder of the export, as the executors can reach it: a path or gs://.
        outputs: outputs of the model to keep; empty: all that are not constant.
        batch_size: number of rows that are predicted at once.

    Raises:
        UserError: the export cannot be loaded, or an output does not exist.
    """
    return BatchUdf(export, outputs, batch_size)


# Arrow type → Spark type of the outputs of a model and of the columns of a schema.
_TYPES = {
    pa.float32(): "float",
    pa.float64(): "double",
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.string(): "string",
    pa.bool_(): "boolean",
}


def _name_type(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_list(kind):
        return f"array<{_name_type(kind.value_type)}>"
    return _TYPES[kind]


def _to_list(column: pa.Array) -> pa.Array:
    kind = column.type
    return column.cast(pa.list_(kind.value_type)) if pa.types.is_fixed_size_list(kind) else column


def _find_type(kind: pa.DataType) -> "DataType":
    from pyspark.sql import types

    if pa.types.is_fixed_size_list(kind):
        return types.ArrayType(_find_type(kind.value_type))
    return types.DataType.fromDDL(_TYPES[kind])


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    """Returns a column as predict_batch_udf takes it: [rows], or [rows, n] for lists."""
    kind = column.type
    if not pa.types.is_fixed_size_list(kind):
        if pa.types.is_floating(kind):
            floats: np.ndarray = column.to_numpy()
            return floats
        values = np.empty(len(column), object)
        values[:] = column.to_pylist()
        return values
    missing = [None] * kind.list_size
    rows = [missing if values is None else values for values in column.to_pylist()]
    is_number = pa.types.is_floating(kind.value_type)
    return np.array(rows, np.float64 if is_number else object).reshape(-1, kind.list_size)
