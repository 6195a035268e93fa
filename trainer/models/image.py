"""An image classifier: the Keras application MobileNetV2 as an Estimator."""

from pathlib import Path
from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.models.custom import convert_keras
from trainer.models.heads import class_ids, class_weight_name
from trainer.models.optimizers import make_optimizer
from trainer.schema import Image, Schema

INPUT, OUTPUT = "image", "probabilities"
# Smallest probability whose logarithm is taken, so that the logarithm is finite.
EPSILON = 1e-12


def build_image(
    model: config_lib.ModelConfig,
    train: config_lib.TrainConfig,
    schema: Schema,
    head: Any,
    run_config: Any,
    max_steps: int,
) -> Any:
    """Builds the Estimator of model.type image.

    The base is MobileNetV2 without its top (Sandler et al., 2018). Its weights are read from a file
    or initialised at random. Its pooled features are normalised and classified by one dense layer.
    A frozen base keeps its weights and its moving averages.

    Args:
        model: base_alpha, base_weights, base_trainable, dropout, batch_norm_momentum.
        train: optimizer and learning rate.
        schema: its one used column is an image; its label has classes.
        head: an estimator.Head of the label, for metrics, predictions and export outputs.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for learning-rate schedules.

    Returns:
        An Estimator.

    Raises:
        UserError: the schema has no image or no classes, an option does not apply to images, or
            there is no file of weights.
    """
    name = find_image_column(schema)
    if schema.task not in ("binary", "multiclass"):
        raise UserError(f"model.type image: a {schema.task} label; it takes one label with classes")
    if train.warmup_steps:
        raise UserError("train.warmup_steps: model.type image takes none; set it to 0")
    if train.loss_reduction != "mean":
        raise UserError("train.loss_reduction: model.type image takes the mean; leave it out")
    if model.base_weights is None and not model.base_trainable:
        raise UserError(
            "model.base_weights: not given, but a frozen base needs them; name a file, or set "
            "model.base_trainable"
        )
    image = _read_image(schema, name)
    size = image.size
    keras_model = build_keras_model(model, size, len(schema.label.classes))
    optimizer = make_optimizer(train, max_steps, linear=False)()
    keras_model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy())
    inner = convert_keras(keras_model, run_config)
    label = schema.label
    weight = class_weight_name(label) if label.class_weights else schema.weight

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        images = {INPUT: decode_images(features[name], image)}
        ids = None if labels is None else class_ids(labels, schema.label)
        if weight and labels is not None:
            # The Estimator of a Keras model reads the weights of the rows from this feature.
            rows = tf.reshape(tf.cast(features[weight], tf.float32), [-1])
            images = {"features": images, "sample_weights": rows}
        spec = inner.model_fn(images, ids, mode, config)
        if mode == estimator.ModeKeys.TRAIN:
            return spec
        logits = tf.math.log(tf.maximum(spec.predictions[OUTPUT], EPSILON))
        if schema.task == "binary":
            logits = logits[:, 1:] - logits[:, :1]
        of_head = head.create_estimator_spec(features, mode, logits, labels)
        return of_head._replace(scaffold=spec.scaffold)

    return estimator.Estimator(
        model_fn, config=run_config, warm_start_from=inner._warm_start_settings
    )


def is_broken_image(error: Any) -> bool:
    """Whether an error was caused by an image that cannot be decoded, or is too large.

    Args:
        error: an error that TensorFlow raised.
    """
    causes = ("DecodeImage", "ExtractJpegShape", "max_megapixels")
    is_invalid = isinstance(error, tf.errors.InvalidArgumentError)
    return is_invalid and any(cause in str(error) for cause in causes)


def find_image_column(schema: Schema) -> str:
    """Returns the name of the image column, the only input of the model.

    Args:
        schema: columns.

    Raises:
        UserError: the columns in use are not exactly one image column.
    """
    images = [name for name in schema.used_features if schema.columns[name].image is not None]
    others = [name for name in schema.used_features if name not in images]
    if len(images) != 1 or others:
        found = ", ".join(images + others) or "none"
        raise UserError(
            "model.type image: it sees one column with image:, and no other "
            f"(in use: {found}); give the others use: []"
        )
    return images[0]


def _read_image(schema: Schema, name: str) -> Image:
    image = schema.columns[name].image
    assert image is not None, name
    return image


