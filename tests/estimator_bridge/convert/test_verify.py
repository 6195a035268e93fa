"""Converts and verifies a trained job_dir by the commands in docs/migration.md."""

import importlib.metadata
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest
import yaml

from estimator_bridge.convert.plan.model import Head
from estimator_bridge.convert.verify.differences import (
    area_under_curve,
    compare_losses,
    compare_outputs,
    metrics_of,
)
from estimator_bridge.output.html_page import POLICY

KERAS = importlib.metadata.version("keras")
needs_keras_3 = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
TIMEOUT_SECS = 300

# A column of every kind.
SCHEMA = """
missing_values: ["", "?"]
columns:
  age: {type: float, default: mean, missing_indicator: true, buckets: [20, 30, 45]}
  pay: {type: float, normalize: log}
  height: {type: float, normalize: minmax}
  depth: {type: float, normalize: {mean: 3.0, std: 2.0}}
  plain: {type: int, normalize: none, buckets: [2, 4]}
  color: {type: string, vocabulary: [red, green, blue]}
  shape: {type: string, vocabulary: [round, square], oov_buckets: 3}
  size: {type: int, vocabulary: [3, 5, 7], oov_buckets: 2, embedding: 3}
  city: {type: string, hash_buckets: 40}
  zip: {type: int, hash_buckets: 9, embedding: 2}
  rank: {type: int, identities: 6}
  tags: {type: string, vocabulary: [new, "on sale"], separator: "|", weights: shares}
  shares: {type: float, separator: "|"}
  seen: {type: int, identities: 5, separator: " "}
  born: {type: string, date: [year, weekday]}
  review: {type: string, hash_buckets: 50, embedding: 4, use: [deep], text: {ngrams: 2}}
  origin: {type: string, vocabulary: [Oslo, Rome], oov_buckets: 2}
  dest: {type: string, vocabulary: [Oslo, Rome], oov_buckets: 2}
  left_out: {type: float, use: []}
  weight: {type: float}
  key: {type: string}
  sold: {type: string}
crosses:
  - {columns: [color, age], hash_buckets: 30}
  - {columns: [city, color, age], hash_buckets: 50, embedding: 4}
  - {columns: [rank, size], hash_buckets: 20}
  - {columns: [seen, tags, age], hash_buckets: 20}
shared_embeddings:
  - {columns: [dest, origin], dimension: 3}
label: {column: sold, vocabulary: ["no", "yes"], class_weights: {"yes": 2}}
weight: weight
key: key
"""


def run(*args, cwd, status=0):
    done = forked.run(
        [sys.executable, "-m", *map(str, args)],
        preload="trainer",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECS,
        cwd=cwd,
    )
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done


def write_rows(path, num_rows, seed):
    draw = random.Random(seed)
    lines = []
    for row in range(num_rows):
        tags = draw.choices(["new", "on sale", "mauve"], k=draw.randrange(4))
        fields = [
            draw.choice(["", f"{draw.uniform(10, 60):.2f}"]),
            f"{draw.uniform(-5, 100):.3f}",
            f"{draw.uniform(1, 2):.3f}",
            f"{draw.uniform(0, 9):.3f}",
            draw.randrange(6),
            draw.choice(["red", "green", "blue", "mauve", "?"]),
            draw.choice(["round", "square", "flat", "bent", ""]),
            draw.choice([3, 5, 7, 9, 11]),
            draw.choice(["Oslo", "Rome", "Paris", "?"]),
            draw.choice([10115, 75001, 150]),
            draw.choice([0, 1, 5, 8]),
            "|".join(tags),
            "|".join(draw.choice(["0.5", "1", "2.25", "1e-1"]) for _ in tags),
            " ".join(draw.choice("014-") + "1" for _ in range(draw.randrange(4))),
            draw.choice(["2020-12-31", "1999-01-01 23:59", "2021-02-28T07:00:00.5", "?"]),
            draw.choice(["A GOOD one; isn't it? Über", "?", "bad... bad bad", "42 x"]),
            draw.choice(["Oslo", "Paris"]),
            draw.choice(["Oslo", "Rome", "Berlin"]),
            1.5,
            draw.choice([0.5, 1.0, 2.0]),
            f"row{row}",
            draw.choice(["no", "yes"]),
        ]
        lines.append(",".join(map(str, fields)))
    path.write_text("\n".join(lines) + "\n")


