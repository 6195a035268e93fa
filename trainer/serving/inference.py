"""Answers the messages of TensorFlow Serving's PredictionService and ModelService."""

from typing import Any

import numpy as np
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    predict_pb2,
    regression_pb2,
)

from estimator_bridge import tf
from trainer.export.serving_session import Signature, describe_error
from trainer.serving.failures import Code, RequestError
from trainer.serving.models import Model, Servable
from trainer.serving.request_log import RequestLog

_CLASSIFY, _REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"
_METADATA = "signature_def"


class Inference:
    """Answers requests with a model, and logs a sample of them.

    Args:
        model: the model.
        log: of the requests.

    Attributes:
        model: as given.
    """

    def __init__(self, model: Model, log: RequestLog):
        self.model = model
        self._log = log

    def predict(self, request: Any) -> Any:
        """Returns the PredictResponse to a PredictRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        with self.model.use(request.model_spec) as servable:
            return self.predict_with(servable, request)

    def predict_with(self, servable: Servable, request: Any) -> Any:
        """Returns the PredictResponse of one version to a PredictRequest.

        Args:
            servable: the version, in use.
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        name, signature = find_signature(servable, request.model_spec)
        inputs = _read_inputs(request, signature)
        unknown = sorted(set(request.output_filter) - set(signature.outputs))
        if unknown:
            raise _invalid(f"output_filter: no output {unknown[0]!r} of {name}")
        outputs = _run(servable, name, inputs)
        response = predict_pb2.PredictResponse()
        _fill_spec(response.model_spec, request.model_spec, name, servable)
        for each in request.output_filter or signature.outputs:
            response.outputs[each].CopyFrom(tf.make_tensor_proto(outputs[each]))
        self._log.record("predict_log", request, response)
        return response

    def classify(self, request: Any) -> Any:
        """Returns the ClassificationResponse to a ClassificationRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        response = classification_pb2.ClassificationResponse()
        with self.model.use(request.model_spec) as servable:
            name, outputs = _run_examples(servable, request, _CLASSIFY)
        _fill_spec(response.model_spec, request.model_spec, name, servable)
        classes: Any = outputs.get("classes")
        scores: Any = outputs.get("scores")
        for row in range(len(next(iter(outputs.values())))):
            values = scores[row] if scores is not None else [0.0] * len(classes[row])
            labels = classes[row] if classes is not None else [""] * len(values)
            answer = response.result.classifications.add()
            for label, value in zip(labels, values):
                answer.classes.add(label=label, score=value)
        self._log.record("classify_log", request, response)
        return response

    def regress(self, request: Any) -> Any:
        """Returns the RegressionResponse to a RegressionRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        response = regression_pb2.RegressionResponse()
        with self.model.use(request.model_spec) as servable:
            name, outputs = _run_examples(servable, request, _REGRESS)
        _fill_spec(response.model_spec, request.model_spec, name, servable)
        for value in np.reshape(outputs["outputs"], -1).tolist():
            response.result.regressions.add(value=value)
        self._log.record("regress_log", request, response)
        return response

    def infer_several(self, request: Any) -> Any:
        """Returns the MultiInferenceResponse to a MultiInferenceRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        response = inference_pb2.MultiInferenceResponse()
        for task in request.tasks:
            result = response.results.add()
            if task.method_name == _CLASSIFY:
                kind, answer = classification_pb2.ClassificationRequest, self.classify
                given = result.classification_result
            elif task.method_name == _REGRESS:
                kind, answer = regression_pb2.RegressionRequest, self.regress
                given = result.regression_result
            else:
                raise RequestError(Code.UNIMPLEMENTED, f"method {task.method_name!r}")
            answered = answer(kind(model_spec=task.model_spec, input=request.input))
            given.CopyFrom(answered.result)
            result.model_spec.CopyFrom(answered.model_spec)
        return response

    def get_metadata(self, request: Any) -> Any:
        """Returns the GetModelMetadataResponse to a GetModelMetadataRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        if list(request.metadata_field) != [_METADATA]:
            raise _invalid(f"metadata_field: must be {_METADATA}")
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with self.model.use(request.model_spec) as servable:
            for name, definition in servable.session.definitions.items():
                signatures.signature_def[name].CopyFrom(definition)
        _fill_spec(response.model_spec, request.model_spec, "", servable)
        response.metadata[_METADATA].Pack(signatures)
        return response

    def get_status(self, request: Any) -> Any:
        """Returns the GetModelStatusResponse to a GetModelStatusRequest.

        Args:
            request: the request.

        Raises:
            RequestError: it cannot be answered.
        """
        response = get_model_status_pb2.GetModelStatusResponse()
        for version, state, message in self.model.list_states(request.model_spec):
            one = response.model_version_status.add(version=version)
            one.state = get_model_status_pb2.ModelVersionStatus.State.Value(state)
            if message:
                one.status.error_code = tf.errors.UNKNOWN
                one.status.error_message = message
        return response


