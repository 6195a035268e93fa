"""`trainer.load`: a trained model that predicts tables."""

import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional, Union

import pyarrow as pa

import estimator_bridge
from trainer import config as config_lib
from trainer.api import tables
from trainer.api.options import open_copies
from trainer.export.choose import fetch_export
from trainer.inputs.files import find_files
from trainer.prediction.description import find_description, load_data_config

Data = Union[tables.Table, tables.Files]


class LoadedModel:
    """An export that is loaded once and predicts any number of tables; made by `load`.

    Use it in a `with` statement, or call `close`, to free its memory early.

    Args:
        export: folder of the export on this machine.
        stack: closes what the export needs.

    Attributes:
        path: folder of the export on this machine.
    """

    def __init__(self, export: str, stack: ExitStack):
        # Imported here, because it imports TensorFlow.
        from trainer.prediction.predictor import Predictor

        self.path = export
        # Also when the model is no longer used, and at the end of the process.
        self._close = weakref.finalize(self, stack.close)
        self._predictor = Predictor(export)
        stack.callback(self._predictor.close)
        self._description = find_description(export)

    @property
    def inputs(self) -> list[str]:
        """Names of the columns that a table must have."""
        name = self._predictor.find_signature("predict", "json")
        return list(self._predictor.signatures[name].inputs)

    def predict(
        self, data: Data, *, columns: Sequence[str] = (), outputs: Sequence[str] = ()
    ) -> tables.Table:
        """Predicts rows, in their order.

        Args:
            data: a table with the columns of `inputs`, or files. A dict with one value per name is
                one row.
            columns: columns to copy to the predictions, in addition to the schema's key.
            outputs: outputs of the model to keep; empty: all that are not constant.

        Returns:
            The predictions as a table of the same kind, a pandas frame with the same index; for
            files, an Arrow table.

        Raises:
            UserError: a column is missing, or training would reject a value.
        """
        if tables.is_files(data):
            config = load_data_config(self.path, {})
            files = find_files(tables.list_files(data), config.format, "data")
            return self._predict(files, config, columns, outputs)
        table = tables.to_arrow(data, "data")
        if self._description is None:
            from trainer.prediction.predictor import predict_rows

            rows = predict_rows(self._predictor, table.to_pylist())
            return tables.convert_like(data, pa.Table.from_pylist(rows))
        with tempfile.TemporaryDirectory(prefix="predict-") as folder:
            path = tables.write_table(table, Path(folder), "data")
            config = load_data_config(self.path, {"format": "parquet"})
            with tables.named_as("data", path):
                files = find_files([str(path)], "parquet", "data")
                result = self._predict(files, config, columns, outputs)
        return tables.convert_like(data, result)

    def _predict(
        self,
        files: Sequence[Any],
        config: config_lib.DataConfig,
        columns: Sequence[str],
        outputs: Sequence[str],
    ) -> pa.Table:
        from trainer.prediction.file_predictor import FilePredictor

        predictor = FilePredictor(self._predictor, config, columns, outputs)
        return pa.Table.from_batches([batch for file in files for batch in predictor.predict(file)])

    def close(self) -> None:
        """Frees the memory, and removes local copies. Afterwards the model cannot predict."""
        self._close()

    def __enter__(self) -> "LoadedModel":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def load(path: Union[str, Path], *, options: Optional[Mapping[str, Any]] = None) -> LoadedModel:
    """Loads a model that can predict.

    Args:
        path: folder of a job, on this machine or gs://; the newest export in its export/best,
            otherwise in export/final or export/latest, is loaded. Or the folder of one export; or
            that of an exporter, whose newest export is loaded.
        options: options of the section storage, for gs:// paths, such as
            {"storage.reader": "client"}.

    Returns:
        The model.

    Raises:
        UserError: there is no export, or this TensorFlow cannot load it.
    """
    name = str(path)
    estimator_bridge.set_verbosity("error")
    estimator_bridge.prefer_onednn()
    with ExitStack() as stack:
        copies = stack.enter_context(open_copies(options))
        export = fetch_export(name, "path", copies)
        model = LoadedModel(export, stack.pop_all())
    return model
