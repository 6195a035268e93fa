"""Measures memory and speed of trainer.watch on logs of several sizes, in each format.

    python benchmarks/watch_memory.py --export=DIR --data=FILE.parquet --rows=100000,1000000

--export is an export, and --data are rows of its columns. A log is one file: the rows repeated,
over 30 days, with a score. Each run is a process of its own; its largest resident size is measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import estimator_bridge as bridge
from trainer.prediction.description import describe_export

# Rows that are written once and then repeated; requests of a PredictionLog record.
BLOCK_ROWS, REQUEST_ROWS = 20_000, 20
FIRST_SECOND, DAYS = 1_772_409_600, 30


def read_block(export, data):
    schema = describe_export(export).schema
    table = pa.parquet.read_table(data).slice(0, BLOCK_ROWS)
    rows = table.select([one for one in schema.used_features if one in table.schema.names])
    for number, row in enumerate(rows.to_pylist()):
        seconds = FIRST_SECOND + number * DAYS * 86_400 // BLOCK_ROWS
        yield row, {"logistic": number % 97 / 97, "time": seconds, "model_version": "7"}


def write_json(block, stream):
    for row, answer in block:
        stream.write(json.dumps({**row, **answer}).encode() + b"\n")


def write_tfrecord(block, stream):
    from tensorflow_serving.apis import prediction_log_pb2

    tf, block = bridge.tf, list(block)
    path = stream.name
    with tf.io.TFRecordWriter(path) as writer:
        for start in range(0, len(block), REQUEST_ROWS):
            log = prediction_log_pb2.PredictionLog()
            part = block[start : start + REQUEST_ROWS]
            log.log_metadata.model_spec.version.value = 7
            log.log_metadata.timestamp_secs = part[0][1]["time"]
            examples = [to_example(tf, row) for row, _ in part]
            scores = [[answer["logistic"]] for _, answer in part]
            predict = log.predict_log
            predict.request.inputs["examples"].CopyFrom(tf.make_tensor_proto(examples))
            predict.response.outputs["logistic"].CopyFrom(tf.make_tensor_proto(scores))
            writer.write(log.SerializeToString())


def to_example(tf, row):
    features = {}
    for name, value in row.items():
        if isinstance(value, str):
            features[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
        elif isinstance(value, int):
            features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
        elif value is not None:
            features[name] = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


WRITERS = {"jsonl": write_json, "tfrecord": write_tfrecord}


def measure(export, path, folder):
    """(seconds, processor seconds, MiB) of a watch that reads a file."""
    command = [sys.executable, "-m", "trainer.watch", f"--export={export}", f"--requests={path}"]
    command += [f"--state={folder}", "--noreplay"]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 3, 4), status
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--formats", default=",".join(WRITERS))
    args = parser.parse_args()
    print("| format | rows | MiB | rows of a processor second | rows/s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="watch-") as folder:
        for kind in args.formats.split(","):
            block = Path(folder, f"block.{kind}")
            with block.open("wb") as stream:
                WRITERS[kind](read_block(args.export, args.data), stream)
            for rows in map(int, args.rows.split(",")):
                path = Path(folder, f"log.{kind}")
                with path.open("wb") as stream:
                    for _ in range(rows // BLOCK_ROWS):
                        stream.write(block.read_bytes())
                secs, busy, mib = measure(args.export, path, Path(folder, f"{kind}-{rows}"))
                speeds = f"{rows / busy:,.0f} | {rows / secs:,.0f}"
                print(f"| {kind} | {rows:,} | {mib:.0f} | {speeds} |", flush=True)


if __name__ == "__main__":
    main()
