"""Files to tf.data: CSV, TFRecord and Parquet through one reader of chunks."""
