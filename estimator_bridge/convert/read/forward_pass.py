"""Exports the forward pass of any Estimator, to be wrapped as a Keras layer."""

import argparse
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.errors import BridgeError

from .canned import load_estimator
from .checkpoint import open_checkpoint
from .input_function import Feature, read_features
from .user_code import load_function

__all__ = ["ForwardPass", "export_forward_pass"]


class ForwardPass(NamedTuple):
    """An exported forward pass, in mode PREDICT.

    Attributes:
      export: folder of the SavedModel, whose signatures take the raw features by their keys.
      checkpoint: prefix of the checkpoint that it was made from.
      specs: name -> (shape, dtype) of the features that the outputs depend on; the first dimension
        of a shape, and those that differ between batches, are None.
      keys: name -> the argument of the signatures, because a feature may have any name.
    """

    export: str
    checkpoint: str
    specs: dict[str, tuple[tuple[Optional[int], ...], str]]
    keys: dict[str, str]


def export_forward_pass(options: argparse.Namespace, folder: str) -> ForwardPass:
    """Exports the Estimator that the options choose.

    Args:
      options: parsed options of convert, with --estimator and --input_fn.
      folder: folder below which the SavedModel is written.

    Raises:
      BridgeError: the Estimator or its rows cannot be read, or the model_fn fails in mode PREDICT.
    """
    built = load_estimator(options.estimator).estimator
    checkpoint = open_checkpoint(options.checkpoint or built.model_dir)
    features = read_features(load_function(options.input_fn, "--input_fn"))
    keys = {name: f"raw_{index}" for index, name in enumerate(features)}
    path = _export(built, checkpoint.path, features, keys, folder)
    read = _drop_unread_inputs(path)
    keys = {name: key for name, key in keys.items() if key in read}
    specs = {name: (features[name].shape, _dense_type(features[name])) for name in keys}
    return ForwardPass(path, checkpoint.path, specs, keys)


def _export(
    built: Any, checkpoint: str, features: dict[str, Feature], keys: dict[str, str], folder: str
) -> str:
    from estimator_bridge import estimator, tf

    # Of a graph with reference variables, which 1.x creates, a SavedModel has constants only.
    tf.compat.v1.enable_resource_variables()

    def receiver() -> Any:
        raw = {
            keys[name]: tf.compat.v1.placeholder(_dense_type(one), one.shape, name=keys[name])
            for name, one in features.items()
        }
        given = {name: _as_trained(tf, raw[keys[name]], one) for name, one in features.items()}
        return estimator.export.ServingInputReceiver(given, raw)

    try:
        path = built.export_saved_model(folder, receiver, checkpoint_path=checkpoint)
    except Exception as error:  # User code may raise anything.
        raise BridgeError(
            "model_fn: the export in mode PREDICT fails: "
            f"{str(error).strip().splitlines()[0][:300]}"
        ) from error
    return path.decode() if isinstance(path, bytes) else str(path)


def _dense_type(feature: Feature) -> str:
    """Returns the type of a feature as a padded tensor, which has room for the filler."""
    is_padded = feature.sparse or feature.ragged_rank
    has_room = not feature.dtype.startswith(("bool", "uint"))
    return feature.dtype if has_room or not is_padded else "int64"


def _as_trained(tf: Any, dense: Any, feature: Feature) -> Any:
    """Returns a padded feature as the kind of tensor that the input function returns."""
    if feature.sparse:
        where = tf.where(_is_value(tf, dense))
        shape = tf.shape(dense, out_type=tf.int64)
        values = tf.cast(tf.gather_nd(dense, where), feature.dtype)
        return tf.SparseTensor(where, values, shape)
    if feature.ragged_rank:
        ragged = _to_ragged(tf, dense, feature)
        return ragged.with_flat_values(tf.cast(ragged.flat_values, feature.dtype))
    return dense


def _is_value(tf: Any, dense: Any) -> Any:
    """Returns where a padded tensor is not the filler "", -1 or NaN."""
    if dense.dtype.is_floating:
        return tf.logical_not(tf.math.is_nan(dense))
    return tf.not_equal(dense, tf.constant("" if dense.dtype == tf.string else -1, dense.dtype))


def _to_ragged(tf: Any, dense: Any, feature: Feature) -> Any:
    """Inverts RaggedTensor.to_tensor with the filler "", -1 or NaN; a row ends at its last value.

    Args:
      tf: TensorFlow.
      dense: [rows, size of each ragged dimension, more dimensions].
      feature: a feature that is a RaggedTensor.
    """
    dtype = tf.as_dtype(feature.splits_dtype)
    inner = list(range(feature.ragged_rank + 1, dense.shape.rank))
    there = tf.reduce_any(_is_value(tf, dense), axis=inner) if inner else _is_value(tf, dense)
    lengths: list[Any] = []
    for _ in range(feature.ragged_rank):
        # Of each row, or of each list in a row: the place after the last one that has a value.
        places = tf.range(1, tf.shape(there, dtype)[-1] + 1, dtype=dtype)
        last = tf.reduce_max(tf.where(there, places, tf.zeros_like(there, dtype)), -1)
        lengths.insert(0, tf.maximum(last, 0))
        there = last > 0
    within = tf.ones_like(there, tf.bool)
    nested = []
    for sizes in lengths:
        nested.append(tf.boolean_mask(sizes, within))
        most = tf.shape(dense, dtype)[within.shape.rank]
        within = within[..., None] & tf.sequence_mask(sizes, most)
    return tf.RaggedTensor.from_nested_row_lengths(tf.boolean_mask(dense, within), nested)


def _drop_unread_inputs(export: str) -> set[str]:
    """Removes the inputs that no output depends on; returns the keys of the others.

    An input function also returns what only the training reads, such as weights of rows, and keys
    that nothing reads. A caller of the Keras model does not have them.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    file = Path(export) / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    (graph,) = saved.meta_graphs
    signatures = list(graph.signature_def.values())
    sources = {node.name: node.input for node in graph.graph_def.node}
    read: set[str] = set()
    waiting = [info.name for one in signatures for info in one.outputs.values()]
    while waiting:
        node = _node(waiting.pop())
        if node not in read:
            read.add(node)
            waiting.extend(sources[node])
    names = {
        name for one in signatures for name, info in one.inputs.items() if _node(info.name) in read
    }
    if not names:
        raise BridgeError("model_fn: in mode PREDICT, its predictions depend on no feature")
    for one in signatures:
        for name in set(one.inputs) - names:
            del one.inputs[name]
    file.write_bytes(saved.SerializeToString())
    return names


def _node(tensor: str) -> str:
    return tensor.lstrip("^").partition(":")[0]
