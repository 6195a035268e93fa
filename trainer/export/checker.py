"""python -m trainer.export.checker: loads each export in a fresh process and compares its outputs.

Real rows are fed to every input: tf.Example, raw tensors and CSV lines. The outputs must be finite,
and equal for all inputs. An export is loaded into a session, as in TensorFlow Serving.
"""

import csv
import io
import json
import math
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge import tf
from estimator_bridge.command_line.current_folder import list_words
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, to_python
from trainer.features.raw_inputs import list_csv_inputs, list_inputs, raw_dtype
from trainer.inputs.dataset import RowSource
from trainer.schema import Schema

# Number of rows with which each export is checked.
NUM_ROWS = 3
# The three inputs share all computation; only the text form of a float may differ.
TOLERANCE = 1e-5
TIMEOUT_SECS = 300


def read_sample_rows(source: RowSource, schema: Schema) -> list[dict[str, Any]]:
    """Reads the first NUM_ROWS rows of a source.

    Args:
        source: of the rows.
        schema: its columns.

    Returns:
        For each row, name → value of every input of an export: int, float or str.
    """
    chunk = next(source.read())
    return [
        {name: _plain(chunk[name][row]) for name in list_inputs(schema)}
        for row in range(min(NUM_ROWS, len(next(iter(chunk.values())))))
    ]


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value.item()


class _Request(NamedTuple):
    """The exports to check, and the rows to check them with.

    Attributes:
        exports: paths.
        rows: of read_sample_rows; empty to only load the exports.
        schema: of the rows.
        delimiter: of CSV lines.
    """

    exports: list[str]
    rows: list[dict[str, Any]]
    schema: Schema
    delimiter: str

    def to_json(self) -> str:
        """Returns the request as JSON."""
        return json.dumps(
            {**self._asdict(), "schema": self.schema.model_dump(mode="json")},
        )

    @classmethod
    def from_json(cls, text: str) -> "_Request":
        """Parses the result of `to_json`."""
        values = json.loads(text)
        return cls(**{**values, "schema": Schema.model_validate(values["schema"])})


