"""Python programs under test, forked from a process that has imported TensorFlow already.

Importing TensorFlow and the trainer takes three to eight seconds of processor time, and the tests
start hundreds of programs. `Popen` and `run` take the place of subprocess.Popen and subprocess.run:
where a command is `python -m MODULE`, `python -c CODE` or `python SCRIPT`, a server forks it. The
program is a process of its own all the same. It is a child of the one that called Popen, with its
own process id, environment, working directory, signals, exit status and standard streams. At its
end, threads are joined and exit handlers are called, but modules are not cleared.

A command is started in the usual way, and so imports everything itself, where
  - its environment differs in a variable that is read while Python or TensorFlow is imported,
  - another copy of the packages comes first on its path, or
  - the system is not Linux.
Tests of start-up and of the interpreter's end use subprocess.

How a child comes to be: the caller declares itself the reaper of orphans (PR_SET_CHILD_SUBREAPER),
the server forks twice, the process between ends, and the program becomes the caller's child.
"""

import atexit
import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import importlib
import inspect
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
CAN_FORK = sys.platform == "linux"
# Read while Python starts or TensorFlow is imported: a server serves one set of values of these.
_READ_AT_IMPORT = ("PYTHON", "TF_", "KERAS", "ESTIMATOR_BRIDGE", "OMP_", "OPENBLAS", "CUDA", "XLA")
# These are read later, or set in the child by hand.
_READ_LATER = ("PYTHONPATH", "PYTHONUNBUFFERED", "TF_CONFIG", "TF_GRPC_REUSE_PORT")
_PACKAGES = ("trainer", "estimator_bridge", "tensorflow", "numpy", "sitecustomize", "usercustomize")
_PR_SET_CHILD_SUBREAPER = 36
_MESSAGE_BYTES = 1 << 20
_MAX_SERVERS = 4
# In which a program that hangs writes where its threads are.
_ABORT_SECS = 20
# In which a server ends by itself.
_END_SECS = 20
# Programs that start others.
_STARTERS = {("-m", f"trainer.{name}") for name in ("launch", "task", "vertex")}

_Popen = subprocess.Popen
_lock = threading.RLock()
_servers = {}


def choose_preload(command):
    """Returns what a server has to import for a command; None where it is not forked."""
    if len(command) < 3 or command[0] != sys.executable or command[1] != "-m":
        return None
    module = command[2]
    if module.startswith("trainer."):
        return "trainer"
    if module == "estimator_bridge" and command[3:4] == ["run"]:
        return "bridge"
    return None


def _preload(what):
    """Imports, in the server, what programs of one kind import."""
    if what == "tensorflow":
        importlib.import_module("tensorflow")
        return
    import estimator_bridge

    if what == "bridge":
        estimator_bridge.install()
        names = ["tensorflow", "estimator_bridge.process.run", "estimator_bridge.tf1"]
        names += ["tensorflow_estimator.python.estimator.api._v1.estimator"]
    else:
        estimator_bridge.set_verbosity("error")
        estimator_bridge.prefer_onednn()
        names = [
            "matplotlib.backends.backend_agg",
            "matplotlib.figure",
            "trainer.evaluation.command",
            "trainer.export.checker",
            "trainer.prediction.command",
            "trainer.reporting.summary",
            "trainer.roles.chief",
            "trainer.roles.evaluator",
            "trainer.task",
            "trainer.training.dry_run",
            "trainer.training.run",
        ]
        estimator_bridge.tf, estimator_bridge.estimator  # noqa: B018
    for name in names:
        importlib.import_module(name)


def _read_at_import(environment):
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_IMPORT) and name not in _READ_LATER
    }


def _finds_other_packages(environment, folder, command):
    """Whether a program would import another copy of what the server has imported."""
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    first = {"-m": folder, "-c": folder}.get(command[1]) or os.path.dirname(command[1])
    for entry in filter(None, [first, *entries]):
        if os.path.realpath(os.path.join(folder, entry)) == str(ROOT):
            return False
        if any(
            os.path.exists(os.path.join(folder, entry, f"{name}{end}"))
            for name in _PACKAGES
            for end in ("", ".py")
        ):
            return True
    return False


