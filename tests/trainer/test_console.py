"""trainer.console: lines, the live line of a terminal, and quiet consoles."""

import io

import pytest

from trainer.console import LIVE_SECS, PLAIN_SECS, Console

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


def test_a_quiet_console_logs_nothing():
    stream = _Stream(terminal=True)
    console = Console(stream, quiet=True)
    console.log("a line")
    assert not console.is_due()
    assert stream.getvalue() == ""


def test_lines_go_to_standard_error(capsys):
    Console().log("a line")
    assert capsys.readouterr() == ("", "a line\n")
