"""Gathers batches of rows of arrays at once. Slow in all TensorFlow versions (array_datasets)."""

import functools
from typing import Any

from ..array_datasets.row_batches import exchange
from ..private_tf import dataset_ops, iterator_ops
from ..process import batch_first

__all__ = ["apply"]


def apply() -> None:
    """Has iterators of graphs made of datasets whose batches are gathered at once."""
    cls = dataset_ops.DatasetV1
    if getattr(cls._make_one_shot_iterator, "_bridged", False):
        return
    for name in ("_make_one_shot_iterator", "_make_initializable_iterator"):
        setattr(cls, name, _wrap_method(getattr(cls, name)))
    iterator_ops.Iterator.make_initializer = _wrap_initializer(
        iterator_ops.Iterator.make_initializer
    )


def _exchange(dataset: Any) -> Any:
    return exchange(dataset) if batch_first.is_wanted() else dataset


def _wrap_method(original: Any) -> Any:
    @functools.wraps(original)
    def make(self: Any, *arguments: Any, **options: Any) -> Any:
        return original(_exchange(self), *arguments, **options)

    vars(make)["_bridged"] = True
    return make


def _wrap_initializer(original: Any) -> Any:
    @functools.wraps(original)
    def make_initializer(self: Any, dataset: Any, *arguments: Any, **options: Any) -> Any:
        return original(self, _exchange(dataset), *arguments, **options)

    return make_initializer
