"""The table of symbols: what is known of every name that the audit looks for.

Its data is in symbols/*.json.

`tf.X` stands for `tensorflow.X` throughout. A *view* is the generation of the API that a program
names: "v1" for tensorflow.compat.v1, "v2" for tensorflow.compat.v2, "" for plain `tensorflow`,
which is v2 unless the program runs with --tf1.
"""

from typing import Optional

from .private import PrivateModules
from .supplied import Supplied
from .symbol import Symbol, data

__all__ = ["Table"]

_NEW_KEYWORD = {
    "keep_dims": "keepdims",
    "reduction_indices": "axis",
    "dim": "axis",
    "dimension": "axis",
    "keep_prob": "rate=1 - keep_prob",
    "filter": "filters",
    "value": "input",
    "squeeze_dims": "axis",
    "seq_dim": "seq_axis",
    "batch_dim": "batch_axis",
    "colocate_gradients_with_ops": "nothing",
    "align_corners": "nothing",
    "targets": "labels",
    "box_ind": "box_indices",
}
_PRIVATE = ("python", "core", "compiler", "tools", "dtensor", "security", "tsl", "xla", "include")
# Namespaces whose names come from Keras or absl and are not listed.
_OPEN = (
    "keras",
    "losses",
    "metrics",
    "optimizers",
    "initializers",
    "raw_ops",
    "compat",
    "summary",
    "test",
    "version",
)
_METHODS = {
    "make_one_shot_iterator": "tf.compat.v1.data.make_one_shot_iterator(dataset)",
    "make_initializable_iterator": "tf.compat.v1.data.make_initializable_iterator(dataset)",
    "export_savedmodel": "export_saved_model",
}


def _split(dotted: str) -> tuple[str, Optional[list[str]]]:
    """Returns (view, components below `tensorflow`); None for a name that is not TensorFlow's."""
    head, *rest = dotted.split(".")
    view = ""
    if head in ("tensorflow", "tensorflow_core"):
        while len(rest) > 1 and rest[0] in ("compat", "_api") and rest[1] in ("v1", "v2"):
            view = rest[1] if rest[0] == "compat" or rest[1] == "v1" else view
            rest = rest[2:]
        return view, rest
    if head == "estimator_bridge":
        # `from estimator_bridge import tf, estimator`: TensorFlow by way of the bridge.
        own = {"tf": rest[1:], "estimator": rest}
        return view, own.get(rest[0]) if rest else None
    if head != "tensorflow_estimator":
        return "", None
    if rest[:3] == ["python", "estimator", "api"] and len(rest) > 3:
        return rest[3].lstrip("_"), rest[4:]
    if rest[:1] == ["_api"] and len(rest) > 1:
        return rest[1], rest[2:]
    if rest[:1] == ["python"]:
        return view, ["tensorflow_estimator", *rest]
    while len(rest) > 1 and rest[0] == "compat":
        view, rest = rest[1], rest[2:]
    return view, rest if rest[:1] in (["contrib"], ["estimator"]) or not rest else [
        "estimator",
        *rest,
    ]


