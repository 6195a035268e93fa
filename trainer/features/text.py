"""Free text as a categorical column of many values: words and word sequences, split in graph."""

from typing import Any

from estimator_bridge import tf
from trainer.schema import Schema, Text

# What separates words: everything but letters, digits, marks on letters and apostrophes (RE2).
SEPARATORS = r"[^\pL\pN\pM']+"


def split_texts(features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Replaces each text by its words and word sequences, so that feature columns take them.

    It is part of the model's graph, so that training, evaluation and every export split alike.

    Args:
        features: name → tensor; texts are strings [batch].
        schema: which columns are texts.

    Returns:
        the same with a SparseTensor of strings [batch, most in a row] for each text; one without a
        word has none.
    """
    texts = {
        name: schema.columns[name].text
        for name in features
        if name in schema.columns and schema.columns[name].text is not None
    }
    return {
        name: split_text(values, texts[name]) if name in texts else values
        for name, values in features.items()
    }


def split_text(values: Any, text: Text) -> Any:
    """Strings [batch] to n-grams of 1 to text.ngrams words, sparse [batch, most in a row].

    The words of one n-gram are separated by a space; text.max_words cuts long texts.
    """
    values = tf.reshape(values, [-1])
    if text.lower:
        values = tf.strings.lower(values, encoding="utf-8")
    words = tf.strings.split(tf.strings.regex_replace(values, SEPARATORS, " "))
    if text.max_words is not None:
        words = words[:, : text.max_words]
    widths = list(range(1, text.ngrams + 1))
    return tf.strings.ngrams(words, widths, separator=" ").to_sparse()
