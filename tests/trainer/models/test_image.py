"""trainer.models.image: MobileNetV2 in Keras as an Estimator."""

import base64
import random
import struct

import numpy as np
import pyarrow.parquet
import pytest

from estimator_bridge import tf
from trainer.config import DataConfig
from trainer.console import Console
from trainer.demo import digits
from trainer.errors import UserError
from trainer.export.receivers import make_serving_receiver_fn
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.metrics.included import list_metrics
from trainer.models.image import decode_images, is_broken_image
from trainer.schema import Image, Schema, Statistics

COLUMNS = {"image": {"type": "string", "image": {}}, "digit": {"type": "int"}}
SMALL = Image(size=32)
SCHEMA = {"columns": COLUMNS, "label": {"column": "digit", "num_classes": 10}}


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """Folder of real digits that the demo writes."""
    folder = tmp_path_factory.mktemp("digits")
    assert digits.main([f"--output={folder}"]) == 0
    return folder


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory, scans):
    """A file of weights of the base, with the moving averages of real digits."""
    # Keras draws the seeds of layers from Python's generator; tf.keras.utils.set_random_seed would
    # also affect all later tests.
    random.seed(3)
    base = tf.keras.applications.MobileNetV2(
        input_shape=(32, 32, 3), alpha=0.35, include_top=False, weights=None
    )
    for layer in base.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            layer.momentum = 0.0  # the averages become those of the next batch
    base(decode_images(tf.constant(read(scans / "train.parquet", 240)[0]), SMALL), training=True)
    path = str(tmp_path_factory.mktemp("weights") / "base.h5")
    base.save_weights(path)
    norm = dict(
        zip(("gamma", "beta", "mean", "variance"), base.get_layer("Conv_1_bn").get_weights())
    )
    return path, norm


def read(path, rows=None):
    """Returns the columns of a file of the demo: images as base64, digits."""
    table = pyarrow.parquet.read_table(path).slice(0, rows)
    return np.array(table["image"].to_pylist(), object), table["digit"].to_numpy()


def values_at_first(built, names):
    """Returns the values of the Keras model before training."""
    first = f"{built.model_dir}/keras/keras_model.ckpt"
    return {name: tf.train.load_variable(first, name) for name in names}


def test_frozen_base_keeps_weights_and_moving_averages(bench, scans, weights_file):
    schema = Schema.model_validate(SCHEMA)
    path, norm = weights_file
    config = bench.build_config(
        model={"type": "image", "base_weights": path}, train={"learning_rate": 0.01}
    )
    built = bench.build(config, schema)
    images, labels = read(scans / "train.parquet", 240)
    rows = {"image": images}
    names = ("Conv1/kernel", "Conv_1_bn/moving_mean", "Conv_1_bn/moving_variance")
    tops = ("probabilities/kernel", "norm/moving_mean", "norm/gamma")
    before = values_at_first(built, names + tops)
    built.train(bench.feed(labels, 40, rows=rows), steps=60)
    assert built.get_variable_value("global_step") == 60
    # They are the values of the file, moving averages included, not initial values.
    assert np.array_equal(built.get_variable_value("Conv_1_bn/moving_mean"), norm["mean"])
    assert np.array_equal(built.get_variable_value("Conv_1_bn/moving_variance"), norm["variance"])
    for name in names:
        assert np.array_equal(before[name], built.get_variable_value(name)), name
    for name in tops:
        assert not np.array_equal(before[name], built.get_variable_value(name)), name
    metrics = built.evaluate(bench.feed(labels, 40, epochs=1, rows=rows))
    assert set(metrics) == {*list_metrics(schema, 0.5), "global_step"}
    assert metrics["accuracy"] > 0.5  # one layer over random filters
    receiver_fn = make_serving_receiver_fn(schema, Statistics(0, {}), "json", ",")
    folder = built.export_saved_model(str(bench.folder / "export"), receiver_fn).decode()
    signature = tf.saved_model.load(folder).signatures["predict"]
    web_safe = [text.replace("+", "-").replace("/", "_") for text in images[:3]]
    answer = signature(image=tf.constant([*images[:3], *web_safe]))
    scores = answer["probabilities"].numpy()
    assert scores.shape == (6, 10) and np.allclose(scores[:3], scores[3:])
    assert np.allclose(scores.sum(axis=1), 1, atol=1e-5)
    assert answer["class_ids"].shape == (6, 1)


@pytest.mark.newest
def test_trainable_base_changes_and_binary_metrics(bench, scans):
    label = {"column": "digit", "vocabulary": ["even", "odd"], "class_weights": {"odd": 2}}
    columns = {**COLUMNS, "digit": {"type": "string"}}
    schema = Schema.model_validate({"columns": columns, "label": label})
    config = bench.build_config(
        model={"type": "image", "base_trainable": True}, train={"learning_rate": 0.001}
    )
    built = bench.build(config, schema)
    images, numbers = read(scans / "train.parquet", 40)
    labels = [("even", "odd")[number % 2] for number in numbers]
    feed = bench.feed(labels, 40, rows={"image": images})
    names = ("Conv1/kernel", "bn_Conv1/moving_mean")
    before = values_at_first(built, names)
    built.train(feed, steps=2)
    for name in names:
        assert not np.array_equal(before[name], built.get_variable_value(name)), name
    metrics = built.evaluate(bench.feed(labels, 40, epochs=1, rows={"image": images}))
    assert set(metrics) == {*list_metrics(schema, 0.5), "global_step"}
    assert metrics["label/mean"] == pytest.approx(np.mean(numbers % 2))


