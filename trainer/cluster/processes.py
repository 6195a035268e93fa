"""Starts child processes, forwards their output, and ends them when their parent ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Optional, TextIO, Union

from trainer.cluster import port_guard
from trainer.cluster.forking import Forked, ForkServer
from trainer.environment.variables import GUARDS_PORT, PARENT_PIPE, SHARES_PORT

COLOURS = {"chief": 32, "worker": 36, "ps": 35, "evaluator": 33}
# Seconds that a process has to end after its parent has ended; it may have to save a checkpoint.
ORPHAN_SECS = 120.0
# Seconds to wait for the output of processes that have ended. A child that one of them left behind
# may keep its output open for ever.
OUTPUT_SECS = 5.0
# Allows a TensorFlow server to listen on a port that another process has bound without listening.
SHARING = {SHARES_PORT: "true"}
_held: list[socket.socket] = []


def find_addresses(count: int, host: str = "127.0.0.1") -> list[str]:
    """Returns addresses of this machine that stay reserved while this process runs.

    This process keeps the ports bound, so that the operating system assigns them to no other
    program. A server can still listen on them if the environment of its process contains SHARING.

    Args:
        count: number of addresses.
        host: name or IP address of this machine.

    Returns:
        Addresses of the form "host:port".
    """
    for _ in range(count):
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("", 0))
        _held.append(held)
    return [f"{host}:{held.getsockname()[1]}" for held in _held[len(_held) - count :]]


def to_exit_status(code: int) -> int:
    """Returns the exit status that a shell reports for a return code of `subprocess`.

    Args:
        code: the return code; -n if signal n ended the process.
    """
    return code if code >= 0 else 128 - code


class Processes:
    """Runs named processes, and writes each line of their output with the name as its prefix.

    Each process inherits the reading end of the parent-death pipe. Only this process has the
    writing end. The operating system closes that end when this process ends, even if it is killed
    (see `end_with_parent`).

    Args:
        stream: where lines are written.
        on_line: called with name, line, and whether the line came from standard output; None:
            `log` writes every line.
        inherited: further file descriptors that each process inherits, for example of a lock that
            all of them hold.
        server: forks the processes whose modules it has imported; None: each imports its own.

    Attributes:
        running: name → process; a process is removed after it has ended.
    """

    def __init__(
        self,
        stream: TextIO = sys.stderr,
        on_line: Optional[Callable[[str, str, bool], None]] = None,
        inherited: Sequence[int] = (),
        server: Optional[ForkServer] = None,
    ):
        self._server = server
        self._inherited = tuple(inherited)
        self._stream = stream
        self._on_line = on_line or (lambda name, line, is_output: self.log(name, line))
        self._is_coloured = stream.isatty()
        self._lock = threading.Lock()
        self._closed = False
        self._readers: list[tuple[str, threading.Thread]] = []
        self._parent_pipe, self._writing_end = os.pipe()
        self.running: dict[str, Union[subprocess.Popen[str], Forked]] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Starts a process.

        Args:
            name: its name, "role-index".
            command: program and arguments.
            environment: its environment variables.
        """
        process = self._open(name, command, environment)
        self.running[name] = process
        for stream, is_output in ((process.stdout, True), (process.stderr, False)):
            # A daemon, so that an output that stays open does not keep this process running.
            reader = threading.Thread(
                target=self._read, args=(name, stream, is_output), daemon=True
            )
            reader.start()
            self._readers.append((name, reader))

    def _open(
        self, name: str, command: list[str], environment: Mapping[str, str]
    ) -> Union[subprocess.Popen[str], Forked]:
        own = {"PYTHONUNBUFFERED": "1", PARENT_PIPE: str(self._parent_pipe)}
        if port_guard.is_supported():
            own[GUARDS_PORT] = "1"
        environment = {**environment, **SHARING, **own}
        fds = (self._parent_pipe, *self._inherited)
        forked = self._server.start(name, command, environment, fds) if self._server else None
        return forked or subprocess.Popen(
            command,
            env=environment,
            pass_fds=fds,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C then interrupts only this process, which sends signals to the others.
            start_new_session=True,
        )

    def _read(self, name: str, stream: IO[str], is_output: bool) -> None:
        with stream:
            for line in stream:
                self._on_line(name, line.rstrip("\n"), is_output)

    def take_ended(self) -> list[tuple[str, int]]:
        """Returns (name, return code) of the processes that have ended since the last call."""
        codes = [(name, process.poll()) for name, process in list(self.running.items())]
        ended = [(name, code) for name, code in codes if code is not None]
        for name, _ in ended:
            del self.running[name]
        return ended

    def wait_for_output(self, name: Optional[str] = None, secs: float = OUTPUT_SECS) -> list[str]:
        """Waits until the output of ended processes has been written.

        Args:
            name: the process; None: all of them.
            secs: the longest wait for all output together.

        Returns:
            Names of the processes whose output is still open: one of their children has it.
        """
        deadline = time.monotonic() + secs
        still_open = []
        for owner, reader in self._readers:
            if name in (None, owner):
                reader.join(max(0.0, deadline - time.monotonic()))
                if reader.is_alive() and owner not in still_open:
                    still_open.append(owner)
        return still_open

    def finish_output(self, name: str) -> None:
        """Waits for the output of all processes, and reports those whose output stays open.

        Args:
            name: the prefix of these lines.
        """
        for owner in self.wait_for_output():
            self.log(
                name, f"{owner} has ended, but a process that it started keeps its output open"
            )

    def send(self, number: int, *names: str) -> None:
        """Sends a signal to running processes.

        Args:
            number: the signal.
            *names: the processes; all of them if none is named.
        """
        for name, process in list(self.running.items()):
            if not names or name in names:
                process.send_signal(number)

    def end(self, *names: str) -> None:
        """Kills processes; `take_ended` will not return them.

        Args:
            *names: the processes.
        """
        for name in names:
            process = self.running.pop(name)
            process.kill()
            process.wait()

    def log(self, name: str, line: str) -> None:
        """Writes a line with a process's name as its prefix.

        Args:
            name: the process.
            line: the line, without the newline.
        """
        prefix = f"{name:<12}"
        if self._is_coloured:
            prefix = f"\x1b[{COLOURS.get(name.partition('-')[0], 37)}m{prefix}\x1b[0m"
        self.write(f"{prefix}{line}", self._stream)

    def write(self, line: str, stream: TextIO) -> None:
        """Writes a line without mixing it with lines of other threads.

        Args:
            line: the line, without the newline.
            stream: where to write it.
        """
        # The processes continue even if the reader of the stream has closed it.
        with self._lock, contextlib.suppress(BrokenPipeError):
            if not self._closed:
                print(line, file=stream, flush=True)

    def close(self) -> None:
        """Kills all running processes, writes no more lines, and closes the parent-death pipe."""
        self.send(signal.SIGKILL)
        # Python must not end while one of its daemon threads writes to a standard stream.
        with self._lock:
            self._closed = True
        for end in (self._parent_pipe, self._writing_end):
            os.close(end)


def end_with_parent(parent_pipe: Optional[int], saves: bool, secs: float = ORPHAN_SECS) -> None:
    """Starts a thread that ends this process after its parent has ended, even if killed.

    Args:
        parent_pipe: file descriptor of the parent-death pipe; None: nothing is done.
        saves: whether this process sends itself SIGTERM first, so that it saves a checkpoint. The
            other processes end because this one ends.
        secs: seconds after the parent's end when this process ends in any case.
    """
    if parent_pipe is not None:
        os.set_inheritable(parent_pipe, False)
        arguments = (parent_pipe, saves, secs)
        threading.Thread(
            target=_await_parent_death, args=arguments, name="parent-death", daemon=True
        ).start()


def _await_parent_death(parent_pipe: int, saves: bool, secs: float) -> None:
    os.read(parent_pipe, 1)
    # The parent read this process's output; now nothing reads it.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    if saves:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(secs)
    os._exit(to_exit_status(-signal.SIGTERM))
