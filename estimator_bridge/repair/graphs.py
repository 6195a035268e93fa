"""Frozen graphs and TF-Hub 1.x modules become SavedModels with signatures."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from ..downgrade.proof import Signature, decode
from ..errors import BridgeError

__all__ = [
    "HUB_FILE",
    "Answer",
    "Source",
    "answer",
    "compare_answers",
    "open_frozen",
    "open_module",
    "write",
]

# The file by which a TF-Hub 1.x module is known.
HUB_FILE = "tfhub_module.pb"
_DEFAULT = "serving_default"
_ASSETS = "saved_model_assets"
_TABLE_INITIALIZERS = {
    "InitializeTable",
    "InitializeTableV2",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "LookupTableImport",
    "LookupTableImportV2",
}
# Operations whose outputs nobody asks for.
_NO_RESULT = {"Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "Assert"}


class Source(NamedTuple):
    """A graph in a session, with its values restored.

    Attributes:
      session: the session.
      signatures: name → SignatureDef.
    """

    session: Any
    signatures: dict[str, Any]


class Answer(NamedTuple):
    """What a signature answers to made-up rows.

    Attributes:
      attempt: the rows.
      outputs: output → array; none if they were refused.
      error: why they were refused; "" if they were not.
    """

    attempt: Any
    outputs: dict[str, np.ndarray]
    error: str


def _v1() -> Any:
    import tensorflow as tf

    return tf.compat.v1


@contextlib.contextmanager
def open_frozen(graph: Any, inputs: Optional[str], outputs: Optional[str]) -> Iterator[Source]:
    """Opens a graph whose variables are constants.

    Args:
      graph: the GraphDef.
      inputs: tensors to feed, "x:0,key=y:0"; None: all placeholders.
      outputs: tensors to compute; None: what no other operation reads.

    Raises:
      BridgeError: a tensor does not exist, or there is none.
    """
    v1 = _v1()
    with v1.Graph().as_default() as built, v1.Session() as session:
        try:
            v1.import_graph_def(graph, name="")
        except ValueError as error:
            raise BridgeError(" ".join(str(error).split())) from error
        operations = built.get_operations()
        for op in operations:
            if op.type in _TABLE_INITIALIZERS:
                v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, op)
        given = [op.outputs[0] for op in operations if op.type == "Placeholder"]
        read = {name.op.name for op in operations for name in (*op.inputs,)}
        results = [
            tensor
            for op in operations
            if op.name not in read and op.type not in _NO_RESULT
            for tensor in op.outputs
        ]
        signature = v1.saved_model.predict_signature_def(
            _choose(built, inputs, given, "--inputs"), _choose(built, outputs, results, "--outputs")
        )
        session.run(v1.tables_initializer())
        yield Source(session, {_DEFAULT: signature})


def _choose(graph: Any, text: Optional[str], found: list[Any], option: str) -> dict[str, Any]:
    """Returns the tensors of an option, or those found, by their keys in the signature."""
    if text is None:
        if not found:
            raise BridgeError(f"the graph has no such tensors by itself; name them with {option}")
        return {_key(one.name): one for one in found}
    chosen = {}
    for part in text.split(","):
        key, _, name = part.rpartition("=")
        try:
            tensor = graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
        except (KeyError, ValueError):
            raise BridgeError(f"{option}={text}: the graph has no tensor {name}") from None
        chosen[key or _key(tensor.name)] = tensor
    return chosen


def _key(name: str) -> str:
    """Returns the key of a tensor: "scores" of "scores:0", "scores_1" of "scores:1"."""
    node, _, number = name.partition(":")
    return node if number == "0" else f"{node}_{number}"


@contextlib.contextmanager
def open_module(meta_graph: Any, folder: Path) -> Iterator[Source]:
    """Opens a TF-Hub 1.x module.

    Args:
      meta_graph: the MetaGraphDef of the module that is not for training.
      folder: the module's folder, with its variables and assets.
    """
    v1 = _v1()
    _set_asset_paths(meta_graph, folder / "assets")
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(meta_graph)
        variables = v1.global_variables()
        if variables:
            v1.train.Saver(variables).restore(session, str(folder / "variables" / "variables"))
        session.run(v1.tables_initializer())
        signatures = {}
        for name, signature in meta_graph.signature_def.items():
            copied = type(signature)()
            copied.CopyFrom(signature)
            copied.method_name = v1.saved_model.signature_constants.PREDICT_METHOD_NAME
            signatures[name] = copied
        if "default" in signatures:
            signatures[_DEFAULT] = signatures["default"]
        yield Source(session, signatures)


def _set_asset_paths(meta_graph: Any, folder: Path) -> None:
    """Sets the constants with the names of a module's files."""
    from tensorflow.core.protobuf import meta_graph_pb2

    nodes = {node.name: node for node in meta_graph.graph_def.node}
    for packed in meta_graph.collection_def[_ASSETS].any_list.value:
        asset = meta_graph_pb2.AssetFileDef()
        packed.Unpack(asset)
        node = nodes.get(asset.tensor_info.name.partition(":")[0])
        if node is not None and node.op == "Const":
            node.attr["value"].tensor.ClearField("string_val")
            node.attr["value"].tensor.string_val.append(str(folder / asset.filename).encode())
    # The new export lists its own.
    del meta_graph.collection_def[_ASSETS]


