"""Schemas and rows that nobody would write: one line of error, or what was written is what is read.

Found by these: numbers that no int64 or float32 holds, dates that are none, names that no scope of
a graph may have, keys with line ends.
"""

import copy

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer.errors import UserError
from trainer.schema import Schema, load_schema
from trainer.training.job import build_source

pytestmark = pytest.mark.newest

# The same examples in every run.
ALIKE = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
# Every field of a schema, each with a value that is right.
WHOLE = {
    "columns": {
        "a": {"type": "float", "default": "mean", "buckets": [1, 2.5]},
        "m": {"type": "float", "normalize": {"mean": 1, "std": 2}},
        "b": {
            "type": "string",
            "vocabulary": ["u", "v"],
            "oov_buckets": 1,
            "separator": "|",
            "weights": "w",
        },
        "w": {"type": "float", "separator": "|"},
        "c": {"type": "int", "identities": 5, "embedding": 2},
        "t": {"type": "string", "hash_buckets": 5, "text": {"ngrams": 2, "max_words": 9}},
        "i": {"type": "string", "image": {"size": 32}},
        "d": {"type": "string", "date": ["year", "hour"]},
        "e": {"type": "string", "hash_buckets": 7},
        "f": {"type": "string", "hash_buckets": 7, "default": "x"},
        "y": {"type": "int"},
        "z": {"type": "string"},
        "k": {"type": "string", "use": []},
        "g": {"type": "float"},
    },
    "label": {"column": "y", "num_classes": 3, "class_weights": {1: 2.0}},
    "more_labels": [{"column": "z", "vocabulary": ["p", "q"], "importance": 0.5}],
    "weight": "g",
    "key": "k",
    "crosses": [{"columns": ["a", "c"], "hash_buckets": 10, "embedding": 2}],
    "shared_embeddings": [{"columns": ["e", "f"], "dimension": 2}],
    "missing_values": ["", "?"],
}


def _list_places(node, here=()):
    """Every place in a tree of dicts and lists: its path of keys."""
    yield here
    if isinstance(node, (dict, list)):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
    else:
        pairs = ()
    for key, value in pairs:
        yield from _list_places(value, (*here, key))


PLACES = [place for place in _list_places(WHOLE) if place]
FIELDS = sorted({part for place in PLACES for part in place if isinstance(part, str)})
WORDS = st.one_of(
    st.sampled_from([*FIELDS, "float", "int", "string", "mean", "deep", "sequence", "log"]),
    st.text(max_size=5),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, 2, -1, 10**12, 2**63, 10**30, float("nan"), float("inf"), 1e300]),
    st.floats(),
    WORDS,
    st.dates(),
    st.binary(max_size=3),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, SCALARS), inner, max_size=4)
    ),
    max_leaves=6,
)


@st.composite
def damaged(draw):
    """A schema with up to three places changed, as YAML."""
    values = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(PLACES))
        node = values
        try:
            for part in place[:-1]:
                node = node[part]
            how = draw(st.sampled_from(["set", "add", "drop"]))
            if how == "set":
                node[place[-1]] = draw(VALUES)
            elif how == "drop":
                del node[place[-1]]
            else:
                node[place[-1]][draw(WORDS)] = draw(VALUES)
        except (KeyError, IndexError, TypeError):
            # An earlier change has taken the place away.
            continue
    return yaml.dump(values, allow_unicode=True, sort_keys=False)


