"""Starts processes on this machine, forwards their output, and ends them with their parent."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Optional, TextIO

from trainer.environment.variables import PARENT_PIPE

COLOURS = {"chief": 32, "worker": 36, "ps": 35, "evaluator": 33}
# Seconds that a process has to end once its parent is gone: it may have to store a checkpoint.
ORPHAN_SECS = 120.0
# Allows TensorFlow's servers to listen at a port that another process has bound but does not
# listen at.
SHARING = {"TF_GRPC_REUSE_PORT": "true"}
_held: list[socket.socket] = []


def find_addresses(count: int, host: str = "127.0.0.1") -> list[str]:
    """Returns addresses of this machine that no other program gets while this process lives.

    The ports stay bound, so that the system does not hand them out. Servers of processes whose
    environment contains SHARING can listen there nevertheless.

    Args:
        count: number of addresses.
        host: name or IP address of this machine.

    Returns:
        Addresses "host:port".
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
        code: the return code; -n means that signal n ended the process.
    """
    return code if code >= 0 else 128 - code


class Processes:
    """Runs processes by name, and writes each line of their output behind that name.

    Each process has the reading end of the parent-death pipe, whose writing end only this process
    has. When this process ends, however it does, the pipe is closed (`end_with_parent`).

    Args:
        stream: where lines are written.
        on_line: called with name, line, and whether it came from standard output; None: `log`
            writes every line.

    Attributes:
        running: name → process, of those that have not ended.
    """

    def __init__(
        self,
        stream: TextIO = sys.stderr,
        on_line: Optional[Callable[[str, str, bool], None]] = None,
    ):
        self._stream = stream
        self._on_line = on_line or (lambda name, line, is_output: self.log(name, line))
        self._is_coloured = stream.isatty()
        self._lock = threading.Lock()
        self._readers: list[tuple[str, threading.Thread]] = []
        self._parent_pipe, self._writing_end = os.pipe()
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Starts a process.

        Args:
            name: its name, "role-index".
            command: program and arguments.
            environment: its environment variables.
        """
        process = subprocess.Popen(
            command,
            env={
                **environment,
                **SHARING,
                "PYTHONUNBUFFERED": "1",
                PARENT_PIPE: str(self._parent_pipe),
            },
            pass_fds=(self._parent_pipe,),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C then reaches only this process, which signals the others.
            start_new_session=True,
        )
        self.running[name] = process
        for stream, is_output in ((process.stdout, True), (process.stderr, False)):
            reader = threading.Thread(target=self._read, args=(name, stream, is_output))
            reader.start()
            self._readers.append((name, reader))

    def _read(self, name: str, stream: IO[str], is_output: bool) -> None:
        for line in stream:
            self._on_line(name, line.rstrip("\n"), is_output)

    def take_ended(self) -> list[tuple[str, int]]:
        """Returns (name, return code) of the processes that have ended since the last call."""
        codes = [(name, process.poll()) for name, process in list(self.running.items())]
        ended = [(name, code) for name, code in codes if code is not None]
        for name, _ in ended:
            del self.running[name]
        return ended

    def wait_for_output(self, name: Optional[str] = None, secs: Optional[float] = None) -> None:
        """Waits until all output has been written.

        Args:
            name: the process; None: all of them.
            secs: the longest wait for each stream, which a child of the process may keep open.
        """
        for owner, reader in self._readers:
            if name in (None, owner):
                reader.join(secs)

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
        """Kills processes; take_ended does not return them.

        Args:
            *names: the processes.
        """
        for name in names:
            process = self.running.pop(name)
            process.kill()
            process.wait()

    def log(self, name: str, line: str) -> None:
        """Writes a line behind a process's name.

        Args:
            name: the process.
            line: the line, without its end.
        """
        prefix = f"{name:<12}"
        if self._is_coloured:
            prefix = f"\x1b[{COLOURS.get(name.partition('-')[0], 37)}m{prefix}\x1b[0m"
        self.write(f"{prefix}{line}", self._stream)

    def write(self, line: str, stream: TextIO) -> None:
        """Writes a whole line.

        Args:
            line: the line, without its end.
            stream: where to.
        """
        # Where nobody reads the stream any more, the processes go on.
        with self._lock, contextlib.suppress(BrokenPipeError):
            print(line, file=stream, flush=True)

    def close(self) -> None:
        """Kills all processes that still run, and closes the parent-death pipe."""
        self.send(signal.SIGKILL)
        for end in (self._parent_pipe, self._writing_end):
            os.close(end)


def end_with_parent(parent_pipe: Optional[int], saves: bool, secs: float = ORPHAN_SECS) -> None:
    """Starts a thread that ends this process when its parent ends, even if it was killed.

    Args:
        parent_pipe: file descriptor of the parent-death pipe; None: nothing is done.
        saves: whether this process is sent SIGTERM first, so that it saves a checkpoint; the others
            follow the one that does.
        secs: seconds after which it ends in any case.
    """
    if parent_pipe is not None:
        os.set_inheritable(parent_pipe, False)
        arguments = (parent_pipe, saves, secs)
        threading.Thread(
            target=_await_parent_death, args=arguments, name="parent-death", daemon=True
        ).start()


def _await_parent_death(parent_pipe: int, saves: bool, secs: float) -> None:
    os.read(parent_pipe, 1)
    # Nobody reads this process's output any more.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    if saves:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(secs)
    os._exit(to_exit_status(-signal.SIGTERM))
