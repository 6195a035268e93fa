"""`tf.contrib.learn.preprocessing.VocabularyProcessor`."""

import pickle
import re

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator):
    """Yields the words of each text, a list."""
    for value in iterator:
        yield _TOKEN.findall(value)


class CategoricalVocabulary:
    """Words and their ids. Id 0 is the unknown token."""

    def __init__(self, unknown_token="<UNK>", support_reverse=True):
        self._unknown_token = unknown_token
        self._mapping = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping = [unknown_token]
        self._freq = {}
        self._frozen = False

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze=True):
        """Takes no new words from now on (or does again)."""
        self._frozen = freeze

    def get(self, category):
        """Returns a word's id; a new one for a new word, unless frozen."""
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category, count=1):
        """Counts a word."""
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency, max_frequency=-1):
        """Keeps the words that were counted more often than min_frequency (and less than
        max_frequency), frequent first.
        """
        ordered = sorted(sorted(self._freq.items()), key=lambda pair: pair[1], reverse=True)
        kept = [
            (word, count)
            for word, count in ordered
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._freq = dict(kept)
        self._reverse_mapping = [self._unknown_token, *self._freq]
        self._mapping = {word: i for i, word in enumerate(self._reverse_mapping)}

    def reverse(self, class_id):
        """Returns an id's word."""
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Turns texts into ids, [max_document_length] each, int64, filled up with 0."""

    def __init__(self, max_document_length, min_frequency=0, vocabulary=None, tokenizer_fn=None):
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents, unused_y=None):
        """Learns the words; returns self."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents, unused_y=None):
        """fit, then transform."""
        raw_documents = list(raw_documents)
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents):
        """Yields the ids of each text."""
        for tokens in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens[: self.max_document_length]):
                ids[i] = self.vocabulary_.get(token)
            yield ids

    def reverse(self, documents):
        """Yields the words of ids, joined by spaces."""
        for ids in documents:
            yield " ".join(self.vocabulary_.reverse(i) for i in ids)

    def save(self, filename):
        """Writes the processor to a file."""
        with tf.gfile.Open(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename):
        """Reads a processor from a file that `save` wrote. Only files you trust: it is a pickle."""
        with tf.gfile.Open(filename, "rb") as file:
            return pickle.loads(file.read())
