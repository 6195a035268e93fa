"""Writes a SavedModel of the Keras model with the signatures of the Estimator's export.

A signature of an Estimator's export is called <signature> for the default receiver, and
<receiver>:<signature> for other receivers. The input of the signatures for classification and
regression is called "inputs"; a receiver of raw tensors does not have these two signatures.
"""

import keyword
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Callable, NamedTuple

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input
from ..plan.model import Data, Head, Plan, model_inputs

__all__ = ["export_saved_model", "is_argument"]

# A function from named tensors to named tensors.
_Function = Callable[[dict[str, Any]], dict[str, Any]]


class _Receiver(NamedTuple):
    """An input format of the SavedModel.

    Attributes:
      name: example, csv or json.
      key: name of the single input of the predict signature; "" if each feature is an input.
      specs: input name -> TensorSpec.
      parse: converts inputs to raw features, name -> tensor.
    """

    name: str
    key: str
    specs: dict[str, Any]
    parse: _Function


def export_saved_model(plan: Plan, model: Any, folder: str, default: str) -> list[str]:
    """Writes the SavedModel; returns notes on missing signatures, one line each.

    Args:
      plan: the model.
      model: the Keras model.
      folder: folder of the SavedModel.
      default: receiver of the plain signature names: example, csv or json.

    Raises:
      BridgeError: `default` is json, and the name of a feature cannot be an argument.
    """
    import keras
    import tensorflow as tf

    invalid = [feature.name for feature in model_inputs(plan) if not is_argument(feature.name)]
    notes = [
        f"SavedModel: {name!r} cannot be the name of an argument in TensorFlow 2, so it has no "
        "signatures of raw tensors"
        for name in invalid[:1]
    ]
    if invalid and default == "json":
        raise BridgeError(f"--receiver=json: {notes[0]}; choose example")
    archive = keras.export.ExportArchive()
    archive.track(model)
    predict = _make_predict(plan, model, tf)
    fill = partial(_fill_missing, plan, tf=tf)
    for receiver in _receivers(plan, tf):
        if invalid and receiver.name == "json":
            continue
        answer = _make_answer(predict, fill, receiver, tf)
        prefix = "" if receiver.name == default else f"{receiver.name}:"
        for name, pick in _signatures(plan).items():
            is_predict = name.split("/")[-1] == "predict"
            if not is_predict and not receiver.key:
                continue
            specs = receiver.specs
            if receiver.key and not is_predict:
                specs = {"inputs": tf.TensorSpec([None], tf.string, name="inputs")}
            endpoint = tf.function(
                _make_endpoint(answer, receiver, pick), input_signature=[specs], autograph=False
            )
            archive.add_endpoint(prefix + name, endpoint)
    archive.write_out(folder, verbose=False)
    return notes


def is_argument(name: str) -> bool:
    """Returns whether a signature can have an argument of this name.

    Args:
      name: name of a feature.
    """
    return name.isidentifier() and not keyword.iskeyword(name)


def _make_answer(predict: _Function, fill: _Function, receiver: _Receiver, tf: Any) -> _Function:
    """Returns a function from inputs to outputs; all signatures of a receiver share its graph."""

    @tf.function(input_signature=[receiver.specs], autograph=False)
    def answer(inputs: dict[str, Any]) -> dict[str, Any]:
        return predict(fill(receiver.parse(inputs)))

    return _without_inference(answer, tf)


def _without_inference(function: Any, tf: Any) -> _Function:
    """Returns a function that calls a tf.function without inferring shapes again.

    Where a graph calls a function, TensorFlow infers the shapes of all operations of that function,
    and of the functions that it calls. The shapes of the outputs are known from the trace.
    """
    attributes = {"_disable_call_shape_inference": tf.compat.v1.AttrValue(b=True)}

    def call(inputs: dict[str, Any]) -> dict[str, Any]:
        with tf.compat.v1.get_default_graph()._attr_scope(attributes):
            outputs: dict[str, Any] = function(inputs)
        return outputs

    return call


def _make_endpoint(answer: _Function, receiver: _Receiver, pick: _Function) -> _Function:
    def endpoint(inputs: dict[str, Any]) -> dict[str, Any]:
        if receiver.key:
            inputs = {receiver.key: next(iter(inputs.values()))}
        return pick(answer(inputs))

    return endpoint


