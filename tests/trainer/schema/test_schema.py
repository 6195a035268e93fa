"""trainer.schema: one line per contradiction; roles, tasks, vocabularies, defaults."""

import pytest
import yaml

from trainer.errors import UserError
from trainer.schema import Range, Schema, Statistics, load_schema, resolve_defaults

pytestmark = pytest.mark.quick


def _write(tmp_path, values):
    path = tmp_path / "schema.yaml"
    path.write_text(
        values if isinstance(values, str) else yaml.safe_dump(values, sort_keys=False), "utf-8"
    )
    return str(path)


def _with(columns=None, **fields):
    return {
        "columns": {
            "x": {"type": "float"},
            "c": {"type": "string", "hash_buckets": 5},
            "y": {"type": "float"},
            **(columns or {}),
        },
        "label": {"column": "y"},
        **fields,
    }


def test_the_smallest_schema(tmp_path):
    schema = load_schema(_write(tmp_path, _with()))
    assert schema.features == ["x", "c"]
    assert schema.task == "regression" and schema.num_classes == 0


@pytest.mark.parametrize(
    ("label", "kind", "task", "classes"),
    [
        ({"column": "l", "vocabulary": ["a", "b"]}, "string", "binary", 2),
        ({"column": "l", "vocabulary": ["a", "b", "c"]}, "string", "multiclass", 3),
        ({"column": "l", "vocabulary": [7, 9]}, "int", "binary", 2),
        ({"column": "l", "vocabulary": [-1, 1]}, "int", "binary", 2),
        ({"column": "l", "num_classes": 2}, "int", "binary", 2),
        ({"column": "l", "num_classes": 5}, "int", "multiclass", 5),
        ({"column": "l"}, "int", "regression", 0),
        ({"column": "l"}, "float", "regression", 0),
    ],
)
def test_the_label_decides_the_task(label, kind, task, classes):
    schema = Schema.model_validate(_with({"l": {"type": kind}, "y": {"type": "int"}}, label=label))
    assert (schema.task, schema.num_classes) == (task, classes)


def test_label_weight_and_key_are_not_features(make):
    schema = make.schema("bought", weight=True)
    assert schema.features[0] == "age"
    assert not {"id", "w", "bought"} & set(schema.features)
    assert schema.used_features == ["age", "hours", "city", "job", "level"]


def test_a_column_that_is_only_crossed_is_used():
    schema = Schema.model_validate(
        _with(
            {"d": {"type": "string", "hash_buckets": 3, "use": []}},
            crosses=[{"columns": ["c", "d"], "hash_buckets": 9}],
        )
    )
    assert schema.used_features == ["x", "c", "d"]


