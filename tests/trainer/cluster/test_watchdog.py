"""Which process ends when, by the heartbeat files and a clock that the tests move."""

import contextlib
import os
import threading
import time

import pytest

from trainer.cluster.heartbeat import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    RUNNING,
    TRAINED,
    HeartbeatFile,
)
from trainer.cluster.joining import join_cluster
from trainer.cluster.watchdog import Watchdog, build_end, has_finished, is_over
from trainer.config import ClusterConfig
from trainer.console import Console, Progress
from trainer.environment.cluster_spec import Cluster
from trainer.errors import FOLLOWED_STATUS, USER_ERROR_STATUS, JobEnded, TemporaryError, UserError
from trainer.signals import Interrupted, SignalWatch
from trainer.storage.workspace import Workspace

SPEC = {"chief": ("a:1",), "worker": ("b:1",), "ps": ("c:1",)}
LIMIT = 300
STALL = 60
# Seconds between two beats here; fewer than make a process silent.
BEAT = 10


class Process:
    """A process of a cluster that only has a heartbeat file and a watchdog."""

    def __init__(self, folder, role, now, strategy="none", run_id=None, spec=SPEC):
        self.cluster = cluster = Cluster(spec, role, run_id=run_id)
        self.heartbeat = HeartbeatFile(str(folder), cluster.name, lambda: now[0], run_id)
        self.left, self.said, self.asked = [], [], []
        config = ClusterConfig(strategy=strategy, watchdog_secs=LIMIT, stall_secs=STALL)
        self.watchdog = Watchdog(
            self.heartbeat,
            cluster,
            config,
            log=self.said.append,
            ask_end=lambda: self.asked.append(self.watchdog.cause),
            exit_now=self.left.append,
        )

    def has_finished(self):
        return has_finished(self.heartbeat, self.cluster)

    def check(self):
        self.heartbeat.refresh()
        self.watchdog.check()
        return self.left


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch):
    """Writes without waiting for the disk: no test here ends a machine, and some beat for hours."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def now():
    return [100.0]


def test_a_silent_chief_ends_the_others(tmp_path, now):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    chief.heartbeat.publish(RUNNING)
    assert worker.check() == []
    now[0] += LIMIT + 1
    assert worker.check() == [FOLLOWED_STATUS]
    assert worker.heartbeat.status["state"] == LOST
    assert "chief-0 has been silent for 300 s" in worker.said[0]


def test_a_process_that_never_starts_is_named_with_its_address(tmp_path, now):
    worker = Process(tmp_path, "worker", now)
    now[0] += LIMIT + 1
    assert worker.check() == [FOLLOWED_STATUS]
    assert "chief-0 (a:1) has not started within 300 s" in worker.said[0]


def test_a_chief_restarted_in_time_ends_nobody(tmp_path, now):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    chief.heartbeat.publish(RUNNING)
    worker.check()
    now[0] += LIMIT - 1
    Process(tmp_path, "chief", now).heartbeat.publish(RUNNING)
    worker.check()
    now[0] += LIMIT - 1
    Process(tmp_path, "ps", now).heartbeat.publish(RUNNING)
    assert worker.check() == []


def test_the_wait_for_a_restarted_chief_is_limited(tmp_path, now):
    Process(tmp_path, "chief", now).heartbeat.publish(FAILED)
    server = Process(tmp_path, "ps", now)
    assert server.check() == []
    now[0] += LIMIT + 1
    assert server.check() == [FOLLOWED_STATUS]


def test_a_chief_that_was_killed_after_it_had_finished_does_not_train_alone(tmp_path, now):
    Process(tmp_path, "chief", now, run_id="a").heartbeat.publish(FINISHED)
    chief = Process(tmp_path, "chief", now, run_id="a")
    chief.heartbeat.publish(RUNNING)
    assert chief.has_finished()
    # A later run, or one that may be, goes on with the job.
    for run_id in ("b", None):
        Process(tmp_path, "chief", now, run_id="a").heartbeat.publish(FINISHED)
        assert not Process(tmp_path, "chief", now, run_id=run_id).has_finished()


def test_a_process_that_starts_after_the_end_succeeds(tmp_path, now):
    Process(tmp_path, "chief", now, run_id="a").heartbeat.publish(FINISHED)
    assert Process(tmp_path, "ps", now, run_id="a").has_finished()
    # Nothing says whether that was this run: the chief may only be slower to start.
    server = Process(tmp_path, "ps", now)
    assert not server.has_finished() and server.check() == []
    now[0] += LIMIT + 1
    assert server.check() == [0]


@pytest.mark.parametrize(
    "strategy, left", [("none", []), ("multi_worker_mirrored", [FOLLOWED_STATUS])]
)
def test_only_workers_in_step_need_each_other(tmp_path, now, strategy, left):
    chief = Process(tmp_path, "chief", now, strategy)
    for role in ("worker", "ps"):
        Process(tmp_path, role, now).heartbeat.publish(RUNNING)
    chief.check()
    now[0] += LIMIT + 1
    Process(tmp_path, "ps", now).heartbeat.publish(RUNNING)
    assert chief.check() == left


def test_a_stuck_process_is_ended_after_the_grace_period(tmp_path, now, monkeypatch):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    monkeypatch.setattr("trainer.cluster.watchdog.time.monotonic", lambda: now[0])
    chief.heartbeat.publish(RUNNING)
    worker.check()
    chief.heartbeat.publish(FAILED)
    assert worker.check() == []
    now[0] += 21
    assert worker.check() == [FOLLOWED_STATUS]


def test_a_failed_chief_ends_once_all_others_have_ended(tmp_path):
    spec = {"chief": ("a:1",), "ps": ("c:1",)}
    server = HeartbeatFile(str(tmp_path), "ps-0")
    joined = join_cluster(
        Workspace(str(tmp_path), str(tmp_path)),
        ClusterConfig(),
        Cluster(spec),
        console=Console(quiet=True),
        watch=SignalWatch(),
    )
    with pytest.raises(RuntimeError, match="broken"), joined as heartbeat:
        server.refresh()
        server.publish(FAILED)
        heartbeat.refresh()
        raise RuntimeError("broken")
    server.refresh()
    assert server.read("chief-0")["state"] == FAILED
    assert server.read("chief-0")["message"] == "broken"


def _join_worker(folder):
    return join_cluster(
        Workspace(str(folder), str(folder)),
        ClusterConfig(),
        Cluster(SPEC, "worker"),
        console=Console(quiet=True),
        watch=SignalWatch(),
    )


def test_a_cluster_that_is_started_twice_does_not_take_over_the_first_workers(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("trainer.cluster.joining.GRACE_SECS", 1.0)
    first = HeartbeatFile(str(tmp_path), "worker-0")
    first.start(lambda: None)
    with pytest.raises(TemporaryError, match=f"another worker-0 .*process {os.getpid()} "):
        _join_worker(tmp_path).__enter__()
    assert not first.is_replaced() and len(os.listdir(first.folder)) == 1
    first.end(INTERRUPTED)
    with _join_worker(tmp_path) as second:
        assert second.start_number == 2


def test_a_process_takes_the_place_of_one_that_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.cluster.joining.QUIET_SECS", 0.1)
    HeartbeatFile(str(tmp_path), "worker-0").publish(RUNNING)
    with _join_worker(tmp_path) as second:
        assert second.start_number == 2


def _let_pass(now, secs, processes):
    """Time passes while all beat that have not left."""
    for _ in range(secs // BEAT):
        now[0] += BEAT
        for each in processes:
            if not each.left:
                each.heartbeat.publish(each.heartbeat.status["state"])
                each.check()


def _make_steps(now, processes, secs):
    """Each makes a first step and one that takes `secs`."""
    for process in processes:
        process.heartbeat.steps.start_session()
    for process in processes:
        process.heartbeat.steps.begin_step()
        process.heartbeat.steps.end_step()
        process.heartbeat.steps.begin_step()
    now[0] += secs
    for process in processes:
        process.heartbeat.steps.end_step()


@pytest.fixture
def pair(tmp_path, now, monkeypatch):
    """A chief and a worker in step that have heard each other."""
    monkeypatch.setattr("trainer.cluster.watchdog.time.monotonic", lambda: now[0])
    spec = {role: SPEC[role] for role in ("chief", "worker")}
    found = [Process(tmp_path, role, now, "multi_worker_mirrored", spec=spec) for role in spec]
    _let_pass(now, BEAT, found)
    return found


def test_in_a_deadlock_the_chief_fails_and_the_worker_follows(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    for each in pair:
        each.heartbeat.steps.begin_step()
    _let_pass(now, STALL, pair)
    assert chief.left == worker.left == []
    # What they say of each other is a beat old.
    _let_pass(now, 2 * BEAT, pair)
    assert chief.left == [1] and worker.left == []
    assert "chief-0: a training step has not ended within 70 s" in chief.said[0]
    _let_pass(now, 30, pair)
    assert worker.left == [FOLLOWED_STATUS]


def test_a_worker_that_hangs_alone_fails(tmp_path, now):
    job = [Process(tmp_path, role, now) for role in ("chief", "worker", "ps")]
    _let_pass(now, BEAT, job)
    chief, worker, _ = job
    _make_steps(now, [chief, worker], 1)
    worker.heartbeat.steps.begin_step()
    _let_pass(now, STALL + BEAT, job)
    assert worker.left == [1] and chief.left == []


def test_a_slow_job_goes_on(pair, now):
    _make_steps(now, pair, STALL / 2)
    for each in pair:
        each.heartbeat.steps.begin_step()
    _let_pass(now, 5 * STALL, pair)
    assert [each.left for each in pair] == [[], []]


def test_the_first_step_of_a_session_may_take_long(pair, now):
    for each in pair:
        each.heartbeat.steps.start_session()
        each.heartbeat.steps.begin_step()
    _let_pass(now, 10 * STALL, pair)
    assert [each.left for each in pair] == [[], []]
    _let_pass(now, 2 * BEAT, pair)
    assert pair[0].left == [1]


def test_a_worker_waits_while_the_chief_evaluates(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    worker.heartbeat.steps.begin_step()
    for _ in range(4):
        _let_pass(now, 5 * STALL, pair)
        chief.heartbeat.steps.note_progress()
    assert chief.left == worker.left == []


def test_silence_of_a_needed_process_has_a_separate_limit(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    for each in pair:
        each.heartbeat.steps.begin_step()
    _let_pass(now, LIMIT, [chief])
    assert chief.left == []
    _let_pass(now, 2 * BEAT, [chief])
    assert chief.left == [FOLLOWED_STATUS] and "worker-0 has been silent" in chief.said[0]


def test_a_process_that_hangs_closing_a_lost_session_is_ended(tmp_path, now, monkeypatch):
    chief = Process(tmp_path, "chief", now, "multi_worker_mirrored")
    monkeypatch.setattr("trainer.cluster.watchdog.time.monotonic", lambda: now[0])
    chief.heartbeat.publish(LOST, message="another process is gone")
    assert chief.check() == []
    now[0] += 6
    assert chief.check() == [FOLLOWED_STATUS]


@pytest.mark.parametrize("role", ["chief", "worker", "evaluator"])
def test_a_pause_between_steps_has_a_separate_limit(tmp_path, now, role):
    job = {each: Process(tmp_path, each, now) for each in ("chief", "ps", role)}
    process, job = job[role], list(job.values())
    _let_pass(now, BEAT, job)
    process.heartbeat.steps.note_progress()
    for _ in range(3):
        # As each batch of an evaluation does.
        _let_pass(now, 9 * STALL, job)
        process.heartbeat.steps.note_progress()
    _let_pass(now, 10 * STALL, job)
    assert process.left == []
    _let_pass(now, BEAT, job)
    assert process.left == [1]
    assert process.said[0].startswith(f"error: {role}-0: the scan of the data, a checkpoint, ")
    assert (
        f"has made no progress for {10 * STALL + BEAT} s "
        f"(cluster.stall_secs {STALL}, 10 times), in " in process.said[0]
    )


def test_waiting_for_others_between_steps_is_not_timed(tmp_path, now):
    job = [Process(tmp_path, role, now) for role in ("chief", "ps", "evaluator")]
    _let_pass(now, BEAT, job)
    with job[2].heartbeat.steps.time_pause():
        _let_pass(now, BEAT, job)
    _make_steps(now, job[:1], 1)
    job[0].heartbeat.steps.stop()
    _let_pass(now, 20 * STALL, job)
    assert [each.left for each in job] == [[], [], []]


def _fail(folder, process, error, watchdog_secs=LIMIT):
    """Ends a process by an error as trainer.task does."""
    config = ClusterConfig(watchdog_secs=watchdog_secs)
    joined = join_cluster(
        Workspace(str(folder), str(folder)),
        config,
        Cluster(SPEC, process, run_id="a"),
        console=Console(quiet=True),
        watch=SignalWatch(),
    )
    with pytest.raises(type(error)), joined:
        raise error


@pytest.mark.parametrize("role", ["worker", "ps", "evaluator"])
def test_a_user_error_elsewhere_ends_the_chief(tmp_path, now, role):
    chief = Process(tmp_path, "chief", now)
    _fail(tmp_path, role, UserError("data: row 7"))
    assert chief.check() == []
    (cause,) = chief.asked
    assert str(cause) == f"{role}-0 has failed: data: row 7; this process ends with it"
    assert cause.status == USER_ERROR_STATUS
    chief.check()
    assert chief.asked == [cause]


@pytest.mark.parametrize("error", [RuntimeError("broken"), TemporaryError("no answer")])
@pytest.mark.parametrize("role, ends", [("worker", True), ("ps", True), ("evaluator", False)])
def test_a_failed_process_that_is_not_restarted_ends_the_chief(tmp_path, now, role, ends, error):
    chief = Process(tmp_path, "chief", now)
    Process(tmp_path, "ps", now).heartbeat.publish(RUNNING)
    _fail(tmp_path, role, error)
    chief.check()
    now[0] += LIMIT - 1
    if role != "ps":
        Process(tmp_path, "ps", now).heartbeat.publish(RUNNING)
    assert chief.check() == chief.asked == []
    now[0] += 1
    assert chief.check() == []
    if not ends:
        assert chief.asked == []
        return
    (cause,) = chief.asked
    assert f"{role}-0 has failed and has not been started again within {LIMIT} s" in str(cause)
    assert cause.status == FOLLOWED_STATUS


def test_a_process_restarted_after_an_error_ends_nobody(tmp_path, now):
    chief = Process(tmp_path, "chief", now)
    _fail(tmp_path, "worker", RuntimeError("broken"))
    chief.check()
    now[0] += LIMIT - 1
    for role in ("worker", "ps"):
        Process(tmp_path, role, now).heartbeat.publish(RUNNING)
    chief.check()
    now[0] += LIMIT - 1
    assert chief.check() == chief.asked == []


def test_an_error_elsewhere_does_not_prevent_the_last_evaluation(tmp_path, now):
    chief = Process(tmp_path, "chief", now)
    chief.heartbeat.publish(TRAINED)
    _fail(tmp_path, "worker", UserError("data: row 7"))
    assert chief.check() == chief.asked == []


def test_a_chief_does_not_wait_for_a_server_that_failed_for_good(tmp_path, now, monkeypatch):
    monkeypatch.setattr("trainer.cluster.watchdog.time.monotonic", lambda: now[0])
    chief = Process(tmp_path, "chief", now)
    _fail(tmp_path, "ps", UserError("port"))
    assert chief.check() == []
    now[0] += 21
    assert chief.check() == [USER_ERROR_STATUS]
    assert chief.heartbeat.status["state"] == FAILED and "ps-0 has failed: port" in chief.said[0]


@contextlib.contextmanager
def _joined_as_chief(folder):
    cluster, console = Cluster(SPEC, run_id="a"), Console(quiet=True)
    workspace = Workspace(str(folder), str(folder))
    with (
        SignalWatch() as watch,
        join_cluster(workspace, ClusterConfig(), cluster, console=console, watch=watch),
    ):
        yield


def test_a_chief_that_ends_for_an_error_elsewhere_reports_it(tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.cluster.joining.GRACE_SECS", 0.0)
    worker = HeartbeatFile(str(tmp_path), "worker-0", run_id="a")
    with pytest.raises(JobEnded) as ended, _joined_as_chief(tmp_path):
        worker.publish(FAILED, message="data: row 7", awaited_secs=0)
        try:
            time.sleep(100)
        except Interrupted as interruption:
            # As in training.
            raise Interrupted(interruption.signal, 1234) from None
    assert ended.value.status == USER_ERROR_STATUS
    line = "worker-0 has failed: data: row 7; this process ends with it"
    assert str(ended.value) == f"{line}; checkpoint saved at step 1,234"
    worker.refresh()
    assert worker.read("chief-0")["state"] == FAILED
    assert worker.read("chief-0")["message"] == str(ended.value)


def test_a_chief_whose_step_was_aborted_reports_the_error_that_follows(tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.cluster.joining.GRACE_SECS", 0.0)
    worker = HeartbeatFile(str(tmp_path), "worker-0", run_id="a")
    telling = threading.Timer(
        0.5, worker.publish, [FAILED], {"message": "row 7", "awaited_secs": 0}
    )
    with pytest.raises(JobEnded) as ended, _joined_as_chief(tmp_path):
        telling.start()
        raise JobEnded("worker-0: the connection is closed")
    telling.join()
    assert ended.value.status == USER_ERROR_STATUS
    assert str(ended.value) == "worker-0 has failed: row 7; this process ends with it"
    worker.refresh()
    assert worker.read("chief-0")["state"] == FAILED


@pytest.mark.parametrize(
    "failed, late", [("chief", "worker"), ("chief", "ps"), ("worker", "chief")]
)
def test_a_user_error_before_a_process_starts_reaches_it(tmp_path, now, failed, late):
    heartbeat = Process(tmp_path, failed, now, run_id="a").heartbeat
    heartbeat.publish(FAILED, awaited_secs=0, message="data.delim: unknown")
    process = Process(tmp_path, late, now, run_id="a")
    if late == "chief":
        process.check()
        (cause,) = process.asked
        assert cause.status == USER_ERROR_STATUS and "data.delim: unknown" in str(cause)
    else:
        assert is_over(process.heartbeat)
    # Another run may have another input.
    assert not is_over(Process(tmp_path, "ps", now, run_id="b").heartbeat)


def test_a_failure_that_is_restarted_is_not_read_by_late_processes(tmp_path, now):
    Process(tmp_path, "chief", now, run_id="a").heartbeat.publish(FAILED, awaited_secs=LIMIT)
    assert not is_over(Process(tmp_path, "worker", now, run_id="a").heartbeat)


@pytest.mark.parametrize("failing, late", [("worker", "chief"), ("chief", "worker")])
def test_without_an_id_an_error_waits_for_a_process_that_starts_later(
    tmp_path, capsys, failing, late
):
    spec = {"chief": ("a:1",), "worker": ("b:1",)}
    ended = threading.Event()

    def fail():
        joined = join_cluster(
            Workspace(str(tmp_path), str(tmp_path)),
            ClusterConfig(watchdog_secs=60),
            Cluster(spec, failing),
            console=Console(quiet=True),
            watch=SignalWatch(),
        )
        with pytest.raises(UserError, match="no such column"), joined:
            raise UserError("no such column")
        ended.set()

    thread = threading.Thread(target=fail)
    thread.start()
    file = tmp_path / "cluster" / f"{failing}-0.1.json"
    deadline = time.monotonic() + 20
    while not (file.exists() and '"failed"' in file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    other = HeartbeatFile(str(tmp_path), f"{late}-0")
    # What is found at start-up may be of an earlier run; the next beat is not.
    assert not other.read(f"{failing}-0")
    while other.read(f"{failing}-0").get("state") != FAILED:
        assert time.monotonic() < deadline
        other.refresh()
        time.sleep(0.1)
    assert not ended.is_set()
    if late == "worker":
        end = build_end(other.read("chief-0"))
        assert end.status == USER_ERROR_STATUS and str(end).endswith("with it: no such column")
    other.publish(FAILED)
    thread.join(10)
    assert ended.is_set()
    waits = f"{failing}-0: no such column; this process waits up to 60 s until {late}-0 has read"
    assert waits in capsys.readouterr().err


def test_a_launcher_that_names_the_run_restarts_followers_itself(tmp_path, now):
    chief = Process(tmp_path, "chief", now, run_id="a")
    chief.heartbeat.publish(FAILED, awaited_secs=0, message="no such column")
    status = Process(tmp_path, "ps", now, run_id="a").heartbeat.read("chief-0")
    assert build_end(status).status == FOLLOWED_STATUS


def test_a_scan_that_hangs_ends_the_process(tmp_path, now):
    worker, *others = [Process(tmp_path, role, now) for role in ("worker", "chief", "ps")]
    with worker.heartbeat.steps.time_pause():
        console = Console(quiet=True).observed(worker.heartbeat.steps.note_progress)
        progress = Progress(console, "reading the data", "rows")
        for _ in range(3):
            _let_pass(now, 9 * STALL, [worker, *others])
            progress.add(1000)
        _let_pass(now, 10 * STALL, [worker, *others])
        assert worker.left == []
        _let_pass(now, BEAT, [worker, *others])
    assert worker.left == [1]
    assert worker.said[0].startswith("error: worker-0: the scan of the data, ")


@pytest.mark.parametrize("role", ["chief", "worker", "ps"])
def test_a_process_ends_after_its_successor_has_started(tmp_path, now, role):
    first = Process(tmp_path, role, now, run_id="a")
    first.heartbeat.publish(RUNNING)
    other = Process(tmp_path, role, now, run_id="b")
    other.heartbeat.publish(RUNNING)
    assert first.check() == []
    second = Process(tmp_path, role, now, run_id="a")
    assert first.check() == []
    second.heartbeat.publish(RUNNING)
    assert second.check() == [] and first.check() == [FOLLOWED_STATUS]
    assert "has been started again" in first.said[0]
    # What it has said at its end counts for nobody.
    assert second.check() == [] and second.heartbeat.read(second.cluster.name)["state"] == RUNNING


def test_the_end_of_a_follower_says_what_happened_to_the_chief():
    said = [str(build_end({"state": state})) for state in (FAILED, INTERRUPTED)]
    assert said == [
        "the chief has failed, and this process ends with it",
        "the chief was interrupted, and this process ends with it",
    ]
