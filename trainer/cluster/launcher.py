"""python -m trainer.launch: a whole cluster on this machine, one process a role.

  python -m trainer.launch --workers=2 --ps=1 --evaluator -- --hparams=census --job_dir=jobs/census

Everything after -- goes to python -m trainer.task in each process.
"""

import signal
import sys
import time
import uuid
from typing import NamedTuple, Optional, TextIO

from absl import flags

from trainer.cluster.processes import Processes, find_addresses, to_status
from trainer.environment.cluster_spec import TRAINERS
from trainer.environment.variables import make_environment
from trainer.errors import FOLLOWED_STATUS, USER_ERROR_STATUS, UserError

# Seconds that the processes have to follow the chief's end by themselves.
FOLLOW_SECS = 60.0
# Seconds that others wait for the end of one because of which they have ended.
HANG_SECS = 300.0
RESTART_SECS = 1.0
CHIEF = "chief-0"


class Plan(NamedTuple):
    """What the command line asked for.

    Attributes:
        workers, ps, evaluators: processes besides the chief.
        max_restarts: how often processes that fail are started again, all together.
        task_flags: for trainer.task.
    """

    workers: int
    ps: int
    evaluators: int
    max_restarts: int
    task_flags: list[str]

    @property
    def roles(self) -> list[tuple[str, int]]:
        """(role, index) of every process."""
        counts = {
            "chief": 1,
            "worker": self.workers,
            "ps": self.ps,
            "evaluator": self.evaluators,
        }
        return [(role, index) for role, count in counts.items() for index in range(count)]


def parse_plan(argv: list[str]) -> Optional[Plan]:
    """Reads the command line; None where --help was asked for.

    Raises:
        UserError: an unknown flag, a negative number, nothing after --.
    """
    ours, task_flags = argv, []
    if "--" in argv:
        place = argv.index("--")
        ours, task_flags = argv[:place], argv[place + 1 :]
    values = flags.FlagValues()
    flags.DEFINE_boolean("help", False, "show this help", flag_values=values)
    flags.DEFINE_integer("workers", 0, "workers besides the chief", 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "parameter servers", 0, flag_values=values)
    flags.DEFINE_boolean("evaluator", False, "whether there is an evaluator", flag_values=values)
    flags.DEFINE_integer("max_restarts", 0, "restarts of failed processes", 0, flag_values=values)
    try:
        rest = values(["trainer.launch", *ours])[1:]
    except flags.Error as error:
        raise UserError(f"{' '.join(str(error).split())} (--help shows an example)") from error
    if values.help:
        return None
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; flags of trainer.task go after --")
    if not task_flags:
        raise UserError("nothing after --; write -- and the flags of trainer.task")
    return Plan(values.workers, values.ps, int(values.evaluator), values.max_restarts, task_flags)


