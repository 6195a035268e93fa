"""Measures what LightGBM, XGBoost and PyTorch need on click data to reach the trainer's log-loss.

    python benchmarks/others.py --python=PYTHON --folder=.bench

--python is the interpreter of an environment with lightgbm, xgboost, torch, numpy and pyarrow. The
rows are those of `clicks.py`, with the schema of `data.py`. Each contender runs in turn in a
process of its own, reads the CSV file, trains, and computes the log-loss of the evaluation rows now
and then, until it is as good as the trainer's after one epoch, or no longer falls. Measured is the
whole process: processor time of all threads, and the clock. That of the trainer includes its five
evaluations, its exports and its report.

LightGBM and XGBoost get the words of a column that occur in at least `MIN_ROWS` rows as categories;
all other words are one category. PyTorch gets the same model as the trainer: the same hash buckets
and embeddings with sparse gradients, the same linear part, layers, batches, and Adagrad.
"""

import argparse
import functools
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

OURS = "trainer"
# Trees, or batches of PyTorch, between two computations of the log-loss; and how many of these
# without a lower one end the training.
TREES, BATCHES, PATIENCE = 20, 200, 5
MOST_TREES, MOST_EPOCHS = 2_000, 3
MIN_ROWS = 10
BATCH_SIZE, EVALUATIONS = 512, 5


