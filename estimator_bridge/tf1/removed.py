"""Names of TensorFlow 0.x that 1.0 removed, each as what replaced it under its old name.

Programs that were brought to 1.x by hand keep some of them in branches that they seldom take.
"""

from typing import Any

__all__ = ["install"]

_SUMMARIES = (
    "audio_summary",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "merge_summary",
    "scalar_summary",
)

# Package of tf.compat.v1 ("" for itself) -> old name -> path of the present name below it.
_RENAMED = {
    "": {
        "batch_matrix_diag": "matrix_diag",
        "batch_matrix_inverse": "matrix_inverse",
        "batch_matrix_solve": "matrix_solve",
        "batch_matrix_transpose": "matrix_transpose",
        "complex_abs": "abs",
        "inv": "reciprocal",
        "listdiff": "setdiff1d",
        "mul": "multiply",
        "neg": "negative",
        "pack": "stack",
        "select": "where",
        "sub": "subtract",
        "unpack": "unstack",
    },
    "nn": {"bidirectional_rnn": "static_bidirectional_rnn", "rnn": "static_rnn"},
    "train": {"SummaryWriter": "v1.summary.FileWriter"},
}


def install(v1: Any, view: Any) -> None:
    """Sets the names that TensorFlow lacks.

    Args:
      v1: `tf.compat.v1`.
      view: the module that programs get.
    """
    from estimator_bridge.tf1.contrib import deprecated

    for name in _SUMMARIES:
        setattr(view, name, getattr(deprecated, name))
    view.batch_matmul = lambda x, y, adj_x=False, adj_y=False, name=None: v1.matmul(
        x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name
    )
    for name, present in _RENAMED[""].items():
        setattr(view, name, getattr(v1, present))
    for package in ("nn", "train"):
        owner = getattr(v1, package)
        for name, present in _RENAMED[package].items():
            is_elsewhere = present.startswith("v1.")
            home = getattr(v1, present.split(".")[1]) if is_elsewhere else owner
            setattr(owner, name, getattr(home, present.rpartition(".")[2]))
