"""Predictions of an export in pipelines of Apache Beam.

import trainer.beam

found = rows | trainer.beam.Predict("jobs/census/export/best/1700000000", columns=["age"])
found.predictions | ...
found.bad_rows | ...
"""

from collections.abc import Iterator, Sequence
from typing import Union

import apache_beam as beam
import pyarrow as pa

from trainer.prediction.loading import load_for_tables
from trainer.prediction.table_predictor import split_bad_rows

PREDICTIONS, BAD_ROWS = "predictions", "bad_rows"


class Predict(beam.PTransform):
    """Predicts rows; each process loads the export once, for all of its threads.

    The elements are record batches or tables of Arrow, as `beam.io.ReadFromParquetBatched` reads
    them. The result has two collections of record batches: `predictions`, and `bad_rows` with the
    copied columns and, in the column `error`, the reason why the model cannot take a row.

    Args:
        export: folder of the export, as the workers can reach it: a path or gs://.
        columns: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all that are not constant.
    """

    def __init__(self, export: str, columns: Sequence[str] = (), outputs: Sequence[str] = ()):
        super().__init__()
        self._key = (export, tuple(columns), tuple(outputs))

    def expand(self, input_or_inputs: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Returns the collections `predictions` and `bad_rows`.

        Args:
            input_or_inputs: a collection of record batches or tables.
        """
        predict = beam.ParDo(_PredictFn(*self._key))
        return input_or_inputs | predict.with_outputs(BAD_ROWS, main=PREDICTIONS)


class _PredictFn(beam.DoFn):
    def __init__(self, export: str, columns: tuple[str, ...], outputs: tuple[str, ...]):
        super().__init__()
        self._key = (export, columns, outputs)

    def process(
        self, element: Union[pa.RecordBatch, pa.Table]
    ) -> Iterator[Union[pa.RecordBatch, beam.pvalue.TaggedOutput]]:
        """Yields the predictions for the rows of an element, and its bad rows.

        Args:
            element: rows with at least the columns that the model reads.
        """
        predictor = load_for_tables(*self._key)
        batches = element.to_batches() if isinstance(element, pa.Table) else [element]
        for batch in batches:
            for found in predictor.predict(batch):
                good, bad = split_bad_rows(found)
                if good.num_rows:
                    yield good
                if bad.num_rows:
                    yield beam.pvalue.TaggedOutput(BAD_ROWS, bad)
