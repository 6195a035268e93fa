"""Cases of tf.contrib.text."""

import functools
import os
import tempfile

import tensorflow as tf
from tensorflow.contrib import text
from values import np

CASES = {}
WORDS = ["the", "quick", "brown", "fox", "jumps"]
COUNTS = {"the": 100, "quick": 3, "brown": 1, "fox": 4}
LINES = ["the,100", "quick,3", "brown,1", "fox,4"]
lookup = tf.contrib.lookup


def table(counts, missing=-1, keys=tf.string, dtype=tf.int64):
    made = lookup.KeyValueTensorInitializer(list(counts), list(counts.values()), keys, dtype)
    return lookup.HashTable(made, missing)


def described(pairs):
    """Returns pairs with the types and shapes that are known before they are run."""
    return {
        "tokens": pairs[0],
        "labels": pairs[1],
        "kind": str([type(pairs).__name__] + [(one.name, str(one.shape)) for one in pairs]),
    }


def sample(tokens=WORDS, counts=None, missing=-1, dtype=tf.int64, keys=tf.string, **options):
    # The seed of an operation is drawn from the graph's too, which changes between runs of a case.
    tf.set_random_seed(5)
    if counts is not None:
        options["vocab_freq_table"] = table(counts, missing, keys, dtype)
    tokens = tokens() if callable(tokens) else tf.constant(tokens)
    return described(text.skip_gram_sample(tokens, **options))


for _name, _options in {
    "at random": {"tokens": list(range(40)), "seed": 7},
    "at random, 0 to 5": {"tokens": list(range(40)), "min_skips": 0, "seed": 3},
    "at random, from the middle": {"tokens": list(range(40)), "start": 7, "limit": 33, "seed": 4},
    "distance 2": {"min_skips": 2, "max_skips": 2},
    "distance 9": {"min_skips": 9, "max_skips": 9},
    "distance 0": {"min_skips": 0, "max_skips": 0},
    "distance 0, itself": {"min_skips": 0, "max_skips": 0, "emit_self_as_target": True},
    "itself": {"min_skips": 1, "max_skips": 1, "emit_self_as_target": True, "name": "mine"},
    "from 1, limit 3": {"min_skips": 1, "max_skips": 1, "start": 1, "limit": 3},
    "from 0, limit 2": {"min_skips": 1, "max_skips": 1, "limit": 2},
    "limit 0": {"min_skips": 1, "max_skips": 1, "limit": 0},
    "limit -2": {"min_skips": 1, "max_skips": 1, "limit": -2},
    "limit 9": {"min_skips": 1, "max_skips": 1, "start": 3, "limit": 9},
    "limit of the rest": {"min_skips": 1, "max_skips": 1, "start": 2, "limit": 3},
    "start at the end": {"min_skips": 1, "max_skips": 1, "start": 5},
    "one at the end": {"min_skips": 1, "max_skips": 1, "start": 4, "limit": 1},
    "limit None": {"min_skips": 1, "max_skips": 1, "limit": None},
    "from 3 to 2": {"min_skips": 3, "max_skips": 2},
    "negative": {"min_skips": -1, "max_skips": 2},
    "no token": {"tokens": np.zeros([0], np.int32)},
    "one token": {"tokens": [4]},
    "rank 2": {"tokens": [[1, 2], [3, 4]]},
    "rank 0": {"tokens": 3},
    "unknown rank": {
        "tokens": lambda: tf.placeholder_with_default([1, 2, 3], None),
        "min_skips": 1,
        "max_skips": 1,
    },
}.items():
    CASES[f"skip_gram_sample, {_name}"] = functools.partial(sample, **_options)