def _make_predict(plan: Plan, model: Any, tf: Any) -> _Function:
    """Returns a function from raw features to outputs; all signatures share its graph."""
    inputs = model_inputs(plan)
    specs = {
        feature.name: tf.TensorSpec([None, *feature.dimensions], feature.dtype)
        for feature in inputs
    }

    @tf.function(input_signature=[specs])
    def call(features: dict[str, Any]) -> dict[str, Any]:
        outputs = dict(model(features, training=False))
        for key in plan.keys:
            if key.width == 1:
                outputs[key.name] = tf.reshape(outputs[key.name], [-1])
        return outputs

    call_model = _without_inference(call, tf)

    def predict(features: dict[str, Any]) -> dict[str, Any]:
        single = {feature.name for feature in inputs if feature.width == 1}
        columns = {
            name: tf.reshape(value, [-1, 1]) if name in single else value
            for name, value in features.items()
        }
        return call_model(columns)

    return predict


def _signatures(plan: Plan) -> dict[str, _Function]:
    """Returns signature -> function that selects the outputs of the signature."""
    heads = plan.head.single
    default = next(iter(_signatures_of(heads[0]).values()))
    found: dict[str, _Function] = {
        "serving_default": default,
        "predict": lambda outputs: outputs,
    }
    for head in heads:
        own = _signatures_of(head)
        found.update({head.output(name): pick for name, pick in own.items()})
        if head.name:
            found[head.name] = next(iter(own.values()))
            found[head.output("predict")] = _make_own(head, plan.keys)
    return found


def _make_own(head: Head, keys: tuple[Input, ...]) -> _Function:
    """Returns a function that selects the outputs of one head, without the name of the head."""

    def pick(outputs: dict[str, Any]) -> dict[str, Any]:
        begin = head.output("")
        own = {n[len(begin) :]: value for n, value in outputs.items() if n.startswith(begin)}
        return {**own, **{key.name: outputs[key.name] for key in keys}}

    return pick


def _signatures_of(head: Head) -> dict[str, _Function]:
    """Returns the signatures of one head; the first one is its default."""

    def regress(outputs: dict[str, Any]) -> dict[str, Any]:
        name = "logistic" if head.task == "binary" else "predictions"
        return {"outputs": outputs[head.output(name)]}

    if head.task not in ("binary", "multiclass", "multilabel"):
        return {"regression": regress}

    def classify(outputs: dict[str, Any]) -> dict[str, Any]:
        # A multilabel head has all classes in "classes".
        name = head.output("all_classes")
        classes = outputs[name if name in outputs else head.output("classes")]
        return {"scores": outputs[head.output("probabilities")], "classes": classes}

    found: dict[str, _Function] = {"classification": classify}
    return {**found, "regression": regress} if head.task == "binary" else found


def _receivers(plan: Plan, tf: Any) -> list[_Receiver]:
    inputs = model_inputs(plan)
    raw = {
        feature.name: tf.TensorSpec(
            [None] if feature.width == 1 else [None, *feature.dimensions],
            feature.dtype,
            name=feature.name,
        )
        for feature in inputs
    }
    text = {name: tf.TensorSpec([None], tf.string, name=name) for name in ("examples", "csv")}
    receivers = [
        _Receiver("json", "", raw, lambda features: features),
        _Receiver(
            "example",
            "examples",
            {"examples": text["examples"]},
            lambda tensors: _parse_examples(plan, inputs, tensors["examples"], tf),
        ),
    ]
    data = plan.data
    if data is not None and data.columns is not None:
        parse_csv = partial(_parse_csv, plan, data, tf=tf)
        receivers.append(
            _Receiver(
                "csv",
                "csv",
                {"csv": text["csv"]},
                lambda tensors: parse_csv(tensors["csv"]),
            )
        )
    return receivers


def _parse_examples(
    plan: Plan, inputs: tuple[Input, ...], serialized: Any, tf: Any
) -> dict[str, Any]:
    if plan.data is not None:
        return _parse_rows(plan.data, inputs, serialized, tf)
    # Feature columns parse lists of any length, except for numeric columns.
    spec: dict[str, Any] = {}
    wide = {"int32": "int64", "float64": "float32"}
    for feature in inputs:
        dtype = wide.get(feature.dtype, feature.dtype)
        if dtype == "float32" and feature.width is not None:
            spec[feature.name] = tf.io.FixedLenFeature(list(feature.dimensions), dtype)
        else:
            spec[feature.name] = tf.io.VarLenFeature(dtype)
    parsed = tf.io.parse_example(serialized, spec)
    return {feature.name: _dense(feature, parsed[feature.name], tf) for feature in inputs}


