"""Predicts the rows of data files with an export, as Arrow tables."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Optional

import numpy as np
import pyarrow as pa

from trainer import config as config_lib
from trainer.errors import UserError, nearest
from trainer.export.serving_session import describe_error
from trainer.features.raw_inputs import list_csv_inputs, list_inputs
from trainer.inputs.cell_text import HIDDEN_DETAIL, hides
from trainer.inputs.dataset import ReadOptions, RowSource
from trainer.inputs.files import DataFile
from trainer.inputs.prefetch import prefetch
from trainer.inputs.raw_batches import ReadDetails, ReadRequest, cast_batch
from trainer.inputs.shuffle import Chunk
from trainer.inputs.tables import Batch
from trainer.prediction.description import check_copied, describe_export
from trainer.prediction.encoded import EncodedInputs, open_encoded
from trainer.prediction.predictor import Predictor
from trainer.prediction.rejected import RejectedRows
from trainer.schema import resolve_defaults
from trainer.schema.made_up import make_up_value

# Number of rows that are predicted at once. On two cores, the throughput with 2k to 32k rows is
# within a few per cent of its maximum.
BATCH_ROWS = 8_192
# Number of rows for which the predictions of encoded rows are compared with those of raw rows.
CHECKED_ROWS = 1_024
# Outputs that are equal in all rows and known from the schema. They are omitted.
CONSTANT_OUTPUTS = ("all_class_ids", "all_classes")
# Outputs that come first, in this order.
FIRST_OUTPUTS = ("predictions", "classes", "class_ids", "logistic", "probabilities")


class FilePredictor:
    """Converts data files to tables of predictions.

    Args:
        predictor: a loaded export.
        data: format, delimiter and header of the files.
        copied: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all except constant outputs.

    Attributes:
        export: its folder.
        outputs: names of the outputs that are kept, in their order.
        inputs: names of the columns that the model reads.
        description: schema of the data, and statistics of the training data.
        details: how files are read other than the schema says.

    Raises:
        UserError: a column or an output does not exist, or the export has an input that is not a
            column.
    """

    def __init__(
        self,
        predictor: Predictor,
        data: config_lib.DataConfig,
        copied: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ):
        self._predictor, self.export = predictor, predictor.path
        self._data = data
        self.description = describe_export(predictor.path)
        self._schema, statistics = self.description
        self._signature = predictor.find_signature("predict", "json")
        self._dtypes = predictor.signatures[self._signature].inputs
        columns = self._schema.columns
        check_copied(copied, self._schema)
        self._copied = [name for name in copied if name != self._schema.key]
        # Floats are copied with all of their digits, and a missing one stays missing.
        self._exact = [name for name in self._copied if columns[name].raw_type == "float"]
        layouts = [list_csv_inputs(self._schema), list_inputs(self._schema)]
        self.details = ReadDetails(layouts, self._exact)
        self._defaults = resolve_defaults(self._schema, statistics)
        self.inputs = [name for name in self._dtypes if name in columns]
        if set(self.inputs) != set(self._dtypes):
            strange = sorted(set(self._dtypes) - set(self.inputs))
            raise UserError(
                f"export {predictor.path}: input {strange[0]!r} is not a column of its schema; "
                "predict with --row"
            )
        # How rows are encoded outside of the graph; None: they are not, or not yet.
        self._encoded: Optional[EncodedInputs] = None
        self._is_checked = False
        # Rows read before that.
        self._num_unchecked = 0
        known = predictor.signatures[self._signature].outputs
        self.outputs = self._choose_outputs(outputs, known)

    def _choose_outputs(self, requested: Sequence[str], known: Sequence[str]) -> list[str]:
        key = self._schema.key
        for name in requested:
            if name not in known:
                raise UserError(
                    f"--outputs: no output {name!r}{nearest(name, known)} "
                    f"(there are {', '.join(sorted(known))})"
                )
        twice = [name for name in self._copied if name in known]
        if twice:
            raise UserError(f"--columns: {twice[0]!r} is also the name of an output; leave it out")
        chosen = list(requested)
        if not chosen:
            chosen = [name for name in FIRST_OUTPUTS if name in known]
            chosen += sorted(set(known) - set(chosen) - set(CONSTANT_OUTPUTS) - {key})
        if key is None or key not in known:
            return chosen
        return [key, *(name for name in chosen if name != key)]

    def find_schema(self) -> pa.Schema:
        """Returns the Arrow schema of the predictions, which those of a made-up row have."""
        rows = DataFile("rows", "parquet", False)
        source = self.open_source(rows)
        names, (schema, statistics) = source.names, self.description
        made_up = {name: [make_up_value(name, schema, statistics)] for name in names}
        request = ReadRequest(rows, schema, names, self._data, None, self.details)
        columns = cast_batch(request, 1, pa.RecordBatch.from_pydict(made_up)).columns
        return self.predict_chunk(source.decode(Batch(rows, np.ones(1, int), columns))).schema

    def open_rejected(self) -> RejectedRows:
        """Returns a collection of rows for `predict`, which keeps their key and copied columns."""
        key = self._schema.key
        return RejectedRows([*([key] if key else []), *self._copied])

    def predict(
        self, file: DataFile, rejected: Optional[RejectedRows] = None
    ) -> Iterator[pa.RecordBatch]:
        """Yields the predictions for a file, in its order, at most BATCH_ROWS at a time.

        Args:
            file: the input.
            rejected: gets the rows that the model cannot take; None: the first is an error.

        Raises:
            UserError: the file does not fit the schema, or the export fails on a row.
        """
        source = self.open_source(file, rejected)
        # What is rejected belongs to the rows that are predicted next, so it is not read ahead.
        chunks = prefetch(source.read_split) if rejected is None else source.read_split()
        for chunk, words in chunks:
            self._check_encoded(chunk, words)
            encoded = (
                {} if self._encoded is None else self._encoded.encode(self._fill_all(chunk), words)
            )
            # With encoded rows, only the key is an input.
            kept = (
                [*words] if self._encoded is None else [n for n in words if self._is_text_needed(n)]
            )
            columns = {**chunk, **{name: words[name][chunk[name]] for name in kept}}
            for start in range(0, len(chunk[source.names[0]]), BATCH_ROWS):
                rows = slice(start, start + BATCH_ROWS)
                part = {name: array[rows] for name, array in columns.items()}
                yield self.predict_chunk(part, {name: each[rows] for name, each in encoded.items()})

    def _is_text_needed(self, name: str) -> bool:
        return name == self._schema.key or name in self._copied

    def _fill_all(self, chunk: Chunk) -> Chunk:
        return {name: self._fill(name, array) for name, array in chunk.items()}

    def _check_encoded(self, chunk: Chunk, words: Mapping[str, np.ndarray]) -> None:
        """Encodes the rows that follow BATCH_ROWS ones, if that gives the same predictions."""
        rows = len(chunk[self.inputs[0]])
        self._num_unchecked += rows
        # A block of a file with many columns has few rows. Fewer rows would show less.
        if self._is_checked or self._num_unchecked < BATCH_ROWS or rows < CHECKED_ROWS:
            return
        self._is_checked = True
        encoded = open_encoded(self._predictor, self.description)
        if encoded is None:
            return
        some = {name: array[:CHECKED_ROWS] for name, array in chunk.items()}
        raw = {**some, **{name: array[some[name]] for name, array in words.items()}}
        wanted = self.predict_chunk(raw)
        # A user's receiver may compute outputs from raw values.
        with contextlib.suppress(UserError):
            if self.predict_chunk(raw, encoded.encode(self._fill_all(some), words)).equals(wanted):
                self._encoded = encoded

    def open_source(self, file: DataFile, rejected: Optional[RejectedRows] = None) -> RowSource:
        """Returns the rows of a file with the columns that are needed.

        Args:
            file: the input.
            rejected: gets the rows that the model cannot take; None: the first is an error.
        """
        names = [n for n in self._schema.columns if n in {*self.inputs, *self._copied}]
        defaults = {**self._defaults, **dict.fromkeys(self._exact, math.nan)}
        checked = list(self.inputs)
        if rejected is not None:
            # A copied value is not checked, but has to be there if it has no default.
            checked += [name for name in names if name in self._copied and self._needs(name)]
        options = ReadOptions(names, self.details, checked=checked, bad_rows=rejected)
        return RowSource([file], self._schema, self._data, defaults, 0, options)

    def _needs(self, name: str) -> bool:
        is_exact, is_label = name in self._exact, name in self._schema.label_columns
        return name not in self.inputs and not is_exact and not is_label

    def predict_chunk(
        self, chunk: Chunk, encoded: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> pa.RecordBatch:
        """Returns the predictions for some rows.

        Args:
            chunk: column → values [rows], with defaults for missing values.
            encoded: the same rows, as EncodedInputs.encode returns them; empty: the export encodes
                them.

        Raises:
            UserError: the export fails on a row.
        """
        from estimator_bridge import tf

        key = self._schema.key
        # The graph joins its inputs, so it cannot have the key alone.
        names = [name for name in self.inputs if not encoded or name == key]
        inputs = {
            name: self._fill(name, chunk[name]).astype(
                self._dtypes[name].as_numpy_dtype, copy=False
            )
            for name in names
        }
        fetched = [name for name in self.outputs if not encoded or name != key]
        try:
            outputs = self._predictor.run(
                self._signature, {} if encoded else inputs, encoded, fetched
            )
            if encoded:
                outputs.update(inputs)
        except tf.errors.OpError as error:
            detail = HIDDEN_DETAIL if hides(self._schema) else describe_error(error)
            raise UserError(
                f"export {self._predictor.path}: fails on these rows: {detail}; fix the data"
            ) from error
        rows = len(chunk[self.inputs[0]])
        columns = {}
        for name in self.outputs:
            array = outputs[name]
            if array.ndim == 0 or len(array) != rows:
                raise UserError(
                    f"export {self._predictor.path}: output {name!r} has the shape "
                    f"{list(array.shape)} for {rows} rows; leave it out with --outputs"
                )
            columns[name] = _to_arrow(array.reshape(rows, -1))
        first = {name: columns.pop(name) for name in [key] if name in columns}
        copied = {
            name: pa.array(chunk[name], from_pandas=True)
            if name in self._exact
            else _to_arrow(chunk[name].reshape(rows, 1))
            for name in self._copied
        }
        return pa.RecordBatch.from_pydict({**first, **copied, **columns})

    def _fill(self, name: str, values: np.ndarray) -> np.ndarray:
        """Returns an input [rows] with the default for NaN, as which a copied number is read."""
        if name not in self._exact or self._defaults[name] is None:
            return values
        return np.where(np.isnan(values), self._defaults[name], values)


def _to_arrow(array: np.ndarray) -> pa.Array:
    """Returns an array [rows, n] as a column: plain for n = 1, else lists of n values."""
    flat = array.reshape(-1)
    values = pa.array(flat, pa.binary() if flat.dtype == object else None)
    if pa.types.is_binary(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowInvalid:
            values = pa.array([word.decode(errors="replace") for word in flat.tolist()])
    if array.shape[1] == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, array.shape[1])
