"""python -m trainer.export.checker: each export is loaded in a fresh process and asked a question.

Real rows go in by every door (tf.Example, raw tensors, CSV line); the answers must be finite and
the same whatever the door. An export is loaded into a session, as TensorFlow Serving does it.
"""

import csv
import io
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, to_python
from trainer.features.raw_inputs import list_csv_inputs, list_inputs, raw_dtype
from trainer.inputs.dataset import RowSource
from trainer.schema import Schema

NUM_ROWS = 3
# The three doors meet before the first computation; what differs is how a float is spelled.
TOLERANCE = 1e-5
TIMEOUT_SECS = 300


def read_sample_rows(source: RowSource, schema: Schema) -> list[dict[str, Any]]:
    """The first rows of a source as plain values of the export's inputs."""
    chunk = next(source.read())
    return [
        {name: _plain(chunk[name][row]) for name in list_inputs(schema)}
        for row in range(min(NUM_ROWS, len(next(iter(chunk.values())))))
    ]


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value.item()


class Checker:
    """A fresh process that checks exports; started early, it is ready when there is something.

    Used as a context manager: the process does not outlive it.

    Attributes:
        enabled: whether anything is checked; if not, nothing here does anything.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self._process: Optional[subprocess.Popen] = None
        self._talk: Optional[threading.Thread] = None
        self._errors = ""
        self._num_exports = 0

    def start(self) -> None:
        """Starts the process, if that has not been done."""
        if self.enabled and self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "trainer.export.checker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )

    def submit(
        self, exports: Sequence[str], rows: list[dict[str, Any]], schema: Schema, delimiter: str
    ) -> None:
        """Has every export loaded, and asked for `rows` if there are any; does not wait."""
        if not self.enabled:
            return
        self.start()
        question = json.dumps(
            {
                "exports": list(exports),
                "rows": rows,
                "schema": schema.model_dump(mode="json"),
                "delimiter": delimiter,
            }
        )
        self._num_exports = len(exports)
        self._talk = threading.Thread(target=self._run, args=(question,), name="verify")
        self._talk.start()

    def _run(self, question: str) -> None:
        try:
            _, self._errors = self._process.communicate(question, timeout=TIMEOUT_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            self._errors = f"no answer within {TIMEOUT_SECS} s"

    def wait(self) -> None:
        """Waits for the answer.

        Raises:
            UserError: an export does not load or answer.
        """
        if self._talk is None:
            return
        self._talk.join()
        if self._process.returncode:
            lines = self._errors.strip().splitlines() or ["no word of why"]
            raise UserError(
                f"export: the check of {self._num_exports} export(s) failed: {lines[-1]}"
            )

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *exception: Any) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        if self._talk is not None:
            self._talk.join()
        else:
            process.communicate()


def check_exports(
    exports: Sequence[str], rows: list[dict[str, Any]], schema: Schema, delimiter: str
) -> None:
    """Loads every export in one fresh process and asks it for `rows`; without rows, only loads.

    Raises:
        UserError: an export does not load or answer.
    """
    with Checker() as checker:
        checker.submit(exports, rows, schema, delimiter)
        checker.wait()


def _ask(
    served: ServingSession, receiver: str, values: dict[str, Any], num_rows: int
) -> list[dict]:
    """Asks for predictions by one input; returns a dict for each row."""
    name = served.find_signature("predict", receiver)
    unknown = sorted(set(served.signatures[name].inputs) ^ set(values))
    if unknown:
        raise UserError(f"export {served.path}: input {unknown[0]} is not in both, it and schema")
    outputs = served.run(name, values)
    return [
        {each: to_python(array[row]) for each, array in outputs.items()} for row in range(num_rows)
    ]


def _check(path: str, rows: list[dict[str, Any]], schema: Schema, delimiter: str) -> None:
    # Each signature is asked once: to optimise its graph would take longer.
    with ServingSession(path, optimize=False) as served:
        _check_served(served, rows, schema, delimiter)


def _check_served(
    served: ServingSession, rows: list[dict[str, Any]], schema: Schema, delimiter: str
) -> None:
    path = served.path
    if not served.signatures:
        raise UserError(f"export {path}: it has no signature")
    if not rows:
        return
    questions = {
        "json": {
            name: np.array(
                [row[name] for row in rows], raw_dtype(schema.columns[name]).as_numpy_dtype
            )
            for name in list_inputs(schema)
        },
        "example": {"examples": np.array([_to_example(row, schema) for row in rows], object)},
        "csv": {"csv": np.array([_to_line(row, schema, delimiter) for row in rows], object)},
    }
    answers = {
        receiver: _ask(served, receiver, values, len(rows))
        for receiver, values in questions.items()
    }
    for receiver, answer in answers.items():
        for row, (got, reference) in enumerate(zip(answer, answers["json"])):
            _compare(got, reference, f"export {path}: row {row + 1} asked as {receiver}")


def _compare(got: dict[str, Any], reference: dict[str, Any], where: str) -> None:
    for name, value in reference.items():
        if not isinstance(value, (float, list)) or not _is_numeric(value):
            if got[name] != value:
                raise UserError(f"{where}: {name} is {got[name]!r}, as raw tensors {value!r}")
            continue
        if not np.all(np.isfinite(got[name])):
            raise UserError(f"{where}: {name} is {got[name]!r}, not a finite number")
        if not np.allclose(got[name], value, rtol=TOLERANCE, atol=TOLERANCE):
            raise UserError(f"{where}: {name} is {got[name]!r}, as raw tensors {value!r}")


def _is_numeric(value: Any) -> bool:
    return np.issubdtype(np.asarray(value).dtype, np.number)


def _to_example(row: dict[str, Any], schema: Schema) -> bytes:
    features = {}
    for name, value in row.items():
        column = schema.columns[name]
        values = [value]
        if column.separator is not None and column.type != "string":
            values = [part for part in value.split(column.separator) if part.strip()]
        if column.type == "string":
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
        elif column.type == "int":
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=map(int, values)))
        else:
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=map(float, values)))
        features[name] = feature
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def _to_line(row: dict[str, Any], schema: Schema, delimiter: str) -> str:
    text = io.StringIO()
    fields = [row.get(name, "") for name in list_csv_inputs(schema)]
    # The writer quotes a line end in a field only if it knows it as its own.
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(fields)
    return text.getvalue()[: -len("\r\n")]


def main() -> int:
    """Reads the question from standard input; returns the exit status."""
    text = sys.stdin.read()
    if not text:
        # The run has ended without exports.
        return 0
    question = json.loads(text)
    schema = Schema.model_validate(question["schema"])
    try:
        for path in question["exports"]:
            _check(path, question["rows"], schema, question["delimiter"])
    except (UserError, tf.errors.OpError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
