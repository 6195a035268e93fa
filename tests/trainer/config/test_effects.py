"""Options without effect are found from the type of model and the optimizers."""

import pytest

from trainer import config as config_lib
from trainer.config.effects import _READ_BY_MODEL, find_unused

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    "given, unused",
    [
        ({"model.type": "linear", "model.hidden_units": "9"}, ["model.hidden_units"]),
        ({"model.type": "linear", "train.optimizer": "adam"}, ["train.optimizer"]),
        ({"model.type": "linear", "train.linear_optimizer": "adam", "train.l1": "1"}, ["train.l1"]),
        ({"model.type": "dnn", "train.linear_optimizer": "sgd"}, ["train.linear_optimizer"]),
        ({"model.type": "dnn", "train.optimizer": "ftrl", "train.l1": "1"}, []),
        ({"model.cell": "gru"}, ["model.cell"]),
        ({"model.type": "rnn", "model.cell": "gru", "model.dropout": "0.1"}, []),
        ({"model.type": "image", "model.activation": "elu"}, ["model.activation"]),
        ({"train.decay_steps": "9"}, ["train.decay_steps"]),
        ({"train.decay": "cosine", "train.decay_steps": "9", "train.decay_rate": "0.2"}, []),
        ({"model.type": "my.code:build", "model.cell": "gru"}, []),
        ({"train.batch_size": "9", "train.l2": "0.1"}, []),
    ],
)
def test_options_without_effect_are_found(given, unused):
    found = find_unused(config_lib.load_config(None, given), given)
    assert list(found) == unused
    assert all("\n" not in reason for reason in found.values())


def test_every_type_of_model_has_its_options():
    assert set(_READ_BY_MODEL) == set(config_lib.MODEL_TYPES)
    options = {option.name for option in config_lib.list_options()}
    assert {f"model.{name}" for read in _READ_BY_MODEL.values() for name in read} < options
