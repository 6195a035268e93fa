"""Elements of a generator as arrays, joined into a few arrays, and split in the graph."""

import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import data_nest, script_ops
from estimator_bridge.tf1.generators.reader import Element

__all__ = ["Layout", "SUPPORTED"]

# Types with a NumPy type of their own.
SUPPORTED = frozenset(
    [
        *(tf.bool, tf.string, tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128),
        *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    ]
)
# What NumPy always copies.
_COPIED = frozenset([bool, int, float, complex, str, bytes, list, tuple])


class _Component(NamedTuple):
    """One component of the elements.

    Attributes:
      dtype: its type.
      numpy_dtype: the NumPy type.
      shape: its static shape.
      dims: the dimensions, None where unknown; None for an unknown rank.
      fixed: whether all dimensions are known.
    """

    dtype: tf.DType
    numpy_dtype: Any
    shape: tf.TensorShape
    dims: Any
    fixed: bool


def _describe(spec: tf.TensorSpec) -> _Component:
    dims = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    fixed = spec.shape.is_fully_defined()
    return _Component(spec.dtype, spec.dtype.as_numpy_dtype, spec.shape, dims, fixed)


class Layout:
    """The structure, types and shapes of the elements of a dataset.

    Args:
      signature: a structure of tf.TensorSpec with SUPPORTED types.
    """

    def __init__(self, signature: Any):
        flat = data_nest.flatten(signature)
        self.types = data_nest.pack_sequence_as(signature, [spec.dtype for spec in flat])
        self.components = [_describe(spec) for spec in flat]
        self._signature = signature

    def to_arrays(self, value: Any, copy: bool = False) -> list[np.ndarray]:
        """Returns the arrays of an element, one for each component.

        Args:
          value: what the generator yielded.
          copy: whether later changes of the generator's arrays must not reach these.

        Raises:
          TypeError: it has another structure, type or shape.
        """
        flat: list = []
        if not _flatten(self.types, value, flat):
            try:
                flat = data_nest.flatten_up_to(self.types, value)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    "`generator` yielded an element that did not match the expected structure. "
                    f"The expected structure was {self.types}, but the yielded element was {value}."
                ) from error
        arrays = [_to_array(one, part, copy) for one, part in zip(flat, self.components)]
        for array, part in zip(arrays, self.components):
            _check(array, part)
        return arrays

    def to_element(self, value: Any) -> Element:
        """Returns an element that later changes of the generator's arrays do not reach.

        Args:
          value: what the generator yielded.

        Raises:
          TypeError: it has another structure, type or shape.
        """
        arrays = self.to_arrays(value, copy=True)
        size, ranks, alone = 0, [], False
        for array, part in zip(arrays, self.components):
            size += array.nbytes
            if part.dims is None:
                ranks.append(array.ndim)
            if part.numpy_dtype is np.object_:
                words = array.ravel().tolist()
                alone = alone or not _are_strings(words)
                size += 0 if alone else sum(map(len, words))
        # TensorFlow refuses an element whose texts are no texts: it must be an element alone.
        return Element(arrays, object() if alone else tuple(ranks), size)

    def join(self, elements: list[Element]) -> list[np.ndarray]:
        """Returns the arrays for `split`.

        Args:
          elements: at least one, of one form.
        """
        joined: list[np.ndarray] = []
        for index, part in enumerate(self.components):
            arrays = [element.arrays[index] for element in elements]
            if part.fixed:
                joined.append(np.stack(arrays) if len(arrays) > 1 else arrays[0][np.newaxis])
                continue
            sizes = np.array([array.size for array in arrays], np.int64)
            flat = [array.reshape(-1) for array in arrays]
            joined.append(np.concatenate(flat) if len(flat) > 1 else flat[0])
            joined.append((np.cumsum(sizes) - sizes)[:, np.newaxis])
            joined.append(sizes[:, np.newaxis])
            if part.dims is None or len(part.dims) != 1:
                joined.append(np.array([array.shape for array in arrays], np.int64))
        return joined

    @property
    def joined_types(self) -> list[tf.DType]:
        """The types of the arrays that `join` returns."""
        types: list[tf.DType] = []
        for part in self.components:
            types.append(part.dtype)
            if not part.fixed:
                one_dimension = part.dims is not None and len(part.dims) == 1
                types += [tf.int64] * (2 if one_dimension else 3)
        return types

    @tf.autograph.experimental.do_not_convert
    def split(self, *tensors: tf.Tensor) -> tf.data.Dataset:
        """Returns the dataset of the single elements.

        Args:
          *tensors: what `join` returned, as tensors.
        """
        waiting = list(tensors)
        whole: list = []
        rows: list = []
        for part in self.components:
            first = waiting.pop(0)
            if part.fixed:
                first.set_shape([None, *part.dims])
                rows.append((first,))
                whole.append(None)
                continue
            first.set_shape([None])
            one_dimension = part.dims is not None and len(part.dims) == 1
            places = [waiting.pop(0) for _ in range(2 if one_dimension else 3)]
            for place in places[:2]:
                place.set_shape([None, 1])
            if not one_dimension:
                places[2].set_shape([None, None if part.dims is None else len(part.dims)])
            rows.append(tuple(places))
            whole.append(first)
        slices = tf.data.Dataset.from_tensor_slices
        if not any(one is not None for one in whole):
            return slices(self.pack([row[0] for row in rows]))
        return slices(tuple(rows)).map(functools.partial(self._cut, whole))

    @tf.autograph.experimental.do_not_convert
    def _cut(self, whole: list, *rows: Any) -> Any:
        found = []
        for part, values, places in zip(self.components, whole, rows):
            if values is None:
                found.append(places[0])
                continue
            one = tf.slice(values, places[0], places[1])
            if len(places) == 3:
                one = tf.reshape(one, places[2])
            one.set_shape(part.shape)
            found.append(one)
        return self.pack(found)

    def pack(self, flat: list) -> Any:
        """Returns components in the structure of the elements.

        Args:
          flat: one for each component.
        """
        return data_nest.pack_sequence_as(self._signature, flat)


