"""A SavedModel of the Keras model with the signatures of the Estimator's export.

Estimators name them <signature> for the default input and <input>:<signature> for the others, call
the one input of
classification and regression "inputs", and leave these two out where raw tensors come in.
"""

import keyword
from typing import Any, Callable, NamedTuple

from estimator_bridge.errors import BridgeError

from ..plan.model import Head, Plan, model_inputs

__all__ = ["export_saved_model"]


class _Receiver(NamedTuple):
    """A way in.

    Attributes:
      name: example, csv or json.
      key: what the predict signature calls its one input; empty where each feature is an input.
      specs: input name -> TensorSpec.
      parse: from inputs to raw features, name -> tensor.
    """

    name: str
    key: str
    specs: dict[str, Any]
    parse: Callable[[dict[str, Any]], dict[str, Any]]


def export_saved_model(plan: Plan, model: Any, folder: str, default: str) -> list[str]:
    """Writes the SavedModel; returns what the export had and it has not, a line each.

    Args:
      plan: inputs, head and data.
      model: the Keras model.
      folder: where to.
      default: which input the plain signature names take: example, csv or json.

    Raises:
      BridgeError: `default` is json, and a feature's name cannot be that of an argument.
    """
    import keras
    import tensorflow as tf

    unfit = [feature.name for feature in model_inputs(plan) if not _is_argument(feature.name)]
    notes = [
        f"SavedModel: {name!r} cannot be the name of an argument in TensorFlow 2, so there is no "
        "signature of raw tensors"
        for name in unfit[:1]
    ]
    if unfit and default == "json":
        raise BridgeError(f"--receiver=json: {notes[0]}; choose example")
    archive = keras.export.ExportArchive()
    archive.track(model)
    ask = _make_ask(plan, model, tf)
    for receiver in _receivers(plan, tf):
        if unfit and receiver.name == "json":
            continue
        prefix = "" if receiver.name == default else f"{receiver.name}:"
        for name, pick in _answers(plan).items():
            is_predict = name.split("/")[-1] == "predict"
            if not is_predict and not receiver.key:
                continue
            specs = receiver.specs
            if receiver.key and not is_predict:
                specs = {"inputs": tf.TensorSpec([None], tf.string, name="inputs")}

            endpoint = _make_endpoint(ask, receiver, pick)
            archive.add_endpoint(prefix + name, tf.function(endpoint, input_signature=[specs]))
    archive.write_out(folder, verbose=False)
    return notes


def _is_argument(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _make_endpoint(ask, receiver, pick):
    def endpoint(inputs):
        if receiver.key:
            inputs = {receiver.key: next(iter(inputs.values()))}
        return pick(ask(receiver.parse(inputs)))

    return endpoint


def _make_ask(plan, model, tf):
    """A function from raw features to answers: the model's graph, once for all signatures."""
    inputs = model_inputs(plan)
    specs = {
        feature.name: tf.TensorSpec([None, *feature.dimensions], feature.dtype)
        for feature in inputs
    }

    @tf.function(input_signature=[specs])
    def answer(features):
        answers = dict(model(features, training=False))
        if plan.key is not None:
            answers[plan.key] = tf.reshape(answers[plan.key], [-1])
        return answers

    def ask(features):
        single = {feature.name for feature in inputs if feature.width == 1}
        return answer(
            {
                name: tf.reshape(value, [-1, 1]) if name in single else value
                for name, value in features.items()
            }
        )

    return ask


def _answers(plan: Plan) -> dict[str, Callable]:
    """Signature -> what it gives of the model's answers."""
    heads = plan.head.single
    default = next(iter(_answers_of(heads[0]).values()))
    found = {"serving_default": default, "predict": lambda answers: answers}
    for head in heads:
        own = _answers_of(head)
        found.update({head.output(name): pick for name, pick in own.items()})
        if head.name:
            found[head.name] = next(iter(own.values()))
            found[head.output("predict")] = _make_own(head, plan.key)
    return found


def _make_own(head, key):
    """Picks one of several heads' answers, under the names that they have without the others."""

    def pick(answers):
        begin = head.output("")
        own = {n[len(begin) :]: value for n, value in answers.items() if n.startswith(begin)}
        return own if key is None else {**own, key: answers[key]}

    return pick


def _answers_of(head: Head) -> dict[str, Callable]:
    """The signatures of one head; the first one is its default."""

    def regress(answers):
        name = "logistic" if head.task == "binary" else "predictions"
        return {"outputs": answers[head.output(name)]}

    if head.task not in ("binary", "multiclass", "multilabel"):
        return {"regression": regress}

    def classify(answers):
        # Of several answers, "classes" are all of them.
        name = head.output("all_classes")
        classes = answers[name if name in answers else head.output("classes")]
        return {"scores": answers[head.output("probabilities")], "classes": classes}

    found = {"classification": classify}
    return {**found, "regression": regress} if head.task == "binary" else found


def _receivers(plan, tf) -> list[_Receiver]:
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
            lambda given: _parse_examples(plan, inputs, given["examples"], tf),
        ),
    ]
    if plan.data is not None and plan.data.columns is not None:
        receivers.append(
            _Receiver(
                "csv",
                "csv",
                {"csv": text["csv"]},
                lambda given: _parse_csv(plan, inputs, given["csv"], tf),
            )
        )
    return receivers


