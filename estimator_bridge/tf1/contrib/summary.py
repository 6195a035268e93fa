"""`tf.contrib.summary`: summaries that write themselves when they run, in graph mode."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import summary_ops_v2 as _ops
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), {"create_db_writer": "use create_file_writer; TensorBoard reads no database"}
)

SummaryWriter = _ops.SummaryWriter
all_summary_ops = _ops.all_v2_summary_ops
always_record_summaries = _ops.always_record_summaries
audio = _ops.audio
create_file_writer = _ops.create_file_writer
create_summary_file_writer = _ops.create_file_writer
eval_dir = _ops.eval_dir
flush = _ops.flush
generic = _ops.generic
graph = _ops.graph_v1
histogram = _ops.histogram
image = _ops.image
import_event = _ops.import_event
initialize = _ops.initialize
never_record_summaries = _ops.never_record_summaries
record_summaries_every_n_global_steps = _ops.record_summaries_every_n_global_steps
scalar = _ops.scalar
summary_writer_initializer_op = _ops.summary_writer_initializer_op


def should_record_summaries():
    """Returns a bool tensor: whether summaries are recorded here, with or without a writer."""
    recording = _ops._summary_state.is_recording
    recording = recording() if callable(recording) else recording
    return tf.convert_to_tensor(False if recording is None else recording)
