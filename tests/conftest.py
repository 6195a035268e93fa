"""Data, schemas and runs that the tests of both packages share."""

import collections
import csv
import faulthandler
import fcntl
import functools
import gc
import gzip
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from trainer.cluster.processes import SHARING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import forked  # noqa: E402
from waiting import wait_for_file  # noqa: E402

SHARED = ROOT.parent / "shared" / "data"

# Seconds of each test file, as measured: `python -m pytest --store_durations` writes it.
DURATIONS = Path(__file__).with_name("durations.json")
# Of a file that has not been measured.
UNKNOWN_SECS = 20.0


# A signal ends a test at its limit, but Python does not handle it while the test is stuck outside
# Python. So many seconds later, the process ends; pytest names the test and goes on.
STUCK_SECS = 60
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    """Has programs under test take Ctrl-C, also if a shell has started the tests in the background.

    A shell without job control has such programs ignore it, and they hand that on to others.
    """
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[STDERR] = os.dup(2)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends this process if a test is stuck outside Python."""
    marker = item.get_closest_marker("timeout")
    limit = marker.args[0] if marker else item.config.getoption("timeout")
    if not limit:
        return (yield)
    stderr = item.config.stash[STDERR]
    faulthandler.dump_traceback_later(limit + STUCK_SECS, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_addoption(parser):
    parser.addoption(
        "--store_durations",
        action="store_true",
        help=f"write the seconds of each test file that runs to {DURATIONS.name}",
    )
    parser.addoption("--fuzz_rounds", type=int, default=0, help="mutations of each kind")
    parser.addoption("--fuzz_first", type=int, default=0, help="number of the first mutation")
    parser.addoption("--kills", type=int, default=3, help="kills of a search")
    parser.addoption("--kills_seed", type=int, default=1, help="seed of the kills")


def _read_durations():
    return json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}


def _file_of(node_id):
    return node_id.partition("::")[0]


# Marks that choose few files. With -m and such a mark the other files are not imported: the imports
# of all take fifteen seconds.
QUICK = "quick and not long"
SELECTIVE = {QUICK: ("quick",), "smoke": ("smoke",), "smoke or versions": ("smoke", "versions")}


# Their conftest.py imports TensorFlow; tests/estimator_bridge/tf1/test_checks.py runs them.
CHECKS = ROOT / "tests" / "estimator_bridge" / "tf1_checks"


def pytest_ignore_collect(collection_path, config):
    """Leaves out the checks of 1.x, and the files that contain no test of the chosen mark."""
    if collection_path == CHECKS:
        return True
    marks = SELECTIVE.get(config.option.markexpr)
    if marks and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        return None if any(f"mark.{mark}" in text for mark in marks) else True
    return None


# There once a process of tests has compiled what the tests import, TensorFlow included.
COMPILED = Path(sys.prefix) / "tests_compiled"


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session):
    """In a new environment, has one worker compile what all import: 14 s of processor time."""
    lock = None
    if hasattr(session.config, "workerinput") and not sys.dont_write_bytecode:
        lock = _wait_for_compilation()
    # Garbage collection takes a tenth of the time of these imports, and finds next to nothing.
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
    if lock is not None:
        if "tensorflow" in sys.modules:
            COMPILED.touch()
        lock.close()


def _wait_for_compilation():
    """Returns a lock for the worker that is to compile; None where that has been done."""
    if COMPILED.exists() or not os.access(sys.prefix, os.W_OK):
        return None
    lock = COMPILED.with_suffix(".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not COMPILED.exists():
        return lock
    lock.close()
    return None


def pytest_collection_modifyitems(items):
    """Long files first, so that no worker is left alone with one; each file in its order."""
    secs = _read_durations()
    items.sort(key=lambda item: -secs.get(_file_of(item.nodeid), UNKNOWN_SECS))


def pytest_collection_finish(session):
    """Ends a run of the quick tests where a file imports TensorFlow: each process collects all."""
    if session.config.option.markexpr == QUICK and "tensorflow" in sys.modules:
        raise pytest.UsageError("a file with quick tests imports TensorFlow when it is collected")


def pytest_runtest_logreport(report):
    """Names a failed test at once: a run that is ended early has no summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nfailed: {report.nodeid}", file=sys.stderr, flush=True)


