"""Predictions of an export in jobs of Apache Spark.

import trainer.spark

predict = trainer.spark.predictor("jobs/census/export/best/1700000000", columns=["age"])
people.mapInArrow(predict, predict.schema).write.parquet("predictions")
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from trainer.prediction.loading import load_for_tables


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
        fields = [f"`{field.name}` {_name_type(field.type)}" for field in types]
        self.schema = ", ".join(fields)

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
