"""Replaces clock, threads, locks and processes in the modules of `trainer` by the simulated ones.

Only the names that these modules use are replaced. In other threads they do what they did before.
"""

import atexit
import contextlib
import errno
import fcntl
import os
import random
import sys
import threading
import time
from concurrent import futures
from unittest import mock

from estimator_bridge.model_files import durable
from simulation import kernel
from simulation.kernel import current

PACKAGES = (
    "estimator_bridge.model_files.durable",
    "trainer.storage",
    "trainer.cluster",
    "trainer.roles",
    "trainer.job_dir",
    "trainer.signals",
    "google.api_core.retry",
)


class _Proxy:
    """A module of which some names are replaced."""

    def __init__(self, module, **names):
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def _sleep(secs):
    current().world.wait(secs)


def _monotonic():
    return current().world.now


class _MainThread:
    ident = 1


def _current_thread():
    return _MainThread if current().is_main else current().thread


def _check_room():
    if current().process.machine.is_full:
        raise OSError(errno.ENOSPC, "No space left on device")


def _replace(source, target):
    current().world.wait()
    current().process.machine.stamp(source)
    os.replace(source, target)
    current().world.wait()


def _fsync(number):
    current().world.wait()
    _check_room()
    current().process.machine.note_synced(os.fstat(number))


def _flock(file, how):
    current().process.machine.flock(current().process, file, how)


def _kill(pid, number):
    current().process.signal(number)


def _exit(status):
    current().process.exit(status)
    current().world.wait()


TIME = _Proxy(time, sleep=_sleep, monotonic=_monotonic, time=_monotonic)
THREADING = _Proxy(
    threading,
    Thread=kernel.Thread,
    Event=kernel.Event,
    Lock=kernel.Lock,
    RLock=lambda: kernel.Lock(reenters=True),
    main_thread=lambda: _MainThread,
    current_thread=_current_thread,
)
OS = _Proxy(
    os,
    replace=_replace,
    fsync=_fsync,
    kill=_kill,
    getpid=lambda: current().process.pid,
    _exit=_exit,
)
FCNTL = _Proxy(fcntl, flock=_flock, lockf=_flock)
RANDOM = _Proxy(random, uniform=lambda low, high: current().world.random.uniform(low, high))
# Of the main thread; a message names the function that it runs.
SYS = _Proxy(sys, _current_frames=lambda: {_MainThread.ident: sys._getframe()})
NAMES = {
    id(sys): SYS,
    id(time): TIME,
    id(threading): THREADING,
    id(os): OS,
    id(fcntl): FCNTL,
    id(random): RANDOM,
    id(atexit): _Proxy(atexit, register=lambda *arguments, **options: None),
    id(time.sleep): _sleep,
    id(time.monotonic): _monotonic,
    id(os._exit): _exit,
    id(futures.ThreadPoolExecutor): kernel.Executor,
    id(futures.wait): kernel.wait_for,
}


@contextlib.contextmanager
def installed():
    """Replaces the names while a `with` statement runs; no thread of the trainer may run."""
    with contextlib.ExitStack() as stack:
        for name, module in sorted(sys.modules.items()):
            if module is None or not name.startswith(PACKAGES):
                continue
            for key, value in list(vars(module).items()):
                if id(value) in NAMES:
                    stack.enter_context(mock.patch.object(module, key, NAMES[id(value)]))
                elif getattr(value, "__module__", None) == name:
                    _patch_defaults(stack, value)
        stack.enter_context(mock.patch.object(durable, "_guards", _Guards()))
        yield


class _Guards:
    """The checks of the simulated process that asks, as each real process has its own."""

    def __setitem__(self, folder, check):
        current().process.guards[folder] = check

    def __delitem__(self, folder):
        del current().process.guards[folder]

    def get(self, folder):
        return current().process.guards.get(folder)


def _patch_defaults(stack, value):
    functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
    for function in functions:
        defaults = getattr(function, "__defaults__", None)
        if defaults and any(id(one) in NAMES for one in defaults):
            changed = tuple(NAMES.get(id(one), one) for one in defaults)
            stack.enter_context(mock.patch.object(function, "__defaults__", changed))
        named = getattr(function, "__kwdefaults__", None)
        if named and any(id(one) in NAMES for one in named.values()):
            changed = {key: NAMES.get(id(one), one) for key, one in named.items()}
            stack.enter_context(mock.patch.object(function, "__kwdefaults__", changed))
