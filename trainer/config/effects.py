"""Tells which given options have no effect with the chosen model."""

from collections.abc import Iterable

from trainer.config.model import MODEL_TYPES
from trainer.config.sections import Config

# What each model.type reads of these options; the models' own docstrings say the same.
_LAYERS = {"hidden_units", "activation", "dropout"}
_TREES = {
    *("n_trees", "max_depth", "batches_per_layer", "max_buckets"),
    *("tree_complexity", "pruning", "min_node_weight"),
}
_READ_BY_MODEL = {
    "baseline": set(),
    "linear": {"engine"},
    "dnn": {*_LAYERS, "batch_norm", "engine"},
    "wide_deep": {*_LAYERS, "batch_norm", "engine"},
    "residual": {*_LAYERS, "batch_norm_momentum"},
    "rnn": {"hidden_units", "dropout", "cell", "batch_norm"},
    "boosted_trees": _TREES,
    "image": {"dropout", "batch_norm_momentum", "base_alpha", "base_weights", "base_trainable"},
}
_HAS_LINEAR_PART = ("linear", "wide_deep")
_LINEAR = {"linear_optimizer", "linear_learning_rate"}
_FTRL = {"l1", "l2"}
_BY_OPTIMIZERS = ("optimizer", "decay", "warmup_steps")
_DECAY = ("decay_rate", "decay_steps")

# The options on which it depends what is read.
DECIDING = ("model.type", "train.optimizer", "train.linear_optimizer", "train.decay")


def find_unused(config: Config, given: Iterable[str]) -> dict[str, str]:
    """Returns the given options without effect, with the reason.

    Models of the user's own code may read every option, and are not examined.

    Args:
        config: the configuration.
        given: the names of the options that the user gave, such as model.cell.
    """
    kind, train = config.model.type, config.train
    if kind not in MODEL_TYPES or config.experiment or config.tfx.trainer_fn:
        return {}
    given, unused = set(given), {}
    of_models = set().union(*_READ_BY_MODEL.values())
    for name in sorted(of_models - _READ_BY_MODEL[kind]):
        unused[f"model.{name}"] = f"model.type {kind} does not read it"
    if kind not in (*_HAS_LINEAR_PART, "baseline"):
        for name in sorted(_LINEAR):
            unused[f"train.{name}"] = f"model.type {kind} has no linear part"
    if kind == "boosted_trees":
        for name in _BY_OPTIMIZERS:
            unused[f"train.{name}"] = "model.type boosted_trees has no optimizer"
    if kind == "linear":
        unused["train.optimizer"] = "model.type linear reads train.linear_optimizer"
    optimizers = {train.linear_optimizer} if kind in _HAS_LINEAR_PART else set()
    optimizers |= {train.optimizer} if kind not in ("linear", "boosted_trees") else set()
    if "ftrl" not in optimizers and kind not in ("baseline", "boosted_trees"):
        for name in sorted(_FTRL):
            unused[f"train.{name}"] = "no optimizer of this model is ftrl"
    for name in _DECAY:
        if train.decay not in ("exponential", "cosine"):
            unused[f"train.{name}"] = f"train.decay is {train.decay}"
    return {name: reason for name, reason in unused.items() if name in given}
