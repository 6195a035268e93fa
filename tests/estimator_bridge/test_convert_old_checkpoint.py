"""A checkpoint that TensorFlow 2.15.1 wrote, converted by what is installed."""

import importlib.metadata
import shutil
from pathlib import Path

import numpy as np
import old_model
import pytest
from conversions import convert

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
KEPT = Path(__file__).parent / "golden" / "tf215_checkpoint"


def test_answers_and_losses_are_those_of_2_15_1(tmp_path):
    from estimator_bridge import tf

    folder = tmp_path / "model"
    shutil.copytree(KEPT, folder)
    plan, converted = convert(old_model.build(str(folder)))
    assert converted.notes == []
    with np.load(KEPT / "expected.npz") as kept:
        expected = {name: kept[name] for name in kept.files}
    assert str(expected["version"]) == "2.15.1"
    features, labels = old_model.make_rows()
    given = {name: tf.constant(value) for name, value in features.items()}
    found = converted.model(given)["logits"].numpy()
    np.testing.assert_allclose(found, expected["logits"], rtol=1e-6, atol=1e-6)
    losses = []
    for batch in old_model.make_batches():
        converted.model.reset_metrics()
        inputs = {name: tf.gather(value, batch) for name, value in given.items()}
        target = {"logits": tf.constant(labels[batch].astype(np.float32)[:, None])}
        losses.append(float(converted.model.train_on_batch(inputs, target)))
    np.testing.assert_allclose(losses, expected["losses"], rtol=1e-5)