# Loads much faster than a model of every column; for tests that are not about columns.
FEW = """
missing_values: ["", "?"]
columns:
  age: {type: float, default: mean, missing_indicator: true, buckets: [20, 30, 45]}
  color: {type: string, vocabulary: [red, green, blue]}
  city: {type: string, hash_buckets: 40, embedding: 2}
  weight: {type: float}
  key: {type: string}
  sold: {type: string}
crosses:
  - {columns: [color, age], hash_buckets: 30}
label: {column: sold, vocabulary: ["no", "yes"]}
weight: weight
key: key
"""


def train_job(make, folder, schema, **sections):
    """Trains on the files in a folder; returns the job_dir."""
    from trainer.schema import Schema

    options = {"export": {"exporters": ["final"]}, **sections}
    files = () if "data" in sections else (folder / "train.csv", folder / "eval.csv")
    config = make.config(folder / "job", *files, **options)
    make.run(config, Schema.model_validate(yaml.safe_load(schema)))
    return str(folder / "job")


def convert_job(make, folder, schema):
    """Trains and converts; writes job, model.keras, model and model.py to the folder."""
    from estimator_bridge.convert import command

    train = {"max_steps": 30, "batch_size": 32}
    trained = train_job(make, folder, schema, train=train, model={"hidden_units": [8, 4]})
    flags = [f"--output={folder / 'model.keras'}", f"--emit_code={folder / 'model.py'}"]
    assert command.main([f"--job_dir={trained}", *flags]) == 0
    return folder


@pytest.fixture(scope="module")
def job(make, tmp_path_factory):
    """Returns a folder with a converted job with a column of every kind."""
    folder = tmp_path_factory.mktemp("every")
    write_rows(folder / "train.csv", 300, 1)
    write_rows(folder / "eval.csv", 120, 2)
    return convert_job(make, folder, SCHEMA)


@pytest.fixture(scope="module")
def small(make, tmp_path_factory):
    """Returns a folder with a converted job with few columns."""
    folder = tmp_path_factory.mktemp("few")
    names = list(yaml.safe_load(SCHEMA)["columns"])
    kept = [names.index(name) for name in yaml.safe_load(FEW)["columns"]]
    for name, num_rows in (("train.csv", 300), ("eval.csv", 120)):
        write_rows(folder / name, num_rows, num_rows)
        lines = [line.split(",") for line in (folder / name).read_text().splitlines()]
        few = (",".join(line[index] for index in kept) for line in lines)
        (folder / name).write_text("\n".join(few) + "\n")
    return convert_job(make, folder, FEW)


@needs_keras_3
def test_converted_job_passes(job):
    flags = ("--job_dir=job", "--keras_model=model.keras", "--steps=60", "--batch_size=16")
    done = run("estimator_bridge", "verify", *flags, "--json=v.json", "--html=v.html", cwd=job)
    assert "PASSED" in done.stdout
    found = json.loads((job / "v.json").read_text())
    assert {one["side"] for one in found["differences"]} == {"export", "keras", "saved_model"}
    assert max(one["scaled"] for one in found["differences"]) <= 1e-6
    assert found["training"]["max_relative"] < 1e-5
    assert set(found["metrics"]["keras"]) >= {"loss", "auc (trapezoidal)", "auc (interpolation)"}
    page = (job / "v.html").read_text()
    assert "PASSED" in page and "<svg" in page
    assert f'Content-Security-Policy" content="{POLICY}"' in page
    assert "prefers-color-scheme: dark" in page and '<a href="#s2">Outputs</a>' in page


