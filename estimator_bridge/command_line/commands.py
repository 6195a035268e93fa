"""What commands have in common: the parser of their arguments, and how they end."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from ..errors import BridgeError, describe_os_error
from ..output.terminal import end_output
from .signals import SignalReceived, end_command, handle_signals

__all__ = ["Parser", "run"]


class Parser(argparse.ArgumentParser):
    """Raises BridgeError for invalid arguments; the last word of `prog` is the command's name."""

    def error(self, message: str) -> NoReturn:
        """Raises BridgeError.

        Args:
          message: what is wrong.
        """
        command = self.prog.rpartition(" ")[2]
        raise BridgeError(f"{command}: {message}. Try: python -m estimator_bridge {command} --help")


def run(main: Callable[[], int], remains: str, show_error: Callable[[str], None]) -> int:
    """Runs a command; SIGINT, SIGTERM and an error of the system are told in one line.

    Args:
      main: returns the exit status.
      remains: after a signal, what is left and what to do next.
      show_error: prints a line about an error.

    Returns:
      The exit status: that of `main`; 128 + number after a signal; 1 if the reader of standard
      output has closed it; 2 after another error of the system, as of a full disk.
    """
    try:
        with handle_signals():
            try:
                return main()
            finally:
                # Here, so that an error of it is told in one line.
                sys.stdout.flush()
    except SignalReceived as received:
        return end_command(received, remains)
    except BrokenPipeError:
        # For example `head`.
        end_output()
        return 1
    except OSError as error:
        show_error(describe_os_error(error))
        end_output()
        return 2