def find_signature(servable: Servable, spec: Any) -> tuple[str, Signature]:
    """Returns the name of the signature that is asked for, and the signature.

    Args:
        servable: the version.
        spec: a ModelSpec.

    Raises:
        RequestError: there is no such signature.
    """
    name = spec.signature_name or tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    signatures = servable.session.signatures
    if name not in signatures:
        raise _invalid(f"no signature {name!r}; there are {', '.join(sorted(signatures))}")
    return name, signatures[name]


def _invalid(message: str) -> RequestError:
    return RequestError(Code.INVALID_ARGUMENT, message)


def _fill_spec(spec: Any, asked: Any, signature: str, servable: Servable) -> None:
    spec.name = asked.name
    spec.signature_name = signature
    spec.version.value = servable.version


def _read_inputs(request: Any, signature: Signature) -> dict[str, np.ndarray]:
    given, wanted = set(request.inputs), set(signature.inputs)
    if given != wanted:
        extra, missing = sorted(given - wanted), sorted(wanted - given)
        raise _invalid(f"inputs do not match the signature: unknown {extra}, missing {missing}")
    inputs = {}
    for name, dtype in signature.inputs.items():
        tensor = request.inputs[name]
        if tensor.dtype != dtype.as_datatype_enum:
            try:
                received = tf.as_dtype(tensor.dtype).name if tensor.dtype else "no type"
            except TypeError:
                received = f"the unknown type {tensor.dtype}"
            raise _invalid(f"input {name!r}: {received}, where the model takes {dtype.name}")
        try:
            inputs[name] = tf.make_ndarray(tensor)
        except (TypeError, ValueError) as error:
            raise _invalid(f"input {name!r}: {' '.join(str(error).split())}") from error
    return inputs


def _run(servable: Servable, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    try:
        return servable.session.run(name, inputs)
    except tf.errors.OpError as error:
        is_internal = isinstance(error, (tf.errors.InternalError, tf.errors.UnknownError))
        code = Code.INTERNAL if is_internal else Code.INVALID_ARGUMENT
        raise RequestError(code, describe_error(error)) from error
    except (TypeError, ValueError) as error:
        raise _invalid(" ".join(str(error).split())) from error


def _run_examples(
    servable: Servable, request: Any, method: str
) -> tuple[str, dict[str, np.ndarray]]:
    """Runs a signature of tf.Example; returns its name and outputs."""
    name, signature = find_signature(servable, request.model_spec)
    found = servable.session.definitions[name].method_name
    if found != method or len(signature.inputs) != 1:
        raise _invalid(f"signature {name!r} has the method {found!r}, not {method!r}")
    examples = _list_examples(request.input)
    if not examples:
        raise _invalid("input: no examples")
    return name, _run(
        servable, name, {next(iter(signature.inputs)): np.array(examples, dtype=object)}
    )


def _list_examples(given: Any) -> list[bytes]:
    """Returns the serialized examples of an Input; each one overrides the context."""
    if given.WhichOneof("kind") != "example_list_with_context":
        return [one.SerializeToString() for one in given.example_list.examples]
    merged = []
    for one in given.example_list_with_context.examples:
        whole = tf.train.Example()
        whole.CopyFrom(given.example_list_with_context.context)
        for name, feature in one.features.feature.items():
            whole.features.feature[name].CopyFrom(feature)
        merged.append(whole.SerializeToString())
    return merged
