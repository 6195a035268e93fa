"""Computes the values inside an Estimator's graph that are compared with those of Keras layers."""

import re
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from ..read.rows import Rows
from .estimator_side import make_dataset
from .layers import Tap

__all__ = ["compute_layers"]

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_PART = re.compile(r"/part_\d+$")
# Of the operation that adds up the columns of a linear model; one column alone is not added.
_SUM = "weighted_sum_no_bias"


def compute_layers(
    built: Any, checkpoint: str, rows: Rows, sparse: Container[str], taps: Iterable[Tap]
) -> dict[str, np.ndarray]:
    """Returns key of a tap -> array [rows, ...]; without those that the graph does not show.

    Args:
      built: the Estimator.
      checkpoint: prefix of the checkpoint.
      rows: the rows, which are one batch.
      sparse: names of the features fed as SparseTensors.
      taps: the places.
    """
    from estimator_bridge import tf

    def input_fn() -> Any:
        dataset, restore = make_dataset(tf, rows, sparse, with_labels=False)
        return dataset.batch(len(rows)).map(restore)

    class Fetch(tf.compat.v1.train.SessionRunHook):
        """Keeps the values of the places in the last run."""

        values: dict[str, np.ndarray] = {}

        def begin(self) -> None:
            self._tensors = _find_tensors(tf.compat.v1.get_default_graph(), taps)

        def before_run(self, run_context: Any) -> Any:
            return tf.compat.v1.train.SessionRunArgs(self._tensors)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.values = run_values.results

    hook = Fetch()
    predictions = built.predict(
        input_fn, hooks=[hook], checkpoint_path=checkpoint, yield_single_examples=False
    )
    for _ in predictions:
        break
    return hook.values


def _find_tensors(graph: Any, taps: Iterable[Tap]) -> dict[str, Any]:
    operations = graph.get_operations()
    products = [one for one in operations if one.type == "MatMul"]
    kernels = [(one, _variables_of(one.inputs[1])) for one in products]
    sums = [one for one in operations if one.name.rsplit("/", 1)[-1] == _SUM]
    terms = [(term, _variables_of(term)) for one in sums[:1] for term in one.inputs]
    found = {}
    for tap in taps:
        if tap.take == "sum":
            tensor = _with_bias(sums[0].outputs[0]) if sums else None
        elif tap.take == "term":
            tensor = next((one for one, names in terms if _reads(names, tap.names)), None)
        else:
            product = next((one for one, names in kernels if _reads(names, tap.names)), None)
            tensor = product and (
                product.inputs[0] if tap.take == "input" else _with_bias(product.outputs[0])
            )
        if tensor is not None:
            found[tap.key] = tensor
    return found


def _reads(variables: Iterable[str], endings: Iterable[str]) -> bool:
    return any(name.endswith(ending) for name in variables for ending in endings)


def _with_bias(tensor: Any) -> Any:
    """Returns the sum of a tensor and a bias; the tensor itself without one."""
    for user in tensor.consumers():
        if user.type in ("BiasAdd", "Add", "AddV2"):
            return user.outputs[0]
    return tensor


def _variables_of(tensor: Any) -> set[str]:
    """Returns the names of the variables from which a tensor is computed."""
    found: set[str] = set()
    waiting, seen = [tensor.op], set()
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if operation.type in _VARIABLES:
            found.add(_PART.sub("", operation.name))
        waiting += [one.op for one in operation.inputs]
    return found
