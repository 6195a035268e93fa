"""Runs simulated processes one at a time, on a clock of its own; a seed determines every step.

Each simulated thread is a greenlet, so only one of all runs at any time. Wherever it waits (sleep,
lock, request, write to the disk), it chooses, with the seed's random numbers, which thread runs
next. A killed process is never chosen again, so no `finally` block of it has any effect.
"""

import gc
import random
import re
import traceback
import zlib
from concurrent.futures import Future

from greenlet import getcurrent, greenlet

END_SECS = 50_000.0
# The names of temporary files and folders.
RANDOM_NAMES = re.compile(r"[0-9a-f]{32}|sim-\w+")


class Cancelled(BaseException):
    """Unwinds the threads of killed processes after the end of a schedule."""


class Violation(Exception):
    """The code has broken an invariant."""


class Process:
    """A simulated process.

    Args:
        world: the World.
        machine: what it runs on.
        name: for traces.
    """

    def __init__(self, world, machine, name):
        self.world, self.machine, self.name = world, machine, name
        world.num_processes += 1
        self.pid = 1000 + world.num_processes
        self.is_alive = True
        self.paused_until = 0.0
        self.fuse = None  # (number of waits left, what happens then)
        self.signalled = False
        self.on_signal = None  # called in the main thread with a signal's number, like a handler
        self.signals = []
        self.status = None  # the exit status; None while it runs and after a kill
        self.error = None
        self.tasks = []
        self.guards = {}  # folder -> what is called before a checkpoint in it is named
        self.requests = []  # those that have been sent and not been carried out
        self.on_end = lambda process: None

    def signal(self, number):
        """Sends a signal; the main thread handles it when it waits next."""
        self.signalled = True
        if self.on_signal is not None:
            self.signals.append(number)

    def kill(self):
        """Ends it at once, like SIGKILL."""
        if self.is_alive:
            self.world.note(f"{self.name} is killed")
            self._end()

    def exit(self, status):
        """Ends it with a status, like os._exit."""
        if self.is_alive:
            self.world.note(f"{self.name} ends with status {status}: {self.error or ''}")
            self.status = status
            self._end()

    def _end(self):
        self.is_alive = False
        self.machine.release_locks(self)
        for request in self.requests:
            # What is on its way may still arrive, even much later.
            if self.world.random.random() < 0.5:
                self.world.call_later(self.world.random.choice((0, 1, 30, 300)), request)
        self.on_end(self)


class Task:
    """A simulated thread."""

    def __init__(self, world, process, name, function):
        self.world, self.process, self.name = world, process, name
        self.wake, self.ready = world.now, None
        self.is_done = self.is_cancelled = False
        self.is_main = not process.tasks
        self.thread = None  # the Thread that started it
        self.ident = len(process.tasks) + 1
        process.tasks.append(self)
        # When it ends, World.run goes on.
        self.greenlet = greenlet(lambda: self._run(function), world.hub)
        self.greenlet.task = self

    def _run(self, function):
        try:
            function()
        except Cancelled:
            pass
        except Violation as error:
            self.world.fail(str(error))
        except BaseException as error:
            if not self.is_cancelled:
                text = f"{type(error).__name__}: {error}"
                if self.world.trace is not None:
                    self.world.trace.append(traceback.format_exc())
                self.world.fail(f"thread {self.name} of {self.process.name} died of {text}")
        self.is_done = True


def current():
    """Returns the simulated thread that runs; None outside of them."""
    return getattr(getcurrent(), "task", None)