def write(source: Source, folder: Path) -> None:
    """Writes a SavedModel.

    Args:
      source: the graph.
      folder: its folder, which must not exist.
    """
    v1 = _v1()
    builder = v1.saved_model.Builder(str(folder))
    builder.add_meta_graph_and_variables(
        source.session,
        ["serve"],
        source.signatures,
        assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS) or None,
        main_op=v1.tables_initializer(),
        strip_default_attrs=True,
    )
    builder.save()


def answer(path: Path, requests: list[Signature]) -> dict[str, Answer]:
    """Loads a SavedModel and asks each signature, until an attempt is answered.

    Args:
      path: its folder.
      requests: signatures with attempts, of `downgrade.proof.make_requests`.

    Returns:
      Signature → the last attempt and its answer.
    """
    v1 = _v1()
    answers = {}
    tags = {tuple(one["tags"]) for signature in requests for one in signature.attempts}
    for these in sorted(tags):
        with v1.Graph().as_default(), v1.Session() as session:
            loaded = v1.saved_model.loader.load(session, list(these), str(path))
            for name, attempts in requests:
                for attempt in (one for one in attempts if tuple(one["tags"]) == these):
                    answers[name] = _ask(session, loaded.signature_def[name], attempt)
                    if not answers[name].error:
                        break
    return answers


def _ask(session: Any, signature: Any, attempt: Any) -> Answer:
    import tensorflow as tf

    feed = {signature.inputs[key].name: decode(one) for key, one in attempt["inputs"].items()}
    names = {
        key: info.name
        for key, info in signature.outputs.items()
        if info.WhichOneof("encoding") == "name"
    }
    try:
        return Answer(attempt, session.run(names, feed), "")
    except (tf.errors.OpError, ValueError) as error:
        return Answer(attempt, {}, " ".join(str(error).split())[:300])


def compare_answers(source: Source, answers: dict[str, Answer]) -> list[str]:
    """Compares what the source and the written SavedModel answer.

    Args:
      source: the graph.
      answers: of the written SavedModel, from `answer`.

    Returns:
      What was compared, one line for each signature.

    Raises:
      BridgeError: an answer differs.
    """
    findings = []
    for name, signature in sorted(source.signatures.items()):
        keys = f"inputs {', '.join(sorted(signature.inputs))}; outputs " + ", ".join(
            sorted(signature.outputs)
        )
        theirs = answers.get(name)
        if theirs is None or theirs.error:
            findings.append(f"signature {name}: {keys}; not compared; it answers no made-up rows")
            continue
        ours = _ask(source.session, signature, theirs.attempt)
        for key, wanted in ours.outputs.items():
            if not _same(wanted, theirs.outputs[key]):
                raise BridgeError(f"signature {name}: output {key} differs; nothing is written")
        findings.append(f"signature {name}: {keys}; equal bit by bit")
    return findings


def _same(wanted: np.ndarray, found: np.ndarray) -> bool:
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        return False
    if wanted.dtype == object:
        return bool(wanted.tolist() == found.tolist())
    return wanted.tobytes() == found.tobytes()
