"""Reads what `tf.contrib.estimator.forward_features` adds to the predictions of an Estimator."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

from ..plan.columns import Input
from ..plan.model import Plan
from .input_function import Feature

__all__ = ["add_forwarded", "is_forwarding"]


class _Forwarding(NamedTuple):
    """The arguments of one call of forward_features.

    Attributes:
      keys: names of the features; () for all.
      defaults: name of a sparse feature -> its padding in the predictions.
    """

    keys: tuple[str, ...]
    defaults: Mapping[str, Any]


def is_forwarding(estimator: Any) -> bool:
    """Returns whether features are among the predictions.

    Args:
      estimator: an Estimator, which others may wrap.
    """
    return any(True for _ in _find(estimator))


def _find(estimator: Any) -> Iterator[_Forwarding]:
    waiting = [estimator]
    while waiting:
        function = getattr(waiting.pop(), "_model_fn", None)
        cells = getattr(function, "__closure__", None) or ()
        names = function.__code__.co_freevars if function is not None and cells else ()
        held = {name: cell.cell_contents for name, cell in zip(names, cells)}
        if function is not None and function.__qualname__.startswith("forward_features."):
            yield _Forwarding(tuple(held.get("keys") or ()), held.get("defaults") or {})
        waiting += [value for value in held.values() if hasattr(value, "_model_fn")]


def add_forwarded(plan: Plan, estimator: Any, given: Optional[dict[str, Feature]]) -> Plan:
    """Returns the plan with the forwarded features among its keys, or in words in `left_out`.

    Args:
      plan: the model.
      estimator: the Estimator.
      given: the features of its input function, or None if it is unknown.
    """
    known = {feature.name: feature for feature in plan.inputs}
    keys: dict[str, Input] = {}
    unknown: list[str] = []
    padded: list[str] = []
    for forwarding in _find(estimator):
        if not forwarding.keys and given is None:
            unknown.append("features that the model does not read")
        for name in forwarding.keys or (known if given is None else given):
            one = None if given is None else given.get(name)
            feature = known.get(name) or (one and _input(name, one, forwarding.defaults.get(name)))
            if not feature:
                unknown.append(name)
            elif _is_padded_otherwise(feature, one, forwarding.defaults):
                padded.append(name)
            else:
                keys[name] = feature
    left_out = []
    if unknown:
        left_out.append(
            f"forward_features: not among the outputs of the Keras model: {', '.join(unknown)}; "
            "add --input_fn=MODULE:FUNCTION, which shows their types and shapes"
        )
    if padded:
        left_out.append(
            f"forward_features: not among the outputs of the Keras model: {', '.join(padded)}, "
            "which the Estimator pads otherwise; they are inputs of the Keras model, so the "
            "caller has them"
        )
    return plan._replace(keys=tuple(keys.values()), left_out=tuple(left_out))


def _input(name: str, feature: Feature, default: Any) -> Input:
    if feature.sparse or feature.ragged_rank:
        return Input(name, feature.dtype, None, (), default)
    shape = feature.shape[1:]
    if len(shape) > 1:
        return Input(name, feature.dtype, None, shape)
    return Input(name, feature.dtype, shape[0] if shape else 1)


def _is_padded_otherwise(
    feature: Input, given: Optional[Feature], defaults: Mapping[str, Any]
) -> bool:
    """Returns whether a sparse feature has another padding in the predictions than as an input."""
    if feature.name not in defaults or (given is not None and not given.sparse):
        return False
    return bool(feature.filler != defaults[feature.name])
