"""A Plan from a canned Estimator written by others, read from what its model_fn holds on to."""

from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input, Weighted, dtypes_of, inputs_of
from ..plan.model import Head, Network, Plan
from .columns import ColumnReader
from .foreign_optimizers import read_optimizer
from .recurrent import read_recurrent
from .rows import Rows
from .traced_functions import trace_activation
from .user_code import call_function, load_function

__all__ = ["Loaded", "describe_estimator", "load_estimator"]

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
_REDUCTIONS = {
    "sum": "sum",
    "weighted_sum": "sum",
    "sum_over_batch_size": "sum_over_batch_size",
    "weighted_sum_over_batch_size": "sum_over_batch_size",
    "weighted_sum_by_nonzero_weights": "sum_over_batch_size",
    "weighted_mean": "mean_with_sample_weight",
}
_HEADS = {
    "BinaryClassHead": "binary",
    "BinaryLogisticHeadWithSigmoidCrossEntropyLoss": "binary",
    "MultiClassHead": "multiclass",
    "MultiClassHeadWithSoftmaxCrossEntropyLoss": "multiclass",
    "RegressionHead": "regression",
    "RegressionHeadWithMeanSquaredErrorLoss": "regression",
    "PoissonRegressionHead": "poisson",
    "LogisticRegressionHead": "logistic",
    "MultiLabelHead": "multilabel",
}


class Loaded(NamedTuple):
    """What a MODULE:FUNCTION gave.

    Attributes:
      estimator: the Estimator.
      where: MODULE:FUNCTION, for messages.
    """

    estimator: Any
    where: str


def load_estimator(where: str) -> Loaded:
    """Calls MODULE:FUNCTION; it returns an Estimator, or a tuple that begins with one."""
    given = call_function(load_function(where, "--estimator"), f"--estimator={where}")
    built = given[0] if isinstance(given, tuple) and given else given
    if not hasattr(built, "_model_fn") or not hasattr(built, "model_dir"):
        raise BridgeError(
            f"--estimator={where}: it returned a {type(built).__name__}; it has to return an "
            "Estimator, or a tuple that begins with one"
        )
    return Loaded(built, where)


def _held_by(function: Callable) -> dict[str, Any]:
    """Names and values that a function takes from around it."""
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    return {name: cell.cell_contents for name, cell in zip(names, cells)}


def _canned_parts(built: Any, depth: int = 0) -> dict[str, Any]:
    """What the model_fn of a canned Estimator holds, looked for below add_metrics and the like."""
    held = _held_by(built._model_fn)
    if "head" in held:
        of_two = "V2." in built._model_fn.__qualname__ or "sequence_feature_columns" in held
        version = 2 if of_two else 1
        return {**held, "version": version, "where": built._model_fn.__qualname__}
    for value in held.values():
        if hasattr(value, "_model_fn") and depth < 5:
            found = _canned_parts(value, depth + 1)
            if found:
                return found
    return {}


