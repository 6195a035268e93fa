"""Does a search of 20 trials find a better AUC than the preset, in the time of five full jobs?

    python benchmarks/search.py --data=../shared/data --output=/tmp/search.jsonl
    python benchmarks/search.py --cases=flights --flights=.demo/flights --output=/tmp/search.jsonl

For each case and each seed, the preset is trained fully. Then each sampler searches the space of
hparams/tuning, and its best values are trained fully, with the same seed. Times are processor
seconds of all processes, which other load on the machine changes little. Each result is appended to
--output at once; results that are there are not measured again. At the end the table is printed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(module, *words):
    """Runs a command; returns its processor seconds and its seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT, stdout=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{module} ended with status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(cpu, 1), round(time.monotonic() - began, 1)


def train(job, preset, files, seed):
    """Trains fully; returns the best AUC and the seconds."""
    cpu, secs = run(
        "trainer.task",
        f"--hparams={preset}",
        *files,
        f"--job_dir={job}",
        f"--run.seed={seed}",
    )
    metrics = json.loads((job / "metrics.json").read_text())
    return {"auc": metrics["best"]["auc"], "cpu": cpu, "secs": secs}


def search(folder, case, files, seed, sampler, given):
    """Searches, and trains fully with the best values; returns both results."""
    cpu, secs = run(
        "trainer.tune",
        f"--study_dir={folder}",
        f"--tuning={case}",
        "--objectives=auc",
        f"--sampler={sampler}",
        f"--seed={seed}",
        f"--max_trials={given.trials}",
        f"--share={given.share}",
        "--",
        f"--hparams={case}",
        f"--run.seed={seed}",
        *files,
    )
    # The table of trials; the importance of the parameters follows.
    rows = (folder / "trials.txt").read_text().partition("\n\n")[0].splitlines()
    pruned = [row.split()[1] for row in rows].count("pruned")
    found = {"search_cpu": cpu, "search_secs": secs, "pruned": pruned}
    return {**found, **train(folder / "full", folder / "best.yaml", files, seed)}


def print_table(lines):
    presets = {(line["case"], line["seed"]): line for line in lines if line["sampler"] == "preset"}
    print(
        "| data | seed | sampler | AUC of the preset | AUC found | search, in full jobs "
        "| elapsed, in full jobs | pruned |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        preset = presets[line["case"], line["seed"]]
        if line is not preset:
            print(
                f"| {line['case']} | {line['seed']} | {line['sampler']} | {preset['auc']:.4f} "
                f"| {line['auc']:.4f} | {line['search_cpu'] / preset['cpu']:.1f} "
                f"| {line['search_secs'] / preset['secs']:.1f} "
                f"| {line['pruned']} of {line['trials']} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with census/")
    parser.add_argument("--flights", type=Path, help="folder of trainer.demo.flights")
    parser.add_argument("--cases", default="census", help="census, flights or both: a,b")
    parser.add_argument("--samplers", default="tpe,random")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.2, help="of the full steps in a trial")
    parser.add_argument("--output", type=Path, required=True, help="file of results, JSON lines")
    given = parser.parse_args()
    texts = given.output.read_text().splitlines() if given.output.exists() else []
    lines = [json.loads(text) for text in texts]
    for case in given.cases.split(","):
        if case == "flights":
            folder, names = given.flights.absolute(), ("train-*.parquet", "eval-*.parquet")
        else:
            folder, names = (given.data / case).absolute(), ("train.csv", "eval.csv")
        files = [f"--train_data={folder / names[0]}", f"--eval_data={folder / names[1]}"]
        for seed in range(1, given.seeds + 1):
            for sampler in ("preset", *given.samplers.split(",")):
                key = {"case": case, "seed": seed, "sampler": sampler, "trials": given.trials}
                if sampler != "preset":
                    key["share"] = given.share
                if any(key.items() <= line.items() for line in lines):
                    continue
                with tempfile.TemporaryDirectory() as temporary:
                    place = Path(temporary, "it")
                    if sampler == "preset":
                        found = train(place, case, files, seed)
                    else:
                        found = search(place, case, files, seed, sampler, given)
                lines.append({**key, **found})
                with given.output.open("a") as stream:
                    stream.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], file=sys.stderr, flush=True)
    print_table(lines)


if __name__ == "__main__":
    main()
