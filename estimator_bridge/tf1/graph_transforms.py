"""`tensorflow.tools.graph_transforms`, whose transforms TensorFlow 2 does not contain."""

from typing import Any, NoReturn

from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = ["TransformGraph"]


def TransformGraph(  # noqa: N802 - its name in 1.x
    input_graph_def: Any, inputs: Any, outputs: Any, transforms: Any
) -> NoReturn:
    """Raises NotSuppliedError, which names what to use instead.

    Args:
      input_graph_def: not used.
      inputs: not used.
      outputs: not used.
      transforms: not used.
    """
    raise NotSuppliedError(
        advise(
            "tensorflow.tools.graph_transforms.TransformGraph",
            "for strip_unused_nodes use tf.graph_util.extract_sub_graph, for remove_nodes "
            "tf.graph_util.remove_training_nodes, for quantize_weights tf.lite.TFLiteConverter; "
            "TensorFlow folds constants and batch normalization itself when it loads a graph",
        )
    )
