"""One symbol, and the data files that tell of symbols."""

import json
import os
from typing import NamedTuple

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
    """What is known of one name.

    Attributes:
      name: as reported: `tf.contrib.layers.fully_connected`.
      kind: a key of KINDS.
      plain: runs with `python -m estimator_bridge run`.
      tf1: runs with `python -m estimator_bridge run --tf1`.
      gone: first TensorFlow without it; "" while today's has it.
      bridge: needs the bridge to run on today's TensorFlow, in its own spelling.
      edit: how hard it is to make it run where it does not: "rename", "rewrite" or "port".
      now: what to write instead so that it runs on today's TensorFlow; "" if nothing is known.
      keras: the Keras replacement, or "none" with the reason.
      work: of replacing it in a Keras program: "rename", "small", "canned", "model" or "large".
      traps: keys into symbols/traps.json.
    """

    name: str
    kind: str
    plain: bool
    tf1: bool
    gone: str = ""
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


def data(name: str) -> dict:
    """Returns the content of symbols/<name>.json."""
    path = os.path.join(os.path.dirname(__file__), "symbols", f"{name}.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)
