"""trainer.console: lines, the live line of a terminal, and quiet consoles."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from types import SimpleNamespace

import pytest
import yaml

from estimator_bridge import BridgeError
from estimator_bridge.output.terminal import format_table
from trainer.console import LIVE_SECS, PLAIN_SECS, Console, Progress, show
from trainer.errors import JobEnded, UserError
from trainer.schema.__main__ import main

pytestmark = [pytest.mark.newest, pytest.mark.quick]


class _Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal

    def isatty(self):
        return self._terminal


class _Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_plain_lines_are_rare():
    stream, clock = _Stream(terminal=False), _Clock()
    console = Console(stream, clock=clock)
    assert console.is_due()
    console.progress("step 1")
    assert not console.is_due()
    clock.now += PLAIN_SECS - 0.1
    assert not console.is_due()
    clock.now += 0.2
    assert console.is_due()
    console.progress("step 2")
    assert stream.getvalue() == "step 1\nstep 2\n"


def test_the_live_line_of_a_terminal_does_not_wrap(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = _Stream(terminal=True)
    console = Console(stream)
    console.progress("step 1,000/2,000 · loss 0.5 · 3 s left")
    # Whole parts are left out.
    assert stream.getvalue() == "\rstep 1,000/2,000"
    console.progress("a part that is too long · 3 s left")
    assert stream.getvalue().endswith("\ra part that is too ")


def test_a_terminal_redraws_one_line():
    stream, clock = _Stream(terminal=True), _Clock()
    console = Console(stream, clock=clock)
    console.progress("a long line")
    assert not console.is_due()
    clock.now += LIVE_SECS
    assert console.is_due()
    console.progress("short")
    # What is left of the longer line is blanked.
    assert stream.getvalue() == "\ra long line\rshort      "
    console.log("done")
    assert stream.getvalue().endswith("\r     \rdone\n")
    console.log("more")
    assert stream.getvalue().endswith("done\nmore\n")


def test_progress_shows_amount_time_left_and_rate():
    stream, clock = _Stream(terminal=False), _Clock()
    totals = iter([400.0])
    console = Console(stream, clock=clock)
    progress = Progress(
        console, "reading", "rows", lambda: next(totals), is_estimate=True, clock=clock
    )
    for rows in (10, 90, 100, 250):
        progress.add(rows)
        clock.now += PLAIN_SECS / 2
    progress.add(0)
    # Nothing before the first interval; no time left once the estimate is exceeded.
    assert stream.getvalue().splitlines() == [
        "reading: 200 of about 400 rows · 10 s left · 20 rows/s",
        "reading: 450 rows · 22 rows/s",
    ]


def test_a_line_clears_the_live_line_of_another_console(capsys):
    stream = _Stream(terminal=True)
    Console(stream).progress("reading")
    Console(stream).log("done")
    assert stream.getvalue() == "\rreading\r       \rdone\n"


def test_a_table_is_divided_at_the_width_of_the_terminal():
    rows = [["", "loss", "precision"], ["best, step 2,049", "0.2556", "0.8756"]]
    whole = ["                      loss  precision", "  best, step 2,049  0.2556     0.8756"]
    assert format_table(rows) == format_table(rows, width=37) == whole
    assert format_table(rows, width=36) == [
        "                      loss",
        "  best, step 2,049  0.2556",
        "                    precision",
        "  best, step 2,049     0.8756",
    ]
    assert all(len(line) <= 25 for line in format_table(rows, width=25))
    assert "  best, step …  0.2556" in format_table(rows, width=20)


SHOWS = """
from trainer.console import Console, Progress, show, show_error
show("plan: starting at step 0, stopping at step 2,049; checkpoints every 103 steps and at its end")
show("  training data     262,242 rows in 4 file(s), read from /data/flights/train.parquet, cached")
show("  query             python -m trainer.predict --export=jobs/first/export/best/1 --row={}")
clock = iter(range(0, 100, 50)).__next__
with Progress(Console(), "reading the data of the job", "rows", 10_000_000, clock=clock) as one:
    one.add(5_000_000)
