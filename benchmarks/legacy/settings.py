"""Measures what options of sessions and of TensorFlow do to the old programs under the bridge.

    python -m estimator_bridge run --tf1 benchmarks/legacy/settings.py DATA OUTPUT.json SETTING

in one process per SETTING of PROCESSES, because threads and oneDNN are those of a process.
`make bench-legacy` starts them in turn, and puts the table into benchmarks/RESULTS.md.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ["wide_deep_csv", "million_rows", "tagger_short_sentences", "transformer"]
STEPS = 120
# Process -> variables of the environment.
PROCESSES = {
    "default": {},
    "oneDNN off": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "oneDNN on": {"TF_ENABLE_ONEDNN_OPTS": "1"},
    "1 thread": {"LEGACY_THREADS": "1"},
    "2 threads": {"LEGACY_THREADS": "2"},
    "4 threads": {"LEGACY_THREADS": "4"},
    "16 threads": {"LEGACY_THREADS": "16"},
}
ON = 1
# Graph option -> options of rewriting, and the level of XLA, measured in the default process.
GRAPHS = {
    "arithmetic optimizer on": ({"arithmetic_optimization": ON}, 0),
    "remapper on": ({"remapping": ON}, 0),
    "Grappler off": ({"disable_meta_optimizer": True}, 0),
    "XLA": ({}, 2),
}


def session_config(tf, rewriting, xla):
    config = tf.ConfigProto(allow_soft_placement=True)
    options = config.graph_options.rewrite_options
    options.meta_optimizer_iterations = 1
    for name, value in rewriting.items():
        setattr(options, name, value)
    config.graph_options.optimizer_options.global_jit_level = xla
    threads = int(os.environ.get("LEGACY_THREADS", "0"))
    config.intra_op_parallelism_threads = config.inter_op_parallelism_threads = threads
    return config


def measure(data, output, setting):
    """Writes (setting, program) -> (processor, clock) milliseconds of a step."""
    import canned  # noqa: F401
    import jobs
    import sequences  # noqa: F401
    import tensorflow as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    graphs = {setting: ({}, 0), **(GRAPHS if setting == "default" else {})}
    found = {}
    for graph, options in graphs.items():
        jobs.SESSION_CONFIG = session_config(tf, *options)
        for name in PROGRAMS:
            with tempfile.TemporaryDirectory() as folder:
                job, clock = jobs.PROGRAMS[name](data, folder), jobs.Clock()
                job.steps = STEPS
                job.train(clock)
            steps = [later - one for one, later in zip(clock.ends[20:], clock.ends[21:])]
            processor = (clock.processor[-1] - clock.processor[20]) / len(steps)
            found[f"{graph}/{name}"] = processor * 1e3, statistics.median(steps) * 1e3
    Path(output).write_text(json.dumps(found))


def run(data, setting):
    """Returns what one process writes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "settings.json")
        subprocess.run(
            [
                *(sys.executable, "-m", "estimator_bridge", "run", "--tf1", __file__),
                *(str(data), str(output), setting),
            ],
            env={
                **{**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"},
                **{"TF_CPP_MIN_LOG_LEVEL": "3", **PROCESSES[setting]},
            },
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(output.read_text())


def measure_all(data, stored, rounds):
    """Returns setting -> program -> (processor, clock) of each round.

    Args:
      data: the folder of the data.
      stored: where measurements are kept.
      rounds: how many.
    """
    found = {setting: {name: [] for name in PROGRAMS} for setting in [*PROCESSES, *GRAPHS]}
    for turn in range(rounds):
        for setting in PROCESSES:
            made = stored.get(f"settings/{setting}/{turn}", lambda: run(data, setting))  # noqa: B023
            for key, milliseconds in made.items():
                graph, _, name = key.rpartition("/")
                found[graph][name].append(milliseconds)
            print(f"round {turn + 1}: {setting}", flush=True)
    return found


def write(path, found):
    """Puts the table into a file.

    Args:
      path: the file, which exists.
      found: what `measure_all` returned.
    """
    import results

    rounds = len(found["default"][PROGRAMS[0]])
    lines = [
        f"### Options of sessions ({rounds} rounds)",
        "",
        "Processor time of a step in milliseconds, with the median elapsed time in brackets. By",
        "default, Grappler's arithmetic optimizer and remapper are off. Written by",
        f"`make bench-legacy`; {results.describe_machine()}.",
        "",
        f"| option | {' | '.join(PROGRAMS)} |",
        "|---" + "|--:" * len(PROGRAMS) + "|",
    ]
    for setting, programs in found.items():
        medians = [[statistics.median(part) for part in zip(*made)] for made in programs.values()]
        cells = [f"{processor:.2f} ({clock:.2f})" for processor, clock in medians]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    results.put_settings(path, "\n".join(lines) + "\n")


if __name__ == "__main__":
    measure(*sys.argv[1:])
