"""Compares the trainer with a published-style trainer, with Keras and with the compiled limit.

    python benchmarks/run.py --data=../shared/data     (or: make bench)

All contenders train one model on the same rows, each in a process of its own. They take turns, so
that a change of the machine's speed meets all of them; what counts is the ratio of the medians of
one run. The table of the TensorFlow that is installed here is put into benchmarks/RESULTS.md.
"""

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Optional

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import data  # noqa: E402
import limit  # noqa: E402
import results  # noqa: E402

# Least number of training rows, so that an epoch of the fastest contender takes seconds.
ROWS = 1_000_000
# Target duration of a contender's training, which determines the number of steps, seconds.
TRAIN_SECS = 6.0
# Assumed examples per second in the first round; later rounds use the measured rate.
GUESSES = {"reference": 2e4, "canned": 2e5, "limit": 1e6}
# Cases whose large tables make the first guess too high by this factor.
SLOWER = {"clicks": 10}
JOB_EVALUATIONS = 4
# How processes train → cluster.strategy, engine, and the cores of one process (None: all).
ALONE = "1, on one core"
PROCESSES: dict = {
    ALONE: ("none", "fused", {0}),
    "1, on all cores": ("none", "fused", None),
    "2, multi_worker_mirrored": ("multi_worker_mirrored", "fused", None),
    "2, multi_worker_mirrored, canned engine": ("multi_worker_mirrored", "canned", None),
    "2, parameter_server, canned engine": ("parameter_server", "canned", None),
}


class Run(NamedTuple):
    """The result of one process of one contender.

    Attributes:
        rate: examples a second, from the end of the first step to the end of the last.
        first_step: seconds from the start of the process to the end of its first step.
        wall: seconds of the whole process.
        peak_mb: its greatest resident memory, MiB.
        more: what else it reports.
    """

    rate: float
    first_step: Optional[float]
    wall: float
    peak_mb: float
    more: dict


