"""One schedule of a cluster: the faults and restarts that the seed draws, and what must hold."""

import contextlib
import tempfile
from pathlib import Path
from unittest import mock

from simulation import job
from simulation.cluster_role import Role, without_tensorflow
from simulation.cluster_tf import Server
from simulation.deployments import Children, Launched, Served
from simulation.kernel import Process, World, current
from simulation.machine import Machine
from simulation.seams import installed
from simulation.service import Service
from simulation.storage_story import FAST
from trainer import config as config_lib
from trainer.cluster import heartbeat, joining, launcher, watchdog
from trainer.roles import chief, evaluator, handover, parameter_server, process, worker
from trainer.storage import claim
from trainer.storage.workspace import READY

# A job that is no longer disturbed ends within this time.
RUN_SECS = 6_000.0
CHAOS_SECS = 150.0
WATCHDOG_SECS, STALL_SECS = 60, 60
# Longer than in the trainer, so that fewer beats are simulated.
BEAT_SECS, POLL_SECS = 3.0, 1.5
POLLING = (watchdog, joining, chief, evaluator, handover, parameter_server, process, worker)


class Story:
    """A schedule.

    Args:
        seed: determines everything.
        root: an empty folder.
        keeps_trace: whether to keep what happens.
    """

    def __init__(self, seed, root, keeps_trace=False):
        self.world = World(seed, keeps_trace)
        self.world.story = self
        self.draw = draw = self.world.random
        self.root = root
        self.num_workers = draw.choice((1, 1, 2))
        strategy = draw.choice(("none", "none", "multi_worker_mirrored"))
        self.num_ps = draw.choice((1, 2)) if strategy == "none" else 0
        self.num_evaluators = draw.choice((0, 1))
        self.max_restarts = draw.choice((3, 20))
        self.has_run_id = draw.random() < 0.5
        self.eval_secs = draw.choice((0.5, 5.0))
        self.plan = job.Plan(
            target=draw.choice((30, 60)),
            every=10,
            num_kept=draw.choice((1, 2, 3)),
            step_secs=draw.choice((0.3, 1.0, 4.0)),
        )
        self.early_step = draw.choice((1e9, 1e9, 20))
        self.config = config_lib.Config(
            cluster={
                "strategy": strategy,
                "watchdog_secs": WATCHDOG_SECS,
                "stall_secs": STALL_SECS,
                "evaluator_wait_secs": 120,
            },
            eval={"start_delay_secs": 0, "throttle_secs": draw.choice((0, 20))},
        )
        self.machines = [
            Machine(self.world, f"machine-{number}", root / f"machine-{number}")
            for number in range(draw.choice((1, 2, 3)))
        ]
        if draw.random() < 0.5:
            # A file server that shares locks.
            for machine in self.machines:
                machine.locks = self.machines[0].locks
        self.names = [
            *["chief-0"],
            *[f"worker-{index}" for index in range(self.num_workers)],
            *[f"ps-{index}" for index in range(self.num_ps)],
            *[f"evaluator-{index}" for index in range(self.num_evaluators)],
        ]
        self.spec = {}
        for number, name in enumerate(self.names):
            if not name.startswith("evaluator"):
                self.spec.setdefault(name.partition("-")[0], []).append(f"10.0.0.{number}:2222")
        self.job_dir = str(root / "shared" / "job")
        self.service = Service(self.world, lambda *_: None)
        if len(self.machines) == 1 and draw.random() < 0.5:
            self.job_dir = job.ADDRESS
            self.service.error_rate = draw.choice((0.0, 0.05))
        self.deployment = Launched(self) if len(self.machines) == 1 else Served(self)
        self.servers, self.meeting, self.roles = {}, [], []
        self.newest = {}  # name -> process
        self.final_exports = set()
        self.evaluators = []
        self.wrong_role = None
        self.is_trained = self.was_disturbed = False
        self.end_step = None

    def run(self):
        """Returns the violated invariant; None if there is none."""
        job.Settings.client = self.service.make_client()
        machine = Machine(self.world, "director", self.root / "director")
        director = Process(self.world, machine, "director")
        self.world.spawn(director, self._direct, "main")
        return self.world.run()

    def spawn_role(self, name, machine, environment, on_line=lambda line: None):
        one = Process(self.world, machine, name)
        machine.processes.append(one)
        self.newest[name] = one
        role = Role(self, one, environment, on_line)
        self.roles.append(role)
        one.on_end = lambda ended: self._note_end(role)
        self.world.note(f"{name} starts on {machine.name}")
        self.world.spawn(one, role.main, "main")
        return one

    # What happens.

    def list_alive(self, but=None):
        alive = [role.process for role in self.roles if role.process.is_alive]
        return [one for one in alive if but is None or one is not but.process]

    def _direct(self):
        world, draw = self.world, self.draw
        if draw.random() < 0.1:
            self.wrong_role = draw.choice(self.names)
        self.deployment.start()
        actions = [self._kill, self._kill, self._pause, self._lose_power, self._signal]
        actions = draw.sample(actions, draw.randint(1, len(actions)))
        end = world.now + draw.choice((0, CHAOS_SECS))
        while world.now < end:
            world.wait(draw.random() * draw.choice((5, 40)))
            draw.choice(actions)()
            if self.deployment.is_over():
                self._start_again()
        self.wrong_role = None
        self._await_end("the job")
        if self.end_step is None:
            world.fail("the job has ended with status 0 and has not trained")
        elif self.end_step not in self.final_exports:
            world.fail(f"the last checkpoint, step {self.end_step}, has not been exported")
        self.is_repeated = True
        self.deployment.start()
        self._await_end("the finished job")

    def _await_end(self, what):
        """Lets the job go on without faults until it has ended with status 0."""
        self.world.note("no more faults")
        deadline = self.world.now + RUN_SECS
        while True:
            while not self.deployment.is_over():
                self.world.wait(10)
                if self.world.now > deadline:
                    alive = ", ".join(one.name for one in self.list_alive())
                    self.world.fail(f"{what} has not ended; these run: {alive}")
                    self.world.wait()
            if self.deployment.status() == 0:
                return
            self._start_again()

    def _start_again(self):
        self.world.wait(5)
        self.wrong_role = None
        self.world.note("the same command again")
        self.deployment.start()

    def _choose(self):
        alive = self.list_alive()
        return self.draw.choice(alive) if alive else None

    def _kill(self):
        one = self._choose()
        if one is not None:
            self.was_disturbed = True
            one.fuse = (self.draw.randrange(40), one.kill)

    def _lose_power(self):
        if self.draw.random() < 0.5:
            self.was_disturbed = True
            # What machines share is the disk of a file server, which loses nothing.
            shared = [self.root / "shared"] if len(self.machines) == 1 else []
            self.draw.choice(self.machines).lose_power(shared)

    def _signal(self):
        one = self._choose()
        if one is not None:
            self.was_disturbed = True
            self.world.note(f"{one.name} gets SIGTERM")
            one.signal(15)

    def _pause(self):
        one = self._choose()
        if one is None:
            return

        def pause():
            secs = self.draw.choice((5, 30, 100, 300))
            self.was_disturbed = True
            self.world.note(f"{one.name} is paused for {secs} s")
            one.paused_until = self.world.now + secs
            if secs > 30:
                self.deployment.replace_paused(one)

        one.fuse = (self.draw.randrange(40), pause)

    # What the processes report, and what must hold.

    def await_servers(self, caller, cluster):
        """Waits for the servers that have variables; returns them."""
        names = [name for name in cluster.names if name.startswith("ps-")]
        if not names:
            return [Server(caller)]

        def are_up():
            return all(
                name in self.servers and self.servers[name].process.is_alive for name in names
            )

        while not are_up():
            self.world.wait(2.0)
        return [self.servers[name] for name in names]

    def note_open(self, role, folder):
        role.folder = folder
        if self.job_dir != job.ADDRESS or role.name == "chief-0":
            return
        locks = role.process.machine.locks
        if not any(lock[1].name == "chief-0" and lock[2].name.endswith(READY) for lock in locks):
            self.world.fail(f"{role.name} starts before the chief has fetched the job")

    def note_restored(self, role, step):
        self.world.note(f"{role.name} restores step {step}")

    def note_step(self, role, step):
        pass

    def note_saved(self, role, step):
        pass

    def note_trained(self, role, step):
        """The chief has saved the last checkpoint, or has restored it."""
        self.is_trained = True

    def note_report(self, role):
        self.end_step = job.read_steps((role.folder / job.STATE).read_text())[0]

    @contextlib.contextmanager
    def evaluating(self, role, step):
        self.world.note(f"{role.name} evaluates step {step}")
        busy = [one.name for one in self.evaluators if one.process.is_alive]
        if busy and not self.was_disturbed:
            self.world.fail(f"{role.name} evaluates while {busy} do")
        self.evaluators.append(role)
        try:
            yield
        finally:
            self.evaluators.remove(role)

    def _note_end(self, role):
        if role.process.status == 0 and role.name.startswith("worker-") and not self.is_trained:
            self.world.fail(f"{role.name} ends with status 0, and the chief has not trained")


@contextlib.contextmanager
def _replaced():
    with contextlib.ExitStack() as stack:
        stack.enter_context(without_tensorflow())
        stack.enter_context(mock.patch.object(heartbeat, "BEAT_SECS", BEAT_SECS))
        for module in POLLING:
            stack.enter_context(mock.patch.object(module, "POLL_SECS", POLL_SECS))
        stack.enter_context(mock.patch.object(launcher, "Processes", Children))
        stack.enter_context(mock.patch.object(launcher, "find_addresses", _find_addresses))
        stack.enter_context(
            mock.patch.object(claim, "_read_boot_id", lambda: current().process.machine.name)
        )
        yield


def _find_addresses(count):
    return [f"127.0.0.1:{2000 + number}" for number in range(count)]


def run(seed, keeps_trace=False):
    """Runs a schedule; returns the World, whose `violation` is None if all invariants held."""
    with tempfile.TemporaryDirectory(prefix="sim-", dir=FAST) as folder, _replaced(), installed():
        story = Story(seed, Path(folder), keeps_trace)
        story.run()
        return story.world
