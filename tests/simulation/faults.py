"""Faults that the trainer once had. With one of them put back, some schedule must fail."""

import contextlib
from typing import Callable, NamedTuple
from unittest import mock

from trainer import job_layout
from trainer.errors import UserError
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
}
