"""`tf.contrib.tensorboard.plugins.projector` for environments without TensorBoard.

It writes the file that TensorBoard reads later, possibly on another machine.
"""

import os

import tensorflow.compat.v1 as tf

__all__ = ["ProjectorConfig", "visualize_embeddings"]


class _Message:
    """A message that prints as protobuf text format, without unset fields."""

    _fields: tuple[str, ...] = ()

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name in type(self)._fields:
            return ""
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def lines(self):
        """Yields the lines of the text format."""
        for name in self._fields:
            value = vars(self).get(name)
            if isinstance(value, _Message):
                yield f"{name} {{"
                yield from (f"  {line}" for line in value.lines())
                yield "}"
            elif isinstance(value, _Repeated):
                for message in value:
                    yield f"{name} {{"
                    yield from (f"  {line}" for line in message.lines())
                    yield "}"
            elif isinstance(value, (list, tuple)):
                yield from (f"{name}: {one}" for one in value)
            elif value is not None:
                text = str(value).replace("\\", "\\\\").replace('"', '\\"')
                yield f'{name}: "{text}"'


class _Repeated(list):
    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self, **values):
        """Appends a message and returns it."""
        self.append(self._kind(**values))
        return self[-1]


class SpriteMetadata(_Message):
    """The image of the points: image_path and single_image_dim [width, height].

    Args:
      **values: values of the fields.
    """

    _fields = ("image_path", "single_image_dim")

    def __init__(self, **values):
        super().__init__(**values)
        self.single_image_dim = []


class EmbeddingInfo(_Message):
    """One embedding: tensor_name, metadata_path, bookmarks_path, tensor_path, sprite.

    Args:
      **values: values of the fields.
    """

    _fields = ("tensor_name", "metadata_path", "bookmarks_path", "sprite", "tensor_path")

    def __getattr__(self, name):
        if name == "sprite":
            self.sprite = SpriteMetadata()
            return self.sprite
        return super().__getattr__(name)


class ProjectorConfig(_Message):
    """The configuration: model_checkpoint_path, embeddings, model_checkpoint_dir.

    Args:
      **values: values of the fields.
    """

    _fields = ("model_checkpoint_path", "embeddings", "model_checkpoint_dir")

    def __init__(self, **values):
        super().__init__(**values)
        self.embeddings = _Repeated(EmbeddingInfo)


def visualize_embeddings(summary_writer, config):
    """Writes projector_config.pbtxt for TensorBoard.

    Args:
      summary_writer: tf.summary.FileWriter, or the path of its directory.
      config: ProjectorConfig.

    Raises:
      ValueError: the writer has no directory.
    """
    folder = summary_writer
    if not isinstance(summary_writer, str):
        folder = summary_writer.get_logdir()
    if not folder:
        raise ValueError("summary_writer: it has no directory")
    folder = folder.decode() if isinstance(folder, bytes) else folder
    with tf.gfile.Open(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write("".join(f"{line}\n" for line in config.lines()))