SIGNS = st.text(alphabet="{}[]:,-?&*!|>'\"%@#`\n ab0x_1.~<=\t\\", max_size=40)
YAML = st.one_of(
    damaged(),
    damaged(),
    VALUES.map(lambda values: yaml.dump(values, allow_unicode=True)),
    SIGNS,
    SIGNS.map(lambda text: f"columns: {{a: {{type: float, default: {text[:12]}}}}}\n"),
    st.text(max_size=30),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("random")


@settings(max_examples=500, **ALIKE)
@given(text=YAML)
def test_any_text_is_a_schema_or_one_line_of_error(folder, text):
    path = folder / "schema.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        schema = load_schema(str(path))
    except UserError as error:
        assert len(str(error).splitlines()) == 1
        assert str(error).startswith(f"schema {path}:")
    else:
        stored = schema.model_dump(mode="json")
        assert Schema.model_validate(stored).model_dump(mode="json") == stored


# Schemas that are right, with rows that fit.

CHARACTERS = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r")
TEXT = st.text(CHARACTERS, min_size=1, max_size=6)
NAME = st.one_of(TEXT, st.sampled_from(["a b", "a_b", "a/b", "ü", "ö", "_", "a:0", "%s", "{}"]))
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
# In tf.Example the lowest int64 stands for no value.
INT = st.integers(1 - 2**63, 2**63 - 1)
DATE = st.datetimes().map(lambda time: time.isoformat(" ", "minutes"))
WORD_LIST = st.lists(TEXT, min_size=1, max_size=5, unique=True)


@st.composite
def column(draw):
    """A column as YAML has it, and what its values are drawn from."""
    kind = draw(st.sampled_from(["float", "int", "words", "ids", "hash", "text", "date", "tags"]))
    values = {"float": FLOAT, "int": INT, "ids": INT, "date": DATE}.get(kind, TEXT)
    made = {"type": {"float": "float", "int": "int", "ids": "int"}.get(kind, "string")}
    if kind in ("float", "int"):
        bounds = draw(st.lists(FLOAT, max_size=3, unique=True))
        made.update({"buckets": sorted(bounds)} if bounds else {})
    if kind == "ids":
        made["identities"] = draw(st.integers(1, 50))
    elif kind in ("words", "tags"):
        made["vocabulary"] = draw(WORD_LIST)
    elif kind in ("hash", "text"):
        made["hash_buckets"] = draw(st.integers(1, 100))
    if kind == "text":
        made["text"] = {"ngrams": draw(st.integers(1, 3))}
    elif kind == "date":
        made["date"] = ["month", "hour"]
    elif kind == "tags":
        made["separator"] = draw(st.sampled_from(["|", "::", " "]))
        values = st.lists(TEXT, max_size=4).map(made["separator"].join)
    elif draw(st.booleans()):
        made["default"] = draw(values)
    return made, values


@st.composite
def tables(draw):
    """A schema as YAML has it, and rows of it; None is a missing value."""
    names = draw(st.lists(NAME, min_size=2, max_size=6, unique=True))
    columns = {name: draw(column()) for name in names}
    kind, label = draw(
        st.sampled_from(
            [
                ("float", {}),
                ("int", {"num_classes": 2}),
                ("int", {"vocabulary": [1 - 2**63, 7]}),
                ("string", {"vocabulary": ["<=50K", ">50K", "\u2028 "]}),
            ]
        )
    )
    classes = label.get("vocabulary") or range(label.get("num_classes", 0))
    columns[names[-1]] = ({"type": kind}, st.sampled_from(list(classes)) if classes else FLOAT)
    made = {name: values for name, (values, _) in columns.items()}
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        row = {name: draw(values) for name, (_, values) in columns.items()}
        for name in names[:-1]:
            may_lack = made[name]["type"] == "string" or "default" in made[name]
            if may_lack and draw(st.integers(0, 4)) == 0:
                row[name] = None
        rows.append(row)
    schema = {"columns": made, "label": {"column": names[-1], **label}}
    return {**schema, "missing_values": draw(st.sampled_from([[""], ["", "NA"]]))}, rows


WRITERS = {
    "a.csv": lambda make, path, rows: make.csv(path, rows),
    "b.csv": lambda make, path, rows: make.csv(path, rows, header=False),
    "a.csv.gz": lambda make, path, rows: make.csv(path, rows, compress=True),
    "a.parquet": lambda make, path, rows: make.parquet(path, rows),
    "a.tfrecord": lambda make, path, rows: make.tfrecord(path, rows),
}
# Of TensorFlow's own errors alone: all values of a column missing is told to be a wrong name.
ALL_MISSING = "no record has a value for column"


@settings(max_examples=120, **ALIKE)
@given(table=tables(), name=st.sampled_from(list(WRITERS)))
def test_rows_of_any_schema_are_read_back(make, folder, table, name):
    values, rows = table
    schema = load_schema(make.yaml(folder / "schema.yaml", values))
    path = WRITERS[name](make, folder / name, rows)
    header = {"a.csv": "yes", "a.csv.gz": "yes", "b.csv": "no"}.get(name, "auto")
    config = make.config(rows=path, data={"header": header})
    try:
        source = build_source(make.prepare(config, schema), training=True)
    except UserError as error:
        assert name == "a.tfrecord" and ALL_MISSING in str(error)
        return
    chunks = list(source.read())
    # In the other formats a text is what it is.
    missing = schema.missing_values if "csv" in name else ("",) * (name == "a.tfrecord")
    for column_name in schema.input_columns:
        kind = schema.columns[column_name]
        default = "" if kind.default is None and kind.type == "string" else kind.default
        wanted = [row[column_name] for row in rows]
        wanted = [default if value is None or value in missing else value for value in wanted]
        got = np.concatenate([chunk[column_name] for chunk in chunks]).tolist()
        if kind.type == "float":
            wanted = [float(np.float32(value)) for value in wanted]
        if kind.type == "string":
            wanted = [value.encode() for value in wanted]
        assert got == wanted, column_name
