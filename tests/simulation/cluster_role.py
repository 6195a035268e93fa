"""One process of a simulated cluster: the trainer's own code of its role, without TensorFlow."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import estimator_bridge.model_files.checkpoints
from simulation import job
from simulation.cluster_tf import Server, Training, TrainSpec
from trainer import job_layout, storage
from trainer.api import jobs
from trainer.cluster import watchdog
from trainer.cluster.strategies import SYNCHRONOUS
from trainer.environment.cluster_spec import parse_cluster
from trainer.errors import JobEnded, UserError
from trainer.job_dir import checkpoints, pinning
from trainer.job_dir.metrics_log import MetricsLog
from trainer.roles import chief, dispatch, evaluator, parameter_server, process
from trainer.signals import Interrupted, SignalWatch
from trainer.storage.workspace import open_workspace


class EarlyStop:
    """Stops at a step; a restarted job reads earlier evaluations, as the trainer's does."""

    def __init__(self, story, log):
        self.reason = None
        self._early_step = story.early_step
        for line in log.read("eval"):
            self.add(line["step"])

    def add(self, step):
        if step >= self._early_step:
            self.reason = "no better for a while"

    def stop_for(self, reason):
        self.reason = self.reason or reason


class Run(NamedTuple):
    """Takes the place of trainer.training.plan.Plan."""

    estimator: Any
    evaluator: Any
    train_spec: TrainSpec
    monitor: Any
    first: int

    @property
    def is_finished(self):
        return bool(
            self.monitor.early_stop.reason
            or self.train_spec.max_steps is not None
            and self.first >= self.train_spec.max_steps
        )


class JobPlan(NamedTuple):
    job: Any
    cluster: Any
    run: Run
    exchange: Any = None
    servers: Any = None
    engine: Any = SimpleNamespace(name="canned")


class Job(NamedTuple):
    """Takes the place of trainer.training.job.Job."""

    role: Any
    config: Any
    max_steps: int
    schema: Any = None
    statistics: Any = None


class Result(NamedTuple):
    exports: dict
    steps_each: Any = None


class Evaluator:
    """Evaluates: reads a checkpoint, which must be whole, and writes an export.

    Args:
        role: the Role.
        folder: the job_dir.
        monitor: decides on an early stop.
    """

    def __init__(self, role, folder, monitor):
        self.role, self.model_dir, self._monitor = role, folder, monitor
        self.eval_spec = None
        self._log = MetricsLog(folder)

    def evaluate_and_export(self, checkpoint, is_final):
        role, path = self.role, Path(checkpoint)
        step = int(path.name.rpartition("-")[2])
        with role.story.evaluating(role, step):
            for _ in range(2):
                files = {one.name: one.read_bytes() for one in path.parent.glob(f"{path.name}.*")}
                if step not in job.find_whole(files):
                    is_old = role.story.newest[role.name] is not role.process
                    if is_old or any(one.name == role.name for one in role.story.list_alive(role)):
                        # A suspended process and its successor use the same folder.
                        raise Failure("the checkpoint has been removed")
                    role.world.fail(f"{role.name} evaluates {checkpoint} of files {sorted(files)}")
                role.world.wait(role.world.random.random() * role.story.eval_secs)
            role.append(self._log, "eval", step)
            self.export(checkpoint, {"global_step": step}, is_final)
        self._monitor.early_stop.add(step)
        return {"global_step": step}

    def export(self, checkpoint, metrics, is_final):
        saver = job.Saver(self.role.process, self.role.story.plan, Path(self.model_dir))
        saver.export(metrics["global_step"])
        if is_final:
            self.role.story.final_exports.add(metrics["global_step"])


class Role:
    """The main thread of a process.

    Args:
        story: the Story.
        process: the Process.
        environment: variable → text.
        on_line: called with each line that the process writes.
    """

    def __init__(self, story, process, environment, on_line=lambda line: None):
        self.story, self.process, self.world = story, process, process.world
        self.name = process.name
        self._environment, self._on_line = environment, on_line
        self.watch = SignalWatch()
        process.on_signal = lambda number: self.watch._note(number, None)
        process.role = self

    def log(self, line):
        self.world.note(f"{self.name}: {line}")
        self._on_line(line)

    def main(self):
        self.process.exit(self._run())

    def _run(self):
        try:
            self.world.wait(self.world.random.random() * 3)
            cluster = parse_cluster(self._environment)
            console = job.Lines(self.log)
            settings = job.Settings(cache_dir=str(self.process.machine.root / "cache"))
            with open_workspace(self.story.job_dir, settings, cluster, console) as space:
                config = self.story.config.model_copy(update={"job_dir": space.folder})
                host = jobs.Host(self.watch, self.log, True)
                rooms = jobs._Rooms(cluster, space, console)
                with jobs._join_cluster(config, host, rooms) as heartbeat:
                    if not watchdog.has_finished(heartbeat, cluster):
                        self.story.note_open(self, Path(space.folder))
                    place = dispatch.Place(
                        cluster, space, console, self.watch, self.log, 0.0, heartbeat
                    )
                    dispatch.run_job(config, None, place)
            return 0
        except (UserError, JobEnded) as error:
            self.process.error = error
            return error.status
        except Interrupted as error:
            self.process.error = error.saved
            return 128 + error.signal.value
        except Failure as error:
            self.process.error = error
            return 1

    def append(self, log, kind, step):
        """Appends a record to metrics.jsonl; it must be readable."""
        log.append(kind, step, {"loss": 1.0})
        self.process.machine.stamp(log._path)
        if not any(line["step"] == step for line in log.read(kind)):
            self.world.fail(f"{self.name}: the record of step {step} in metrics.jsonl is lost")


