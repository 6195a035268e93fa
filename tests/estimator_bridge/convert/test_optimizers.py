"""Converts optimizer state from checkpoints of TensorFlow 2.15.1 and of the installed one."""

import importlib.metadata
from pathlib import Path

import numpy as np
import old_model
import pytest
from conversions import assert_same, convert, train_keras

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
KEPT = Path(__file__).parents[1] / "golden" / "tf215_checkpoints"
# Adaptive optimizers amplify the rounding error of a tiny gradient to a step of full size.
LOSS_TOLERANCE = {"adam": 1e-4, "rmsprop": 1e-4, "centered": 1e-4}
every_optimizer = pytest.mark.parametrize(("wide", "deep"), old_model.PAIRS)


@pytest.mark.matrix
@pytest.mark.parametrize("version", [1, 2])
@every_optimizer
def test_training_continues_with_the_same_losses(version, wide, deep, tmp_path):
    built = old_model.build(tmp_path, version, wide, deep)
    old_model.train(built)
    plan, converted = convert(built)
    assert converted.notes == []
    apart = assert_same(built, converted, plan, *old_model.make_rows())
    assert apart < max(LOSS_TOLERANCE.get(name, 1e-5) for name in (wide, deep))


@pytest.mark.parametrize("version", [1, 2])
@every_optimizer
def test_outputs_and_losses_equal_those_of_2_15_1(version, wide, deep, tmp_path):
    from estimator_bridge import tf

    kept = KEPT / old_model.name_of(version, wide, deep)
    plan, converted = convert(
        old_model.build(tmp_path, version, wide, deep), checkpoint=kept / "model.ckpt"
    )
    assert converted.notes == []
    with np.load(kept / "expected.npz") as stored:
        expected = {name: stored[name] for name in stored.files}
    assert str(expected["version"]) == "2.15.1"
    features, labels = old_model.make_rows()
    given = {name: tf.constant(value) for name, value in features.items()}
    found = converted.model(given)["logits"].numpy()
    np.testing.assert_allclose(found, expected["logits"], rtol=1e-6, atol=1e-6)
    losses = train_keras(converted, plan, given, labels, old_model.make_batches())
    tolerance = max(LOSS_TOLERANCE.get(name, 1e-5) for name in (wide, deep))
    np.testing.assert_allclose(losses, expected["losses"], rtol=tolerance)