def pytest_terminal_summary(terminalreporter, config):
    """Stores how long each file took, where that is asked for."""
    if not config.getoption("--store_durations"):
        return
    secs = collections.Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration") and hasattr(report, "nodeid"):
                secs[_file_of(report.nodeid)] += report.duration
    known = {**_read_durations(), **{path: round(took, 1) for path, took in secs.items()}}
    known = {path: took for path, took in sorted(known.items()) if (ROOT / path).exists()}
    DURATIONS.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")


CITIES = ["Ulm", "Bonn", "Köln"]
JOBS = ["baker", 'cook, "head"', "two\nlines", "nurse", "smith", "clerk"]
# Label column → how a schema describes it.
LABELS = {
    "price": {"column": "price"},
    "bought": {"column": "bought", "vocabulary": ["no", "yes"]},
    "flag": {"column": "flag", "num_classes": 2},
    "grade": {"column": "grade", "num_classes": 3},
    "size": {"column": "size", "vocabulary": [10, 20, 30]},
    "colour": {"column": "colour", "vocabulary": ["red", "green", "blue"]},
}


def make_rows(num_rows, seed=0, missing=True):
    """Rows of a made-up shop as dicts; None is a missing value."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(num_rows):
        age = float(np.float32(rng.uniform(18, 80)))
        hours = int(rng.integers(0, 60))
        city = str(rng.choice([*CITIES, "Rom", "Prag"]))
        score = (age - 49) / 18 + (1.5 if city == "Ulm" else -0.5) + rng.normal(0, 0.3)
        third = int(score > -0.6) + int(score > 0.6)
        row = {
            "id": f"r{index:05d}",
            "age": age,
            "hours": hours,
            "city": city,
            "job": str(rng.choice(JOBS)),
            "level": int(rng.integers(0, 5)),
            "w": float(np.float32(rng.uniform(0.5, 2))),
            "price": float(np.float32(5 * score)),
            "bought": "yes" if score > 0 else "no",
            "flag": int(score > 0),
            "grade": third,
            "size": (third + 1) * 10,
            "colour": ("red", "green", "blue")[third],
        }
        if missing:
            for name, share in (("age", 0.1), ("hours", 0.1), ("city", 0.1), ("job", 0.05)):
                if rng.random() < share:
                    row[name] = None
        rows.append(row)
    return rows


def make_schema_values(label="bought", weight=False, key=True):
    """The schema of make_rows as YAML would give it, for one of LABELS."""
    columns = {
        "id": {"type": "string", "use": []},
        "age": {"type": "float", "default": "mean", "buckets": [30, 40, 50, 60, 70]},
        "hours": {"type": "int", "default": 40},
        "city": {"type": "string", "vocabulary": CITIES, "oov_buckets": 2},
        "job": {"type": "string", "hash_buckets": 20, "embedding": 3},
        "level": {"type": "int", "identities": 5},
        "w": {"type": "float", "use": []},
        "price": {"type": "float", "use": []},
        "bought": {"type": "string", "use": []},
        "flag": {"type": "int", "use": []},
        "grade": {"type": "int", "use": []},
        "size": {"type": "int", "use": []},
        "colour": {"type": "string", "use": []},
    }
    values = {
        "columns": columns,
        "label": {**LABELS[label]},
        "crosses": [{"columns": ["age", "city"], "hash_buckets": 30}],
    }
    if weight:
        values["weight"] = "w"
    if key:
        values["key"] = "id"
    return values


def write_csv(path, rows, header=True, delimiter=",", compress=False):
    """Writes rows as CSV; None becomes an empty field."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow(["" if value is None else value for value in row.values()])
    content = text.getvalue().encode()
    Path(path).write_bytes(gzip.compress(content) if compress else content)
    return str(path)


def write_parquet(path, rows, types=None, row_group_size=None):
    """Writes rows as Parquet; `types` gives an Arrow type for some columns."""
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {}
    for name in rows[0]:
        array = pa.array([row[name] for row in rows])
        wanted = (types or {}).get(name)
        if wanted is not None:
            array = array.dictionary_encode() if wanted == "dictionary" else array.cast(wanted)
        arrays[name] = array
    pa.parquet.write_table(pa.table(arrays), str(path), row_group_size=row_group_size)
    return str(path)