def read_columns(path):
    """Returns labels and counts, float32 [rows] and [rows, 13], and column of words → array."""
    import clicks
    import numpy as np
    import pyarrow.csv

    table = pyarrow.csv.read_csv(
        path, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    numbers = [table[name].to_numpy().astype(np.float32) for name in clicks.NUMBERS]
    words = {name: table[name].combine_chunks() for name in clicks.WORDS}
    return table[clicks.LABEL].to_numpy().astype(np.float32), np.stack(numbers, axis=1), words


def code_words(train, held_out):
    """Returns float32 [rows, 26] of both: the word's category, 0 for rare and unknown ones."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for name, words in train.items():
        found = pc.value_counts(words)
        kept = found.field("values").filter(pc.greater_equal(found.field("counts"), MIN_ROWS))
        kept = pa.array([word for word in kept.to_pylist() if word is not None], pa.string())
        parts.append(
            [
                pc.fill_null(pc.add(pc.index_in(column, value_set=kept), 1), 0).to_numpy()
                for column in (words, held_out[name])
            ]
        )
    return [np.stack(columns, axis=1).astype(np.float32) for columns in zip(*parts)]


class Progress:
    """Decides when a contender is good enough, or has stopped improving."""

    def __init__(self, target):
        self._target, self._since = target, 0
        self.best = math.inf

    def has_ended(self, log_loss):
        """Counts a log-loss; returns whether training ends."""
        self._since = 0 if log_loss < self.best else self._since + 1
        self.best = min(self.best, log_loss)
        return self.best <= self._target or self._since >= PATIENCE


def compute_log_loss(labels, probabilities):
    import numpy as np

    right = np.where(labels == 1, probabilities, 1 - probabilities).astype(np.float64)
    return float(-np.log(np.clip(right, 1e-12, 1)).mean())


def stack_features(options):
    """Returns features and labels of the training and of the evaluation rows, for trees."""
    import numpy as np

    (labels, numbers, words), (held, held_numbers, held_words) = map(
        read_columns, (options.train, options.eval)
    )
    codes, held_codes = code_words(words, held_words)
    return (np.hstack([numbers, codes]), labels), (np.hstack([held_numbers, held_codes]), held)


def grow(add_tree, predict, labels, target):
    """Adds trees until they are good enough; returns the lowest log-loss, and what was trained."""
    progress = Progress(target)
    for tree in range(1, MOST_TREES + 1):
        add_tree(tree)
        if not tree % TREES and progress.has_ended(compute_log_loss(labels, predict())):
            break
    return progress.best, f"{tree} trees"


def run_lightgbm(options):
    import lightgbm

    (x, y), (held_x, held_y) = stack_features(options)
    data = lightgbm.Dataset(x, y, categorical_feature=list(range(13, x.shape[1])))
    parameters = {"objective": "binary", "num_threads": os.cpu_count(), "verbose": -1}
    booster = lightgbm.Booster(parameters, data)
    return grow(
        lambda tree: booster.update(), lambda: booster.predict(held_x), held_y, options.target
    )


def run_xgboost(options):
    import xgboost

    (x, y), (held_x, held_y) = stack_features(options)
    kinds = ["q"] * 13 + ["c"] * (x.shape[1] - 13)
    data = xgboost.QuantileDMatrix(x, y, feature_types=kinds, enable_categorical=True)
    held = xgboost.QuantileDMatrix(
        held_x, held_y, feature_types=kinds, enable_categorical=True, ref=data
    )
    parameters = {"objective": "binary:logistic", "tree_method": "hist", "nthread": os.cpu_count()}
    booster = xgboost.Booster(parameters, [data, held])
    return grow(
        lambda tree: booster.update(data, tree),
        lambda: booster.predict(held),
        held_y,
        options.target,
    )


def encode(path, sizes):
    """Returns labels, logarithms of counts, and ids into one table for all columns, [rows, 26]."""
    import numpy as np
    import pyarrow.compute as pc

    labels, numbers, words = read_columns(path)
    logs = np.log1p(np.maximum(np.nan_to_num(numbers), 0))
    ids, first = [], 0
    for size, column in zip(sizes, words.values()):
        coded = pc.fill_null(column, "").dictionary_encode()
        # Any hash does; this one is quick, and the same in both files.
        values = np.array([hash_word(word) % size for word in coded.dictionary.to_pylist()])
        ids.append(first + values[coded.indices.to_numpy()])
        first += size
    return labels, logs, np.stack(ids, axis=1)


def hash_word(word):
    import zlib

    return zlib.crc32(word.encode()) if word else 0


def run_pytorch(options):
    import clicks
    import numpy as np
    import torch

    columns = clicks.describe_schema(options.buckets)["columns"]
    sizes = [columns[name]["hash_buckets"] for name in clicks.WORDS]
    labels, logs, ids = encode(options.train, sizes)
    held_labels, held_logs, held_ids = encode(options.eval, sizes)
    mean, std = logs.mean(axis=0), logs.std(axis=0)
    torch.manual_seed(1)
    model = make_network(torch, sum(sizes), [int(unit) for unit in options.hidden.split(",")])
    dense = [one for name, one in model.named_parameters() if not name.startswith("table")]
    sparse = [one for name, one in model.named_parameters() if name.startswith("table")]
    optimizer = torch.optim.Adagrad([*sparse, *dense], lr=0.05, initial_accumulator_value=0.1)
    progress, random, count = Progress(options.target), np.random.default_rng(0), 0

    def score():
        with torch.no_grad():
            parts = [
                torch.sigmoid(
                    model(
                        torch.from_numpy((held_logs[first : first + 8192] - mean) / std),
                        torch.from_numpy(held_ids[first : first + 8192]),
                    )
                )
                for first in range(0, len(held_labels), 8192)
            ]
        return compute_log_loss(held_labels, torch.cat(parts).numpy())

    for _ in range(MOST_EPOCHS):
        order = random.permutation(len(labels))
        for first in range(0, len(order) - BATCH_SIZE + 1, BATCH_SIZE):
            rows = order[first : first + BATCH_SIZE]
            logits = model(torch.from_numpy((logs[rows] - mean) / std), torch.from_numpy(ids[rows]))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                logits, torch.from_numpy(labels[rows])
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1
            if not count % BATCHES and progress.has_ended(score()):
                return progress.best, f"{count * BATCH_SIZE:,} rows"
    return progress.best, f"{count * BATCH_SIZE:,} rows"


def make_network(torch, buckets, hidden):
    class WideAndDeep(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(buckets, 16, sparse=True)
            self.table_wide = torch.nn.Embedding(buckets, 1, sparse=True)
            torch.nn.init.normal_(self.table.weight, std=0.25)
            torch.nn.init.zeros_(self.table_wide.weight)
            layers, width = [], 13 + 26 * 16
            for units in hidden:
                layers += [torch.nn.Linear(width, units), torch.nn.ReLU()]
                width = units
            self.deep = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))
            self.wide = torch.nn.Linear(13, 1)

        def forward(self, numbers, ids):
            embedded = self.table(ids).flatten(1)
            deep = self.deep(torch.cat([numbers, embedded], dim=1))
            return (deep + self.wide(numbers) + self.table_wide(ids).sum(dim=1)).squeeze(1)

    return WideAndDeep()


CONTENDERS = {"LightGBM": run_lightgbm, "XGBoost": run_xgboost, "PyTorch": run_pytorch}


def run_ours(case, rows):
    """Returns the log-loss of a job of one epoch, and what it trained."""
    with tempfile.TemporaryDirectory() as folder:
        steps = -(-rows // BATCH_SIZE)
        command = [sys.executable, "-m", "trainer.task", *case.flags, f"--train_data={case.train}"]
        command += [f"--eval_data={case.eval}", f"--job_dir={folder}/job", "--epochs=1"]
        command += [
            f"--batch_size={BATCH_SIZE}",
            f"--run.save_checkpoints_steps={steps // EVALUATIONS}",
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(done.stdout)
        found = json.loads(Path(folder, "job", "metrics.json").read_text())
    return found["best"]["average_loss"], f"{rows:,} rows"


def measure(run):
    """Returns what `run` returns, and the processor time and seconds of the processes it starts."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    found = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found, used, time.monotonic() - started


def start(name, case, target, options):
    command = [options.python, __file__, f"--contender={name}", f"--target={target}"]
    command += [f"--train={case.train}", f"--eval={case.eval}", f"--buckets={options.buckets}"]
    command += [f"--hidden={options.hidden}"]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=variables)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["log_loss"], found["trained"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help="the Python of an environment with the other libraries")
    parser.add_argument("--folder", type=Path, help="where the data are, or are written")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    for name in ("--train", "--eval", "--hidden"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--target", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--buckets", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path[:0] = [str(HERE), str(ROOT)]
    if options.contender:
        log_loss, trained = CONTENDERS[options.contender](options)
        print(json.dumps({"log_loss": log_loss, "trained": trained}))
        return
    import data

    case = data.prepare("clicks", options.folder, None, options.rows)
    options.buckets = data.CLICK_BUCKETS
    options.hidden = ",".join(map(str, data.HIDDEN_UNITS["clicks"]))
    found = {OURS: measure(lambda: run_ours(case, options.rows))}
    target = found[OURS][0][0]
    print(f"{OURS}: {found[OURS]}", flush=True)
    for name in CONTENDERS:
        found[name] = measure(functools.partial(start, name, case, target, options))
        print(f"{name}: {found[name]}", flush=True)
    print("\n| contender | log-loss | trained | processor, s | clock, s | x processor |")
    print("|---|--:|---|--:|--:|--:|")
    for name, ((log_loss, trained), processor, clock) in found.items():
        reached = "" if log_loss <= target else " (not reached)"
        print(
            f"| {name} | {log_loss:.4f}{reached} | {trained} | {processor:.0f} | {clock:.0f} "
            f"| {processor / found[OURS][1]:.1f} |"
        )


if __name__ == "__main__":
    main()
