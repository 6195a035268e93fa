"""Checks the signatures of an export in linear time. Quadratic in all TensorFlow versions.

Before an export is written, TensorFlow looks for placeholders on which the outputs of a signature
depend and which are not among its inputs. For each operation that it meets, it searches a list of
those before: with 500 columns and three receivers, this takes five of eight seconds.
"""

from typing import Any

from ..private_tf import nest, saved_model_export_utils

__all__ = ["apply"]


def apply() -> None:
    """Has TensorFlow's own check run only where it would find something."""
    original = saved_model_export_utils._ensure_servable
    if getattr(original, "_bridged", False):
        return

    def _ensure_servable(input_tensors: Any, names_to_output_tensor_infos: Any) -> None:
        inputs = nest.flatten(input_tensors, expand_composites=True)
        if not _is_servable(inputs, names_to_output_tensor_infos.values()):
            original(input_tensors, names_to_output_tensor_infos)

    vars(_ensure_servable)["_bridged"] = True
    saved_model_export_utils._ensure_servable = _ensure_servable


def _is_servable(inputs: list[Any], infos: Any) -> bool:
    """Returns whether the outputs depend on no placeholders but the inputs.

    Args:
      inputs: tensors, at least one.
      infos: TensorInfo of the outputs.
    """
    find = saved_model_export_utils.utils.get_tensor_from_tensor_info
    outputs = nest.flatten(
        [find(info, graph=inputs[0].graph) for info in infos], expand_composites=True
    )
    fed = {id(tensor) for tensor in inputs}
    pending = [tensor.op for tensor in outputs]
    seen = {id(op) for op in pending}
    while pending:
        op = pending.pop()
        if saved_model_export_utils._must_be_fed(op) and any(
            id(tensor) not in fed for tensor in op.outputs
        ):
            return False
        for tensor in op.inputs:
            if id(tensor) not in fed and id(tensor.op) not in seen:
                seen.add(id(tensor.op))
                pending.append(tensor.op)
    return True
