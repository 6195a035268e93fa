"""An encoded row as a few dozen bytes: what shuffling moves, and what the cache keeps."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.encoding import IDS, NUMBERS, Encoding
from trainer.schema import Schema

# Key under which a chunk keeps its records.
ROWS = "//rows"
# Largest first, so that every part of a record begins where its type wants it.
INTS = (np.int32, np.int16, np.int8)


class Records:
    """How encoded rows are laid out.

    Args:
        encoding: of the ids and numbers.
        schema: labels and weight.

    Attributes:
        dtype: structured type of a row: each id in the smallest type that holds its field.
        raw_names: labels and weight: columns that are kept as they are, text as the number of the
            class.
        label: name of the first label's column.
        label_is_number: whether it is no class.
        num_fields, num_numbers: of the encoding.
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
        self._fields: dict[str, list[int]] = {}
        for place, field in enumerate(encoding.fields):
            kind = next(each for each in reversed(INTS) if field.size - 1 <= np.iinfo(each).max)
            self._fields.setdefault(np.dtype(kind).name, []).append(place)
        parts: list[tuple] = []
        for place, name in enumerate(self.raw_names):
            parts.append((f"raw{place}", self.stored_type(name).as_numpy_dtype))
        parts.append((NUMBERS, np.float32, (self.num_numbers,)))
        for kind in INTS:
            name = np.dtype(kind).name
            if name in self._fields:
                parts.append((name, kind, (len(self._fields[name]),)))
        # 8 bytes before 4.
        parts.sort(key=lambda part: -np.dtype(part[1]).itemsize)
        self.dtype = np.dtype(parts)

    def stored_type(self, name: str) -> Any:
        """The TensorFlow type of a raw column as it is kept."""
        kinds = {"float": tf.float32, "int": tf.int64, "string": tf.int32}
        return kinds[self._schema.columns[name].type]

    def pack(
        self,
        ids: np.ndarray,
        numbers: np.ndarray,
        chunk: Mapping[str, np.ndarray],
        words: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Encoded rows as records [rows]; chunk and words hold the raw columns, split as
        RowSource.read_split does."""
        records = np.empty(len(ids), self.dtype)
        records[NUMBERS] = numbers
        for kind, places in self._fields.items():
            for column, place in enumerate(places):
                records[kind][:, column] = ids[:, place]
        for place, name in enumerate(self.raw_names):
            values = chunk[name]
            if name in words:
                values = self._number_classes(name, words[name])[values]
                if (values < 0).any():
                    raise UserError(
                        f"data: a label of column {name} is none of its classes; the files have "
                        "changed since they were checked"
                    )
            records[f"raw{place}"] = values
        return records

    def _number_classes(self, name: str, words: np.ndarray) -> np.ndarray:
        numbers = {word.encode(): number for number, word in enumerate(self._classes[name])}
        return np.array([numbers.get(word, -1) for word in words.tolist()], np.int32)

    def unpack(self, records: np.ndarray, batch_size: int) -> dict[str, np.ndarray]:
        """Records to arrays [batches, batch_size, ...] by name; ids are int32 again."""
        ids = np.empty([len(records), self.num_fields], np.int32)
        for kind, places in self._fields.items():
            stored = records[kind]
            for column, place in enumerate(places):
                ids[:, place] = stored[:, column]
        arrays = {IDS: ids, NUMBERS: records[NUMBERS]}
        for place, name in enumerate(self.raw_names):
            arrays[name] = records[f"raw{place}"]
        # Counted, not left to reshape as -1: of no ids or no numbers it cannot tell.
        batches = len(records) // batch_size
        return {
            name: np.ascontiguousarray(array).reshape(batches, batch_size, *array.shape[1:])
            for name, array in arrays.items()
        }

    def restore(self, name: str, values: Any) -> Any:
        """A raw column in graph, as it is kept, to what the files have."""
        if name not in self._classes:
            return values
        if self._schema.columns[name].type == "int":
            return tf.strings.as_string(values) if name == self.label else values
        return tf.gather(tf.constant(self._classes[name]), values)
