"""`tf.contrib.training`."""

import tensorflow.compat.v1 as _tf

from estimator_bridge.private_tf import estimator_feeding_queue_runner as _feeding_queue_runner
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.training import bucketing as _bucketing
from estimator_bridge.tf1.contrib.training import evaluation as _evaluation
from estimator_bridge.tf1.contrib.training import hparam as _hparam
from estimator_bridge.tf1.contrib.training import loop as _loop
from estimator_bridge.tf1.contrib.training import placement as _placement
from estimator_bridge.tf1.contrib.training import resampling as _resampling
from estimator_bridge.tf1.contrib.training import sampling as _sampling
from estimator_bridge.tf1.contrib.training import state_saver as _state_saver

__getattr__, _advice_for = _unsupported_names(
    globals(), {"python_input": "use tf.data.Dataset.from_generator"}
)

FeedingQueueRunner = _feeding_queue_runner._FeedingQueueRunner

HParams = _hparam.HParams
parse_values = _hparam.parse_values

bucket = _bucketing.bucket
bucket_by_sequence_length = _bucketing.bucket_by_sequence_length

GreedyLoadBalancingStrategy = _placement.GreedyLoadBalancingStrategy
RandomStrategy = _placement.RandomStrategy
byte_size_load_fn = _placement.byte_size_load_fn

NextQueuedSequenceBatch = _state_saver.NextQueuedSequenceBatch
SequenceQueueingStateSaver = _state_saver.SequenceQueueingStateSaver
batch_sequences_with_states = _state_saver.batch_sequences_with_states

StopAfterNEvalsHook = _evaluation.StopAfterNEvalsHook
SummaryAtEndHook = _evaluation.SummaryAtEndHook
checkpoints_iterator = _tf.train.checkpoints_iterator
evaluate_once = _evaluation.evaluate_once
evaluate_repeatedly = _evaluation.evaluate_repeatedly
get_or_create_eval_step = _evaluation.get_or_create_eval_step
wait_for_new_checkpoint = _evaluation.wait_for_new_checkpoint

rejection_sample = _resampling.rejection_sample
resample_at_rate = _resampling.resample_at_rate
weighted_resample = _resampling.weighted_resample
stratified_sample = _sampling.stratified_sample

add_gradients_summaries = _loop.add_gradients_summaries
clip_gradient_norms = _loop.clip_gradient_norms
clip_gradient_norms_fn = _loop.clip_gradient_norms_fn
create_train_op = _loop.create_train_op
multiply_gradients = _loop.multiply_gradients
train = _loop.train