class Popen(subprocess.Popen):
    """subprocess.Popen, of a program that is forked where that is possible.

    Args:
        preload: what a server has to import; None: the command decides.
    """

    def __init__(self, args, *more, preload=None, **options):
        self._wanted = preload
        super().__init__(args, *more, **options)

    def _execute_child(self, *given):
        names = list(inspect.signature(_Popen._execute_child).parameters)[1:]
        options = dict(zip(names, given))
        request = _read_request(options)
        server = request and self._choose_server(request)
        if not server:
            super()._execute_child(*given)
            return
        streams = (("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2))
        fds = {number: options[name] for name, number in streams}
        fds = {number: number if fd == -1 else fd for number, fd in fds.items()}
        fds.update((fd, fd) for fd in options["pass_fds"])
        request["numbers"] = list(fds)
        self.pid = server.fork(request, list(fds.values()))
        self._child_created = True
        self._close_pipe_fds(*(options[name] for name in _PIPES))

    def _choose_server(self, request):
        command, environment = request["command"], request["environment"]
        what = self._wanted or choose_preload(command)
        if what is None or _finds_other_packages(environment, request["cwd"], command):
            return None
        with _lock:
            return _find_server(what, environment)


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def run(args, input=None, capture_output=False, timeout=None, check=False, **options):
    """subprocess.run, of a program that is forked where that is possible.

    A program that takes longer than `timeout` is aborted, and a forked one writes to its stderr
    where its threads are.

    Raises:
      TimeoutError: the program took longer; with the end of its output.
    """
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with Popen(args, **options) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(_abort(process, timeout)) from None
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _abort(process, timeout):
    """Ends a program that hangs; returns what it has written."""
    process.send_signal(signal.SIGABRT)
    try:
        written = process.communicate(timeout=_ABORT_SECS)
    except subprocess.TimeoutExpired as error:
        # A program that it has started holds its streams open.
        process.kill()
        written = (error.stdout, error.stderr)
    said = "\n".join(
        one.decode(errors="replace") if isinstance(one, bytes) else one for one in written if one
    )
    return f"{process.args} took longer than {timeout} s; its output ends with:\n{said[-20_000:]}"


def _read_request(options):
    """Returns the command, environment and folder of a program; None where it cannot be forked."""
    args, folder = options["args"], options["cwd"]
    special = options["preexec_fn"] or options["shell"] or options["executable"]
    owner = [options.get(name) for name in ("gid", "gids", "uid", "umask", "process_group")]
    if not CAN_FORK or special or isinstance(args, (str, bytes, os.PathLike)):
        return None
    if any(value not in (None, -1) for value in owner):
        return None
    command = [os.fspath(value) for value in args]
    folder = os.path.abspath(folder or ".")
    if len(command) < 2 or command[0] != sys.executable or not os.path.isdir(folder):
        return None
    if command[1].startswith("-") and command[1] not in ("-m", "-c"):
        return None
    environment = dict(os.environ if options["env"] is None else options["env"])
    return {
        "command": command,
        "environment": environment,
        "cwd": folder,
        "start_new_session": options["start_new_session"],
    }


class _Server:
    """The caller's end of a server.

    Args:
        end: a socket to it.
        environments: values of the variables that are read at import, of which a program must have
            one set to be forked.
        process: the server, where it is a child that has to be waited for.
    """

    def __init__(self, end, environments, process=None):
        self._end = end
        self._environments = environments
        self._process = process

    def suits(self, environment):
        return _read_at_import(environment) in self._environments

    def fork(self, request, fds):
        """Has a process forked, which becomes a child of this one; returns its id."""
        with _lock:
            _set_reaper(True)
            try:
                socket.send_fds(self._end, [pickle.dumps(request)], fds)
                return pickle.loads(self._end.recv(_MESSAGE_BYTES))
            finally:
                _set_reaper(False)

    def close(self):
        self._end.close()
        if self._process is not None:
            try:
                self._process.wait(_END_SECS)
            except subprocess.TimeoutExpired:
                # A process that a test has forked and left holds the socket open.
                self._process.kill()
                self._process.wait()


def _set_reaper(is_one):
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(is_one), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _find_server(what, environment):
    """Returns a server for a program, started if need be."""
    key = (what, tuple(sorted(_read_at_import(environment).items())))
    if key not in _servers:
        if len(_servers) == _MAX_SERVERS:
            _servers.pop(next(iter(_servers))).close()
        _servers[key] = _start_server(what, environment)
    return _servers[key]


@atexit.register
def _close_servers():
    for server in _servers.values():
        server.close()
    _servers.clear()


def _make_ends():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_BYTES)
    return ends


def _start_server(what, environment):
    ours, theirs = _make_ends()
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import {__name__}; "
        f"{__name__}.serve({what!r}, {theirs.fileno()})"
    )
    kept = {name: value for name, value in environment.items() if name not in _READ_LATER}
    with tempfile.TemporaryFile() as errors:
        process = _Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=kept,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        theirs.close()
        answer = ours.recv(_MESSAGE_BYTES)
        if not answer:
            process.wait()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            raise RuntimeError(f"the server of programs that need {what} has ended: {said}")
    changed = pickle.loads(answer)
    before = _read_at_import(environment)
    return _Server(ours, [before, {**before, **_read_at_import(changed)}], process)


