"""Writes click data of the shape of Criteo's, without a download, a chunk at a time.

    python benchmarks/clicks.py --rows=1000000 --output=clicks
    python benchmarks/clicks.py --rows=20000000 --format=parquet --files=16 --output=clicks

The columns are `clicked`, the counts I1 to I13 with gaps, and the categories C1 to C26, whose words
are eight hexadecimal digits. The popularity of the words of a column follows a power law. The label
depends on the counts, on the words and on pairs of words. The first rows of a longer file are the
rows of a shorter one. With --days, files lie in folders dt=2024-01-01 and so on, as Spark writes
them.
"""

import argparse
import datetime
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

LABEL = "clicked"
NUMBERS = tuple(f"I{number}" for number in range(1, 14))
WORDS = tuple(f"C{number}" for number in range(1, 27))
# Distinct words of the 26 columns of Criteo's data of 2014; --ids limits the largest.
DISTINCT = (
    *(1_460, 583, 10_131_227, 2_202_608, 305, 24, 12_517, 633, 3, 93_145, 5_683, 8_351_593, 3_194),
    *(27, 14_992, 5_461_306, 10, 5_652, 2_173, 4, 7_046_547, 18, 15, 286_181, 105, 142_572),
)
# Shares of rows without a value, of the counts and of the words.
NUMBER_GAPS = (0.45, 0, 0.21, 0.22, 0.03, 0.22, 0.04, 0.0005, 0.04, 0.45, 0.04, 0.77, 0.22)
WORD_GAPS = {3: 0.03, 4: 0.03, 6: 0.12, 12: 0.03, 16: 0.03, 19: 0.44, 20: 0.44, 22: 0.76, 25: 0.44}
# Popularity of the word of rank n is proportional to n to the power of minus this.
POWER = 1.1
# Logarithms of the counts have these means and this standard deviation.
LOG_MEANS = (1.0, 2.5, 2.0, 1.7, 7.0, 3.5, 1.8, 2.2, 4.0, 0.5, 0.9, 0.4, 1.8)
LOG_STD = 1.2
# What the label depends on: standard deviations in the logit of a typical word, number and pair.
WORD_EFFECT, NUMBER_EFFECT, PAIR_EFFECT = 0.35, 0.12, 0.6
PAIRS = ((0, 5), (8, 13), (16, 19), (1, 24))
BIAS = -1.55
# Rows that are generated at once; the rows do not depend on --files.
CHUNK_ROWS = 50_000
HEX = np.array([list(b"%02x" % byte) for byte in range(256)], np.uint8)


