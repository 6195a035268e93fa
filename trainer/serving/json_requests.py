"""Converts between the JSON of TensorFlow Serving's REST interface and its messages."""

import base64
import binascii
import json
import math
from typing import Any

import numpy as np
from google.protobuf import json_format
from tensorflow_serving.apis import get_model_metadata_pb2

from estimator_bridge import tf
from trainer.export.serving_session import Signature
from trainer.serving.failures import Code, RequestError

# Outputs with this ending are bytes, others text.
_BYTES_ENDING = "_bytes"


def parse_float(text: str) -> float:
    """Returns the number of a JSON text.

    The tokens Infinity and NaN, which TensorFlow Serving takes, do not come here.

    Args:
        text: such as 1.5e3.

    Raises:
        ValueError: it is too large for a float.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text:.50} is too large; write a finite number")
    return number


def fill_predict(request: Any, body: dict[str, Any], signature: Signature) -> bool:
    """Fills the inputs of a PredictRequest from the JSON of a request.

    Args:
        request: the message.
        body: {"instances": one value, or object of values, for each row}, or {"inputs": object of
            columns, or the column of the only input}.
        signature: of the model.

    Returns:
        Whether the request has rows (instances); the answer then has rows, too.

    Raises:
        RequestError: the JSON does not fit the signature.
    """
    by_row = "instances" in body
    if by_row == ("inputs" in body):
        raise _invalid("give either 'instances' or 'inputs'")
    columns = _list_columns(body["instances"]) if by_row else body["inputs"]
    if not isinstance(columns, dict) or _is_base64(columns):
        columns = {"": columns}
    names = list(signature.inputs)
    if list(columns) == [""]:
        if len(names) != 1:
            raise _invalid(f"name the inputs: {', '.join(names)}")
        columns = {names[0]: columns[""]}
    for name, value in columns.items():
        dtype = signature.inputs.get(name)
        if dtype is None:
            raise _invalid(f"no input {name!r}; there are {', '.join(names)}")
        request.inputs[name].CopyFrom(tf.make_tensor_proto(_to_array(value, dtype, name), dtype))
    return by_row


def _list_columns(instances: Any) -> dict[str, Any]:
    """Returns input → list of its values; "" is an input without a name."""
    if not isinstance(instances, list) or not instances:
        raise _invalid("'instances' must be a list that is not empty")
    rows = [
        one if isinstance(one, dict) and not _is_base64(one) else {"": one} for one in instances
    ]
    if any(set(row) != set(rows[0]) for row in rows):
        raise _invalid("'instances': not all rows have the same inputs")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _invalid(message: str) -> RequestError:
    return RequestError(Code.INVALID_ARGUMENT, message)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"b64"}


def _decode(value: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise _invalid(f"b64: {error}") from error


def _to_array(value: Any, dtype: Any, name: str) -> np.ndarray:
    """Returns nested lists of JSON values as an array of a type."""
    flat: list[Any] = []
    shape = _flatten(value, flat, name)
    kind = dtype.as_numpy_dtype
    converted = [_to_element(one, dtype, name) for one in flat]
    try:
        # A number that is too large becomes infinite, and is refused below.
        with np.errstate(over="ignore"):
            array = np.array(converted, object if dtype == tf.string else kind).reshape(shape)
    except OverflowError as error:
        raise _invalid(f"input {name!r}: {error}") from error
    if dtype.is_floating:
        _check_range(converted, f"input {name!r}", dtype)
    return array


def _check_range(values: list[Any], place: str, dtype: Any) -> None:
    """Raises if a number is finite, but not as a number of a type."""
    for value in values:
        if float(dtype.max) < abs(value) < math.inf:
            raise _invalid(f"{place}: {str(value):.50} is too large for {dtype.name}")


def _flatten(value: Any, flat: list[Any], name: str) -> tuple[int, ...]:
    """Appends the elements of nested lists to a list; returns their shape."""
    if not isinstance(value, list):
        flat.append(value)
        return ()
    shapes = {_flatten(one, flat, name) for one in value}
    if len(shapes) > 1:
        raise _invalid(f"input {name!r}: lists of different lengths")
    return (len(value), *(shapes.pop() if shapes else ()))


def _to_element(value: Any, dtype: Any, name: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if dtype == tf.string and isinstance(value, str):
        return value.encode()
    if dtype == tf.string and _is_base64(value):
        return _decode(value)
    fits = (
        (dtype == tf.bool and isinstance(value, bool))
        or (dtype.is_floating and is_number)
        or (dtype.is_integer and is_number and isinstance(value, int))
    )
    if not fits:
        hint = "; a missing number is NaN" if value is None and dtype.is_floating else ""
        shown = json.dumps(value)[:50]
        raise _invalid(f"input {name!r}: {shown} is not of type {dtype.name}{hint}")
    return value


def format_predict(response: Any, by_row: bool) -> dict[str, Any]:
    """Returns the JSON of a PredictResponse.

    Args:
        response: the message.
        by_row: whether the request had rows.

    Raises:
        RequestError: an output does not have a value for each row.
    """
    arrays = {name: tf.make_ndarray(tensor) for name, tensor in response.outputs.items()}
    columns = {name: _to_json(array, name) for name, array in sorted(arrays.items())}
    only = next(iter(columns.values())) if len(columns) == 1 else None
    if not by_row:
        return {"outputs": columns if only is None else only}
    if len({array.shape[:1] for array in arrays.values()} | {()}) != 2:
        raise _invalid("the outputs have no common number of rows; send 'inputs', not 'instances'")
    if only is not None:
        return {"predictions": only}
    return {"predictions": [dict(zip(columns, row)) for row in zip(*columns.values())]}


def _to_json(array: np.ndarray, name: str) -> Any:
    if array.dtype.kind == "O":
        values = [_to_text(one, name) for one in array.reshape(-1)]
        cells = np.empty(len(values), object)
        cells[:] = values
        return cells.reshape(array.shape).tolist()
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        # The shortest text that is the same number again: 0.1, not 0.10000000149011612.
        return array.astype(str).astype(float).tolist()
    return array.tolist()


def _to_text(value: bytes, name: str) -> Any:
    if not name.endswith(_BYTES_ENDING):
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return {"b64": base64.b64encode(value).decode()}


def fill_examples(request: Any, body: dict[str, Any]) -> None:
    """Fills the input of a ClassificationRequest or RegressionRequest.

    Args:
        request: the message.
        body: {"examples": a list of objects, feature → value or list of values; "context": an
            object of features for all rows}.

    Raises:
        RequestError: the JSON is not of this form.
    """
    examples, context = body.get("examples"), body.get("context")
    if not isinstance(examples, list) or not examples:
        raise _invalid("'examples' must be a list that is not empty")
    if context is None:
        request.input.example_list.examples.extend(_to_example(one) for one in examples)
        return
    target = request.input.example_list_with_context
    target.context.CopyFrom(_to_example(context))
    target.examples.extend(_to_example(one) for one in examples)


def _to_example(values: Any) -> Any:
    if not isinstance(values, dict):
        raise _invalid("an example must be an object: feature → value or list of values")
    example = tf.train.Example()
    for name, value in values.items():
        feature = example.features.feature[name]
        cells = value if isinstance(value, list) else [value]
        if all(isinstance(one, (str, dict)) for one in cells):
            texts = [one.encode() if isinstance(one, str) else _decode(one) for one in cells]
            feature.bytes_list.value.extend(texts)
        elif not all(type(one) in (int, float, bool) for one in cells):
            raise _invalid(f"feature {name!r}: numbers, texts, or a list of one of them")
        elif all(isinstance(one, int) for one in cells):
            # With a generator, older versions of protobuf lose the error of too large a number.
            feature.int64_list.value.extend([int(one) for one in cells])
        else:
            _check_range(cells, f"feature {name!r}", tf.float32)
            feature.float_list.value.extend(cells)
    return example


def format_classify(response: Any) -> dict[str, Any]:
    """Returns the JSON of a ClassificationResponse.

    Args:
        response: the message.
    """
    found = response.result.classifications
    return {"result": [[[one.label, _shorten(one.score)] for one in row.classes] for row in found]}


def format_regress(response: Any) -> dict[str, Any]:
    """Returns the JSON of a RegressionResponse.

    Args:
        response: the message.
    """
    return {"result": [_shorten(one.value) for one in response.result.regressions]}


def _shorten(value: float) -> float:
    return float(str(np.float32(value)))


def format_status(response: Any) -> dict[str, Any]:
    """Returns the JSON of a GetModelStatusResponse.

    Args:
        response: the message.
    """
    found: dict[str, Any] = json_format.MessageToDict(response, preserving_proto_field_name=True)
    for one in found.get("model_version_status", []):
        status = one.setdefault("status", {})
        status.setdefault("error_code", "OK")
        status.setdefault("error_message", "")
    return found


def format_metadata(response: Any) -> dict[str, Any]:
    """Returns the JSON of a GetModelMetadataResponse.

    Args:
        response: the message.
    """
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    return {
        "model_spec": json_format.MessageToDict(
            response.model_spec, preserving_proto_field_name=True
        ),
        "metadata": {
            "signature_def": json_format.MessageToDict(signatures, preserving_proto_field_name=True)
        },
    }