def _parse_examples(plan, inputs, serialized, tf):
    if plan.data is not None:
        return _parse_rows(plan.data, inputs, serialized, tf)
    # Feature columns ask for lists of any length, but for plain numbers.
    spec, wide = {}, {"int32": "int64", "float64": "float32"}
    for feature in inputs:
        dtype = wide.get(feature.dtype, feature.dtype)
        if dtype == "float32" and feature.width is not None:
            spec[feature.name] = tf.io.FixedLenFeature(list(feature.dimensions), dtype)
        else:
            spec[feature.name] = tf.io.VarLenFeature(dtype)
    parsed = tf.io.parse_example(serialized, spec)
    return {feature.name: _dense(feature, parsed[feature.name], tf) for feature in inputs}


def _parse_rows(data, inputs, serialized, tf):
    """As the trainer's receiver: one value a feature; several values are joined to one text."""
    spec = {
        feature.name: tf.io.FixedLenFeature([], feature.dtype, _default(feature, data.defaults))
        for feature in inputs
    }
    spec.update({name: tf.io.RaggedFeature(kind) for name, (kind, _) in data.multivalent.items()})
    parsed = tf.io.parse_example(serialized, spec)
    for name, (kind, separator) in data.multivalent.items():
        values = parsed[name]
        if kind != "string":
            # Nine digits tell every float32 from its neighbours.
            digits = {"precision": 9, "shortest": True} if kind == "float32" else {}
            values = values.with_flat_values(tf.strings.as_string(values.flat_values, **digits))
        joined = tf.strings.reduce_join(values, axis=-1, separator=separator)
        default = tf.fill(tf.shape(joined), data.defaults[name])
        parsed[name] = tf.where(tf.equal(joined, ""), default, joined)
    return parsed


def _dense(feature, tensor, tf):
    if isinstance(tensor, tf.SparseTensor):
        filler = {"string": "", "float32": 0.0}.get(feature.dtype, -1)
        filler = filler if feature.filler is None else feature.filler
        tensor = tf.sparse.to_dense(tensor, default_value=filler)
        if feature.width is not None:
            # A row without the feature makes no column: one of "no value" is put at the end.
            tensor = tf.pad(tensor, [[0, 0], [0, 1]], constant_values=filler)[:, : feature.width]
    return tf.cast(tensor, feature.dtype) if feature.dtype != "string" else tensor


def _default(feature, defaults):
    if feature.name in defaults:
        return defaults[feature.name]
    return "" if feature.dtype == "string" else None


def _parse_csv(plan, inputs, lines, tf):
    """As the trainer's receiver: the file's columns in order, without the label and the weight."""
    left_out = {*plan.data.label_columns, plan.head.weight}
    names = [name for name in plan.data.columns if name not in left_out]
    fields = tf.io.decode_csv(lines, [[""]] * len(names), field_delim=plan.data.delimiter)
    columns, features = dict(zip(names, fields)), {}
    missing_texts = tf.constant(list(plan.data.missing))[None, :]
    for feature in inputs:
        text = columns[feature.name]
        missing = tf.reduce_any(tf.equal(text[:, None], missing_texts), axis=1)
        default = _default(feature, plan.data.defaults)
        # Without a default a missing number stays text that is no number: an error.
        if default is not None:
            text = tf.where(missing, tf.fill(tf.shape(text), str(default)), text)
        if feature.dtype != "string":
            text = tf.strings.to_number(text, feature.dtype)
        features[feature.name] = text
    return features
