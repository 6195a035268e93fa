"""Initializers of `tf.contrib.framework` from a matrix of a checkpoint with another vocabulary."""

from estimator_bridge.private_tf import checkpoint_ops as _checkpoint_ops

__all__ = [
    "load_and_remap_matrix_initializer",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable_slot_initializer",
]

load_and_remap_matrix_initializer = _checkpoint_ops._load_and_remap_matrix_initializer
load_embedding_initializer = _checkpoint_ops._load_embedding_initializer


def load_linear_multiclass_bias_initializer(
    ckpt_path,
    bias_tensor_name,
    new_class_vocab_size,
    old_class_vocab_file,
    new_class_vocab_file,
    num_class_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """Returns an initializer of the biases of classes, from a checkpoint with other classes.

    Args:
      ckpt_path: prefix of the checkpoint.
      bias_tensor_name: name of the biases [old classes, 1] in it.
      new_class_vocab_size: int, number of new classes.
      old_class_vocab_file: path of a text file, one old class per line.
      new_class_vocab_file: path of a text file, one new class per line.
      num_class_oov_buckets: int, number of out-of-vocabulary classes.
      initializer: initializer of the biases of classes that are not in the checkpoint; None for
        zeros.
      max_rows_in_memory: int, rows read at once; 0 or less for all.

    Returns:
      Initializer of a variable [new_class_vocab_size + num_class_oov_buckets, 1].

    Raises:
      TypeError: the initializer is not callable.
    """
    return load_and_remap_matrix_initializer(
        *(ckpt_path, bias_tensor_name, new_class_vocab_size, 1),
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_variable_slot_initializer(
    ckpt_path,
    old_tensor_name,
    primary_partition_info,
    new_row_vocab_size,
    new_col_vocab_size,
    old_row_vocab_file=None,
    new_row_vocab_file=None,
    old_col_vocab_file=None,
    new_col_vocab_file=None,
    num_row_oov_buckets=0,
    num_col_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """Returns an initializer of a slot of an optimizer, from a checkpoint with other vocabularies.

    A slot is created without the partitioning of its variable, which is therefore given.

    Args:
      ckpt_path: prefix of the checkpoint.
      old_tensor_name: name of the slot [old rows, old columns] in it.
      primary_partition_info: the partition info with which the variable's initializer was called.
      new_row_vocab_size: int, number of new rows.
      new_col_vocab_size: int, number of new columns.
      old_row_vocab_file: path of a text file, one old row per line; None for no remapping.
      new_row_vocab_file: path of a text file, one new row per line; None for no remapping.
      old_col_vocab_file: path of a text file, one old column per line; None for no remapping.
      new_col_vocab_file: path of a text file, one new column per line; None for no remapping.
      num_row_oov_buckets: int, number of out-of-vocabulary rows.
      num_col_oov_buckets: int, number of out-of-vocabulary columns.
      initializer: initializer of values that are not in the checkpoint; None for zeros.
      max_rows_in_memory: int, rows read at once; 0 or less for all.

    Returns:
      Initializer of the slot.

    Raises:
      TypeError: the initializer is not callable.
    """
    load = load_and_remap_matrix_initializer(
        *(ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size),
        old_row_vocab_file=old_row_vocab_file,
        new_row_vocab_file=new_row_vocab_file,
        old_col_vocab_file=old_col_vocab_file,
        new_col_vocab_file=new_col_vocab_file,
        num_row_oov_buckets=num_row_oov_buckets,
        num_col_oov_buckets=num_col_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )

    def initialize(shape, dtype, partition_info=None):
        return load(shape, dtype, partition_info=primary_partition_info)

    return initialize