def _parse_rows(data: Data, inputs: tuple[Input, ...], serialized: Any, tf: Any) -> dict[str, Any]:
    """Parses tf.Examples as the trainer's receiver does; multivalent features are joined."""
    spec: dict[str, Any] = {
        feature.name: tf.io.FixedLenFeature([], feature.dtype, _default(feature, data.defaults))
        for feature in inputs
    }
    spec.update({name: tf.io.RaggedFeature(kind) for name, (kind, _) in data.multivalent.items()})
    parsed: dict[str, Any] = tf.io.parse_example(serialized, spec)
    for name, (kind, separator) in data.multivalent.items():
        values = parsed[name]
        if kind != "string":
            # Nine digits distinguish every float32 from its neighbors.
            digits = {"precision": 9, "shortest": True} if kind == "float32" else {}
            values = values.with_flat_values(tf.strings.as_string(values.flat_values, **digits))
        joined = tf.strings.reduce_join(values, axis=-1, separator=separator)
        default = tf.fill(tf.shape(joined), data.defaults[name])
        parsed[name] = tf.where(tf.equal(joined, ""), default, joined)
    return parsed


def _dense(feature: Input, tensor: Any, tf: Any) -> Any:
    if isinstance(tensor, tf.SparseTensor):
        filler = {"string": "", "float32": 0.0}.get(feature.dtype, -1)
        filler = filler if feature.filler is None else feature.filler
        tensor = tf.sparse.to_dense(tensor, default_value=filler)
        if feature.width is not None:
            # A batch without any value has no column, so one with padding is appended.
            tensor = tf.pad(tensor, [[0, 0], [0, 1]], constant_values=filler)[:, : feature.width]
    return tf.cast(tensor, feature.dtype) if feature.dtype != "string" else tensor


def _default(feature: Input, defaults: dict[str, Any]) -> Any:
    if feature.name in defaults:
        return defaults[feature.name]
    return "" if feature.dtype == "string" else None


def _fill_missing(plan: Plan, features: dict[str, Any], tf: Any) -> dict[str, Any]:
    """Replaces NaN and missing values by defaults, as the trainer's receiver does."""
    filled = dict(features)
    data = plan.data
    if data is None:
        return filled
    keys = {key.name for key in plan.keys}
    for feature in model_inputs(plan):
        default = _default(feature, data.defaults)
        if feature.name in keys or default is None:
            continue
        values = filled[feature.name]
        missing = (
            tf.math.is_nan(values) if values.dtype.is_floating else tf.zeros_like(values, bool)
        )
        for each in _missing_of(data, feature.dtype):
            missing = tf.logical_or(missing, tf.equal(values, tf.constant(each, values.dtype)))
        filled[feature.name] = tf.where(missing, tf.constant(default, values.dtype), values)
    return filled


def _missing_of(data: Data, dtype: str) -> Iterator[Any]:
    """Yields the values of a dtype that mean a missing one."""
    for text in data.missing:
        if dtype == "string":
            yield text
            continue
        try:
            number = float(text)
        except ValueError:
            continue
        if dtype.startswith("float"):
            if math.isfinite(number):
                yield number
        elif number.is_integer() and abs(number) < 2**63:
            yield int(number)


def _parse_csv(plan: Plan, data: Data, lines: Any, tf: Any) -> dict[str, Any]:
    """Parses lines as the trainer's receiver does: without the labels and the weight."""
    left_out = {*data.label_columns, plan.head.weight}
    names = [name for name in data.columns or () if name not in left_out]
    fields = tf.io.decode_csv(lines, [[""]] * len(names), field_delim=data.delimiter)
    columns, features = dict(zip(names, fields)), {}
    missing_texts = tf.constant(list(data.missing))[None, :]
    for feature in model_inputs(plan):
        text = columns[feature.name]
        if feature.dtype == "string":
            # _fill_missing replaces missing texts.
            features[feature.name] = text
            continue
        missing = tf.reduce_any(tf.equal(text[:, None], missing_texts), axis=1)
        default = _default(feature, data.defaults)
        # Without a default, a missing number raises in to_number.
        if default is not None:
            text = tf.where(missing, tf.fill(tf.shape(text), str(default)), text)
        features[feature.name] = tf.strings.to_number(text, feature.dtype)
    return features
