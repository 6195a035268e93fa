"""Input and export functions of `tf.contrib.learn.utils`."""

import collections
import os
import sys

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import gc
from estimator_bridge.tf1.contrib.learn.export_strategy import ExportStrategy

__all__ = [
    "InputFnOps",
    "as_receiver_fn",
    "build_default_serving_input_fn",
    "build_parsing_serving_input_fn",
    "gc",
    "make_export_strategy",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
]

InputFnOps = collections.namedtuple("InputFnOps", ["features", "labels", "default_inputs"])


def as_receiver_fn(serving_input_fn):
    """Returns a serving function that returns a ServingInputReceiver.

    Args:
      serving_input_fn: function that returns InputFnOps or a ServingInputReceiver.

    Returns:
      Function without arguments.
    """

    def receiver_fn():
        result = serving_input_fn()
        if not isinstance(result, tuple) or isinstance(
            result, tf.estimator.export.ServingInputReceiver
        ):
            return result
        features, _, default_inputs = result
        return tf.estimator.export.ServingInputReceiver(features, default_inputs)

    return receiver_fn


def build_parsing_serving_input_fn(feature_spec, default_batch_size=None):
    """Returns a serving function that parses serialized tf.Example protocol buffers.

    Args:
      feature_spec: {feature: FixedLenFeature or VarLenFeature}.
      default_batch_size: static batch size of the placeholders, or None.

    Returns:
      Function that returns InputFnOps.
    """

    def input_fn():
        serialized = tf.placeholder(tf.string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(
            tf.parse_example(serialized, feature_spec), None, {"examples": serialized}
        )

    return input_fn


def build_default_serving_input_fn(features, default_batch_size=None):
    """Returns a serving function with one placeholder per feature.

    Args:
      features: {feature: tensor}, the dtypes and shapes to use.
      default_batch_size: static batch size of the placeholders, or None.

    Returns:
      Function that returns InputFnOps.
    """

    def input_fn():
        placeholders = {
            name: tf.placeholder(
                tensor.dtype, [default_batch_size, *tensor.shape.as_list()[1:]], name=tensor.op.name
            )
            for name, tensor in features.items()
        }
        return InputFnOps(placeholders, None, placeholders)

    return input_fn


def _keep_last(export_path, exports_to_keep):
    """Deletes all but the newest exports, whose names are times."""
    names = (name.rstrip("/") for name in tf.gfile.ListDirectory(export_path))
    exports = sorted(name for name in names if len(name) == 10 and name.isdigit())
    for name in exports[: max(0, len(exports) - exports_to_keep)]:
        tf.gfile.DeleteRecursively(os.path.join(export_path, name))


def make_export_strategy(
    serving_input_fn,
    default_output_alternative_key=None,
    assets_extra=None,
    as_text=False,
    exports_to_keep=5,
    strip_default_attrs=None,
):
    """Returns an ExportStrategy named `Servo`, with exports in `<model_dir>/export/Servo`.

    Args:
      serving_input_fn: function that returns InputFnOps or a ServingInputReceiver.
      default_output_alternative_key: name of the default signature, for an estimator of
        tf.contrib.learn; None with a single one.
      assets_extra: {destination path: source path} of extra assets, or None.
      as_text: whether to write the SavedModel as text.
      exports_to_keep: number of exports to keep; None keeps all.
      strip_default_attrs: whether to strip default attributes of operations; None for True.

    Returns:
      ExportStrategy. Its export raises ValueError if an estimator of tf.estimator is to have a
      default alternative.
    """

    def export_fn(estimator, export_path, checkpoint_path=None, eval_result=None):
        del eval_result
        options = {"assets_extra": assets_extra, "as_text": as_text}
        options["checkpoint_path"] = checkpoint_path
        export = estimator.export_saved_model
        if hasattr(estimator, "fit"):
            export = estimator.export_savedmodel
            options["default_output_alternative_key"] = default_output_alternative_key
        elif default_output_alternative_key is not None:
            raise ValueError(
                "default_output_alternative_key: only for estimators of tf.contrib.learn"
            )
        result = export(export_path, as_receiver_fn(serving_input_fn), **options)
        if exports_to_keep is not None:
            _keep_last(tf.compat.as_str_any(export_path), exports_to_keep)
        return result

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


def read_batch_examples(
    file_pattern,
    batch_size,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    num_threads=1,
    read_batch_size=1,
    parse_fn=None,
    name=None,
    seed=None,
):
    """Returns batches of serialized records, read through queues.

    Args:
      file_pattern: glob pattern, or list of them.
      batch_size: int, examples per batch.
      reader: tf.TFRecordReader, tf.TextLineReader or a function that returns a reader.
      randomize_input: whether to shuffle the records.
      num_epochs: int, number of passes over the files; None repeats forever.
      queue_capacity: int, capacity of the queue.
      num_threads: int, number of reading threads.
      read_batch_size: int, records read at once.
      parse_fn: function of a record, or of a vector of them if `read_batch_size` is above 1; None
        keeps the records. A list that it returns becomes one tensor.
      name: name of the name scope.
      seed: seed of the shuffling.

    Returns:
      String tensor [batch_size], or the result of `parse_fn` in batches.

    Raises:
      ValueError: no file matches.
    """
    with tf.name_scope(name, "read_batch_examples", [file_pattern]):
        files = sorted(tf.gfile.Glob(file_pattern))
        if not files:
            raise ValueError(f"file_pattern: no file matches {file_pattern}")
        queue = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=randomize_input, seed=seed
        )
        many = read_batch_size > 1
        records = []
        for _ in range(num_threads):
            source = reader()
            _, value = source.read_up_to(queue, read_batch_size) if many else source.read(queue)
            value = parse_fn(value) if parse_fn else value
            records.append(value if isinstance(value, dict) else [tf.convert_to_tensor(value)])
        if randomize_input:
            return tf.train.shuffle_batch_join(
                records,
                batch_size,
                capacity=queue_capacity,
                min_after_dequeue=max(queue_capacity // 4, 1),
                enqueue_many=many,
                allow_smaller_final_batch=num_epochs is not None,
                seed=seed,
            )
        return tf.train.batch_join(
            records,
            batch_size,
            capacity=queue_capacity,
            enqueue_many=many,
            allow_smaller_final_batch=num_epochs is not None,
        )


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    feature_queue_capacity=100,
    reader_num_threads=1,
    num_enqueue_threads=2,
    parse_fn=None,
    name=None,
    read_batch_size=None,
):
    """Returns batches of parsed tf.Example protocol buffers, read through queues.

    Args:
      file_pattern: glob pattern, or list of them.
      batch_size: int, examples per batch.
      features: {feature: FixedLenFeature or VarLenFeature}.
      reader: tf.TFRecordReader or a function that returns a reader.
      randomize_input: whether to shuffle the records.
      num_epochs: int, number of passes over the files; None repeats forever.
      queue_capacity: int, capacity of the queue.
      feature_queue_capacity: ignored; batches are parsed without a queue.
      reader_num_threads: int, number of reading threads.
      num_enqueue_threads: ignored.
      parse_fn: function applied to the records, or None.
      name: name of the name scope.
      read_batch_size: int, records read at once; None for `batch_size`.

    Returns:
      {feature: tensor}.
    """
    del feature_queue_capacity, num_enqueue_threads
    examples = read_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        num_threads=reader_num_threads,
        read_batch_size=read_batch_size or batch_size,
        parse_fn=parse_fn,
        name=name,
    )
    return tf.parse_example(examples, features)


def read_batch_record_features(
    file_pattern,
    batch_size,
    features,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    reader_num_threads=1,
    name="dequeue_record_examples",
):
    """Returns batches of parsed tf.Example protocol buffers of TFRecord files.

    Args:
      file_pattern: glob pattern, or list of them.
      batch_size: int, examples per batch.
      features: {feature: FixedLenFeature or VarLenFeature}.
      randomize_input: whether to shuffle the records.
      num_epochs: int, number of passes over the files; None repeats forever.
      queue_capacity: int, capacity of the queue.
      reader_num_threads: int, number of reading threads.
      name: name of the name scope.

    Returns:
      {feature: tensor}.
    """
    return read_batch_features(
        file_pattern,
        batch_size,
        features,
        tf.TFRecordReader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads,
        name=name,
    )


# Programs import these modules of tf.contrib.learn.utils by name.
input_fn_utils = saved_model_export_utils = sys.modules[__name__]
