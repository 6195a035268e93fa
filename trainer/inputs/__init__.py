"""Data files as tf.data datasets: CSV, TFRecord and Parquet through one reader."""

from trainer.inputs.arrow import defer_pandas

defer_pandas()
