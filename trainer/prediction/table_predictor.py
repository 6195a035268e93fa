"""Predicts rows of Arrow record batches with an export, and says why a row cannot be predicted."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.inputs.bad_rows import BadRows, Fault, find_faults
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.files import DataFile
from trainer.inputs.missing import mark_missing
from trainer.inputs.raw_batches import (
    ReadRequest,
    cast_batch,
    require_columns,
    unparsed_fault,
)
from trainer.inputs.tables import Batch
from trainer.prediction.file_predictor import BATCH_ROWS, FilePredictor
from trainer.prediction.predictor import Predictor

# Column with the reason why a row is not predicted.
ERROR = "error"
# Stands for the file in messages.
_ROWS = DataFile("rows", "parquet", False)


class TablePredictor:
    """Converts record batches to record batches of predictions.

    Args:
        predictor: a loaded export.
        copied: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all except constant outputs.

    Attributes:
        schema: Arrow schema of the predictions; the last column is ERROR.
        columns: names of the columns that the rows must have.

    Raises:
        UserError: a column or an output does not exist, or the export has an input that is not a
            column.
    """

    def __init__(
        self, predictor: Predictor, copied: Sequence[str] = (), outputs: Sequence[str] = ()
    ):
        data = config_lib.DataConfig()
        self._predictor = FilePredictor(predictor, data, copied, outputs)
        self._source = self._predictor.open_source(_ROWS)
        schema, details = self._predictor.description.schema, self._predictor.details
        self._request = ReadRequest(_ROWS, schema, self._source.names, data, BadRows(None), details)
        self.columns = list(self._source.names)
        self.schema = self._predictor.find_schema().append(pa.field(ERROR, pa.string()))

    def predict(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yields the predictions in the order of the rows, at most BATCH_ROWS at a time.

        A row that the model cannot take has null predictions, and the reason as ERROR. Its key
        and its copied columns are kept.

        Args:
            rows: at least the columns that the model reads, and those that are copied.

        Raises:
            UserError: a column is missing, or the export fails.
        """
        require_columns(self._request, rows.schema.names)
        for start in range(0, rows.num_rows, BATCH_ROWS):
            yield self._predict_part(rows.slice(start, BATCH_ROWS))

    def _predict_part(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        raw = cast_batch(self._request, 1, rows)
        columns = mark_missing(raw.columns, self._request.schema)
        reasons = np.full(rows.num_rows, None, object)
        for name, (mask, values) in (raw.unparsed or {}).items():
            kind = self._request.schema.columns[name].raw_type
            self._note(reasons, unparsed_fault(name, kind), mask, values)
        # A value that could not be parsed is null by now; the first reason of a row stays.
        for fault, mask in find_faults(columns, self._request.schema, self._predictor.inputs):
            self._note(reasons, fault, mask, columns.column(fault.column))
        good = np.equal(reasons, None)
        found = self._predict(columns.filter(pa.array(good))) if good.any() else None
        # Of each good row, the place among the predictions; null for a bad row.
        places = pa.array(np.where(good, np.cumsum(good) - 1, 0), mask=~good)
        arrays = []
        for field in list(self.schema)[:-1]:
            array = pa.nulls(rows.num_rows, field.type)
            if found is not None:
                array = found.column(field.name).take(places)
            if field.name in columns.schema.names:
                own = columns.column(field.name).cast(field.type)
                array = pc.if_else(pa.array(good), array, own)
            arrays.append(array)
        errors = pa.array(reasons, pa.string())
        return pa.RecordBatch.from_arrays([*arrays, errors], schema=self.schema)

    def _note(self, reasons: np.ndarray, fault: Fault, mask: pa.Array, values: pa.Array) -> None:
        """Gives the first reason to each row with a fault."""
        for row in np.flatnonzero(np.asarray(mask)):
            if reasons[row] is None:
                value = quote_cell(values[int(row)].as_py(), self._request.schema, fault.column)
                reasons[row] = f"column {fault.column}: {fault.text.replace('{value}', value)}"

    def _predict(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        numbers = np.arange(1, columns.num_rows + 1)
        return self._predictor.predict_chunk(self._source.decode(Batch(_ROWS, numbers, columns)))


def split_bad_rows(found: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Returns the predictions without ERROR, and the rows that have one.

    Args:
        found: of TablePredictor.predict.
    """
    good = pc.is_null(found.column(ERROR))
    names = found.schema.names[:-1]
    return found.filter(good).select(names), found.filter(pc.invert(good))
