"""Lets pandas_input_fn take strings as pandas 3 keeps them. TensorFlow 2.16 and later.

pandas 3 gives columns of text a dtype of their own, which is none of NumPy's; the queues behind
pandas_input_fn know `object`, which such columns had before.
"""

import sys

from ..process.importing import call_when_imported

__all__ = ["apply"]

_QUEUES = "tensorflow_estimator.python.estimator.inputs.queues.feeding_functions"


def apply() -> None:
    """Has text columns turned to `object` on their way into the queues, once those are imported."""
    call_when_imported(_QUEUES, _wrap)


def _wrap() -> None:
    module = sys.modules[_QUEUES]
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