def build_keras_model(model: config_lib.ModelConfig, size: int, num_classes: int) -> Any:
    """Builds the Keras model, not compiled.

    Args:
        model: base_alpha, base_weights, base_trainable, dropout, batch_norm_momentum.
        size: height and width of the images in pixels.
        num_classes: number of classes.

    Returns:
        A tf.keras.Model from {"image": float32 [batch, size, size, 3], -1 … 1} to probabilities,
        float32 [batch, num_classes].

    Raises:
        UserError: model.base_weights cannot be loaded.
    """
    image = tf.keras.Input((size, size, 3), name=INPUT)
    base = tf.keras.applications.MobileNetV2(
        alpha=model.base_alpha, include_top=False, weights=None, input_tensor=image
    )
    if model.base_weights is not None:
        _load_weights(base, model.base_weights, model.base_alpha)
    base.trainable = model.base_trainable
    for layer in base.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            # With MobileNetV2's momentum of 0.999, the moving averages converge only after
            # thousands of steps.
            layer.momentum = model.batch_norm_momentum
    net = tf.keras.layers.GlobalAveragePooling2D()(base.output)
    net = tf.keras.layers.BatchNormalization(momentum=model.batch_norm_momentum, name="norm")(net)
    net = tf.keras.layers.Dropout(model.dropout)(net)
    answer = tf.keras.layers.Dense(num_classes, activation="softmax", name=OUTPUT)(net)
    return tf.keras.Model({INPUT: image}, answer)


def _load_weights(base: Any, path: str, alpha: float) -> None:
    if not Path(path).is_file():
        raise UserError(f"model.base_weights: no file {path!r}; check the path")
    try:
        base.load_weights(path)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"model.base_weights {path}: not the weights of a MobileNetV2 of base_alpha "
            f"{alpha:g} without top: {' '.join(str(error).split())[:160]}"
        ) from error


def decode_images(values: Any, image: Image) -> Any:
    """Decodes and resizes images.

    Args:
        values: string [batch]: base64 of PNG, JPEG, GIF or BMP files.
        image: height and width of the result in pixels, and the limit.

    Returns:
        float32 [batch, size, size, 3] in -1 … 1, the range that MobileNetV2 was trained on.
    """
    # TensorFlow decodes the base64 alphabet of RFC 4648, section 5. Most programs write the
    # alphabet of section 4.
    values = tf.strings.regex_replace(tf.reshape(values, [-1]), r"\+", "-")
    values = tf.io.decode_base64(tf.strings.regex_replace(values, "/", "_"))

    size = image.size

    def decode(encoded: Any) -> Any:
        too_large = f"an image has more than max_megapixels ({image.max_megapixels:g} million)"
        limit = tf.constant(round(image.max_megapixels * 1e6), tf.int64)
        check = tf.debugging.assert_less_equal(_count_pixels(encoded), limit, message=too_large)
        with tf.control_dependencies([check] if check is not None else []):
            encoded = tf.identity(encoded)
        pixels = tf.io.decode_image(encoded, channels=3, expand_animations=False)
        pixels.set_shape([None, None, 3])
        return tf.image.resize(pixels, [size, size])

    signature = tf.TensorSpec([size, size, 3], tf.float32)
    return tf.map_fn(decode, values, fn_output_signature=signature) / 127.5 - 1.0


def _count_pixels(encoded: Any) -> Any:
    """Returns width times height of an image, read from its header: int64 scalar.

    Args:
        encoded: string scalar, a PNG, JPEG, GIF or BMP file; of any other text, the result is 0.
    """

    def read(start: int, kind: Any, is_little: bool) -> Any:
        """Returns the product of two numbers at an offset."""
        head = tf.strings.substr(encoded, start, 2 * kind.size)
        sides = tf.io.decode_raw(head, kind, little_endian=is_little)
        return tf.reduce_prod(tf.abs(tf.cast(sides, tf.int64)))

    def begins(text: bytes) -> Any:
        return tf.equal(tf.strings.substr(encoded, 0, len(text)), text)

    def is_longer(length: int) -> Any:
        return tf.greater(tf.strings.length(encoded), length)

    def read_jpeg() -> Any:
        shape = tf.image.extract_jpeg_shape(encoded, tf.int64)
        return shape[0] * shape[1]

    return tf.case(
        [
            (begins(b"\x89PNG") & is_longer(24), lambda: read(16, tf.int32, False)),
            (begins(b"\xff\xd8\xff"), read_jpeg),
            (begins(b"GIF8") & is_longer(10), lambda: read(6, tf.uint16, True)),
            (begins(b"BM") & is_longer(26), lambda: read(18, tf.int32, True)),
        ],
        default=lambda: tf.constant(0, tf.int64),
    )
