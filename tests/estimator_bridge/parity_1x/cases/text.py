"""Cases of tf.contrib.learn.preprocessing."""

import functools
import os
import tempfile

import tensorflow as tf

CASES = {}
preprocessing = tf.contrib.learn.preprocessing
TEXTS = [
    "The quick brown fox, it's 3.5 km (or so) away!",
    "the slow fox",
    "",
    "Größe naïve 日本語 the-fox fox",
    "the the THE a_b @x #y 1,000",
]


def vocabulary(words=TEXTS, **options):
    processor = preprocessing.VocabularyProcessor(options.pop("length", 6), **options)
    rows = list(processor.fit_transform(words))
    found = processor.vocabulary_
    return {
        "rows": rows,
        "again": list(processor.transform(["fox jumps the quick", "zebra"])),
        "reversed": list(processor.reverse(rows)),
        "size": len(found),
        "fox": found.get("fox"),
        "none": found.get("absent"),
    }


def kept_vocabulary():
    path = os.path.join(tempfile.mkdtemp(), "vocabulary")
    preprocessing.VocabularyProcessor(4).fit(TEXTS).save(path)
    found = preprocessing.VocabularyProcessor.restore(path)
    return {"rows": list(found.transform(TEXTS)), "length": found.max_document_length}


def categories(**options):
    processor = preprocessing.CategoricalProcessor(**options)
    rows = [["a", 1, 0.5], ["b", 1, float("nan")], ["a", 2, 0.5], ["c", 1, 1.5]]
    return {
        "rows": list(processor.fit_transform(rows)),
        "again": list(processor.transform([["c", 3, 0.5], ["z", 1, 2.5]])),
        "sizes": [len(one) for one in processor.vocabularies_],
    }


def words(**options):
    found = preprocessing.CategoricalVocabulary(**options)
    ids = [found.add(*one) for one in [("a", 3), ("b", 1), ("a",), ("c", 2)]] and [
        found.get(one) for one in ("a", "b", "c", "d")
    ]
    found.freeze()
    frozen = found.get("e")
    found.trim(1)
    return {
        "ids": ids,
        "frozen": frozen,
        "size": len(found),
        "trimmed": [found.get(one) for one in ("a", "b", "c", "d", "e")],
        "reversed": [found.reverse(one) for one in range(len(found))],
    }


def trimmed_to_nothing():
    found = preprocessing.CategoricalVocabulary()
    found.add("a")
    found.trim(5)
    return {"size": len(found), "a": found.get("a"), "reversed": found.reverse(0)}


def reversed_without_support():
    found = preprocessing.CategoricalVocabulary(support_reverse=False)
    found.add("a")
    return {"reversed": found.reverse(1)}


CASES["VocabularyProcessor"] = vocabulary
for _name, _options in {
    "min_frequency": {"min_frequency": 1},
    "short": {"length": 2},
    "own tokenizer": {"tokenizer_fn": lambda texts: (one.split("o") for one in texts)},
    "without texts": {"words": []},
}.items():
    CASES[f"VocabularyProcessor, {_name}"] = functools.partial(vocabulary, **_options)
CASES["VocabularyProcessor, saved"] = kept_vocabulary
CASES["CategoricalProcessor"] = categories
for _name, _options in {
    "min_frequency": {"min_frequency": 1},
    "share": {"share": True},
}.items():
    CASES[f"CategoricalProcessor, {_name}"] = functools.partial(categories, **_options)
CASES["CategoricalVocabulary"] = words
CASES["CategoricalVocabulary, unknown_token"] = lambda: words(unknown_token="?")
CASES["CategoricalVocabulary, trimmed to nothing"] = trimmed_to_nothing
CASES["CategoricalVocabulary, reversed without support"] = reversed_without_support


def as_bytes(length):
    """Returns what a ByteProcessor makes of texts, and the texts that it makes of that."""
    processor = preprocessing.ByteProcessor(length)
    rows = list(processor.fit_transform([*TEXTS, b"bytes", b"\xff\x00z"]))
    return {
        "rows": rows,
        "again": list(processor.transform(iter(["fox"]))),
        "fitted": repr(processor.fit(TEXTS)),
        "reversed": list(processor.reverse(rows)),
        "length": processor.max_document_length,
    }


CASES["ByteProcessor"] = functools.partial(as_bytes, 12)
CASES["ByteProcessor, long"] = functools.partial(as_bytes, 60)
CASES["ByteProcessor, wrong"] = lambda: list(preprocessing.ByteProcessor(4).transform([1]))