class Table:
    """Looks names up."""

    def __init__(self):
        self._estimator = data("estimator")
        self._columns = data("feature_column")
        self._keras2 = data("keras2")
        self._contrib = data("contrib")
        self._tf1 = data("tf1")
        self._both = data("both")
        api = data("api")
        self._modules = frozenset(api["modules"])
        self._shared = frozenset(api["shared"])
        self._only_v2 = frozenset(api["only_v2"])
        self._gone = api["gone"]
        self._before = api["before_1_15"]
        self._keywords = api["keywords"]
        self._supplied = Supplied()
        self._private = PrivateModules(self._supplied)
        self._found: dict[tuple[str, tuple[str, ...]], Optional[Symbol]] = {}

    def method(self, name: str) -> Symbol:
        """Returns the symbol of a method that only TensorFlow 1.x objects have."""
        now = _METHODS[name]
        keras = (
            "Model.export"
            if name.startswith("export")
            else "the dataset itself, given to Model.fit or iterated over"
        )
        return Symbol(f".{name}()", "tf1", False, True, "2.0", True, "rename", now, keras, "rename")

    def look_up(self, dotted: str, keywords: tuple[str, ...] = ()) -> Optional[Symbol]:
        """Returns what is known of a dotted name, or None if there is nothing to report.

        Args:
          dotted: absolute, with attributes of the object at its end as may be:
          `tensorflow.estimator.ModeKeys.TRAIN`.
          keywords: names of the keyword arguments that it is called with.
        """
        key = (dotted, keywords)
        if key not in self._found:
            self._found[key] = self._look_up(dotted, keywords)
        return self._found[key]

    def _look_up(self, dotted, keywords):
        view, path = _split(dotted)
        if not path or path[-1].startswith("__"):
            return None
        room = path[0]
        if room == "contrib":
            return self._of_contrib(path[1:])
        if room == "estimator":
            return self._of_estimator(view, path[1:], keywords)
        if room == "feature_column" and path[1:]:
            return self._of_columns(view, path)
        if room == "keras":
            return self._of_keras(view, path)
        if room == "tensorflow_estimator" or room in _PRIVATE or path[:2] == ["lite", "python"]:
            return self._of_private(path)
        if room == "examples":
            supplied = self._supplied.examples()
            keras = "keras.datasets for the data of the tutorials"
            name = "tf." + ".".join(path)
            return Symbol(name, "tf1", False, supplied, "2.0", True, "rewrite", "", keras)
        return self._of_tensorflow(view, path, keywords)

    def _of_estimator(self, view, path, keywords):
        shown = "tf." + (f"compat.{view}." if view else "")
        if not path:
            keras = "keras, name by name"
            return Symbol(
                shown + "estimator", "estimator", True, True, "2.16", True, "", "", keras, "rename"
            )
        for count in range(len(path), 0, -1):
            name = "tf.estimator." + ".".join(path[:count])
            entry = self._estimator.get(name)
            if entry is not None:
                break
        else:
            name = f"{shown}estimator.{'.'.join(path)}"
            if ".".join(path) in ("export", "experimental", "inputs", "tpu", "tpu.experimental"):
                symbol = self._of_estimator(view, [], ())._replace(name=name)
                only_v1 = path[0] == "tpu"
                return symbol._replace(plain=view == "v1" or not only_v1, tf1=view != "v2")
            return Symbol(
                name, "unknown", False, False, "1.15 or before", False, "rewrite", "", "", "small"
            )
        views = entry["views"]
        plain = (view or "v2") in views
        tf1 = (view or "v1") in views
        now = "" if plain or "v1" not in views else name.replace("tf.", "tf.compat.v1.", 1)
        edit = "" if plain else "rename" if now else "port" if not views else "rewrite"
        symbol = self._symbol(
            shown + name[3:], "estimator", plain, tf1, entry["gone"], True, edit, now, entry
        )
        changed = [word for word in keywords if word in self._keywords.get(name, ())]
        if changed and plain and not view:
            return self._with_old_keyword(symbol, name, changed[0])
        return symbol

    @staticmethod
    def _symbol(name, kind, plain, tf1, gone, bridge, edit, now, entry) -> Symbol:
        return Symbol(
            name, kind, plain, tf1, gone, bridge, edit, now,
            entry.get("keras", ""), entry.get("work", "small"), tuple(entry.get("traps", ())),
        )  # fmt: skip

    @staticmethod
    def _with_old_keyword(symbol: Symbol, name: str, word: str) -> Symbol:
        """Returns the symbol for a call with an argument that only the v1 function takes."""
        now = (
            f"{_NEW_KEYWORD[word]} for {word}"
            if word in _NEW_KEYWORD
            else name.replace("tf.", "tf.compat.v1.", 1)
        )
        traps = ("dropout_rate",) if word == "keep_prob" else symbol.traps
        return symbol._replace(
            name=f"{symbol.name}({word}=)", plain=False, edit="rename", now=now, traps=traps,
            gone=symbol.gone or "2.0",
        )  # fmt: skip

    def _of_columns(self, view, path):
        name = "tf." + ".".join(path[:2])
        entry = self._columns.get(name)
        if entry is None:
            return None
        plain = (view or "v2") in entry["views"]
        tf1 = (view or "v1") in entry["views"]
        shown = name if not view else name.replace("tf.", f"tf.compat.{view}.", 1)
        now = "" if plain else name.replace("tf.", "tf.compat.v1.", 1)
        gone = "" if plain else "2.0"
        edit = "" if plain else "rename"
        return self._symbol(shown, "feature_column", plain, tf1, gone, not plain, edit, now, entry)

    def _of_keras(self, view, path):
        shown = "tf." + (f"compat.{view}." if view else "")
        for count in range(len(path), 1, -1):
            tail = ".".join(path[:count])
            entry = self._keras2.get(f"tf.compat.{view}.{tail}") or self._keras2.get(f"tf.{tail}")
            if entry is not None:
                return self._symbol(shown + tail, "keras2", True, True, "2.16", True, "", "", entry)
        if view == "v1":
            entry = {"keras": "keras, the same name", "work": "rename"}
            return self._symbol(
                f"{shown}{'.'.join(path)}", "keras2", True, True, "2.16", True, "", "", entry
            )
        return None

    def _of_contrib(self, path):
        if not path:
            keras = "see its packages"
            return Symbol(
                "tf.contrib", "contrib", False, True, "2.0", True, "rewrite", "", keras, "rename"
            )
        package, rest = path[0], path[1:]
        room = self._contrib.get(package)
        if room is None:
            return Symbol(
                f"tf.contrib.{package}", "unknown", False, False, "1.15 or before", True, "rewrite"
            )
        private = "python" in rest
        known = [part for part in (reversed(rest) if private else rest) if part in room["names"]]
        leaf = (
            known[0] if known else next((part for part in reversed(rest) if part != "python"), None)
        )
        tf1 = self._supplied.contrib(package, leaf)
        if not tf1 and private and not known:
            # The path of a private module, on the way to a name that is public.
            tf1 = self._supplied.contrib(package, None)
        entry = {"keras": room["keras"], "work": room["work"], **(room["names"].get(leaf) or {})}
        shown = ".".join(rest) if private else leaf if known else ".".join(rest)
        name = f"tf.contrib.{package}" + (f".{shown}" if shown else "")
        # A name that 1.15 does not list was gone before it, or is a private one.
        gone = "2.0" if known or private or not rest else "1.15 or before"
        edit = "port" if entry["work"] in ("large", "model", "canned") else "rewrite"
        if not rest:
            edit = "rewrite"
        return self._symbol(name, "contrib", False, tf1, gone, True, edit, "", entry)

    def _of_private(self, path):
        parts = path if path[0] == "tensorflow_estimator" else ["tensorflow", *path]
        plain, tf1, gone, bridge = self._private.fate(parts)
        # A public name by a private path has the public name's replacement.
        entry = {**self._estimator.get(f"tf.estimator.{parts[-1]}", {})}
        edit = "" if plain else "rewrite"
        return self._symbol(".".join(parts), "private", plain, tf1, gone, bridge, edit, "", entry)

    def _of_tensorflow(self, view, path, keywords):
        for count in range(len(path), 0, -1):
            tail = ".".join(path[:count])
            if tail in self._only_v2:
                there = view != "v1"
                return Symbol(
                    f"tf.{tail}",
                    "tf2",
                    there,
                    view == "v2",
                    "",
                    False,
                    "rewrite",
                    f"tf.compat.v2.{tail}",
                )
            if f"tf.{tail}" in self._tf1:
                return self._of_tf1(view, tail)
            if tail in self._both:
                return self._of_both(view, tail, path, keywords)
            if tail in self._shared:
                changed = [
                    word for word in keywords if word in self._keywords.get(f"tf.{tail}", ())
                ]
                if changed and view == "":
                    symbol = Symbol(f"tf.{tail}", "tf1", True, True, bridge=True, work="rename")
                    return self._with_old_keyword(symbol, f"tf.{tail}", changed[0])
                return None
            if tail in self._before:
                now = self._before[tail]
                edit = "port" if now == "none" else "rename"
                return Symbol(
                    f"tf.{tail}",
                    "unknown",
                    False,
                    False,
                    "1.0",
                    False,
                    edit,
                    now.replace("none", ""),
                    now,
                )
            if tail in self._modules:
                changed = [
                    word
                    for word in keywords
                    if word in self._keywords.get("tf." + ".".join(path), ())
                ]
                if changed and view == "":
                    symbol = Symbol(
                        "tf." + ".".join(path), "tf1", True, True, bridge=True, work="small"
                    )
                    return self._with_old_keyword(symbol, "tf." + ".".join(path), changed[0])
                if count == len(path) or path[0] in _OPEN:
                    return None
                break
        if path[0] in _OPEN or path[0].startswith("_"):
            return None
        return Symbol(
            "tf." + ".".join(path), "unknown", False, False, "1.15 or before", False, "rewrite"
        )

    def _of_both(self, view, tail, path, keywords):
        """Of a name that both generations have for different things: the older one's, if it is
        plain that it is meant.
        """
        entry = self._both[tail]
        old_value = path[-1] in ("MEAN", "SUM_BY_NONZERO_WEIGHTS", "SUM_OVER_NONZERO_WEIGHTS")
        if view == "v2" or not (view or old_value or set(keywords) & set(entry["keywords"])):
            return None
        if view == "v1":
            return self._symbol(f"tf.compat.v1.{tail}", "tf1", True, True, "", False, "", "", entry)
        now = f"tf.compat.v1.{tail}"
        return self._symbol(f"tf.{tail}", "tf1", False, True, "2.0", True, "rename", now, entry)

    def _of_tf1(self, view, tail):
        entry = self._tf1[f"tf.{tail}"]
        now = entry.get("now") or f"tf.compat.v1.{tail}"
        entry = {
            "keras": now if entry.get("now") else "none: it has no part in a Keras program",
            "work": "rename",
            **entry,
        }
        gone = self._gone.get(f"tf.{tail}", "")
        # Keras 3 has no part of these; TensorFlow finds them in tf_keras.
        keras2 = tail.split(".")[0] == "layers" or tail.startswith(
            ("nn.rnn_cell", "nn.dynamic_rnn", "nn.bidirectional_dynamic")
        )
        if view == "v1":
            symbol = self._symbol(
                f"tf.compat.v1.{tail}",
                "tf1",
                not gone,
                not gone,
                gone,
                keras2,
                "rewrite" if gone else "",
                "",
                entry,
            )
            return symbol._replace(gone="2.16") if keras2 else symbol
        return self._symbol(f"tf.{tail}", "tf1", False, not gone, "2.0", True, "rename", now, entry)