@needs_keras_3
def test_a_converted_job_of_trees_passes(make, tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    write_rows(Path("train.csv"), 300, 1)
    write_rows(Path("eval.csv"), 120, 2)
    model = {"type": "boosted_trees", "n_trees": 4, "max_depth": 4, "max_buckets": 20}
    train_job(make, tmp_path, SCHEMA, model=model, train={"max_steps": 1000})
    assert command.main(["--job_dir=job", "--output=model.keras", "--lightgbm=trees.txt"]) == 0
    flags = ["--job_dir=job", "--keras_model=model.keras", "--json=v.json"]
    assert verify.main(flags) == 0, capsys.readouterr()
    differences = json.loads(Path("v.json").read_text())["differences"]
    assert {one["side"] for one in differences} == {"export", "keras", "saved_model"}
    assert max(one["scaled"] for one in differences) == 0
    names = Path("trees.txt").read_text().split("feature_names=")[1].split("\n")[0].split()
    assert {"plain", "age_missing=0", "born_weekday", "color=red", "seen=4"} <= set(names)


@needs_keras_3
def test_changed_model_fails(small, monkeypatch, capsys):
    import keras

    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(small)
    model = keras.saving.load_model("model.keras")
    bias = model.get_layer("dnn_logits").bias
    bias.assign(bias + 0.01)
    model.save("changed.keras")
    flags = ["--job_dir=job", "--keras_model=changed.keras", "--steps=0", "--html=changed.html"]
    assert verify.main(flags) == 1
    printed = capsys.readouterr().out
    assert "problem: keras: logits differs by 0.01, tolerance 1e-06" in printed
    place, weight = re.findall(r"^where: (.*)", printed, re.M)
    assert re.fullmatch(
        r"keras: the first to differ: layer dnn_logits \(by 0.01 in row \d+\)", place
    )
    assert "not those of the checkpoint: dnn_logits/bias (by 0.01; 1 of 1 numbers of dnn/" in weight
    page = Path("changed.html").read_text()
    assert place in page and "column city_embedding of the deep part" in page


@needs_keras_3
def test_normalised_label_another_encoding_and_a_divided_file(make, tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.verify import command as verify

    draw = random.Random(300)
    lines = [
        f"{age},{color},{5000 + 30 * age + 100 * (color == 'grün')}"
        for age, color in (
            (draw.randrange(90), draw.choice(["grün", "rot", "blau"])) for _ in range(360)
        )
    ]
    (tmp_path / "train.csv").write_bytes("\n".join(lines).encode("cp1252"))
    schema = """
columns:
  age: {type: float, buckets: [20, 50]}
  color: {type: string, vocabulary: [rot, grün, blau]}
  price: {type: float}
label: {column: price, normalize: {mean: 6300, std: 800}}
"""
    train_job(
        make,
        tmp_path,
        schema,
        data={
            "train": [str(tmp_path / "train.csv")],
            "eval_share": 0.2,
            "encoding": "cp1252",
        },
        train={"max_steps": 30, "batch_size": 32},
        model={"hidden_units": [8, 4]},
    )
    monkeypatch.chdir(tmp_path)
    assert command.main(["--job_dir=job", "--output=model.keras"]) == 0
    flags = ["--job_dir=job", "--keras_model=model.keras", "--steps=20", "--batch_size=16"]
    assert verify.main([*flags, "--json=v.json"]) == 0, capsys.readouterr().out
    found = json.loads(Path("v.json").read_text())
    assert found["training"]["max_relative"] < 1e-5
    # The model is good after few steps only because it computes the normalised price.
    assert found["metrics"]["keras"]["rmse"] < 600
    assert found["rows"] == 360
    assert any("training and evaluation rows" in note for note in found["notes"])


SEQUENCES = """
columns:
  items: {type: string, vocabulary: [a, b], oov_buckets: 1, separator: "|", use: [sequence]}
  clicks: {type: int, identities: 5, separator: " ", use: [sequence], embedding: 3}
  secs: {type: float, separator: " ", use: [sequence]}
  age: {type: float}
  "page/kind (ü)": {type: string, hash_buckets: 5}
  sold: {type: string}
  hours: {type: float}
  claims: {type: float}
  toxic: {type: int}
  insult: {type: int}
label: {column: sold, vocabulary: ["no", "yes"]}
more_labels:
  - {column: hours, importance: 0.1}
  - {column: claims, loss: poisson}
  - {columns: [toxic, insult]}
"""


def write_sequences(path, num_rows, seed):
    draw, lines = random.Random(seed), []
    for _ in range(num_rows):
        steps = draw.randrange(4)
        items = "|".join(draw.choices(["a", "b", "zz", ""], k=steps)) if steps > 1 else "a" * steps
        fields = [
            items,
            " ".join(draw.choices("01234", k=steps if items.strip() else 0)),
            " ".join(f"{draw.uniform(-5, 5):.3f}" for _ in range(steps if items.strip() else 0)),
            f"{draw.uniform(1, 9):.2f}",
            draw.choice(["front", "back"]),
            draw.choice(["no", "yes"]),
            f"{draw.uniform(0, 3):.2f}",
            draw.randrange(5),
            draw.randrange(2),
            draw.randrange(2),
        ]
        lines.append(",".join(map(str, fields)))
    path.write_text("\n".join(lines) + "\n")


@needs_keras_3
@pytest.mark.matrix
def test_recurrent_job_with_several_heads(make, tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.verify import command as verify

    write_sequences(tmp_path / "train.csv", 200, 1)
    write_sequences(tmp_path / "eval.csv", 100, 2)
    sections = {
        "model": {"type": "rnn", "cell": "gru", "hidden_units": [5, 4]},
        "train": {"max_steps": 20, "batch_size": 32},
    }
    train_job(make, tmp_path, SEQUENCES, **sections)
    monkeypatch.chdir(tmp_path)
    assert command.main(["--job_dir=job", "--output=model.keras"]) == 0
    printed = capsys.readouterr()
    assert "converted rnn (multihead), step 20" in printed.out
    assert "note: SavedModel: 'page/kind (ü)' cannot be the name of an argument" in printed.err
    flags = ["--job_dir=job", "--keras_model=model.keras", "--steps=200", "--batch_size=16"]
    assert verify.main([*flags, "--json=v.json"]) == 0
    assert "PASSED" in capsys.readouterr().out
    found = json.loads((tmp_path / "v.json").read_text())
    # The SavedModel has no signatures of raw tensors: "page/kind (ü)" cannot be an argument.
    assert {one["side"] for one in found["differences"]} == {"export", "keras"}
    assert found["training"]["max_relative"] < 1e-5
    heads = {name.partition("/")[0] for name in found["metrics"]["keras"]}
    assert heads == {"sold", "hours", "claims", "toxic"}


def programs_of_the_guide():
    """Returns name -> source of the programs in docs/migration.md; the first line has the name."""
    text = (Path(__file__).parents[3] / "docs" / "migration.md").read_text()
    blocks = re.findall(r"```python\n(# (\w+\.py):.*?)```", text, re.S)
    return {name: code for code, name in blocks}


# One process for all programs, because the import of TensorFlow takes most of the time.
RUN_ALL = """
import runpy, sys
for given in sys.argv[1:]:
    sys.argv = given.split()
    print("== " + sys.argv[0], flush=True)
    runpy.run_path(sys.argv[0], run_name="__main__")
assert not [name for name in sys.modules if name.startswith("estimator_bridge")]
"""


@needs_keras_3
def test_guide_programs_and_written_module_run_without_the_bridge(small):
    programs = programs_of_the_guide()
    assert list(programs) == ["train.py", "evaluate.py", "mirrored.py", "serve.py"]
    for name, code in programs.items():
        (small / name).write_text(code)
    names = yaml.safe_load(FEW)["columns"]
    (small / "header.csv").write_text(f"{','.join(names)}\n{(small / 'eval.csv').read_text()}")
    (small / "header.py").write_text(programs["serve.py"].replace("eval.csv", "header.csv"))
    emitted = "model.py --train=train.csv --eval=eval.csv --start=model.keras --output=own.keras"
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, emitted, *programs, "header.py"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECS,
        cwd=small,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = dict(part.split("\n", 1) for part in done.stdout.split("== ")[1:])
    assert "loss" in printed["model.py"] and (small / "own.keras").exists()
    assert "Epoch 3/3" in printed["train.py"]
    for path in ("trained.keras", "best.keras", "losses.csv", "checkpoints/003.keras"):
        assert (small / path).exists(), path
    assert (small / "export" / "1" / "saved_model.pb").exists()
    # The job had 30 steps.
    records = [json.loads(line) for line in (small / "evaluations.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == [50, 70, 90]
    assert "logits" in printed["serve.py"] and printed["header.py"] == printed["serve.py"]


@needs_keras_3
@pytest.mark.parametrize("kind", ["tfrecord", "tfrecord.gz", "parquet"])
def test_every_file_format_gives_the_same_rows(kind, job):
    import pyarrow
    import pyarrow.parquet

    from estimator_bridge import tf
    from estimator_bridge.convert.read.job_dir import read_job_dir
    from estimator_bridge.convert.read.rows import read_files

    plan = read_job_dir(str(job / "job"))
    lines = [line.split(",") for line in (job / "eval.csv").read_text().splitlines()]
    kinds = {feature.name: feature.dtype for feature in plan.inputs}
    rows = [dict(zip(plan.data.columns, line)) for line in lines]
    target = str(job / f"rows.{kind}")
    if kind == "parquet":
        columns = {
            name: [parsed(kinds, name, row[name]) for row in rows] for name in plan.data.columns
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), target)
    else:
        options = tf.io.TFRecordOptions(compression_type="GZIP" if kind.endswith("gz") else "")
        with tf.io.TFRecordWriter(target, options) as writer:
            for row in rows:
                writer.write(to_example(tf, kinds, row))
    expected = read_files(plan, [str(job / "eval.csv")], 100)
    found = read_files(plan, [target], 100)
    assert (expected.labels == found.labels).all()
    for name, values in expected.features.items():
        np.testing.assert_array_equal(values, found.features[name], name)


def parsed(kinds, name, text):
    if text in ("", "?"):
        return None
    if name == "tags":
        # Multivalent features may also be lists.
        return text.split("|")
    kind = kinds.get(name, "float32" if name in ("weight", "left_out") else "string")
    return {"float32": float, "int64": int, "string": str}[kind](text)


def to_example(tf, kinds, row):
    features = {}
    for name, text in row.items():
        value = parsed(kinds, name, text)
        if value is None:
            continue
        if isinstance(value, list):
            values = [one.encode() for one in value]
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        elif isinstance(value, int):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
        elif isinstance(value, float):
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        else:
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
        features[name] = feature
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def signatures_of(path):
    """Returns signature -> dtype and rank of its inputs and outputs."""
    from estimator_bridge import tf

    return {
        name: [
            {key: (spec.dtype.name, spec.shape.rank) for key, spec in part.items()}
            for part in (signature.structured_input_signature[1], signature.structured_outputs)
        ]
        for name, signature in tf.saved_model.load(str(path)).signatures.items()
    }


@needs_keras_3
def test_saved_model_has_the_signatures_of_the_export(small):
    from estimator_bridge import tf

    (export,) = (small / "job" / "export" / "final").iterdir()
    assert signatures_of(export) == signatures_of(small / "model")
    row = {"age": float("nan"), "color": "?", "city": "", "weight": 1.0, "key": "?"}
    answers = []
    for folder in (export, small / "model"):
        predict = tf.saved_model.load(str(folder)).signatures["json:predict"]
        given = {name: tf.constant([row[name]]) for name in predict.structured_input_signature[1]}
        answers.append(predict(**given))
    assert answers[0]["key"] == answers[1]["key"] == [b"?"]
    # As a line of CSV: the key is forwarded, and the text that means a missing value is none.
    for folder in (export, small / "model"):
        names = [name for name in yaml.safe_load(FEW)["columns"] if name not in ("weight", "sold")]
        line = ",".join({"age": "?", "color": "?", "city": "", "key": "?"}[name] for name in names)
        answer = tf.saved_model.load(str(folder)).signatures["csv:predict"](csv=tf.constant([line]))
        assert answer["key"] == [b"?"]
        np.testing.assert_allclose(answer["logits"], answers[0]["logits"], rtol=1e-5)
    logits = [answer["logits"].numpy() for answer in answers]
    assert np.isfinite(logits[0]).all()
    np.testing.assert_allclose(*logits, rtol=1e-5)


@needs_keras_3
def test_existing_files_are_kept_and_errors_are_one_line(small):
    args = ("estimator_bridge", "convert", "--job_dir=job", "--output=model.keras")
    done = run(*args, cwd=small, status=2)
    assert done.stderr.count("\n") == 1 and "model.keras already exists" in done.stderr
    args = ("estimator_bridge", "convert", "--job_dir=nowhere", "--output=other.keras")
    done = run(*args, cwd=small, status=2)
    assert "config.yaml cannot be read" in done.stderr and "Traceback" not in done.stderr


def test_area_under_curve_equals_that_of_tensorflow():
    draw = np.random.default_rng(1)
    truth = draw.integers(0, 2, 500).astype(np.float64)
    score = np.clip(truth * 0.2 + draw.uniform(0, 0.8, 500), 0, 1).astype(np.float32)
    weight = draw.uniform(0.5, 2, 500)
    from estimator_bridge import tf

    for curve, name in (("auc", "ROC"), ("auc_precision_recall", "PR")):
        metric = tf.keras.metrics.AUC(curve=name)
        metric.update_state(truth, score, weight)
        found = area_under_curve(truth, score, weight, curve, "interpolation")
        assert found == pytest.approx(float(metric.result()), abs=1e-5)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            value, update = tf.compat.v1.metrics.auc(truth, score, weight, curve=name)
            session.run(tf.compat.v1.local_variables_initializer())
            session.run(update)
            expected = session.run(value)
        found = area_under_curve(truth, score, weight, curve, "trapezoidal")
        assert found == pytest.approx(expected, abs=1e-5)


def test_differences_are_found():
    expected = {
        "logits": np.array([[1.0], [200.0]], np.float32),
        "classes": np.array([[b"a"], [b"b"]], object),
    }
    found = {"logits": expected["logits"] + np.float32(1e-4), "classes": expected["classes"][::-1]}
    differences, problems = compare_outputs("keras", expected, found)
    by_name = {one.output: one for one in differences}
    assert problems == []
    assert by_name["classes"].max_abs == 1.0 and by_name["classes"].mean_abs == 1.0
    assert by_name["logits"].worst[0] == 0 and 9e-5 < by_name["logits"].scaled < 2e-4
    nan = {"logits": np.array([[np.nan], [200.0]], np.float32)}
    assert compare_outputs("keras", expected, nan)[0][0].max_abs == np.inf
    assert compare_outputs("keras", expected, nan)[1] == ["keras: output classes is missing"]


def test_losses_and_metrics():
    curve = compare_losses([2.0, 1.0], [2.0, 1.1])
    assert curve["at_step"] == 2 and curve["max_relative"] == pytest.approx(0.1)
    assert compare_losses([1.0], []) is None
    head = Head("multiclass", 3, None, "sum", None)
    answers = {"logits": np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]))}
    found = metrics_of(head, answers, {"logits": np.array([0, 2])}, {})
    assert found["loss"] == pytest.approx((np.log(2) + np.log(10)) / 2)
    assert found["accuracy"] == 0.5