class Failure(Exception):
    """An error of user code in one process."""


def _here():
    from simulation.kernel import current

    return current().process.role


def prepare(config, schema, console, *, cluster, times=None, checker=None):
    role = _here()
    role.world.wait(role.world.random.random() * 3)
    if role.name == role.story.wrong_role:
        raise UserError(f"--something={role.name}: is wrong")
    return Job(role, config, role.story.plan.target)


def build_plan(job_, console, watch, *, cluster, make_hooks=None, eval_hooks=()):
    role, folder = job_.role, job_.config.require_job_dir()
    early_stop = EarlyStop(role.story, MetricsLog(folder))
    monitor = SimpleNamespace(
        early_stop=early_stop, pace=SimpleNamespace(start_pause=list), finite=None
    )
    own = Evaluator(role, folder, monitor)
    is_synchronous = job_.config.cluster.strategy in SYNCHRONOUS
    training = Training(
        role, cluster, folder,
        max_steps=job_.max_steps, is_synchronous=is_synchronous, monitor=monitor,
    )  # fmt: skip
    first = checkpoints.read_step(checkpoints.latest_checkpoint(folder))
    if cluster.role == "chief":
        log = MetricsLog(folder)
        log.resume_from(first)
        if any(line["step"] > first for line in log.read("train")):
            role.world.fail(f"{role.name}: records of steps after {first} still count")
    hooks = tuple(make_hooks(monitor, own, None)) if make_hooks else ()
    spec = TrainSpec(None, hooks, job_.max_steps)
    run = Run(training, own, spec, monitor, first)
    if cluster.role == "chief" and run.is_finished:
        # It was ended after it had saved the last checkpoint, before it could tell so.
        role.story.note_trained(role, first)
    return JobPlan(job_, cluster, run)


def start_server(cluster, session_config):
    role = _here()
    role.story.servers[role.name] = server = Server(role.process)
    return server


def save_checkpoint(session, step, model_dir, listener):
    session._training._save(step, session)


def train_and_evaluate(estimator, spec, eval_spec):
    estimator.train(None, list(spec.hooks), spec.max_steps)


def finish(own, console):
    own.evaluate_and_export(checkpoints.latest_checkpoint(own.model_dir), True)


def report(job_, result, console):
    role = _here()
    storage.write_text(Path(job_.config.require_job_dir()) / job_layout.METRICS, "{}\n")
    role.story.note_report(role)
    return "done"


def find_corruption(checkpoint, allow_nan=False):
    path = Path(checkpoint)
    files = {one.name: one.read_bytes() for one in path.parent.glob(f"{path.name}.*")}
    return None if int(path.name.rpartition("-")[2]) in job.find_whole(files) else "it is torn"


def read_step(checkpoint):
    return int(checkpoint.rpartition("-")[2]) if checkpoint else 0


def has_index(checkpoint):
    return job.read_mark(checkpoint.with_name(f"{checkpoint.name}.index").read_bytes()) is not None


def _nothing(*_, **__):
    return contextlib.nullcontext()


def _no_action(*_, **__):
    return None


_COMPATIBILITY = SimpleNamespace(
    check_same_model=_no_action,
    check_warm_start=_no_action,
    save_inputs=_no_action,
    load_statistics=_no_action,
)
_RUN = SimpleNamespace(
    translate_errors=_nothing, finish=finish, collect_job_result=lambda plan: Result({})
)
# Module → names that stand for TensorFlow, the data and the report.
_REPLACED = {
    dispatch: {
        "compatibility": _COMPATIBILITY, "Checker": _nothing, "prepare_job": prepare,
        "report_job": report, "publish_model": _no_action, "write_page": _no_action,
    },
    chief: {
        "compatibility": _COMPATIBILITY, "record_start": _no_action, "run": _RUN,
        "describe_plan": lambda plan: "trains", "tf_config": _nothing,
        "save_checkpoint": save_checkpoint,
    },
    process: {
        "build_plan": build_plan, "start_server": start_server, "tf_config": _nothing,
        "translate_errors": _nothing,
        "port_guard": SimpleNamespace(guard_server=_no_action),
        "estimator": SimpleNamespace(train_and_evaluate=train_and_evaluate),
    },
    evaluator: {
        "build_plan": build_plan, "compatibility": _COMPATIBILITY, "tf_config": _nothing,
        "translate_errors": _nothing,
    },
    parameter_server: {"start_server": start_server},
    checkpoints: {"read_step": read_step},
    pinning: {"_has_index": has_index},
    estimator_bridge.model_files.checkpoints: {"find_corruption": find_corruption},
}  # fmt: skip


@contextlib.contextmanager
def without_tensorflow():
    """Replaces what the roles need of TensorFlow, while a `with` statement runs."""
    with contextlib.ExitStack() as stack:
        for module, names in _REPLACED.items():
            stack.enter_context(mock.patch.multiple(module, **names))
        yield
