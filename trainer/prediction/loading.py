"""Loads an export once a process, for all of its threads."""

import atexit
import contextlib
import functools
import threading

from trainer import storage
from trainer.export.choose import fetch_export
from trainer.prediction.predictor import Predictor
from trainer.prediction.table_predictor import TablePredictor

# A cache of functools may compute a value in several threads.
_loading = threading.RLock()


def load(export: str) -> Predictor:
    """Returns an export, which each process loads once.

    Args:
        export: its folder, on this machine or gs://.

    Raises:
        UserError: it cannot be loaded.
    """
    with _loading:
        return _load(export)


@functools.cache
def _load(export: str) -> Predictor:
    import estimator_bridge as bridge

    bridge.set_verbosity("error")
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    copies = stack.enter_context(storage.open_copies(storage.current_settings()))
    return Predictor(fetch_export(export, "--export", copies))


def load_for_tables(
    export: str, columns: tuple[str, ...], outputs: tuple[str, ...]
) -> TablePredictor:
    """Returns a predictor of record batches, which each process makes once.

    Args:
        export: folder of the export, on this machine or gs://.
        columns: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all that are not constant.

    Raises:
        UserError: it cannot be loaded, or a column or an output does not exist.
    """
    with _loading:
        return _load_for_tables(export, columns, outputs)


@functools.cache
def _load_for_tables(
    export: str, columns: tuple[str, ...], outputs: tuple[str, ...]
) -> TablePredictor:
    return TablePredictor(load(export), columns, outputs)
