"""Who ends when, by what the board says and a clock that the tests move."""

import pytest

from trainer.board import FAILED, FINISHED, LOST, RUNNING, Board
from trainer.cluster import Cluster
from trainer.config import ClusterConfig
from trainer.console import Console
from trainer.errors import FOLLOWED_STATUS
from trainer.watchdog import Watchdog, has_finished, on_board

SPEC = {"chief": ("a:1",), "worker": ("b:1",), "ps": ("c:1",)}
LIMIT = 300
STALL = 60
# Seconds between two beats here; fewer than make a process silent.
BEAT = 10


class Process:
    """A process of a cluster that only has a board and a watchdog."""

    def __init__(self, folder, role, now, strategy="none", run_id=None, spec=SPEC):
        cluster = Cluster(spec, role, run_id=run_id)
        self.board = Board(str(folder), cluster.name, lambda: now[0], run_id)
        self.left, self.said = [], []
        config = ClusterConfig(strategy=strategy, watchdog_secs=LIMIT, stall_secs=STALL)
        self.watchdog = Watchdog(self.board, cluster, config, self.said.append, self.left.append)

    def check(self):
        self.board.look()
        self.watchdog.check()
        return self.left


@pytest.fixture
def now():
    return [100.0]


def test_a_chief_that_falls_silent_ends_the_others(tmp_path, now):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    chief.board.post(RUNNING)
    assert worker.check() == []
    now[0] += LIMIT + 1
    assert worker.check() == [1]
    assert "chief-0 has been silent for 300 s" in worker.said[0]


def test_a_chief_that_comes_back_in_time_ends_nobody(tmp_path, now):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    chief.board.post(RUNNING)
    worker.check()
    now[0] += LIMIT - 1
    Process(tmp_path, "chief", now).board.post(RUNNING)
    worker.check()
    now[0] += LIMIT - 1
    Process(tmp_path, "ps", now).board.post(RUNNING)
    assert worker.check() == []


def test_who_waits_for_the_chief_that_follows_a_failed_one_waits_no_longer(tmp_path, now):
    Process(tmp_path, "chief", now).board.post(FAILED)
    server = Process(tmp_path, "ps", now)
    assert server.check() == []
    now[0] += LIMIT + 1
    assert server.check() == [1]


def test_who_comes_after_the_end_ends_well(tmp_path, now):
    Process(tmp_path, "chief", now, run_id="a").board.post(FINISHED)
    assert has_finished(Process(tmp_path, "ps", now, run_id="a").board)
    # Nothing says whether that was this run: the chief may only be slower to start.
    server = Process(tmp_path, "ps", now)
    assert not has_finished(server.board) and server.check() == []
    now[0] += LIMIT + 1
    assert server.check() == [0]


@pytest.mark.parametrize("strategy, status", [("none", []), ("multi_worker_mirrored", [1])])
def test_only_workers_in_step_need_each_other(tmp_path, now, strategy, status):
    chief = Process(tmp_path, "chief", now, strategy)
    for role in ("worker", "ps"):
        Process(tmp_path, role, now).board.post(RUNNING)
    chief.check()
    now[0] += LIMIT + 1
    Process(tmp_path, "ps", now).board.post(RUNNING)
    assert chief.check() == status


def test_a_stuck_process_is_ended_after_its_grace(tmp_path, now, monkeypatch):
    chief, worker = (Process(tmp_path, role, now) for role in ("chief", "worker"))
    monkeypatch.setattr("trainer.watchdog.time.monotonic", lambda: now[0])
    chief.board.post(RUNNING)
    worker.check()
    chief.board.post(FAILED)
    assert worker.check() == []
    now[0] += 21
    assert worker.check() == [FOLLOWED_STATUS]


