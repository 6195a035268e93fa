"""Runs an export in a session, as TensorFlow Serving does.

`saved_model.load` takes seconds because it builds a function per signature. A Session builds none.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

import numpy as np

import estimator_bridge as bridge
from estimator_bridge.errors import describe_os_error
from estimator_bridge.model_files.saved_models import REMEDY, find_damage
from trainer.errors import UserError

# Receiver → name of the only input of its signatures; a receiver of raw tensors has other names.
_SINGLE_INPUTS = {"example": "examples", "csv": "csv"}
# Maximum number of characters of a TensorFlow error that are shown.
_MAX_MESSAGE = 200


class Signature(NamedTuple):
    """A signature of an export.

    Attributes:
        inputs: name → dtype of each input.
        outputs: names of the outputs.
        feeds: name of an input → name of its tensor in the graph.
        fetches: name of an output → name of its tensor in the graph.
        ranks: name of an input → its number of dimensions; None if unknown.
    """

    inputs: dict[str, Any]
    outputs: list[str]
    feeds: dict[str, str]
    fetches: dict[str, str]
    ranks: dict[str, Optional[int]]


class _Run(NamedTuple):
    """A prepared run of a session, which does not examine feeds and fetches by name again.

    Attributes:
        call: from arrays to the values of the fetched tensors.
        dtypes: of the arrays, for NumPy.
        shapes: of the fed tensors; a dimension is None where any is possible.
        fetched: names of the tensors.
    """

    call: Any
    dtypes: list[Any]
    shapes: list[Optional[list[Optional[int]]]]
    fetched: list[str]

    def run(self, values: Sequence[Any]) -> Optional[dict[str, np.ndarray]]:
        """Returns name → value of each fetched tensor; None if a shape does not fit.

        Args:
            values: of the fed tensors.
        """
        arrays = [np.asarray(value, dtype) for value, dtype in zip(values, self.dtypes)]
        if not all(map(_fits, arrays, self.shapes)):
            return None
        return dict(zip(self.fetched, self.call(*arrays)))


def _fits(array: np.ndarray, shape: Optional[list[Optional[int]]]) -> bool:
    if shape is None:
        return True
    return array.ndim == len(shape) and all(
        size in (None, length) for size, length in zip(shape, array.shape)
    )


class ServingSession:
    """An export that is loaded once and can be run often; a context manager that closes it.

    Args:
        path: folder of a SavedModel.
        optimize: whether to optimise the graph before the first run, and to use GPUs. This is
            worthwhile only for many runs. It can fail while another process uses all memory of the
            GPU.
        threads: number of threads of an operation; 0: as many as the machine has cores.

    Attributes:
        path: as given.
        signatures: name → signature.
        definitions: name → its SignatureDef.

    Raises:
        UserError: there is no SavedModel, or this TensorFlow cannot load it.
    """

    def __init__(self, path: str, optimize: bool = True, threads: int = 0) -> None:
        tf = bridge.tf
        if not (Path(path) / "saved_model.pb").is_file():
            raise UserError(f"export {path}: no saved_model.pb there; name an export's own folder")
        check_files(path)
        self.path = path
        config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads)
        if not optimize:
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            config.device_count["GPU"] = 0
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        # Names of the fed and of the fetched tensors → the run.
        self._runs: dict[tuple[tuple[str, ...], tuple[str, ...]], _Run] = {}
        with self._session.graph.as_default():
            try:
                loaded = tf.compat.v1.saved_model.load(
                    self._session, [tf.saved_model.SERVING], path
                )
            except (tf.errors.OpError, OSError, ValueError, RuntimeError) as error:
                self._session.close()
                message = " ".join(str(error).split())[:_MAX_MESSAGE]
                if isinstance(error, tf.errors.DataLossError):
                    message = f"variables: damaged: a checksum is wrong; {REMEDY}"
                raise UserError(f"export {path}: cannot be loaded: {message}") from error
        self.definitions = {
            name: found
            for name, found in loaded.signature_def.items()
            # Omit TensorFlow's internal signatures, for example __saved_model_init_op.
            if not name.startswith("__")
        }
        self.signatures = {
            name: Signature(
                {each: tf.as_dtype(info.dtype) for each, info in sorted(found.inputs.items())},
                sorted(found.outputs),
                {each: info.name for each, info in found.inputs.items()},
                {each: info.name for each, info in found.outputs.items()},
                {
                    each: None if shape.unknown_rank else len(shape.dim)
                    for each, shape in (
                        (each, info.tensor_shape) for each, info in found.inputs.items()
                    )
                },
            )
            for name, found in self.definitions.items()
        }

    def find_signature(self, output: str, receiver: str) -> str:
        """Returns the name of the signature for an output and an input.

        Args:
            output: predict, classification or regression.
            receiver: example, json or csv.

        Raises:
            UserError: the export has no such signature.
        """
        single = _SINGLE_INPUTS.get(receiver)
        for name, signature in self.signatures.items():
            if name.rpartition(":")[2] != output:
                continue
            inputs = set(signature.inputs)
            if (inputs == {single}) if single else not inputs & set(_SINGLE_INPUTS.values()):
                return str(name)
        raise UserError(
            f"export {self.path}: no signature {output} for {receiver} "
            f"(there are {', '.join(sorted(self.signatures))})"
        )

    def find_width(self, tensor: str) -> Optional[int]:
        """Returns the number of columns of a matrix in the graph; None if there is none.

        Args:
            tensor: its name.
        """
        try:
            shape = self._session.graph.get_tensor_by_name(tensor).shape
        except KeyError:
            return None
        return shape[1] if shape.rank == 2 else None

    def run(
        self,
        name: str,
        inputs: dict[str, np.ndarray],
        tensors: Mapping[str, np.ndarray] = MappingProxyType({}),
        outputs: Optional[Sequence[str]] = None,
    ) -> dict[str, np.ndarray]:
        """Runs one signature.

        Args:
            name: of the signature.
            inputs: name → array [rows]; strings are objects, str or bytes.
            tensors: name of another tensor of the graph → its value. Inputs from which only these
                are computed may be left out.
            outputs: those that are computed; None: all.

        Returns:
            Output name → array [rows, ...]; strings are bytes.

        Raises:
            tf.errors.OpError: the graph fails on these inputs.
        """
        signature = self.signatures[name]
        feeds = {signature.feeds[each]: values for each, values in inputs.items()}
        feeds.update(tensors)
        wanted = signature.fetches
        if outputs is not None:
            wanted = {each: wanted[each] for each in outputs}
        known = self._run_prepared(feeds, [*wanted.values()])
        if known is not None:
            return {each: known[tensor] for each, tensor in wanted.items()}
        found: dict[str, np.ndarray] = self._session.run(wanted, feeds)
        return found

    def _run_prepared(
        self, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> Optional[dict[str, np.ndarray]]:
        """Returns name → value of each tensor; None if Session.run must run, or name an error."""
        tf, fetched = bridge.tf, list(dict.fromkeys(fetches))
        if not feeds.keys().isdisjoint(fetched):
            return None
        key = (tuple(feeds), tuple(fetched))
        try:
            if key not in self._runs:
                self._runs[key] = self._prepare(*key)
            return self._runs[key].run([*feeds.values()])
        except (tf.errors.OpError, KeyError, TypeError, ValueError):
            return None

    def _prepare(self, fed: Sequence[str], fetched: Sequence[str]) -> _Run:
        from estimator_bridge.private_tf import config_pb2

        options = config_pb2.CallableOptions(feed=fed, fetch=fetched)
        tensors = [self._session.graph.get_tensor_by_name(name) for name in fed]
        return _Run(
            self._session._make_callable_from_options(options),
            [tensor.dtype.as_numpy_dtype for tensor in tensors],
            [None if each.shape.rank is None else each.shape.as_list() for each in tensors],
            list(fetched),
        )

    def close(self) -> None:
        """Frees the memory. Afterwards the session cannot be run."""
        self._runs.clear()
        self._session.close()

    def __enter__(self) -> "ServingSession":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def check_files(path: str) -> None:
    """Checks that the files of an export are there, and whole.

    Args:
        path: folder of a SavedModel with saved_model.pb.

    Raises:
        UserError: one is damaged, missing or cannot be read.
    """
    try:
        damage = find_damage(Path(path))
    except OSError as error:
        damage = describe_os_error(error)
    if damage is not None:
        raise UserError(f"export {path}: cannot be loaded: {damage}")


def describe_error(error: Any) -> str:
    """Returns the message of an error in an export's graph, on one line.

    Args:
        error: a tf.errors.OpError, or the UnicodeDecodeError of its message, which quotes a row.
    """
    if isinstance(error, UnicodeDecodeError):
        return "a row cannot be read"
    asserted = re.search(r"assertion failed: \[(.*?)\]", error.message)
    message = asserted.group(1) if asserted else error.message
    return " ".join(message.split())[:_MAX_MESSAGE]


def to_python(value: Any) -> Any:
    """Returns an output as plain Python: bytes as str, arrays as lists, scalars as numbers.

    Args:
        value: an element of an output of ServingSession.run, of any shape.
    """
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [to_python(part) for part in value]
    if isinstance(value, np.float32):
        # As float64, 0.1 would have the digits 0.10000000149011612.
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value
