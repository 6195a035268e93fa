"""The table of symbols that the audit looks for, with its data in symbols/*.json.

`tf.X` means `tensorflow.X` throughout. A *view* is the API that a program names: "v1" for
tensorflow.compat.v1, "v2" for tensorflow.compat.v2, "" for plain `tensorflow`, which is v2 unless
the program runs with --tf1.
"""

from collections.abc import Iterable
from typing import Any, Optional

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
# The names in these namespaces belong to Keras or absl, and are not listed.
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
    """Returns (view, components below `tensorflow`, or None for a name of another package)."""
    head, *rest = dotted.split(".")
    view = ""
    if head in ("tensorflow", "tensorflow_core"):
        while len(rest) > 1 and rest[0] in ("compat", "_api") and rest[1] in ("v1", "v2"):
            view = rest[1] if rest[0] == "compat" or rest[1] == "v1" else view
            rest = rest[2:]
        return view, rest
    if head == "estimator_bridge":
        # `from estimator_bridge import tf, estimator` imports TensorFlow through the bridge.
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


def _keras_fields(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a Symbol about its replacement in Keras."""
    return {
        "keras": entry.get("keras", ""),
        "work": entry.get("work", "small"),
        "traps": tuple(entry.get("traps", ())),
    }


class Table:
    """The known symbols."""

    def __init__(self) -> None:
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
        self._removed: dict[str, str] = api["gone"]
        self._before = api["before_1_15"]
        self._keywords = api["keywords"]
        self._supplied = Supplied()
        self._private = PrivateModules(self._supplied)
        self._found: dict[tuple[str, tuple[str, ...]], Optional[Symbol]] = {}

    def method(self, name: str) -> Symbol:
        """Returns the symbol of a method that only objects of TensorFlow 1.x have.

        Args:
          name: name of the method.
        """
        now = _METHODS[name]
        keras = (
            "Model.export"
            if name.startswith("export")
            else "the dataset itself, passed to Model.fit or iterated over"
        )
        return Symbol(f".{name}()", "tf1", False, True, "2.0", True, "rename", now, keras, "rename")

    def look_up(self, dotted: str, keywords: tuple[str, ...] = ()) -> Optional[Symbol]:
        """Returns the symbol of a dotted name, or None if there is nothing to report.

        Args:
          dotted: absolute name, perhaps followed by attributes of the object:
            `tensorflow.estimator.ModeKeys.TRAIN`.
          keywords: names of the keyword arguments of the call.
        """
        key = (dotted, keywords)
        if key not in self._found:
            self._found[key] = self._look_up(dotted, keywords)
        return self._found[key]

    def _look_up(self, dotted: str, keywords: tuple[str, ...]) -> Optional[Symbol]:
        view, path = _split(dotted)
        if not path or path[-1].startswith("__"):
            return None
        namespace = path[0]
        if namespace == "contrib":
            return self._of_contrib(path[1:])
        if namespace == "estimator":
            return self._of_estimator(view, path[1:], keywords)
        if namespace == "feature_column" and path[1:]:
            return self._of_columns(view, path)
        if namespace == "keras":
            return self._of_keras(view, path)
        is_private = namespace == "tensorflow_estimator" or namespace in _PRIVATE
        if is_private or path[:2] == ["lite", "python"]:
            return self._of_private(path)
        if namespace == "examples":
            supplied = self._supplied.examples()
            keras = "keras.datasets for the data of the tutorials"
            name = "tf." + ".".join(path)
            return Symbol(name, "tf1", False, supplied, "2.0", True, "rewrite", "", keras)
        return self._of_tensorflow(view, path, keywords)

    def _of_estimator(self, view: str, path: list[str], keywords: Iterable[str]) -> Symbol:
        prefix = "tf." + (f"compat.{view}." if view else "")
        if not path:
            keras = "keras, name by name"
            return Symbol(
                prefix + "estimator", "estimator", True, True, "2.16", True, "", "", keras, "rename"
            )
        for count in range(len(path), 0, -1):
            name = "tf.estimator." + ".".join(path[:count])
            entry = self._estimator.get(name)
            if entry is not None:
                break
        else:
            name = f"{prefix}estimator.{'.'.join(path)}"
            if ".".join(path) in ("export", "experimental", "inputs", "tpu", "tpu.experimental"):
                symbol = self._of_estimator(view, [], ())._replace(name=name)
                only_v1 = path[0] == "tpu"
                return symbol._replace(plain=view == "v1" or not only_v1, tf1=view != "v2")
            return Symbol(name, "unknown", False, False, "1.15 or before", False, "rewrite")
        views = entry["views"]
        plain = (view or "v2") in views
        now = "" if plain or "v1" not in views else name.replace("tf.", "tf.compat.v1.", 1)
        symbol = Symbol(
            name=prefix + name[3:],
            kind="estimator",
            plain=plain,
            tf1=(view or "v1") in views,
            removed_in=entry["gone"],
            bridge=True,
            edit="" if plain else "rename" if now else "rewrite",
            now=now,
            **_keras_fields(entry),
        )
        changed = self._old_keywords(name, keywords)
        if changed and plain and not view:
            return self._with_old_keyword(symbol, name, changed[0])
        return symbol

    def _old_keywords(self, name: str, keywords: Iterable[str]) -> list[str]:
        """Returns the keywords that only the v1 function of this name accepts."""
        known = self._keywords.get(name, ())
        return [word for word in keywords if word in known]

    @staticmethod
    def _with_old_keyword(symbol: Symbol, name: str, word: str) -> Symbol:
        """Returns the symbol of a call with an argument that only the v1 function accepts."""
        now = (
            f"{_NEW_KEYWORD[word]} for {word}"
            if word in _NEW_KEYWORD
            else name.replace("tf.", "tf.compat.v1.", 1)
        )
        traps = ("dropout_rate",) if word == "keep_prob" else symbol.traps
        return symbol._replace(
            name=f"{symbol.name}({word}=)", plain=False, edit="rename", now=now, traps=traps,
            removed_in=symbol.removed_in or "2.0",
        )  # fmt: skip

    def _of_columns(self, view: str, path: list[str]) -> Optional[Symbol]:
        name = "tf." + ".".join(path[:2])
        entry = self._columns.get(name)
        if entry is None:
            return None
        plain = (view or "v2") in entry["views"]
        return Symbol(
            name=name if not view else name.replace("tf.", f"tf.compat.{view}.", 1),
            kind="feature_column",
            plain=plain,
            tf1=(view or "v1") in entry["views"],
            removed_in="" if plain else "2.0",
            bridge=not plain,
            edit="" if plain else "rename",
            now="" if plain else name.replace("tf.", "tf.compat.v1.", 1),
            **_keras_fields(entry),
        )

    def _of_keras(self, view: str, path: list[str]) -> Optional[Symbol]:
        prefix = "tf." + (f"compat.{view}." if view else "")
        for count in range(len(path), 1, -1):
            tail = ".".join(path[:count])
            entry = self._keras2.get(f"tf.compat.{view}.{tail}") or self._keras2.get(f"tf.{tail}")
            if entry is not None:
                # One with `now` was removed by TensorFlow 2 already, except in compat.v1.
                now = "" if view == "v1" else entry.get("now", "")
                return Symbol(
                    name=prefix + tail,
                    kind="keras2",
                    plain=not now,
                    tf1=not view or not now,
                    removed_in="2.0" if now else "2.16",
                    bridge=True,
                    edit="rename" if now else "",
                    now=now,
                    **_keras_fields(entry),
                )
        if view != "v1":
            return None
        entry = {"keras": "keras, the same name", "work": "rename"}
        name = f"{prefix}{'.'.join(path)}"
        return Symbol(name, "keras2", True, True, "2.16", True, **_keras_fields(entry))

    def _of_contrib(self, path: list[str]) -> Symbol:
        if not path:
            keras = "see its packages"
            return Symbol(
                "tf.contrib", "contrib", False, True, "2.0", True, "rewrite", "", keras, "rename"
            )
        package, rest = path[0], path[1:]
        if package.startswith("_"):
            # An attribute of the module itself: `tf.contrib._warning = None` silences 1.15.
            return self._of_contrib([])
        known_package = self._contrib.get(package)
        if known_package is None:
            return Symbol(
                f"tf.contrib.{package}", "unknown", False, False, "1.15 or before", True, "rewrite"
            )
        names = known_package["names"]
        private = "python" in rest
        known = [part for part in (reversed(rest) if private else rest) if part in names]
        public = next((part for part in reversed(rest) if part != "python"), None)
        leaf = known[0] if known else public
        tf1 = self._supplied.contrib(package, leaf)
        if not tf1 and private and not known:
            # The path of a private module, from which the program imports a public name.
            tf1 = self._supplied.contrib(package, None)
        own = names.get(leaf) if leaf is not None else None
        entry = {"keras": known_package["keras"], "work": known_package["work"], **(own or {})}
        ending = known[0] if known and not private else ".".join(rest)
        needs_port = entry["work"] in ("large", "model", "canned") and rest
        return Symbol(
            name=f"tf.contrib.{package}" + (f".{ending}" if ending else ""),
            kind="contrib",
            plain=False,
            tf1=tf1,
            # A name that 1.15 does not list was removed before 1.15, or is private.
            removed_in="2.0" if known or private or not rest else "1.15 or before",
            bridge=True,
            edit="port" if needs_port else "rewrite",
            **_keras_fields(entry),
        )

    def _of_private(self, path: list[str]) -> Symbol:
        parts = path if path[0] == "tensorflow_estimator" else ["tensorflow", *path]
        plain, tf1, removed_in, bridge = self._private.status(parts)
        # A public name on a private path has the replacement of the public name.
        entry = self._estimator.get(f"tf.estimator.{parts[-1]}", {})
        edit = "" if plain else "rewrite"
        return Symbol(
            ".".join(parts), "private", plain, tf1, removed_in, bridge, edit, **_keras_fields(entry)
        )

    def _of_tensorflow(
        self, view: str, path: list[str], keywords: tuple[str, ...]
    ) -> Optional[Symbol]:
        for count in range(len(path), 0, -1):
            tail = ".".join(path[:count])
            if tail in self._only_v2:
                is_v2, now = view == "v2", f"tf.compat.v2.{tail}"
                plain = view != "v1"
                return Symbol(f"tf.{tail}", "tf2", plain, is_v2, "", False, "rewrite", now)
            if f"tf.{tail}" in self._tf1:
                return self._of_tf1(view, tail)
            if tail in self._both:
                return self._of_both(view, tail, path, keywords)
            if tail in self._shared:
                return self._of_function(view, tail, keywords, "rename")
            if tail in self._before:
                now = self._before[tail]
                edit = "port" if now == "none" else "rename"
                replacement = now.replace("none", "")
                return Symbol(
                    f"tf.{tail}", "unknown", False, False, "1.0", False, edit, replacement, now
                )
            if tail in self._modules:
                symbol = self._of_function(view, ".".join(path), keywords, "small")
                if symbol is not None or count == len(path) or path[0] in _OPEN:
                    return symbol
                break
        if path[0] in _OPEN or path[0].startswith("_"):
            return None
        name = "tf." + ".".join(path)
        return Symbol(name, "unknown", False, False, "1.15 or before", False, "rewrite")

    def _of_function(
        self, view: str, name: str, keywords: tuple[str, ...], work: str
    ) -> Optional[Symbol]:
        """Returns the symbol of a function that both APIs have, if the call is valid only in v1."""
        changed = self._old_keywords(f"tf.{name}", keywords)
        if not changed or view:
            return None
        symbol = Symbol(f"tf.{name}", "tf1", True, True, bridge=True, work=work)
        return self._with_old_keyword(symbol, f"tf.{name}", changed[0])

    def _of_both(
        self, view: str, tail: str, path: list[str], keywords: tuple[str, ...]
    ) -> Optional[Symbol]:
        """Returns the v1 symbol of a name that has different meanings in the two APIs.

        Returns None unless the use clearly means the v1 symbol.
        """
        entry = self._both[tail]
        old_value = path[-1] in ("MEAN", "SUM_BY_NONZERO_WEIGHTS", "SUM_OVER_NONZERO_WEIGHTS")
        if view == "v2" or not (view or old_value or set(keywords) & set(entry["keywords"])):
            return None
        now = f"tf.compat.v1.{tail}"
        keras = _keras_fields(entry)
        if view == "v1":
            return Symbol(now, "tf1", True, True, **keras)
        return Symbol(f"tf.{tail}", "tf1", False, True, "2.0", True, "rename", now, **keras)

    def _of_tf1(self, view: str, tail: str) -> Symbol:
        entry = self._tf1[f"tf.{tail}"]
        now = entry.get("now") or f"tf.compat.v1.{tail}"
        entry = {
            "keras": now if entry.get("now") else "none: not needed in a Keras program",
            "work": "rename",
            **entry,
        }
        keras = _keras_fields(entry)
        removed_in = self._removed.get(f"tf.{tail}", "")
        if view != "v1":
            supplied = not removed_in
            return Symbol(f"tf.{tail}", "tf1", False, supplied, "2.0", True, "rename", now, **keras)
        # Keras 3 does not have these; TensorFlow imports them from tf_keras.
        is_keras2 = tail.split(".")[0] == "layers" or tail.startswith(
            ("nn.rnn_cell", "nn.dynamic_rnn", "nn.bidirectional_dynamic")
        )
        return Symbol(
            name=f"tf.compat.v1.{tail}",
            kind="tf1",
            plain=not removed_in,
            tf1=not removed_in,
            removed_in="2.16" if is_keras2 else removed_in,
            bridge=is_keras2,
            edit="rewrite" if removed_in else "",
            **keras,
        )
