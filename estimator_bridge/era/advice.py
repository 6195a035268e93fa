"""Tells a program that fails with today's Keras optimizers that `--as` gives it the old ones."""

import re
import sys
from typing import Optional

from . import optimizers

__all__ = ["describe"]

# What fails where an Estimator meets an optimizer of the new class.
_CANNED = "legacy.Optimizer"
_MEMBERS = (
    "add_slot|add_weight|clipnorm|clipvalue|get_gradients|get_slot|get_slot_names|get_updates|"
    "get_weights|global_clipnorm|set_weights|weights"
)
_NO_MEMBER = re.compile(
    rf"'(?:Adadelta|Adagrad|Adam|Adamax|Ftrl|Nadam|RMSprop|SGD)' object has no "
    rf"attribute '(?:{_MEMBERS}|_create_all_weights|_create_hypers)'"
)
_NO_KEY = re.compile(
    r"Key (\S*(?:iteration|learning_rate|/m|/v|_m|_v|momentum|velocity|accumulator)\S*) not found "
    r"in checkpoint"
)
_NEW_KEY = re.compile(
    r"(?:^|/)(?:iteration|learning_rate|(?:Adam|SGD|Adagrad|RMSprop|Adadelta|"
    r"Adamax|Nadam|Ftrl)/\S+)$"
)


def describe(error: BaseException, version: Optional[tuple[int, int]]) -> Optional[str]:
    """Returns one line for an error that the class of a Keras optimizer explains, or None.

    Args:
      error: what ended the program.
      version: the (major, minor) that the program runs as; None without a choice.
    """
    has_old_classes = version is not None and version < optimizers.REPLACED_IN
    modules = ("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer")
    if has_old_classes or not any(name in sys.modules for name in modules):
        return None
    text = str(error)
    missing = _NO_KEY.search(text)
    if missing and _NEW_KEY.search(missing.group(1)):
        problem = f"the checkpoint has no {missing.group(1)} of today's Keras optimizer"
    elif _NO_MEMBER.search(text) or ("optimizer" in text and _CANNED in text):
        problem = "the program uses a Keras optimizer as it was until TensorFlow 2.10"
    else:
        return None
    return (
        f"estimator_bridge: {problem}. tf.keras.optimizers has other classes since 2.11: if the "
        "program was written for an older TensorFlow, name it, for example "
        "`python -m estimator_bridge run --as=2.8`."
    )