def _flatten(structure: Any, value: Any, flat: list) -> bool:
    """Appends the components of a value of plain tuples and dicts; returns whether it is one."""
    if type(structure) is tuple:
        return (
            type(value) is tuple
            and len(value) == len(structure)
            and all(_flatten(part, one, flat) for part, one in zip(structure, value))
        )
    if type(structure) is dict:
        return (
            type(value) is dict
            and value.keys() == structure.keys()
            and all(_flatten(structure[key], value[key], flat) for key in sorted(structure))
        )
    if not isinstance(structure, tf.DType):
        return False
    flat.append(value)
    return True


def _to_array(value: Any, part: _Component, copy: bool) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype == part.numpy_dtype and value.flags.c_contiguous:
        return value.copy() if copy else value
    try:
        array = script_ops.FuncRegistry._convert(value, dtype=part.numpy_dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. "
            f"The expected type was {part.dtype.name}, but the yielded element was {value}."
        ) from error
    return array.copy() if copy and type(value) not in _COPIED else array


def _check(array: np.ndarray, part: _Component) -> None:
    if array.dtype != part.numpy_dtype:
        raise TypeError(
            f"`generator` yielded an element of type {array.dtype} where an element of type "
            f"{part.numpy_dtype} was expected."
        )
    if part.dims is None:
        return
    if len(part.dims) != array.ndim or any(
        one is not None and one != found for one, found in zip(part.dims, array.shape)
    ):
        raise TypeError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{part.shape} was expected."
        )


def _are_strings(words: list) -> bool:
    """Returns whether TensorFlow accepts all of some values as strings."""
    kinds = set(map(type, words))
    if kinds <= {bytes}:
        return True
    if kinds != {str}:
        return False
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return False
    return True