def test_decodes_every_image_format():
    pixels = np.random.default_rng(1).integers(0, 256, (32, 32, 3)).astype(np.uint8)
    grey = np.full((8, 8, 1), 255, np.uint8)
    files = [tf.io.encode_png(pixels), tf.io.encode_jpeg(grey), tf.io.encode_png(grey)]
    text = [base64.b64encode(file.numpy()) for file in files]
    got = decode_images(tf.constant(text), SMALL).numpy()
    assert got.shape == (3, 32, 32, 3)
    assert np.allclose(got[0], pixels / 127.5 - 1, atol=1e-6)
    assert np.allclose(got[1:], 1)


@pytest.mark.newest
@pytest.mark.parametrize(
    "columns, model, train, told",
    [
        ({"x": {"type": "float"}}, {}, {}, "it sees one column with image:, and no other"),
        ({"image": {"type": "string", "use": []}}, {}, {}, "(in use: none)"),
        ({"digit": {"type": "float"}}, {}, {}, "a regression label; it takes one label with"),
        ({}, {}, {}, "model.base_weights: not given, but a frozen base needs them"),
        ({}, {"base_weights": "/no/such.h5"}, {}, "model.base_weights: no file '/no/such.h5'"),
        ({}, {"base_weights": __file__}, {}, "not the weights of a MobileNetV2 of base_alpha 0.35"),
        ({}, {}, {"warmup_steps": 5}, "train.warmup_steps: model.type image takes none"),
        ({}, {}, {"loss_reduction": "sum"}, "train.loss_reduction: model.type image takes the mea"),
        ({}, {"type": "linear"}, {}, "model.type linear: column image is an image"),
    ],
)
def test_unsupported_options_are_refused(bench, columns, model, train, told):
    number = columns.get("digit", {}).get("type") == "float"
    label = {"column": "digit"} if number else SCHEMA["label"]
    schema = Schema.model_validate({"columns": {**COLUMNS, **columns}, "label": label})
    config = bench.build_config(model={"type": "image", **model}, train=train)
    with pytest.raises(UserError) as error:
        bench.build(config, schema)
    assert told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.newest
def test_weights_of_another_alpha_are_refused(bench, weights_file):
    schema = Schema.model_validate(SCHEMA)
    model = {"type": "image", "base_weights": weights_file[0], "base_alpha": 0.5}
    with pytest.raises(UserError, match="not the weights of a MobileNetV2 of base_alpha 0.5"):
        bench.build(bench.build_config(model=model), schema)


@pytest.mark.newest
def test_invalid_images_are_found_before_training(make, tmp_path):
    png = base64.b64encode(tf.io.encode_png(np.zeros((4, 4, 1), np.uint8)).numpy()).decode()
    schema = Schema.model_validate(SCHEMA)
    for text, told in (
        ("aGVsbG8gd29ybGQh", "column image: the text is not base64 of a PNG"),
        ("images/7.png", "column image: the text is not base64 of a PNG"),
        (None, "column image: the value is missing"),
    ):
        path = make.csv(
            tmp_path / "d.csv", [{"image": png, "digit": 1}, {"image": text, "digit": 2}]
        )
        files = find_files([path], "csv", "data.train")
        with pytest.raises(UserError, match=told):
            scan_files(files, schema, DataConfig(), Console())


def _claim(kind, width, height):
    """A file whose header claims a size, and nothing after it."""
    if kind == "png":
        whole = tf.io.encode_png(np.zeros((2, 2, 3), np.uint8)).numpy()
        return whole[:16] + struct.pack(">II", width, height) + whole[24:]
    if kind == "jpeg":
        whole = tf.io.encode_jpeg(np.zeros((2, 2, 3), np.uint8)).numpy()
        place = whole.index(b"\xff\xc0") + 5
        return whole[:place] + struct.pack(">HH", height, width) + whole[place + 4 :]
    if kind == "gif":
        return b"GIF89a" + struct.pack("<HH", width, height) + bytes(60)
    return b"BM" + bytes(16) + struct.pack("<ii", width, -height) + bytes(60)


@pytest.mark.newest
@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp"])
def test_an_image_that_claims_too_many_pixels_is_not_decoded(kind):
    text = tf.constant([base64.b64encode(_claim(kind, 60_000, 1_000)).decode()])
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_megapixels") as error:
        decode_images(text, SMALL)
    assert is_broken_image(error.value)
    if kind != "jpeg":  # TensorFlow decodes a JPEG of which the pixels are missing.
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            decode_images(text, Image(max_megapixels=70))
        assert "max_megapixels" not in str(error.value)


def test_is_broken_image():
    whole = tf.io.encode_png(np.zeros((40, 40, 3), np.uint8)).numpy()
    for content, broken in ((whole[:60], True), (whole, False)):
        text = base64.b64encode(content).decode()
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            pixels = decode_images(tf.constant([text]), SMALL)
            wrong = tf.debugging.Assert(False, ["no"])
            with pytest.raises(tf.errors.InvalidArgumentError) as error:
                session.run(pixels)
                session.run(wrong)
        assert is_broken_image(error.value) == broken


@pytest.mark.newest
@pytest.mark.parametrize("column", [{"type": "int"}, {"type": "string", "hash_buckets": 5}])
def test_image_columns_must_be_strings(column):
    columns = {**COLUMNS, "image": {**column, "image": {}}}
    with pytest.raises(ValueError, match="image needs type string, and no vocabulary"):
        Schema.model_validate({**SCHEMA, "columns": columns})


@pytest.mark.newest
def test_demo_needs_a_writable_output(tmp_path, capsys):
    assert digits.main([]) == 2
    (tmp_path / "file").write_text("")
    assert digits.main([f"--output={tmp_path / 'file' / 'x'}"]) == 2
    missing, unwritable = capsys.readouterr().err.splitlines()
    assert missing.startswith("error: --output: not given")
    assert unwritable.endswith("Not a directory; name another folder")
