"""Canned Estimators with the lookups of lookups.py, and what is said about them."""

import functools
import sys
import threading
from typing import Any, Optional

from estimator_bridge.output import terminal
from estimator_bridge.private_tf import estimator_estimator
from estimator_bridge.tf1.fast import lookups

__all__ = ["install"]

_CANNED_MODULES = tuple(
    f"tensorflow_estimator.python.estimator.canned.{name}"
    for name in ("dnn", "dnn_linear_combined", "linear")
)
_NAMED_COLUMNS = 3
_said: set[str] = set()
_thread = threading.local()


def install() -> None:
    """Makes Estimators whose graphs are built from now on use fused lookups where they can."""
    lookups.install()
    cls = estimator_estimator.Estimator
    cls._call_model_fn = _fusing(cls._call_model_fn)
    cls._add_meta_graph_for_mode = _exporting(cls._add_meta_graph_for_mode)


def _fusing(call_model_fn: Any) -> Any:
    @functools.wraps(call_model_fn)
    def call(self: Any, features: Any, labels: Any, mode: str, config: Any) -> Any:
        def build() -> Any:
            return call_model_fn(self, features, labels, mode, config)

        if getattr(_thread, "exports", False):
            return build()
        obstacle, before = _find_obstacle(self), getattr(_thread, "fused", 0)
        if obstacle is None:
            with lookups.substituting() as found:
                spec = build()
            _thread.fused = before + 1
            line = _describe(_name(self), found)
        else:
            spec = build()
            line = f"--fast: {_name(self)} trains as before: {obstacle}."
            # It has called the model_fn of a canned Estimator, which has a line of its own.
            if getattr(_thread, "fused", 0) != before:
                return spec
        if mode == "train":
            _say(line)
        return spec

    return call


def _exporting(add_meta_graph: Any) -> Any:
    """Returns a function that builds an export with TensorFlow's own operations."""

    @functools.wraps(add_meta_graph)
    def add(self: Any, *arguments: Any, **options: Any) -> Any:
        _thread.exports = True
        try:
            return add_meta_graph(self, *arguments, **options)
        finally:
            _thread.exports = False

    return add


def _find_obstacle(estimator: Any) -> Optional[str]:
    """Returns why an Estimator cannot train with fused lookups; None if it may."""
    if not any(cls.__module__ in _CANNED_MODULES for cls in type(estimator).__mro__):
        return "only the canned Linear, DNN and DNNLinearCombined Estimators have fused lookups"
    if estimator._train_distribution is not None or estimator._eval_distribution is not None:
        return "it uses a distribution strategy"
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