show_error("data.train: no file matches 'x' (looked from /home); check the path, or name another")
"""


@pytest.mark.parametrize("columns", [80, 40])
def test_nothing_wraps_on_a_real_terminal(columns):
    text = _run_on_terminal(columns, {})
    shown = re.sub("\x1b.*?m", "", text)
    lines = [line for line in re.split("[\r\n]+", shown) if "python -m" not in line]
    assert max(map(len, lines)) <= columns
    assert "\n                    python -m" not in text
    assert "\nreading the data of the job: 5,000,000 of"[:columns] in text.replace("\r", "\n")
    assert "\x1b[31merror\x1b[0m: data.train" in text
    assert "4 file(s), read from\n" in shown.replace("\r", "") or columns == 40
    assert "\x1b" not in _run_on_terminal(columns, {"NO_COLOR": "1"})


def _run_on_terminal(columns, environment):
    """Runs SHOWS in a pseudo-terminal; returns what it writes there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    hidden = ("NO_COLOR", "COLUMNS", "TERM")
    inherited = {name: os.environ[name] for name in os.environ if name not in hidden}
    process = subprocess.Popen(
        [sys.executable, "-c", SHOWS],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    text = b""
    # Linux reports the end of a terminal as an error.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            text += piece
    os.close(ours)
    assert process.wait() == 0
    return text.decode()


class _Notebook:
    """A notebook's display: what it shows, in order."""

    def __init__(self):
        self.shown = []

    def display(self, content, raw, display_id):
        self.shown.append("a new line")
        self.update(content, raw)
        return self

    def update(self, content, raw):
        self.shown.append(content["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    """Makes this process look like a notebook's kernel; `shell.execution_count` is its cell."""
    notebook = _Notebook()
    notebook.shell = SimpleNamespace(kernel=True, execution_count=1)
    ipython = SimpleNamespace(get_ipython=lambda: notebook.shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=notebook.display))
    monkeypatch.setattr("trainer.console._cells", {})
    return notebook


def test_a_notebook_shows_the_last_step_again_after_a_passing_phase(notebook):
    clock = _Clock()
    console = Console(clock=clock)
    for read in ("reading", "exporting"):
        if read == "exporting":
            console.progress("step 500/500")
        with Progress(console, read, "rows", 10, clock=clock) as progress:
            clock.now += 60
            progress.add(5)
    assert [line.partition(":")[0] for line in notebook.shown] == [
        "a new line", "reading", "step 500/500", "exporting", "step 500/500",
    ]  # fmt: skip


def test_all_consoles_of_a_cell_share_its_live_line(notebook):
    console = Console()
    Console().progress("reading")
    console.observed(lambda: None).progress("step 1")
    console.progress("step 2")
    notebook.shell.execution_count = 2
    Console().progress("step 3")
    assert notebook.shown == ["a new line", "reading", "step 1", "step 2", "a new line", "step 3"]


TITLE = "\x1b]0;owned\x07"


def test_control_characters_never_reach_the_terminal(capsys):
    stream = _Stream(terminal=True)
    console = Console(stream, display_path=lambda line: line.replace("local", TITLE))
    console.warn(f"file {TITLE}\u202e\udcff local\nnext \x9b2J")
    console.progress(f"step\n1 {TITLE}")
    show(f"a {TITLE}\nb")
    shown = "\\x1b]0;owned\\x07"
    wanted = f"file {shown}\\u202e\\udcff {shown}\nnext \\x9b2J\n\rstep\\n1 {shown}"
    assert stream.getvalue() == wanted
    assert capsys.readouterr().out == f"a {shown}\nb\n"
    for error in (UserError, BridgeError, JobEnded):
        assert str(error(f"bad {TITLE}")) == f"bad {shown}"


def test_the_commands_for_schemas_escape_values(tmp_path, capsys, monkeypatch):
    """Names of columns and files, and values, in the report and the schema."""
    data = tmp_path / f"in{TITLE}.csv"
    lines = [f"{number},{'ab'[number % 2]}{TITLE},{number % 2}" for number in range(40)]
    data.write_text("\n".join([f"n,c{TITLE},y", *lines]) + "\n")
    schema = tmp_path / "schema.yaml"
    assert main(["infer", f"--data={data}", "--label=y", f"--output={schema}"]) == 0
    lines[3] = f"x{TITLE},a,1"
    data.write_text("\n".join([f"n,c{TITLE},y", *lines]) + "\n")
    main(["check", f"--schema={schema}", f"--data={data}"])
    monkeypatch.setattr("sys.stdout", terminal := _Stream(terminal=True))
    assert main(["infer", f"--data={data}", "--label=y"]) == 0
    for text in (capsys.readouterr().out, terminal.getvalue()):
        assert "owned" in text and not set(text) & {"\x1b", "\x07"}, text
    assert yaml.safe_load(schema.read_text())["columns"][f"c{TITLE}"]
    main(["check", f"--schema={schema}", f"--data={data}", "--format=json"])
    json.loads(terminal.getvalue().partition("\n{")[2].join(["{", ""]))


def test_a_quiet_console_logs_nothing():
    stream = _Stream(terminal=True)
    console = Console(stream, quiet=True)
    console.log("a line")
    assert not console.is_due()
    assert stream.getvalue() == ""


def test_lines_go_to_standard_error(capsys):
    Console().log("a line")
    assert capsys.readouterr() == ("", "a line\n")


# Logs more than the buffer of a stream takes.
LOGGING = """
import sys
from estimator_bridge.command_line.end import leave
from trainer.console import Console, show_error
for number in range(1000):
    Console().log("a line of the log")
Console().progress("step 1")
show_error("that ends it")
print("done", flush=True)
leave(2)
"""


@pytest.mark.parametrize("lost", ["the reader", "the disk"])
def test_a_log_that_cannot_be_written_does_not_end_the_work(make, lost):
    if lost == "the disk":
        log = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, log = os.pipe()
        os.close(reader)
    with os.fdopen(log, "w") as stream:
        done = subprocess.run(
            [sys.executable, "-c", LOGGING],
            env={**os.environ, "PYTHONPATH": str(make.root)},
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            timeout=60,
        )
    assert (done.stdout, done.returncode) == ("done\n", 2)
