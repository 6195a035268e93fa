"""`tf.contrib.slim.parallel_reader`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import lookup as _lookup

_READ = "read the records with tf.data.TFRecordDataset and tf.parse_single_example"

__getattr__, _advice_for = _lookup(
    globals(),
    {name: _READ for name in ("ParallelReader", "parallel_read", "single_pass_read")},
)


def get_data_files(data_sources):
    """Returns the files of a pattern, or of a list of patterns.

    Raises: ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [name for source in data_sources for name in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = tf.gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
