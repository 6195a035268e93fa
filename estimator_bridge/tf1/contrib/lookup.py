"""`tf.contrib.lookup`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import lookup_ops as _ops
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

# The classes and functions of 1.x, which TensorFlow keeps for tf.lookup and feature columns.
IdTableWithHashBuckets = _ops.IdTableWithHashBuckets
KeyValueTensorInitializer = _ops.KeyValueTensorInitializer
LookupInterface = _ops.LookupInterface
InitializableLookupTableBase = _ops.InitializableLookupTableBase
TableInitializerBase = _ops.TableInitializerBase
MutableHashTable = _ops.MutableHashTable
MutableDenseHashTable = _ops.DenseHashTable
TextFileIdTableInitializer = _ops.TextFileIdTableInitializer
TextFileIndex = _ops.TextFileIndex
TextFileInitializer = _ops.TextFileInitializer
TextFileStringTableInitializer = _ops.TextFileStringTableInitializer
HasherSpec = _ops.HasherSpec
FastHashSpec = _ops.FastHashSpec
StrongHashSpec = _ops.StrongHashSpec
index_table_from_file = _ops.index_table_from_file
index_to_string_table_from_file = _ops.index_to_string_table_from_file


class HashTable(_ops.StaticHashTableV1):
    """A table that is filled once, when the tables are initialized.

    Args:
      initializer: initializer of the table, such as KeyValueTensorInitializer.
      default_value: value of unknown keys.
      shared_name: name under which several sessions share the table, or None.
      name: name of the operations.
    """

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        self._given_name = shared_name
        super().__init__(initializer, default_value, name=name)

    def _create_resource(self):
        if self._given_name is not None:
            self._shared_name = self._given_name
        return super()._create_resource()

    @property
    def init(self):
        """The operation that fills the table."""
        return self.initializer


def index_table_from_tensor(
    mapping,
    num_oov_buckets=0,
    default_value=-1,
    hasher_spec=FastHashSpec,
    dtype=tf.string,
    name=None,
):
    """Returns a table from values to their positions.

    Args:
      mapping: string or integer tensor [size].
      num_oov_buckets: int, number of out-of-vocabulary buckets.
      default_value: value of unknown keys.
      hasher_spec: hash function of the out-of-vocabulary buckets.
      dtype: dtype of the keys.
      name: name of the operations.

    Returns:
      Lookup table with int64 values.
    """
    return _ops.index_table_from_tensor(
        vocabulary_list=mapping,
        num_oov_buckets=num_oov_buckets,
        default_value=default_value,
        hasher_spec=hasher_spec,
        dtype=dtype,
        name=name,
    )


def index_to_string_table_from_tensor(mapping, default_value="UNK", name=None):
    """Returns a table from positions to strings.

    Args:
      mapping: string tensor [size].
      default_value: value of unknown keys.
      name: name of the operations.

    Returns:
      Lookup table with int64 keys.
    """
    return _ops.index_to_string_table_from_tensor(
        vocabulary_list=mapping, default_value=default_value, name=name
    )


def string_to_index_table_from_file(
    vocabulary_file=None,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=FastHashSpec,
    name=None,
):
    """Returns a table from the lines of a file to their positions; old name.

    Args:
      vocabulary_file: path of a text file with one value per line.
      num_oov_buckets: int, number of out-of-vocabulary buckets.
      vocab_size: int, number of lines that count; None for all.
      default_value: value of unknown keys.
      hasher_spec: hash function of the out-of-vocabulary buckets.
      name: name of the operations.

    Returns:
      Lookup table with int64 values.
    """
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec, name=None
):
    """Returns a table from strings to their positions; old name of `index_table_from_tensor`.

    Args:
      mapping: string tensor [size].
      num_oov_buckets: int, number of out-of-vocabulary buckets.
      default_value: value of unknown keys.
      hasher_spec: hash function of the out-of-vocabulary buckets.
      name: name of the operations.

    Returns:
      Lookup table with int64 values.
    """
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    """Maps positions to strings, through a new table.

    Args:
      tensor: int64 tensor.
      mapping: string tensor [size].
      default_value: value of unknown keys.
      name: name of the operations.

    Returns:
      String tensor of the shape of `tensor`.
    """
    table = index_to_string_table_from_tensor(mapping, default_value)
    return table.lookup(tensor, name=name)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    """Maps strings to positions, through a new table.

    Args:
      tensor: string tensor.
      mapping: string tensor [size].
      default_value: value of unknown keys.
      name: name of the operations.

    Returns:
      int64 tensor of the shape of `tensor`.
    """
    table = index_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name=name)
