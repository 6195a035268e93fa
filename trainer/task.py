"""python -m trainer.task: parse, resolve, run, report."""

import json
import sys
import traceback
from typing import Optional

import estimator_bridge
from estimator_bridge.command_line.end import leave
from estimator_bridge.output.terminal import end_output, tolerate_closed_output, write_message
from trainer import config as config_lib
from trainer.api.jobs import Host, announce_error, run_in_workspace
from trainer.config import flags
from trainer.console import show, show_error
from trainer.errors import USER_ERROR_STATUS, JobEnded, UserError, hide_secrets
from trainer.signals import Interrupted, SignalWatch


def main(argv: list[str]) -> int:
    """Runs a job; returns the exit status.

    Args:
        argv: the command line, without the program's name.

    Returns:
        0: done; 2: an error in the user's input; 75: a temporary error; 128 + number: ended by that
        signal. docs/cluster.md lists all of them.
    """
    config = None
    try:
        with SignalWatch() as watch:
            try:
                command = flags.parse_command_line(argv)
                if command is None:
                    return 0
                if command.prints == "json_schema":
                    with tolerate_closed_output():
                        print(json.dumps(config_lib.Config.model_json_schema(), indent=2))
                    return 0
                config = config_lib.load_config(command.hparams, command.overrides)
            except UserError as error:
                announce_error(error, argv, watch)
                raise
            if command.prints == "config":
                with tolerate_closed_output():
                    print(config_lib.to_yaml(config), end="")
                return 0
            run_in_workspace(config, command, Host(watch, _show_summary, is_program=True))
    except UserError as error:
        cause = error.__cause__
        if config is not None and config.verbosity == "debug" and cause is not None:
            lines = traceback.format_exception(type(cause), cause, cause.__traceback__)
            write_message(hide_secrets("".join(lines)), sys.stderr)
        show_error(str(error))
        return error.status
    except estimator_bridge.BridgeError as error:
        show_error(" ".join(str(error).split()))
        return USER_ERROR_STATUS
    except JobEnded as end:
        show_error(str(end))
        return end.status
    except Interrupted as interruption:
        write_message(
            f"stopped by {interruption.signal.name}{interruption.saved}; the same command resumes "
            "from the last checkpoint\n",
            sys.stderr,
        )
        return interruption.status
    return 0


def _show_summary(text: str) -> None:
    reason = None
    try:
        show(text)
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        # Not while the error is handled: it would be taken for one of job_dir.
        end_output()
        raise UserError(
            f"standard output: {reason}; the job is done, and summary.txt in job_dir has this text"
        )


def run_as_program(argv: Optional[list[str]] = None) -> None:
    """Runs a job and exits with the status of `main`.

    Args:
        argv: the command line, without the program's name; None: that of this process.
    """
    leave(main(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    run_as_program()
