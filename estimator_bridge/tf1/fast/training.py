"""Trains canned Estimators with the lookups of lookups.py, and says so."""

import functools
import sys
from typing import Any, Optional

from estimator_bridge import terminal
from estimator_bridge.private_tf import estimator_estimator
from estimator_bridge.tf1.fast import lookups

__all__ = ["install"]

_CANNED_MODULES = tuple(
    f"tensorflow_estimator.python.estimator.canned.{name}"
    for name in ("dnn", "dnn_linear_combined", "linear")
)
_NAMED_COLUMNS = 3
_said: set[str] = set()


def install() -> None:
    """Makes Estimators that are trained from now on use fused lookups where they can."""
    lookups.install()
    cls = estimator_estimator.Estimator
    cls._train_model = _fusing(cls._train_model)
    cls._train_with_estimator_spec = _reporting(cls._train_with_estimator_spec)


def _fusing(train_model: Any) -> Any:
    @functools.wraps(train_model)
    def train(self: Any, *arguments: Any, **options: Any) -> Any:
        obstacle = _find_obstacle(self)
        if obstacle is not None:
            _say(f"--fast: {_name(self)} trains as before: {obstacle}.")
            return train_model(self, *arguments, **options)
        with lookups.substituting() as found:
            vars(self)["_bridge_fused"] = found
            return train_model(self, *arguments, **options)

    return train


def _reporting(train_with_estimator_spec: Any) -> Any:
    @functools.wraps(train_with_estimator_spec)
    def train(self: Any, *arguments: Any, **options: Any) -> Any:
        found = vars(self).pop("_bridge_fused", None)
        if found is not None:
            _say(_describe(_name(self), found))
        return train_with_estimator_spec(self, *arguments, **options)

    return train


def _find_obstacle(estimator: Any) -> Optional[str]:
    """Returns why an Estimator cannot train with fused lookups; None if it may."""
    if not any(cls.__module__ in _CANNED_MODULES for cls in type(estimator).__mro__):
        return "only the canned Linear, DNN and DNNLinearCombined Estimators have fused lookups"
    if estimator._train_distribution is not None:
        return "it trains under a distribution strategy"
    if estimator.config.num_ps_replicas:
        return "it trains with parameter servers"
    return None


def _describe(name: str, found: lookups.Substitution) -> str:
    if not found.fused and not found.others:
        return f"--fast: {name} trains as before: it has no categorical columns."
    others = list(found.others.items())
    reasons = "; ".join(f"{column}: {reason}" for column, reason in others[:_NAMED_COLUMNS])
    if len(others) > _NAMED_COLUMNS:
        reasons += f"; and {len(others) - _NAMED_COLUMNS} more"
    if not found.fused:
        return f"--fast: {name} trains as before: {reasons}."
    text = (
        f"--fast: {name} trains with {len(found.fused)} fused lookups; variables and checkpoints "
        "stay the same, losses within rounding."
    )
    return f"{text} As before: {reasons}." if reasons else text


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        print(f"estimator_bridge: {terminal.escape(text)}", file=sys.stderr)
