"""Runs a whole cluster on this machine and restarts processes that fail."""

import signal
import sys
import time
import uuid
from typing import NamedTuple, Optional, TextIO

from estimator_bridge.command_line.current_folder import list_words
from trainer.cluster import port_guard
from trainer.cluster.processes import Processes, find_addresses, to_exit_status
from trainer.environment.cluster_spec import TRAINERS
from trainer.environment.variables import make_environment
from trainer.errors import FOLLOWED_STATUS, TEMPORARY_STATUS, USER_ERROR_STATUS

# Seconds after the chief's end within which the other processes have to end by themselves.
FOLLOW_SECS = 60.0
# Seconds after which a chief or worker is killed that hangs after others ended because of it, and
# after which all processes are killed that `stop` has not ended.
HANG_SECS = 300.0
RESTART_SECS = 1.0
# If the chief still reports progress this many seconds after another process ended with
# TEMPORARY_STATUS, that process did not follow any other: it had a temporary error of its own.
OWN_SECS = 30.0
CHIEF = "chief-0"

# TensorFlow's servers have no option for the address on which they listen, and no password.
OPEN_PORTS = (
    "while the cluster runs, TensorFlow's servers accept connections from the network without a "
    "password; docs/cluster.md says who can reach the processes"
)
GUARDED_PORTS = (
    "only this machine can connect to TensorFlow's servers, all its users without a password; "
    "--private_network admits no other process"
)
PRIVATE_PORTS = (
    "the cluster has a network of its own: no other process can connect to TensorFlow's servers, "
    "and the job cannot connect to the network"
)


class Plan(NamedTuple):
    """The processes to run.

    Attributes:
        workers: number of workers, not counting the chief.
        ps: number of parameter servers.
        evaluators: number of evaluators, 0 or 1.
        max_restarts: maximum total number of restarts of failed processes.
        task_flags: flags of trainer.task.
        private_network: whether this process is in a network of its own.
    """

    workers: int
    ps: int
    evaluators: int
    max_restarts: int
    task_flags: list[str]
    private_network: bool = False

    @property
    def roles(self) -> list[tuple[str, int]]:
        """Role and index of every process."""
        counts = {
            "chief": 1,
            "worker": self.workers,
            "ps": self.ps,
            "evaluator": self.evaluators,
        }
        return [(role, index) for role, count in counts.items() for index in range(count)]


