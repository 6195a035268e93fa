"""Work that engines run: each task in a process of its own, then merged."""

import os
import pickle
from pathlib import Path

import pytest

from trainer.config import load_config
from trainer.data_validation import check
from trainer.engines.options import SPARK, Engine
from trainer.engines.running import run_pass
from trainer.engines.work import Failure, PassWork, open_outcome, start_job
from trainer.errors import TemporaryError, UserError, redact_data, redacts_data
from trainer.inputs.files import find_files
from trainer.passes.contract import number_files
from trainer.schema import Schema

pytestmark = [pytest.mark.quick, pytest.mark.newest]

SCHEMA = Schema.model_validate(
    {
        "columns": {"x": {"type": "float", "default": 0}, "y": {"type": "int"}},
        "label": {"column": "y", "num_classes": 2},
    }
)


class _Halves:
    """Work that fails for some tasks."""

    def run(self, task):
        if task < 0:
            raise UserError(f"task {task} is wrong")
        if task == 0:
            raise TemporaryError("later")
        return [task]

    def merge(self, first, second):
        if first == second:
            raise UserError("twice the same")
        return first + second


def test_an_error_of_the_user_ends_the_work_and_no_task_is_repeated():
    job = start_job(_Halves())
    outcomes = [job.perform(task) for task in (1, -1, 2)]
    assert outcomes[1] == Failure("task -1 is wrong")
    with pytest.raises(UserError, match="task -1 is wrong"):
        open_outcome(job.work, job.combine(outcomes))
    assert job.combine([[1], [1]]) == Failure("twice the same")
    assert open_outcome(job.work, job.combine([[1], [2], [3]])) == [1, 2, 3]
    with pytest.raises(TemporaryError):
        job.perform(0)


def _run_elsewhere(job, tasks, folder):
    """Runs each task as a worker would: from a copy of the job, in another folder."""
    outcomes = []
    for task in tasks:
        os.chdir(folder)
        worker = pickle.loads(pickle.dumps(job))
        outcomes.append(pickle.loads(pickle.dumps(worker.perform(task))))
    return job.combine(outcomes[::-1])


def test_a_pass_gives_the_local_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for number in range(3):
        lines = ["x,y", *(f"{0.1 * row * number},{row % 2}" for row in range(50)), "secret,0"]
        Path("data", f"{number}.csv").write_text("\n".join(lines) + "\n")
    files = find_files(["data"], "csv", "data")
    one = check.build_pass(SCHEMA, load_config(None, {}).data, False)
    here = run_pass(one, files, "", Engine())
    job = start_job(PassWork(one))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    there = _run_elsewhere(job, [[piece] for piece in number_files(files)], elsewhere)
    assert repr(check.judge(one, there, None)) == repr(check.judge(one, here, None))
    assert there.statistics.to_statistics(150) == here.statistics.to_statistics(150)
    assert "'secret'" in there.bad_rows.examples[0]

    redact_data(True)
    try:
        job = start_job(PassWork(one))
        redact_data(False)
        hidden = _run_elsewhere(job, [[piece] for piece in number_files(files)], elsewhere)
        assert redacts_data() and "secret" not in repr(check.judge(one, hidden, None))
    finally:
        redact_data(False)


def test_each_engine_gets_the_tasks(monkeypatch):
    seen = []

    def run_on_spark(job, tasks, options):
        seen.append((list(tasks), options))
        return job.combine([job.perform(task) for task in tasks])

    class Module:
        pass

    Module.run_on_spark = staticmethod(run_on_spark)
    monkeypatch.setitem(__import__("sys").modules, "trainer.engines.spark", Module)
    from trainer.engines.running import run_tasks

    engine = Engine(SPARK, spark_options=(("master", "local[2]"),))
    assert run_tasks(_Halves(), [1, 2, 3], "adding", engine) == [1, 2, 3]
    assert seen == [([1, 2, 3], {"master": "local[2]"})]
