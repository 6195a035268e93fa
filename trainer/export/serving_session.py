"""An export in a session, as TensorFlow Serving has it.

tf.saved_model.load makes a function of each signature, which takes seconds of which no answer has
any use; a session takes the graph as it stands.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import estimator_bridge as bridge
from trainer.errors import UserError


class Signature(NamedTuple):
    """A question that an export answers.

    Attributes:
        inputs: name → dtype of what it is asked with.
        outputs: names of what it answers.
        feeds, fetches: name → name of the tensor in the graph.
    """

    inputs: dict[str, Any]
    outputs: list[str]
    feeds: dict[str, str]
    fetches: dict[str, str]


class ServingSession:
    """An export, loaded once and asked as often as wanted; as a context manager, closed at the end.

    Args:
        path: a SavedModel's folder.
        optimize: whether it is worth optimising the graph for the first question, and a GPU,
            which another process may have all of.

    Attributes:
        path: as given.
        signatures: by name.

    Raises:
        UserError: there is no SavedModel, or none that this TensorFlow can load.
    """

    def __init__(self, path: str, optimize: bool = True):
        tf = bridge.tf
        if not (Path(path) / "saved_model.pb").is_file():
            raise UserError(f"export {path}: no saved_model.pb there; name an export's own folder")
        self.path = path
        config = tf.compat.v1.ConfigProto()
        if not optimize:
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            config.device_count["GPU"] = 0
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        with self._session.graph.as_default():
            try:
                loaded = tf.compat.v1.saved_model.load(
                    self._session, [tf.saved_model.SERVING], path
                )
            except (tf.errors.OpError, OSError, ValueError, RuntimeError) as error:
                self._session.close()
                told = " ".join(str(error).split())
                raise UserError(f"export {path}: cannot be loaded: {told[:200]}") from error
        self.signatures = {
            name: Signature(
                {each: tf.as_dtype(info.dtype) for each, info in sorted(found.inputs.items())},
                sorted(found.outputs),
                {each: info.name for each, info in found.inputs.items()},
                {each: info.name for each, info in found.outputs.items()},
            )
            for name, found in loaded.signature_def.items()
            # What TensorFlow keeps for itself answers no question.
            if not name.startswith("__")
        }

    def find_signature(self, output: str, receiver: str) -> str:
        """Name of the signature with this output (predict, ...) for this input (example, ...).

        Raises:
            UserError: the export has none.
        """
        wanted = {"example": "examples", "csv": "csv"}.get(receiver)
        for name, signature in self.signatures.items():
            if name.rpartition(":")[2] != output:
                continue
            given = set(signature.inputs)
            if (given == {wanted}) if wanted else not given & {"examples", "csv"}:
                return name
        raise UserError(
            f"export {self.path}: no signature {output} for {receiver} "
            f"(there are {', '.join(sorted(self.signatures))})"
        )

    def run(self, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Asks one signature.

        Args:
            name: of the signature.
            inputs: name → array; texts are objects, str or bytes.

        Returns:
            output name → array; texts are bytes.

        Raises:
            tf.errors.OpError: the graph fails on these inputs.
        """
        signature = self.signatures[name]
        feeds = {signature.feeds[each]: values for each, values in inputs.items()}
        return self._session.run(signature.fetches, feeds)

    def close(self) -> None:
        """Gives its memory back; it cannot be asked any more."""
        self._session.close()

    def __enter__(self) -> "ServingSession":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def describe_error(error: Any) -> str:
    """What an error of TensorFlow in an export's graph says, on one line."""
    asserted = re.search(r"assertion failed: \[(.*?)\]", error.message)
    words = asserted.group(1) if asserted else error.message
    return " ".join(words.split())[:200]


def to_python(value: Any) -> Any:
    """An output as plain Python: bytes as text, arrays as lists."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [to_python(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
