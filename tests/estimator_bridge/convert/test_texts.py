"""Compares the Keras code that splits texts with TensorFlow's string operations."""

import importlib.metadata

import numpy as np
import pytest

from estimator_bridge.convert.plan.columns import Hashed, Identity, Input
from estimator_bridge.convert.plan.derived import DatePart, SplitText, Words, dtype_of

KERAS = importlib.metadata.version("keras")
needs_keras_3 = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)

TEXTS = [
    "red|dark blue|red",
    "",
    "   ",
    "|",
    "a||é",
    " | a | \tb\n|",
    "東京 都|São Paulo|😀 x",
    "w" * 300 + "|" + "v" * 17 + "|" + "u" * 16,
    "a; b;c; ",
    "A GOOD film, isn't it? Ünder-rated!",
    "bad... bad  bad",
    "\u212aelvin ÀÉ Ǆ 42²",
    "one\ue000two",
]
WHOLE = ["1 2 3", "-7", "", " +5  0012", "9223372036854775807 -9223372036854775807", "-1", "0 "]
NUMBERS = ["0.5,1,2.25", "1e-3,-2.5E+2", "", ".5,5.,-0", "123456789.125, 3.4e38 ,1.4e-45", "7"]
DATES = [
    "2020-12-31", "1999-01-01 23:59", "2021-02-29T07:00:00.5", "", "never", " 2001-05-06 ",
    "1949-13-01", "2020-12-31 24:00", "2020-12-31x", "0000-03-01", "2020-1-01", "2020-12-31T",
    "2020-12-31 05", "2020-12-31 05h", "20201231", "9999-12-31 00:00", "2000-02-29 12.30",
]  # fmt: skip

IMPORTS = """import unicodedata
import keras
import numpy as np
from keras import layers, ops
"""

KINDS = {
    "pieces": (TEXTS, SplitText("made", "raw", "|", "string", False)),
    "steps": (TEXTS, SplitText("made", "raw", "|", "string", True)),
    "long separator": (TEXTS, SplitText("made", "raw", "; ", "string", True)),
    "blank separator": (TEXTS, SplitText("made", "raw", " ", "string", False)),
    "integers": (WHOLE, SplitText("made", "raw", " ", "int64", False)),
    "integers in order": (["1|2||-1", "", "|"], SplitText("made", "raw", "|", "int64", True)),
    "numbers": (NUMBERS, SplitText("made", "raw", ",", "float32", False)),
    "words": (TEXTS, Words("made", "raw", 1, True, None)),
    "three words": (TEXTS, Words("made", "raw", 3, False, 4)),
    **{
        part: (DATES, DatePart("made", "raw", part))
        for part in ("year", "month", "day", "weekday", "hour")
    },
}


def by_keras(one, texts):
    """Returns (values [rows, most], which are present) of the written Keras model."""
    from estimator_bridge.convert.write.build import run_module
    from estimator_bridge.convert.write.columns import ColumnWriter
    from estimator_bridge.convert.write.module import model_lines
    from estimator_bridge.convert.write.texts import alphabet_lines

    writer = ColumnWriter((Input("raw", "string", 1),), (one,))
    values = writer.feature("made")
    key = Hashed("made", "string", 5) if dtype_of(one) == "string" else Identity("made", 5, 0)
    numbers = dtype_of(one) == "float32"
    given = f"ops.equal({values}, {values})" if numbers else writer.present(key)
    outputs = [("values", values), ("given", given)]
    lines = [IMPORTS, *alphabet_lines(None), *writer.helpers_code()]
    lines += model_lines(writer, (Input("raw", "string", 1),), outputs)
    model = run_module("\n".join(lines)).build_model()
    found = model({"raw": np.array(texts, object)[:, None]})
    return found["values"].numpy(), found["given"].numpy()


@needs_keras_3
@pytest.mark.parametrize("kind", KINDS)
def test_keras_splits_texts_like_tensorflow(kind):
    from estimator_bridge import tf
    from estimator_bridge.convert.verify.derive import add_derived

    texts, one = KINDS[kind]
    made = add_derived({"raw": tf.constant(texts)}, (one,))["made"]
    values, given = by_keras(one, texts)
    if isinstance(one, DatePart):
        assert values[:, 0].tolist() == made.numpy().tolist()
        return
    rows = [[] for _ in texts]
    for (row, _), value in zip(made.indices.numpy(), made.values.numpy()):
        rows[row].append(value)
    if one.name and dtype_of(one) == "float32":
        # Padding does not matter: weights belong to values by their positions.
        for row, expected in enumerate(rows):
            assert values[row, : len(expected)] == pytest.approx(expected, rel=1e-7)
        return
    for row, expected in enumerate(rows):
        found = values[row][given[row]].tolist()
        # Keras puts n-grams after all words, and their order does not matter.
        same = sorted if isinstance(one, Words) else list
        assert same(found) == same(expected), texts[row]
