"""`tf.contrib.predictor`: an export or an Estimator as a function that keeps its session."""

from operator import attrgetter as _attrgetter

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import Estimator as _LearnEstimator
from estimator_bridge.tf1.contrib.learn.fitting import FitMixin as _FitMixin
from estimator_bridge.tf1.contrib.learn.utils import as_receiver_fn as _as_receiver_fn
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

_DEFAULT = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_DEFAULT_INPUT = "default_input_alternative"


class Predictor:
    """A function from {input: array} to {output: array}.

    Attributes:
      graph: tf.Graph.
      session: tf.Session.
      feed_tensors: {input: tensor}.
      fetch_tensors: {output: tensor}.

    Args:
      graph: tf.Graph.
      session: tf.Session.
      feed_tensors: {input: tensor}.
      fetch_tensors: {output: tensor}.
    """

    # Programs read the private attributes too.
    graph = property(_attrgetter("_graph"))
    session = property(_attrgetter("_session"))
    feed_tensors = property(_attrgetter("_feed_tensors"))
    fetch_tensors = property(_attrgetter("_fetch_tensors"))

    def __init__(self, graph, session, feed_tensors, fetch_tensors):
        self._graph = graph
        self._session = session
        self._feed_tensors = feed_tensors
        self._fetch_tensors = fetch_tensors

    def __call__(self, input_dict):
        unknown = set(input_dict) - set(self.feed_tensors)
        if unknown:
            raise ValueError(
                f"input_dict: unexpected keys {sorted(unknown)}; the inputs are "
                f"{sorted(self.feed_tensors)}"
            )
        feed = {self.feed_tensors[name]: value for name, value in input_dict.items()}
        return self.session.run(self.fetch_tensors, feed_dict=feed)

    def __repr__(self):
        return (
            f"Predictor with feed tensors {self.feed_tensors} and fetch_tensors "
            f"{self.fetch_tensors}"
        )


def from_saved_model(
    export_dir,
    signature_def_key=None,
    signature_def=None,
    input_names=None,
    output_names=None,
    tags=None,
    graph=None,
    config=None,
):
    """Returns a Predictor of a SavedModel.

    Args:
      export_dir: directory of the SavedModel.
      signature_def_key: name of the signature; None for `serving_default`.
      signature_def: SignatureDef in place of its name, or None.
      input_names: {input: tensor name} in place of a signature, or None.
      output_names: {output: tensor name} in place of a signature, or None.
      tags: comma-separated tags; None for `serve`.
      graph: tf.Graph to load into; None for a new one.
      config: tf.ConfigProto of the session, or None.

    Returns:
      Predictor.

    Raises:
      ValueError: the signature does not exist; the message lists the available ones. Or it is
        given in more than one way, or by half.
    """
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names: give both, or none of them")
    ways = [signature_def_key, signature_def, input_names]
    if sum(one is not None for one in ways) > 1:
        raise ValueError(
            "signature_def_key, signature_def, input_names: give one of them, the last with "
            "output_names"
        )
    graph = graph or tf.Graph()
    with graph.as_default():
        session = tf.Session(config=config)
        tags = tags.split(",") if tags else [tf.saved_model.tag_constants.SERVING]
        meta = tf.saved_model.loader.load(session, tags, export_dir)
    if input_names is None:
        if signature_def is None:
            signature_def = _find_signature(meta, signature_def_key)
        input_names = {name: info.name for name, info in signature_def.inputs.items()}
        output_names = {name: info.name for name, info in signature_def.outputs.items()}
    tensor = graph.get_tensor_by_name
    return Predictor(
        graph,
        session,
        {name: tensor(path) for name, path in input_names.items()},
        {name: tensor(path) for name, path in output_names.items()},
    )


def _find_signature(meta, key):
    name = key or _DEFAULT
    if name in meta.signature_def:
        return meta.signature_def[name]
    given = "" if key else "not given, and "
    raise ValueError(
        f"signature_def_key: {given}there is no {name!r}; the available signatures are "
        f"{sorted(meta.signature_def)}"
    )


def from_estimator(estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
    """Returns a Predictor of the latest checkpoint of an Estimator.

    Without a checkpoint, it answers with initial values.

    Args:
      estimator: tf.estimator.Estimator.
      serving_input_receiver_fn: function that returns a ServingInputReceiver.
      output_key: name of an export output; None for the default signature.
      graph: tf.Graph to load into; None for a new one.
      config: tf.ConfigProto of the session, or None.

    Returns:
      Predictor.

    Raises:
      KeyError: the output does not exist.
      TypeError: the estimator is one of tf.contrib.learn.
    """
    if isinstance(estimator, _FitMixin):
        raise TypeError("estimator: is one of tf.contrib.learn; use from_contrib_estimator")
    graph = graph or tf.Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        mode = tf.estimator.ModeKeys.PREDICT
        spec = estimator.model_fn(receiver.features, None, mode, estimator.config)
        outputs = spec.export_outputs or {}
        key = output_key or _DEFAULT
        if key in outputs:
            signature = outputs[key].as_signature_def(receiver.receiver_tensors)
            fetch = {n: graph.get_tensor_by_name(i.name) for n, i in signature.outputs.items()}
        elif output_key is None:
            fetch = spec.predictions
            fetch = fetch if isinstance(fetch, dict) else {"output": fetch}
        else:
            raise KeyError(
                f"output_key: there is no {output_key!r}; the export outputs are {sorted(outputs)}"
            )
        session = _restore(estimator, config)
    return Predictor(graph, session, dict(receiver.receiver_tensors), fetch)


def from_contrib_estimator(
    estimator,
    prediction_input_fn,
    input_alternative_key=None,
    output_alternative_key=None,
    graph=None,
    config=None,
):
    """Returns a Predictor of the latest checkpoint of an estimator of tf.contrib.learn.

    Without a checkpoint, it answers with initial values.

    Args:
      estimator: estimator of tf.contrib.learn.
      prediction_input_fn: function that returns InputFnOps or a ServingInputReceiver.
      input_alternative_key: None, or "default_input_alternative", which is the only form of inputs.
      output_alternative_key: name of an output alternative; None with a single one.
      graph: tf.Graph to load into; None for a new one.
      config: tf.ConfigProto of the session, or None.

    Returns:
      Predictor.

    Raises:
      KeyError: the form of inputs does not exist.
      TypeError: the estimator is none of tf.contrib.learn.
      ValueError: the output does not exist, or there are several and none is named.
    """
    if not isinstance(estimator, _LearnEstimator):
        raise TypeError("estimator: is none of tf.contrib.learn; use from_estimator")
    graph = graph or tf.Graph()
    with graph.as_default():
        receiver = _as_receiver_fn(prediction_input_fn)()
        if input_alternative_key and input_alternative_key != _DEFAULT_INPUT:
            raise KeyError(f"input_alternative_key: there is only {_DEFAULT_INPUT!r}")
        ops = estimator.prediction_ops(receiver.features)
        alternatives, key = ops.alternatives(output_alternative_key)
        session = _restore(estimator, config)
    return Predictor(graph, session, dict(receiver.receiver_tensors), alternatives[key][1])


def _restore(estimator, config):
    """Returns a session with the variables of the latest checkpoint, or their initial values.

    A Scaffold of the model is not used, as in 1.x: its Saver may map names to other variables.
    """
    creator = tf.train.ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir)
    return tf.train.MonitoredSession(session_creator=creator)
