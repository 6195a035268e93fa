"""Does the gate reject models that were made worse on purpose, for the reason that is meant?

    python benchmarks/worse_models.py --flights=.demo/flights --output=/tmp/worse

Trains the preset of the flights, and models that differ from it in one way each; each is judged
against the first by the same rules. Ends with status 1 if a verdict, or the set of failed checks,
is another than expected. Jobs that are complete in --output are not trained again.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RULES = """
rules:
  - {metric: auc, change: {absolute: -0.003}}
  - {metric: auc, change: {absolute: -0.02}, by: [carrier], within_noise: pass}
"""
# The column that tells most, and a carrier with six of a hundred flights.
COLUMN, CARRIER = "dep_delay", "US"
# What the gate calls them.
ALL = "all rows"


class Case(NamedTuple):
    """A model and what the gate must say about it.

    Attributes:
        name: of the job.
        about: how the model differs from the preset.
        baseline: job that it is compared with.
        verdicts: that are right.
        slices: whose checks must fail, and no others; None: the check of all rows must fail.
        flags: of the job.
    """

    name: str
    about: str
    baseline: str
    verdicts: tuple[str, ...]
    slices: tuple[str, ...] | None
    flags: tuple[str, ...] = ()


REJECTED = ("not blessed", "inconclusive")
CASES = [
    Case("rate", "learning rate × 100", "good", REJECTED, None,
         ("--learning_rate=10", "--linear_learning_rate=5")),
    Case("little", "one training row of 200", "good", REJECTED, None),
    Case("shuffled", f"`{COLUMN}` shuffled in the training data", "good", REJECTED, None),
    Case("slice", f"`{COLUMN}` shuffled for the carrier {CARRIER} only", "good", REJECTED,
         (f"carrier = {CARRIER}",)),
    Case("good", "a good model, against that of few rows", "little", ("blessed",), ()),
]  # fmt: skip


def write_training_rows(case: str, flights: Path, folder: Path) -> None:
    """Writes the training rows of a case as Parquet."""
    files = sorted(flights.glob("train-*.parquet"))
    rows, chance = (
        pa.concat_tables([pq.read_table(path) for path in files]),
        np.random.default_rng(1),
    )
    if case == "little":
        rows = rows.take(chance.choice(rows.num_rows, rows.num_rows // 200, replace=False))
    elif case in ("shuffled", "slice"):
        values = rows[COLUMN].to_numpy().copy()
        chosen = np.ones(len(values), bool)
        if case == "slice":
            chosen = pc.equal(rows["carrier"], CARRIER).to_numpy()
        places = np.flatnonzero(chosen)
        values[places] = values[chance.permutation(places)]
        column = pa.array(values).cast(rows[COLUMN].type)
        rows = rows.set_column(rows.column_names.index(COLUMN), COLUMN, column)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / "train.parquet")


def train(case: Case, flights: Path, job: Path) -> None:
    if (job / "metrics.json").exists():
        return
    data = job.parent / f"{case.name}-data"
    write_training_rows(case.name, flights, data)
    words = [
        "--hparams=flights",
        f"--job_dir={job}",
        f"--train_data={data / 'train.parquet'}",
        f"--eval_data={flights / 'eval-*.parquet'}",
        "--run.seed=1",
        "--norun.report",
        *case.flags,
    ]
    subprocess.run([sys.executable, "-m", "trainer.task", *words], check=True)


def judge(case: Case, flights: Path, output: Path) -> bool:
    """Prints the verdict about a model; returns whether it is the expected one."""
    rules = output / "rules.yaml"
    rules.write_text(RULES)
    words = [
        f"--candidate={output / case.name}",
        f"--baseline={output / case.baseline}",
        f"--data={flights / 'eval-*.parquet'}",
        f"--rules={rules}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "trainer.gate", *words], stdout=subprocess.PIPE, text=True
    )
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"{case.name}: the gate ended with status {done.returncode}")
    exports = (output / case.name / "export" / "best").glob("*/assets.extra/gate.json")
    found = json.loads(max(exports, key=lambda path: path.stat().st_mtime).read_text())
    everything = found["metrics"][0]["metrics"]["auc"]
    low, high = everything["change_interval"]
    failed = {check["where"] for check in found["checks"] if check["verdict"] == "fail"}
    is_right = found["verdict"] in case.verdicts and (
        ALL in failed if case.slices is None else failed - {ALL} == set(case.slices)
    )
    print(
        f"| {case.about} | {everything['change']:+.4f} [{low:+.4f}, {high:+.4f}] "
        f"| {found['verdict']} | {', '.join(sorted(failed)) or 'none'} |"
        f"{'' if is_right else '  <- not as expected'}",
        flush=True,
    )
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flights", type=Path, required=True, help="of trainer.demo.flights")
    parser.add_argument("--output", type=Path, required=True, help="folder of the jobs")
    given = parser.parse_args()
    for case in CASES:
        train(case, given.flights.absolute(), given.output.absolute() / case.name)
    print("| made worse by | change of AUC | verdict | failed checks |\n|---|---|---|---|")
    right = [judge(case, given.flights.absolute(), given.output.absolute()) for case in CASES]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
