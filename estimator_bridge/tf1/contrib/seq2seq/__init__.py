"""`tf.contrib.seq2seq`."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.seq2seq import attending_cell as _attending_cell
from estimator_bridge.tf1.contrib.seq2seq import attention as _attention
from estimator_bridge.tf1.contrib.seq2seq import beam_search as _beam_search
from estimator_bridge.tf1.contrib.seq2seq import decoder as _decoder
from estimator_bridge.tf1.contrib.seq2seq import helpers as _helpers
from estimator_bridge.tf1.contrib.seq2seq import loss as _loss
from estimator_bridge.tf1.contrib.seq2seq import monotonic as _monotonic
from estimator_bridge.tf1.contrib.seq2seq import sampling_helpers as _sampling_helpers

__getattr__, _advice_for = _unsupported_names(globals())

AttentionMechanism = _attention.AttentionMechanism
AttentionWrapper = _attending_cell.AttentionWrapper
AttentionWrapperState = _attending_cell.AttentionWrapperState
BahdanauAttention = _attention.BahdanauAttention
LuongAttention = _attention.LuongAttention
hardmax = _attention.hardmax

# Private in 1.x, but imported by custom attention mechanisms.
_BaseAttentionMechanism = _attention.BaseAttentionMechanism
_bahdanau_score = _attention.bahdanau_score
_luong_score = _attention.luong_score
_maybe_mask_score = _attention.maybe_mask_score

BahdanauMonotonicAttention = _monotonic.BahdanauMonotonicAttention
LuongMonotonicAttention = _monotonic.LuongMonotonicAttention
_monotonic_probability_fn = _monotonic.monotonic_probability_fn
monotonic_attention = _monotonic.monotonic_attention
safe_cumprod = _monotonic.safe_cumprod

BeamSearchDecoder = _beam_search.BeamSearchDecoder
BeamSearchDecoderOutput = _beam_search.BeamSearchDecoderOutput
BeamSearchDecoderState = _beam_search.BeamSearchDecoderState
FinalBeamSearchDecoderOutput = _beam_search.FinalBeamSearchDecoderOutput
gather_tree = _beam_search.gather_tree
tile_batch = _beam_search.tile_batch

BasicDecoder = _decoder.BasicDecoder
BasicDecoderOutput = _decoder.BasicDecoderOutput
Decoder = _decoder.Decoder
dynamic_decode = _decoder.dynamic_decode

CustomHelper = _helpers.CustomHelper
GreedyEmbeddingHelper = _sampling_helpers.GreedyEmbeddingHelper
Helper = _helpers.Helper
InferenceHelper = _sampling_helpers.InferenceHelper
SampleEmbeddingHelper = _sampling_helpers.SampleEmbeddingHelper
ScheduledEmbeddingTrainingHelper = _helpers.ScheduledEmbeddingTrainingHelper
ScheduledOutputTrainingHelper = _helpers.ScheduledOutputTrainingHelper
TrainingHelper = _helpers.TrainingHelper

sequence_loss = _loss.sequence_loss