CONTRADICTIONS = {
    "two kinds": ({"c": {"type": "string", "hash_buckets": 5, "vocabulary": ["a"]}}, "keep one"),
    "buckets of a string": ({"c": {"type": "string", "buckets": [1]}}, "buckets need a numeric"),
    "identities of a string": ({"c": {"type": "string", "identities": 4}}, "identities need type"),
    "hash of a float": ({"x": {"type": "float", "hash_buckets": 4}}, "a float takes buckets"),
    "buckets that fall": ({"x": {"type": "float", "buckets": [3, 1]}}, "buckets must ascend"),
    "a boundary twice": ({"x": {"type": "float", "buckets": [1, 1]}}, "buckets must ascend"),
    "a growing float": ({"x": {"type": "float", "growing": {"capacity": 99}}}, "a float takes"),
    "growing buckets": (
        {"c": {"type": "string", "hash_buckets": 5, "growing": {"capacity": 99}}},
        "hash_buckets and growing exclude each other",
    ),
    "a tiny table": ({"c": {"type": "string", "growing": {"capacity": 9}}}, "or equal to 32"),
    "a growing list": (
        {"c": {"type": "string", "growing": {"capacity": 99}, "separator": "|"}},
        "growing needs one value per row",
    ),
    "a private table": (
        {"c": {"type": "string", "growing": {"capacity": 99}, "private": True}},
        "private: a growing table is a part of each export",
    ),
    "embedded number": ({"x": {"type": "float", "embedding": 4}}, "embedding needs a vocabulary"),
    "oov alone": ({"c": {"type": "string", "hash_buckets": 3, "oov_buckets": 1}}, "oov_buckets"),
    "empty vocabulary": ({"c": {"type": "string", "vocabulary": []}}, "vocabulary is empty"),
    "word twice": ({"c": {"type": "string", "vocabulary": ["a", "a"]}}, "'a' appears twice"),
    "yes unquoted": ({"c": {"type": "string", "vocabulary": [True]}}, "put it in quotes"),
    "number as word": ({"c": {"type": "string", "vocabulary": [2013]}}, "2013 is not a string"),
    "word as number": ({"c": {"type": "int", "vocabulary": ["1"]}}, "'1' is not an int"),
    "no word": ({"c": {"type": "string", "vocabulary": ["a", ""]}}, "'' means no value"),
    "minus one": ({"c": {"type": "int", "vocabulary": [-1, 1]}}, "-1 means no value"),
    "mean of an int": ({"x": {"type": "int", "default": "mean"}}, "default mean needs type float"),
    "indicator without a default": (
        {"x": {"type": "float", "missing_indicator": True}},
        "missing_indicator needs type float and a default",
    ),
    "indicator of a taken name": (
        {
            "x": {"type": "float", "default": 0, "missing_indicator": True},
            "x_missing": {"type": "int"},
        },
        "columns.x_missing: a feature derived from column 'x' has this name; rename",
    ),
    "text for a number": ({"x": {"type": "float", "default": "big"}}, "default 'big' is not"),
    "number for a text": (
        {"c": {"type": "string", "hash_buckets": 3, "default": 4}},
        "default 4 is not",
    ),
    "truth for a number": (
        {"x": {"type": "float", "default": True}},
        "default True is not a float",
    ),
    "truth for a text": (
        {"c": {"type": "string", "hash_buckets": 3, "default": False}},
        "default False is not a string; put it in quotes if it is text",
    ),
    "a list for a number": ({"x": {"type": "float", "default": [1]}}, "default [1] is not a float"),
    "no int64": ({"x": {"type": "int", "default": 10**30}}, "does not fit into an int64"),
    "no float32": ({"x": {"type": "float", "default": 1e300}}, "does not fit into a float32"),
    "no int64 as word": ({"c": {"type": "int", "vocabulary": [2**63]}}, "not fit into an int64"),
    "an infinite boundary": ({"x": {"type": "float", "buckets": [1e300]}}, "less than or equal"),
    "no boundary": ({"x": {"type": "float", "buckets": []}}, "no boundary given"),
    "too many ids": ({"c": {"type": "string", "hash_buckets": 10**12}}, "or equal to 2147483647"),
    "truth for a size": ({"c": {"type": "string", "hash_buckets": True}}, "True is not a number"),
    "too wide": (
        {"c": {"type": "string", "hash_buckets": 3, "embedding": 10**9}},
        "less than or equal to 65536",
    ),
    "a mapping for a type": ({"x": {"type": {"a": 1}}}, "columns.x.type: got {'a': 1}"),
    "a key of two lines": ({"x": {"type": "float", "a\nb": 1}}, "columns.x.a\\nb: no such field"),
    "part of a date": (
        {"x": {"type": "string", "date": ["year"]}, "x_year": {"type": "int"}},
        "columns.x_year: a feature derived from column 'x' has this name; rename",
    ),
    "half an int": ({"x": {"type": "int", "default": 1.5}}, "default 1.5 is not"),
    "std zero": ({"x": {"type": "float", "normalize": {"mean": 0, "std": 0}}}, "std"),
    "unknown normalize": ({"x": {"type": "float", "normalize": "zscore"}}, "'zscore'"),
    "unknown type": ({"x": {"type": "number"}}, "got 'number'"),
    "unknown part": ({"x": {"type": "float", "use": ["broad"]}}, "'broad'"),
    "no type": ({"x": {}}, "columns.x.type: is missing"),
    "misspelled field": (
        {"c": {"type": "string", "hash_bucket": 3}},
        "no such field; did you mean hash_buckets?",
    ),
    "raw string": ({"c": {"type": "string"}}, "or use: [] to exclude it"),
    "negative size": ({"c": {"type": "string", "hash_buckets": -3}}, "got -3"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradiction_in_a_column(tmp_path, case):
    columns, words = CONTRADICTIONS[case]
    path = _write(tmp_path, _with(columns))
    with pytest.raises(UserError) as caught:
        load_schema(path)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"schema {path}: columns.")
    assert f"columns.{next(iter(columns))}" in message
    assert words in message
    # The alternatives of a type are no part of a field's name.
    assert "literal[" not in message.split(": got")[0]


ROLES = {
    "no label": ({"label": None}, "label"),
    "label without column": ({"label": {}}, "label.column: is missing"),
    "label nowhere": ({"label": {"column": "z"}}, "label: no column 'z'"),
    "near label": ({"label": {"column": "yy"}, "columns": {"yyy": {"type": "float"}}}, "yyy?"),
    "weight nowhere": ({"weight": "xw"}, "weight: no column 'xw'"),
    "weight of text": ({"weight": "c"}, "weight: column 'c' must be float or int"),
    "key nowhere": ({"key": "k"}, "key: no column 'k'"),
    "string label": ({"label": {"column": "c"}}, "a string label needs a vocabulary"),
    "float classes": ({"label": {"column": "y", "num_classes": 2}}, "needs a column of type int"),
    "float vocabulary": (
        {"label": {"column": "y", "vocabulary": [1, 2]}},
        "needs a column of type string or int",
    ),
    "both": (
        {"label": {"column": "c", "num_classes": 2, "vocabulary": ["a", "b"]}},
        "vocabulary and num_classes exclude each other",
    ),
    "one class": ({"label": {"column": "c", "vocabulary": ["a"]}}, "two classes or more"),
    "cross of nothing": ({"crosses": [{"columns": ["c", "q"], "hash_buckets": 3}]}, "'q'"),
    "cross of one": ({"crosses": [{"columns": ["c"], "hash_buckets": 3}]}, "at least 2"),
    "cross of a number": (
        {"crosses": [{"columns": ["c", "x"], "hash_buckets": 3}]},
        "'x' is numeric without buckets; give it buckets",
    ),
    "cross of the label": (
        {"crosses": [{"columns": ["c", "y"], "hash_buckets": 3}]},
        "'y' is the label, the weight or the key",
    ),
    "label and weight": ({"weight": "y"}, "column 'y' is two of label, weight and key"),
    "weight and key": ({"weight": "x", "key": "x"}, "column 'x' is two of label"),
    "too many classes": ({"label": {"column": "y", "num_classes": 10**9}}, "equal to 1000000"),
    "a number for columns": ({"label": {"columns": 5}}, "label.column: got 5"),
    "a column without a name": (
        {"columns": {**_with()["columns"], "": {"type": "int"}}},
        "without a name",
    ),
    "unknown section": ({"colunms": {}}, "colunms: no such field; did you mean columns?"),
    "no columns": ({"columns": {}}, "columns"),
    "column that is no mapping": ({"columns": {"x": "float"}}, "columns.x"),
    "number as name": ({"columns": {1: {"type": "float"}}}, "columns"),
}


@pytest.mark.parametrize("case", ROLES)
def test_contradiction_between_columns(tmp_path, case):
    fields, words = ROLES[case]
    values = {**_with(), **fields}
    if case == "near label":
        values["columns"] = {**_with()["columns"], **fields["columns"]}
    with pytest.raises(UserError) as caught:
        load_schema(_write(tmp_path, values))
    assert "\n" not in str(caught.value)
    assert words in str(caught.value)


def test_a_duplicate_column_is_an_error(tmp_path):
    text = (
        "columns:\n  x: {type: float}\n  y: {type: float}\n  x: {type: int}\nlabel: {column: y}\n"
    )
    with pytest.raises(UserError, match="line 4 'x' appears twice"):
        load_schema(_write(tmp_path, text))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2020-99-99", ["line 1", "'2020-99-99' is invalid", "put text in quotes"]),
        ("0x_", ["line 1", "'0x_' is invalid", "put text in quotes"]),
        ("1:30", ["line 1", "1:30 is the number 90 in YAML", "put text in quotes"]),
        ("[-1:30.5]", ["line 1", "-1:30.5 is the number -90.5 in YAML"]),
        ('"a\\0b"', ["line 1", "a character that is not text"]),
        ('"\\ud800"', ["line 1", "a character that is not text"]),
        ("[" * 5000 + "]" * 5000, ["nested too deeply"]),
    ],
)
def test_invalid_yaml_values(tmp_path, value, words):
    with pytest.raises(UserError) as caught:
        load_schema(_write(tmp_path, f"columns: {{x: {{default: {value}}}}}"))
    assert len(str(caught.value).splitlines()) == 1
    for word in words:
        assert word in str(caught.value)


