"""Makes pandas_input_fn accept the text columns of pandas 3. TensorFlow 2.16 and later.

pandas 3 has its own dtype for text columns, which NumPy does not know. The queues behind
pandas_input_fn expect `object`, which was the dtype of text columns before pandas 3.
"""

import sys
from typing import Any

from ..process.importing import call_when_imported

__all__ = ["apply"]

_QUEUES = "tensorflow_estimator.python.estimator.inputs.queues.feeding_functions"


def apply() -> None:
    """Makes the queues convert text columns to `object`, once they are imported."""
    call_when_imported(_QUEUES, _wrap)


def _wrap() -> None:
    module: Any = sys.modules[_QUEUES]
    enqueue = module._enqueue_data

    def _enqueue_data(data, *args, **kwargs):
        if module.HAS_PANDAS and isinstance(data, module.pd.DataFrame):
            text = {
                name: object
                for name, dtype in data.dtypes.items()
                if isinstance(dtype, module.pd.StringDtype)
            }
            data = data.astype(text) if text else data
        return enqueue(data, *args, **kwargs)

    module._enqueue_data = _enqueue_data
