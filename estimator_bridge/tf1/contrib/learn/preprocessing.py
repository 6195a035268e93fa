"""`tf.contrib.learn.preprocessing`."""

import pickle
import re

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = [
    "ByteProcessor",
    "CategoricalProcessor",
    "CategoricalVocabulary",
    "VocabularyProcessor",
    "tokenizer",
]

_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator):
    """Splits texts into words.

    Args:
      iterator: iterable of str.

    Yields:
      Lists of words.
    """
    for value in iterator:
        yield _TOKEN.findall(value)


class ByteProcessor:
    """Converts texts to arrays of their bytes in UTF-8, padded with 0.

    Args:
      max_document_length: int, number of bytes per text.
    """

    def __init__(self, max_document_length):
        self.max_document_length = max_document_length

    def fit(self, x):
        """Does nothing: there is nothing to learn.

        Args:
          x: not used.
        """

    def fit_transform(self, x):
        """Converts texts, as `transform` does.

        Args:
          x: iterable of str or bytes.

        Returns:
          Iterator of uint8 arrays [max_document_length].
        """
        return self.transform(x)

    def reverse(self, x):
        """Converts bytes to texts; what is not UTF-8, as a letter that was cut off, to "".

        Args:
          x: iterable of integer arrays.

        Yields:
          str.
        """
        for data in x:
            content = np.trim_zeros(data.astype(np.uint8), "b").tobytes()
            try:
                yield content.decode("utf-8")
            except UnicodeDecodeError:
                yield ""

    def transform(self, x):
        """Converts texts.

        Args:
          x: iterable of str or bytes.

        Yields:
          uint8 arrays [max_document_length].
        """
        for text in x:
            content = text.encode("utf-8") if isinstance(text, str) else text
            data = np.zeros(self.max_document_length, np.uint8)
            kept = np.frombuffer(content, np.uint8)[: self.max_document_length]
            data[: len(kept)] = kept
            yield data


class CategoricalVocabulary:
    """Maps words to ids; id 0 is the unknown token.

    Args:
      unknown_token: str for unknown words.
      support_reverse: whether `reverse` works.
    """

    def __init__(self, unknown_token="<UNK>", support_reverse=True):  # noqa: S107 - a word
        self._unknown_token = unknown_token
        self._mapping = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping = [unknown_token]
        self._freq = {}
        self._frozen = False

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze=True):
        """Stops or resumes adding new words.

        Args:
          freeze: whether unknown words get id 0 instead of a new id.
        """
        self._frozen = freeze

    def get(self, category):
        """Returns the id of a word; a new word gets a new id unless the vocabulary is frozen.

        Args:
          category: str.

        Returns:
          int.
        """
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category, count=1):
        """Adds to the count of a word.

        Args:
          category: str.
          count: int.
        """
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency, max_frequency=-1):
        """Removes rare (and too frequent) words and orders the rest by frequency.

        Args:
          min_frequency: int; words counted more often are kept.
          max_frequency: int; words counted less often are kept; -1 for no limit.
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
        """Returns the word of an id.

        Args:
          class_id: int.

        Returns:
          str.

        Raises:
          ValueError: the vocabulary was made without `support_reverse`.
        """
        if not self._support_reverse:
            raise ValueError("reverse: the vocabulary was made with support_reverse=False")
        return self._reverse_mapping[class_id]


class CategoricalProcessor:
    """Converts rows of categories to arrays of ids, with one vocabulary per column.

    Args:
      min_frequency: int; categories counted more often get an id.
      share: whether all columns have the same vocabulary.
      vocabularies: list of CategoricalVocabulary, one per column; None for empty ones.
    """

    def __init__(self, min_frequency=0, share=False, vocabularies=None):
        self.min_frequency = min_frequency
        self.share = share
        self.vocabularies_ = vocabularies

    def freeze(self, freeze=True):
        """Stops or resumes adding new categories.

        Args:
          freeze: whether unknown categories get id 0 instead of a new id.
        """
        for vocabulary in self.vocabularies_:
            vocabulary.freeze(freeze)

    def fit(self, x, unused_y=None):
        """Learns the categories; returns self.

        Args:
          x: iterable of rows, sequences of categories; NaN is none.
          unused_y: ignored.
        """
        for row in x:
            if self.vocabularies_ is None:
                new = [CategoricalVocabulary() for _ in row]
                self.vocabularies_ = [new[0]] * len(new) if self.share else new
            for place, value in enumerate(row):
                if not (isinstance(value, float) and np.isnan(value)):
                    self.vocabularies_[place].add(value)
        if self.min_frequency > 0:
            for vocabulary in self.vocabularies_:
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x, unused_y=None):
        """Learns the categories and converts the rows.

        Args:
          x: list of rows, sequences of categories.
          unused_y: ignored.

        Returns:
          Iterable of int64 arrays [columns].
        """
        return self.fit(x).transform(x)

    def transform(self, x):
        """Converts rows.

        Args:
          x: iterable of rows, sequences of categories.

        Yields:
          int64 arrays [columns].
        """
        self.freeze()
        for row in x:
            pairs = zip(self.vocabularies_, row)
            yield np.array([vocabulary.get(value) for vocabulary, value in pairs], np.int64)


class VocabularyProcessor:
    """Converts texts to arrays of word ids, padded with 0.

    Args:
      max_document_length: int, number of ids per text.
      min_frequency: int; words counted more often are kept.
      vocabulary: CategoricalVocabulary, or None for a new one.
      tokenizer_fn: function from an iterable of texts to lists of words; None for `tokenizer`.
    """

    def __init__(self, max_document_length, min_frequency=0, vocabulary=None, tokenizer_fn=None):
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents, unused_y=None):
        """Learns the words of texts.

        Args:
          raw_documents: iterable of str.
          unused_y: ignored.

        Returns:
          self.
        """
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents, unused_y=None):
        """Learns the words of texts and converts the texts.

        Args:
          raw_documents: iterable of str.
          unused_y: ignored.

        Returns:
          Iterator of int64 arrays [max_document_length].
        """
        raw_documents = list(raw_documents)
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents):
        """Converts texts to ids.

        Args:
          raw_documents: iterable of str.

        Yields:
          int64 arrays [max_document_length].
        """
        for tokens in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens[: self.max_document_length]):
                ids[i] = self.vocabulary_.get(token)
            yield ids

    def reverse(self, documents):
        """Converts ids to texts.

        Args:
          documents: iterable of arrays of ids.

        Yields:
          Words joined by spaces.
        """
        for ids in documents:
            yield " ".join(self.vocabulary_.reverse(i) for i in ids)

    def save(self, filename):
        """Writes the processor to a file.

        Args:
          filename: path of the file.
        """
        with tf.gfile.Open(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename):
        """Reads a processor that `save` wrote. Use only trusted files: the file is a pickle.

        Args:
          filename: path of the file.

        Returns:
          VocabularyProcessor.
        """
        with tf.gfile.Open(filename, "rb") as file:
            return pickle.loads(file.read())  # noqa: S301 - the format of tf.contrib
