"""`tf.contrib.slim.tfexample_decoder`: handlers that convert tf.Example to named tensors."""

import abc

import tensorflow.compat.v1 as tf

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "DataDecoder",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "Tensor",
]


class DataDecoder(abc.ABC):
    """Interface of the decoders of a record."""

    @abc.abstractmethod
    def decode(self, data, items):
        """Decodes a record.

        Args:
          data: scalar string tensor.
          items: list of item names.

        Returns:
          List of tensors.
        """

    @abc.abstractmethod
    def list_items(self):
        """Returns the names of the items."""


class ItemHandler(abc.ABC):
    """Base of the handlers, which compute an item from features.

    Args:
      keys: name of a feature, or list of names.
    """

    def __init__(self, keys):
        self._keys = [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self):
        """The names of the features."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors):
        """Computes the item.

        Args:
          keys_to_tensors: {feature: tensor}.

        Returns:
          Tensor.
        """


class ItemHandlerCallback(ItemHandler):
    """An item computed by a function.

    Args:
      keys: name of a feature, or list of names.
      func: function of {feature: tensor} that returns a tensor.
    """

    def __init__(self, keys, func):
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors):
        """Returns the result of the function.

        Args:
          keys_to_tensors: {feature: tensor}.
        """
        return self._func(keys_to_tensors)


class BackupHandler(ItemHandler):
    """An item that another handler computes if the first one gives nothing.

    Args:
      handler: ItemHandler.
      backup: ItemHandler of items of the same dtype.
    """

    def __init__(self, handler, backup):
        super().__init__([*handler.keys, *(key for key in backup.keys if key not in handler.keys)])
        self._handler, self._backup = handler, backup

    def tensors_to_item(self, keys_to_tensors):
        """Returns the item of the handler, or that of the backup where it has no elements.

        Args:
          keys_to_tensors: {feature: dense or sparse tensor}.
        """
        item = self._handler.tensors_to_item(keys_to_tensors)
        return tf.cond(
            tf.equal(tf.reduce_prod(tf.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


def _dense(tensor, default=None):
    if not isinstance(tensor, tf.SparseTensor):
        return tensor
    if default is None:
        default = "" if tensor.dtype == tf.string else 0
    return tf.sparse_tensor_to_dense(tensor, default)


class Tensor(ItemHandler):
    """A feature, optionally reshaped.

    Args:
      tensor_key: name of the feature.
      shape_keys: features that contain the shape's sizes (or the whole shape), in place of `shape`.
      shape: static shape of the item, or None.
      default_value: fill value of a sparse feature; None for 0 or "".

    Raises:
      ValueError: both shape_keys and shape are given.
    """

    def __init__(self, tensor_key, shape_keys=None, shape=None, default_value=0):
        if shape_keys and shape is not None:
            raise ValueError("Tensor: pass either shape_keys or shape")
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or [])
        super().__init__([tensor_key, *self._shape_keys])
        self._tensor_key, self._shape, self._default = tensor_key, shape, default_value

    def tensors_to_item(self, keys_to_tensors):
        """Returns the feature, dense and reshaped.

        Args:
          keys_to_tensors: {feature: dense or sparse tensor}.
        """
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            parts = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = tf.concat([tf.reshape(tf.to_int32(part), [-1]) for part in parts], 0)
        if isinstance(tensor, tf.SparseTensor):
            if shape is not None:
                tensor = tf.sparse_reshape(tensor, tf.to_int64(tf.convert_to_tensor(shape)))
            return _dense(tensor, "" if tensor.dtype == tf.string else self._default)
        return tensor if shape is None else tf.reshape(tensor, shape)


class LookupTensor(Tensor):
    """A feature looked up in a table.

    Args:
      tensor_key: name of the feature.
      table: lookup table.
      shape_keys: features that contain the shape's sizes (or the whole shape), in place of `shape`.
      shape: static shape of the item, or None.
      default_value: fill value of a sparse feature.
    """

    def __init__(self, tensor_key, table, shape_keys=None, shape=None, default_value=""):
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors):
        """Returns the values of the table for the feature.

        Args:
          keys_to_tensors: {feature: dense or sparse tensor}.
        """
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class SparseTensor(ItemHandler):
    """A SparseTensor built from a feature of indices and a feature of values.

    Args:
      indices_key: feature of the indices; None for `indices`.
      values_key: feature of the values; None for `values`.
      shape_key: feature of the dense shape, or None.
      shape: dense shape, if there is no `shape_key`; None for that of the indices.
      densify: whether to return a dense tensor.
      default_value: fill value of the dense tensor.
    """

    def __init__(
        self,
        indices_key=None,
        values_key=None,
        shape_key=None,
        shape=None,
        densify=False,
        default_value=0,
    ):
        keys = [indices_key or "indices", values_key or "values"]
        super().__init__([*keys, shape_key] if shape_key else keys)
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default = densify, default_value

    def tensors_to_item(self, keys_to_tensors):
        """Returns the SparseTensor, or a dense tensor with `densify`.

        The indices are those of the last dimension. In a batch, the first dimensions are those of
        the feature.

        Args:
          keys_to_tensors: {feature: tensor}. Those of the indices, which are integers, and of the
            values are sparse.
        """
        indices, values = (keys_to_tensors[key] for key in self._keys[:2])
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape or indices.dense_shape
        last = tf.reshape(tf.to_int64(indices.values), [-1, 1])
        positions = tf.concat([indices.indices[:, :-1], last], 1)
        sparse = tf.SparseTensor(positions, values.values, shape)
        return tf.sparse_tensor_to_dense(sparse, self._default) if self._densify else sparse


class Image(ItemHandler):
    """An encoded image, decoded to [rows, columns, channels] or `shape`.

    Args:
      image_key: feature of the bytes; None for `image/encoded`.
      format_key: feature of the format, such as `png`, `jpeg` or `raw`; None for `image/format`.
      shape: static shape of the item, or None.
      channels: int, number of channels.
      dtype: dtype of the image.
      repeated: whether the feature contains several images.
      dct_method: method of the JPEG decoder.
    """

    def __init__(
        self,
        image_key=None,
        format_key=None,
        shape=None,
        channels=3,
        dtype=tf.uint8,
        repeated=False,
        dct_method="",
    ):
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors):
        """Returns the decoded image; a batch of images if the feature is repeated.

        Args:
          keys_to_tensors: {feature: string tensor}.
        """
        encoded, kind = (_dense(keys_to_tensors[key]) for key in self._keys)
        if self._repeated:
            return tf.map_fn(lambda one: self._decode(one, kind), encoded, dtype=self._dtype)
        return self._decode(encoded, kind)

    def _decode(self, encoded, kind):
        kind = tf.reshape(kind, [])
        encoded = tf.reshape(encoded, [])

        def compressed():
            image = tf.image.decode_image(encoded, self._channels, expand_animations=False)
            return tf.cast(image, self._dtype)

        def raw():
            image = tf.decode_raw(encoded, self._dtype)
            return image if self._shape is None else tf.reshape(image, self._shape)

        is_raw = tf.logical_or(tf.equal(kind, "raw"), tf.equal(kind, "RAW"))
        image = tf.cond(is_raw, raw, compressed)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else tf.reshape(image, self._shape)


class BoundingBox(ItemHandler):
    """Bounding boxes [number, 4] of four features.

    Args:
      keys: list of four feature names; None for ymin, xmin, ymax and xmax.
      prefix: prefix of the feature names.

    Raises:
      ValueError: there are not four keys.
    """

    def __init__(self, keys=None, prefix=""):
        keys = keys or ["ymin", "xmin", "ymax", "xmax"]
        if len(keys) != 4:
            raise ValueError(f"keys: expected 4, got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors):
        """Returns the boxes, [number, 4].

        Args:
          keys_to_tensors: {feature: dense or sparse tensor of one coordinate, [number]}.
        """
        sides = [tf.reshape(_dense(keys_to_tensors[key]), [-1]) for key in self._keys]
        return tf.stack(sides, axis=1)


class TFExampleDecoder(DataDecoder):
    """A decoder of serialized tf.Example protocol buffers.

    Args:
      keys_to_features: {feature: FixedLenFeature, VarLenFeature, ...}.
      items_to_handlers: {item: ItemHandler}.
    """

    def __init__(self, keys_to_features, items_to_handlers):
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self):
        return list(self._items_to_handlers)

    def decode(self, serialized_example, items=None):
        """Returns the list of the items.

        Args:
          serialized_example: scalar string tensor.
          items: list of item names; None for all.
        """
        parsed = tf.parse_single_example(serialized_example, self._keys_to_features)
        for name, feature in self._keys_to_features.items():
            if isinstance(feature, tf.FixedLenFeature):
                parsed[name] = tf.reshape(parsed[name], feature.shape)
        found = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            found.append(handler.tensors_to_item({key: parsed[key] for key in handler.keys}))
        return found
