"""Changes of what is unsafe, slow or noisy in the code of every TensorFlow."""

from . import zero_shares


def prepare() -> None:
    """Makes the changes that precede the import of the Estimators' modules."""
    zero_shares.apply()


def apply() -> None:
    """Applies the changes to the TensorFlow that has been imported."""
    from . import (
        graph_construction,
        message_text,
        open_predictions,
        resuming,
        row_batches,
        signature_check,
        weights_check,
    )

    graph_construction.apply()
    message_text.apply()
    resuming.apply()
    signature_check.apply()
    weights_check.apply()
    open_predictions.apply()
    row_batches.apply()
