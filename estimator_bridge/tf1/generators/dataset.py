"""The dataset of a generator: many elements from one call of Python, split in the graph."""

from typing import Any, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import data_nest, from_generator_op, ops
from estimator_bridge.tf1.generators.elements import SUPPORTED, Layout
from estimator_bridge.tf1.generators.iterators import Iterators

__all__ = ["build"]

# These functions build graphs as they are.
_do_not_convert = tf.autograph.experimental.do_not_convert


def build(max_elements: int, arguments: tuple) -> Any:
    """Returns what `Dataset.from_generator` returns, or None if only TensorFlow can.

    Args:
      max_elements: how many elements are read ahead at most.
      arguments: generator, output_types, output_shapes, args, output_signature and name, as of
        `Dataset.from_generator`.
    """
    generator, output_types, output_shapes, args, output_signature, name = arguments
    try:
        signature = _find_signature(output_types, output_shapes, output_signature)
    except (TypeError, ValueError):
        return None
    specs = data_nest.flatten(signature)
    if not callable(generator) or not specs or not all(map(_is_simple, specs)):
        return None
    layout = Layout(signature)
    iterators = Iterators(generator, layout, max_elements)
    given = () if args is None else tuple(ops.convert_n_to_tensor(args, name="args"))
    single_types = [spec.dtype for spec in specs]

    @_do_not_convert
    def take_many(number: tf.Tensor) -> Any:
        return tuple(tf.numpy_function(iterators.take_many, [number], layout.joined_types))

    @_do_not_convert
    def take_one(number: tf.Tensor) -> Any:
        found = tf.numpy_function(iterators.take_one, [number], single_types)
        for tensor, spec in zip(found, specs):
            tensor.set_shape(spec.shape)
        return layout.pack(list(found))

    @_do_not_convert
    def begin(_: tf.Tensor) -> Any:
        number = tf.numpy_function(iterators.open, given, tf.int64)
        number.set_shape([])
        joined = tuple(tf.TensorSpec(None, dtype) for dtype in layout.joined_types)
        many = _calls(number, take_many, iterators.end_many, joined, name)
        one = _calls(number, take_one, iterators.end_one, signature, name)
        return many.flat_map(layout.split).concatenate(one)

    # A new pass for each iterator, and for each repetition.
    return tf.compat.v2.data.Dataset.from_tensors(0, name=name).flat_map(begin, name=name)


def _find_signature(output_types: Any, output_shapes: Any, output_signature: Any) -> Any:
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            return ()
        return output_signature
    if output_types is None:
        return ()
    if output_shapes is None:
        return data_nest.map_structure(lambda dtype: tf.TensorSpec(None, dtype), output_types)
    return data_nest.map_structure_up_to(
        output_types, lambda dtype, shape: tf.TensorSpec(shape, dtype), output_types, output_shapes
    )


def _is_simple(spec: Any) -> bool:
    return type(spec) is tf.TensorSpec and spec.dtype in SUPPORTED and spec.name is None


def _calls(number: tf.Tensor, take: Any, end: Any, signature: Any, name: Optional[str]) -> Any:
    """Returns the dataset of what `take(number)` gives until it raises StopIteration."""
    return from_generator_op._GeneratorDataset(
        number,
        _do_not_convert(lambda number: number),
        take,
        _do_not_convert(lambda number: tf.numpy_function(end, [number], tf.int64)),
        signature,
        name=name,
    )