def test_a_failed_chief_leaves_once_all_have_heard(make, tmp_path):
    spec = {"chief": ("a:1",), "ps": ("c:1",)}
    server = Board(str(tmp_path), "ps-0")
    joined = on_board(make.config(tmp_path), Cluster(spec), Console(quiet=True))
    with pytest.raises(RuntimeError, match="broken"), joined as board:
        server.look()
        server.post(FAILED)
        board.look()
        raise RuntimeError("broken")
    server.look()
    assert server.read("chief-0")["state"] == FAILED
    assert server.read("chief-0")["message"] == "broken"


def _let_pass(now, secs, processes):
    """Time passes while all beat that have not left."""
    for _ in range(secs // BEAT):
        now[0] += BEAT
        for each in processes:
            if not each.left:
                each.board.post(each.board.posted["state"])
                each.check()


def _make_steps(now, processes, secs):
    """Each makes a first step and one that takes `secs`."""
    for process in processes:
        process.board.steps.start()
    for process in processes:
        process.board.steps.begin()
        process.board.steps.end()
        process.board.steps.begin()
    now[0] += secs
    for process in processes:
        process.board.steps.end()


@pytest.fixture
def pair(tmp_path, now, monkeypatch):
    """A chief and a worker in step that have heard each other."""
    monkeypatch.setattr("trainer.watchdog.time.monotonic", lambda: now[0])
    spec = {role: SPEC[role] for role in ("chief", "worker")}
    found = [Process(tmp_path, role, now, "multi_worker_mirrored", spec=spec) for role in spec]
    _let_pass(now, BEAT, found)
    return found


def test_of_two_that_wait_for_each_other_the_chief_fails_and_the_other_follows(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    for each in pair:
        each.board.steps.begin()
    _let_pass(now, STALL, pair)
    assert chief.left == worker.left == []
    # What they say of each other is a beat old.
    _let_pass(now, 2 * BEAT, pair)
    assert chief.left == [1] and worker.left == []
    assert "chief-0: a training step has not ended within 70 s" in chief.said[0]
    _let_pass(now, 30, pair)
    assert worker.left == [FOLLOWED_STATUS]


def test_a_worker_that_hangs_alone_fails_itself(tmp_path, now):
    job = [Process(tmp_path, role, now) for role in ("chief", "worker", "ps")]
    _let_pass(now, BEAT, job)
    chief, worker, _ = job
    _make_steps(now, [chief, worker], 1)
    worker.board.steps.begin()
    _let_pass(now, STALL + BEAT, job)
    assert worker.left == [1] and chief.left == []


def test_a_job_that_is_slow_is_let_go_on(pair, now):
    _make_steps(now, pair, STALL / 2)
    for each in pair:
        each.board.steps.begin()
    _let_pass(now, 5 * STALL, pair)
    assert [each.left for each in pair] == [[], []]


def test_the_first_step_of_a_session_may_take_long(pair, now):
    for each in pair:
        each.board.steps.start()
        each.board.steps.begin()
    _let_pass(now, 10 * STALL, pair)
    assert [each.left for each in pair] == [[], []]
    _let_pass(now, 2 * BEAT, pair)
    assert pair[0].left == [1]


def test_a_worker_waits_while_the_chief_evaluates(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    worker.board.steps.begin()
    _let_pass(now, 20 * STALL, pair)
    assert chief.left == worker.left == []


def test_the_silence_of_one_that_is_needed_has_a_limit_of_its_own(pair, now):
    chief, worker = pair
    _make_steps(now, pair, 1)
    for each in pair:
        each.board.steps.begin()
    _let_pass(now, LIMIT, [chief])
    assert chief.left == []
    _let_pass(now, 2 * BEAT, [chief])
    assert chief.left == [1] and "worker-0 has been silent" in chief.said[0]


def test_one_that_closes_a_lost_session_does_not_hang_in_it(tmp_path, now, monkeypatch):
    chief = Process(tmp_path, "chief", now, "multi_worker_mirrored")
    monkeypatch.setattr("trainer.watchdog.time.monotonic", lambda: now[0])
    chief.board.post(LOST, message="another process is gone")
    assert chief.check() == []
    now[0] += 6
    assert chief.check() == [FOLLOWED_STATUS]