class Checker:
    """A fresh process that checks exports.

    It can be started before the exports exist, because it loads TensorFlow first. The object is a
    context manager: the end of the block ends the process.

    Args:
        enabled: whether exports are checked; if not, every method does nothing.

    Attributes:
        enabled: as given.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self._process: Optional[subprocess.Popen[str]] = None
        self._thread: Optional[threading.Thread] = None
        self._errors = ""
        self._num_exports = 0

    def start(self) -> None:
        """Starts the process if it has not been started."""
        if self.enabled:
            self._start()

    def _start(self) -> "subprocess.Popen[str]":
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, *list_words("trainer.export.checker")],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        return self._process

    def submit(
        self, exports: Sequence[str], rows: list[dict[str, Any]], schema: Schema, delimiter: str
    ) -> None:
        """Starts the check of exports; does not wait for its end.

        Args:
            exports: paths.
            rows: of read_sample_rows; empty to only load the exports.
            schema: of the rows.
            delimiter: of CSV lines.
        """
        if not self.enabled:
            return
        request = _Request(list(exports), rows, schema, delimiter)
        self._num_exports = len(exports)
        arguments = (self._start(), request.to_json())
        self._thread = threading.Thread(target=self._communicate, args=arguments, name="verify")
        self._thread.start()

    def _communicate(self, process: "subprocess.Popen[str]", request: str) -> None:
        try:
            _, self._errors = process.communicate(request, timeout=TIMEOUT_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self._errors = f"not finished within {TIMEOUT_SECS} s"

    def wait(self) -> None:
        """Waits for the end of the check.

        Raises:
            UserError: an export cannot be loaded, or its outputs are wrong.
        """
        if self._thread is None or self._process is None:
            return
        self._thread.join()
        if self._process.returncode:
            raise UserError(
                f"export: the check of {self._num_exports} export(s) failed: "
                f"{_last_line(self._errors, self._process.returncode)}"
            )

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *exception: Any) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        if self._thread is not None:
            self._thread.join()
        else:
            process.communicate()


def _last_line(errors: str, status: int) -> str:
    """Returns the last line of a process's errors; of a traceback, also where it was raised.

    Args:
        errors: what the process wrote to standard error.
        status: its exit status, which stands for an empty text.
    """
    lines = errors.strip().splitlines() or [f"no error message, exit status {status}"]
    # An assertion often has no message; without its place nobody could find its cause.
    places = [line.strip() for line in lines if line.startswith('  File "')]
    return f"{lines[-1]} ({places[-1]})" if places else lines[-1]


def check_exports(
    exports: Sequence[str], rows: list[dict[str, Any]], schema: Schema, delimiter: str
) -> None:
    """Checks exports in one fresh process.

    Args:
        exports: paths.
        rows: of read_sample_rows; empty to only load the exports.
        schema: of the rows.
        delimiter: of CSV lines.

    Raises:
        UserError: an export cannot be loaded, or its outputs are wrong.
    """
    with Checker() as checker:
        checker.submit(exports, rows, schema, delimiter)
        checker.wait()


def _predict(
    session: ServingSession, receiver: str, values: dict[str, np.ndarray], num_rows: int
) -> list[dict[str, Any]]:
    """Runs the predict signature of one input; returns output name → value for each row."""
    name = session.find_signature("predict", receiver)
    unmatched = sorted(set(session.signatures[name].inputs) ^ set(values))
    if unmatched:
        raise UserError(
            f"export {session.path}: input {unmatched[0]} is only in one of export and schema"
        )
    outputs = session.run(name, values)
    return [
        {each: to_python(array[row]) for each, array in outputs.items()} for row in range(num_rows)
    ]


def _check(path: str, request: _Request) -> None:
    """Checks one export."""
    # Each signature runs only once. Optimising its graph would take longer than running it.
    with ServingSession(path, optimize=False) as session:
        if not session.signatures:
            raise UserError(f"export {path}: it has no signature")
        if request.rows:
            _check_outputs(session, request)


def _check_outputs(session: ServingSession, request: _Request) -> None:
    """Compares the outputs of the three inputs."""
    schema = request.schema
    # The same first row with its values, with missing ones for each that has a default, and without
    # these: a tensor cannot leave a value out.
    first = request.rows[0]
    marked = leave_out(first, schema)
    absent = {name: value for name, value in marked.items() if value == first[name]}
    rows = [*request.rows, marked, marked]
    written = [*request.rows, marked, absent]
    inputs = {
        "json": {
            name: np.array(
                [row[name] for row in rows], raw_dtype(schema.columns[name]).as_numpy_dtype
            )
            for name in list_inputs(schema)
        },
        "example": {"examples": np.array([to_example(row, schema) for row in written], object)},
        "csv": {
            "csv": np.array([to_line(row, schema, request.delimiter) for row in written], object)
        },
    }
    outputs = {
        receiver: _predict(session, receiver, values, len(rows))
        for receiver, values in inputs.items()
    }
    for receiver, predictions in outputs.items():
        for row, (got, reference) in enumerate(zip(predictions, outputs["json"])):
            _compare(got, reference, f"export {session.path}: row {row + 1} as {receiver}")


def leave_out(row: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns a row with the values that mean a missing one: NaN, or the first missing text.

    Args:
        row: column → int, float or str.
        schema: the columns.
    """
    left = dict(row)
    for name, value in row.items():
        column = schema.columns[name]
        # Multivalent columns may need equal numbers of values.
        if name == schema.key or column.image is not None or column.separator is not None:
            continue
        if isinstance(value, float) and column.default is not None:
            left[name] = math.nan
        elif column.type == "string" and schema.missing_values:
            left[name] = schema.missing_values[0]
    return left


def _compare(got: dict[str, Any], reference: dict[str, Any], where: str) -> None:
    for name, value in reference.items():
        if not isinstance(value, (float, list)) or not _is_numeric(value):
            if got[name] != value:
                # Not quoted: the key is a value of the data.
                raise UserError(f"{where}: {name} differs from {name} of the row as raw tensors")
            continue
        if not np.all(np.isfinite(got[name])):
            raise UserError(f"{where}: {name} is {got[name]!r}, not a finite number")
        if not np.allclose(got[name], value, rtol=TOLERANCE, atol=TOLERANCE):
            raise UserError(f"{where}: {name} is {got[name]!r}, as raw tensors {value!r}")


def _is_numeric(value: Any) -> bool:
    return np.issubdtype(np.asarray(value).dtype, np.number)


def to_example(row: dict[str, Any], schema: Schema) -> bytes:
    """Returns a row as a serialized tf.Example.

    Args:
        row: column → int, float or str.
        schema: the columns.
    """
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
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString())


def to_line(row: dict[str, Any], schema: Schema, delimiter: str) -> str:
    """Returns a row as a CSV line without its line end.

    Args:
        row: column → int, float or str.
        schema: the columns.
        delimiter: between two fields.
    """
    text = io.StringIO()
    texts = schema.missing_values
    fields = [
        texts[-1] if texts and isinstance(value, float) and math.isnan(value) else value
        for value in (row.get(name, "") for name in list_csv_inputs(schema))
    ]
    # The writer quotes a field that contains a line end only if its lineterminator contains the
    # characters of this line end.
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(fields)
    return text.getvalue()[: -len("\r\n")]


def main() -> int:
    """Reads a request from standard input and checks its exports; returns the exit status."""
    text = sys.stdin.read()
    if not text:
        # There is no request: the run ended without exports.
        return 0
    request = _Request.from_json(text)
    try:
        for path in request.exports:
            _check(path, request)
    except (UserError, tf.errors.OpError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
