"""`tf.contrib.lookup`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import lookup_ops as _ops
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

# The same classes and functions as in 1.x, which live on in the library for tf.lookup and the
# feature columns.
HashTable = _ops.StaticHashTableV1
IdTableWithHashBuckets = _ops.IdTableWithHashBuckets
KeyValueTensorInitializer = _ops.KeyValueTensorInitializer
LookupInterface = _ops.LookupInterface
InitializableLookupTableBase = _ops.InitializableLookupTableBase
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


def index_table_from_tensor(
    mapping,
    num_oov_buckets=0,
    default_value=-1,
    hasher_spec=FastHashSpec,
    dtype=tf.string,
    name=None,
):
    """Returns a table from the strings (or integers) of `mapping` to their positions, int64."""
    return _ops.index_table_from_tensor(
        vocabulary_list=mapping,
        num_oov_buckets=num_oov_buckets,
        default_value=default_value,
        hasher_spec=hasher_spec,
        dtype=dtype,
        name=name,
    )


def index_to_string_table_from_tensor(mapping, default_value="UNK", name=None):
    """Returns a table from positions, int64, to the strings of `mapping`."""
    return _ops.index_to_string_table_from_tensor(
        vocabulary_list=mapping, default_value=default_value, name=name
    )


def string_to_index_table_from_file(
    vocabulary_file=None, num_oov_buckets=0, vocab_size=None, default_value=-1, name=None, **kwargs
):
    """The name that `index_table_from_file` had first."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, name=name, **kwargs
    )


def string_to_index_table_from_tensor(
    mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec, name=None
):
    """The name that `index_table_from_tensor` had first."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    """Maps int64 positions to the strings of `mapping`, through a table of its own."""
    table = index_to_string_table_from_tensor(mapping, default_value)
    return table.lookup(tensor, name=name)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    """Maps strings to their positions in `mapping`, int64, through a table of its own."""
    table = index_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name=name)