def generate(rows: int, ids: int = 1_000_000, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Yields the rows in chunks; memory does not depend on their number.

    Args:
        rows: number of rows.
        ids: greatest number of distinct words of a column.
        seed: other seeds give other rows of the same distribution; the effects of words stay.
    """
    for number, first in enumerate(range(0, rows, CHUNK_ROWS)):
        chunk = _generate_chunk(np.random.default_rng((seed, number)), ids)
        yield chunk.slice(0, min(CHUNK_ROWS, rows - first))


def _generate_chunk(rng: np.random.Generator, ids: int) -> pa.RecordBatch:
    logit = np.full(CHUNK_ROWS, BIAS)
    arrays: list[pa.Array] = []
    for index, gap in enumerate(NUMBER_GAPS):
        logs = rng.normal(LOG_MEANS[index], LOG_STD, CHUNK_ROWS)
        missing = rng.random(CHUNK_ROWS) < gap
        sign = 1 if index % 2 else -1
        logit += sign * NUMBER_EFFECT * np.where(missing, -1.0, (logs - LOG_MEANS[index]) / LOG_STD)
        counts = np.floor(np.exp(np.clip(logs, -1.0, 20.0))).astype(np.int64)
        arrays.append(pa.array(counts, mask=missing))
    hashes = []
    for index, distinct in enumerate(DISTINCT):
        ranks = _draw_ranks(rng, min(distinct, ids))
        hashes.append(mix(ranks * np.uint64(len(DISTINCT)) + np.uint64(index)))
        missing = rng.random(CHUNK_ROWS) < WORD_GAPS.get(index + 1, 0.0)
        logit += np.where(missing, 0.0, WORD_EFFECT * _find_effect(hashes[-1]))
        arrays.append(_write_words(hashes[-1], missing))
    for left, right in PAIRS:
        pair = mix(hashes[left] * np.uint64(31) + hashes[right])
        logit += PAIR_EFFECT * _find_effect(pair)
    clicked = rng.random(CHUNK_ROWS) < 1 / (1 + np.exp(-logit))
    return pa.RecordBatch.from_arrays(
        [pa.array(clicked.astype(np.int64)), *arrays], names=[LABEL, *NUMBERS, *WORDS]
    )


def _draw_ranks(rng: np.random.Generator, distinct: int) -> np.ndarray:
    """Returns ranks from 0, uint64 [CHUNK_ROWS], by the inverse of the power law's distribution."""
    power = 1 - POWER
    highest = float(distinct + 1) ** power
    drawn = (1 + rng.random(CHUNK_ROWS) * (highest - 1)) ** (1 / power)
    return np.minimum(drawn.astype(np.uint64) - np.uint64(1), np.uint64(distinct - 1))


def mix(values: np.ndarray) -> np.ndarray:
    """Returns a hash of each value, uint64 [n] (the finaliser of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _find_effect(hashes: np.ndarray) -> np.ndarray:
    """Returns the effect of each word, float64 [n], mean 0 and standard deviation 1."""
    uniform = mix(hashes) >> np.uint64(11)
    return (uniform / 2.0**53 - 0.5) * np.sqrt(12.0)


def _write_words(hashes: np.ndarray, missing: np.ndarray) -> pa.Array:
    text = HEX[hashes.astype(np.uint32).view(np.uint8)].reshape(-1)
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * 8
    words = pa.StringArray.from_buffers(
        len(hashes), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))
    )
    return pa.compute.if_else(pa.array(missing), None, words)


def describe_schema(buckets: int = 1 << 20, embedding: int = 16) -> dict:
    """Returns a schema of the data by hand, as the values of its YAML.

    Args:
        buckets: greatest number of hash buckets of a column.
        embedding: dimension of all embeddings.
    """
    columns: dict[str, Any] = {LABEL: {"type": "int"}}
    for name in NUMBERS:
        columns[name] = {"type": "float", "default": 0, "normalize": "log"}
    for name, distinct in zip(WORDS, DISTINCT):
        size = min(buckets, 1 << int(np.ceil(np.log2(4 * distinct))))
        columns[name] = {"type": "string", "hash_buckets": size, "embedding": embedding}
    return {"columns": columns, "label": {"column": LABEL, "num_classes": 2}}


def write_files(folder: Path, options: argparse.Namespace) -> list[Path]:
    """Writes the rows to files of nearly equal length, and returns their paths.

    Args:
        folder: where to write; existing files of the same names are replaced.
        options: rows, ids, seed, format (csv, parquet or tfrecord), files and days.
    """
    each = -(-options.rows // options.files)
    writer, path, room, paths = None, None, 0, []
    for batch in generate(options.rows, options.ids, options.seed):
        while batch.num_rows:
            if not room:
                if writer:
                    writer.close()
                path = _name_file(folder, len(paths), options)
                path.parent.mkdir(parents=True, exist_ok=True)
                writer, room = open_writer(path, options.format, batch.schema), each
                paths.append(path)
            writer.write_batch(batch.slice(0, room))
            batch, room = batch.slice(room), max(0, room - batch.num_rows)
    if writer:
        writer.close()
    return paths


def _name_file(folder: Path, number: int, options: argparse.Namespace) -> Path:
    if options.days:
        day = datetime.date(2024, 1, 1) + datetime.timedelta(number * options.days // options.files)
        folder = folder / f"dt={day}"
    return folder / f"part-{number:05d}.{options.format}"


def open_writer(path: Path, file_format: str, schema: pa.Schema) -> Any:
    """Returns an object with write_batch and close.

    Args:
        path: file to write.
        file_format: csv, parquet or tfrecord.
        schema: of the rows.
    """
    if file_format == "csv":
        plain = pyarrow.csv.WriteOptions(quoting_style="none")
        return pyarrow.csv.CSVWriter(path, schema, write_options=plain)
    if file_format == "parquet":
        return pyarrow.parquet.ParquetWriter(path, schema)
    return TfrecordWriter(path)


class TfrecordWriter:
    """Writes record batches as tf.Example records; a value that is missing has no feature."""

    def __init__(self, path: Path):
        import tensorflow as tf

        self._tf, self._file = tf, tf.io.TFRecordWriter(str(path))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            example = self._tf.train.Example()
            for name, value in row.items():
                if isinstance(value, str):
                    example.features.feature[name].bytes_list.value.append(value.encode())
                elif value is not None and name in NUMBERS:
                    example.features.feature[name].float_list.value.append(value)
                elif value is not None:
                    example.features.feature[name].int64_list.value.append(value)
            self._file.write(example.SerializeToString())

    def close(self) -> None:
        self._file.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ids", type=int, default=1_000_000, help="most words of a column")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=("csv", "parquet", "tfrecord"), default="csv")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--days", type=int, default=0, help="folders dt=DAY; 0: none")
    parser.add_argument("--output", type=Path, required=True, help="folder")
    options = parser.parse_args()
    too_small = [name for name in ("rows", "ids", "files") if getattr(options, name) < 1]
    if too_small or options.days < 0:
        name = too_small[0] if too_small else "days"
        print(f"error: --{name}={getattr(options, name)}: give a larger number", file=sys.stderr)
        return 2
    for path in write_files(options.output, options):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
