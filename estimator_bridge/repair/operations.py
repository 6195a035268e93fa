"""Which operations are replaced, and by what: those whose mathematics is known exactly."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from ..errors import BridgeError
from .bodies import Body, bodies, constant, empty_node, parse_input, replace
from .buckets import compute_bucketize
from .contrib import make_compute
from .contrib_proof import prove_beams, prove_crosses, prove_input_boundaries
from .proof import prove_buckets, prove_trees
from .trees import Stored, Trees

__all__ = ["REPLACED", "Repair"]

_ENSEMBLE = "BoostedTreesEnsembleResourceHandleOp"
_QUANTILES = "BoostedTreesQuantileStreamResourceHandleOp"
_SET_ENSEMBLE = "BoostedTreesDeserializeEnsemble"
_SET_QUANTILES = "BoostedTreesQuantileStreamResourceDeserialize"
# What makes the resources and fills them: with constants there is nothing to do.
_FILLING = (
    "BoostedTreesCreateEnsemble",
    "BoostedTreesCreateQuantileStreamResource",
    _SET_ENSEMBLE,
    _SET_QUANTILES,
)


class Repair:
    """Replaces operations in a graph and in its functions.

    Args:
      graph: the GraphDef; changed.
      folder: the folder of its SavedModel, which has the values of resources, or None.

    Attributes:
      changes: what was replaced → how often.
      findings: what was proved, one line each.
      gone: names of nodes that no longer have outputs.
    """

    def __init__(self, graph: Any, folder: Optional[Path]):
        self._graph = graph
        self._folder = folder
        self.changes: Counter[str] = Counter()
        self.findings: list[str] = []
        self.gone: set[str] = set()

    def run(self) -> None:
        """Replaces all that can be replaced.

        Raises:
          BridgeError: a replacement does not compute the same, or values are missing.
        """
        for body in list(bodies(self._graph)):
            stored = Stored(body, self._folder)
            present = [node for node in body.nodes if node.op in REPLACED]
            for node in present:
                compute = _COMPUTING.get(node.op)
                if compute is not None:
                    self.changes[f"{node.op} replaced by standard operations"] += 1
                    compute(self, body, node, stored)
            for op in (*_FILLING, _ENSEMBLE, _QUANTILES):
                for node in present:
                    if node.op == op:
                        self._empty(body, node)

    def _empty(self, body: Body, node: Any) -> None:
        for other in body.nodes:
            data = [parse_input(name)[0] for name in other.input if not name.startswith("^")]
            if node.name in data:
                raise BridgeError(
                    f"{other.op} (node {other.name}{body.where}) has no equivalent; export the "
                    "model for serving, without what trains it"
                )
        self.changes[f"{node.op} removed: its values are constants"] += 1
        self.gone.add(node.name)
        empty_node(node)

    def _bucketize(self, body: Body, node: Any, stored: Stored) -> None:
        del stored
        inputs = _data(node)
        edges = [constant(body.find(name)) for name in inputs[len(inputs) // 2 :]]
        traced = replace(body, node, inputs, compute_bucketize)
        compared = prove_buckets(traced, edges, _where(body, node))
        self.findings.append(f"{_where(body, node)}: {compared} values, equal bit by bit")

    def _bucketize_by_input(self, body: Body, node: Any, stored: Stored) -> None:
        del stored
        where, inputs = _where(body, node), _data(node)
        original = _copy(node)
        traced = replace(body, node, inputs, make_compute(original))
        edges = constant(body.find(inputs[1]))
        compared = prove_input_boundaries(traced, original, edges, where)
        self.findings.append(f"{where}: {compared} values, equal bit by bit")

    def _gather_tree(self, body: Body, node: Any, stored: Stored) -> None:
        del stored
        where = _where(body, node)
        compared = prove_beams(replace(body, node, _data(node), make_compute(node)), where)
        self.findings.append(f"{where}: {compared} tokens, equal bit by bit")

    def _cross(self, body: Body, node: Any, stored: Stored) -> None:
        del stored
        where, original = _where(body, node), _copy(node)
        traced = replace(body, node, _data(node), make_compute(original))
        compared = prove_crosses(traced, original, where)
        self.findings.append(f"{where}: {compared} combinations, equal bit by bit")

    def _predict(self, body: Body, node: Any, stored: Stored) -> None:
        handle, *buckets = _data(node)
        _, serialized = stored.read(_SET_ENSEMBLE, parse_input(handle)[0])
        trees = Trees(serialized, node.attr["logits_dimension"].i)
        traced = replace(body, node, buckets, trees.make_compute())
        compared = prove_trees(traced, trees, len(buckets), _where(body, node))
        size = len(trees.ensemble.trees)
        self.findings.append(
            f"{_where(body, node)}: {compared} rows through {size} trees, equal bit by bit"
        )

    def _boundaries(self, body: Body, node: Any, stored: Stored) -> None:
        (handle,) = _data(node)
        values = stored.read(_SET_QUANTILES, parse_input(handle)[0])
        _return(body, node, values[: node.attr["num_features"].i])

    def _serialize(self, body: Body, node: Any, stored: Stored) -> None:
        (handle,) = _data(node)
        _return(body, node, stored.read(_SET_ENSEMBLE, parse_input(handle)[0]))

    def _initialized(self, body: Body, node: Any, stored: Stored) -> None:
        del stored
        _return(body, node, [True])


_COMPUTING: dict[str, Callable[[Repair, Body, Any, Stored], None]] = {
    "BoostedTreesBucketize": Repair._bucketize,
    "BoostedTreesPredict": Repair._predict,
    "BucketizeWithInputBoundaries": Repair._bucketize_by_input,
    "GatherTree": Repair._gather_tree,
    "SparseFeatureCross": Repair._cross,
    "SparseFeatureCrossV2": Repair._cross,
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries": Repair._boundaries,
    "BoostedTreesSerializeEnsemble": Repair._serialize,
    "IsBoostedTreesEnsembleInitialized": Repair._initialized,
    "IsBoostedTreesQuantileStreamResourceInitialized": Repair._initialized,
}
REPLACED = {*_COMPUTING, *_FILLING, _ENSEMBLE, _QUANTILES}


def _data(node: Any) -> list[str]:
    return [name for name in node.input if not name.startswith("^")]


def _copy(node: Any) -> Any:
    """Returns a copy of a node, which keeps what the node was."""
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def _where(body: Body, node: Any) -> str:
    return f"node {node.name}{body.where}"


def _return(body: Body, node: Any, values: list[Any]) -> None:
    """Makes a node give constants."""

    def compute() -> list[Any]:
        import tensorflow as tf

        return [tf.constant(value) for value in values]

    replace(body, node, [], compute)
