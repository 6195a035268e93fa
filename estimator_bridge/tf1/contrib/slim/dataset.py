"""`tf.contrib.slim.dataset`."""

__all__ = ["Dataset"]


class Dataset:
    """The location of records and their decoder.

    Args:
      data_sources: paths, or glob patterns.
      reader: class that reads the files, such as tf.TFRecordReader.
      decoder: tfexample_decoder.DataDecoder.
      num_samples: int, or None if unknown.
      items_to_descriptions: {item: text}.
      **kwargs: further attributes, such as `num_classes` and `labels_to_names`.
    """

    def __init__(self, data_sources, reader, decoder, num_samples, items_to_descriptions, **kwargs):
        self.__dict__.update(kwargs)
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
