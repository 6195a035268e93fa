"""`tf.contrib.training`."""

import tensorflow.compat.v1 as _tf

from estimator_bridge.tf1.contrib.package import lookup as _lookup
from estimator_bridge.tf1.contrib.training import bucketing, evaluation, hparam, loop, placement

_DATASETS = "use tf.data (rejection_resample, sample_from_datasets)"

__getattr__, _advice_for = _lookup(
    globals(),
    {
        "batch_sequences_with_states": "use tf.nn.dynamic_rnn on whole sequences",
        "python_input": "use tf.data.Dataset.from_generator",
        "rejection_sample": _DATASETS,
        "resample_at_rate": _DATASETS,
        "stratified_sample": _DATASETS,
        "weighted_resample": _DATASETS,
    },
)

HParams = hparam.HParams
parse_values = hparam.parse_values

bucket = bucketing.bucket
bucket_by_sequence_length = bucketing.bucket_by_sequence_length

GreedyLoadBalancingStrategy = placement.GreedyLoadBalancingStrategy
RandomStrategy = placement.RandomStrategy
byte_size_load_fn = placement.byte_size_load_fn

StopAfterNEvalsHook = evaluation.StopAfterNEvalsHook
SummaryAtEndHook = evaluation.SummaryAtEndHook
checkpoints_iterator = _tf.train.checkpoints_iterator
evaluate_once = evaluation.evaluate_once
evaluate_repeatedly = evaluation.evaluate_repeatedly
get_or_create_eval_step = evaluation.get_or_create_eval_step
wait_for_new_checkpoint = evaluation.wait_for_new_checkpoint

add_gradients_summaries = loop.add_gradients_summaries
clip_gradient_norms = loop.clip_gradient_norms
clip_gradient_norms_fn = loop.clip_gradient_norms_fn
create_train_op = loop.create_train_op
multiply_gradients = loop.multiply_gradients
train = loop.train