_near = functools.partial(sample, min_skips=1, max_skips=1)
for _name, _options in {
    "table": {"counts": COUNTS},
    "table with 0 for others": {"counts": COUNTS, "missing": 0, "vocab_min_count": 1},
    "min_count": {"counts": COUNTS, "vocab_min_count": 3},
    "min_count -1": {"counts": COUNTS, "vocab_min_count": -1},
    "min_count, float": {
        "counts": {"the": 2.5, "fox": 2.0},
        "missing": -1.0,
        "dtype": tf.float32,
        "vocab_min_count": 2.5,
    },
    "min_count, numbers": {
        "tokens": np.array([1, 2, 3, 9], np.int64),
        "counts": {1: 5, 2: 2, 3: 9},
        "keys": tf.int64,
        "vocab_min_count": 3,
    },
    "subsampling": {
        "tokens": WORDS * 6,
        "counts": COUNTS,
        "vocab_subsampling": 0.05,
        "corpus_size": 108,
        "seed": 5,
    },
    "subsampling, min_count": {
        "tokens": WORDS * 6,
        "counts": COUNTS,
        "vocab_min_count": 2,
        "vocab_subsampling": 0.01,
        "corpus_size": 1000,
        "seed": 6,
    },
    "subsampling, float": {
        "tokens": WORDS * 6,
        "counts": {"the": 90.5, "fox": 3.25, "quick": 7.0},
        "missing": -1.0,
        "dtype": tf.float32,
        "vocab_subsampling": 0.02,
        "corpus_size": 108.0,
        "seed": 8,
        "start": 2,
        "limit": 9,
    },
    "subsampling without corpus_size": {"counts": COUNTS, "vocab_subsampling": 0.1},
    "corpus_size without subsampling": {"counts": COUNTS, "corpus_size": 10},
    "min_count without a table": {"vocab_min_count": 3},
    "subsampling without a table": {"vocab_subsampling": 0.1, "corpus_size": 108},
}.items():
    CASES[f"skip_gram_sample, {_name}"] = functools.partial(_near, **_options)


def from_file(tokens=WORDS, lines=LINES, **options):
    tf.set_random_seed(5)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "vocabulary")
    with tf.gfile.GFile(path, "w") as file:
        file.write("".join(line + "\n" for line in lines))
    options.setdefault("min_skips", 1)
    options.setdefault("max_skips", 1)
    path = options.pop("path", path)
    return described(text.skip_gram_sample_with_text_vocab(tf.constant(tokens), path, **options))


_many = {"tokens": WORDS * 6, "seed": 9}
for _name, _options in {
    "defaults": {},
    "min_count": {"vocab_min_count": 2},
    "min_count 1.5": {"vocab_min_count": 1.5},
    "min_count None": {"vocab_min_count": None},
    "subsampling": dict(_many, vocab_subsampling=0.05),
    "subsampling, corpus_size": dict(_many, vocab_subsampling=0.02, corpus_size=1000),
    "subsampling, corpus_size 0": dict(_many, vocab_subsampling=0.05, corpus_size=0),
    "subsampling, int64": dict(_many, vocab_subsampling=0.05, vocab_freq_dtype=tf.int64),
    "subsampling, float32": dict(_many, vocab_subsampling=0.05, vocab_freq_dtype=tf.float32),
    "subsampling 0": dict(_many, vocab_subsampling=0.0),
    "subsampling, small corpus": dict(_many, vocab_subsampling=0.1, corpus_size=50),
    "small corpus": {"corpus_size": 50},
    "large corpus": {"corpus_size": 500},
    "other columns": {
        "lines": ["100\tthe\tx", "3\tquick\ty"],
        "vocab_token_index": 1,
        "vocab_freq_index": 0,
        "vocab_delimiter": "\t",
        "vocab_min_count": 1,
    },
    "same columns": {"vocab_token_index": 1},
    "negative column": {"vocab_token_index": -1},
    "no such column": {"vocab_freq_index": 3},
    "numbers": {
        "tokens": np.array([1, 2, 3, 9], np.int64),
        "lines": ["1,5", "2,2", "3,9"],
        "vocab_token_dtype": tf.int64,
        "vocab_min_count": 3,
    },
    "no number": {"lines": ["the,x"]},
    "negative frequency": {"lines": LINES + ["x,-3"]},
    "empty line": {"lines": LINES + [""]},
    "empty file": {"lines": []},
    "no file": {"path": "/nowhere/vocabulary"},
    "quoted": {"lines": ['"a,b",3', "the,4"]},
    "long delimiter": {"lines": ["the::4"], "vocab_delimiter": "::"},
    "unicode": {"lines": ["größe,3", "the,4"], "tokens": ["größe", "the"]},
    "start": {"start": 1, "limit": 3, "name": "mine"},
}.items():
    CASES[f"skip_gram_sample_with_text_vocab, {_name}"] = functools.partial(from_file, **_options)


def batches(batch_capacity=None):
    pairs = text.skip_gram_sample(
        tf.constant(WORDS), 1, 1, batch_size=3, batch_capacity=batch_capacity
    )
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(pairs) for _ in range(4)]
        coordinator.request_stop()
        coordinator.join(threads)
    return {"batches": found, "kind": described(pairs)["kind"]}


CASES["skip_gram_sample, batches"] = batches
CASES["skip_gram_sample, batches, capacity"] = functools.partial(batches, 17)
