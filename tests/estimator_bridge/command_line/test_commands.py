"""Wrong arguments of the bridge's commands."""

import pytest

from estimator_bridge.cli import main

pytestmark = [pytest.mark.quick, pytest.mark.versions]


@pytest.mark.parametrize(
    "command",
    ["audit", "convert", "doctor", "downgrade", "kernel --name", "repair", "run", "verify"],
)
def test_a_wrong_argument_is_an_error_in_one_line(command, capsys):
    try:
        status = main([*command.split(), "--no_such_flag"])
    except SystemExit as end:
        status = end.code
    name = command.split()[0]
    output, errors = capsys.readouterr()
    (line,) = errors.splitlines()
    assert (status, output) == (2, "")
    assert line.startswith("estimator_bridge") and f"{name}: " in line
    assert line.endswith(f"Try: python -m estimator_bridge {name} --help")