def describe_estimator(
    loaded: Loaded, step: int, multivalued=(), sparse=(), given: Optional[Rows] = None
) -> Plan:
    """Makes the plan of a canned Estimator, v1 or v2.

    Args:
      loaded: the Estimator.
      step: global step of the checkpoint, at which a rate that is a tensor is evaluated.
      multivalued, sparse: names of features; see the command's flags.
      given: some rows of its input function: they tell the same, and the types of the features.

    Raises:
      BridgeError: it is not a canned one, or a part of it cannot be converted.
    """
    held = _canned_parts(loaded.estimator)
    fed = _Fed(multivalued, sparse, given)
    if "sequence_feature_columns" in held:
        return _describe_recurrent(loaded, held, step, fed)
    is_deep = "hidden_units" in held or "dnn_hidden_units" in held
    is_wide = "linear_feature_columns" in held or ("feature_columns" in held and not is_deep)
    known = {"head", "optimizer", "dnn_optimizer"} & set(held)
    where = held.get("where", "")
    if len(known) < 2 or not (is_deep or is_wide or "Baseline" in where):
        raise BridgeError(
            f"--estimator={loaded.where}: {type(loaded.estimator).__name__} is not a canned "
            "linear, dnn, linear-combined or baseline Estimator; --model_fn wraps any other as a "
            "Keras layer"
        )
    reader = ColumnReader(fed.sparse, held["version"])
    deep_prefix = "dnn_" if "dnn_hidden_units" in held else ""
    wide_key = "linear_feature_columns" if "linear_feature_columns" in held else "feature_columns"
    wide = [reader.read(column) for column in _listed(held.get(wide_key))] if is_wide else []
    deep, network = [], None
    if is_deep and _listed(held.get(f"{deep_prefix}feature_columns")):
        columns = _listed(held[f"{deep_prefix}feature_columns"])
        deep = [reader.read(column) for column in columns]
        network = _network(held, deep_prefix)
    if not wide and not deep and (is_wide or is_deep):
        raise BridgeError(f"--estimator={loaded.where}: it has no feature columns")
    for_wide, for_deep = _optimizers(held, wide, deep, step)
    readings = [reading for reading in (for_wide, for_deep) if reading is not None]
    notes = [note for one in readings for note in one.notes]
    if held["version"] == 2 and len(readings) == 2 and for_wide.reads_step:
        notes.append(
            "the linear optimizer's rate reads the global step, which the dnn optimizer counts in "
            "the same run: of which step its rate is, is chance within the Estimator. In Keras it "
            "is that of the step"
        )
    kind = {(True, True): "wide_deep", (True, False): "linear", (False, True): "dnn"}.get(
        (bool(wide), bool(deep)), "baseline"
    )
    return Plan(
        kind=kind,
        inputs=_inputs(wide + deep, fed, loaded),
        wide=tuple(wide),
        wide_combiner=held.get("linear_sparse_combiner", held.get("sparse_combiner", "sum")),
        deep=tuple(deep),
        network=network,
        head=_head(held["head"]),
        wide_optimizer=for_wide and for_wide.optimizer,
        deep_optimizer=for_deep and for_deep.optimizer,
        key=None,
        data=None,
        training_notes=tuple(dict.fromkeys(notes)),
    )


class _Fed:
    """How features come in.

    Attributes:
      named: by flags, as sparse or as of several values.
      sparse: by flags or as seen.
      several: of several values, as seen.
      dtypes: as seen, by name.
    """

    def __init__(self, multivalued, sparse, given):
        self.named = {*multivalued, *sparse}
        self.sparse, self.several, self.dtypes = set(sparse), set(), {}
        if given is not None:
            self.sparse.update(given.sparse)
            for name, values in given.features.items():
                kind = "string" if values.dtype.kind == "O" else values.dtype.name
                self.dtypes[name] = kind
                wide = values.ndim == 2 and values.shape[1] > 1
                if name in given.sparse or (wide and values.dtype.kind in "Oi"):
                    self.several.add(name)


def _describe_recurrent(loaded, held, step, fed) -> Plan:
    recurrent = read_recurrent(held)
    steps = ColumnReader(fed.sparse)
    deep = [steps.read(column) for column in _listed(held["sequence_feature_columns"])]
    around = ColumnReader(fed.sparse)
    context = [around.read(column) for column in _listed(held["context_feature_columns"])]
    rate, clipnorm = 0.05, 5.0
    reading = read_optimizer(held["optimizer"], rate, step, 2, clipnorm)
    fed.several |= steps.sequences
    return Plan(
        kind="rnn",
        inputs=_inputs(deep + context, fed, loaded),
        wide=(),
        wide_combiner="sum",
        deep=tuple(deep),
        network=None,
        head=_head(held["head"]),
        wide_optimizer=None,
        deep_optimizer=reading.optimizer,
        key=None,
        data=None,
        training_notes=reading.notes,
        recurrent=recurrent,
        context=tuple(context),
    )


