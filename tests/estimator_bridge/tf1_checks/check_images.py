"""tf.image computes what 1.15.5 computed; the expected values are its own."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

# The overlaps of the first box with the others are 0, 0.5 and 0.9.
BOXES = np.array([[0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 5], [0, 0, 10, 9]], np.float32)
SCORES = np.array([0.9, 0.8, 0.7, 0.6], np.float32)
OVERLAPS = np.array(
    [[1, 0, 0.5, 0.9], [0, 1, 0, 0], [0.5, 0, 1, 0.2], [0.9, 0, 0.2, 1]], np.float32
)
KEPT = {0.0: [0], 0.3: [0, 1], 0.5: [0, 1], 0.9: [0, 1, 2], 1.0: [0, 1, 2, 3]}


def run(tensors, feeds=None):
    with tf.Session() as session:
        return session.run(tensors, feeds)


@pytest.mark.parametrize("is_fed", [False, True])
@pytest.mark.parametrize("threshold", KEPT)
def test_a_box_whose_overlap_equals_the_threshold_is_left_out(threshold, is_fed):
    image, kept = tf.image, KEPT[threshold]
    given = tf.placeholder(tf.float32, []) if is_fed else threshold
    most = tf.constant(4) if is_fed else 4
    arguments = (BOXES, SCORES, most)
    tensors = [
        image.non_max_suppression(*arguments, iou_threshold=given),
        image.non_max_suppression(*arguments, given, score_threshold=0.65),
        image.non_max_suppression_with_scores(*arguments, iou_threshold=given),
        image.non_max_suppression_overlaps(OVERLAPS, SCORES, most, given),
        image.non_max_suppression_padded(*arguments, iou_threshold=given),
        image.non_max_suppression_padded(*arguments, given, pad_to_max_output_size=True),
    ]
    plain, likely, scored, overlaps, some, padded = run(
        tensors, {given: threshold} if is_fed else None
    )
    assert plain.tolist() == overlaps.tolist() == kept
    assert likely.tolist() == kept[:3]
    assert scored[0].tolist() == kept
    assert scored[1].tolist() == SCORES[kept].tolist()
    assert (some.selected_indices.tolist(), some.valid_outputs) == (kept, len(kept))
    assert padded.selected_indices.tolist() == kept + [0] * (4 - len(kept))
    assert padded.valid_outputs == len(kept)


def test_soft_suppression_without_a_threshold():
    found = tf.image.non_max_suppression_with_scores(
        BOXES, SCORES, 4, iou_threshold=1.0, soft_nms_sigma=0.5
    )
    kept, scores = run(found)
    assert kept.tolist() == [0, 1, 2, 3]
    expected = [0.8999999761581421, 0.800000011920929, 0.5451605319976807, 0.19603393971920013]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_the_arguments_are_those_of_1_15():
    names = list(inspect.signature(tf.image.non_max_suppression_padded).parameters)
    assert names[3:] == ["iou_threshold", "score_threshold", "pad_to_max_output_size", "name"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_standardized_images_have_the_type_of_the_images(dtype):
    images = tf.constant(np.arange(12).reshape(2, 2, 3), dtype)
    found = tf.image.per_image_standardization(images)
    assert found.dtype == tf.as_dtype(dtype)
    values = run(found).ravel()[[0, 11]].astype(float)
    np.testing.assert_allclose(values, [-1.593255, 1.593255], rtol=1e-3)


def test_networks_have_the_size_of_their_images():
    from tensorflow.contrib.slim.python.slim.nets import resnet_v1, resnet_v2, vgg

    assert resnet_v1.resnet_v1.default_image_size == resnet_v2.resnet_v2.default_image_size == 224
    assert vgg.vgg_d is vgg.vgg_16 and vgg.vgg_e is vgg.vgg_19
