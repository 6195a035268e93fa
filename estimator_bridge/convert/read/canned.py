"""Reads a Plan from the variables in the closure of a canned Estimator's model_fn."""

from collections.abc import Iterable
from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input, Weighted, dtypes_of, inputs_of
from ..plan.model import BASELINE_INPUT, Network, Plan
from .columns import ColumnReader
from .foreign_optimizers import Reading, read_optimizer
from .heads import has_changed_weights, read_head
from .recurrent import read_recurrent
from .rows import Rows
from .traced_functions import trace_activation
from .user_code import call_function, load_function

__all__ = ["InputReader", "Loaded", "describe_estimator", "load_estimator"]

_ACTIVATIONS = {
    "elu": "elu",
    "gelu": "gelu",
    "leaky_relu": "leaky_relu",
    "linear": "linear",
    "relu": "relu",
    "relu6": "relu6",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "softplus": "softplus",
    "softsign": "softsign",
    "swish": "silu",
    "tanh": "tanh",
}


class Loaded(NamedTuple):
    """The Estimator that a function of the user returned.

    Attributes:
      estimator: the Estimator.
      where: MODULE:FUNCTION, for messages.
    """

    estimator: Any
    where: str


def load_estimator(where: str) -> Loaded:
    """Calls a function that returns an Estimator, or a tuple that begins with one.

    Args:
      where: MODULE:FUNCTION.

    Raises:
      BridgeError: there is no such function, it raises, or it returns something else.
    """
    result = call_function(load_function(where, "--estimator"), f"--estimator={where}")
    built = result[0] if isinstance(result, tuple) and result else result
    if not hasattr(built, "_model_fn") or not hasattr(built, "model_dir"):
        raise BridgeError(
            f"--estimator={where}: it returned a {type(built).__name__}; return an Estimator, or "
            "a tuple that begins with one"
        )
    return Loaded(built, where)


