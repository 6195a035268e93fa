"""The check of an export's signatures: it finds what TensorFlow's own finds."""

import pytest

from estimator_bridge import tf
from estimator_bridge.private_tf import saved_model_export_utils

pytestmark = pytest.mark.versions


def test_signatures_that_need_another_placeholder_are_left_out():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        sparse, other = v1.sparse_placeholder(tf.float32), v1.placeholder(tf.float32, name="other")
        total = tf.sparse.reduce_sum(sparse)
        scores = {"total": total, "sum": total + other, "other": tf.identity(other)}
        outputs = {
            name: tf.estimator.export.PredictOutput({name: score}) for name, score in scores.items()
        }
        signatures = saved_model_export_utils.build_all_signature_defs(
            sparse,
            {**outputs, "serving_default": outputs["total"]},
            {"both": {"sparse": sparse, "other": other}, "other": other},
        )
    assert set(signatures) == {
        *("serving_default", "total", "other:other"),
        *("both:serving_default", "both:total", "both:sum", "both:other"),
    }


def test_the_message_names_the_placeholder():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        first, other = v1.placeholder(tf.float32), v1.placeholder(tf.float32, name="other")
        info = v1.saved_model.build_tensor_info(first * other)
        with pytest.raises(ValueError, match="other"):
            saved_model_export_utils._ensure_servable([first], {"product": info})