class World:
    """The clock, the random numbers, and all threads.

    Args:
        seed: determines everything.
        keeps_trace: whether to keep the lines of `note`.
    """

    def __init__(self, seed, keeps_trace=False):
        self.random = random.Random(seed)
        self.now = 1_000_000.0
        self.tasks = []
        self.timers = []
        self.trace = [] if keeps_trace else None
        self.violation = None
        self.num_processes = 0
        self.num_steps = 0
        self.digest = 0
        self.hub = getcurrent()
        self._end = self.now + END_SECS

    def note(self, line):
        same = RANDOM_NAMES.sub("", line)
        self.digest = zlib.crc32(f"{self.digest} {self.now:.6f} {same}".encode())
        if self.trace is not None:
            self.trace.append(f"{self.now - 1_000_000:10.3f}  {line}")

    def fail(self, message):
        if self.violation is None:
            self.violation = message
            self.note(f"VIOLATION: {message}")

    def spawn(self, process, function, name):
        task = Task(self, process, name, function)
        self.tasks.append(task)
        return task

    def call_later(self, secs, function):
        self.timers.append((self.now + secs, len(self.timers), function))

    def run(self):
        """Runs until every thread has ended; returns the violated invariant, or None."""
        # A schedule ends before its garbage matters.
        gc.disable()
        try:
            self._run_tasks()
        finally:
            gc.enable()
        return self.violation

    def _run_tasks(self):
        task = self._choose()
        while task is not None:
            task.greenlet.switch()
            task = self._choose()
        for task in self.tasks:
            task.is_cancelled = True
            while task.greenlet and not task.is_done:
                task.greenlet.switch()

    def _choose(self):
        while self.violation is None:
            self._run_timers()
            alive = [t for t in self.tasks if not t.is_done and t.process.is_alive]
            able = [t for t in alive if self._is_able(t)]
            if able:
                self.num_steps += 1
                return able[0] if len(able) == 1 else self.random.choice(able)
            times = [max(t.wake, t.process.paused_until) for t in alive]
            times = [time for time in times if time > self.now]
            times += [timer[0] for timer in self.timers]
            if not alive and not self.timers:
                return None
            if not times or min(times) > self._end:
                self.fail(
                    "these never end: " + ", ".join(f"{t.process.name}/{t.name}" for t in alive)
                )
                return None
            self.now = min(times)
        return None

    def _is_able(self, task):
        if task.process.paused_until > self.now:
            return False
        if task.wake <= self.now or task.is_main and task.process.signals:
            return True
        return task.ready is not None and task.ready()

    def _run_timers(self):
        due = [timer for timer in self.timers if timer[0] <= self.now]
        for timer in sorted(due, key=lambda timer: timer[:2]):
            self.timers.remove(timer)
            timer[2]()

    def wait(self, secs=0.0, ready=None):
        """Lets other threads run for some seconds, or until a condition holds.

        Returns:
            Whether the condition holds.
        """
        task = current()
        if task.is_cancelled:
            raise Cancelled
        process = task.process
        if process.fuse is not None:
            left, action = process.fuse
            process.fuse = (left - 1, action) if left else None
            if not left:
                action()
        task.wake, task.ready = self.now + secs, ready
        following = self._choose()
        if following is not task:
            (self.hub if following is None else following.greenlet).switch()
        if task.is_cancelled:
            raise Cancelled
        task.ready = None
        # Two events never have the same time.
        self.now += 1e-6
        if task.is_main and process.signals:
            process.on_signal(process.signals.pop(0))
        return ready is not None and ready()


FOREVER = 1e9


class Event:
    def __init__(self):
        self._is_set = False

    def set(self):
        self._is_set = True

    def is_set(self):
        return self._is_set

    def wait(self, timeout=None):
        if not self._is_set:
            secs = FOREVER if timeout is None else timeout
            current().world.wait(secs, lambda: self._is_set)
        return self._is_set


class Lock:
    """A lock or, with `reenters`, an RLock."""

    def __init__(self, reenters=False):
        self._owner, self._depth, self._reenters = None, 0, reenters

    def acquire(self):
        task = current()
        if self._reenters and self._owner is task:
            self._depth += 1
            return True
        while self._owner is not None:
            task.world.wait(FOREVER, lambda: self._owner is None)
        self._owner, self._depth = task, 1
        return True

    def release(self):
        self._depth -= 1
        if self._depth <= 0:
            self._owner = None

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exception):
        self.release()


class Thread:
    def __init__(self, target, name="thread", args=(), daemon=None):
        self._target, self._args, self._task, self.name = target, args, None, name
        self.ident = None

    def start(self):
        task = current()
        run = lambda: self._target(*self._args)  # noqa: E731
        self._task = task.world.spawn(task.process, run, self.name)
        self._task.thread = self
        self.ident = self._task.ident

    def is_alive(self):
        return self._task is not None and not self._task.is_done

    def join(self):
        while not self._task.is_done:
            current().world.wait(FOREVER, lambda: self._task.is_done)


class Executor:
    """Runs functions in several simulated threads, like ThreadPoolExecutor."""

    def __init__(self, max_workers, thread_name_prefix="pool"):
        self._num, self._name, self._waiting, self._threads = (
            max_workers,
            thread_name_prefix,
            [],
            [],
        )

    def submit(self, function):
        future = Future()
        self._waiting.append((future, function))
        if len(self._threads) < self._num:
            self._threads.append(Thread(self._work, f"{self._name}-{len(self._threads)}"))
            self._threads[-1].start()
        return future

    def _work(self):
        while self._waiting:
            future, function = self._waiting.pop(0)
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except Exception as error:
                    future.set_exception(error)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for thread in self._threads:
            thread.join()


def wait_for(futures, return_when=None):
    """Like concurrent.futures.wait with FIRST_EXCEPTION."""

    def is_over():
        failed = any(one.done() and not one.cancelled() and one.exception() for one in futures)
        return failed or all(one.done() for one in futures)

    while not is_over():
        current().world.wait(FOREVER, is_over)
