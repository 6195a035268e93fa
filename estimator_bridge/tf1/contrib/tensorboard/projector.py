"""`tf.contrib.tensorboard.plugins.projector` where TensorBoard itself is not installed.

It writes the file that TensorBoard reads later, perhaps on another machine.
"""

import os

import tensorflow.compat.v1 as tf

__all__ = ["ProjectorConfig", "visualize_embeddings"]


class _Message:
    """Fields that print as protobuf's text format; those that were never set are left out."""

    _fields: tuple[str, ...] = ()

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name in type(self)._fields:
            return ""
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def lines(self):
        """Yields the text format, line by line."""
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
    """image_path, single_image_dim [width, height]."""

    _fields = ("image_path", "single_image_dim")

    def __init__(self, **values):
        super().__init__(**values)
        self.single_image_dim = []


class EmbeddingInfo(_Message):
    """tensor_name, metadata_path, bookmarks_path, tensor_path, sprite."""

    _fields = ("tensor_name", "metadata_path", "bookmarks_path", "sprite", "tensor_path")

    def __getattr__(self, name):
        if name == "sprite":
            self.sprite = SpriteMetadata()
            return self.sprite
        return super().__getattr__(name)


class ProjectorConfig(_Message):
    """model_checkpoint_path, embeddings, model_checkpoint_dir."""

    _fields = ("model_checkpoint_path", "embeddings", "model_checkpoint_dir")

    def __init__(self, **values):
        super().__init__(**values)
        self.embeddings = _Repeated(EmbeddingInfo)


def visualize_embeddings(summary_writer, config):
    """Writes projector_config.pbtxt into the writer's folder (or the folder itself).

    Raises:
      ValueError: the writer has no folder.
    """
    folder = summary_writer
    if not isinstance(summary_writer, str):
        folder = summary_writer.get_logdir()
    if not folder:
        raise ValueError("Summary writer must have a logdir")
    folder = folder.decode() if isinstance(folder, bytes) else folder
    with tf.gfile.Open(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write("".join(f"{line}\n" for line in config.lines()))
