"""Data and model of each case, as CSV text and JSON, which every contender reads.

The JSON (see `describe`) says what the trainer's own schema says, so that all train one model.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import NamedTuple, Optional

ROOT = Path(__file__).resolve().parent.parent
# Layers of the wide-and-deep census model of the published samples.
HIDDEN_UNITS = {
    "census": (100, 70, 50, 25),
    "natality": (64, 32),
    "flights": (128, 64),
    "clicks": (64, 32),
}
# Greatest number of hash buckets of a column of the click data.
CLICK_BUCKETS = 1 << 18
CLICK_EVAL_ROWS = 100_000


class Case(NamedTuple):
    """One data set, written out for all contenders.

    Attributes:
        name: census, natality, flights or clicks.
        train, eval: paths of CSV files.
        rows, eval_rows: rows in them.
        header: whether the files have a header line.
        model: path of the JSON.
        flags: what the trainer needs to be told, its preset or schema included.
    """

    name: str
    train: str
    eval: str
    rows: int
    eval_rows: int
    header: bool
    model: str
    flags: tuple[str, ...]


def prepare(name: str, folder: Path, data: Optional[Path], rows: int) -> Optional[Case]:
    """Writes the files of a case; returns None if its raw data are missing.

    Args:
        name: census, natality, flights or clicks.
        folder: where to write; what is there already is used again.
        data: folder with census/ and natality/, each with train.csv and eval.csv.
        rows: least number of training rows; the real rows are repeated, whole, to reach it.
    """
    if name == "clicks":
        return _prepare_clicks(folder / name, rows)
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    if name == "flights":
        raw_train, raw_eval = _write_flights(folder)
    else:
        raw_train, raw_eval = (data / name / f"{part}.csv" for part in ("train", "eval"))
        if not raw_train.exists():
            return None
    header = name == "flights"
    lines = raw_train.read_bytes().splitlines(keepends=True)
    first, lines = (lines[0], lines[1:]) if header else (b"", lines)
    copies = -(-rows // len(lines))
    train = folder / f"train-{copies}.csv"
    if not train.exists():
        partial = train.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(first)
            for _ in range(copies):
                file.writelines(lines)
        partial.rename(train)
    model = folder / "model.json"
    hidden = HIDDEN_UNITS[name]
    schema = ROOT / f"hparams/schemas/{name}.yaml"
    model.write_text(json.dumps(describe(name, schema, raw_train), indent=1))
    return Case(
        name,
        str(train),
        str(raw_eval),
        copies * len(lines),
        len(raw_eval.read_bytes().splitlines()) - header,
        header,
        str(model),
        (f"--hparams={name}", f"--model.hidden_units={','.join(map(str, hidden))}", *PLAIN_FLAGS),
    )


def _prepare_clicks(folder: Path, rows: int) -> Case:
    """Generates click data, of which no row is repeated, and a schema by hand."""
    import clicks
    import yaml

    paths = {}
    for seed, (part, number) in enumerate((("train", rows), ("eval", CLICK_EVAL_ROWS))):
        written = folder / f"{part}-{number}"
        paths[part] = written / "part-00000.csv"
        if not paths[part].exists():
            partial = folder / f"{part}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            options = {"rows": number, "ids": 1_000_000, "format": "csv", "files": 1, "days": 0}
            clicks.write_files(partial, argparse.Namespace(seed=seed, **options))
            partial.rename(written)
    schema, model = folder / "schema.yaml", folder / "model.json"
    schema.write_text(yaml.safe_dump(clicks.describe_schema(CLICK_BUCKETS), sort_keys=False))
    model.write_text(json.dumps(describe("clicks", schema, paths["train"]), indent=1))
    hidden = ",".join(map(str, HIDDEN_UNITS["clicks"]))
    flags = (f"--data.schema_file={schema}", f"--model.hidden_units={hidden}", *PLAIN_FLAGS)
    train, evaluation = (str(paths[part]) for part in ("train", "eval"))
    return Case("clicks", train, evaluation, rows, CLICK_EVAL_ROWS, True, str(model), flags)


# The contenders support neither dropout nor regularisation, and one pair of learning rates.
LEARNING_RATE, LINEAR_LEARNING_RATE = 0.05, 0.02
PLAIN_FLAGS = (
    "--model.dropout=0",
    "--train.l1=0",
    "--train.l2=0",
    f"--train.learning_rate={LEARNING_RATE}",
    f"--train.linear_learning_rate={LINEAR_LEARNING_RATE}",
)


def _write_flights(folder: Path) -> tuple[Path, Path]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from trainer.demo import flights
    from trainer.schema import load_schema

    shards = folder / "shards"
    paths = folder / "train-raw.csv", folder / "eval-raw.csv"
    if not all(path.exists() for path in paths):
        shutil.rmtree(shards, ignore_errors=True)
        flights.prepare(str(shards))
        names = list(load_schema(str(ROOT / "hparams/schemas/flights.yaml")).columns)
        for part, path in zip(("train", "eval"), paths):
            tables = [
                pyarrow.parquet.read_table(shard, columns=names)
                for shard in sorted(shards.glob(f"{part}-*.parquet"))
            ]
            pyarrow.csv.write_csv(
                pa.concat_tables(tables),
                path,
                pyarrow.csv.WriteOptions(quoting_style="none"),
            )
    return paths


def describe(name: str, schema_path: Path, train: Path) -> dict:
    """Returns the model of a case as plain values.

    Args:
        name: of the case.
        schema_path: YAML file of the schema.
        train: CSV file of the training rows, for their statistics.

    Returns:
        "columns": each CSV column in order: name, dtype, default, "wide" and "deep" (0: not there,
        1: as it is or one-hot, n: embedding of n) and "kind": number (log, shift, scale, buckets),
        words (vocabulary), hash or identity (size), unused;
        "crosses": columns and size; "label": column and classes (None for a regression).
    """
    from trainer import config as config_lib
    from trainer.console import Console
    from trainer.inputs.files import find_files
    from trainer.inputs.scan import scan_files
    from trainer.schema import load_schema, resolve_defaults

    schema = load_schema(str(schema_path))
    files = find_files([str(train)], "csv", "data.train")
    statistics = scan_files(files, schema, config_lib.DataConfig(), Console()).statistics
    defaults = resolve_defaults(schema, statistics)
    columns = [
        _describe_column(column_name, column, schema, statistics, defaults.get(column_name))
        for column_name, column in schema.columns.items()
    ]
    classes = schema.label.vocabulary or list(range(schema.num_classes or 0)) or None
    return {
        "columns": columns,
        "crosses": [
            {"columns": list(cross.columns), "size": cross.hash_buckets} for cross in schema.crosses
        ],
        "label": {"column": schema.label.column, "classes": classes and list(classes)},
        "hidden_units": HIDDEN_UNITS[name],
        "learning_rate": LEARNING_RATE,
        "linear_learning_rate": LINEAR_LEARNING_RATE,
    }


def _describe_column(name, column, schema, statistics, default) -> dict:
    from trainer.schema import MAX_INDICATOR_SIZE

    made = {"name": name, "dtype": column.type, "default": default, "kind": "unused"}
    if name not in schema.features or not column.use:
        return made
    wide, deep = ("wide" in column.use), ("deep" in column.use)
    if not column.is_categorical:
        seen = statistics.columns[name]
        is_log = column.normalize == "log"
        made.update(
            kind="number",
            log=is_log,
            shift=0.0 if is_log else seen.mean,
            scale=1.0 if is_log else seen.std or 1.0,
            buckets=list(column.buckets or ()),
        )
        return {**made, "wide": int(wide), "deep": int(deep)}
    if column.vocabulary is not None:
        made.update(kind="words", vocabulary=list(column.vocabulary))
    else:
        made.update(
            kind="identity" if column.identities else "hash",
            size=column.identities or column.hash_buckets,
        )
    if deep:
        one_hot = column.embedding is None and column.size <= MAX_INDICATOR_SIZE
        # The trainer's default dimension of an embedding.
        deep = 1 if one_hot else column.embedding or max(2, round(6 * column.size**0.25))
    return {**made, "wide": int(wide), "deep": int(deep)}
