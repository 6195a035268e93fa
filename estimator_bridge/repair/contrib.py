"""Operations of tf.contrib with an exact equivalent: buckets, beams and crosses.

No TensorFlow 2 has `BucketizeWithInputBoundaries` (graphs of early TensorFlow Transform),
`GatherTree` (beam search) and `SparseFeatureCross` (crossed columns of tf.contrib.layers).
"""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["definition", "make_compute"]

# Operation -> (name, type) of its inputs, then of its outputs. Instead of a type, there may be the
# name of an attribute with one or several types, or "*" and the type of each of N tensors.
_CROSS = (
    (("indices", "*int64"), ("values", "sparse_types"), ("shapes", "*int64"),
     ("dense", "dense_types")),
    (("output_indices", "int64"), ("output_values", "out_type"), ("output_shape", "int64")),
)  # fmt: skip
_ARGUMENTS = {
    "BucketizeWithInputBoundaries": (
        (("input", "T"), ("boundaries", "float32")),
        (("output", "int32"),),
    ),
    "GatherTree": (
        (("step_ids", "T"), ("parent_ids", "T"), ("max_sequence_lengths", "int32"),
         ("end_token", "T")),
        (("beams", "T"),),
    ),
    "SparseFeatureCross": _CROSS,
    "SparseFeatureCrossV2": _CROSS,
}  # fmt: skip
_LISTS = ("sparse_types", "dense_types")
_ATTRIBUTES = ("T", "out_type")


def definition(op: str) -> Any:
    """Returns inputs and outputs of an operation as an OpDef; None if it is not one of these.

    Args:
      op: the type of a node.
    """
    if op not in _ARGUMENTS:
        return None
    from tensorflow import as_dtype
    from tensorflow.core.framework import op_def_pb2

    found = op_def_pb2.OpDef(name=op)
    for arguments, target in zip(_ARGUMENTS[op], (found.input_arg, found.output_arg)):
        for name, kind in arguments:
            argument = target.add(name=name)
            if kind in _LISTS:
                argument.type_list_attr = kind
            elif kind in _ATTRIBUTES:
                argument.type_attr = kind
            else:
                argument.type = as_dtype(kind.lstrip("*")).as_datatype_enum
                argument.number_attr = "N" if kind.startswith("*") else ""
    return found


def make_compute(node: Any) -> Callable[..., list[Any]]:
    """Returns a function of the node's inputs that gives its outputs.

    Args:
      node: a NodeDef of one of these operations.
    """
    if node.op == "BucketizeWithInputBoundaries":
        return _bucketize
    if node.op == "GatherTree":
        from ..contrib_operations import gather_tree

        return lambda *inputs: [gather_tree(*map(_of_rank, inputs, (3, 3, 1, 0)))]
    return _make_cross(node)


def _of_rank(tensor: Any, rank: int) -> Any:
    import tensorflow as tf

    return tf.ensure_shape(tensor, [None] * rank)


def _bucketize(values: Any, boundaries: Any) -> list[Any]:
    """Returns how many boundaries are not above each value, compared in the type of the values.

    Like the operation, it refuses boundaries that are not sorted when it runs.
    """
    import tensorflow as tf

    edges = tf.reshape(tf.cast(boundaries, values.dtype), [-1])
    falls = tf.reduce_any(edges[1:] < edges[:-1])
    with tf.control_dependencies([tf.debugging.Assert(~falls, ["Expected sorted boundaries"])]):
        found = tf.searchsorted(edges, tf.reshape(values, [-1]), side="right")
    return [tf.reshape(found, tf.shape(values))]


def _make_cross(node: Any) -> Callable[..., list[Any]]:
    count = node.attr["N"].i
    hashed, buckets = node.attr["hashed_output"].b, node.attr["num_buckets"].i
    # Without a hash key, the hash is one of 1.x; SparseCross has the other, and joins texts alike.
    of_1x = node.op == "SparseFeatureCross" and hashed
    key, internal = node.attr["hash_key"].i, node.attr["internal_type"].type

    def compute(*inputs: Any) -> list[Any]:
        import tensorflow as tf

        from ..contrib_operations import cross

        ranks = [2] * count + [1] * (2 * count) + [2] * (len(inputs) - 3 * count)
        inputs = tuple(map(_of_rank, inputs, ranks))
        indices, values, shapes = (inputs[at * count : (at + 1) * count] for at in range(3))
        dense = inputs[3 * count :]
        if of_1x:
            crossed = cross([*map(tf.SparseTensor, indices, values, shapes), *dense], buckets)
            return [crossed.indices, crossed.values, crossed.dense_shape]
        found: Sequence[Any] = tf.raw_ops.SparseCross(
            indices=indices,
            values=values,
            shapes=shapes,
            dense_inputs=dense,
            hashed_output=hashed,
            num_buckets=buckets,
            hash_key=key,
            out_type=tf.int64 if hashed else tf.string,
            internal_type=internal,
        )
        return list(found)

    return compute
