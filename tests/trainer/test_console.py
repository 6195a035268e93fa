"""trainer.console: lines, the live line of a terminal, and quiet consoles."""

import io
import json

import pytest
import yaml

from estimator_bridge import BridgeError
from trainer.console import LIVE_SECS, PLAIN_SECS, Console, show
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
    Console(stream).progress("step 1,000/2,000 · loss 0.5 · 3 s left")
    assert stream.getvalue() == "\rstep 1,000/2,000 · "[:20]


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
