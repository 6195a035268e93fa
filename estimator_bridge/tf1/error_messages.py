"""Messages of failed operations as in 1.x: they begin with the reason.

TensorFlow 2 puts "Graph execution error:" and the stack of each operation in front of the reason.
Programs print, log and examine `error.message`, and people search the log for its first line. The
stack of the operation still follows at the end, because TensorFlow adds it to the text of an error.
"""

import os
import re
from typing import Any

from estimator_bridge.private_tf import error_interpolation

__all__ = ["install"]

_NODE = re.compile(r"\{\{node ([^\s{}]+)\}\}")
_BRIDGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def install() -> None:
    """Changes the messages of errors that sessions raise from now on."""
    error_interpolation.interpolate_graph = _with_places


def _with_places(message: str, graph: Any) -> str:
    """Returns a message that names the line where each of its operations was defined."""
    text, _, _ = error_interpolation.parse_message(message)
    return _NODE.sub(lambda node: _described(node, graph), text.strip())


def _described(node: "re.Match[str]", graph: Any) -> str:
    name = node.group(1)
    try:
        trace = graph.get_operation_by_name(name).traceback
    except (KeyError, ValueError):  # It is not in this graph, but in that of a server.
        return node.group()
    frames = [] if trace is None else trace.get_user_frames()
    frames = [frame for frame in frames if not frame.filename.startswith((_BRIDGE, "<"))]
    if not frames:
        return f"node {name}"
    return f"node {name} (defined at {frames[-1].filename}:{frames[-1].lineno}) "
