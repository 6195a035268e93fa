"""`tf.contrib.text`: pairs of neighbouring tokens for skip-gram models."""

import csv

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import lookup as _lookup
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

# Frequency of a token that the file of a vocabulary does not have.
_NOT_IN_FILE = -1
# Batches that the queue of pairs holds by default.
_BATCHES = 100


def skip_gram_sample(
    input_tensor,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    vocab_freq_table=None,
    vocab_min_count=None,
    vocab_subsampling=None,
    corpus_size=None,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """Returns the pairs (token, label) of tokens that are near each other.

    For each token, a distance from `min_skips` to `max_skips` is drawn; the tokens up to this
    distance are its labels, from left to right. With a seed, the first run draws the numbers of
    1.15; later runs draw others.

    Args:
      input_tensor: tensor [tokens].
      min_skips: int, or int32 scalar.
      max_skips: int, or int32 scalar.
      start: index of the first token that is used, after tokens have been left out.
      limit: number of tokens that are used from `start` on; negative for all.
      emit_self_as_target: whether a token is a label of itself too.
      vocab_freq_table: lookup table from tokens to frequencies; tokens that have its default value
        are left out; None keeps all.
      vocab_min_count: frequency below which a token is left out, or None.
      vocab_subsampling: share t of the corpus above which frequent tokens are left out at random;
        one of frequency f is kept with the probability (sqrt(f / tn) + 1) tn / f for n tokens of
        the corpus. None keeps all.
      corpus_size: number of tokens of the corpus, with `vocab_subsampling`.
      batch_size: int, pairs in a batch, through a queue; None for all pairs of the tensor.
      batch_capacity: capacity of the queue; None for 100 batches.
      seed: seed of the operations, or None.
      name: name of the name scope.

    Returns:
      Tokens and labels, two tensors [pairs] or [batch_size] of the type of `input_tensor`.

    Raises:
      ValueError: arguments for frequencies without a table, or only one of `vocab_subsampling` and
        `corpus_size`.
    """
    settings = {
        "vocab_min_count": vocab_min_count,
        "vocab_subsampling": vocab_subsampling,
        "corpus_size": corpus_size,
    }
    given = {key: value for key, value in settings.items() if value is not None}
    if vocab_freq_table is None and given:
        raise ValueError(f"vocab_freq_table: is missing; without it, {sorted(given)} do nothing")
    if (vocab_subsampling is None) != (corpus_size is None):
        raise ValueError("vocab_subsampling and corpus_size: give both or neither")
    with tf.name_scope(name, "skip_gram_sample", [input_tensor]):
        tokens, frequencies = tf.convert_to_tensor(input_tensor), None
        if vocab_freq_table is not None:
            tokens, frequencies = _known(tokens, vocab_freq_table, vocab_min_count)
        if vocab_subsampling is not None:
            tokens = _sampled(tokens, frequencies, vocab_subsampling, corpus_size, seed)
        pairs = _pairs(tokens, (min_skips, max_skips), (start, limit), emit_self_as_target, seed)
        if batch_size is None:
            return pairs
        return tf.train.batch(
            list(pairs),
            batch_size,
            capacity=batch_capacity or _BATCHES * batch_size,
            enqueue_many=True,
        )


def _known(tokens, table, min_count):
    """Returns the tokens that a table has and that are frequent enough, and their frequencies."""
    with tf.name_scope("filter_vocab"):
        frequencies = table.lookup(tokens)
        kept = tf.not_equal(frequencies, table.default_value)
        if min_count is not None:
            kept &= frequencies >= tf.cast(min_count, frequencies.dtype)
        return tf.boolean_mask(tokens, kept), tf.boolean_mask(frequencies, kept)


def _sampled(tokens, frequencies, share, corpus_size, seed):
    """Returns the tokens without some of the frequent ones."""
    with tf.name_scope("subsample_vocab"):
        # 1.15 makes a float32 of the share first.
        expected = tf.cast(tf.cast(share, tf.float32), tf.float64) * tf.cast(
            corpus_size, tf.float64
        )
        frequencies = tf.cast(frequencies, tf.float64)
        probability = (tf.sqrt(frequencies / expected) + 1.0) * (expected / frequencies)
        drawn = tf.random_uniform(tf.shape(probability), dtype=tf.float64, seed=seed)
        return tf.boolean_mask(tokens, drawn <= probability)


def _pairs(tokens, skips, limits, with_self, seed):
    """Returns (tokens, labels) for distances drawn from `skips`, within `limits`."""
    tokens.shape.assert_has_rank(1)
    low, high = (tf.convert_to_tensor(one, tf.int32) for one in skips)
    start, limit = (tf.convert_to_tensor(one, tf.int32) for one in limits)
    checks = [
        tf.Assert((low >= 0) & (high >= 0), ["Both min_skips and max_skips must be >= 0."]),
        tf.Assert(low <= high, ["min_skips must be <= max_skips."]),
        tf.Assert(start >= 0, ["start must be >= 0."]),
    ]
    with tf.control_dependencies(checks):
        size = tf.size(tokens)
    end = tf.where((limit < 0) | (limit > size - start), size, start + limit)
    places = tf.range(start, tf.maximum(start, end))
    distances = tf.random_uniform(tf.shape(places), low, high + 1, tf.int32, seed)
    steps = tf.range(-high, high + 1)
    others = places[:, tf.newaxis] + steps
    near = (tf.abs(steps) <= distances[:, tf.newaxis]) & (others >= start) & (others < end)
    near &= tf.convert_to_tensor(with_self) | tf.not_equal(steps, 0)
    centres = tf.boolean_mask(tf.broadcast_to(places[:, tf.newaxis], tf.shape(others)), near)
    found = [tf.gather(tokens, centres), tf.gather(tokens, tf.boolean_mask(others, near))]
    pairs = tf.identity_n(found, "SkipGramGenerateCandidates")
    for one in pairs:
        one.set_shape([None])
    return tuple(pairs)


def skip_gram_sample_with_text_vocab(
    input_tensor,
    vocab_freq_file,
    vocab_token_index=0,
    vocab_token_dtype=tf.string,
    vocab_freq_index=1,
    vocab_freq_dtype=tf.float64,
    vocab_delimiter=",",
    vocab_min_count=0,
    vocab_subsampling=None,
    corpus_size=None,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """Returns the pairs of `skip_gram_sample`, with frequencies from a file.

    Args:
      input_tensor: tensor [tokens].
      vocab_freq_file: file with a line for each token: the token and its frequency.
      vocab_token_index: column of the token.
      vocab_token_dtype: type of the tokens.
      vocab_freq_index: column of the frequency.
      vocab_freq_dtype: type of the frequencies.
      vocab_delimiter: character between two columns.
      vocab_min_count: see `skip_gram_sample`.
      vocab_subsampling: see `skip_gram_sample`; 0 keeps all too.
      corpus_size: see `skip_gram_sample`; None for the sum of the frequencies.
      min_skips: see `skip_gram_sample`.
      max_skips: see `skip_gram_sample`.
      start: see `skip_gram_sample`.
      limit: see `skip_gram_sample`.
      emit_self_as_target: see `skip_gram_sample`.
      batch_size: see `skip_gram_sample`.
      batch_capacity: see `skip_gram_sample`.
      seed: see `skip_gram_sample`.
      name: name of the name scope.

    Returns:
      Tokens and labels, two tensors [pairs] or [batch_size].

    Raises:
      ValueError: the columns are equal or negative, a line lacks one, a frequency is negative or no
        number, or the corpus is smaller than the sum of the frequencies.
      NotFoundError: there is no such file.
    """
    columns = vocab_token_index, vocab_freq_index
    rows, total = _count(vocab_freq_file, columns, vocab_freq_dtype, vocab_delimiter)
    if corpus_size and corpus_size < total:
        raise ValueError(
            f"corpus_size: {corpus_size} is less than the sum of the frequencies in "
            f"{vocab_freq_file}, {total}"
        )
    table = _lookup.HashTable(
        tf.lookup.TextFileInitializer(
            vocab_freq_file,
            vocab_token_dtype,
            vocab_token_index,
            vocab_freq_dtype,
            vocab_freq_index,
            vocab_size=rows,
            delimiter=vocab_delimiter,
        ),
        _NOT_IN_FILE,
    )
    return skip_gram_sample(
        input_tensor,
        min_skips,
        max_skips,
        start,
        limit,
        emit_self_as_target,
        table,
        vocab_min_count,
        vocab_subsampling or None,
        (corpus_size or total) if vocab_subsampling else None,
        batch_size,
        batch_capacity,
        seed,
        name,
    )


def _count(path, columns, dtype, delimiter):
    """Returns the number of lines of a vocabulary, and the sum of their frequencies."""
    if min(columns) < 0 or columns[0] == columns[1]:
        raise ValueError(
            f"vocab_token_index={columns[0]} and vocab_freq_index={columns[1]}: give two different "
            "columns from 0 on"
        )
    rows, total = 0, 0.0
    with tf.gfile.GFile(path) as file:
        for row in csv.reader(file, delimiter=delimiter):
            if max(columns) >= len(row):
                raise ValueError(f"{path}: no column {max(columns)} in the line {row}")
            frequency = dtype.as_numpy_dtype(row[columns[1]])
            if frequency < 0:
                raise ValueError(f"{path}: negative frequency in the line {row}")
            rows, total = rows + 1, total + frequency
    return rows, total
