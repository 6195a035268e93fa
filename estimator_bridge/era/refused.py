"""Names of TensorFlow 2.0 to 2.15 that are not supplied, each with what to do instead."""

from ..tf1.unsupported import StandIn

__all__ = ["REFUSED", "build"]

_STATISTICS = "the service of tf.data that filled it is gone; use TensorFlow's profiler"
_LITE_CELLS = "use tf.keras.layers.LSTM or SimpleRNN, which tf.lite.TFLiteConverter fuses by itself"
_INTERNAL = "it was TensorFlow's own and has no public successor; keep what you need in the program"
_THEANO = "remove it; it converted the kernels of Theano, which Keras has not used since 2.4"
_POOLS = "remove it; each training ends its own processes"
_CROSSING = (
    "use tf.keras.layers.HashedCrossing, or tf.strings.join of the columns before StringLookup"
)

# Path below `tensorflow` -> remedy.
REFUSED = {
    "__internal__.function.defun_with_attributes": _INTERNAL,
    "__internal__.register_load_context_function": _INTERNAL,
    "__internal__.saved_model.StructureCoder": _INTERNAL,
    "__internal__.tracking.TrackableSaver": _INTERNAL,
    "compat.v1.data.experimental.StatsAggregator": _STATISTICS,
    "compat.v1.keras.__internal__.layers.BaseImageAugmentationLayer": _INTERNAL,
    "compat.v1.keras.experimental.terminate_keras_multiprocessing_pools": _POOLS,
    "compat.v1.keras.layers.experimental.preprocessing.CategoryCrossing": _CROSSING,
    "compat.v1.keras.utils.convert_all_kernels_in_model": _THEANO,
    "compat.v1.lite.experimental.get_potentially_supported_ops": (
        "convert the model: tf.lite.TFLiteConverter names the operations that it does not support"
    ),
    "compat.v1.lite.experimental.nn.TFLiteLSTMCell": _LITE_CELLS,
    "compat.v1.lite.experimental.nn.TfLiteRNNCell": _LITE_CELLS,
    "compat.v1.lite.experimental.nn.dynamic_rnn": _LITE_CELLS,
    "data.experimental.StatsAggregator": _STATISTICS,
    "keras.__internal__.layers.BaseImageAugmentationLayer": _INTERNAL,
    "keras.__internal__.utils.layer_test": _INTERNAL,
    "keras.experimental.terminate_keras_multiprocessing_pools": _POOLS,
    "keras.layers.experimental.preprocessing.CategoryCrossing": _CROSSING,
    "keras.utils.convert_all_kernels_in_model": _THEANO,
    "types.experimental.TracingContext": _INTERNAL,
}


class _Refused(StandIn):
    """Raises NotSuppliedError when it is used; importing it is no use.

    Args:
      symbol: its full name, such as tf.keras.utils.HDF5Matrix.
      advice: what to do instead.
    """

    def __init__(self, symbol: str, advice: str):
        super().__init__(symbol, advice)
        self.__dict__["_message"] = f"{symbol} is not supplied on this TensorFlow: {advice}."


def build(path: str) -> StandIn:
    """Returns what a program gets for a refused name.

    Args:
      path: one of REFUSED.
    """
    return _Refused(f"tf.{path}", REFUSED[path])