def _closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the variables that a function captures from the enclosing scopes, by name."""
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    return {name: cell.cell_contents for name, cell in zip(names, cells)}


def _canned_parts(built: Any, depth: int = 0) -> dict[str, Any]:
    """Returns the closure of a canned model_fn, also if add_metrics or others wrap it."""
    held = _closure_of(built._model_fn)
    if "head" in held:
        is_v2 = "V2." in built._model_fn.__qualname__ or "sequence_feature_columns" in held
        version = 2 if is_v2 else 1
        return {**held, "version": version, "where": built._model_fn.__qualname__}
    for value in held.values():
        if hasattr(value, "_model_fn") and depth < 5:
            found = _canned_parts(value, depth + 1)
            if found:
                return found
    return {}


def describe_estimator(
    loaded: Loaded,
    step: int,
    *,
    multivalued: Iterable[str] = (),
    sparse: Iterable[str] = (),
    given: Optional[Rows] = None,
) -> Plan:
    """Returns the plan of a canned Estimator of either API version.

    Args:
      loaded: the Estimator.
      step: global step of the checkpoint, at which a learning rate that is a tensor is evaluated.
      multivalued: names of the multivalent features fed as dense tensors.
      sparse: names of the features fed as SparseTensors.
      given: some rows of the input function, or None; they replace the two arguments above and
        define dtypes.

    Raises:
      BridgeError: the Estimator is not canned, or a part of it cannot be converted.
    """
    held = _canned_parts(loaded.estimator)
    inputs = InputReader(loaded.where, multivalued, sparse, given)
    if "sequence_feature_columns" in held:
        return _describe_recurrent(held, step, inputs)
    wide, deep = _columns(loaded, held, inputs.sparse)
    network = _network(held) if deep else None
    for_wide, for_deep = _optimizers(held, wide, deep, step)
    # One known optimizer of two would also train the other part.
    known = all(reading is None or reading.optimizer for reading in (for_wide, for_deep))
    kind = {(True, True): "wide_deep", (True, False): "linear", (False, True): "dnn"}.get(
        (bool(wide), bool(deep)), "baseline"
    )
    return Plan(
        kind=kind,
        inputs=inputs.read(wide + deep),
        wide=tuple(wide),
        wide_combiner=held.get("linear_sparse_combiner", held.get("sparse_combiner", "sum")),
        deep=tuple(deep),
        network=network,
        head=read_head(held["head"]),
        wide_optimizer=for_wide.optimizer if for_wide and known else None,
        deep_optimizer=for_deep.optimizer if for_deep and known else None,
        keys=(),
        data=None,
        training_notes=_training_notes(held, for_wide, for_deep),
    )


def _columns(
    loaded: Loaded, held: dict[str, Any], sparse: Iterable[str]
) -> tuple[list[Any], list[Any]]:
    """Returns the plan columns of the linear and of the deep part."""
    is_deep = "hidden_units" in held or "dnn_hidden_units" in held
    is_wide = "linear_feature_columns" in held or ("feature_columns" in held and not is_deep)
    known = {"head", "optimizer", "dnn_optimizer"} & set(held)
    is_baseline = "Baseline" in held.get("where", "")
    if len(known) < 2 or not (is_deep or is_wide or is_baseline):
        kind = type(loaded.estimator)
        is_old = kind.__module__.startswith("estimator_bridge.tf1.contrib.learn")
        name = f"tf.contrib.learn.{kind.__name__}" if is_old else kind.__name__
        raise BridgeError(
            f"--estimator={loaded.where}: {name} is not a canned "
            "linear, dnn, linear-combined or baseline Estimator; convert --model_fn wraps any "
            "other as a Keras layer, which verify does not compare"
        )
    wide_key = "linear_feature_columns" if "linear_feature_columns" in held else "feature_columns"
    deep_key = "dnn_feature_columns" if "dnn_hidden_units" in held else "feature_columns"
    reader = ColumnReader(sparse, held["version"])
    wide = [reader.read(column) for column in _to_list(held.get(wide_key))] if is_wide else []
    deep = [reader.read(column) for column in _to_list(held.get(deep_key))] if is_deep else []
    if not wide and not deep and (is_wide or is_deep):
        raise BridgeError(f"--estimator={loaded.where}: it has no feature columns")
    return wide, deep


def _training_notes(
    held: dict[str, Any], for_wide: Optional[Reading], for_deep: Optional[Reading]
) -> tuple[str, ...]:
    readings = [reading for reading in (for_wide, for_deep) if reading is not None]
    notes = [note for reading in readings for note in reading.notes]
    if held["version"] == 2 and len(readings) == 2 and readings[0].reads_step:
        notes.append(
            "the learning rate of the linear optimizer reads the global step, which the dnn "
            "optimizer increments in the same run, so the Estimator may use the rate of either "
            "step; Keras uses the rate of the current one"
        )
    if any(map(has_changed_weights, getattr(held["head"], "_heads", [held["head"]]))):
        notes.append(
            "the weight column has a normalizer_fn: the row weights of the Estimator are its "
            "results, those of Keras the raw values; apply it to the sample_weight of fit()"
        )
    return tuple(dict.fromkeys(notes))


class InputReader:
    """Finds the raw features of columns, and which of them are multivalent.

    Args:
      where: MODULE:FUNCTION of the Estimator, for messages.
      multivalued: names of multivalent features fed as dense tensors.
      sparse: names of features fed as SparseTensors.
      given: some rows, or None.

    Attributes:
      sparse: names of the features fed as SparseTensors, by the arguments or in the rows.
    """

    def __init__(
        self,
        where: str,
        multivalued: Iterable[str],
        sparse: Iterable[str],
        given: Optional[Rows],
    ):
        self._where = where
        self._named = {*multivalued, *sparse}
        self._multivalent: set[str] = set()
        self._dtypes: dict[str, str] = {}
        self.sparse = set(sparse)
        if given is not None:
            self.sparse.update(given.sparse)
            for name, values in given.features.items():
                kind = "string" if values.dtype.kind == "O" else values.dtype.name
                self._dtypes[name] = kind
                is_wide = values.ndim == 2 and values.shape[1] > 1
                if name in given.sparse or (is_wide and values.dtype.kind in "Oi"):
                    self._multivalent.add(name)

    def read(self, columns: list[Any], sequences: Iterable[str] = ()) -> tuple[Input, ...]:
        """Returns the raw features of some columns.

        Args:
          columns: plan columns.
          sequences: names of the features that are sequences.

        Raises:
          BridgeError: `multivalued` contains a feature that no column reads.
        """
        if not columns:
            return (Input(BASELINE_INPUT, "int64", 1),)
        multivalent = {*self._named, *self._multivalent, *sequences}
        for column in columns:
            inner = getattr(column, "source", column)
            weighted = inner if isinstance(inner, Weighted) else column
            if isinstance(weighted, Weighted) and weighted.source.key in multivalent:
                multivalent.add(weighted.weight_key)
        inputs = inputs_of(
            columns, multivalued=multivalent, known_dtypes=self._known_dtypes(columns)
        )
        unknown = sorted(self._named - {feature.name for feature in inputs})
        if unknown:
            raise BridgeError(
                f"--multivalued, --sparse: {self._where} has no feature {', '.join(unknown)}"
            )
        return inputs

    def _known_dtypes(self, columns: list[Any]) -> dict[str, str]:
        """Returns the dtypes that columns define; for crosses by name, the dtypes of the rows."""
        features = [feature for column in columns for feature in dtypes_of(column)]
        crossed = {key for key, _, by_name in features if by_name}
        from_rows = {key: self._dtypes[key] for key in crossed & set(self._dtypes)}
        return {**from_rows, **{key: dtype for key, dtype, by_name in features if not by_name}}


def _describe_recurrent(held: dict[str, Any], step: int, inputs: InputReader) -> Plan:
    recurrent = read_recurrent(held)
    step_reader = ColumnReader(inputs.sparse)
    deep = [step_reader.read(column) for column in _to_list(held["sequence_feature_columns"])]
    context_reader = ColumnReader(inputs.sparse)
    context = [context_reader.read(column) for column in _to_list(held["context_feature_columns"])]
    rate, clipnorm = 0.05, 5.0
    reading = read_optimizer(held["optimizer"], rate, step, 2, clipnorm)
    return Plan(
        kind="rnn",
        inputs=inputs.read(deep + context, step_reader.sequences),
        wide=(),
        wide_combiner="sum",
        deep=tuple(deep),
        network=None,
        head=read_head(held["head"]),
        wide_optimizer=None,
        deep_optimizer=reading.optimizer,
        keys=(),
        data=None,
        training_notes=_training_notes(held, None, reading),
        recurrent=recurrent,
        context=tuple(context),
    )


def _to_list(columns: Any) -> list[Any]:
    if columns is None:
        return []
    return list(columns) if isinstance(columns, (list, tuple, set)) else [columns]


def _network(held: dict[str, Any]) -> Network:
    prefix = "dnn_" if "dnn_hidden_units" in held else ""
    units = tuple(held[f"{prefix}hidden_units"])
    return Network(
        units,
        _activation(held[f"{prefix}activation_fn"], units[0]),
        held[f"{prefix}dropout"] or 0.0,
        bool(held.get("batch_norm")),
    )


def _activation(function: Any, units: int) -> str:
    """Returns the Keras name of an activation_fn, or its Keras code if Keras has no such name."""
    from estimator_bridge import tf

    if isinstance(function, str):
        function = tf.keras.activations.get(function)
    if function is None:
        return "linear"
    name = getattr(function, "__name__", "")
    # A function of the user may have any name, so the name alone does not identify it.
    known = [getattr(module, name, None) for module in (tf.nn, tf.keras.activations)]
    if name in _ACTIVATIONS and function in known:
        return _ACTIVATIONS[name]
    return trace_activation(function, units)


def _optimizers(
    held: dict[str, Any], wide: list[Any], deep: list[Any], step: int
) -> tuple[Optional[Reading], Optional[Reading]]:
    """Returns the optimizers of the linear and of the deep part."""
    num_wide, version = max(1, len(wide)), held["version"]

    def read(given: Any, rate: Optional[float]) -> Reading:
        return read_optimizer(given, rate, step, version)

    if "dnn_optimizer" in held:
        rate = min(0.005, num_wide**-0.5)
        return (
            read(held["linear_optimizer"], rate) if wide else None,
            read(held["dnn_optimizer"], 0.001) if deep else None,
        )
    if deep:
        return None, read(held["optimizer"], None)
    if wide:
        # The default is Ftrl with a learning rate that depends on the number of columns.
        rate = 0.2 if held["optimizer"] else min(0.2, num_wide**-0.5)
        return read(held["optimizer"] or "Ftrl", rate), None
    return read(held["optimizer"], 0.3), None
