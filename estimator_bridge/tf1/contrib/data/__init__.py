"""`tf.contrib.data`, which moved to tf.data and tf.data.experimental."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.data import transformations as _transformations
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "CheckpointInputPipelineHook": (
            "it needs tf.estimator inside of TensorFlow; seed the shuffle by the global step "
            "instead"
        ),
        "StatsAggregator": "statistics of input pipelines left TensorFlow; use the profiler",
        "latency_stats": "statistics of input pipelines left TensorFlow; use the profiler",
        "set_stats_aggregator": "statistics of input pipelines left TensorFlow; use the profiler",
    },
)

_experimental = tf.data.experimental

AUTOTUNE = _experimental.AUTOTUNE
Counter = _experimental.Counter
CsvDataset = _experimental.CsvDataset
Optional = _experimental.Optional
RandomDataset = _experimental.RandomDataset
Reducer = _experimental.Reducer
SqlDataset = _experimental.SqlDataset
TFRecordWriter = _experimental.TFRecordWriter
bucket_by_sequence_length = _experimental.bucket_by_sequence_length
choose_from_datasets = _experimental.choose_from_datasets
copy_to_device = _experimental.copy_to_device
dense_to_sparse_batch = _experimental.dense_to_sparse_batch
enumerate_dataset = _experimental.enumerate_dataset
get_next_as_optional = _experimental.get_next_as_optional
get_single_element = _experimental.get_single_element
group_by_reducer = _experimental.group_by_reducer
group_by_window = _experimental.group_by_window
ignore_errors = _experimental.ignore_errors
make_batched_features_dataset = _experimental.make_batched_features_dataset
make_csv_dataset = _experimental.make_csv_dataset
make_saveable_from_iterator = _experimental.make_saveable_from_iterator
map_and_batch = _experimental.map_and_batch
parallel_interleave = _experimental.parallel_interleave
parse_example_dataset = _experimental.parse_example_dataset
prefetch_to_device = _experimental.prefetch_to_device
rejection_resample = _experimental.rejection_resample
sample_from_datasets = _experimental.sample_from_datasets
scan = _experimental.scan
shuffle_and_repeat = _experimental.shuffle_and_repeat
unbatch = _experimental.unbatch
unique = _experimental.unique

if hasattr(_experimental, "CheckpointInputPipelineHook"):
    # TensorFlow 2.15 to 2.20.
    CheckpointInputPipelineHook = _experimental.CheckpointInputPipelineHook

Dataset = _transformations.Dataset
FixedLengthRecordDataset = tf.data.FixedLengthRecordDataset
Iterator = tf.data.Iterator
TFRecordDataset = tf.data.TFRecordDataset
TextLineDataset = tf.data.TextLineDataset

assert_element_shape = _transformations.assert_element_shape
batch_and_drop_remainder = _transformations.batch_and_drop_remainder
padded_batch_and_drop_remainder = _transformations.padded_batch_and_drop_remainder
read_batch_features = _transformations.read_batch_features
reduce_dataset = _transformations.reduce_dataset
sliding_window_batch = _transformations.sliding_window_batch
sloppy_interleave = _transformations.sloppy_interleave
