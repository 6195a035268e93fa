"""Changes of what is unsafe, slow or noisy in the code of every TensorFlow."""

from . import zero_shares


def prepare() -> None:
    """Makes the changes that precede the import of the Estimators' modules."""
    zero_shares.apply()


def apply() -> None:
    """Applies the changes to the TensorFlow that has been imported."""
    from . import (
        aborted_collectives,
        array_inputs,
        checkpoint_steps,
        exported_functions,
        freed_graphs,
        freed_memory,
        generated_code,
        graph_construction,
        graph_optimizers,
        idle_threads,
        input_queues,
        literal_folders,
        message_text,
        new_operations,
        numpy_version,
        open_predictions,
        remembered_fetches,
        resuming,
        row_batches,
        signature_check,
        thread_states,
        weights_check,
    )

    array_inputs.apply()
    input_queues.apply()
    generated_code.apply()
    graph_construction.apply()
    new_operations.apply()
    message_text.apply()
    resuming.apply()
    literal_folders.apply()
    checkpoint_steps.apply()
    signature_check.apply()
    weights_check.apply()
    open_predictions.apply()
    row_batches.apply()
    numpy_version.apply()
    remembered_fetches.apply()
    thread_states.apply()
    exported_functions.apply()
    idle_threads.apply()
    graph_optimizers.apply()
    freed_memory.apply()
    freed_graphs.apply()
    aborted_collectives.apply()
