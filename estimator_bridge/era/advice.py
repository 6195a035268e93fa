"""Tells a program that fails for want of an older TensorFlow which option gives it that one."""

import re
import sys
from typing import Any, Optional

from . import TF1, format_version, optimizers, trained

__all__ = ["describe", "find_new_class"]

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
_NO_ARGUMENT = re.compile(r"\w+ is deprecated in the new (?:TF-)?Keras optimizer")
_NO_KEY = re.compile(
    r"Key (\S*(?:iteration|learning_rate|/m|/v|_m|_v|momentum|velocity|accumulator)\S*) not found "
    r"in checkpoint"
)
_NEW_KEY = re.compile(
    r"(?:^|/)(?:iteration|learning_rate|(?:Adam|SGD|Adagrad|RMSprop|Adadelta|"
    r"Adamax|Nadam|Ftrl)/\S+)$"
)
_ANY_KEY = re.compile(r"Key (\S+) not found in checkpoint")
_NO_NAME = re.compile(r"module 'tensorflow(?:\._api\.v2)?((?:\.\w+)*)' has no attribute '(\w+)'")
_ONLY_1X = ("contrib", "examples")


def describe(error: BaseException, version: Optional[tuple[int, int]]) -> Optional[str]:
    """Returns one line for an error that another version's names explain, or None.

    Args:
      error: what ended the program.
      version: the (major, minor) that the program runs as; None without a choice.
    """
    if version == TF1:
        return None
    name = _find_name_of_1x(error)
    if name is not None:
        return (
            f"estimator_bridge: {name} is a name of TensorFlow 1.x: "
            "`python -m estimator_bridge run --tf1` runs programs that were written for it."
        )
    has_old_classes = version is not None and version < optimizers.REPLACED_IN
    if has_old_classes:
        return _describe_newer_checkpoint(str(error), version)
    problem = find_new_class(error)
    return problem and (
        f"estimator_bridge: {problem}. tf.keras.optimizers has other classes since 2.11: if the "
        "program was written for an older TensorFlow, name it, for example "
        "`python -m estimator_bridge run --as=2.8`."
    )


def find_new_class(error: BaseException) -> Optional[str]:
    """Returns what is missing because a Keras optimizer is of today's class, or None.

    Args:
      error: what ended the program.
    """
    modules = ("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer")
    if not any(name in sys.modules for name in modules):
        return None
    text = str(error)
    missing = _NO_KEY.search(text)
    if missing and _NEW_KEY.search(missing.group(1)):
        return f"the checkpoint has no {missing.group(1)} of today's Keras optimizer"
    is_canned = "optimizer" in text and _CANNED in text
    if is_canned or _NO_MEMBER.search(text) or _NO_ARGUMENT.search(text):
        return "the program uses a Keras optimizer as it was until TensorFlow 2.10"
    return None


def _describe_newer_checkpoint(text: str, version: Optional[tuple[int, int]]) -> Optional[str]:
    missing = _ANY_KEY.search(text)
    if version is None or missing is None or not trained.OLD_KEY.search(missing.group(1)):
        return None
    return (
        f"estimator_bridge: the checkpoint has no {missing.group(1)}, which the Keras optimizers "
        f"of TensorFlow {format_version(version)} save. If the checkpoint was written with today's "
        "optimizers, name their version: `python -m estimator_bridge run --as=2.11`."
    )


def _find_name_of_1x(error: BaseException) -> Optional[str]:
    """Returns the name for want of which a program has failed, if TensorFlow 1.x had it."""
    if isinstance(error, ModuleNotFoundError):
        parts = (error.name or "").split(".")
        is_known = parts[0] == "tensorflow" and parts[1:2] and parts[1] in _ONLY_1X
        return f"tf.{parts[1]}" if is_known else None
    missing = _NO_NAME.search(str(error)) if isinstance(error, AttributeError) else None
    if missing is None:
        return None
    *packages, name = [
        part for part in (missing.group(1) + "." + missing.group(2)).split(".") if part
    ]
    owner: Any = getattr(getattr(sys.modules.get("tensorflow"), "compat", None), "v1", None)
    for package in packages:
        owner = getattr(owner, package, None)
    is_known = hasattr(owner, name) or (not packages and name in _ONLY_1X)
    return ".".join(["tf", *packages, name]) if is_known else None
