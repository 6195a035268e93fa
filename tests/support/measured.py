"""Programs that tests start, whose lines count as covered where `pytest --cov` measures."""

import sys


def python(*arguments):
    """Returns the command that runs a file of Python with its arguments.

    Args:
      *arguments: the file, and its own arguments. `coverage run` takes no options of Python.
    """
    coverage = sys.modules.get("coverage")
    measuring = coverage and coverage.Coverage.current()
    if not measuring:
        return [sys.executable, *map(str, arguments)]
    config = measuring.config
    # pytest-cov adds all such files to its own at the end.
    measure = ["-m", "coverage", "run", "--parallel-mode", f"--data-file={config.data_file}"]
    return [sys.executable, *measure, f"--rcfile={config.config_file}", *map(str, arguments)]
