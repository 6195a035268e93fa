"""Starts Python programs from a process that has imported their modules already (Linux).

Importing TensorFlow takes seconds of processor time, which is most of a short job. A server
imports the modules once, and forks a process for each program. The program is a process of its own
all the same: it is a child of the process that asked for it, with its own process id, signals,
session, exit status and output. It goes on if the server is killed.

The asking process declares itself the parent of orphans (PR_SET_CHILD_SUBREAPER), the server forks
twice, and the process between ends: so the program becomes a child of the asking process.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from estimator_bridge.command_line.current_folder import list_words
from estimator_bridge.command_line.end import end_process
from trainer.environment.variables import PARENT_PIPE, put_parent_pipe

CAN_FORK = sys.platform == "linux"
SET_NAME, SET_SUBREAPER = 15, 36
MESSAGE_BYTES = 1 << 20
MAX_FDS = 16


class Forked:
    """A program that a server has forked; has the members of subprocess.Popen that are used here.

    Args:
        pid: its process id.
        stdout: text of its standard output.
        stderr: text of its standard error.

    Attributes:
        pid: its process id.
        stdout: text of its standard output.
        stderr: text of its standard error.
        returncode: as that of subprocess.Popen; None while it runs.
    """

    def __init__(self, pid: int, stdout: Any, stderr: Any):
        self.pid, self.stdout, self.stderr = pid, stdout, stderr
        self.returncode: Optional[int] = None

    def poll(self) -> Optional[int]:
        """Returns the return code; None while it runs."""
        return self._take(os.WNOHANG)

    def wait(self) -> Optional[int]:
        """Waits for the end of the program; returns the return code."""
        return self._take(0)

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the program has ended.

        Args:
            number: of the signal.
        """
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills the program."""
        self.send_signal(signal.SIGKILL)

    def _take(self, options: int) -> Optional[int]:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                # A signal handler asks while the code that it has interrupted takes the status.
                return None
            if pid:
                code = os.WEXITSTATUS(status)
                self.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else code
        return self.returncode


class ForkServer:
    """Starts `python -m MODULE ARGUMENTS` without importing its modules each time.

    Args:
        programs: names of the modules whose `run_as_program(arguments)` the server can call.
        modules: names of the other modules that the server imports. It calls the function
            `prepare_forks()` of those that have one.
    """

    def __init__(self, programs: Sequence[str], modules: Sequence[str]):
        self._programs = list(programs)
        self._modules = [*programs, *modules]
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._end: Optional[socket.socket] = None

    def start(
        self, name: str, command: list[str], environment: Mapping[str, str], fds: Sequence[int]
    ) -> Optional[Forked]:
        """Starts a program; returns None if it must be started in the usual way.

        Args:
            name: of the process, as `ps -o comm` shows it.
            command: [sys.executable, "-m", MODULE, arguments...].
            environment: its environment variables, the same for all programs but for the number of
                the parent-death pipe.
            fds: file descriptors that it inherits.
        """
        if not CAN_FORK or command[1] != "-m" or command[2] not in self._programs:
            return None
        output, errors = os.pipe(), os.pipe()
        request = {
            "name": name,
            "program": command[2],
            "arguments": command[3:],
            "parent_pipe": list(fds).index(int(environment[PARENT_PIPE])),
        }
        pid = None
        # The server may have been killed; then the program is started in the usual way.
        with contextlib.suppress(OSError, ValueError):
            end = self._find_server(environment)
            set_subreaper(True)
            try:
                message = json.dumps(request).encode()
                socket.send_fds(end, [message], [output[1], errors[1], *fds])
                pid = int(end.recv(MESSAGE_BYTES))
            finally:
                set_subreaper(False)
        os.close(output[1])
        os.close(errors[1])
        streams = [os.fdopen(e, encoding="utf-8", errors="replace") for e in (output[0], errors[0])]
        if pid is None:
            self.close()
            for stream in streams:
                stream.close()
            return None
        return Forked(pid, *streams)

    def _find_server(self, environment: Mapping[str, str]) -> socket.socket:
        if self._end is None:
            self._end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, *list_words(__name__), str(theirs.fileno()), *self._modules],
                    env={k: v for k, v in environment.items() if k != PARENT_PIPE},
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    # Ctrl-C then interrupts only this process.
                    start_new_session=True,
                )
        return self._end

    def close(self) -> None:
        """Ends the server; the programs that it has forked go on."""
        if self._end is not None and self._process is not None:
            self._end.close()
            self._process.kill()
            self._process.wait()
            self._end = self._process = None


def set_subreaper(is_one: bool) -> None:
    """Declares whether this process becomes the parent of orphans among its descendants.

    Args:
        is_one: whether it does.

    Raises:
        OSError: the system refuses.
    """
    _call_prctl(SET_SUBREAPER, int(is_one))


def _call_prctl(option: int, value: Any) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def serve(fd: int, modules: Sequence[str]) -> None:
    """Imports modules, and forks a program for each request, until the asking process ends.

    Args:
        fd: file descriptor of the socket to the asking process.
        modules: the programs, and the other modules to import.
    """
    os.set_inheritable(fd, False)
    import estimator_bridge

    estimator_bridge.set_verbosity("error")
    estimator_bridge.prefer_onednn()
    for name in modules:
        prepare = getattr(importlib.import_module(name), "prepare_forks", None)
        if prepare is not None:
            prepare()
    # The pages of these objects then stay shared with the programs.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=fd) as end:
        request = _answer(end)
    if request is not None:
        _become(request)


def _answer(end: socket.socket) -> Optional[dict[str, Any]]:
    """Returns a request in a program, and None in the server when nobody asks any more."""
    while True:
        message, fds, _, _ = socket.recv_fds(end, MESSAGE_BYTES, MAX_FDS)
        if not message:
            return None
        read_end, write_end = os.pipe()
        await_end, start_end = os.pipe()
        between = _fork()
        if between == 0:
            child = _fork()
            if child:
                os.write(write_end, str(child).encode())
                os._exit(0)
            for fd in (read_end, write_end, start_end):
                os.close(fd)
            if not os.read(await_end, 1):
                # The server was killed. The asking process may not know of this process, and starts
                # another one.
                os.kill(os.getpid(), signal.SIGKILL)
            os.close(await_end)
            request: dict[str, Any] = {**json.loads(message), "fds": fds}
            return request
        os.close(write_end)
        os.close(await_end)
        child_id = os.read(read_end, 100)
        # From here on the program is a child of the asking process.
        os.waitpid(between, 0)
        with contextlib.suppress(BrokenPipeError):
            end.sendall(child_id)
            os.write(start_end, b"1")
        for fd in (read_end, start_end, *fds):
            os.close(fd)


def _fork() -> int:
    with warnings.catch_warnings():
        # The threads are those of libraries that see to forks themselves.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _become(request: dict[str, Any]) -> None:
    """Turns this process, just forked, into the program of a request, and runs it."""
    output, errors, *inherited = request["fds"]
    os.setsid()
    for fd, number in ((output, 1), (errors, 2)):
        os.dup2(fd, number)
        os.close(fd)
    with contextlib.suppress(OSError):
        _call_prctl(SET_NAME, request["name"].encode()[:15])
    put_parent_pipe(inherited[request["parent_pipe"]])
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    program = request["program"]
    sys.argv = [program, *request["arguments"]]
    try:
        sys.modules[program].run_as_program(request["arguments"])
    except SystemExit as end:
        if isinstance(end.code, (int, type(None))):
            end_process(end.code or 0)
        raise


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:])
