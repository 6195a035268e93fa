"""`tf.contrib.seq2seq`."""

from estimator_bridge.tf1.contrib.package import lookup as _lookup
from estimator_bridge.tf1.contrib.seq2seq import (
    attention,
    beam_search,
    decoder,
    helpers,
    loss,
    monotonic,
)

__getattr__, _advice_for = _lookup(globals())

AttentionMechanism = attention.AttentionMechanism
AttentionWrapper = attention.AttentionWrapper
AttentionWrapperState = attention.AttentionWrapperState
BahdanauAttention = attention.BahdanauAttention
LuongAttention = attention.LuongAttention
hardmax = attention.hardmax

# Private, and imported by mechanisms that people wrote.
_BaseAttentionMechanism = attention.BaseAttentionMechanism
_bahdanau_score = attention.bahdanau_score
_luong_score = attention.luong_score
_maybe_mask_score = attention.maybe_mask_score

BahdanauMonotonicAttention = monotonic.BahdanauMonotonicAttention
LuongMonotonicAttention = monotonic.LuongMonotonicAttention
_monotonic_probability_fn = monotonic.monotonic_probability_fn
monotonic_attention = monotonic.monotonic_attention
safe_cumprod = monotonic.safe_cumprod

BeamSearchDecoder = beam_search.BeamSearchDecoder
BeamSearchDecoderOutput = beam_search.BeamSearchDecoderOutput
BeamSearchDecoderState = beam_search.BeamSearchDecoderState
FinalBeamSearchDecoderOutput = beam_search.FinalBeamSearchDecoderOutput
gather_tree = beam_search.gather_tree
tile_batch = beam_search.tile_batch

BasicDecoder = decoder.BasicDecoder
BasicDecoderOutput = decoder.BasicDecoderOutput
Decoder = decoder.Decoder
dynamic_decode = decoder.dynamic_decode

CustomHelper = helpers.CustomHelper
GreedyEmbeddingHelper = helpers.GreedyEmbeddingHelper
Helper = helpers.Helper
InferenceHelper = helpers.InferenceHelper
SampleEmbeddingHelper = helpers.SampleEmbeddingHelper
ScheduledEmbeddingTrainingHelper = helpers.ScheduledEmbeddingTrainingHelper
ScheduledOutputTrainingHelper = helpers.ScheduledOutputTrainingHelper
TrainingHelper = helpers.TrainingHelper

sequence_loss = loss.sequence_loss
