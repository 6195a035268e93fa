"""Reads CSV, TFRecord and Parquet files as tf.data datasets, through one common reader."""

from trainer.inputs.arrow import defer_pandas

defer_pandas()