def _listed(columns) -> list:
    if columns is None:
        return []
    return list(columns) if isinstance(columns, (list, tuple, set)) else [columns]


def _inputs(columns, fed, loaded):
    many = fed.named | fed.several
    for column in columns:
        inner = getattr(column, "source", column)
        weighted = inner if isinstance(inner, Weighted) else column
        if isinstance(weighted, Weighted) and weighted.source.key in many:
            many.add(weighted.weight_key)
    if not columns:
        # A baseline looks at no feature; its model still has to know how many rows there are.
        return (Input("rows", "int64", 1),)
    known = {
        key: dtype for column in columns for key, dtype, by_name in dtypes_of(column) if not by_name
    }
    crossed = {key for column in columns for key, _, by_name in dtypes_of(column) if by_name}
    known = {**{key: fed.dtypes[key] for key in crossed & set(fed.dtypes)}, **known}
    inputs = inputs_of(columns, multivalued=many, known_dtypes=known)
    unknown = sorted(fed.named - {feature.name for feature in inputs})
    if unknown:
        raise BridgeError(
            f"--multivalued, --sparse: {loaded.where} uses no feature {', '.join(unknown)}"
        )
    return inputs


def _network(held, prefix) -> Network:
    units = tuple(held[f"{prefix}hidden_units"])
    return Network(
        units,
        _activation(held[f"{prefix}activation_fn"], units[0]),
        held[f"{prefix}dropout"] or 0.0,
        bool(held.get("batch_norm")),
    )


def _activation(function: Any, units: int) -> str:
    """Keras' name of an activation_fn, or Keras code of one that Keras does not have."""
    from estimator_bridge import tf

    if isinstance(function, str):
        function = tf.keras.activations.get(function)
    if function is None:
        return "linear"
    name = getattr(function, "__name__", "")
    # A function of the user's may have any name: only TensorFlow's own is what it is called.
    own = [getattr(room, name, None) for room in (tf.nn, tf.keras.activations)]
    if name in _ACTIVATIONS and function in own:
        return _ACTIVATIONS[name]
    return trace_activation(function, units)


def _head(head: Any) -> Head:
    kind = type(head).__name__.lstrip("_")
    if kind == "MultiHead":
        weights = head._head_weights or [1.0] * len(head._heads)
        parts = tuple(
            _head(one)._replace(name=one.name, importance=float(weight))
            for one, weight in zip(head._heads, weights)
        )
        units = sum(part.units for part in parts)
        return Head("multihead", units, None, "sum_over_batch_size", None, parts=parts)
    if kind not in _HEADS:
        raise BridgeError(f"head {kind}: it is none of TensorFlow's own")
    task = _HEADS[kind]
    inverse = getattr(head, "_inverse_link_fn", None)
    if task == "regression" and inverse is not None:
        task = {"exp": "poisson", "sigmoid": "logistic"}.get(inverse.__name__, "")
        if not task:
            raise BridgeError(f"head {kind}: its inverse link {inverse.__name__} is not known here")
    vocabulary = getattr(head, "_label_vocabulary", None)
    weight = getattr(head, "_weight_column", None)
    return Head(
        task,
        head.logits_dimension,
        None if vocabulary is None else tuple(map(str, vocabulary)),
        _REDUCTIONS[head._loss_reduction],
        getattr(weight, "key", weight),
    )


def _optimizers(held, wide, deep, step):
    num_wide, version = max(1, len(wide)), held["version"]

    def read(given, rate):
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
        # Without an optimizer, too: Ftrl whose rate falls with the number of columns.
        rate = 0.2 if held["optimizer"] else min(0.2, num_wide**-0.5)
        return read(held["optimizer"] or "Ftrl", rate), None
    return read(held["optimizer"], 0.3), None