class Launcher:
    """Starts the processes of a plan, forwards their output, and restarts those that fail.

    A process that ends with FOLLOWED_STATUS has not failed itself. It has ended because another
    process ended: it "follows" that process, and is restarted together with it. If the chief goes
    on all the same, the process had a temporary error of its own, and is restarted alone.

    Args:
        plan: the processes to run.
        output: stream for the chief's standard output.
        errors: stream for all other output.
    """

    def __init__(self, plan: Plan, output: TextIO = sys.stdout, errors: TextIO = sys.stderr):
        self._plan = plan
        self._output = output
        self._errors = errors
        self._processes = Processes(errors, self._forward)
        self._restarts = plan.max_restarts
        self._run_id = uuid.uuid4().hex
        # Number of failures so far that led to a restart, and its value when each process started.
        self._failures = 0
        self._failures_at_start: dict[str, int] = {}
        # Processes that ended because of another process, and will be restarted together with it.
        self._followers: list[str] = []
        self._following_since = 0.0
        # When the chief last wrote a line.
        self._chief_wrote = 0.0
        self._first_error: Optional[str] = None
        self._last_lines: dict[str, str] = {}
        self._stopping = self._is_killed = False
        # When `stop` was first called.
        self._stopped: Optional[float] = None
        addresses = iter(find_addresses(1 + plan.workers + plan.ps))
        self._spec: dict[str, list[str]] = {}
        for role, _ in plan.roles:
            if role != "evaluator":
                self._spec.setdefault(role, []).append(next(addresses))

    def run(self) -> int:
        """Runs the cluster; returns the exit status of the first failure not restarted, or 0."""
        if self._plan.workers or self._plan.ps:
            self._log(self._describe_ports())
        for role, index in self._plan.roles:
            self._start(f"{role}-{index}")
            if self._stopping:
                # The signal came before this process was there.
                self._processes.send(signal.SIGTERM)
                break
        status, chief_ended = 0, None
        running = self._processes.running
        while running:
            for name, code in self._processes.take_ended():
                if self._restart(name, code):
                    continue
                status = status or to_exit_status(code)
                if name == CHIEF:
                    chief_ended = time.monotonic()
            if self._followers and chief_ended is None and not self._is_training():
                status = self._restart_followers(status)
            if status and chief_ended is None and CHIEF in self._followers:
                # The chief followed a process that is not restarted. Only `stop` ends the others.
                chief_ended = time.monotonic()
                self.stop()
            self._kill_late(chief_ended)
            self._restart_stray()
            self._kill_hanging()
            time.sleep(0.1)
        self._processes.finish_output("launch")
        if status and self._first_error:
            self._processes.write(self._first_error, self._errors)
        return status

    def _describe_ports(self) -> str:
        if self._plan.private_network:
            return PRIVATE_PORTS
        return GUARDED_PORTS if port_guard.is_supported() else OPEN_PORTS

    def _is_training(self) -> bool:
        return any(name.partition("-")[0] in TRAINERS for name in self._processes.running)

    def _restart_followers(self, status: int) -> int:
        """Restarts the cluster after the chief and all workers ended because of each other.

        Returns:
            The launcher's exit status so far.
        """
        if self._restarts and not self._stopping and not status:
            self._log("chief and workers have ended because of each other; starting all again")
            # The parameter servers are restarted too, because one of them may hang.
            servers = [name for name in self._processes.running if name.startswith("ps-")]
            self._processes.end(*servers)
            self._start_after_failure(servers)
            return status
        self._note_failure(self._followers[0], FOLLOWED_STATUS)
        return status or FOLLOWED_STATUS

    def _is_chief_well(self) -> bool:
        """Returns whether the chief goes on although other processes have ended."""
        is_running = CHIEF in self._processes.running
        return is_running and self._chief_wrote > self._following_since + OWN_SECS

    def _restart_stray(self) -> None:
        """Restarts processes that ended because of a temporary error of their own."""
        if self._followers and self._restarts and not self._stopping and self._is_chief_well():
            names = ", ".join(self._followers)
            self._log(f"{names} ended with status {TEMPORARY_STATUS}; starting again")
            self._note_failure(self._followers[0], TEMPORARY_STATUS)
            self._start_after_failure([])

    def _kill_hanging(self) -> None:
        """Kills a chief or worker that runs HANG_SECS after another one ended because of it."""
        if not self._followers or time.monotonic() - self._following_since < HANG_SECS:
            return
        if self._is_chief_well():
            return
        for name in list(self._processes.running):
            if name.partition("-")[0] in TRAINERS:
                self._log(f"{name} hangs, and others wait for its end; killing it")
                self._processes.send(signal.SIGKILL, name)

    def _kill_late(self, chief_ended: Optional[float]) -> None:
        """Kills the processes that run on too long after the chief's end, or after `stop`.

        Args:
            chief_ended: when the chief ended; None while it runs.
        """
        for since, secs, event in (
            (chief_ended, FOLLOW_SECS, "the end of the chief"),
            (self._stopped, HANG_SECS, "SIGTERM"),
        ):
            is_late = since is not None and time.monotonic() - since > secs
            if is_late and self._processes.running and not self._is_killed:
                names = ", ".join(self._processes.running)
                self._log(f"{names} did not end within {secs:.0f} s of {event}; killing them")
                self.kill()

    def _start(self, name: str) -> None:
        self._failures_at_start[name] = self._failures
        role, _, index = name.partition("-")
        self._processes.start(
            name,
            [sys.executable, *list_words("trainer.task"), *self._plan.task_flags],
            make_environment(self._spec, role, int(index), self._run_id),
        )

    def _restart(self, name: str, code: int) -> bool:
        """Restarts an ended process, at once or later; returns whether it will run again."""
        if code == 0:
            return False
        if code == FOLLOWED_STATUS and not self._stopping:
            if self._failures_at_start[name] < self._failures:
                # The process that it followed has been restarted already.
                self._start(name)
            else:
                if not self._followers:
                    self._following_since = time.monotonic()
                self._followers.append(name)
            return True
        self._note_failure(name, code)
        if code == USER_ERROR_STATUS or self._stopping:
            # The chief reads the error in the failed process's heartbeat file, and ends.
            return False
        if self._restarts == 0:
            if code > 0 and name.startswith(("worker-", "ps-")):
                # An error ends the job. If a worker was killed, the others continue without it.
                self.stop()
            return False
        self._log(f"{name} ended with status {code}; starting it again")
        self._start_after_failure([name])
        return True

    def _note_failure(self, name: str, code: int) -> None:
        if self._first_error is None and not self._stopping:
            self._processes.wait_for_output(name)
            last = self._last_lines.get(name, "no output")
            self._first_error = f"first to fail: {name}, exit status {code}: {last}"

    def _start_after_failure(self, names: list[str]) -> None:
        self._restarts -= 1
        self._failures += 1
        time.sleep(RESTART_SECS)
        for name in [*names, *self._followers]:
            self._start(name)
        self._followers = []

    def _forward(self, name: str, line: str, is_output: bool) -> None:
        if name == CHIEF:
            self._chief_wrote = time.monotonic()
        if is_output and name == CHIEF:
            # The chief's standard output is the summary, which other programs may parse.
            self._processes.write(line, self._output)
            return
        if line.strip():
            self._last_lines[name] = line.strip()
        # Only the chief's progress lines are shown.
        if name == CHIEF or not line.startswith("step "):
            self._processes.log(name, line)

    def _log(self, line: str) -> None:
        self._processes.log("launch", line)

    def stop(self) -> None:
        """Sends SIGTERM to the chief, after which the others end too; without a chief, to all."""
        self._stopping = True
        self._stopped = self._stopped or time.monotonic()
        is_running = CHIEF in self._processes.running
        self._processes.send(signal.SIGTERM, *([CHIEF] if is_running else []))

    def kill(self) -> None:
        """Kills all running processes."""
        self._stopping = self._is_killed = True
        self._processes.send(signal.SIGKILL)

    def close(self) -> None:
        """Kills all running processes and closes the parent-death pipe."""
        self._processes.close()
