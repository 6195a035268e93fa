"""Keeps the Python functions of exported graphs, so that this process can load the exports.

A SavedModel names the functions of its py_funcs, and TensorFlow finds them as long as the graph
exists that they were made for. Whether that graph still exists when the export is loaded in the
same process depended on when Python last looked for garbage.
"""

import functools
from typing import Any

from ..private_tf import ops, saved_model_builder

__all__ = ["apply"]

_kept: list[Any] = []


def apply() -> None:
    """Makes the builder of SavedModels keep the functions of the graphs that it is given."""
    builder = saved_model_builder._SavedModelBuilder
    add = builder._tag_and_add_meta_graph

    @functools.wraps(add)
    def add_and_keep(self: Any, *args: Any, **kwargs: Any) -> Any:
        functions = getattr(ops.get_default_graph(), "_py_funcs_used_in_graph", None)
        if functions:
            _kept.append(functions)
        return add(self, *args, **kwargs)

    builder._tag_and_add_meta_graph = add_and_keep
