"""`tf.keras.layers.experimental.preprocessing` as it was until TensorFlow 2.5.

Ids of words, boundaries of buckets and shapes were other ones: with today's layers, a restored
model would read other rows of its embeddings, and nothing would say so.
"""

import importlib
from collections.abc import Callable
from typing import Any

from ..errors import BridgeError

__all__ = ["NAMES", "REPLACED_IN", "build"]

# The first TensorFlow with today's layers.
REPLACED_IN = (2, 6)
# From 2.5 on, the arguments have today's names.
_RENAMED_IN = (2, 5)
# In 2.4 and 2.5, a value on a boundary is in the bucket below it.
_CLOSED_ABOVE_SINCE = (2, 4)
NAMES = (
    *("CategoryEncoding", "Discretization", "Hashing", "IntegerLookup", "Normalization"),
    *("StringLookup", "TextVectorization"),
)
_RENAMED = {
    "CategoryEncoding": {"max_tokens": "num_tokens"},
    "Discretization": {"bins": "bin_boundaries"},
    "IntegerLookup": {
        "max_values": "max_tokens",
        "mask_value": "mask_token",
        "oov_value": "oov_token",
    },
}
_RENAMED_OF_VOCABULARIES = {"vocab": "vocabulary", "df_data": "idf_weights"}
# Arguments that were given by place, where today's order is another one.
_ORDER = {
    "Hashing": ("num_bins", "salt", "name"),
    "IntegerLookup": (
        *("max_values", "num_oov_indices", "mask_value", "oov_value", "vocabulary", "invert"),
    ),
    "Normalization": ("axis", "dtype"),
    "StringLookup": (
        *("max_tokens", "num_oov_indices", "mask_token", "oov_token", "vocabulary", "encoding"),
        "invert",
    ),
}


def build(keras: str, version: tuple[int, int]) -> dict[str, type]:
    """Returns the layers by name.

    Args:
      keras: the package of Keras 2.
      version: (major, minor), before REPLACED_IN.
    """
    layers = importlib.import_module(f"{keras}.src.layers")
    is_oldest = version < _RENAMED_IN
    kinds = {name: getattr(layers, name) for name in NAMES}
    kinds["CategoryEncoding"] = _encode_each_row(kinds["CategoryEncoding"])
    if version >= _CLOSED_ABOVE_SINCE:
        kinds["Discretization"] = _close_buckets_above(kinds["Discretization"])
    defaults: dict[str, dict[str, Any]] = {
        "IntegerLookup": {"mask_token": 0},
        "StringLookup": {"mask_token": ""},
        "TextVectorization": {"pad_to_max_tokens": True} if is_oldest else {},
    }
    return {
        name: _derive(
            kind,
            defaults.get(name, {}),
            _RENAMED.get(name, {}) if is_oldest else {},
            _ORDER.get(name, ()) if is_oldest else (),
        )
        for name, kind in kinds.items()
    }


def _derive(
    kind: Any, defaults: dict[str, Any], renamed: dict[str, str], order: tuple[str, ...]
) -> type:
    """Returns a layer that takes the arguments of its time.

    Args:
      kind: today's class.
      defaults: argument, by today's name -> its default then.
      renamed: argument -> today's name.
      order: the arguments by place, if their order was another one.
    """

    def initialize(layer: Any, *arguments: Any, **options: Any) -> None:
        if order:
            options.update(zip(order, arguments))
            arguments = arguments[len(order) :]
        options = {renamed.get(name, name): value for name, value in options.items()}
        given = {**defaults, **options}
        if not arguments and given.get("max_tokens") is None:
            # Without a size there is nothing to fill up to.
            given.pop("pad_to_max_tokens", None)
        kind.__init__(layer, *arguments, **given)

    def adapt(layer: Any, data: Any, reset_state: bool = True, **options: Any) -> None:
        if not reset_state:
            raise BridgeError(
                f"{kind.__name__}.adapt(reset_state=False) is not supplied on this TensorFlow: "
                "adapt the layer once, to a dataset of all the data"
            )
        kind.adapt(layer, data, **options)

    def set_vocabulary(layer: Any, *arguments: Any, **options: Any) -> None:
        renamed = _RENAMED_OF_VOCABULARIES
        options = {renamed.get(name, name): value for name, value in options.items()}
        kind.set_vocabulary(layer, *arguments, **options)

    members: dict[str, Callable[..., None]] = {"__init__": initialize}
    for member in (adapt, set_vocabulary):
        if hasattr(kind, member.__name__):
            members[member.__name__] = member
    return type(kind)(kind.__name__, (kind,), {**members, "__doc__": kind.__doc__})


def _encode_each_row(kind: Any) -> Any:
    """Returns CategoryEncoding as it was: a vector contains one number of each row."""
    import tensorflow as tf

    class CategoryEncoding(kind):
        def call(self, inputs: Any, count_weights: Any = None) -> Any:
            inputs = inputs if hasattr(inputs, "dtype") else tf.convert_to_tensor(inputs)
            if len(inputs.shape) == 1:
                expand = tf.sparse.expand_dims if hasattr(inputs, "indices") else tf.expand_dims
                inputs = expand(inputs, 1)
            return super().call(inputs, count_weights=count_weights)

    return CategoryEncoding


def _close_buckets_above(kind: Any) -> Any:
    """Returns Discretization as it was: a value on a boundary is in the bucket below it."""
    import tensorflow as tf

    def find(values: Any, boundaries: Any) -> Any:
        flat = tf.reshape(tf.cast(values, tf.float32), [-1])
        found = tf.searchsorted(tf.constant(boundaries, tf.float32), flat, side="left")
        return tf.reshape(found, tf.shape(values))

    class Discretization(kind):
        def call(self, inputs: Any) -> Any:
            if isinstance(inputs, tf.RaggedTensor):
                return tf.ragged.map_flat_values(find, inputs, self.bin_boundaries)
            if isinstance(inputs, tf.SparseTensor):
                return inputs.with_values(find(inputs.values, self.bin_boundaries))
            return find(inputs, self.bin_boundaries)

    return Discretization
