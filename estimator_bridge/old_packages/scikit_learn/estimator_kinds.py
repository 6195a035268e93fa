"""Estimators of programs that lack the tags of scikit-learn 1.6, or inherit them in no order.

Their kind is that of `_estimator_type` and of the mixins, as it was in 0.17 to 1.5.
"""

import functools
import sys
from typing import Any

__all__ = ["install"]

_KINDS = ("classifier", "regressor", "clusterer")


def install() -> None:
    """Replaces get_tags of the imported sklearn.utils._tags."""
    module: Any = sys.modules["sklearn.utils._tags"]
    if hasattr(module, "get_tags"):
        module.get_tags = _with_kinds(module, module.get_tags)


def _with_kinds(module, get_tags):
    @functools.wraps(get_tags)
    def replacing(estimator):
        try:
            tags = get_tags(estimator)
        except AttributeError:
            if isinstance(estimator, type) or not hasattr(estimator, "fit"):
                raise
            tags = module.Tags(
                estimator_type=None,
                target_tags=module.TargetTags(required=False),
                requires_fit=False,
            )
        if tags.estimator_type is None:
            _add_kind(module, tags, estimator)
        if tags.transformer_tags is None and hasattr(type(estimator), "transform"):
            tags.transformer_tags = module.TransformerTags()
        return tags

    return replacing


def _add_kind(module, tags, estimator):
    base = sys.modules.get("sklearn.base")
    mixins = [] if base is None else [base.ClassifierMixin, base.RegressorMixin, base.ClusterMixin]
    kind = getattr(estimator, "_estimator_type", None)
    for name, mixin in zip(_KINDS, mixins):
        if isinstance(estimator, mixin):
            kind = name
    tags.estimator_type = kind
    if kind == "classifier":
        tags.classifier_tags = module.ClassifierTags()
    if kind == "regressor":
        tags.regressor_tags = module.RegressorTags()
    if kind in ("classifier", "regressor"):
        tags.target_tags.required = True
