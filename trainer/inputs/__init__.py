"""Files to tf.data: CSV, TFRecord and Parquet through one reader of chunks."""

from trainer.inputs.arrow import defer_pandas

defer_pandas()