def serve(what, fd):
    """Imports what is wanted; forks a program for each request until the caller's end is closed."""
    # Of this process; the programs that it forks get the handler of Python.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    base = sys.path[2:]
    sys.path[:] = [str(ROOT), *base]
    before = dict(os.environ)
    _preload(what)
    changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
    end = socket.socket(fileno=fd)
    gc.collect()
    gc.freeze()
    end.sendall(pickle.dumps(changed))
    request = _answer(end)
    if request is not None:
        _become(request, base, changed)


def _answer(end):
    """Forks programs; returns None in the server, once it is done, and a request in a program."""
    while True:
        try:
            message, fds, _, _ = socket.recv_fds(end, _MESSAGE_BYTES, 64)
        except OSError:
            message = b""
        if not message:
            return None
        request = pickle.loads(message)
        request["fds"] = dict(zip(request["numbers"], fds))
        read_end, write_end = os.pipe()
        between = _fork()
        if between == 0:
            between = os.getpid()
            child = _fork()
            if child:
                os.write(write_end, pickle.dumps(child))
                os._exit(0)
            # A program that asks for its parent must not be told of the process between.
            while os.getppid() == between:
                time.sleep(0.001)
            for fd in (read_end, write_end):
                os.close(fd)
            end.close()
            return request
        os.close(write_end)
        child = os.read(read_end, 100)
        # From here on the program is the caller's child.
        os.waitpid(between, 0)
        end.sendall(child)
        for fd in (read_end, *fds):
            os.close(fd)


def _fork():
    with warnings.catch_warnings():
        # The threads are those of libraries that see to forks (OpenBLAS, jemalloc).
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _become(request, base, changed):
    """Turns this process, just forked, into the program of a request, and runs it."""
    if request["start_new_session"]:
        os.setsid()
    _place(request["fds"])
    environment, command = request["environment"], request["command"]
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update({**environment, **changed})
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(line_buffering=stream is sys.stderr or stream.isatty())
    if environment.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)
    _forget()
    entries = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = ["", *(os.path.join(request["cwd"], entry) for entry in entries), *base]
    sys.orig_argv = command
    if tuple(command[1:3]) in _STARTERS:
        _start_nested(environment, changed, base)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    status = None
    try:
        _execute(command, main)
    except SystemExit as end:
        status = end.code
    _exit(status)


def _exit(status):
    """Ends this process as Python does, but leaves its modules as they are.

    Clearing the modules would write to all memory that is shared with the server, and so copy it: a
    fifth of a second of processor time for each program.
    """
    if not isinstance(status, (int, type(None))):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except OSError:
        # That of Python, where the reader of the output has gone.
        status = 120
    os._exit((status or 0) & 0xFF)


def _place(wanted):
    """Gives file descriptors the numbers that they have to have."""
    lowest = max(wanted) + 1
    copies = {
        number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest) for number, fd in wanted.items()
    }
    for fd in wanted.values():
        os.close(fd)
    for number, fd in copies.items():
        os.dup2(fd, number)
        os.close(fd)


def _forget():
    """Forgets what was found in the environment of the server, or drawn by chance."""
    tempfile.tempdir = None
    importlib.invalidate_caches()
    sys.path_importer_cache.clear()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _start_nested(environment, changed, base):
    """Has the trainer's programs that this one starts forked as well, by a server of its own."""
    ours, theirs = _make_ends()
    if _fork():
        theirs.close()
        before = _read_at_import(environment)
        server = _Server(ours, [before, {**before, **_read_at_import(changed)}])

        class Nested(Popen):
            def _choose_server(self, request):
                command, environment = request["command"], request["environment"]
                if choose_preload(command) != "trainer" or not server.suits(environment):
                    return None
                other = _finds_other_packages(environment, request["cwd"], command)
                return None if other else server

        subprocess.Popen = Nested
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in (nowhere, theirs.fileno()):
            with contextlib.suppress(OSError):
                os.dup2(nowhere, fd) if fd < 3 else os.close(fd)
    os.close(nowhere)
    ours.detach()
    request = _answer(theirs)
    if request is None:
        os._exit(0)
    _become(request, base, changed)


def _execute(command, main):
    kind, *rest = command[1:]
    if kind == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = ["-m", *rest[1:]]
        # Python warns where a module is there before it is run; a package's own stays.
        package, _, name = rest[0].rpartition(".")
        if hasattr(sys.modules.get(rest[0]), "__path__"):
            sys.modules.pop(f"{rest[0]}.__main__", None)
        elif sys.modules.pop(rest[0], None) and package:
            delattr(sys.modules[package], name)
        runpy._run_module_as_main(rest[0])
        return
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        code = compile(rest[0], "<string>", "exec")
    else:
        sys.argv = [kind, *rest]
        sys.path[0] = os.path.dirname(os.path.realpath(kind))
        main.__file__ = kind
        code = compile(Path(kind).read_bytes(), kind, "exec")
    exec(code, main.__dict__)
