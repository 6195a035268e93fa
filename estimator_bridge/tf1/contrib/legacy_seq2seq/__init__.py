"""`tf.contrib.legacy_seq2seq`: sequences as lists of tensors, unrolled in the graph."""

from estimator_bridge.tf1.contrib.legacy_seq2seq import decoders as _decoders
from estimator_bridge.tf1.contrib.legacy_seq2seq import losses as _losses
from estimator_bridge.tf1.contrib.legacy_seq2seq import models as _models
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

attention_decoder = _decoders.attention_decoder
basic_rnn_seq2seq = _models.basic_rnn_seq2seq
embedding_attention_decoder = _decoders.embedding_attention_decoder
embedding_attention_seq2seq = _models.embedding_attention_seq2seq
embedding_rnn_decoder = _decoders.embedding_rnn_decoder
embedding_rnn_seq2seq = _models.embedding_rnn_seq2seq
embedding_tied_rnn_seq2seq = _models.embedding_tied_rnn_seq2seq
model_with_buckets = _losses.model_with_buckets
one2many_rnn_seq2seq = _models.one2many_rnn_seq2seq
rnn_decoder = _decoders.rnn_decoder
sequence_loss = _losses.sequence_loss
sequence_loss_by_example = _losses.sequence_loss_by_example
tied_rnn_seq2seq = _models.tied_rnn_seq2seq
