"""Defines a symbol, and reads the data files about symbols."""

import json
import os
from typing import Any, NamedTuple

__all__ = ["KINDS", "Symbol", "data"]

# Kind -> heading.
KINDS = {
    "estimator": "tf.estimator",
    "contrib": "tf.contrib",
    "feature_column": "feature columns",
    "tf1": "TensorFlow 1 only",
    "keras2": "Keras 2 only",
    "private": "TensorFlow's private modules",
    "unknown": "not a name of TensorFlow",
    "tf2": "TensorFlow 2 only",
}


class Symbol(NamedTuple):
    """The properties of one name.

    Attributes:
      name: full name in reports, such as `tf.contrib.layers.fully_connected`.
      kind: a key of KINDS.
      plain: whether it runs with `python -m estimator_bridge run`.
      tf1: whether it runs with `python -m estimator_bridge run --tf1`.
      removed_in: first TensorFlow version without it; "" if the newest has it.
      bridge: whether it needs the bridge to run on the newest TensorFlow under this name.
      edit: the work to make it run if it does not: "rename", "rewrite" or "port".
      now: the replacement that runs on the newest TensorFlow; "" if none is known.
      keras: the Keras replacement, or "none" with the reason.
      work: the work to replace it in a Keras program: "rename", "small", "canned", "model" or
        "large".
      traps: keys of symbols/traps.json.
    """

    name: str
    kind: str
    plain: bool
    tf1: bool
    removed_in: str = ""
    bridge: bool = False
    edit: str = ""
    now: str = ""
    keras: str = ""
    work: str = "small"
    traps: tuple[str, ...] = ()

    @property
    def runs(self) -> str:
        """How it runs under the bridge: "plain", "--tf1" or "no"."""
        return "plain" if self.plain else "--tf1" if self.tf1 else "no"


def data(name: str) -> dict[str, Any]:
    """Returns the content of symbols/<name>.json.

    Args:
      name: name of the file without its suffix.
    """
    path = os.path.join(os.path.dirname(__file__), "symbols", f"{name}.json")
    with open(path, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content
