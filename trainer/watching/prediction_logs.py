"""Reads the rows of PredictionLog records of TensorFlow Serving."""

from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

import estimator_bridge as bridge
from trainer.watching.batches import Row, Wanted


class LogParser:
    """Converts PredictionLog records to rows.

    Args:
        wanted: the fields to read.

    Attributes:
        skipped: number of records without rows, because their kind or signature is another one.
        unreadable: number of records that are damaged.
    """

    def __init__(self, wanted: Wanted):
        from tensorflow_serving.apis import prediction_log_pb2

        self._message = prediction_log_pb2.PredictionLog
        self._wanted = wanted
        self.skipped = 0
        self.unreadable = 0

    def parse(self, record: bytes) -> Iterator[Row]:
        """Yields the rows of one record, in their order.

        Args:
            record: a serialized PredictionLog.
        """
        from google.protobuf.message import DecodeError

        try:
            log = self._message.FromString(record)
            kind = log.WhichOneof("log_type")
            if kind == "predict_log":
                features, scores = self._read_predict(log.predict_log)
            elif kind in ("classify_log", "regress_log"):
                features, scores = self._read_examples(kind, getattr(log, kind))
            else:
                raise ValueError("another kind of record")
        except DecodeError:
            self.unreadable += 1
            return
        except ValueError:
            self.skipped += 1
            return
        metadata = log.log_metadata
        spec = metadata.model_spec
        version = str(spec.version.value) if spec.HasField("version") else spec.version_label
        # Zero: not logged.
        time = metadata.timestamp_secs or None
        for row, values in enumerate(features):
            yield Row(values, scores[row] if row < len(scores) else None, time, version)

    def _read_predict(self, log: Any) -> tuple[list[dict[str, Any]], list[Any]]:
        inputs = {name: _to_list(tensor) for name, tensor in log.request.inputs.items()}
        outputs = log.response.outputs
        name = next((one for one in self._wanted.scores if one in outputs), None)
        scores = _to_list(outputs[name]) if name is not None else []
        if len(inputs) == 1 and not set(inputs) <= set(self._wanted.schema.columns):
            (serialized,) = inputs.values()
            return [
                _parse_example(bridge.tf.train.Example.FromString(one)) for one in serialized
            ], (scores)
        rows = max((len(values) for values in inputs.values()), default=0)
        known = {name: values for name, values in inputs.items() if len(values) == rows}
        return [
            {name: values[row] for name, values in known.items()} for row in range(rows)
        ], scores

    def _read_examples(self, kind: str, log: Any) -> tuple[list[dict[str, Any]], list[Any]]:
        given = log.request.input
        if given.WhichOneof("kind") == "example_list_with_context":
            examples = given.example_list_with_context.examples
            shared = _parse_example(given.example_list_with_context.context)
        else:
            examples, shared = given.example_list.examples, {}
        features = [{**shared, **_parse_example(example)} for example in examples]
        if kind == "regress_log":
            return features, [one.value for one in log.response.result.regressions]
        return features, [self._read_classes(one) for one in log.response.result.classifications]

    def _read_classes(self, answer: Any) -> Optional[list[float]]:
        """Returns the scores in the order of the schema's classes."""
        scores = [each.score for each in answer.classes]
        labels = [each.label for each in answer.classes]
        for names in (
            [str(one) for one in self._wanted.schema.label.classes],
            [str(number) for number in range(len(scores))],
        ):
            if sorted(labels) == sorted(names):
                return [scores[labels.index(name)] for name in names]
        return scores or None


def _to_list(tensor: Any) -> list[Any]:
    """Returns a TensorProto [rows, ...] as a list: for each row a value, or a list of values."""
    array: np.ndarray = bridge.tf.make_ndarray(tensor)
    if array.ndim > 1 and array[:1].size == 1:
        array = array.reshape(-1)
    values: list[Any] = np.atleast_1d(array).tolist()
    return values


def _parse_example(example: Any) -> dict[str, Any]:
    """Returns feature name → value, or list of values; features without values are omitted."""
    features = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        values = list(getattr(feature, kind).value) if kind is not None else []
        if values:
            features[name] = values[0] if len(values) == 1 else values
    return features
