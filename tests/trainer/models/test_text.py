"""Free-text columns: words and n-grams in the graph, for training and every export."""

import json

import numpy as np
import pytest

from estimator_bridge import tf
from trainer import task
from trainer.features.text import split_text
from trainer.schema import Schema, Text

GOOD = ["not bad at all", "Good value", "works: good", "I'd buy it again", "bad? Not bad!"]
POOR = ["bad at all", "not good", "not good value", "it's BAD", "I'd not buy it"]


def make_reviews(num_rows, seed):
    """Reviews whose label depends on pairs of words, and the shop."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(num_rows):
        liked = int(rng.integers(2))
        text = f"{rng.choice(['', 'Well, ', 'so ... '])}{rng.choice(GOOD if liked else POOR)}"
        rows.append({"text": text, "shop": str(rng.choice(["a", "b"])), "liked": liked})
    return rows


def make_schema(**text):
    """The schema of make_reviews."""
    return {
        "columns": {
            "text": {
                "type": "string",
                "hash_buckets": 500,
                "embedding": 8,
                "use": ["deep"],
                "text": text,
            },
            "shop": {"type": "string", "vocabulary": ["a", "b"]},
            "liked": {"type": "int"},
        },
        "label": {"column": "liked", "num_classes": 2},
    }


@pytest.mark.newest
@pytest.mark.parametrize(
    "text, value, words",
    [
        ({}, "Good-bye, I'd GO!", ["good", "bye", "i'd", "go"]),
        ({"lower": False}, "Good bye", ["Good", "bye"]),
        ({"ngrams": 2}, "a b  c", ["a", "b", "c", "a b", "b c"]),
        ({"ngrams": 3}, "a b", ["a", "b", "a b"]),
        ({"ngrams": 2, "max_words": 2}, "a b c", ["a", "b", "a b"]),
        ({}, "ÄRGER 3 Σοφία 東京", ["ärger", "3", "σοφία", "東京"]),
        ({"ngrams": 2}, "", []),
        ({"ngrams": 2}, " ... ", []),
        ({"ngrams": 2}, "a\tb\nc", ["a", "b", "c", "a b", "b c"]),
    ],
)
def test_split_texts(text, value, words):
    sparse = split_text(tf.constant([value, "x"]), Text(**text))
    ragged = tf.RaggedTensor.from_sparse(sparse).to_list()
    assert [word.decode() for word in ragged[0]] == words
    assert ragged[1] == [b"x"]


@pytest.mark.newest
@pytest.mark.parametrize(
    "column, told",
    [
        ({"type": "string", "text": {}}, "text needs type string and hash_buckets or a vocabulary"),
        ({"type": "int", "hash_buckets": 5, "text": {}}, "text needs type string and hash_buckets"),
        ({"type": "string", "hash_buckets": 5, "text": {"ngrams": 9}}, "less than or equal to 5"),
        ({"type": "string", "hash_buckets": 5, "text": {"n": 2}}, "Extra inputs"),
    ],
)
def test_contradictory_text_columns_are_refused(column, told):
    values = make_schema()
    with pytest.raises(ValueError, match=told):
        Schema.model_validate({**values, "columns": {**values["columns"], "text": column}})


@pytest.mark.newest
@pytest.mark.parametrize("kind", ["wide_deep", "dnn", "residual", "linear"])
def test_every_model_learns_from_words(bench, kind):
    values = make_schema(ngrams=2)
    column = values["columns"]["text"]
    if kind == "linear":
        # In the wide part, a text is a multivalent feature of words, here with a vocabulary.
        words = sorted({word for text in GOOD + POOR for word in text.lower().split()})
        column = {"type": "string", "text": {"ngrams": 2}, "vocabulary": [*words, "not bad"]}
        column["oov_buckets"] = 50
    values["columns"]["text"] = column
    schema = Schema.model_validate(values)
    rows = make_reviews(200, 1)
    columns = {name: np.array([row[name] for row in rows], object) for name in ("text", "shop")}
    liked = np.array([row["liked"] for row in rows])
    config = bench.build_config(
        model={"type": kind}, train={"learning_rate": 0.03, "linear_learning_rate": 0.3}
    )
    built = bench.build(config, schema)
    built.train(bench.feed(liked, rows=columns), steps=200)
    metrics = built.evaluate(bench.feed(liked, epochs=1, rows=columns))
    assert metrics["accuracy"] > 0.98


def test_text_from_csv_to_every_export_input(make, tmp_path, capsys):
    make.csv(tmp_path / "train.csv", make_reviews(300, 1))
    make.csv(tmp_path / "eval.csv", make_reviews(100, 2))
    make.yaml(tmp_path / "schema.yaml", make_schema(ngrams=2))
    # Three rows as tf.Example, raw tensors and CSV lines must have equal predictions.
    status = task.main(
        [
            f"--job_dir={tmp_path / 'job'}",
            f"--train_data={tmp_path / 'train.csv'}",
            f"--eval_data={tmp_path / 'eval.csv'}",
            f"--data.schema_file={tmp_path / 'schema.yaml'}",
            "--epochs=10",
            "--batch_size=50",
            "--optimizer=adam",
            "--export.exporters=final",
        ]
    )
    told = capsys.readouterr()
    assert status == 0, told.err
    assert "exports: 1 loaded in a fresh process, each answered" in told.err
    metrics = json.loads((tmp_path / "job" / "metrics.json").read_text())
    assert metrics["last"]["accuracy"] == 1.0
