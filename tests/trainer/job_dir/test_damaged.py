"""Every file of a job that is read: whatever it contains, no reader ends with a traceback."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from trainer import job_layout
from trainer.api.runs import read_run as read_api_run
from trainer.cluster.heartbeat import HeartbeatFile
from trainer.config import Config
from trainer.config.search_space import parse_search
from trainer.errors import UserError
from trainer.export.exporters import read_best
from trainer.export.fingerprint import EXTRA, GATE_REPORT, SANDBOX_REPORT
from trainer.history import lineage, runs
from trainer.job_dir import checkpoints, compatibility, input_runs, leftovers
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_dir.newest import latest_checkpoint
from trainer.job_dir.trained_job import load_model
from trainer.prediction import description
from trainer.release.verdict import read_verdict
from trainer.reporting.summary import choose_best
from trainer.serving import planning
from trainer.storage import files
from trainer.storage.addresses import parse_address
from trainer.storage.claim import FolderClaim, locked
from trainer.storage.memory import MEMORY, Memory
from trainer.training import reuse
from trainer.tuning import command as tune
from trainer.tuning.search import Objective, Search
from trainer.tuning.study import JOURNAL, Study
from trainer.watching import labels

pytestmark = pytest.mark.newest
BEST = f"export/best/{job_layout.BEST_STATE}"
GATE, SANDBOX = (f"export/final/1/{EXTRA}/{name}" for name in (GATE_REPORT, SANDBOX_REPORT))
# Files that people read, and no command.
WRITTEN_ONLY = {
    job_layout.CURVES,
    job_layout.REPORT,
    job_layout.EVALUATION_REPORT,
    job_layout.EVALUATION_PLOT,
}
# What other programs have written into a file, and values of another type than the right one.
TORN = [b"", b"\xff\xfe\x00{", b"[" * 5_000, b"[1, 2]", b"7", b"[1, 2]\n", b"{}\n", b'{"a": ']
WRONG = [None, -7, "x", [None], {"x": 1}]


class Job:
    """A job that has ended, and what reads its files."""

    def __init__(self, folder, config, schema):
        self.folder = folder
        self.path = str(folder)
        self.config = config.model_copy(update={"job_dir": self.path})
        self.split = self.config.model_copy(
            update={"data": config.data.model_copy(update={"eval_share": 0.2})}
        )
        self.schema = schema

    def list_model_readers(self):
        return [
            lambda: compatibility.check_same_model(self.config, self.schema),
            lambda: compatibility.check_warm_start(self.path, "elsewhere"),
            lambda: compatibility.load_split(self.split, self.schema),
            lambda: load_model(self.path, False, print),
        ]

    def read_history(self):
        runs.read_run(self.folder.parent, self.folder.name)

    def read_metrics_log(self):
        log = MetricsLog(self.path)
        choose_best(log.read("eval"), "auc", "max")
        log.read("train")
        log.resume_from(3)

    def read_state(self):
        latest_checkpoint(self.path)
        checkpoints.has_outside_paths(self.path)
        leftovers.remove_leftovers(self.config, False, print)

    def read_heartbeats(self):
        heartbeat = HeartbeatFile(self.path, "chief-0")
        heartbeat.refresh()
        heartbeat.read("worker-0")

    def read_memory(self):
        address = parse_address("gs://bucket/job", "job_dir")
        Memory(self.folder.parent / MEMORY, address, print).load()

    def claim(self):
        with FolderClaim(self.folder, lambda: None).held():
            pass

    def lock(self):
        with locked(self.folder / job_layout.LOCK, self.path, print):
            pass

    def read_study(self):
        search = Search(
            None, {}, parse_search(["learning_rate=1e-3..1"]), (Objective("auc", "max"),), 0.2, 4, 9
        )
        study = Study(self.folder, search, "random", "none", seed=1)
        study.find_best()
        study.ask()

    def list_readers(self):
        """Returns file → what reads it."""
        at = self.folder.joinpath
        export = at("export/final/1")
        return {
            job_layout.CONFIG: [*self.list_model_readers(), self.read_history],
            job_layout.SCHEMA: [
                *self.list_model_readers(),
                lambda: description.find_description(str(export)),
            ],
            job_layout.STATISTICS: [
                lambda: compatibility.load_statistics(self.path, self.schema),
                lambda: load_model(self.path, False, print),
                lambda: description.find_description(str(export)),
            ],
            job_layout.CHECKPOINT_STATE: [self.read_state],
            job_layout.INPUTS: [
                self.read_history,
                lambda: input_runs.read_runs(at(job_layout.INPUTS)),
                lambda: lineage.describe_lineage(self.path, lambda path: self.folder),
            ],
            job_layout.METRICS_LOG: [self.read_metrics_log, self.read_history],
            job_layout.METRICS: [
                lambda: read_api_run(self.path, self.path),
                self.read_history,
                lambda: reuse._find_missing(self.config, self.folder),
            ],
            job_layout.SUMMARY: [lambda: read_api_run(self.path, self.path)],
            BEST: [lambda: read_best(at(BEST))],
            GATE: [
                lambda: read_verdict(export, "0"),
                lambda: lineage.list_verdicts(self.folder),
                lambda: labels._read_gate(str(export)),
            ],
            SANDBOX: [lambda: planning.read_times(files.read_json(at(SANDBOX)) or {}, None)],
            f"{job_layout.CLUSTER_FOLDER}/worker-0.7.json": [self.read_heartbeats],
            f"../{MEMORY}": [self.read_memory],
            job_layout.WRITER: [self.claim],
            job_layout.LOCK: [self.lock],
            JOURNAL: [self.read_study],
            tune.STUDY: [lambda: tune._compare(self.folder, {"space": {"a": 1}})],
            f"../{runs.INDEX}": [lambda: runs.list_runs(self.folder.parent)],
        }


# A content of each file that the training of the fixture does not write.
CONTENTS = {
    job_layout.METRICS: {
        "end_step": 60,
        "best_metric": "auc",
        "best": {"step": 60, "auc": 0.7},
        "last": {"step": 60, "auc": 0.7},
        "evaluations": [{"step": 60, "auc": 0.7}],
        "baselines": {"majority class": {"auc": 0.5}},
        "exports": {"final": ["job/export/final/1"]},
        "secs": {"training": 1.5},
        "examples_per_sec": 1000.0,
        "query": {"age": 30},
    },
    job_layout.SUMMARY: "Summary of the job",
    BEST: {"metric": "auc", "value": 0.7, "step": 60},
    GATE: {
        "verdict": "blessed",
        "fingerprint": "0",
        "time": "2026-01-01",
        "metrics": [
            {
                "by": "",
                "value": "",
                "metrics": {"auc": {"candidate": 0.7, "candidate_interval": [0.6, 0.8]}},
            }
        ],
    },
    SANDBOX: {
        "peak_mib": 700,
        "latencies": [{"signature": "serving_default", "batch": 1, "p50_ms": 1.0, "p99_ms": 2.0}],
    },
    f"{job_layout.CLUSTER_FOLDER}/worker-0.7.json": {
        "state": "failed",
        "message": "m",
        "awaited_secs": 0,
        "lineup": {"chief-0": "a"},
    },
    f"../{MEMORY}": {
        "address": "gs://bucket/job",
        "objects": {"checkpoint": [["job/checkpoint", 7, 1, "AAAAAA=="], 7, 1]},
    },
    job_layout.WRITER: {"host": "a", "pid": 1},
    job_layout.LOCK: {"host": "a", "pid": 1},
    tune.STUDY: {"space": {"a": 1}},
}


@pytest.fixture(scope="module")
def job(trained, tmp_path_factory):
    done = trained()
    root = tmp_path_factory.mktemp("damaged")
    folder = root / "job"
    shutil.copytree(done.folder, folder)
    (next(folder.glob("export/final/[0-9]*"))).rename(folder / "export/final/1")
    job = Job(folder, done.config, done.schema)
    job.read_study()
    runs.list_runs(root)
    for name, content in CONTENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return job


def _mutate(content, depth):
    """Yields the content with each value replaced by each wrong one."""
    for name, value in content.items():
        yield from ({**content, name: wrong} for wrong in WRONG)
        if depth > 1 and isinstance(value, dict):
            yield from ({**content, name: inner} for inner in _mutate(value, depth - 1))


def _list_damages(path):
    """Yields contents of a file."""
    whole = path.read_bytes()
    yield from (whole[: len(whole) // 2], *TORN)
    if path.suffix == ".json":
        # Deeper values of the schema are options, which their own tests check.
        depth = 1 if path.name == job_layout.SCHEMA else 2
        yield from (json.dumps(one).encode() for one in _mutate(json.loads(whole), depth))
    if path.suffix == ".yaml":
        content = yaml.safe_load(whole)
        read = {name: content.pop(name) for name in ("model", "train", "data")}
        yield from (yaml.safe_dump({**content, **one}).encode() for one in _mutate(read, 1))
    if path.suffix == ".jsonl":
        line = whole.splitlines(keepends=True)[-1]
        yield from (whole + json.dumps(one).encode() for one in _mutate(json.loads(line), 1))


def test_every_file_of_a_job_is_in_the_list(job):
    named = {
        value
        for name, value in vars(job_layout).items()
        if name.isupper()
        and isinstance(value, str)
        and not name.endswith(("_FOLDER", "_KEY", "_STEM"))
    }
    listed = {name.rpartition("/")[2] for name in job.list_readers()}
    assert named <= listed | WRITTEN_ONLY


@pytest.mark.parametrize("name", Job(Path(), Config(), None).list_readers())
def test_a_damaged_file_gives_one_line(job, name):
    path, readers = job.folder / name, job.list_readers()[name]
    whole = path.read_bytes()
    try:
        for content in _list_damages(path):
            for read in readers:
                path.write_bytes(content)
                try:
                    read()
                except UserError as error:
                    assert len(str(error).splitlines()) == 1
    finally:
        path.write_bytes(whole)