class Launcher:
    """Starts the processes of a plan, passes on what they say, and sees them to their end."""

    def __init__(self, plan: Plan, output: TextIO = sys.stdout, errors: TextIO = sys.stderr):
        self._plan = plan
        self._output = output
        self._errors = errors
        self._processes = Processes(errors, self._hear)
        self._restarts = plan.max_restarts
        self._run_id = uuid.uuid4().hex
        # Failures so far after which something was started again; name → their number at its start.
        self._failures = 0
        self._started_after: dict[str, int] = {}
        # Ended because another one has, to be started again with that one; and since when.
        self._followers: list[str] = []
        self._following_since = 0.0
        self._first_error: Optional[str] = None
        self._last_lines: dict[str, str] = {}
        self._stopping = False
        addresses = iter(find_addresses(1 + plan.workers + plan.ps))
        self._spec: dict[str, list[str]] = {}
        for role, _ in plan.roles:
            if role != "evaluator":
                self._spec.setdefault(role, []).append(next(addresses))

    def run(self) -> int:
        """Runs the cluster; returns the chief's exit status, or that of the first to fail."""
        for role, index in self._plan.roles:
            self._start(f"{role}-{index}")
        status, chief_ended = 0, None
        running = self._processes.running
        while running:
            for name, code in self._processes.take_ended():
                if self._starts_again(name, code):
                    continue
                status = status or to_status(code)
                if name == CHIEF:
                    chief_ended = time.monotonic()
            if self._followers and chief_ended is None and not self._trains():
                # None has failed by itself: they have lost touch with each other.
                if self._restarts and not self._stopping and not status:
                    self._log("who trains has ended because of each other; starting all again")
                    # What their variables lie on may be what stands still.
                    servers = [name for name in running if name.startswith("ps-")]
                    self._processes.end(*servers)
                    self._start_after_failure(servers)
                else:
                    self._note_failure(self._followers[0], FOLLOWED_STATUS)
                    status = status or FOLLOWED_STATUS
            if status and chief_ended is None and CHIEF in self._followers:
                # It waits for one that is not started again: nobody is left to end the others.
                chief_ended = time.monotonic()
                self.stop()
            if chief_ended is not None and time.monotonic() - chief_ended > FOLLOW_SECS:
                self._log(f"{len(running)} process(es) did not end; killing them")
                self.kill()
            self._end_who_is_followed()
            time.sleep(0.1)
        self._processes.listen_out()
        if status and self._first_error:
            self._processes.write(self._first_error, self._errors)
        return status

    def _trains(self) -> bool:
        return any(name.partition("-")[0] in TRAINERS for name in self._processes.running)

    def _end_who_is_followed(self) -> None:
        """Kills those that train where others have ended because of them, and they hang."""
        if not self._followers or time.monotonic() - self._following_since < HANG_SECS:
            return
        for name in list(self._processes.running):
            if name.partition("-")[0] in TRAINERS:
                self._log(f"{name} hangs, and others wait for its end; killing it")
                self._processes.send(signal.SIGKILL, name)

    def _start(self, name: str) -> None:
        self._started_after[name] = self._failures
        role, _, index = name.partition("-")
        self._processes.start(
            name,
            [sys.executable, "-m", "trainer.task", *self._plan.task_flags],
            make_environment(self._spec, role, int(index), self._run_id),
        )

    def _starts_again(self, name: str, code: int) -> bool:
        if code == 0:
            return False
        if code == FOLLOWED_STATUS and not self._stopping:
            # No failure of its own: it is started again when, and only if, what failed is.
            if self._started_after[name] < self._failures:
                self._start(name)
            else:
                if not self._followers:
                    self._following_since = time.monotonic()
                self._followers.append(name)
            return True
        self._note_failure(name, code)
        if code == USER_ERROR_STATUS or self._stopping:
            # Of the former the chief hears itself.
            return False
        if self._restarts == 0:
            if code > 0 and name.startswith(("worker-", "ps-")):
                # An error: others go on without a worker only where it was killed.
                self.stop()
            return False
        self._log(f"{name} ended with status {code}; starting it again")
        self._start_after_failure([name])
        return True

    def _note_failure(self, name: str, code: int) -> None:
        if self._first_error is None and not self._stopping:
            # Bounded, as a process of its own making may hold the pipe open.
            self._processes.listen_out(name, secs=5)
            last = self._last_lines.get(name, "no word")
            self._first_error = f"first to fail: {name}, exit status {code}: {last}"

    def _start_after_failure(self, names: list[str]) -> None:
        self._restarts -= 1
        self._failures += 1
        time.sleep(RESTART_SECS)
        for name in [*names, *self._followers]:
            self._start(name)
        self._followers = []

    def _hear(self, name: str, line: str, is_output: bool) -> None:
        if is_output and name == CHIEF:
            # The summary, which others may want to read.
            self._processes.write(line, self._output)
            return
        if line.strip():
            self._last_lines[name] = line.strip()
        # One progress line is enough: the chief's.
        if name == CHIEF or not line.startswith("step "):
            self._processes.log(name, line)

    def _log(self, line: str) -> None:
        self._processes.log("launch", line)

    def stop(self) -> None:
        """Asks the chief to save and end, which the others follow; each of them where it has."""
        self._stopping = True
        is_there = CHIEF in self._processes.running
        self._processes.send(signal.SIGTERM, *([CHIEF] if is_there else []))

    def kill(self) -> None:
        """Ends what still runs at once."""
        self._stopping = True
        self._processes.send(signal.SIGKILL)

    def close(self) -> None:
        """Ends what still runs at once, and is done."""
        self._processes.close()


def main(argv: list[str]) -> int:
    """Runs a cluster; returns the exit status."""
    try:
        plan = parse_plan(argv)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR_STATUS
    if plan is None:
        print(__doc__.strip())
        return 0
    launcher = Launcher(plan)
    asked = []

    def on_signal(number, frame):
        asked.append(number)
        if len(asked) == 1:
            launcher.stop()
        else:
            launcher.kill()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        status = launcher.run()
    finally:
        launcher.close()
    return 128 + asked[0] if asked else status
