"""Remembers what a session has to run for fetches that it had before.

The steps of a training have the same fetches, and a MonitoredSession adds those of its hooks. In
each step TensorFlow goes through them: it looks up their operations in the graph, and plans how the
results get the structure of the fetches. docs/speed_measured.md has the cost.
"""

import functools
from typing import Any, Optional

import tensorflow.compat.v1 as tf

from ..private_tf import ref_variable, resource_variable_ops, session

__all__ = ["apply"]

# Of a graph: what has been remembered, with the fetches themselves, so that no id is used again.
_ATTRIBUTE = "_estimator_bridge_fetches"
# A program whose fetches change all the time is not to need more and more memory.
_MOST = 32


def apply() -> None:
    """Makes the sessions from now on remember lists, tuples and dicts of tensors and operations."""
    handler: Any = session._FetchHandler
    if hasattr(handler, "_find"):
        return

    class RememberedFetches(handler):
        """TensorFlow's handler of fetches, whose state may come from an earlier one."""

        def __init__(self, graph: Any, fetches: Any, feeds: Any, feed_handles: Any = None):
            key = _describe(fetches)
            if key is None:
                super().__init__(graph, fetches, feeds, feed_handles)
                return
            self.__dict__.update(self._find(graph, fetches, key))
            self._feeds, self._feed_handles = feeds, feed_handles or {}
            if feeds:
                self._final_fetches = [one for one in self._fetches if one.ref() not in feeds]

        def _find(self, graph: Any, fetches: Any, key: Any) -> dict[str, Any]:
            # Both only grow: operations that may not be fetched, and types that may.
            key = key, len(graph._unfetchable_ops), len(session._REGISTERED_EXPANSIONS)
            remembered = getattr(graph, _ATTRIBUTE, None)
            if remembered is None:
                remembered = {}
                setattr(graph, _ATTRIBUTE, remembered)
            found = remembered.get(key)
            if found is None:
                copy = _copy(fetches)
                super().__init__(graph, copy, {})
                if len(remembered) >= _MOST:
                    remembered.clear()
                found = remembered[key] = copy, dict(vars(self))
            return found[1]

    RememberedFetches.__name__ = handler.__name__
    session._FetchHandler = RememberedFetches


@functools.cache
def _is_leaf(kind: Any) -> bool:
    """Returns whether objects of a type always stand for the same tensor or operation."""
    # Subclasses of variables may stand for one of several.
    variables = ref_variable.RefVariable, resource_variable_ops.ResourceVariable
    return issubclass(kind, (tf.Tensor, tf.Operation)) or kind in variables


@functools.cache
def _is_itself(kind: Any) -> bool:
    """Returns whether equal keys of a dict are the same key."""
    return kind is str or kind.__eq__ is object.__eq__


def _describe(fetches: Any) -> Optional[Any]:
    """Returns what is the same for the same fetches only, or None where that is not known."""
    kind: Any = type(fetches)
    if _is_leaf(kind):
        return id(fetches)
    if kind is dict:
        kinds: Any = map(type, fetches)
        if not all(map(_is_itself, kinds)):
            return None
        keys, parts = tuple(fetches), fetches.values()
    elif kind is list or kind is tuple:
        keys, parts = (), fetches
    else:
        return None
    described = [_describe(one) for one in parts]
    return None if None in described else (kind, keys, *described)


def _copy(fetches: Any) -> Any:
    """Returns fetches whose lists and dicts are not the program's."""
    kind: Any = type(fetches)
    if kind is dict:
        return {key: _copy(one) for key, one in fetches.items()}
    return kind(map(_copy, fetches)) if kind in (list, tuple) else fetches
