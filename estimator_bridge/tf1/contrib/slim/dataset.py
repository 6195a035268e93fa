"""`tf.contrib.slim.dataset`."""

__all__ = ["Dataset"]


class Dataset:
    """Where records are and how to decode them.

    Args:
      data_sources: files, or patterns.
      reader: makes a reader of the files; tf.TFRecordReader and such.
      decoder: a `tfexample_decoder.DataDecoder`.
      num_samples: an int, or None.
      items_to_descriptions: {item: text}.
      **kwargs: become attributes (`num_classes`, `labels_to_names`, ...).
    """

    def __init__(self, data_sources, reader, decoder, num_samples, items_to_descriptions, **kwargs):
        self.__dict__.update(kwargs)
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