def test_missing_schema_file(tmp_path):
    with pytest.raises(UserError, match="schema .*nowhere.yaml: No such file"):
        load_schema(str(tmp_path / "nowhere.yaml"))


def test_vocabulary_file_is_relative_to_the_schema(tmp_path):
    (tmp_path / "words.txt").write_text("Köln\nBonn\u2028am Rhein\n", encoding="utf-8")
    (tmp_path / "ids.txt").write_bytes(b"3\r\n5\r\n")
    columns = {
        "c": {"type": "string", "vocabulary_file": "words.txt", "oov_buckets": 2},
        "x": {"type": "int", "vocabulary_file": "ids.txt"},
    }
    schema = load_schema(_write(tmp_path, _with(columns)))
    assert schema.columns["c"].vocabulary == ("Köln", "Bonn\u2028am Rhein")
    assert schema.columns["c"].size == 4
    assert schema.columns["x"].vocabulary == (3, 5)
    # What is stored with a model stands on its own.
    assert Schema.model_validate(schema.model_dump(mode="json")) == schema


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\nb\na\n", "'a' appears twice"),
        (b"", "vocabulary is empty"),
        (b"a\n\nb\n", "'' means no value"),
        (b"\xff\xfe\n", "words.txt"),
        (None, "words.txt"),
    ],
)
def test_bad_vocabulary_files(tmp_path, content, words):
    if content is not None:
        (tmp_path / "words.txt").write_bytes(content)
    path = _write(tmp_path, _with({"c": {"type": "string", "vocabulary_file": "words.txt"}}))
    with pytest.raises(UserError) as caught:
        load_schema(path)
    assert "columns.c.vocabulary_file" in str(caught.value) and words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_int_vocabulary_file_with_text(tmp_path):
    (tmp_path / "ids.txt").write_text("3\nx\n")
    path = _write(tmp_path, _with({"x": {"type": "int", "vocabulary_file": "ids.txt"}}))
    with pytest.raises(UserError, match="columns.x.vocabulary_file .*'x'"):
        load_schema(path)


