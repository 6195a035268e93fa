"""Finds the TensorFlow versions that can load an export, from its operations or by loading it."""

from pathlib import Path
from typing import Optional

from estimator_bridge.downgrade import files, operations, proof
from estimator_bridge.errors import BridgeError
from trainer.errors import UserError


def find_oldest(export: str) -> Optional[str]:
    """Returns the oldest TensorFlow that has all operations of an export, such as "2.4".

    Args:
        export: folder of the export.

    Returns:
        The version; None if the export has custom operations, or operations of a TensorFlow that is
        newer than the table of operations.
    """
    used = set()
    for meta_graph in files.read(export).meta_graphs():
        graph = meta_graph.graph_def
        own = {one.signature.name for one in graph.library.function}
        bodies = [graph.node, *(one.node_def for one in graph.library.function)]
        used |= {node.op for nodes in bodies for node in nodes} - own
    oldest = None
    for version in reversed(operations.known_versions()):
        known = operations.find(version)
        if any(known.definition(name) is None for name in used):
            break
        oldest = version
    return oldest


def find_python(python: str) -> str:
    """Returns the absolute path of a Python that has TensorFlow.

    Args:
        python: a path, or a name on PATH.

    Raises:
        UserError: the program does not exist, or has no TensorFlow.
    """
    try:
        return proof.find_interpreter(python, None)
    except BridgeError as error:
        raise UserError(f"{error}; name the Python of an environment with TensorFlow") from error


def load_elsewhere(export: str, python: str) -> tuple[list[str], Optional[str]]:
    """Loads an export in another environment, and compares the outputs of every signature.

    Args:
        export: folder of the export.
        python: path that `find_python` returned.

    Returns:
        A line for each comparison; and the failure, or None.
    """
    try:
        original = files.read(export)
        return proof.prove(original, Path(export), python, proof.make_requests(original)), None
    except BridgeError as error:
        return [], " ".join(str(error).split())
