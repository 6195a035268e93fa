"""Rows as ids and numbers, for the contenders that do not read text."""

import json
import zlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv


class Ids(NamedTuple):
    """The rows of a file.

    Attributes:
        wide: int32 [rows, fields] into one table of wide_size weights.
        one_hot: int32 [rows, fields] into one table of one_hot_size rows of the first layer.
        embedded: int32 [rows, fields], each into a table of its own.
        numbers: float32 [rows, numbers].
        labels: float32 [rows].
        wide_size, one_hot_size: rows of these tables.
        embeddings: (rows, dimension) of the table of each embedded field.
    """

    wide: np.ndarray
    one_hot: np.ndarray
    embedded: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray
    wide_size: int
    one_hot_size: int
    embeddings: tuple


def encode(model_path: str, path: str, header: bool) -> Ids:
    """Reads a CSV file; words are hashed by CRC-32 into as many ids as TensorFlow's hash has."""
    with open(model_path) as file:
        model = json.load(file)
    names = [column["name"] for column in model["columns"]]
    types = {"string": pa.string(), "int": pa.float64(), "float": pa.float64()}
    table = pyarrow.csv.read_csv(
        path,
        pyarrow.csv.ReadOptions(column_names=names, skip_rows=int(header)),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={column["name"]: types[column["dtype"]] for column in model["columns"]}
        ),
    )
    wide, one_hot, embedded, numbers = [], [], [], []
    words, buckets = {}, {}
    for column in model["columns"]:
        name = column["name"]
        if column["kind"] == "unused":
            continue
        if column["kind"] == "number":
            values = pc.fill_null(table[name], column["default"] or 0).to_numpy()
            if column["deep"]:
                numbers.append(normalize(values, column).astype(np.float32))
            if column["wide"]:
                edges = np.array(column["buckets"])
                buckets[name] = np.searchsorted(edges, values, side="right"), len(edges) + 1
                wide.append(buckets[name])
            continue
        words[name] = find_words(table[name])
        ids = look_up(*words[name], column)
        wide += [ids] if column["wide"] else []
        one_hot += [ids] if column["deep"] == 1 else []
        embedded += [(*ids, column["deep"])] if column["deep"] > 1 else []
    for cross in model["crosses"]:
        wide.append((combine(cross, words, buckets), cross["size"]))
    classes = model["label"]["classes"]
    labels = table[model["label"]["column"]]
    if classes and isinstance(classes[0], str):
        labels = pc.index_in(labels, pa.array(classes))
    return Ids(
        *join(wide, len(table))[:1],
        *join(one_hot, len(table))[:1],
        stack([ids for ids, _, _ in embedded], len(table), np.int32),
        stack(numbers, len(table), np.float32),
        labels.to_numpy().astype(np.float32),
        join(wide, len(table))[1],
        join(one_hot, len(table))[1],
        tuple((size, dimension) for _, size, dimension in embedded),
    )


def normalize(values, column):
    if column["log"]:
        return np.sign(values) * np.log1p(np.abs(values))
    return (values - column["shift"]) / column["scale"]


def find_words(column):
    coded = pc.dictionary_encode(pc.fill_null(pc.cast(column, pa.string()), "")).combine_chunks()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy()


def look_up(words, indices, column):
    if column["kind"] == "words":
        known = {str(word): number for number, word in enumerate(column["vocabulary"])}
        # All words outside the vocabulary share one further id.
        ids, size = [known.get(word, len(known)) for word in words], len(known) + 1
    elif column["kind"] == "identity":
        ids, size = [int(float(word)) for word in words], column["size"]
    else:
        ids, size = [zlib.crc32(word.encode()) % column["size"] for word in words], column["size"]
    return np.array(ids, np.int32)[indices], size


def combine(cross, words, buckets):
    mixed = np.uint64(0)
    for name in cross["columns"]:
        if name in buckets:
            codes = buckets[name][0].astype(np.uint64)
        else:
            hashes = np.array([zlib.crc32(word.encode()) for word in words[name][0]], np.uint64)
            codes = hashes[words[name][1]]
        mixed = (mixed ^ codes) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(cross["size"])).astype(np.int32)


def join(fields, rows):
    """Returns fields as one array of ids of one table, and the size of that table."""
    offsets = np.cumsum([0, *(size for _, size in fields)])
    columns = [ids + offset for (ids, _), offset in zip(fields, offsets)]
    return stack(columns, rows, np.int32), int(offsets[-1])


def stack(columns, rows, dtype):
    if not columns:
        return np.zeros([rows, 0], dtype)
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(dtype))
