"""Converts optimizer state from checkpoints of TensorFlow 2.15.1 and of the installed one."""

import importlib.metadata
from pathlib import Path

import numpy as np
import old_model
import pytest
from conversions import assert_same, convert, read, train_keras

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


@pytest.mark.parametrize("version", [1, 2])
def test_a_checkpoint_of_another_optimizer_is_refused_unless_it_is_allowed(version, tmp_path):
    from estimator_bridge import BridgeError, tf
    from estimator_bridge.convert.write.build import build_model
    from estimator_bridge.convert.write.module import write_module

    kept = KEPT / old_model.name_of(version, *old_model.PAIRS[0])
    built = old_model.build(tmp_path, version, *old_model.PAIRS[1])
    with pytest.raises(BridgeError, match="was trained with .* add --other_optimizer"):
        convert(built, checkpoint=kept / "model.ckpt")
    plan, checkpoint = read(built, kept / "model.ckpt")
    converted = build_model(plan, write_module(plan, "a test"), checkpoint, other_optimizer=True)
    assert all("it starts without state" in note for note in converted.notes)
    with np.load(kept / "expected.npz") as stored:
        expected = stored["logits"]
    given = {name: tf.constant(value) for name, value in old_model.make_rows()[0].items()}
    found = converted.model(given)["logits"].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("version", "kind", "options", "slots", "words"),
    [
        (2, "adam", {}, "m v", None),
        (2, "adam", {}, "", None),
        (2, "adam", {"amsgrad": True}, "m v vhat", None),
        (2, "adam", {}, "m v vhat", "adam with other settings (its slots are m, v, vhat)"),
        (2, "sgd", {}, "accum_grad accum_var", "an optimizer with the slots accum_grad, accum_var"),
        (2, "rmsprop", {"centered": True, "momentum": 0}, "rms momentum", "rmsprop with other"),
        (2, "rmsprop", {"centered": False, "momentum": 0.9}, "rms momentum", None),
        (2, "rmsprop", {"centered": False, "momentum": 0}, "rms momentum", "rmsprop with other"),
        (1, "rmsprop", {"centered": False, "momentum": 0}, "RMSProp RMSProp_1", None),
        (1, "rmsprop", {"centered": True, "momentum": 0}, "RMSProp RMSProp_1 RMSProp_2", None),
        (1, "rmsprop", {"centered": True, "momentum": 0}, "RMSProp RMSProp_1", "rmsprop with"),
        (1, "momentum", {}, "Momentum", None),
        (1, "momentum", {}, "Adadelta Adadelta_1", "an optimizer with the slots Adadelta"),
        (1, "adam", {}, "m v", "an optimizer with the slots m, v"),
    ],
)  # fmt: skip
def test_slots_of_another_optimizer_or_of_other_settings(version, kind, options, slots, words):
    from estimator_bridge.convert.plan.model import Optimizer
    from estimator_bridge.convert.plan.optimizers import find_other_state, slots_of

    optimizer = Optimizer(kind, 0.1, options, version)
    stored = {slot: f"training/Name/kernel/{slot}" for slot in slots.split()}
    found = find_other_state(optimizer, slots_of(optimizer, 0.1), stored)
    assert found == words or words and found.startswith(words)
    of_nadam = {slot: f"training/Nadam/kernel/{slot}" for slot in ("m", "v")}
    if version == 2:
        assert find_other_state(optimizer, slots_of(optimizer, 0.1), of_nadam) == "Nadam"


def test_an_unknown_optimizer_leaves_the_model_uncompiled(tmp_path):
    from estimator_bridge import tf

    column = tf.feature_column.numeric_column("age")
    built = tf.estimator.DNNLinearCombinedRegressor(
        linear_feature_columns=[column],
        linear_optimizer="Ftrl",
        dnn_feature_columns=[column],
        dnn_hidden_units=[3],
        dnn_optimizer=tf.keras.optimizers.legacy.Nadam(0.1),
        model_dir=str(tmp_path),
    )
    features, labels = {"age": np.linspace(0, 1, 8, dtype=np.float32)}, np.ones(8, np.float32)
    built.train(lambda: tf.data.Dataset.from_tensor_slices((features, labels)).batch(4))
    plan, converted = convert(built)
    assert "the optimizer Nadam is not converted" in " ".join(plan.training_notes)
    assert "the model is not compiled" in " ".join(converted.notes)
    # Ftrl, which is known, does not train the other part.
    assert not converted.model.compiled
    with pytest.raises(NotImplementedError, match="build_optimizer has to return one"):
        converted.module.compile_model(converted.model)
