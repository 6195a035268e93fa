"""Faults that the trainer once had. With one of them put back, some schedule must fail."""

import contextlib
from typing import Callable, NamedTuple
from unittest import mock

from estimator_bridge.model_files import durable
from trainer import job_layout
from trainer.cluster.servers import Servers
from trainer.errors import UserError
from trainer.job_dir import metrics_log
from trainer.models.fused.service import ParameterService
from trainer.models.fused.sharing import PULL, PUSH
from trainer.roles import worker
from trainer.roles.process import HeartbeatHook
from trainer.storage import workspace
from trainer.storage.keeper import Keeper
from trainer.storage.outgoing import Outgoing


class Fault(NamedTuple):
    """A fault.

    Attributes:
        story: the story that finds it.
        message: part of the message of the violated invariant.
        put_back: returns a context manager; the trainer has the fault during its `with` statement.
    """

    story: str
    message: str
    put_back: Callable[[], contextlib.AbstractContextManager]


def _missing_files_count_as_removed():
    return mock.patch.object(job_layout, "is_superseded", lambda *_: True)


def _a_claim_ends_with_its_job():
    end = Keeper.end

    def end_and_release(keeper):
        end(keeper)
        claim = keeper.mirror.claim
        if claim is not None and claim._made is not None:
            keeper.mirror.bucket.remove(claim._made)

    return mock.patch.object(Keeper, "end", end_and_release)


def _the_storing_thread_ends_after_an_error():
    def run(keeper):
        while not keeper._ended.wait(keeper._secs):
            try:
                keeper.synchronize()
            except UserError as error:
                keeper.error = error
                keeper._stop()
                return

    return mock.patch.object(Keeper, "_run", run)


def _the_state_file_is_stored_last():
    store, store_state = Outgoing.store, Outgoing._store_state

    def store_late(outgoing, starts_over):
        with mock.patch.object(outgoing, "_store_state", lambda text, status: True):
            num = store(outgoing, starts_over)
        outgoing._store_state = lambda text, status: store_state(outgoing, text, status)
        return num + store(outgoing, starts_over)

    return mock.patch.object(Outgoing, "store", store_late)


def _a_record_follows_a_torn_line():
    def append_lines(path, lines):
        with path.open("a") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    return mock.patch.object(metrics_log, "append_lines", append_lines)


def _a_worker_leaves_at_the_last_step():
    after_run = HeartbeatHook.after_run

    def stop(hook, run_context, run_values):
        if hook._waits_at_end and run_values.results + 1 >= hook._max_steps:
            run_context.request_stop()
        else:
            after_run(hook, run_context, run_values)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(HeartbeatHook, "after_run", stop))
    stack.enter_context(mock.patch.object(worker, "_await_end", lambda *_: {"state": None}))
    return stack


def _a_ready_marker_outlives_its_run():
    return mock.patch.object(workspace, "_is_held", lambda path: path.exists())


def _files_are_not_written_through():
    return mock.patch.object(durable, "sync_files", lambda paths: None)


def _a_late_update_is_applied():
    step = ParameterService._step

    def accept(server, model, kind, arrays):
        if kind == PUSH:
            _note_load(model, arrays, server._load)
        return step(server, model, kind, arrays)

    return mock.patch.object(ParameterService, "_step", accept)


def _note_load(model, arrays, load):
    place = len(arrays) - len(model.tables) - 1
    arrays[place] = arrays[place].copy()
    arrays[place].view("int64")[1] = load


def _two_settings_are_joined():
    answer, loads = ParameterService.answer, {}

    def hide(server, trainer, kind, arrays):
        known = loads.setdefault(server, {})
        if kind == PUSH and server._model is not None:
            _note_load(server._model, arrays, known.get(trainer, 0))
        found = answer(server, trainer, kind, arrays)
        if kind in (PULL, PUSH) and found is not None:
            known[trainer], found[0][2] = found[0][2], 1
        return found

    return mock.patch.object(ParameterService, "answer", hide)


def _a_server_that_hangs_is_waited_for():
    return mock.patch.object(Servers, "_look", lambda servers: None)


FAULTS = {
    "missing files count as removed": Fault(
        "storage", "the state file", _missing_files_count_as_removed
    ),
    "a claim ends with its job": Fault("storage", "although", _a_claim_ends_with_its_job),
    "the storing thread ends after an error": Fault(
        "storage", "died of", _the_storing_thread_ends_after_an_error
    ),
    "the state file is stored last": Fault(
        "storage", "before the state file", _the_state_file_is_stored_last
    ),
    "a record follows a torn line": Fault(
        "cluster", "metrics.jsonl is lost", _a_record_follows_a_torn_line
    ),
    "a worker leaves at the last step": Fault(
        "cluster", "the chief has not trained", _a_worker_leaves_at_the_last_step
    ),
    "a ready marker outlives its run": Fault(
        "cluster", "before the chief has fetched", _a_ready_marker_outlives_its_run
    ),
    "a checkpoint is named before it is on the disk": Fault(
        "cluster", "has not ended", _files_are_not_written_through
    ),
    "an update is applied after the variables are set again": Fault(
        "served", "to another setting", _a_late_update_is_applied
    ),
    "values of two settings are joined": Fault(
        "served", "of several settings", _two_settings_are_joined
    ),
    "a server that hangs is waited for after its restart": Fault(
        "served", "have not ended", _a_server_that_hangs_is_waited_for
    ),
}