def test_defaults():
    seen = Range(count=3, missing=1, mean=2.5, std=1, min=1, max=4)
    columns = {
        "x": {"type": "float", "default": "mean"},
        "f": {"type": "float", "default": 7},
        # To YAML this is text.
        "e": {"type": "float", "default": "1e-3"},
        "i": {"type": "int"},
        "s": {"type": "string", "hash_buckets": 3, "default": "none"},
    }
    schema = Schema.model_validate(_with(columns))
    defaults = resolve_defaults(schema, Statistics(4, {"x": seen}))
    assert defaults == {"x": 2.5, "f": 7, "e": 0.001, "i": None, "s": "none", "c": "", "y": None}


@pytest.mark.parametrize("name", ["census", "natality"])
def test_schemas_of_the_presets_are_valid(make, name):
    schema = load_schema(str(make.root / "hparams" / "schemas" / f"{name}.yaml"))
    assert schema.task == {"census": "binary", "natality": "regression"}[name]


def test_a_message_shows_the_start_of_a_long_value():
    values = {"columns": {"x": {"type": "float", "default": {"text": "x" * 5000}}}}
    with pytest.raises(ValueError, match="is not a float") as caught:
        Schema.model_validate({**values, "label": {"column": "x"}})
    (problem,) = caught.value.errors()
    assert len(problem["msg"]) < 200
