"""The processes of a job on this machine: started, listened to, and ended with who started them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Optional, TextIO

from trainer.environment.variables import PARENT_PIPE

COLOURS = {"chief": 32, "worker": 36, "ps": 35, "evaluator": 33}
# Seconds that a process has for its end once the one that started it is gone: a checkpoint may have
# to be stored.
ORPHAN_SECS = 120.0
# Lets TensorFlow's servers listen at a port that is bound, but not listened at, by another process.
SHARING = {"TF_GRPC_REUSE_PORT": "true"}
_held: list[socket.socket] = []


def find_addresses(count: int, host: str = "127.0.0.1") -> list[str]:
    """Addresses of this machine that nobody else is given while this process lives.

    Their ports stay bound, so that the system hands them to no other program. Servers of processes
    whose environment has SHARING can listen there nevertheless.
    """
    for _ in range(count):
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("", 0))
        _held.append(held)
    return [f"{host}:{held.getsockname()[1]}" for held in _held[len(_held) - count :]]


def to_status(code: int) -> int:
    """The exit status that a shell would tell for a code of subprocess, where -n means signal n."""
    return code if code >= 0 else 128 - code


class Processes:
    """Runs processes by name, and passes on each line that they say behind that name.

    Each holds the reading end of a pipe whose other end is held here alone: when this process
    ends, however it does, they see that pipe closed (`end_with_starter`).

    Args:
        stream: where lines go.
        hear: takes name, line, and whether it came from standard output; None: `say` takes all.
    """

    def __init__(
        self, stream: TextIO = sys.stderr, hear: Optional[Callable[[str, str, bool], None]] = None
    ):
        self._stream = stream
        self._hear = hear or (lambda name, line, is_output: self.log(name, line))
        self._is_coloured = stream.isatty()
        self._lock = threading.Lock()
        self._readers: list[tuple[str, threading.Thread]] = []
        self._lifeline, self._held = os.pipe()
        self.running: dict[str, subprocess.Popen] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Starts a process."""
        process = subprocess.Popen(
            command,
            env={
                **environment,
                **SHARING,
                "PYTHONUNBUFFERED": "1",
                PARENT_PIPE: str(self._lifeline),
            },
            pass_fds=(self._lifeline,),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C reaches this process alone, which then tells the others.
            start_new_session=True,
        )
        self.running[name] = process
        for stream, is_output in ((process.stdout, True), (process.stderr, False)):
            reader = threading.Thread(target=self._read, args=(name, stream, is_output))
            reader.start()
            self._readers.append((name, reader))

    def _read(self, name: str, stream: TextIO, is_output: bool) -> None:
        for line in stream:
            self._hear(name, line.rstrip("\n"), is_output)

    def take_ended(self) -> list[tuple[str, int]]:
        """(name, code) of the processes that have ended since the last call."""
        ended = [(name, one.poll()) for name, one in list(self.running.items())]
        ended = [(name, code) for name, code in ended if code is not None]
        for name, _ in ended:
            del self.running[name]
        return ended

    def listen_out(self, name: Optional[str] = None, secs: Optional[float] = None) -> None:
        """Waits until what a process has said, or all have, has been passed on.

        Args:
            name: the process; None: all.
            secs: how long for each of its streams; a process of its own making may hold one open.
        """
        for whose, reader in self._readers:
            if name in (None, whose):
                reader.join(secs)

    def send(self, number: int, *names: str) -> None:
        """Sends a signal to the processes of these names that run; to all where none is named."""
        for name, process in list(self.running.items()):
            if not names or name in names:
                process.send_signal(number)

    def end(self, *names: str) -> None:
        """Ends processes at once; take_ended does not tell of them."""
        for name in names:
            process = self.running.pop(name)
            process.kill()
            process.wait()

    def log(self, name: str, line: str) -> None:
        """Passes a line on."""
        prefix = f"{name:<12}"
        if self._is_coloured:
            prefix = f"\x1b[{COLOURS.get(name.partition('-')[0], 37)}m{prefix}\x1b[0m"
        self.write(f"{prefix}{line}", self._stream)

    def write(self, line: str, stream: TextIO) -> None:
        """Writes a line, which no other one interrupts."""
        # Where nobody reads any more the processes go on, and must not wait for a reader either.
        with self._lock, contextlib.suppress(BrokenPipeError):
            print(line, file=stream, flush=True)

    def close(self) -> None:
        """Ends what still runs at once."""
        self.send(signal.SIGKILL)
        for end in (self._lifeline, self._held):
            os.close(end)


def end_with_starter(lifeline: Optional[int], asks: bool, secs: float = ORPHAN_SECS) -> None:
    """Has this process end when the one that started it does: it may have been killed.

    Args:
        lifeline: file descriptor of a pipe that is closed then; None: nothing is done.
        asks: whether SIGTERM is sent to this process first, which then saves what it has; the
            others are to follow the one that does.
        secs: after so many it ends in any case.
    """
    if lifeline is not None:
        os.set_inheritable(lifeline, False)
        arguments = (lifeline, asks, secs)
        threading.Thread(target=_await_end, args=arguments, name="lifeline", daemon=True).start()


def _await_end(lifeline: int, asks: bool, secs: float) -> None:
    os.read(lifeline, 1)
    # Nobody reads any more what this process says.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    if asks:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(secs)
    os._exit(to_status(-signal.SIGTERM))
