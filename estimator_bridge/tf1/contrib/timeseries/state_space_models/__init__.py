"""State space models of `tf.contrib.timeseries`."""
