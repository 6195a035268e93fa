"""An image classifier: a Keras application, MobileNetV2, turned into an Estimator."""

from pathlib import Path
from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.models.custom import convert_keras
from trainer.models.heads import class_ids
from trainer.models.optimizers import make_optimizer
from trainer.schema import Schema

INPUT, OUTPUT = "image", "probabilities"
# Keeps logarithms of probabilities finite.
EPSILON = 1e-12


def build_image(
    config: config_lib.Config, schema: Schema, head: Any, run_config: Any, max_steps: int
):
    """Builds the Estimator of model.type image.

    The base is MobileNetV2 without its top (Sandler et al., 2018), with weights from a file or
    from the seed; its pooled features are normalised and classified by one dense layer. A frozen
    base keeps its weights and its moving averages.

    Args:
        config: model (base_alpha, base_weights, base_trainable, dropout) and optimizer.
        schema: its one used column is an image; its label has classes.
        head: an estimator.Head for the label: of its metrics, predictions and export outputs.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for decaying rates.

    Raises:
        UserError: the schema has no image or no classes, or the weights are not there.
    """
    name = find_image_column(schema)
    if schema.task not in ("binary", "multiclass"):
        raise UserError(f"model.type image: a {schema.task} label; it takes one label with classes")
    if config.train.warmup_steps:
        raise UserError("train.warmup_steps: model.type image takes none; set it to 0")
    if config.train.loss_reduction != "mean":
        raise UserError("train.loss_reduction: model.type image takes the mean; leave it out")
    if config.model.base_weights is None and not config.model.base_trainable:
        raise UserError(
            "model.base_weights: not given, and a frozen base needs them; name a file, or set "
            "model.base_trainable"
        )
    size = schema.columns[name].image.size
    keras_model = build_keras_model(config.model, size, len(schema.label.classes))
    optimizer = make_optimizer(config.train, max_steps, linear=False)()
    keras_model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy())
    inner = convert_keras(keras_model, run_config)
    weight = f"{schema.label.column}/weight" if schema.label.class_weights else schema.weight

    def model_fn(features, labels, mode, config):
        images = {INPUT: decode_images(features[name], size)}
        ids = None if labels is None else class_ids(labels, schema.label)
        if weight and labels is not None:
            # This is how a Keras model's Estimator is told of weights.
            rows = tf.reshape(tf.cast(features[weight], tf.float32), [-1])
            images = {"features": images, "sample_weights": rows}
        spec = inner.model_fn(images, ids, mode, config)
        if mode == estimator.ModeKeys.TRAIN:
            return spec
        logits = tf.math.log(tf.maximum(spec.predictions[OUTPUT], EPSILON))
        if schema.task == "binary":
            logits = logits[:, 1:] - logits[:, :1]
        judged = head.create_estimator_spec(features, mode, logits, labels)
        return judged._replace(scaffold=spec.scaffold)

    return estimator.Estimator(
        model_fn, config=run_config, warm_start_from=inner._warm_start_settings
    )


def is_broken_image(error: Any) -> bool:
    """Whether a TensorFlow error is of an image that begins well and cannot be decoded."""
    return isinstance(error, tf.errors.InvalidArgumentError) and "DecodeImage" in str(error)


def find_image_column(schema: Schema) -> str:
    """Name of the image column that the model sees.

    Raises:
        UserError: none or several, or columns besides, which the model would not see.
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


def build_keras_model(model: config_lib.ModelConfig, size: int, num_classes: int) -> Any:
    """The Keras model: float32 [batch, size, size, 3] in -1 … 1 to probabilities.

    Raises:
        UserError: model.base_weights cannot be loaded.
    """
    image = tf.keras.Input((size, size, 3), name=INPUT)
    base = tf.keras.applications.MobileNetV2(
        alpha=model.base_alpha, include_top=False, weights=None, input_tensor=image
    )
    if model.base_weights is not None:
        _load_weights(base, model)
    base.trainable = model.base_trainable
    for layer in base.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            # 0.999, MobileNetV2's own, asks for thousands of steps.
            layer.momentum = model.batch_norm_momentum
    net = tf.keras.layers.GlobalAveragePooling2D()(base.output)
    net = tf.keras.layers.BatchNormalization(momentum=model.batch_norm_momentum, name="norm")(net)
    net = tf.keras.layers.Dropout(model.dropout)(net)
    answer = tf.keras.layers.Dense(num_classes, activation="softmax", name=OUTPUT)(net)
    return tf.keras.Model({INPUT: image}, answer)


def _load_weights(base: Any, model: config_lib.ModelConfig) -> None:
    path = model.base_weights
    if not Path(path).is_file():
        raise UserError(f"model.base_weights: no file {path!r}; check the path")
    try:
        base.load_weights(path)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"model.base_weights {path}: not the weights of a MobileNetV2 of base_alpha "
            f"{model.base_alpha:g} without top: {' '.join(str(error).split())[:160]}"
        ) from error


def decode_images(values: Any, size: int) -> Any:
    """Images as text, base64 of PNG, JPEG, GIF or BMP, [batch], to float32 [batch, size, size, 3].

    The numbers lie in -1 … 1, as MobileNetV2 was trained with.
    """
    # TensorFlow reads the alphabet of RFC 4648, section 5; most programs write that of section 4.
    values = tf.strings.regex_replace(tf.reshape(values, [-1]), r"\+", "-")
    values = tf.io.decode_base64(tf.strings.regex_replace(values, "/", "_"))

    def decode(encoded):
        pixels = tf.io.decode_image(encoded, channels=3, expand_animations=False)
        pixels.set_shape([None, None, 3])
        return tf.image.resize(pixels, [size, size])

    signature = tf.TensorSpec([size, size, 3], tf.float32)
    return tf.map_fn(decode, values, fn_output_signature=signature) / 127.5 - 1.0
