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
    size = _read_image(schema, name).size
    keras_model = build_keras_model(model, size, len(schema.label.classes))
    optimizer = make_optimizer(train, max_steps, linear=False)()
    keras_model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy())
    inner = convert_keras(keras_model, run_config)
    label = schema.label
    weight = class_weight_name(label) if label.class_weights else schema.weight

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        images = {INPUT: decode_images(features[name], size)}
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
    """Whether an error was caused by an image with a valid header that cannot be decoded.

    Args:
        error: an error that TensorFlow raised.
    """
    return isinstance(error, tf.errors.InvalidArgumentError) and "DecodeImage" in str(error)


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


def decode_images(values: Any, size: int) -> Any:
    """Decodes and resizes images.

    Args:
        values: string [batch]: base64 of PNG, JPEG, GIF or BMP files.
        size: height and width of the result in pixels.

    Returns:
        float32 [batch, size, size, 3] in -1 … 1, the range that MobileNetV2 was trained on.
    """
    # TensorFlow decodes the base64 alphabet of RFC 4648, section 5. Most programs write the
    # alphabet of section 4.
    values = tf.strings.regex_replace(tf.reshape(values, [-1]), r"\+", "-")
    values = tf.io.decode_base64(tf.strings.regex_replace(values, "/", "_"))

    def decode(encoded: Any) -> Any:
        pixels = tf.io.decode_image(encoded, channels=3, expand_animations=False)
        pixels.set_shape([None, None, 3])
        return tf.image.resize(pixels, [size, size])

    signature = tf.TensorSpec([size, size, 3], tf.float32)
    return tf.map_fn(decode, values, fn_output_signature=signature) / 127.5 - 1.0
