"""Mutated files of others: mutations, and a guard against what reading a file must never do."""

import contextlib
import copy
import json
import os
import random
import signal
import sys
import threading

import yaml

# Values in place of any value of a JSON or YAML file. Imported, the module would be noticed.
CODE = "canary_of_fuzzing:run"
ODD = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**70, -(2**64), 1.5, -0.0, 1e308, 1e-320, "", " ",
    "mean", "age", "city", "x" * 3000, "../../x", "/etc/passwd", "a\nb", "a\x00b", "\x1b[2J", "é",
    "=1", "$x_$", "%s", "{}", "'", '"', "\\", CODE, "'''\nimport canary_of_fuzzing\n'''",
    "__import__('canary_of_fuzzing')", [], {}, [[]], [None], {"a": {}}, [0, 0], ["a", "a"],
    float("nan"), float("inf"), "2020-01-01", ["deep", "wide"], "wide_deep", "linear", "rnn",
]  # fmt: skip
# Seconds of one round.
TIMEOUT_SECS = 60


class Fault(AssertionError):
    """What reading a file must never do."""


class Hang(BaseException):
    """Not an Exception, so that no code under test takes it for an error of the file."""


def mutate_bytes(data, rng):
    """Returns bytes with one to four changes."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[place % len(data)] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.choice((1, 4, 50))]
        elif kind == 2:
            data[place:place] = rng.choice((b"\x00", b"\xff" * 8, b'"', b"\n", b"\x1b", b",", b"{"))
        elif kind == 3:
            data[place:place] = data[place : place + rng.choice((1, 30, 500))]
        elif kind == 4 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif rng.random() < 0.3:
            del data[place:]
    return bytes(data)


def _nodes(value):
    """Yields (container, key) of everything in nested values."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        yield value, key
        if isinstance(part, (dict, list)):
            yield from _nodes(part)


def mutate_values(value, rng):
    """Returns plain values with one to three changes."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        places = list(_nodes(value))
        if not places:
            break
        container, key = rng.choice(places)
        kind = rng.randrange(5)
        if kind == 0:
            del container[key]
        elif kind == 1 and isinstance(container, dict):
            container[str(rng.choice(ODD))[:50]] = container[key]
        elif kind == 2:
            other, place = rng.choice(places)
            with contextlib.suppress(KeyError, IndexError):
                container[key] = copy.deepcopy(other[place])
        else:
            container[key] = copy.deepcopy(rng.choice(ODD))
    return value


def mutate_file(path, rng):
    """Changes a file: the values of JSON and YAML files, or the bytes of any file."""
    data = path.read_bytes()
    if path.suffix in (".json", ".yaml") and rng.random() < 0.7:
        if path.suffix == ".json":
            text = json.dumps(mutate_values(json.loads(data), rng))
        else:
            text = yaml.safe_dump(mutate_values(yaml.safe_load(data), rng), allow_unicode=True)
        data = text.encode(errors="surrogatepass")
    else:
        data = mutate_bytes(data, rng)
    path.write_bytes(data)


class _Guard:
    """An audit hook, which cannot be removed, and is active only in a `with` statement."""

    def __init__(self):
        self.thread = None
        self.allowed = ()
        self.found = []
        sys.addaudithook(self._see)

    def _see(self, event, args):
        if self.thread != threading.get_ident():
            return
        if event == "import" and args[0].startswith("canary"):
            self.found.append(f"imports {args[0]}")
        elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn"):
            self.found.append(f"{event} {args[0]!r}")
        elif event == "open" and isinstance(args[0], (str, bytes)) and self._writes(args):
            self._check(os.fsdecode(args[0]), event)
        elif event in ("os.remove", "os.rmdir", "os.mkdir", "os.rename", "shutil.rmtree"):
            self._check(os.fsdecode(os.fspath(args[0])), event)

    @staticmethod
    def _writes(args):
        mode, flags = args[1], args[2]
        return any(c in mode for c in "wax+") if mode else bool(flags & (os.O_WRONLY | os.O_RDWR))

    def _check(self, path, event):
        path = os.path.realpath(path)
        if not path.startswith(self.allowed) and "__pycache__" not in path:
            self.found.append(f"{event} {path}")


_guard = None


@contextlib.contextmanager
def guarded(*folders):
    """Raises Fault if the block writes outside of some folders, or imports or starts something."""
    global _guard
    _guard = _guard or _Guard()
    _guard.allowed = (*(f"{os.path.realpath(folder)}" for folder in folders), "/dev/")
    _guard.found.clear()

    def expire(*_):
        raise Hang(f"takes over {TIMEOUT_SECS} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(TIMEOUT_SECS)
    _guard.thread = threading.get_ident()
    try:
        yield
    finally:
        _guard.thread = None
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if _guard.found:
        raise Fault("; ".join(_guard.found))


def generator(name, number):
    """The random numbers of one round, the same in every run."""
    return random.Random(f"{name} {number}")
