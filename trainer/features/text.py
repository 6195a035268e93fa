"""Free text as a multivalent categorical column: words and n-grams, split in the graph."""

from typing import Any

from estimator_bridge import tf
from trainer.schema import Schema, Text

# Characters that separate words: all except letters, digits, combining marks, apostrophes (RE2).
SEPARATORS = r"[^\pL\pN\pM']+"


def split_texts(features: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Replaces each text by its words and n-grams, in the form that feature columns accept.

    It is part of the model's graph. So training, evaluation and every export compute the same.

    Args:
        features: name → tensor; texts are strings [batch].
        schema: determines the columns that are texts.

    Returns:
        The features, with a SparseTensor of strings [batch, maximum number of values] for each
        text. A text without words has no values.
    """
    split = dict(features)
    for name, values in features.items():
        text = schema.columns[name].text if name in schema.columns else None
        if text is not None:
            split[name] = split_text(values, text)
    return split


def split_text(values: Any, text: Text) -> Any:
    """Splits texts into n-grams of 1 to `text.ngrams` words.

    Args:
        values: strings [batch].
        text: how to split; `max_words` cuts long texts.

    Returns:
        SparseTensor of strings [batch, maximum number of values]; the words of an n-gram are
        separated by a space.
    """
    values = tf.reshape(values, [-1])
    if text.lower:
        values = tf.strings.lower(values, encoding="utf-8")
    words = tf.strings.split(tf.strings.regex_replace(values, SEPARATORS, " "))
    if text.max_words is not None:
        words = words[:, : text.max_words]
    widths = list(range(1, text.ngrams + 1))
    return tf.strings.ngrams(words, widths, separator=" ").to_sparse()