class Bench:
    """Runs contenders on one case, each in a fresh process and a fresh folder."""

    def __init__(self, case: data.Case, folder: Path, program: Path):
        self.case = case
        self._folder = folder / "runs"
        self._cache = folder / "cache" / case.name
        self._program = program
        self._spec = folder / f"{case.name}.spec"
        limit.write_spec(case.model, self._spec, case.header)

    def reference(self, batch: int, steps: int, *more: str) -> Run:
        return self._run_python(
            "reference.py",
            f"--eval={self.case.eval}",
            f"--job_dir={self._new_folder()}",
            batch=batch,
            steps=steps,
            more=more,
        )

    def keras(self, version: str, batch: int, steps: int) -> Run:
        return self._run_python("keras_fit.py", f"--keras={version}", batch=batch, steps=steps)

    def limit(self, source: str, batch: int, steps: int) -> Run:
        started = time.monotonic()
        rate, loss = limit.run(
            self._program, self._spec, self.case.train, source, batch, steps, os.cpu_count()
        )
        return Run(rate, None, time.monotonic() - started, 0.0, {"loss": loss})

    def trainer(self, batch: int, steps: int, cache: str, *more: str) -> Run:
        """Args: cache: off, empty (built by this run) or full (as the run before left it)."""
        if cache == "empty":
            shutil.rmtree(self._cache, ignore_errors=True)
        kept = f"--data.cache={'off' if cache == 'off' else self._cache}"
        return self._run_trainer(["trainer.task"], batch, steps, kept, *more)

    def cluster(self, processes: str, batch: int, steps: int) -> Run:
        """The model trained by a chief and a worker, or by one process; see PROCESSES."""
        strategy, engine, cores = PROCESSES[processes]
        cache = f"--data.cache={self._cache}"
        told = (*_training_alone(steps), f"--model.engine={engine}", cache)
        if strategy == "none":
            return self._run_trainer(["trainer.task"], batch, steps, *told, cores=cores)
        servers = ["--ps=1"] if strategy == "parameter_server" else []
        launch = ["trainer.launch", "--workers=1", *servers, "--max_restarts=1", "--"]
        return self._run_trainer(launch, batch, steps, *told, f"--cluster.strategy={strategy}")

    def _run_trainer(self, program: list, batch: int, steps: int, *more: str, cores=None) -> Run:
        job_dir = self._new_folder()
        command = [
            *(sys.executable, "-m", *program),
            f"--job_dir={job_dir}",
            *(f"--train_data={self.case.train}", f"--eval_data={self.case.eval}"),
            *self.case.flags,
            *(f"--batch_size={batch}", f"--train_steps={steps}", "--eval.baseline_column=none"),
            *more,
        ]
        wall, peak = _run(command, self._folder / "log.txt", cores)
        told = json.loads((job_dir / "metrics.json").read_text())
        first_step = told["secs"].get("start-up")
        return Run(told["examples_per_sec"], first_step, wall, peak, told)

    def trainer_bare(self, batch: int, steps: int, cache: str, *more: str) -> Run:
        """As `trainer`, training alone."""
        return self.trainer(batch, steps, cache, *_training_alone(steps), *more)

    def _run_python(self, script: str, *flags: str, batch: int, steps: int, more=()) -> Run:
        result = self._folder / "result.json"
        result.unlink(missing_ok=True)
        command = [
            *(sys.executable, str(HERE / script), *flags),
            *(f"--model={self.case.model}", f"--train={self.case.train}"),
            *(f"--header={int(self.case.header)}", f"--batch_size={batch}", f"--steps={steps}"),
            *(f"--started={time.time()}", f"--result={result}", *more),
        ]
        wall, peak = _run(command, self._folder / "log.txt")
        told = json.loads(result.read_text())
        return Run(told["examples_per_sec"], told["first_step_secs"], wall, peak, told)

    def _new_folder(self) -> Path:
        job_dir = self._folder / "job"
        shutil.rmtree(job_dir, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        return job_dir


def _training_alone(steps: int) -> tuple[str, ...]:
    """Flags: one evaluation at the end, no export."""
    return "--export.exporters=", "--eval.steps=1", f"--run.save_checkpoints_steps={steps}"


def _run(command: list, log: Path, cores: Optional[set] = None) -> tuple[float, float]:
    """Runs a process to its end, maybe on some cores only; returns its seconds and its peak memory
    in MiB."""
    log.parent.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", PYTHONPATH=paths)
    # As in an installation, modules are compiled once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=cores and (lambda: os.sched_setaffinity(0, cores)),
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"error: {' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return time.monotonic() - started, used.ru_maxrss / 1024


def compare_rates(bench: Bench, batch: int, rounds: int, has_keras_3: bool) -> dict:
    """Returns name of a contender → its runs. Takes turns over all of them, `rounds` times."""
    epoch = bench.case.rows // batch
    contenders = {
        "reference": lambda steps: bench.reference(batch, steps),
        "canned": lambda steps: bench.trainer_bare(
            batch, min(steps, epoch), "off", "--model.engine=canned"
        ),
        "text": lambda steps: bench.trainer_bare(batch, epoch, "empty"),
        "cache": lambda steps: bench.trainer_bare(batch, steps, "full"),
        "keras 2": lambda steps: bench.keras("2", batch, steps),
        "limit, text": lambda steps: bench.limit("text", batch, steps),
        "limit, ids": lambda steps: bench.limit("ids", batch, steps),
    }
    if has_keras_3:
        contenders["keras 3"] = lambda steps: bench.keras("3", batch, steps)
    runs: dict = {name: [] for name in contenders}
    for number in range(rounds):
        for name, contend in contenders.items():
            first = GUESSES.get(name.split(",")[0], 4e5) / SLOWER.get(bench.case.name, 1)
            guess = runs[name][-1].rate if runs[name] else first
            runs[name].append(contend(max(64, int(guess * TRAIN_SECS / batch))))
            print(
                f"{bench.case.name}, batch {batch}, round {number + 1}/{rounds}: "
                f"{name} {runs[name][-1].rate:,.0f} examples/s",
                flush=True,
            )
    return runs


def compare_jobs(bench: Bench, batch: int, rounds: int) -> dict:
    """Whole jobs: one epoch, evaluations and exports; then evaluation and export one by one."""
    steps = bench.case.rows // batch
    each = -(-steps // JOB_EVALUATIONS)
    runs: dict = {"reference": [], "trainer": [], "trainer, cache": []}
    for number in range(rounds):
        runs["reference"].append(
            bench.reference(
                batch,
                steps,
                *(f"--evaluations={JOB_EVALUATIONS}", "--evaluate_times=2", "--export_times=2"),
            )
        )
        for name, cache in (("trainer", "empty"), ("trainer, cache", "full")):
            runs[name].append(
                bench.trainer(
                    batch,
                    steps,
                    cache,
                    "--export.exporters=latest",
                    f"--run.save_checkpoints_steps={each}",
                )
            )
        secs = {name: results.job_secs(made[-1]) for name, made in runs.items()}
        told = ", ".join(f"{name} {value:.1f} s" for name, value in secs.items())
        print(f"{bench.case.name}, whole job, round {number + 1}/{rounds}: {told}", flush=True)
    return runs


def compare_processes(bench: Bench, batch: int, rounds: int) -> dict:
    """The model trained by one process, on one core and on all, then by two processes on all."""
    runs: dict = {processes: [] for processes in PROCESSES}
    for number in range(rounds):
        for processes, made in runs.items():
            guess = made[-1].rate if made else GUESSES["canned"] / 2
            steps = max(64, int(guess * TRAIN_SECS / batch))
            made.append(bench.cluster(processes, batch, steps))
            print(
                f"{bench.case.name}, processes, round {number + 1}/{rounds}: {processes} "
                f"{made[-1].rate:,.0f} examples/s",
                flush=True,
            )
    return runs


def compare_sizes(name: str, folder: Path, options, program: Path, batch: int) -> list:
    """Measures the trainer for one epoch from text, on 1, 4 and 16 times as many rows."""
    made = []
    for times in (1, 4, 16):
        case = data.prepare(name, folder, options.data, options.rows // 8 * times)
        run = Bench(case, folder, program).trainer_bare(batch, case.rows // batch, "empty")
        secs = run.more["secs"]["input wait"] + run.more["secs"]["compute"]
        print(f"{name}, {case.rows:,} rows: {secs / case.rows * 1e9:,.0f} ns a row", flush=True)
        made.append((case.rows, secs / case.rows, run.peak_mb))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with census/ and natality/")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench", help="scratch folder")
    parser.add_argument("--rows", type=int, default=ROWS, help="least training rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="census,flights,natality,clicks")
    parser.add_argument("--batches", default="512,128,4096")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    if not shutil.which("g++"):
        print("error: g++ is not on PATH; the limit is compiled with it", file=sys.stderr)
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    program = limit.build(options.work)
    tensorflow = importlib.metadata.version("tensorflow")
    has_keras_3 = not importlib.metadata.version("keras").startswith("2.")
    batches = [int(batch) for batch in options.batches.split(",")]
    report = results.Report(tensorflow)
    for name in options.cases.split(","):
        case = None
        if name in ("flights", "clicks") or options.data:
            case = data.prepare(name, options.work, options.data, options.rows)
        if case is None:
            print(f"{name}: left out, --data has no {name}/train.csv", flush=True)
            continue
        bench = Bench(case, options.work, program)
        for batch in batches:
            # Other batch sizes only show the trend: fewer rounds suffice.
            rounds = options.rounds if batch == batches[0] else max(2, options.rounds // 2)
            report.add_rates(case, batch, compare_rates(bench, batch, rounds, has_keras_3))
            # A whole run takes an hour: write the results so far.
            report.write(options.output)
        if name == "census":
            # The median of two rounds would be their mean.
            report.add_jobs(case, compare_jobs(bench, batches[0], max(3, options.rounds // 2)))
            rounds = max(2, options.rounds // 2)
            made = compare_processes(bench, batches[0], rounds)
            report.add_processes(case, batches[0], made, made[ALONE])
            report.add_sizes(compare_sizes(name, options.work, options, program, batches[0]))
        report.write(options.output)
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
