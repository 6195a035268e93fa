"""The storage layout of encoded rows in memory and in the cache: a few dozen bytes per row."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.encoding import IDS, NUMBERS, Encoding
from trainer.schema import Schema

# Key of the records in a chunk.
ROWS = "//rows"
# Integer types, largest first, so that every part of a record is aligned.
INTS = (np.int32, np.int16, np.int8)


class Records:
    """How encoded rows are stored as records of a structured NumPy array.

    Args:
        encoding: describes the ids and numbers of a row.
        schema: labels and weight.

    Attributes:
        dtype: structured type of a record; each id has the smallest type that its field fits in.
        raw_names: columns of labels and weight, which are stored without encoding; only text is
            stored as the index of its class.
        label: column name of the first label.
        label_is_number: whether the first label is a number and not a class.
        num_fields: number of ids in a row.
        num_numbers: number of numbers in a row.
    """

    def __init__(self, encoding: Encoding, schema: Schema):
        self._schema = schema
        self.label = schema.label.column
        self.label_is_number = not schema.num_classes
        self.num_fields, self.num_numbers = len(encoding.fields), len(encoding.numbers)
        names = (*schema.label_columns, schema.weight)
        self.raw_names = list(dict.fromkeys(name for name in names if name))
        self._classes = {
            label.column: [str(value) for value in label.vocabulary]
            for label in schema.labels
            if label.vocabulary is not None
        }
        # Integer type → indices, in a row's ids, of the fields that are stored with this type.
        self._fields: dict[str, list[int]] = {}
        for place, field in enumerate(encoding.fields):
            kind = next(
                each for each in reversed(INTS) if field.num_encoded - 1 <= np.iinfo(each).max
            )
            self._fields.setdefault(np.dtype(kind).name, []).append(place)
        parts: list[tuple[Any, ...]] = []
        for place, name in enumerate(self.raw_names):
            parts.append((f"raw{place}", self.stored_type(name).as_numpy_dtype))
        parts.append((NUMBERS, np.float32, (self.num_numbers,)))
        for each in INTS:
            name = np.dtype(each).name
            if name in self._fields:
                parts.append((name, each, (len(self._fields[name]),)))
        # Sort by descending item size.
        parts.sort(key=lambda part: -np.dtype(part[1]).itemsize)
        self.dtype: np.dtype[Any] = np.dtype(parts)

    def stored_type(self, name: str) -> Any:
        """Returns the TensorFlow type in which a raw column is stored.

        Args:
            name: one of raw_names.
        """
        kinds = {"float": tf.float32, "int": tf.int64, "string": tf.int32}
        return kinds[self._schema.columns[name].type]

    def pack(
        self,
        ids: np.ndarray,
        numbers: np.ndarray,
        chunk: Mapping[str, np.ndarray],
        words: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Returns encoded rows as records [rows].

        Args:
            ids: int32 [rows, fields].
            numbers: float32 [rows, numbers].
            chunk: raw column → values [rows]; for a text column, indices into `words`, int32.
            words: text column → distinct values, bytes as objects [words].

        Raises:
            UserError: a value of a label is not one of its classes.
        """
        records = np.empty(len(ids), self.dtype)
        records[NUMBERS] = numbers
        for kind, places in self._fields.items():
            for column, place in enumerate(places):
                records[kind][:, column] = ids[:, place]
        for place, name in enumerate(self.raw_names):
            values = chunk[name]
            if name in words:
                values = self._index_classes(name, words[name])[values]
                if (values < 0).any():
                    raise UserError(
                        f"data: a label in column {name} is none of its classes: the files have "
                        "changed since they were checked; start again"
                    )
            records[f"raw{place}"] = values
        return records

    def _index_classes(self, name: str, words: np.ndarray) -> np.ndarray:
        indices = {word.encode(): index for index, word in enumerate(self._classes[name])}
        return np.array([indices.get(word, -1) for word in words.tolist()], np.int32)

    def unpack(self, records: np.ndarray, batch_size: int) -> dict[str, np.ndarray]:
        """Returns records as arrays by name.

        Args:
            records: records [batches * batch_size].
            batch_size: number of rows in a batch.

        Returns:
            "ids", int32 [batches, batch_size, fields], "numbers", float32 [batches, batch_size,
            numbers], and the raw columns by name, [batches, batch_size].
        """
        ids = np.empty([len(records), self.num_fields], np.int32)
        for kind, places in self._fields.items():
            stored = records[kind]
            for column, place in enumerate(places):
                ids[:, place] = stored[:, column]
        arrays = {IDS: ids, NUMBERS: records[NUMBERS]}
        for place, name in enumerate(self.raw_names):
            arrays[name] = records[f"raw{place}"]
        # reshape cannot infer the number of batches if an array has no elements.
        batches = len(records) // batch_size
        return {
            name: np.ascontiguousarray(array).reshape(batches, batch_size, *array.shape[1:])
            for name, array in arrays.items()
        }

    def restore(self, name: str, values: Any) -> Any:
        """Converts a stored raw column back to its values in the files, as graph operations.

        Args:
            name: one of raw_names.
            values: tensor of stored values, of any shape.

        Returns:
            tensor of the same shape; classes are strings.
        """
        if name not in self._classes:
            return values
        if self._schema.columns[name].type == "int":
            return tf.strings.as_string(values) if name == self.label else values
        return tf.gather(tf.constant(self._classes[name]), values)