def to_example(row):
    """A row as a serialized tf.Example; None leaves the feature out."""
    from estimator_bridge import tf

    features = {}
    for name, value in row.items():
        if isinstance(value, str):
            kind = {"bytes_list": tf.train.BytesList(value=[value.encode()])}
        elif isinstance(value, bytes):
            kind = {"bytes_list": tf.train.BytesList(value=[value])}
        elif isinstance(value, int):
            kind = {"int64_list": tf.train.Int64List(value=[value])}
        elif isinstance(value, float):
            kind = {"float_list": tf.train.FloatList(value=[value])}
        else:
            continue
        features[name] = tf.train.Feature(**kind)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def write_tfrecord(path, rows, compress=False):
    """Writes rows as TFRecord of tf.Example."""
    from estimator_bridge import tf

    options = "GZIP" if compress else ""
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for row in rows:
            writer.write(to_example(row))
    return str(path)


@functools.cache
def _describe_code_once():
    """Reads this package and its git tree once for all jobs of this process: 60 ms for each."""
    from trainer.training import inputs_record

    inputs_record.prepare_forks()


class Make:
    """The functions above, for tests: a conftest cannot be imported."""

    labels = LABELS
    cities = CITIES
    root = ROOT
    rows = staticmethod(make_rows)
    schema_values = staticmethod(make_schema_values)
    csv = staticmethod(write_csv)
    parquet = staticmethod(write_parquet)
    tfrecord = staticmethod(write_tfrecord)
    example = staticmethod(to_example)

    @staticmethod
    def schema(label="bought", **options):
        """The validated schema of make_rows."""
        from trainer.schema import Schema

        return Schema.model_validate(make_schema_values(label, **options))

    @staticmethod
    def yaml(path, values):
        """Writes values as YAML; returns the path as text."""
        import yaml

        Path(path).write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
        return str(path)

    @staticmethod
    def config(job_dir="unused", rows=None, eval_rows=None, **sections):
        """A configuration: data files, and sections as dicts of their options."""
        from trainer.config import Config

        data = dict(sections.pop("data", {}))
        if rows is not None:
            eval_rows = rows if eval_rows is None else eval_rows
            data["train"] = [str(path) for path in np.atleast_1d(rows)]
            data["eval"] = [str(path) for path in np.atleast_1d(eval_rows)]
        return Config.model_validate({"job_dir": str(job_dir), "data": data, **sections})

    @staticmethod
    def prepare(config, schema):
        """Looks at the data of a configuration, as a run does first."""
        from trainer.console import Console
        from trainer.training import job

        return job.prepare(config, schema, Console(quiet=True))

    @staticmethod
    def is_running(pid):
        """Whether a process is there that has not ended, whether it was waited for or not."""
        try:
            os.kill(pid, 0)
            path = Path(f"/proc/{pid}/stat")
            return not path.exists() or path.read_text().rpartition(")")[2].split()[0] != "Z"
        except (ProcessLookupError, FileNotFoundError):
            return False

    @staticmethod
    def run(config, schema, console=None, watch=None):
        """Trains in this process; returns (job, result)."""
        from trainer.console import Console
        from trainer.signals import SignalWatch
        from trainer.training import job, run

        _describe_code_once()
        console = console or Console(quiet=True)
        Path(config.job_dir).mkdir(parents=True, exist_ok=True)
        prepared = job.prepare(config, schema, console)
        return prepared, run.train_and_evaluate(prepared, console, watch or SignalWatch())


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory):
    """What programs keep for later runs is kept for this run of the tests alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache_home"))
    yield Path(os.environ["XDG_CACHE_HOME"])
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(autouse=True)
def stays_quick(request):
    """A test marked `quick` imports no TensorFlow."""
    before = "tensorflow" in sys.modules
    yield
    if request.node.get_closest_marker("quick") and not before:
        assert "tensorflow" not in sys.modules


@pytest.fixture(scope="session")
def make():
    return Make


class Finished(subprocess.CompletedProcess):
    """A finished process whose standard error is also there as lines."""

    @property
    def errors(self):
        return self.stderr.splitlines()


def _environment(extra=None):
    # Nothing of the machine's own cluster or log settings may leak in.
    names = ("TF_CONFIG", "CLUSTER_SPEC", "TF_CPP_MIN_LOG_LEVEL", "TF_USE_LEGACY_KERAS")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    own = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", **SHARING}
    return {**kept, **own, **(extra or {})}


@pytest.fixture(scope="session")
def press_ctrl_c():
    """press_ctrl_c(command, path, env) → the exit status and the stderr of a program.

    Sends Ctrl-C to all processes of its session, as a terminal does, once the file `path` exists.
    """

    def press(command, path, env):
        with subprocess.Popen(
            command, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                wait_for_file(path)
                os.killpg(process.pid, signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            finally:
                process.kill()
        return process.returncode, errors

    return press


@pytest.fixture(scope="session")
def run_module():
    """run_module("trainer.task", "--flag=...", cwd=...) → the finished process.

    It is forked from a process that has imported TensorFlow, unless it is to be `fresh`.
    """

    def run(module, *args, cwd=None, timeout=300, env=None, fresh=False):
        done = (subprocess if fresh else forked).run(
            [sys.executable, "-m", module, *args],
            cwd=cwd or ROOT,
            env=_environment(env),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Finished(done.args, done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def beam_here(monkeypatch):
    """Runs tasks of --engine=beam here, each as a worker would: from copies of job and task."""

    def perform(job, task):
        other, task = pickle.loads(pickle.dumps((job, task)))
        return pickle.loads(pickle.dumps(other.perform(task)))

    def run(job, tasks, words):
        return job.combine([perform(job, task) for task in tasks])

    def write_template(job, tasks, words):
        # What the service does later.
        job.start()
        assert job.complete(run(job, tasks, words)) is not None

    monkeypatch.setattr("trainer.engines.options.require_package", lambda engine: None)
    beam = types.SimpleNamespace(run_on_beam=run, write_template=write_template)
    monkeypatch.setitem(sys.modules, "trainer.engines.beam", beam)


@pytest.fixture
def large_file(make, monkeypatch):
    """large_file(path) writes a Parquet file of 150 rows that engines divide into three shares."""

    def write(path):
        import pyarrow.parquet as pq

        monkeypatch.setattr("trainer.inputs.parquet_files.RUN_ROWS", 60)
        table = pq.read_table(make.parquet(path, make.rows(150, seed=9)))
        pq.write_table(table, path, row_group_size=30)
        monkeypatch.setattr("trainer.passes.planning.TASK_BYTES", path.stat().st_size // 3)
        return path

    return write


@pytest.fixture
def start_module():
    """Starts a module in the background, forked unless it is to be `fresh`; ends it in any case."""
    started = []

    def start(module, *args, cwd=None, env=None, fresh=False):
        process = (subprocess if fresh else forked).Popen(
            [sys.executable, "-m", module, *args],
            cwd=cwd or ROOT,
            env=_environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A folder with train.csv and eval.csv of make_rows and one schema file for each label."""
    folder = tmp_path_factory.mktemp("shop")
    write_csv(folder / "train.csv", make_rows(600, seed=1))
    write_csv(folder / "eval.csv", make_rows(200, seed=2))
    for label in LABELS:
        Make.yaml(folder / f"{label}.yaml", make_schema_values(label))
    return folder


class Trained(NamedTuple):
    """A finished small job: do not change its folder, copy it."""

    config: Any
    schema: Any
    job: Any
    result: Any
    folder: Path

    def read(self, kind):
        """Lines of the metrics log: train or eval."""
        from trainer.job_dir.metrics_log import MetricsLog

        return MetricsLog(str(self.folder)).read(kind)

    @property
    def export(self):
        """Path of the final export."""
        return self.result.exports["final"][-1]


@pytest.fixture(scope="session")
def trained(shop, tmp_path_factory):
    """trained(kind, label, **sections) → Trained; each combination is trained once a session."""
    done = {}

    def train(kind="wide_deep", label="bought", weight=False, **sections):
        key = (kind, label, weight, repr(sections))
        if key not in done:
            folder = tmp_path_factory.mktemp(f"{kind}-{label}")
            options = {
                "model": {"type": kind, "hidden_units": [8], **sections.pop("model", {})},
                "train": {
                    "max_steps": 60,
                    "batch_size": 50,
                    "learning_rate": 0.2,
                    **sections.pop("train", {}),
                },
                "run": {
                    "save_checkpoints_steps": 1000,
                    "log_step_count_steps": 10,
                    **sections.pop("run", {}),
                },
                "export": {"exporters": ["final"], **sections.pop("export", {})},
                **sections,
            }
            config = Make.config(folder, shop / "train.csv", shop / "eval.csv", **options)
            schema = Make.schema(label, weight=weight)
            job, result = Make.run(config, schema)
            done[key] = Trained(config, schema, job, result, folder)
        return done[key]

    return train


@pytest.fixture(scope="session")
def shared_data():
    """Folder of the real data sets; skips where they are absent."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    return SHARED
